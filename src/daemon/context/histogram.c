#include "daemon/context/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const double histogram_seconds[] = {.0001, .00025, .0005, .001, .0025, .005, .0075,
                                    .01,   .015,   .02,   .03,  .05,   .075, .1,
                                    .15,   .25,    .5,    1,    2.5,   5,    10};
const uint32_t histogram_seconds_n = sizeof histogram_seconds / sizeof *histogram_seconds;
const double histogram_sizes[] = {1, 4, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536};
const uint32_t histogram_sizes_n = sizeof histogram_sizes / sizeof *histogram_sizes;

void histogram_init(struct histogram *h, const double *bounds, uint32_t n)
{
    assert(n <= HISTOGRAM_BOUNDS_MAX);
    memset(h, 0, sizeof *h);
    h->bounds = bounds;
    h->n = n;
}

void histogram_observe(struct histogram *h, double value, uint64_t times)
{
    uint32_t i = 0;
    if (!(value >= 0) || times == 0)
        return;
    while (i < h->n && value > h->bounds[i])
        i++;
    h->counts[i] += times;
    h->count += times;
    h->sum += value * (double)times;
    if (value > h->max)
        h->max = value;
}

double histogram_quantile(const struct histogram *h, double q)
{
    double rank = q * (double)h->count, below = 0;
    if (h->count == 0)
        return (double)NAN;
    for (uint32_t i = 0; i < h->n; i++) {
        double in = (double)h->counts[i], low = i ? h->bounds[i - 1] : 0;
        if (in > 0 && below + in >= rank) {
            double at = low + (h->bounds[i] - low) * (rank - below) / in;
            return at < h->max ? at : h->max;
        }
        below += in;
    }
    return h->max;
}

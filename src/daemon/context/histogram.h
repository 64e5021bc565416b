/*
 * A histogram with fixed bounds, as Prometheus requires them. Observing allocates nothing and walks
 * a short table. Thread: one owner.
 */
#ifndef DAEMON_HISTOGRAM_H
#define DAEMON_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS_MAX 24

struct histogram {
    const double *bounds; /* [n], rising; a constant table of the caller's */
    uint32_t n;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* [i]: value <= bounds[i] and above the one before;
                                                  [n]: above all */
    uint64_t count;
    double sum, max;
};

void histogram_init(struct histogram *h, const double *bounds, uint32_t n);
/* `times`: so often the same value. A value that is negative or NaN is passed over. */
void histogram_observe(struct histogram *h, double value, uint64_t times);
/* The value below which a share q of the observations lies: linear inside the bucket, the highest
 * bound (or the largest value seen, if less) at the end; NaN when there is none. */
double histogram_quantile(const struct histogram *h, double q);

/* Bounds in seconds, from 100 us to 10 s; and for counts of a batch, powers of two to 65536. */
extern const double histogram_seconds[];
extern const uint32_t histogram_seconds_n;
extern const double histogram_sizes[];
extern const uint32_t histogram_sizes_n;

#endif

/*
 * Pillow's resampling (src/libImaging/Resample.c), row by row: first along a row, rounded to bytes,
 * then down the columns. An axis that shrinks takes the mean of the pixels whose centres are in the
 * area, one that grows the two that are nearest, by their distance.
 */
#include <math.h>
#include <stdbool.h>

#include "fis/mem.h"
#include "image_impl.h"

#define TAPS 3 /* of a bilinear weight, at most */
#define BITS 22
#define HALF (1u << (BITS - 1))

/* What makes one number of the result: pixels [from, from + n). */
struct span {
    uint32_t from, n;
    uint32_t weight[TAPS]; /* bilinear; in 1 / 2^BITS, together 1 */
};

struct axis {
    struct span *spans; /* [to] */
    bool mean;
};

struct image_resize {
    struct image_shape from, to;
    struct axis across, down;
    unsigned char *narrow; /* [to.width][channels] the row at hand */
    uint32_t *sums;        /* [to.height][to.width][channels] */
    uint32_t y, first;     /* rows so far; the first row of the result that is not complete */
};

static void weigh(struct span *s, double centre)
{
    double w[TAPS], sum = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        w[i] = 1 - fabs(s->from + i - centre + 0.5);
        w[i] = w[i] < 0 ? 0 : w[i];
        sum += w[i];
    }
    for (uint32_t i = 0; i < s->n; i++)
        s->weight[i] = (uint32_t)(0.5 + w[i] / sum * (1u << BITS));
}

/* Of a pixel whose centre is where two areas meet, Pillow's rounding decides. */
static void trim(struct span *s, double centre, double scale)
{
    const double factor = 1 / scale;
    while (s->n > 1 && (s->n - 1 + s->from - centre + 0.5) * factor > 0.5)
        s->n--;
    while (s->n > 1 && (s->from - centre + 0.5) * factor <= -0.5) {
        s->from++;
        s->n--;
    }
}

static int axis_init(struct axis *a, uint32_t from, uint32_t to)
{
    const double scale = (double)from / to, support = from > to ? scale / 2 : 1;
    a->mean = from > to;
    a->spans = fis_calloc(to, sizeof *a->spans);
    for (uint32_t i = 0; a->spans && i < to; i++) {
        double centre = (i + 0.5) * scale, low = centre - support + 0.5,
               high = centre + support + 0.5;
        struct span *s = &a->spans[i];
        s->from = low > 0 ? (uint32_t)low : 0;
        s->n = (high < from ? (uint32_t)high : from) - s->from;
        if (a->mean)
            trim(s, centre, scale);
        else
            weigh(s, centre);
    }
    return a->spans ? 0 : -1;
}

struct image_resize *image_resize_new(const struct image_shape *from, const struct image_shape *to,
                                      struct fis_error *e)
{
    struct image_resize *r = fis_calloc(1, sizeof *r);
    if (r) {
        r->from = *from;
        r->to = *to;
        r->narrow = fis_alloc(to->width, to->channels);
        r->sums = fis_calloc(image_numbers(to), sizeof *r->sums);
        if (!axis_init(&r->across, from->width, to->width) &&
            !axis_init(&r->down, from->height, to->height) && r->narrow && r->sums)
            return r;
    }
    image_resize_free(r);
    fis_fail(e, FIS_NOMEM, "no memory to resize an image to %u x %u", to->height, to->width);
    return NULL;
}

void image_resize_free(struct image_resize *r)
{
    if (!r)
        return;
    fis_free(r->across.spans);
    fis_free(r->down.spans);
    fis_free(r->narrow);
    fis_free(r->sums);
    fis_free(r);
}

static unsigned char rounded(const struct axis *a, const struct span *s, uint32_t sum)
{
    return (unsigned char)(a->mean ? (sum + s->n / 2) / s->n : (sum + HALF) >> BITS);
}

static void narrow(struct image_resize *r, const unsigned char *row)
{
    const uint32_t channels = r->to.channels;
    for (uint32_t x = 0; x < r->to.width; x++) {
        const struct span *s = &r->across.spans[x];
        for (uint32_t c = 0; c < channels; c++) {
            const unsigned char *at = row + (size_t)s->from * channels + c;
            uint32_t sum = 0;
            for (uint32_t i = 0; i < s->n; i++, at += channels)
                sum += r->across.mean ? *at : *at * s->weight[i];
            r->narrow[x * channels + c] = rounded(&r->across, s, sum);
        }
    }
}

void image_resize_row(struct image_resize *r, const unsigned char *row)
{
    const uint32_t n = r->to.width * r->to.channels, y = r->y++;
    const struct span *spans = r->down.spans;
    narrow(r, row);
    while (r->first < r->to.height && spans[r->first].from + spans[r->first].n <= y)
        r->first++;
    for (uint32_t to = r->first; to < r->to.height && spans[to].from <= y; to++) {
        uint32_t *sums = r->sums + (size_t)to * n, i = y - spans[to].from;
        uint32_t weight = r->down.mean ? 1 : spans[to].weight[i];
        for (uint32_t k = 0; k < n; k++)
            sums[k] += weight * r->narrow[k];
    }
}

void image_resize_finish(const struct image_resize *r, unsigned char *pixels)
{
    const uint32_t n = r->to.width * r->to.channels;
    for (uint32_t y = 0; y < r->to.height; y++)
        for (uint32_t k = 0; k < n; k++, pixels++)
            *pixels = rounded(&r->down, &r->down.spans[y], r->sums[(size_t)y * n + k]);
}

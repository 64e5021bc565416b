/*
 * Vectors of numbers, the hot path of raw and protobuf records: all columns at once, by the widest
 * vectors that the processor has. The arithmetic of a number is that of encoder.c, so the result is
 * the same to the last bit, on any processor and from any encoding.
 */
#include <math.h>
#include <string.h>

#include "encoder_impl.h"
#include "fis/mem.h"

#define INLINE static inline __attribute__((always_inline))

INLINE int all_finite(const unsigned char *values, uint32_t n)
{
    int32_t bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, values + i * sizeof bits, sizeof bits);
        bad |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !bad;
}

INLINE float scale_one(float v, double mean, double factor, double bound)
{
    double z = ((double)v - mean) * factor;
    z = z > bound ? bound : z;
    return (float)(z < -bound ? -bound : z);
}

/* Columns [first, first + n), of which those are the values; x may be where they lie. */
INLINE void scale(const struct fis_encoder *enc, uint32_t first, const unsigned char *values,
                  uint32_t n, float *x)
{
    const double *mean = enc->flat + first, *factor = mean + enc->n, *bound = factor + enc->n;
    for (uint32_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, values + i * sizeof v, sizeof v);
        x[i] = scale_one(v, mean[i], factor[i], bound[i]);
    }
}

INLINE int run(const struct fis_encoder *enc, const unsigned char *values, float *x)
{
    if (!all_finite(values, enc->n))
        return 0;
    if (enc->flat_plain)
        memcpy(x, values, enc->n * sizeof *x);
    else
        scale(enc, 0, values, enc->n, x);
    return 1;
}

#if defined(__clang__)
#define WIDEST ""
#else
#define WIDEST ",prefer-vector-width=512"
#endif

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512vl,avx512dq" WIDEST))) static int
run_512(const struct fis_encoder *enc, const unsigned char *values, float *x)
{
    return run(enc, values, x);
}

__attribute__((target("avx2"))) static int run_256(const struct fis_encoder *enc,
                                                   const unsigned char *values, float *x)
{
    return run(enc, values, x);
}
#endif

static int run_widest(const struct fis_encoder *enc, const void *values, float *x)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return run_512(enc, values, x);
    if (__builtin_cpu_supports("avx2"))
        return run_256(enc, values, x);
#endif
    return run(enc, values, x);
}

int encoder_flat_run(const struct fis_encoder *enc, const void *values, float *x)
{
    if (!run_widest(enc, values, x))
        return 0;
    for (uint32_t k = 0; k < enc->n_constants; k++) {
        float v;
        uint32_t i = enc->constants[k];
        memcpy(&v, (const unsigned char *)values + (size_t)i * sizeof v, sizeof v);
        x[i] = encoder_constant(enc->columns[i].mean, (double)v);
    }
    return 1;
}

static int make_room(struct fis_encoder *enc, struct fis_error *e)
{
    size_t n = enc->n;
    if (enc->flat)
        return 0;
    enc->flat = fis_alloc(3 * n, sizeof *enc->flat);
    enc->scaled = fis_alloc(n, sizeof *enc->scaled);
    enc->constants = fis_alloc(n, sizeof *enc->constants);
    enc->scaled_zero = fis_alloc(n, sizeof *enc->scaled_zero);
    if (enc->flat && enc->scaled && enc->constants && enc->scaled_zero)
        return 0;
    encoder_flat_free(enc);
    return fis_fail(e, FIS_NOMEM, "no memory for an encoder of %zu columns", n);
}

void encoder_flat_free(struct fis_encoder *enc)
{
    fis_free(enc->flat);
    fis_free(enc->scaled);
    fis_free(enc->constants);
    fis_free(enc->scaled_zero);
    enc->flat = NULL;
    enc->scaled = enc->constants = NULL;
    enc->scaled_zero = NULL;
}

int encoder_flat_make(struct fis_encoder *enc, struct fis_error *e)
{
    uint32_t n = enc->n;
    for (uint32_t i = 0; i < n; i++)
        if (enc->columns[i].pub.type != FIS_NUMERIC || enc->columns[i].width != 1)
            return 0;
    int rc = make_room(enc, e);
    if (rc)
        return rc;
    enc->n_scaled = enc->n_constants = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct encoder_column *c = &enc->columns[i];
        if (encoder_is_constant(c))
            enc->constants[enc->n_constants++] = i;
        int scaled = c->pub.scale == FIS_SCALE_STANDARD;
        enc->flat[i] = scaled ? c->mean : 0;
        enc->flat[n + i] = scaled ? c->factor : 1;
        enc->flat[2 * n + i] = scaled ? (double)FIS_ENCODER_CLIP : (double)INFINITY;
        if (scaled) {
            enc->scaled_zero[enc->n_scaled] =
                scale_one(0, c->mean, c->factor, (double)FIS_ENCODER_CLIP);
            enc->scaled[enc->n_scaled++] = i;
        }
    }
    enc->flat_plain = !enc->n_scaled;
    return 0;
}

bool fis_encoder_lists(const struct fis_encoder *enc)
{
    return enc->flat && enc->n_scaled <= enc->n / 8 && !fis_encoder_margins(enc);
}

/* Whether the list begins with all columns that are scaled, which lie one behind another: numbers
 * before categories, as most lay them out. */
static bool scaled_lead(const struct fis_encoder *enc, const uint32_t *index, uint32_t n)
{
    uint32_t all = enc->n_scaled;
    return all && n >= all && index[0] == enc->scaled[0] && index[all - 1] == index[0] + all - 1 &&
           index[all - 1] == enc->scaled[all - 1];
}

/* Scales those of the list that are to be, and returns how many there were. */
static uint32_t scale_listed(const struct fis_encoder *enc, const uint32_t *index, float *value,
                             uint32_t n)
{
    const double *mean = enc->flat, *factor = mean + enc->n, *bound = factor + enc->n;
    uint32_t scaled = 0;
    if (scaled_lead(enc, index, n)) {
        scale(enc, index[0], (const unsigned char *)value, enc->n_scaled, value);
        return enc->n_scaled;
    }
    for (uint32_t i = 0; i < n && scaled < enc->n_scaled; i++) {
        uint32_t at = index[i];
        if (bound[at] == (double)INFINITY)
            continue;
        value[i] = scale_one(value[i], mean[at], factor[at], bound[at]);
        scaled++;
    }
    return scaled;
}

/* Where a 0 is scaled to something else, it joins the list: from the last to the first, as the list
 * grows where it lies. */
uint32_t fis_encoder_encode_list(const struct fis_encoder *enc, uint32_t *index, float *value,
                                 uint32_t n)
{
    uint32_t total = n + enc->n_scaled - scale_listed(enc, index, value, n);
    uint32_t to = total, i = n, j = enc->n_scaled;
    while (to-- > i) {
        uint32_t column = enc->scaled[j - 1];
        if (i > 0 && index[i - 1] >= column) {
            i--;
            j -= index[i] == column;
            index[to] = index[i];
            value[to] = value[i];
        } else {
            j--;
            index[to] = column;
            value[to] = enc->scaled_zero[j];
        }
    }
    return total;
}

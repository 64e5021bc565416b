/*
 * Vectors of numbers, the hot path of raw and protobuf records: all columns at once, by the widest
 * vectors that the processor has. The arithmetic of a number is that of encoder.c, so the result is
 * the same to the last bit, on any processor and from any encoding.
 */
#include <float.h>
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

INLINE void scale(const double *flat, const unsigned char *values, uint32_t n, float *x)
{
    const double *mean = flat, *factor = flat + n, *bound = flat + 2 * (size_t)n;
    for (uint32_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, values + i * sizeof v, sizeof v);
        double z = ((double)v - mean[i]) * factor[i];
        z = z > bound[i] ? bound[i] : z;
        x[i] = (float)(z < -bound[i] ? -bound[i] : z);
    }
}

INLINE int run(const struct fis_encoder *enc, const unsigned char *values, float *x)
{
    if (!all_finite(values, enc->n))
        return 0;
    if (enc->flat_plain)
        memcpy(x, values, enc->n * sizeof *x);
    else
        scale(enc->flat, values, enc->n, x);
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

int encoder_flat_run(const struct fis_encoder *enc, const void *values, float *x)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return run_512(enc, values, x);
    if (__builtin_cpu_supports("avx2"))
        return run_256(enc, values, x);
#endif
    return run(enc, values, x);
}

int encoder_flat_make(struct fis_encoder *enc, struct fis_error *e)
{
    uint32_t n = enc->n;
    for (uint32_t i = 0; i < n; i++)
        if (enc->columns[i].pub.type != FIS_NUMERIC || enc->columns[i].width != 1)
            return 0;
    if (!enc->flat && !(enc->flat = fis_alloc(3 * (size_t)n, sizeof *enc->flat)))
        return fis_fail(e, FIS_NOMEM, "no memory for an encoder of %u columns", n);
    enc->flat_plain = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct encoder_column *c = &enc->columns[i];
        int scaled = c->pub.scale != FIS_SCALE_NONE;
        enc->flat_plain &= !scaled;
        enc->flat[i] = scaled ? c->mean : 0;
        enc->flat[n + i] = scaled ? c->factor : 1;
        enc->flat[2 * n + i] = scaled ? (double)FIS_ENCODER_CLIP : (double)INFINITY;
    }
    return 0;
}

int fis_encoder_as_is(const struct fis_encoder *enc)
{
    return enc->flat && enc->flat_plain;
}

/* The transformer's layers one by one: layer norm, gelu, attention, dense. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/vit_impl.h"

/* Eight numbers at any address; a machine of shorter vectors takes several for one. */
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int eight_mask __attribute__((vector_size(32)));
typedef unsigned eight_bits __attribute__((vector_size(32)));
#define EIGHT 8u
/* Bodies that are compiled twice, for vectors of eight and for any machine. */
#define BODY static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
static bool is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define WIDE
static bool is_wide(void)
{
    return false;
}
#endif

/* exp(x) within 2 ulp, by Cephes' polynomial; x is cut to where neither result nor reciprocal
 * overflows. NaN stays NaN. */
BODY void bounded_exp(eight *of)
{
    eight x = *of;
    const eight most = (eight){0} + 80.f;
    const eight_mask below = x<-most, above = x> most;
    x = (eight)(((eight_mask)x & ~(below | above)) | ((eight_mask)(-most) & below) |
                ((eight_mask)most & above));
    const eight shifted = x * 1.44269504f + 12582912.f, n = shifted - 12582912.f;
    const eight r = x - n * .693359375f + n * 2.12194440e-4f;
    eight p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.f;
    *of = (eight)((eight_bits)p + ((eight_bits)shifted << 23));
}

/* ---- layer norm ------------------------------------------------------------------------------ */

/* Sums in eight parts, so that they are vectorised. */
BODY float sum_of(const float *x, uint32_t n)
{
    float part[EIGHT] = {0}, sum = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        for (uint32_t j = 0; j < EIGHT; j++)
            part[j] += x[i + j];
    for (; i < n; i++)
        sum += x[i];
    for (uint32_t j = 0; j < EIGHT; j++)
        sum += part[j];
    return sum;
}

static float dot_of(const float *a, const float *b, uint32_t n)
{
    float part[EIGHT] = {0}, sum = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        for (uint32_t j = 0; j < EIGHT; j++)
            part[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum + sum_of(part, EIGHT);
}

static float dot3_of(const float *a, const float *b, const float *c, uint32_t n)
{
    float part[EIGHT] = {0}, sum = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        for (uint32_t j = 0; j < EIGHT; j++)
            part[j] += a[i + j] * b[i + j] * c[i + j];
    for (; i < n; i++)
        sum += a[i] * b[i] * c[i];
    return sum + sum_of(part, EIGHT);
}

void vit_scale(const float *hat, uint32_t rows, uint32_t d, const float *p, float *y)
{
    for (uint32_t r = 0; r < rows; r++, hat += d, y += d)
        for (uint32_t i = 0; i < d; i++)
            y[i] = hat[i] * p[i] + p[d + i];
}

void vit_norm(const float *x, uint32_t rows, uint32_t d, const float *p, float *hat, float *rstd,
              float *y)
{
    for (uint32_t r = 0; r < rows; r++) {
        const float *in = x + (size_t)r * d;
        float *h = hat + (size_t)r * d;
        const float mean = sum_of(in, d) / (float)d;
        for (uint32_t i = 0; i < d; i++)
            h[i] = in[i] - mean;
        rstd[r] = 1 / sqrtf(dot_of(h, h, d) / (float)d + VIT_EPSILON);
        for (uint32_t i = 0; i < d; i++)
            h[i] *= rstd[r];
    }
    vit_scale(hat, rows, d, p, y);
}

void vit_norm_backward(const float *dy, const float *hat, const float *rstd, uint32_t rows,
                       uint32_t d, const float *p, float *dp, float *dx)
{
    for (uint32_t r = 0; r < rows; r++, dy += d, hat += d, dx += d) {
        const float mean = dot_of(dy, p, d) / (float)d, along = dot3_of(dy, p, hat, d) / (float)d;
        for (uint32_t i = 0; i < d; i++) {
            dp[i] += dy[i] * hat[i];
            dp[d + i] += dy[i];
            dx[i] += rstd[r] * (dy[i] * p[i] - mean - hat[i] * along);
        }
    }
}

/* ---- gelu -------------------------------------------------------------------------------------
 */

/* x / (1 + exp(-t)) with t = 2 sqrt(2 / pi) (x + .044715 x^3), which is the one by tanh. */
BODY void gelu_eight(const float *z, float *act, float *slope)
{
    const float c = 1.5957691216f, cube = .044715f;
    const eight x = *(const eight *)z, square = x * x;
    eight t = -c * x * (1 + cube * square);
    bounded_exp(&t);
    const eight s = 1 / (1 + t);
    *(eight *)act = x * s;
    *(eight *)slope = s + x * s * (1 - s) * c * (1 + 3 * cube * square);
}

BODY void gelu(const float *z, size_t n, float *act, float *slope)
{
    size_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        gelu_eight(z + i, act + i, slope + i);
    if (i < n) {
        float last[3][EIGHT] = {{0}};
        memcpy(last[0], z + i, (n - i) * sizeof *z);
        gelu_eight(last[0], last[1], last[2]);
        memcpy(act + i, last[1], (n - i) * sizeof *act);
        memcpy(slope + i, last[2], (n - i) * sizeof *slope);
    }
}

WIDE static void gelu_wide(const float *z, size_t n, float *act, float *slope)
{
    gelu(z, n, act, slope);
}

void vit_gelu(const float *z, size_t n, float *act, float *slope)
{
    if (is_wide())
        gelu_wide(z, n, act, slope);
    else
        gelu(z, n, act, slope);
}

/* ---- attention --------------------------------------------------------------------------------
 */

/* z becomes exp(z - top). */
BODY void exp_of(float *z, uint32_t n, float top)
{
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT) {
        eight v = *(eight *)(z + i) - top;
        bounded_exp(&v);
        *(eight *)(z + i) = v;
    }
    if (i < n) {
        eight v = {0};
        memcpy(&v, z + i, (n - i) * sizeof *z);
        v -= top;
        bounded_exp(&v);
        memcpy(z + i, &v, (n - i) * sizeof *z);
    }
}

BODY float largest(const float *z, uint32_t n)
{
    float part[EIGHT], top = z[0];
    uint32_t i = 0;
    for (uint32_t j = 0; j < EIGHT; j++)
        part[j] = top;
    for (; i + EIGHT <= n; i += EIGHT)
        for (uint32_t j = 0; j < EIGHT; j++)
            part[j] = z[i + j] > part[j] ? z[i + j] : part[j];
    for (; i < n; i++)
        top = z[i] > top ? z[i] : top;
    for (uint32_t j = 0; j < EIGHT; j++)
        top = part[j] > top ? part[j] : top;
    return top;
}

BODY void softmax(float *z, uint32_t rows, uint32_t n)
{
    for (uint32_t r = 0; r < rows; r++, z += n) {
        exp_of(z, n, largest(z, n));
        const float scale = 1 / sum_of(z, n);
        for (uint32_t i = 0; i < n; i++)
            z[i] *= scale;
    }
}

WIDE static void softmax_wide(float *z, uint32_t rows, uint32_t n)
{
    softmax(z, rows, n);
}

static void softmax_rows(float *z, uint32_t rows, uint32_t n)
{
    if (is_wide())
        softmax_wide(z, rows, n);
    else
        softmax(z, rows, n);
}

void vit_attention(const struct fis_vit *v, const float *qkv, float *share, float *mixed)
{
    const int t = (int)vit_tokens(v), d = (int)v->dim, each = d / (int)v->heads;
    const float scale = 1 / sqrtf((float)each);
    for (uint32_t h = 0; h < v->heads; h++) {
        const float *q = qkv + (size_t)h * (size_t)each, *k = q + d, *val = k + d;
        float *s = share + (size_t)h * (size_t)t * (size_t)t;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t, t, each, scale, q, 3 * d, k, 3 * d,
                    0, s, t);
        softmax_rows(s, (uint32_t)t, (uint32_t)t);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, each, t, 1, s, t, val, 3 * d, 0,
                    mixed + (size_t)h * (size_t)each, d);
    }
}

/* ds = share o (dshare - its mean under share), in place. */
static void softmax_rows_backward(const float *share, uint32_t rows, uint32_t n, float *ds)
{
    for (uint32_t r = 0; r < rows; r++, share += n, ds += n) {
        const float mean = dot_of(share, ds, n);
        for (uint32_t i = 0; i < n; i++)
            ds[i] = share[i] * (ds[i] - mean);
    }
}

void vit_attention_backward(const struct fis_vit *v, const float *qkv, const float *share,
                            const float *dmixed, float *work, float *dqkv)
{
    const int t = (int)vit_tokens(v), d = (int)v->dim, each = d / (int)v->heads;
    const float scale = 1 / sqrtf((float)each);
    for (uint32_t h = 0; h < v->heads; h++) {
        const size_t at = (size_t)h * (size_t)each;
        const float *q = qkv + at, *k = q + d, *val = k + d, *dm = dmixed + at;
        const float *s = share + (size_t)h * (size_t)t * (size_t)t;
        float *dq = dqkv + at, *dk = dq + d, *dv = dk + d;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, t, each, t, 1, s, t, dm, d, 0, dv,
                    3 * d);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t, t, each, 1, dm, d, val, 3 * d, 0,
                    work, t);
        softmax_rows_backward(s, (uint32_t)t, (uint32_t)t, work);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, each, t, scale, work, t, k, 3 * d,
                    0, dq, 3 * d);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, t, each, t, scale, work, t, q, 3 * d,
                    0, dk, 3 * d);
    }
}

/* ---- dense ------------------------------------------------------------------------------------
 */

void vit_dense(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p, float *z)
{
    memset(z, 0, (size_t)rows * out * sizeof *z);
    vit_dense_add(a, rows, in, out, p, z);
}

void vit_dense_add(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p,
                   float *z)
{
    const float *b = p + (size_t)in * out;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t j = 0; j < out; j++)
            z[(size_t)r * out + j] += b[j];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)out, (int)in, 1, a,
                (int)in, p, (int)out, 1, z, (int)out);
}

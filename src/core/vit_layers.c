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

/* ---- rows of numbers -------------------------------------------------------------------------
 */

#define AT(x, i) (*(eight *)((x) + (i)))
#define OF(x, i) (*(const eight *)((x) + (i)))

/* A sum is taken in eight parts, and what is left over. */
BODY float lanes(eight v)
{
    float sum = 0;
    for (uint32_t j = 0; j < EIGHT; j++)
        sum += v[j];
    return sum;
}

BODY float sum_of(const float *x, uint32_t n)
{
    eight part = {0};
    float rest = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        part += OF(x, i);
    for (; i < n; i++)
        rest += x[i];
    return rest + lanes(part);
}

BODY float dot_of(const float *a, const float *b, uint32_t n)
{
    eight part = {0};
    float rest = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        part += OF(a, i) * OF(b, i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return rest + lanes(part);
}

/* z [rows][n] += b [n]. */
BODY void add_row(const float *b, uint32_t rows, uint32_t n, float *z)
{
    for (uint32_t r = 0; r < rows; r++, z += n) {
        uint32_t i = 0;
        for (; i + EIGHT <= n; i += EIGHT)
            AT(z, i) += OF(b, i);
        for (; i < n; i++)
            z[i] += b[i];
    }
}

BODY void multiply(const float *x, size_t n, float *y)
{
    size_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        AT(y, i) *= OF(x, i);
    for (; i < n; i++)
        y[i] *= x[i];
}

/* name(…) by the widest vectors that the processor has. */
#define BY_WIDTH(name, parameters, ...)                                                            \
    WIDE static void name##_wide parameters                                                        \
    {                                                                                              \
        name(__VA_ARGS__);                                                                         \
    }                                                                                              \
    void vit_##name parameters                                                                     \
    {                                                                                              \
        if (is_wide())                                                                             \
            name##_wide(__VA_ARGS__);                                                              \
        else                                                                                       \
            name(__VA_ARGS__);                                                                     \
    }

BY_WIDTH(add_row, (const float *b, uint32_t rows, uint32_t n, float *z), b, rows, n, z)
BY_WIDTH(multiply, (const float *x, size_t n, float *y), x, n, y)

/* ---- layer norm ------------------------------------------------------------------------------ */

BODY void scale_row(const float *hat, uint32_t d, const float *p, float *y)
{
    uint32_t i = 0;
    for (; i + EIGHT <= d; i += EIGHT)
        AT(y, i) = OF(hat, i) * OF(p, i) + OF(p, d + i);
    for (; i < d; i++)
        y[i] = hat[i] * p[i] + p[d + i];
}

BODY void scale(const float *hat, uint32_t rows, uint32_t d, const float *p, float *y)
{
    for (uint32_t r = 0; r < rows; r++, hat += d, y += d)
        scale_row(hat, d, p, y);
}

BODY void norm(const float *x, uint32_t rows, uint32_t d, const float *p, float *hat, float *rstd,
               float *y)
{
    for (uint32_t r = 0; r < rows; r++, x += d, hat += d, y += d) {
        const float mean = sum_of(x, d) / (float)d;
        uint32_t i = 0;
        for (; i + EIGHT <= d; i += EIGHT)
            AT(hat, i) = OF(x, i) - mean;
        for (; i < d; i++)
            hat[i] = x[i] - mean;
        const float by = rstd[r] = 1 / sqrtf(dot_of(hat, hat, d) / (float)d + VIT_EPSILON);
        for (i = 0; i + EIGHT <= d; i += EIGHT)
            AT(hat, i) *= by;
        for (; i < d; i++)
            hat[i] *= by;
        scale_row(hat, d, p, y);
    }
}

BODY void norm_backward(const float *dy, const float *hat, const float *rstd, uint32_t rows,
                        uint32_t d, const float *p, float *dp, float *dx)
{
    for (uint32_t r = 0; r < rows; r++, dy += d, hat += d, dx += d) {
        eight part = {0};
        float rest = 0;
        uint32_t i = 0;
        for (; i + EIGHT <= d; i += EIGHT)
            part += OF(dy, i) * OF(p, i) * OF(hat, i);
        for (; i < d; i++)
            rest += dy[i] * p[i] * hat[i];
        const float mean = dot_of(dy, p, d) / (float)d, along = (rest + lanes(part)) / (float)d;
        for (i = 0; i + EIGHT <= d; i += EIGHT) {
            AT(dp, i) += OF(dy, i) * OF(hat, i);
            AT(dp, d + i) += OF(dy, i);
            AT(dx, i) += rstd[r] * (OF(dy, i) * OF(p, i) - mean - OF(hat, i) * along);
        }
        for (; i < d; i++) {
            dp[i] += dy[i] * hat[i];
            dp[d + i] += dy[i];
            dx[i] += rstd[r] * (dy[i] * p[i] - mean - hat[i] * along);
        }
    }
}

BY_WIDTH(scale, (const float *hat, uint32_t rows, uint32_t d, const float *p, float *y), hat, rows,
         d, p, y)
BY_WIDTH(norm,
         (const float *x, uint32_t rows, uint32_t d, const float *p, float *hat, float *rstd,
          float *y),
         x, rows, d, p, hat, rstd, y)
BY_WIDTH(norm_backward,
         (const float *dy, const float *hat, const float *rstd, uint32_t rows, uint32_t d,
          const float *p, float *dp, float *dx),
         dy, hat, rstd, rows, d, p, dp, dx)

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
    if (slope)
        *(eight *)slope = s + x * s * (1 - s) * c * (1 + 3 * cube * square);
}

BODY void gelu(const float *z, size_t n, float *act, float *slope)
{
    size_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        gelu_eight(z + i, act + i, slope ? slope + i : NULL);
    if (i < n) {
        float last[3][EIGHT] = {{0}};
        memcpy(last[0], z + i, (n - i) * sizeof *z);
        gelu_eight(last[0], last[1], last[2]);
        memcpy(act + i, last[1], (n - i) * sizeof *act);
        if (slope)
            memcpy(slope + i, last[2], (n - i) * sizeof *slope);
    }
}

BY_WIDTH(gelu, (const float *z, size_t n, float *act, float *slope), z, n, act, slope)

/* ---- attention --------------------------------------------------------------------------------
 */

BODY float largest(const float *z, uint32_t n)
{
    eight part = (eight){0} + z[0];
    float top = z[0];
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT) {
        const eight v = OF(z, i);
        const eight_mask more = v > part;
        part = (eight)(((eight_mask)v & more) | ((eight_mask)part & ~more));
    }
    for (; i < n; i++)
        top = z[i] > top ? z[i] : top;
    for (uint32_t j = 0; j < EIGHT; j++)
        top = part[j] > top ? part[j] : top;
    return top;
}

/* z becomes exp(z - top); returns their sum. */
BODY float exp_of(float *z, uint32_t n, float top)
{
    eight part = {0};
    float rest = 0;
    uint32_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT) {
        eight v = OF(z, i) - top;
        bounded_exp(&v);
        AT(z, i) = v;
        part += v;
    }
    if (i < n) {
        eight v = {0};
        memcpy(&v, z + i, (n - i) * sizeof *z);
        v -= top;
        bounded_exp(&v);
        memcpy(z + i, &v, (n - i) * sizeof *z);
    }
    for (; i < n; i++)
        rest += z[i];
    return rest + lanes(part);
}

BODY void softmax(float *z, uint32_t rows, uint32_t n)
{
    for (uint32_t r = 0; r < rows; r++, z += n) {
        const float by = 1 / exp_of(z, n, largest(z, n));
        uint32_t i = 0;
        for (; i + EIGHT <= n; i += EIGHT)
            AT(z, i) *= by;
        for (; i < n; i++)
            z[i] *= by;
    }
}

/* ds = share o (dshare - its mean under share), in place. */
BODY void softmax_backward(const float *share, uint32_t rows, uint32_t n, float *ds)
{
    for (uint32_t r = 0; r < rows; r++, share += n, ds += n) {
        const float mean = dot_of(share, ds, n);
        uint32_t i = 0;
        for (; i + EIGHT <= n; i += EIGHT)
            AT(ds, i) = OF(share, i) * (OF(ds, i) - mean);
        for (; i < n; i++)
            ds[i] = share[i] * (ds[i] - mean);
    }
}

BY_WIDTH(softmax, (float *z, uint32_t rows, uint32_t n), z, rows, n)
BY_WIDTH(softmax_backward, (const float *share, uint32_t rows, uint32_t n, float *ds), share, rows,
         n, ds)

void vit_attention(const struct fis_vit *v, const float *qkv, float *share, float *mixed)
{
    const int t = (int)vit_tokens(v), d = (int)v->dim, each = d / (int)v->heads;
    const float scale = 1 / sqrtf((float)each);
    for (uint32_t h = 0; h < v->heads; h++) {
        const float *q = qkv + (size_t)h * (size_t)each, *k = q + d, *val = k + d;
        float *s = share + (size_t)h * (size_t)t * (size_t)t;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t, t, each, scale, q, 3 * d, k, 3 * d,
                    0, s, t);
        vit_softmax(s, (uint32_t)t, (uint32_t)t);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, each, t, 1, s, t, val, 3 * d, 0,
                    mixed + (size_t)h * (size_t)each, d);
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
        vit_softmax_backward(s, (uint32_t)t, (uint32_t)t, work);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, t, each, t, scale, work, t, k, 3 * d,
                    0, dq, 3 * d);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, t, each, t, scale, work, t, q, 3 * d,
                    0, dk, 3 * d);
    }
}

/* ---- dense ------------------------------------------------------------------------------------
 */

static void product_add(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p,
                        float *z)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)out, (int)in, 1, a,
                (int)in, p, (int)out, 1, z, (int)out);
}

void vit_dense(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p, float *z)
{
    for (uint32_t r = 0; r < rows; r++)
        memcpy(z + (size_t)r * out, p + (size_t)in * out, out * sizeof *z);
    product_add(a, rows, in, out, p, z);
}

void vit_dense_add(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p,
                   float *z)
{
    vit_add_row(p + (size_t)in * out, rows, out, z);
    product_add(a, rows, in, out, p, z);
}

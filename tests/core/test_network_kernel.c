/* Each kernel that this processor has, held to sums in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/network_kernel.h"
#include "fis/mem.h"
#include "fis/rng.h"

static float *normals(size_t n, struct fis_rng *rng)
{
    float *v = fis_alloc(n, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)fis_rng_normal(rng);
    return v;
}

static void check_product(const struct network_kernel *k, uint32_t in, uint32_t out,
                          struct fis_rng *rng)
{
    uint32_t columns = network_kernel_columns(k, out);
    float *w = normals((size_t)in * out, rng), *x = normals((size_t)in * k->rows, rng);
    float *bias = normals(columns, rng), *a = normals((size_t)in * k->rows, rng);
    float *packed = fis_calloc((size_t)in * columns, sizeof *packed);
    float *z = normals((size_t)columns * k->rows, rng);
    assert_true(columns >= out && columns < out + k->units);
    network_kernel_pack(k, w, in, out, packed);
    k->transpose(x, in, a);
    network_kernel_run(k, packed, in, out, a, bias, z);
    network_kernel_run(k, packed, in, out, a, NULL, z);
    for (uint32_t i = 0; i < k->rows; i++)
        for (uint32_t j = 0; j < out; j++) {
            double sum = bias[j], size = fabs(bias[j]);
            for (uint32_t u = 0; u < in; u++) {
                double term = 2.0 * x[(size_t)i * in + u] * w[(size_t)u * out + j];
                sum += term;
                size += fabs(term);
            }
            double off = fabs(z[(size_t)j * k->rows + i] - sum);
            if (!(off <= 1e-6 * size))
                fail_msg("%u rows: in %u out %u: row %u column %u is off by %g", k->rows, in, out,
                         i, j, off);
        }
    fis_free(w);
    fis_free(x);
    fis_free(bias);
    fis_free(a);
    fis_free(packed);
    fis_free(z);
}

static void products(void **state)
{
    (void)state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 7, 1);
    const struct network_kernel *k;
    for (uint32_t i = 0; (k = network_kernel(i)); i++) {
        for (uint32_t out = 1; out <= 30; out++)
            check_product(k, 1 + out % 7, out, &rng);
        check_product(k, 104, 192, &rng);
        check_product(k, 515, 64, &rng);
    }
    assert_true(k == NULL && network_kernel(0) != NULL);
}

static void relu(void **state)
{
    (void)state;
    const struct network_kernel *k;
    for (uint32_t n = 0; (k = network_kernel(n)); n++) {
        const float values[] = {-1, 0, 2, NAN, -INFINITY, INFINITY, -0.0f, 1e-40f};
        uint32_t units = 3, stride = 4, cells = 3 * stride * k->rows;
        float *z = fis_alloc(cells, sizeof *z), *was = fis_alloc(cells, sizeof *was);
        for (uint32_t i = 0; i < cells; i++)
            was[i] = z[i] = i < stride * k->rows ? values[(i + i / k->rows) % 8] : (float)i;
        k->relu(z, units, stride, 2);
        for (uint32_t i = 0; i < cells; i++) {
            float above = was[i % (stride * k->rows)];
            float want = i % (stride * k->rows) >= units * k->rows ? was[i] /* not in use */
                         : i >= stride * k->rows                   ? (above > 0 ? was[i] : 0)
                         : above < 0                               ? 0
                                                                   : above;
            assert_true(isnan(want) ? isnan(z[i]) : z[i] == want);
        }
        fis_free(z);
        fis_free(was);
    }
}

/* A row's results are the same bits wherever in the tile it stands, whatever stands beside it. */
static void rows_are_apart(void **state)
{
    (void)state;
    struct fis_rng rng;
    const struct network_kernel *k;
    fis_rng_seed(&rng, 3, 3);
    for (uint32_t n = 0; (k = network_kernel(n)); n++) {
        uint32_t in = 37, out = 21, columns = network_kernel_columns(k, out);
        float *w = normals((size_t)in * out, &rng), *row = normals(in, &rng);
        float *bias = normals(columns, &rng), *packed = fis_calloc((size_t)in * columns, 4);
        float *z = fis_calloc((size_t)columns * k->rows, 4), first[21];
        network_kernel_pack(k, w, in, out, packed);
        for (uint32_t place = 0; place < k->rows; place++) {
            float *x = normals((size_t)in * k->rows, &rng),
                  *a = normals((size_t)in * k->rows, &rng);
            memcpy(x + (size_t)place * in, row, in * sizeof *row);
            k->transpose(x, in, a);
            network_kernel_run(k, packed, in, out, a, bias, z);
            for (uint32_t j = 0; j < out; j++) {
                if (place == 0)
                    first[j] = z[(size_t)j * k->rows];
                assert_memory_equal(&z[(size_t)j * k->rows + place], &first[j], sizeof *first);
            }
            fis_free(x);
            fis_free(a);
        }
        fis_free(w);
        fis_free(row);
        fis_free(bias);
        fis_free(packed);
        fis_free(z);
    }
}

/* The sums in double, with libm's logarithm. p [classes][rows] are of any size, or NaN. */
static void criteria(void **state)
{
    (void)state;
    enum { CLASSES = 5, ROUNDS = 2000 };
    static const float special[] = {0, 1, .99999994f, 1e-45f, 1.17549435e-38f, 1e-30f, .5f, NAN};
    _Alignas(64) float p[CLASSES * NETWORK_MAX_TILE], acc[CLASSES * NETWORK_MAX_TILE],
        fair[CLASSES * NETWORK_MAX_TILE], gain[NETWORK_MAX_TILE], entropy[NETWORK_MAX_TILE];
    struct fis_rng rng;
    const struct network_kernel *k;
    fis_rng_seed(&rng, 12, 3);
    for (uint32_t n = 0; (k = network_kernel(n)); n++)
        for (uint32_t round = 0; round < ROUNDS; round++) {
            for (uint32_t i = 0; i < CLASSES * k->rows; i++) {
                p[i] = round % 8 == 0 ? special[fis_rng_below(&rng, 8)]
                                      : expf(-expf(3 * (float)fis_rng_normal(&rng)));
                acc[i] = fis_rng_below(&rng, 9) ? (float)fis_rng_normal(&rng) : 0;
                fair[i] = fis_rng_below(&rng, 9) ? (float)fis_rng_normal(&rng) : NAN;
            }
            k->criteria(p, acc, fair, CLASSES, gain, entropy);
            for (uint32_t i = 0; i < k->rows; i++) {
                double g = 0, g_size = 1e-37, h = 0, h_size = 1e-29; /* denormal terms are 0 */
                for (uint32_t at = i; at < CLASSES * k->rows; at += k->rows) {
                    double of = acc[at] <= 0 && fair[at] <= 0 ? (double)p[at] * fair[at] : 0;
                    double term = p[at] == 0 ? 0 : (double)p[at] * log((double)p[at]);
                    g -= of;
                    g_size += fabs(of);
                    h -= term;
                    h_size += fabs(term);
                }
                assert_true(isnan(g) ? isnan(gain[i]) : fabs(gain[i] - g) <= 5e-7 * g_size);
                assert_true(isnan(h) ? isnan(entropy[i]) : fabs(entropy[i] - h) <= 5e-7 * h_size);
            }
        }
}

/* A layer and two tangents that are cut off as they are stored, at once or the last ones later,
 * have the bits that relu leaves. rows [3 * stride / chunk][in][chunk], bias [3 * stride]. */
static void check_cut(const struct network_kernel *k, const float *rows, uint32_t in,
                      uint32_t stride, const uint32_t *from, const uint32_t *index,
                      const float *value, const float *bias)
{
    size_t cells = (size_t)stride * k->rows;
    float *want = fis_calloc(3 * cells, 4), *ours = fis_calloc(3 * cells, 4);
    k->sparse(rows, in, 0, 3 * stride, from, index, value, bias, 0, want);
    k->relu(want, stride, stride, 2);
    for (uint32_t pass = 1; pass <= 3; pass++) {
        memset(ours, 0, 3 * cells * sizeof *ours);
        k->sparse(rows, in, 0, pass * stride, from, index, value, bias, stride, ours);
        k->sparse(rows, in, pass * stride, 3 * stride, from, index, value, bias, stride, ours);
        assert_memory_equal(ours, want, 3 * cells * sizeof *want);
    }
    fis_free(want);
    fis_free(ours);
}

/* Rows of lists of any length, empty ones too, have the bits of the dense product. */
static void check_sparse(const struct network_kernel *k, uint32_t in, uint32_t out,
                         struct fis_rng *rng)
{
    uint32_t columns = network_kernel_columns(k, out), n = 0, from[NETWORK_MAX_TILE + 1] = {0};
    uint32_t stride = (out + k->chunk - 1) / k->chunk * k->chunk;
    float *w = normals((size_t)in * out, rng), *bias = normals((size_t)columns + 3 * stride, rng);
    float *packed = fis_calloc((size_t)in * columns, 4);
    float *rows = fis_calloc((size_t)in * stride * 3, 4);
    float *x = fis_calloc((size_t)in * k->rows, 4), *a = fis_calloc((size_t)in * k->rows, 4);
    float *z = fis_calloc((size_t)columns * k->rows, 4);
    float *ours = fis_calloc((size_t)stride * k->rows, 4);
    uint32_t *index = fis_calloc((size_t)in * k->rows, sizeof *index);
    float *value = fis_calloc((size_t)in * k->rows, sizeof *value);
    for (uint32_t i = 0; i < k->rows; i++) {
        for (uint32_t u = 0; u < in; u++)
            if (fis_rng_below(rng, k->rows) < i) {
                index[n] = u;
                x[(size_t)i * in + u] = value[n++] = (float)fis_rng_normal(rng);
            }
        from[i + 1] = n;
    }
    for (uint32_t u = 0; u < in; u++)
        for (uint32_t j = 0; j < out; j++)
            rows[(size_t)(j / k->chunk * in + u) * k->chunk + j % k->chunk] =
                w[(size_t)u * out + j];
    network_kernel_pack(k, w, in, out, packed);
    k->transpose(x, in, a);
    network_kernel_run(k, packed, in, out, a, bias, z);
    k->sparse(rows, in, 0, stride, from, index, value, bias, 0, ours);
    assert_memory_equal(ours, z, (size_t)out * k->rows * sizeof *z);
    for (uint32_t slot = 1; slot < 3; slot++)
        for (size_t i = 0; i < (size_t)in * stride; i++)
            rows[slot * (size_t)in * stride + i] = (float)fis_rng_normal(rng);
    bias[1] = NAN;
    check_cut(k, rows, in, stride, from, index, value, bias);
    float *all[] = {w, bias, packed, rows, x, a, z, ours, value};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_free(index);
}

static void sparse_as_dense(void **state)
{
    (void)state;
    struct fis_rng rng;
    const struct network_kernel *k;
    fis_rng_seed(&rng, 11, 2);
    for (uint32_t n = 0; (k = network_kernel(n)); n++) {
        check_sparse(k, 104, 192, &rng);
        check_sparse(k, 37, k->chunk, &rng);
        check_sparse(k, 25, 3, &rng);
        check_sparse(k, 40, k->chunk + 1, &rng);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),       cmocka_unit_test(relu),
        cmocka_unit_test(rows_are_apart), cmocka_unit_test(sparse_as_dense),
        cmocka_unit_test(criteria),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

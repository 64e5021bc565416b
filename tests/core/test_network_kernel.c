/* Each kernel that this processor has, held to sums in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/network_kernel.h"
#include "core/network_lists.h"
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

/* Lists of any length, empty ones too, and the rows x [rows][in] that they stand for. */
struct lists {
    uint32_t from[NETWORK_MAX_TILE + 1], *index;
    float *value, *x;
};

static struct lists lists_new(const struct network_kernel *k, uint32_t in, struct fis_rng *rng)
{
    size_t cells = (size_t)in * k->rows;
    struct lists l = {.index = fis_calloc(cells, 4), .value = fis_calloc(cells, 4)};
    uint32_t n = 0;
    l.x = fis_calloc(cells, sizeof *l.x);
    for (uint32_t i = 0; i < k->rows; i++) {
        for (uint32_t u = 0; u < in; u++)
            if (fis_rng_below(rng, k->rows) < i) {
                l.index[n] = u;
                l.x[(size_t)i * in + u] = l.value[n++] = (float)fis_rng_normal(rng);
            }
        l.from[i + 1] = n;
    }
    return l;
}

static void lists_free(struct lists *l)
{
    fis_free(l->index);
    fis_free(l->value);
    fis_free(l->x);
}

/* Rows of lists have the bits of the dense product. */
static void check_sparse(const struct network_kernel *k, uint32_t in, uint32_t out,
                         struct fis_rng *rng)
{
    uint32_t columns = network_kernel_columns(k, out);
    uint32_t stride = (out + k->chunk - 1) / k->chunk * k->chunk;
    struct lists l = lists_new(k, in, rng);
    float *w = normals((size_t)in * out, rng), *bias = normals((size_t)columns + stride, rng);
    float *packed = fis_calloc((size_t)in * columns, 4);
    float *rows = fis_calloc((size_t)in * stride, 4), *a = fis_calloc((size_t)in * k->rows, 4);
    float *z = fis_calloc((size_t)columns * k->rows, 4);
    float *ours = fis_calloc((size_t)stride * k->rows, 4);
    for (uint32_t u = 0; u < in; u++)
        for (uint32_t j = 0; j < out; j++)
            rows[(size_t)(j / k->chunk * in + u) * k->chunk + j % k->chunk] =
                w[(size_t)u * out + j];
    network_kernel_pack(k, w, in, out, packed);
    k->transpose(l.x, in, a);
    network_kernel_run(k, packed, in, out, a, bias, z);
    k->sparse(rows, in, 0, stride, l.from, l.index, l.value, bias, ours);
    assert_memory_equal(ours, z, (size_t)out * k->rows * sizeof *z);
    float *all[] = {w, bias, packed, rows, a, z, ours};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    lists_free(&l);
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

/* The first layer of a slab for a tile, to z [columns][rows]. */
static void dense(const struct network_kernel *k, const struct fis_shape *shape, const float *slab,
                  const float *a, float *z)
{
    uint32_t in = shape->width[0], out = shape->width[1], columns = network_kernel_columns(k, out);
    float *packed = fis_calloc((size_t)in * columns, 4), *bias = fis_calloc(columns, 4);
    network_kernel_pack(k, slab, in, out, packed);
    memcpy(bias, slab + (size_t)in * out, out * sizeof *bias);
    network_kernel_run(k, packed, in, out, a, bias, z);
    fis_free(packed);
    fis_free(bias);
}

/* Logits and tangents of a tile of rows x, to out [2][NETWORK_FEW][rows]. */
static void dense_outputs(const struct network_kernel *k, const struct fis_shape *shape,
                          const float *const slabs[2], int paired, const float *x, float *out)
{
    uint32_t in = shape->width[0], hidden = shape->width[1], classes = shape->width[2];
    uint32_t columns = network_kernel_columns(k, hidden);
    size_t cells = (size_t)columns * k->rows, matrix = (size_t)hidden * NETWORK_FEW;
    float *a = fis_calloc((size_t)in * k->rows, 4), *h = fis_calloc(2 * cells, 4);
    float *packed = fis_calloc(2 * matrix, 4), bias[2][NETWORK_FEW] = {{0}};
    k->transpose(x, in, a);
    for (int i = 0; i < 2; i++) {
        const float *from = slabs[i] + fis_shape_offset(shape, 1);
        dense(k, shape, slabs[i], a, h + (size_t)i * cells);
        network_kernel_pack(k, from, hidden, classes, packed + (size_t)i * matrix);
        memcpy(bias[i], from + (size_t)hidden * classes, classes * sizeof *from);
    }
    k->relu(h, hidden, columns, 1);
    k->output(packed, h, packed, NULL, hidden, bias[0], out);
    k->output(packed + matrix, h, packed, paired ? h + cells : NULL, hidden, bias[1],
              out + (size_t)NETWORK_FEW * k->rows);
    fis_free(a);
    fis_free(h);
    fis_free(packed);
}

/* Logits and tangents of row i in double, and the size of what they are summed of. */
static void twin(const struct fis_shape *shape, const float *params, const float *direction,
                 const float *x, double *z, double *dz, double *size)
{
    uint32_t in = shape->width[0], hidden = shape->width[1], classes = shape->width[2];
    const float *w = params + fis_shape_offset(shape, 1), *g = direction + (w - params);
    for (uint32_t c = 0; c < classes; c++) {
        z[c] = w[(size_t)hidden * classes + c];
        dz[c] = g[(size_t)hidden * classes + c];
        size[c] = fabs(z[c]) + fabs(dz[c]);
    }
    for (uint32_t j = 0; j < hidden; j++) {
        double h = params[(size_t)in * hidden + j], d = direction[(size_t)in * hidden + j];
        for (uint32_t u = 0; u < in; u++) {
            h += (double)x[u] * params[(size_t)u * hidden + j];
            d += (double)x[u] * direction[(size_t)u * hidden + j];
        }
        for (uint32_t c = 0; c < classes && h > 0; c++) {
            double to = w[(size_t)j * classes + c], along = g[(size_t)j * classes + c];
            z[c] += to * h;
            dz[c] += along * h + to * d;
            size[c] += fabs(to * h) + fabs(along * h) + fabs(to * d);
        }
    }
}

/* Records given as lists have, one by one, the bits of the tile; and what is not expected changes
 * nothing. */
static void check_shallow(const struct network_kernel *k, uint32_t in, uint32_t hidden,
                          uint32_t classes, int paired, struct fis_rng *rng)
{
    struct fis_shape shape;
    struct fis_error e;
    struct network_lists s;
    assert_int_equal(fis_shape_init(&shape, in, &hidden, 1, classes, &e), 0);
    size_t first = fis_shape_offset(&shape, 1), n = NETWORK_FEW * k->rows;
    float *params = normals(fis_shape_params(&shape), rng);
    float *direction = normals(fis_shape_params(&shape), rng);
    if (!paired)
        memset(direction, 0, first * sizeof *direction);
    float *slab = fis_calloc(network_lists_init(&s, k, &shape, 2, paired ? 2 : 1), 4);
    network_lists_make(&s, (const float *const[]){params, direction}, slab);
    assert_true(s.shallow);

    struct lists l = lists_new(k, in, rng);
    float *out = fis_calloc(6 * n, 4);
    dense_outputs(k, &shape, (const float *const[]){params, direction}, paired, l.x, out);
    k->shallow(&s.slot[1], l.from, l.index, l.value, out + 2 * n, out + 3 * n);
    k->shallow(&s.slot[1], l.from, l.index, l.value, out + 4 * n, NULL);
    k->shallow(&s.slot[1], l.from, l.index, l.value, NULL, out + 5 * n);
    for (size_t i = 2; i < 6; i++)
        assert_memory_equal(out + i * n, out + i % 2 * n, classes * k->rows * sizeof *out);
    for (uint32_t i = 0; i < k->rows; i++) {
        double want[NETWORK_FEW], along[NETWORK_FEW], size[NETWORK_FEW];
        twin(&shape, params, direction, l.x + (size_t)i * in, want, along, size);
        for (uint32_t c = 0; c < classes; c++) {
            assert_true(fabs(out[c * k->rows + i] - want[c]) <= 1e-5 * size[c]);
            assert_true(fabs(out[n + c * k->rows + i] - along[c]) <= 1e-5 * size[c]);
        }
    }
    float *all[] = {params, direction, slab, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    lists_free(&l);
}

static void shallow_as_dense(void **state)
{
    (void)state;
    struct fis_rng rng;
    const struct network_kernel *k;
    fis_rng_seed(&rng, 13, 2);
    for (uint32_t n = 0; (k = network_kernel(n)); n++)
        for (int paired = 0; paired < 2; paired++)
            for (uint32_t classes = 2; network_kernel_columns(k, classes) == NETWORK_FEW;
                 classes++) {
                check_shallow(k, 104, 64, classes, paired, &rng);
                check_shallow(k, 24, 1, classes, paired, &rng);
                check_shallow(k, 37, k->chunk + 5, classes, paired, &rng);
                check_shallow(k, 30, 3 * k->chunk - 2, classes, paired, &rng);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),         cmocka_unit_test(relu),
        cmocka_unit_test(rows_are_apart),   cmocka_unit_test(sparse_as_dense),
        cmocka_unit_test(shallow_as_dense), cmocka_unit_test(criteria),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

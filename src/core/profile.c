#include "fis/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "encoder_impl.h"
#include "fis/mem.h"

#define NUMERIC_BINS 8

struct column {
    uint32_t feature; /* its first */
    uint32_t width;   /* features */
    uint32_t bin;     /* its first */
    uint32_t bins;
    float mean, factor; /* of a numeric column whose features are as they came */
    int numeric, indicator, constant;
};

struct fis_profile {
    struct column *columns;
    uint32_t *counts;
    uint32_t n, n_counts, rows;
};

static void lay_out(struct fis_profile *p, const struct fis_encoder *encoder)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct encoder_column *from = &encoder->columns[i];
        struct column *c = &p->columns[i];
        *c = (struct column){
            .feature = from->first,
            .width = from->width,
            .bin = p->n_counts,
            .mean = 0.0f,
            .factor = 1.0f,
            .numeric = from->pub.type == FIS_NUMERIC,
            .indicator = from->missing_indicator,
            .constant = encoder_is_constant(from),
        };
        if (c->numeric && from->pub.scale != FIS_SCALE_STANDARD && from->deviation > 0.0) {
            c->mean = (float)from->mean;
            c->factor = (float)(1.0 / from->deviation);
        }
        c->bins = c->numeric ? NUMERIC_BINS + (c->indicator ? 1u : 0u) : c->width;
        p->n_counts += c->bins;
    }
}

struct fis_profile *fis_profile_new(const struct fis_encoder *encoder, struct fis_error *e)
{
    assert(encoder->finished);
    struct fis_profile *p = fis_calloc(1, sizeof *p);
    if (p) {
        p->n = encoder->n;
        p->columns = fis_calloc(p->n ? p->n : 1, sizeof *p->columns);
        if (p->columns)
            lay_out(p, encoder);
        p->counts = fis_calloc(p->n_counts ? p->n_counts : 1, sizeof *p->counts);
    }
    if (p && p->columns && p->counts)
        return p;
    fis_profile_free(p);
    fis_fail(e, FIS_NOMEM, "no memory to count how records are distributed");
    return NULL;
}

void fis_profile_free(struct fis_profile *p)
{
    if (!p)
        return;
    fis_free(p->columns);
    fis_free(p->counts);
    fis_free(p);
}

static uint32_t numeric_bin(const struct column *c, const float *x)
{
    static const float edges[NUMERIC_BINS - 1] = {-2.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 2.0f};
    if (c->indicator && x[c->feature + 1] != 0.0f)
        return NUMERIC_BINS;
    if (c->constant) /* another value: the sign of 0 says so */
        return signbit(x[c->feature]) ? NUMERIC_BINS - 1 : NUMERIC_BINS / 2;
    float z = (x[c->feature] - c->mean) * c->factor;
    uint32_t bin = 0;
    for (int i = 0; i < NUMERIC_BINS - 1; i++) /* without branches: z is hard to predict */
        bin += z >= edges[i];
    return bin;
}

static uint32_t category_bin(const struct column *c, const float *x)
{
    uint32_t k = 0;
    while (k + 1 < c->width && x[c->feature + k] == 0.0f)
        k++;
    return k;
}

void fis_profile_add(struct fis_profile *p, const float *x)
{
    if (p->rows == UINT32_MAX)
        return;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct column *c = &p->columns[i];
        p->counts[c->bin + (c->numeric ? numeric_bin(c, x) : category_bin(c, x))]++;
    }
    p->rows++;
}

uint32_t fis_profile_rows(const struct fis_profile *p)
{
    return p->rows;
}

void fis_profile_clear(struct fis_profile *p)
{
    memset(p->counts, 0, p->n_counts * sizeof *p->counts);
    p->rows = 0;
}

/* Each column is halved by itself, so that all still count the same rows: what an odd count leaves
 * over goes in turns to the one bin or the other. */
static void halve(struct fis_profile *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct column *c = &p->columns[i];
        uint32_t over = 0;
        for (uint32_t k = 0; k < c->bins; k++) {
            uint32_t *count = &p->counts[c->bin + k], half = *count / 2;
            over ^= *count & 1u;
            *count = half + ((*count & 1u) && !over);
        }
    }
    p->rows /= 2;
}

void fis_profile_merge(struct fis_profile *p, const struct fis_profile *other, uint32_t most)
{
    assert(p->n_counts == other->n_counts);
    if (other->rows > UINT32_MAX - p->rows)
        return;
    for (uint32_t i = 0; i < p->n_counts; i++)
        p->counts[i] += other->counts[i];
    p->rows += other->rows;
    while (p->rows > most)
        halve(p);
}

const uint32_t *fis_profile_counts(const struct fis_profile *p, uint32_t *n)
{
    *n = p->n_counts;
    return p->counts;
}

int fis_profile_load(struct fis_profile *p, const uint32_t *counts, uint32_t n, struct fis_error *e)
{
    uint64_t rows = 0;
    if (n != p->n_counts)
        return fis_fail(e, FIS_INPUT, "distribution: %u counts, %u expected", n, p->n_counts);
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < p->columns[i].bins; k++)
            sum += counts[p->columns[i].bin + k];
        if (sum > UINT32_MAX || (i > 0 && sum != rows))
            return fis_fail(e, FIS_INPUT,
                            "distribution: column %u counts %llu rows, the first %llu", i,
                            (unsigned long long)sum, (unsigned long long)rows);
        rows = sum;
    }
    memcpy(p->counts, counts, n * sizeof *counts);
    p->rows = (uint32_t)rows;
    return 0;
}

double fis_profile_psi(const struct fis_profile *reference, const struct fis_profile *now,
                       uint32_t column)
{
    assert(reference->n_counts == now->n_counts && column < now->n);
    const struct column *c = &now->columns[column];
    const uint32_t *p = reference->counts + c->bin, *q = now->counts + c->bin;
    double k = 0.0, n = reference->rows, m = now->rows, sum = 0.0;
    assert(n > 0.0 && m > 0.0);
    for (uint32_t i = 0; i < c->bins; i++)
        k += p[i] || q[i];
    for (uint32_t i = 0; i < c->bins; i++) {
        if (!p[i] && !q[i])
            continue;
        double a = (p[i] + 0.5) / (n + 0.5 * k), b = (q[i] + 0.5) / (m + 0.5 * k);
        sum += (b - a) * log(b / a);
    }
    sum -= (k - 1.0) * (1.0 / n + 1.0 / m);
    return sum > 0.0 ? sum : 0.0;
}

#include "lab/fair_term.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"

struct lab_fair_term {
    struct lab_fair_term_options o;
    const uint32_t *index;
    uint32_t n_index, n; /* n: rows of a step */
    double scale, value;
    float *x, *logits, *d_acc, *d_fair; /* d_acc: what `losses` gives besides */
    uint32_t *y, *group, *source;
    struct fis_scratch *scratch;
    struct fis_rng rng;
};

/* What brings phi to 1/2 sum gap^2. */
static double lab_fair_term_scale(const struct fis_surrogate *s, uint32_t classes,
                                  uint32_t n_groups)
{
    if (s->metric != FIS_DEMOGRAPHIC_PARITY)
        return 1;
    /* Two classes have the same gap twice. */
    const double k = classes, m = n_groups, twice = classes == 2 ? 2 : 1;
    const int pairs = s->form == FIS_GAP_PAIRS || n_groups == 2;
    const double divisor = pairs ? m * (m - 1) * k : 1;
    return divisor * divisor / twice;
}

static void put_row(struct lab_fair_term *t, uint32_t at, uint32_t row)
{
    const struct fis_rows *rows = &t->o.rows;
    memcpy(t->x + (size_t)at * rows->d, rows->x + (size_t)row * rows->d, rows->d * sizeof *t->x);
    t->y[at] = rows->y[row];
    t->group[at] = rows->group[row];
    t->source[at] = row;
}

static void gather(struct lab_fair_term *t)
{
    const int sampled = t->o.sample != 0;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = sampled ? fis_rng_below(&t->rng, t->n_index) : i;
        put_row(t, i, t->index ? t->index[at] : at);
    }
}

struct lab_fair_term *lab_fair_term_new(const struct lab_fair_term_options *o,
                                        const uint32_t *index, uint32_t n_index,
                                        struct fis_error *e)
{
    struct lab_fair_term *t = fis_calloc(1, sizeof *t);
    const size_t k = fis_shape_classes(&o->shape);
    if (!t)
        goto nomem;
    t->o = *o;
    lab_fair_term_rows(t, index, index ? n_index : o->rows.n);
    t->n = o->sample ? o->sample : t->n_index;
    t->scale = lab_fair_term_scale(&o->directions->surrogate, (uint32_t)k, o->directions->n_groups);
    t->value = NAN;
    t->x = fis_alloc((size_t)t->n * o->rows.d, sizeof *t->x);
    t->logits = fis_alloc(t->n * k, sizeof *t->logits);
    t->d_acc = fis_alloc(t->n * k, sizeof *t->d_acc);
    t->d_fair = fis_alloc(t->n * k, sizeof *t->d_fair);
    t->y = fis_alloc(t->n, sizeof *t->y);
    t->group = fis_alloc(t->n, sizeof *t->group);
    t->source = fis_alloc(t->n, sizeof *t->source);
    t->scratch = fis_scratch_new(&o->shape, t->n, 0);
    if (!t->x || !t->logits || !t->d_acc || !t->d_fair || !t->y || !t->group || !t->source ||
        !t->scratch)
        goto nomem;
    fis_rng_seed(&t->rng, o->seed, o->stream);
    if (!o->sample)
        gather(t);
    return t;
nomem:
    fis_fail(e, FIS_NOMEM, "fairness term: no memory for %u rows", n_index);
    lab_fair_term_free(t);
    return NULL;
}

void lab_fair_term_free(struct lab_fair_term *t)
{
    if (!t)
        return;
    void *const all[] = {t->x, t->logits, t->d_acc, t->d_fair, t->y, t->group, t->source};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_scratch_free(t->scratch);
    fis_free(t);
}

void lab_fair_term_rows(struct lab_fair_term *t, const uint32_t *index, uint32_t n_index)
{
    t->index = index;
    t->n_index = n_index;
}

void lab_fair_term_weight(struct lab_fair_term *t, double weight)
{
    t->o.weight = weight;
}

double lab_fair_term_value(const struct lab_fair_term *t)
{
    return t->value;
}

/* 1: the term is there, 0: it is left out. */
static int derive(struct lab_fair_term *t, struct fis_error *e)
{
    const struct fis_direction_options *o = t->o.directions;
    const uint32_t k = fis_shape_classes(&t->o.shape);
    double ce = 0, phi = NAN;
    int rc;
    if (fis_cells_check(o->surrogate.metric, t->y, t->group, t->n, k, o->n_groups,
                        o->surrogate.positive, 1, NULL) < 0)
        return 0;
    if (o->losses)
        rc = o->losses(o->losses_arg, t->logits, t->y, t->group, t->source, t->n, k, &ce, t->d_acc,
                       &phi, t->d_fair, e);
    else
        rc = fis_surrogate_eval(&o->surrogate, t->logits, t->y, t->group, t->n, k, o->n_groups,
                                &phi, t->d_fair, e);
    if (rc < 0)
        return rc;
    if (!isfinite(phi))
        return fis_fail(e, FIS_INPUT, "training: the fairness term is not finite");
    t->value = t->scale * phi;
    return 1;
}

int lab_fair_term_add(void *arg, const float *params, float *gradient, struct fis_error *e)
{
    struct lab_fair_term *t = arg;
    const struct fis_shape *shape = &t->o.shape;
    if (t->o.sample)
        gather(t);
    fis_network_forward(shape, params, t->x, t->n, t->scratch, t->logits);
    int rc = derive(t, e);
    if (rc <= 0)
        return rc;
    const float factor = (float)(t->o.weight * t->scale);
    const size_t size = (size_t)t->n * fis_shape_classes(shape);
    for (size_t i = 0; i < size; i++)
        t->d_fair[i] *= factor;
    fis_network_backward(shape, params, t->x, t->n, t->scratch, t->d_fair, gradient);
    return 0;
}

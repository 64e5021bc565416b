#include "lab/split.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/rng.h"

#define MAX_CATEGORIES 4096u
#define SPLIT_STREAM 101u

static void *copy_rows(const uint32_t *from, uint32_t n)
{
    uint32_t *to = fis_alloc(n ? n : 1, sizeof *to);
    if (to && n)
        memcpy(to, from, n * sizeof *to);
    return to;
}

/* Fills `to` with as many rows of each cell of group and class as there are cells' shares. */
static void balance(const struct lab_task *t, const uint32_t *from, uint32_t n, struct fis_rng *rng,
                    uint32_t *to)
{
    const uint32_t cells = t->n_groups * t->n_classes;
    uint32_t filled = 0, at = 0;
    uint32_t *of_cell = to + n; /* the second half is work space */
    for (uint32_t cell = 0; cell < cells; cell++) {
        uint32_t rows = 0, want = (uint32_t)((uint64_t)n * (cell + 1) / cells) - filled;
        for (uint32_t i = 0; i < n; i++)
            if (t->group[from[i]] * t->n_classes + t->y[from[i]] == cell)
                of_cell[rows++] = from[i];
        for (uint32_t i = 0; rows && i < want; i++)
            to[at++] = of_cell[fis_rng_below(rng, rows)];
        filled += want;
    }
    while (at > 0 && at < n) { /* an empty cell's share goes to the others */
        to[at] = to[fis_rng_below(rng, at)];
        at++;
    }
    fis_rng_shuffle(rng, to, n);
}

/* Puts the rows that may be labelled at first behind the others, each in the order that they had;
 * how many; 0: any may. */
static uint32_t set_biased_apart(const struct lab_task *t, uint32_t *order, uint32_t n)
{
    uint32_t apart = 0, at = 0, *behind = order + n; /* room for as many again */
    if (!t->biased)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (t->biased[order[i]])
            behind[apart++] = order[i];
        else
            order[at++] = order[i];
    memcpy(order + at, behind, apart * sizeof *order);
    return apart;
}

/* Where the data say which rows are for what: validation and test rows first. What validates, if
 * none does, is a share of the test rows. */
static void set_parts_apart(struct lab_split *s, const struct lab_protocol *p, uint32_t *order,
                            uint32_t n)
{
    const uint8_t *part = s->task->images->part;
    uint32_t at = 0, *sorted = order + n;
    for (int which = 0; which < 3; which++) {
        const int parts[] = {LAB_VALIDATION, LAB_TEST, LAB_TRAINING};
        for (uint32_t i = 0; i < n; i++)
            if (part[order[i]] == parts[which])
                sorted[at++] = order[i];
        if (which == 0)
            s->n_validation = at;
        if (which == 1)
            s->n_test = at - s->n_validation;
    }
    memcpy(order, sorted, n * sizeof *order);
    if (s->n_validation == 0) {
        s->n_validation = (uint32_t)(p->validation * s->n_test);
        s->n_test -= s->n_validation;
    }
}

static int deal(struct lab_split *s, const struct lab_protocol *p, struct fis_error *e)
{
    const uint32_t n = s->task->n;
    uint32_t *order = fis_alloc(3 * (size_t)n, sizeof *order);
    struct fis_rng rng;
    if (!order)
        return fis_fail(e, FIS_NOMEM, "split: no memory for %u rows", n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    fis_rng_seed(&rng, s->seed, SPLIT_STREAM);
    fis_rng_shuffle(&rng, order, n);
    const uint32_t apart = set_biased_apart(s->task, order, n), rest = n - apart;
    s->n_test = (uint32_t)(p->test * rest);
    s->n_validation = (uint32_t)(p->validation * s->n_test);
    s->n_test -= s->n_validation;
    if (s->task->images && s->task->images->part)
        set_parts_apart(s, p, order, n);
    const uint32_t test = s->n_validation + s->n_test, training = rest - test;
    s->n_initial = (uint32_t)(p->initial * training);
    s->n_pool = training - s->n_initial;
    uint32_t *train = order + test;
    if (p->balance) {
        balance(s->task, order + test, training, &rng, order + n);
        train = order + n;
    }
    s->validation = copy_rows(order, s->n_validation);
    s->test = copy_rows(order + s->n_validation, s->n_test);
    if (apart) { /* the initial set is theirs, and the pool all that is left of the others */
        s->n_initial = s->n_initial < apart ? s->n_initial : apart;
        s->n_pool = training;
    }
    s->initial = copy_rows(apart ? order + rest : train, s->n_initial);
    s->pool = copy_rows(apart ? train : train + s->n_initial, s->n_pool);
    fis_free(order);
    if (!s->validation || !s->test || !s->initial || !s->pool)
        return fis_fail(e, FIS_NOMEM, "split: no memory for %u rows", n);
    if (s->n_initial < 2 || s->n_validation < 2 || s->n_test < 2 || s->n_pool < 1)
        return fis_fail(e, FIS_INPUT,
                        "split: too few rows, %u: %u initial, %u pool, %u validation, %u test", n,
                        s->n_initial, s->n_pool, s->n_validation, s->n_test);
    return 0;
}

/* ---- features ------------------------------------------------------------------------------- */

static void row_values(const struct lab_task *t, uint32_t row, struct fis_value *values)
{
    for (uint32_t j = 0; j < t->n_features; j++) {
        const struct data_table_column *c = &t->table->columns[t->features[j]];
        uint32_t code = c->codes[row];
        values[j] = (struct fis_value){.kind = FIS_VALUE_MISSING};
        if (code == DATA_MISSING)
            continue;
        values[j] = c->values[code];
        values[j].kind = c->type == FIS_NUMERIC ? FIS_VALUE_NUMBER : FIS_VALUE_TEXT;
    }
}

static struct fis_encoder *fit(const struct lab_split *s, struct fis_value *values,
                               struct fis_column *columns, struct fis_error *e)
{
    const struct lab_task *t = s->task;
    for (uint32_t j = 0; j < t->n_features; j++) {
        const struct data_table_column *c = &t->table->columns[t->features[j]];
        columns[j] = (struct fis_column){c->name, c->type, FIS_SCALE_STANDARD};
    }
    struct fis_encoder *enc = fis_encoder_new(columns, t->n_features, MAX_CATEGORIES, e);
    int r = enc ? fis_encoder_expect_trees(enc, s->margins, e) : -1;
    for (uint32_t i = 0; r == 0 && i < s->n_initial; i++) {
        row_values(t, s->initial[i], values);
        r = fis_encoder_observe(enc, values, e);
    }
    if (r == 0)
        r = fis_encoder_finish(enc, e);
    if (r < 0) {
        fis_encoder_free(enc);
        return NULL;
    }
    return enc;
}

/* An encoder of a task's images, fitted on its initial rows. values: room for one. */
static struct fis_encoder *fit_images(const struct lab_split *s, struct fis_value *values,
                                      struct fis_error *e)
{
    const struct lab_images *of = s->task->images;
    const struct fis_encoder_image image = {of->height, of->width, of->channels};
    struct fis_column *columns = fis_alloc(s->d, sizeof *columns);
    char(*names)[12] = fis_alloc(s->d, sizeof *names);
    struct fis_encoder *enc = NULL;
    for (uint32_t j = 0; columns && names && j < s->d; j++) {
        snprintf(names[j], sizeof *names, "f%u", j);
        columns[j] = (struct fis_column){names[j], FIS_NUMERIC, FIS_SCALE_STANDARD};
    }
    if (columns && names)
        enc = fis_encoder_new(columns, s->d, 0, e);
    else
        fis_fail(e, FIS_NOMEM, "split: no memory for %u pixels", s->d);
    int r = enc ? fis_encoder_expect_image(enc, &image, e) : -1;
    for (uint32_t i = 0; r == 0 && i < s->n_initial; i++) {
        for (uint32_t j = 0; j < s->d; j++)
            values[j] = (struct fis_value){
                .kind = FIS_VALUE_NUMBER,
                .number = (double)FIS_PIXEL(of->pixels[(size_t)s->initial[i] * s->d + j])};
        r = fis_encoder_observe(enc, values, e);
    }
    if (r == 0)
        r = fis_encoder_finish(enc, e);
    fis_free(columns);
    fis_free(names);
    if (r < 0) {
        fis_encoder_free(enc);
        return NULL;
    }
    return enc;
}

/* The encoder alone: numbers are made where they are needed. */
static int encode_images(struct lab_split *s, struct fis_error *e)
{
    s->d = lab_images_numbers(s->task->images);
    struct fis_value *values = fis_alloc(s->d, sizeof *values);
    int r = values ? 0 : fis_fail(e, FIS_NOMEM, "split: no memory for %u pixels", s->d);
    if (!r && !(s->encoder = fit_images(s, values, e)))
        r = -(int)(e ? e->kind : FIS_INPUT);
    fis_free(values);
    return r;
}

void lab_split_copy(const struct lab_split *s, uint32_t row, float *to)
{
    struct fis_error e;
    if (s->x) {
        memcpy(to, lab_split_row(s, row), s->d * sizeof *to);
        return;
    }
    const unsigned char *pixels = s->task->images->pixels + (size_t)row * s->d;
    for (uint32_t i = 0; i < s->d; i++)
        to[i] = FIS_PIXEL(pixels[i]);
    int rc = fis_encoder_encode_packed(s->encoder, to, s->d, to, &e);
    assert(rc == 0); /* bytes are finite */
}

static int encode(struct lab_split *s, struct fis_error *e)
{
    const struct lab_task *t = s->task;
    if (t->images)
        return encode_images(s, e);
    struct fis_value *values = fis_alloc(t->n_features, sizeof *values);
    struct fis_column *columns = fis_alloc(t->n_features, sizeof *columns);
    struct fis_encoder *enc = values && columns ? fit(s, values, columns, e) : NULL;
    int r = 0;
    if (!values || !columns)
        r = fis_fail(e, FIS_NOMEM, "split: no memory");
    else if (!enc)
        r = -(int)(e ? e->kind : FIS_INPUT);
    if (r == 0) {
        s->d = fis_encoder_dimension(enc);
        s->x = fis_alloc((size_t)t->n * s->d, sizeof *s->x);
        if (!s->x)
            r = fis_fail(e, FIS_NOMEM, "split: no memory for %u rows of %u features", t->n, s->d);
    }
    for (uint32_t i = 0; r == 0 && i < t->n; i++) {
        row_values(t, i, values);
        r = fis_encoder_encode(enc, values, s->x + (size_t)i * s->d, NULL, e);
    }
    fis_encoder_free(enc);
    fis_free(values);
    fis_free(columns);
    return r;
}

static void standardise(struct lab_split *s)
{
    for (uint32_t j = 0; j < s->d; j++) {
        double mean = 0, square = 0;
        for (uint32_t i = 0; i < s->n_initial; i++) {
            double v = (double)lab_split_row(s, s->initial[i])[j];
            mean += v / s->n_initial;
            square += v * v / s->n_initial;
        }
        double deviation = sqrt(fmax(square - mean * mean, 0));
        for (uint32_t i = 0; deviation > 1e-6 && i < s->task->n; i++) {
            float *v = &s->x[(size_t)i * s->d + j];
            *v = (float)(((double)*v - mean) / deviation);
        }
    }
}

/* ---- parts that are used whole -------------------------------------------------------------- */

/* x NULL: labels and groups alone. */
static int gather(const struct lab_split *s, const uint32_t *rows, uint32_t n, float **x,
                  uint32_t **y, uint32_t **group, struct fis_error *e)
{
    if (x)
        *x = fis_alloc((size_t)n * s->d, sizeof **x);
    *y = fis_alloc(n, sizeof **y);
    *group = fis_alloc(n, sizeof **group);
    if ((x && !*x) || !*y || !*group)
        return fis_fail(e, FIS_NOMEM, "split: no memory for %u rows", n);
    for (uint32_t i = 0; i < n; i++) {
        if (x)
            lab_split_copy(s, rows[i], *x + (size_t)i * s->d);
        (*y)[i] = s->task->y[rows[i]];
        (*group)[i] = s->task->group[rows[i]];
    }
    return 0;
}

struct lab_split *lab_split_new(const struct lab_task *task, const struct lab_protocol *protocol,
                                uint64_t seed, struct fis_error *e)
{
    struct lab_split *s = fis_calloc(1, sizeof *s);
    if (!s) {
        fis_fail(e, FIS_NOMEM, "split: no memory");
        return NULL;
    }
    s->task = task;
    s->seed = seed;
    if (protocol->trees)
        s->margins = task->n_classes == 2 ? 1 : task->n_classes;
    int r = deal(s, protocol, e);
    if (r == 0)
        r = encode(s, e);
    if (r == 0 && protocol->standardise && s->x)
        standardise(s);
    if (r == 0)
        r = gather(s, s->validation, s->n_validation, &s->validation_x, &s->validation_y,
                   &s->validation_group, e);
    if (r == 0)
        r = gather(s, s->test, s->n_test, s->x ? &s->test_x : NULL, &s->test_y, &s->test_group, e);
    if (r < 0) {
        fis_error_prefix(e, "%s", task->spec->name);
        lab_split_free(s);
        return NULL;
    }
    return s;
}

void lab_split_free(struct lab_split *s)
{
    if (!s)
        return;
    uint32_t *const indices[] = {s->initial,      s->pool,   s->validation,       s->test,
                                 s->validation_y, s->test_y, s->validation_group, s->test_group};
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        fis_free(indices[i]);
    fis_encoder_free(s->encoder);
    fis_free(s->x);
    fis_free(s->validation_x);
    fis_free(s->test_x);
    fis_free(s);
}

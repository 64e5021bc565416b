#include "encoder_impl.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/network.h"

void fis_encoder_free(struct fis_encoder *enc)
{
    if (!enc)
        return;
    for (uint32_t i = 0; enc->columns && i < enc->n; i++) {
        struct encoder_column *c = &enc->columns[i];
        for (uint32_t k = 0; k < c->n_categories; k++)
            fis_free(c->categories[k].text);
        fis_free(c->categories);
        fis_free(c->texts);
        fis_free((char *)c->pub.name);
    }
    fis_free(enc->columns);
    fis_free(enc->by_name);
    encoder_flat_free(enc);
    fis_trees_unref(enc->trees);
    fis_free(enc);
}

static int check_columns(const struct fis_column *columns, uint32_t n, struct fis_error *e)
{
    if (n == 0 || n > ENCODER_COLUMNS_MAX)
        return fis_fail(e, FIS_INPUT, "%u columns, 1 to %u allowed", n, ENCODER_COLUMNS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const struct fis_column *c = &columns[i];
        if (!c->name || !c->name[0] || strlen(c->name) > ENCODER_NAME_MAX)
            return fis_fail(e, FIS_INPUT, "column %u: a name of 1 to %u bytes expected", i,
                            ENCODER_NAME_MAX);
        if (c->type != FIS_NUMERIC && c->type != FIS_CATEGORICAL)
            return fis_fail(e, FIS_INPUT, "column %s: type %d, numeric or categorical expected",
                            c->name, (int)c->type);
        if (c->type == FIS_NUMERIC && c->scale != FIS_SCALE_STANDARD &&
            c->scale != FIS_SCALE_NONE && !encoder_is_margin(c))
            return fis_fail(e, FIS_INPUT,
                            "column %s: scale %d; standard, none, logit or probability expected",
                            c->name, (int)c->scale);
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct encoder_name *)a)->text, ((const struct encoder_name *)b)->text);
}

static int sort_names(struct fis_encoder *enc, struct fis_error *e)
{
    for (uint32_t i = 0; i < enc->n; i++)
        enc->by_name[i] = (struct encoder_name){.text = enc->columns[i].pub.name,
                                                .length = strlen(enc->columns[i].pub.name),
                                                .column = i};
    qsort(enc->by_name, enc->n, sizeof *enc->by_name, by_name);
    for (uint32_t i = 1; i < enc->n; i++)
        if (by_name(&enc->by_name[i - 1], &enc->by_name[i]) == 0)
            return fis_fail(e, FIS_INPUT, "column %s: named twice", enc->by_name[i].text);
    return 0;
}

struct fis_encoder *fis_encoder_new(const struct fis_column *columns, uint32_t n_columns,
                                    uint32_t max_categories, struct fis_error *e)
{
    uint32_t margins;
    if (check_columns(columns, n_columns, e) ||
        encoder_margins_count(columns, n_columns, &margins, e))
        return NULL;
    struct fis_encoder *enc = fis_calloc(1, sizeof *enc);
    if (!enc)
        goto refused;
    enc->n = n_columns;
    enc->margins = margins;
    enc->max_categories = max_categories;
    enc->columns = fis_calloc(n_columns, sizeof *enc->columns);
    enc->by_name = fis_calloc(n_columns, sizeof *enc->by_name);
    if (!enc->columns || !enc->by_name)
        goto refused;
    for (uint32_t i = 0; i < n_columns; i++) {
        struct encoder_column *c = &enc->columns[i];
        c->pub = columns[i];
        c->pub.name = fis_strdup(columns[i].name);
        if (!c->pub.name)
            goto refused;
    }
    if (sort_names(enc, e)) {
        fis_encoder_free(enc);
        return NULL;
    }
    return enc;
refused:
    fis_fail(e, FIS_NOMEM, "no memory for an encoder of %u columns", n_columns);
    fis_encoder_free(enc);
    return NULL;
}

int fis_encoder_insert(struct encoder_column *c, uint32_t index, const char *text, size_t length,
                       struct fis_error *e)
{
    if (length > ENCODER_CATEGORY_MAX)
        return fis_fail(e, FIS_INPUT, "column %s: a category of %zu bytes, %u allowed", c->pub.name,
                        length, ENCODER_CATEGORY_MAX);
    if (length && memchr(text, 0, length))
        return fis_fail(e, FIS_INPUT, "column %s: a category with a NUL byte", c->pub.name);
    bool room = fis_more(&c->categories, c->n_categories, sizeof *c->categories);
    char *copy = room ? fis_memdup(text, length) : NULL;
    if (!copy)
        return fis_fail(e, FIS_NOMEM, "no memory for the categories of column %s", c->pub.name);
    memmove(c->categories + index + 1, c->categories + index,
            (c->n_categories - index) * sizeof *c->categories);
    c->categories[index] = (struct category){.text = copy, .length = length};
    c->n_categories++;
    return 0;
}

static int observe_category(const struct fis_encoder *enc, struct encoder_column *c,
                            const struct fis_value *v, struct fis_error *e)
{
    char room[FIS_CATEGORY_ROOM];
    const char *text;
    size_t length;
    uint32_t index;
    fis_value_category(v, room, &text, &length);
    if (fis_encoder_category(c, text, length, &index))
        return 0;
    if (c->n_categories >= enc->max_categories)
        return fis_fail(
            e, FIS_INPUT,
            "column %s: more than %u categories; raise max_categories, or is it numeric?",
            c->pub.name, enc->max_categories);
    return fis_encoder_insert(c, index, text, length, e);
}

static void observe_value(struct encoder_column *c, const struct fis_value *v)
{
    if (v->kind == FIS_VALUE_MISSING) {
        c->missing++;
        return;
    }
    c->present++;
    if (c->pub.type == FIS_NUMERIC) {
        double from_old = v->number - c->mean;
        c->mean += from_old / (double)c->present;
        c->squares += from_old * (v->number - c->mean);
    }
}

/* Mean and deviation are those of the feature, which drift is measured by. */
static void observe_margins(struct fis_encoder *enc, const struct fis_value *values)
{
    double numbers[FIS_MAX_CLASSES];
    float x[FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < enc->margins; k++)
        numbers[k] = values[k].number;
    encoder_margins_encode(enc, numbers, x);
    for (uint32_t k = 0; k < enc->margins; k++) {
        struct fis_value v = {.kind = FIS_VALUE_NUMBER, .number = (double)x[k]};
        observe_value(&enc->columns[enc->n - enc->margins + k], &v);
    }
}

int fis_encoder_observe(struct fis_encoder *enc, const struct fis_value *values,
                        struct fis_error *e)
{
    assert(!enc->finished);
    for (uint32_t i = 0; i < enc->n; i++) {
        if (values[i].kind == FIS_VALUE_MISSING && !encoder_is_margin(&enc->columns[i].pub))
            continue;
        int rc = fis_column_check(&enc->columns[i].pub, &values[i], e);
        if (!rc && enc->columns[i].pub.type == FIS_CATEGORICAL)
            rc = observe_category(enc, &enc->columns[i], &values[i], e);
        if (rc)
            return rc;
    }
    uint32_t plain = enc->n - enc->margins;
    for (uint32_t i = 0; i < plain; i++)
        observe_value(&enc->columns[i], &values[i]);
    if (enc->margins)
        observe_margins(enc, values + plain);
    enc->rows++;
    return 0;
}

/* Multiplying is far cheaper than dividing. A deviation whose inverse is beyond all numbers belongs
 * to a column where everything but its mean is cut off. */
static double factor_of(double deviation)
{
    double factor = 1 / deviation;
    return factor <= DBL_MAX ? factor : DBL_MAX;
}

int fis_encoder_freeze(struct fis_encoder *enc, struct fis_error *e)
{
    uint64_t d = 0;
    for (uint32_t i = 0; i < enc->n; i++) {
        struct encoder_column *c = &enc->columns[i];
        c->first = (uint32_t)d;
        c->factor = factor_of(c->deviation);
        c->width =
            c->pub.type == FIS_NUMERIC ? (c->missing_indicator ? 2 : 1) : c->n_categories + 2;
        d += c->width;
        if (d > INT32_MAX)
            return fis_fail(e, FIS_INPUT, "more than %d features", INT32_MAX);
        if (c->pub.type != FIS_CATEGORICAL || c->texts)
            continue;
        c->texts = fis_calloc(c->n_categories, sizeof *c->texts);
        if (!c->texts)
            return fis_fail(e, FIS_NOMEM, "no memory for the categories of column %s", c->pub.name);
        for (uint32_t k = 0; k < c->n_categories; k++)
            c->texts[k] = c->categories[k].text;
    }
    int rc = encoder_flat_make(enc, e);
    if (rc)
        return rc;
    enc->d = (uint32_t)d + enc->tree_margins;
    enc->finished = true;
    return 0;
}

int fis_encoder_finish(struct fis_encoder *enc, struct fis_error *e)
{
    assert(!enc->finished);
    if (enc->rows == 0)
        return fis_fail(e, FIS_INPUT, "no row to fit the columns on");
    if (enc->image.height)
        encoder_image_pool(enc);
    for (uint32_t i = 0; i < enc->n; i++) {
        struct encoder_column *c = &enc->columns[i];
        double variance = c->present ? c->squares / (double)c->present : 0.0;
        /* Below the precision of its values a column never varied: what changes it later is 0, as
         * nothing was learnt of it. */
        c->deviation = sqrt(variance);
        if (c->deviation <= ENCODER_PRECISION * fabs(c->mean))
            c->deviation = c->pub.scale == FIS_SCALE_STANDARD ? ENCODER_CONSTANT : 1.0;
        c->missing_indicator = c->pub.type == FIS_NUMERIC && c->missing > 0 &&
                               c->pub.scale == FIS_SCALE_STANDARD && !enc->image.height;
    }
    return fis_encoder_freeze(enc, e);
}

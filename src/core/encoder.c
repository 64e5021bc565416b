#include "encoder_impl.h"
#include "fis/network.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/category.h"
#include "base/decimal.h"

static int compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int c = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return c ? c : (a_length > b_length) - (a_length < b_length);
}

uint32_t fis_encoder_columns(const struct fis_encoder *enc)
{
    return enc->n;
}

const struct fis_column *fis_encoder_column(const struct fis_encoder *enc, uint32_t i)
{
    assert(i < enc->n);
    return &enc->columns[i].pub;
}

uint32_t fis_encoder_dimension(const struct fis_encoder *enc)
{
    assert(enc->finished);
    return enc->d;
}

uint32_t fis_encoder_margins(const struct fis_encoder *enc)
{
    return enc->margins + enc->tree_margins;
}

int fis_encoder_find(const struct fis_encoder *enc, const char *name, size_t length)
{
    uint32_t low = 0, high = enc->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct encoder_name *at = &enc->by_name[middle];
        int order = compare(name, length, at->text, at->length);
        if (order == 0)
            return (int)at->column;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

bool fis_encoder_category(const struct encoder_column *c, const char *text, size_t length,
                          uint32_t *index)
{
    uint32_t low = 0, high = c->n_categories;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct category *k = &c->categories[middle];
        int order = compare(text, length, k->text, k->length);
        if (order == 0) {
            *index = middle;
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *index = low;
    return false;
}

/* Beyond these, digits are not what a double has. */
#define WHOLE_MOST 1e21

void fis_value_category(const struct fis_value *v, char room[FIS_CATEGORY_ROOM], const char **text,
                        size_t *length)
{
    *text = v->text;
    *length = v->length;
    if (category_trim(text, length) || v->kind != FIS_VALUE_NUMBER)
        return;
    *text = room;
    double n = v->number == 0.0 ? 0.0 : v->number; /* no -0 */
    *length = fabs(n) < WHOLE_MOST && nearbyint(n) == n
                  ? (size_t)snprintf(room, FIS_CATEGORY_ROOM, "%.0f", n)
                  : decimal_shortest(n, room);
}

/* A text that is one of the column's as it stands is quick; others may be spelt otherwise. */
static bool encoder_find_category(const struct encoder_column *c, const struct fis_value *v,
                                  uint32_t *index)
{
    char room[FIS_CATEGORY_ROOM];
    const char *text;
    size_t length;
    if (v->kind == FIS_VALUE_TEXT && fis_encoder_category(c, v->text, v->length, index))
        return true;
    fis_value_category(v, room, &text, &length);
    return fis_encoder_category(c, text, length, index);
}

/* Up to ENCODER_SHOWN bytes, cut between characters; "…" says that there was more. */
static int refuse_text(const struct fis_column *c, const struct fis_value *v, struct fis_error *e)
{
    size_t n = v->length;
    if (n > ENCODER_SHOWN) {
        n = ENCODER_SHOWN;
        while (n > 0 && ((unsigned char)v->text[n] & 0xc0) == 0x80)
            n--;
    }
    return fis_refuse(e, FIS_CODE_WRONG_TYPE, "column %s: number expected, text \"%.*s%s\" found",
                      c->name, (int)n, n ? v->text : "", n < v->length ? "…" : "");
}

int fis_column_check(const struct fis_column *c, const struct fis_value *v, struct fis_error *e)
{
    if (v->kind == FIS_VALUE_MISSING)
        return !encoder_is_margin(c)
                   ? 0
                   : fis_refuse(e, FIS_CODE_BAD_FIELD,
                                "column %s: no value; every record requires the base's score",
                                c->name);
    if (c->type == FIS_CATEGORICAL)
        return 0;
    if (v->kind != FIS_VALUE_NUMBER)
        return refuse_text(c, v, e);
    /* Written so that NaN fails too. */
    if (!(fabs(v->number) <= (double)FLT_MAX))
        return fis_refuse(e, FIS_CODE_NOT_FINITE,
                          "column %s: %.9g does not fit a 32-bit float (-%.7g to %.7g allowed)",
                          c->name, v->number, (double)FLT_MAX, (double)FLT_MAX);
    return encoder_margin_check(c, v->number, e);
}

static float scale(const struct encoder_column *c, double number)
{
    if (c->pub.scale == FIS_SCALE_NONE)
        return (float)number;
    if (c->deviation == ENCODER_CONSTANT)
        return encoder_constant(c->mean, number);
    double z = (number - c->mean) * c->factor;
    if (z > (double)FIS_ENCODER_CLIP)
        return FIS_ENCODER_CLIP;
    if (z < -(double)FIS_ENCODER_CLIP)
        return -FIS_ENCODER_CLIP;
    return (float)z;
}

static uint32_t encode_one(const struct encoder_column *c, const struct fis_value *v, float *x)
{
    if (c->pub.type == FIS_NUMERIC) {
        int missing = v->kind == FIS_VALUE_MISSING;
        x[0] = missing ? 0.0f : scale(c, v->number);
        if (c->missing_indicator)
            x[1] = missing ? 1.0f : 0.0f;
        return 0;
    }
    memset(x, 0, c->width * sizeof *x);
    if (v->kind == FIS_VALUE_MISSING) {
        x[c->n_categories + 1] = 1.0f;
        return 0;
    }
    uint32_t index;
    bool seen = encoder_find_category(c, v, &index);
    x[seen ? index : c->n_categories] = 1.0f;
    return seen ? 0 : 1;
}

static void encode_trees(const struct fis_encoder *enc, float *x)
{
    if (enc->trees)
        fis_trees_apply(enc->trees, x, 1);
    else
        memset(x + enc->d - enc->tree_margins, 0, enc->tree_margins * sizeof *x);
}

int fis_encoder_encode(const struct fis_encoder *enc, const struct fis_value *values, float *x,
                       uint32_t *unseen, struct fis_error *e)
{
    assert(enc->finished);
    /* All checks first: x is written on success only. */
    for (uint32_t i = 0; i < enc->n; i++) {
        int rc = fis_column_check(&enc->columns[i].pub, &values[i], e);
        if (rc)
            return rc;
    }
    uint32_t count = 0, plain = enc->n - enc->margins;
    for (uint32_t i = 0; i < plain; i++)
        count += encode_one(&enc->columns[i], &values[i], x + enc->columns[i].first);
    if (enc->margins) {
        double numbers[FIS_MAX_CLASSES];
        for (uint32_t k = 0; k < enc->margins; k++)
            numbers[k] = values[plain + k].number;
        encoder_margins_encode(enc, numbers, x + enc->d - enc->margins);
    }
    encode_trees(enc, x);
    if (unseen)
        *unseen = count;
    return 0;
}

bool fis_encoder_constant(const struct fis_encoder *enc, uint32_t i)
{
    return encoder_is_constant(&enc->columns[i]);
}

void fis_encoder_unseen(const struct fis_encoder *enc, const float *x, uint64_t *counts)
{
    for (uint32_t i = 0; i < enc->n; i++) {
        const struct encoder_column *c = &enc->columns[i];
        if (c->pub.type == FIS_CATEGORICAL)
            counts[i] += x[c->first + c->n_categories] != 0.0f;
    }
}

static float float_at(const void *values, uint32_t i)
{
    float v;
    memcpy(&v, (const unsigned char *)values + (size_t)i * sizeof v, sizeof v);
    return v;
}

static int refuse_floats(const struct fis_encoder *enc, const void *values, struct fis_error *e)
{
    for (uint32_t i = 0; i < enc->n; i++) {
        float v = float_at(values, i);
        if (enc->columns[i].pub.type != FIS_NUMERIC)
            return fis_refuse(e, FIS_CODE_WRONG_TYPE,
                              "column %s is categorical: a vector of numbers cannot carry it",
                              enc->columns[i].pub.name);
        if (!isfinite(v))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "feature %u (%s): %g is not a finite number",
                              i, enc->columns[i].pub.name, (double)v);
    }
    return 0;
}

static int encode_packed_margins(const struct fis_encoder *enc, const void *values, float *x,
                                 struct fis_error *e)
{
    double numbers[FIS_MAX_CLASSES];
    uint32_t first = enc->n - enc->margins;
    for (uint32_t k = 0; k < enc->margins; k++) {
        numbers[k] = (double)float_at(values, first + k);
        int rc = encoder_margin_check(&enc->columns[first + k].pub, numbers[k], e);
        if (rc)
            return rc;
    }
    encoder_margins_encode(enc, numbers, x + enc->d - enc->margins);
    return 0;
}

int fis_encoder_encode_packed(const struct fis_encoder *enc, const void *values, uint32_t n,
                              float *x, struct fis_error *e)
{
    assert(enc->finished);
    if (n != enc->n)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "%s, %u expected", DECIMAL_COUNT(n, "feature"),
                          enc->n);
    if (enc->flat && encoder_flat_run(enc, values, x)) {
        encode_trees(enc, x);
        return enc->margins ? encode_packed_margins(enc, values, x, e) : 0;
    }
    int rc = refuse_floats(enc, values, e);
    for (uint32_t i = 0; i + enc->margins < n && rc == 0; i++) {
        struct fis_value v = {.kind = FIS_VALUE_NUMBER, .number = (double)float_at(values, i)};
        encode_one(&enc->columns[i], &v, x + enc->columns[i].first);
    }
    if (rc == 0)
        encode_trees(enc, x);
    return rc || !enc->margins ? rc : encode_packed_margins(enc, values, x, e);
}

int fis_encoder_encode_floats(const struct fis_encoder *enc, const float *values, uint32_t n,
                              float *x, struct fis_error *e)
{
    return fis_encoder_encode_packed(enc, values, n, x, e);
}

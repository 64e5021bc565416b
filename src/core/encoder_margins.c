/* Columns of a base: the score of a model in production, as margins of the network. */
#include <math.h>

#include "encoder_impl.h"
#include "fis/network.h"

int encoder_margins_count(const struct fis_column *columns, uint32_t n, uint32_t *margins,
                          struct fis_error *e)
{
    uint32_t first = 0, m;
    while (first < n && !encoder_is_margin(&columns[first]))
        first++;
    for (uint32_t i = first; i < n; i++)
        if (!encoder_is_margin(&columns[i]) || columns[i].scale != columns[first].scale)
            return fis_fail(e, FIS_INPUT, "column %s: behind a column of the base, which are last",
                            columns[i].name);
    m = n - first;
    if (m > FIS_MAX_CLASSES || m == 2)
        return fis_fail(e, FIS_INPUT, "%u columns of a base; 1, or one for each of 3 to %d classes",
                        m, FIS_MAX_CLASSES);
    *margins = m;
    return 0;
}

int encoder_margin_check(const struct fis_column *c, double number, struct fis_error *e)
{
    if (c->scale == FIS_SCALE_PROBABILITY &&
        !(number >= -FIS_PROBABILITY_MIN && number <= 1 + FIS_PROBABILITY_MIN))
        return fis_refuse(e, FIS_CODE_BAD_FIELD,
                          "column %s: a probability (0 to 1) expected, "
                          "%.9g found",
                          c->name, number);
    return 0;
}

static double within(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

void encoder_margins_scale(const double *margins, uint32_t n, float *x)
{
    double largest = -INFINITY;
    for (uint32_t k = 0; k < n; k++)
        largest = margins[k] > largest ? margins[k] : largest;
    if (n == 1)
        largest = 0;
    for (uint32_t k = 0; k < n; k++)
        x[k] =
            (float)within(margins[k] - largest, -FIS_MARGIN_MAX, FIS_MARGIN_MAX) / FIS_MARGIN_SCALE;
}

static double margin_of(const struct fis_encoder *enc, double number)
{
    if (enc->columns[enc->n - 1].pub.scale == FIS_SCALE_LOGIT)
        return number;
    double p = within(number, FIS_PROBABILITY_MIN, 1 - FIS_PROBABILITY_MIN);
    return enc->margins == 1 ? log(p / (1 - p)) : log(p);
}

void encoder_margins_encode(const struct fis_encoder *enc, const double *numbers, float *x)
{
    double margins[FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < enc->margins; k++)
        margins[k] = margin_of(enc, numbers[k]);
    encoder_margins_scale(margins, enc->margins, x);
}

int fis_encoder_expect_trees(struct fis_encoder *enc, uint32_t margins, struct fis_error *e)
{
    if (enc->margins && margins)
        return fis_fail(e, FIS_INPUT, "encoder: trees besides the columns of a base");
    if (margins == 2 || margins > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "encoder: %u margins of trees", margins);
    enc->tree_margins = margins;
    return 0;
}

int fis_encoder_set_trees(struct fis_encoder *enc, struct fis_trees *trees, struct fis_error *e)
{
    const struct fis_trees_shape *s = fis_trees_shape(trees);
    if (s->margins != enc->tree_margins || s->d + s->margins != enc->d)
        return fis_fail(e, FIS_INPUT,
                        "encoder: trees of %u features and %u margins, %u and %u "
                        "expected",
                        s->d, s->margins, enc->d - enc->tree_margins, enc->tree_margins);
    fis_trees_unref(enc->trees);
    enc->trees = fis_trees_ref(trees);
    return 0;
}

struct fis_trees *fis_encoder_trees(const struct fis_encoder *enc)
{
    return enc ? enc->trees : NULL;
}

struct fis_trees *fis_encoder_take_trees(struct fis_encoder *enc)
{
    struct fis_trees *trees = enc->trees;
    enc->trees = NULL;
    return trees;
}

bool fis_encoder_has_trees(const struct fis_encoder *enc)
{
    return enc->tree_margins > 0;
}

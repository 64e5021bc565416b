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

static double margin_of(const struct fis_encoder *enc, double number)
{
    if (enc->columns[enc->n - 1].pub.scale == FIS_SCALE_LOGIT)
        return number;
    double p = within(number, FIS_PROBABILITY_MIN, 1 - FIS_PROBABILITY_MIN);
    return enc->margins == 1 ? log(p / (1 - p)) : log(p);
}

void encoder_margins_encode(const struct fis_encoder *enc, const double *numbers, float *x)
{
    double margins[FIS_MAX_CLASSES], largest = -INFINITY;
    for (uint32_t k = 0; k < enc->margins; k++) {
        margins[k] = margin_of(enc, numbers[k]);
        largest = margins[k] > largest ? margins[k] : largest;
    }
    if (enc->margins == 1)
        largest = 0;
    for (uint32_t k = 0; k < enc->margins; k++)
        x[k] =
            (float)within(margins[k] - largest, -FIS_MARGIN_MAX, FIS_MARGIN_MAX) / FIS_MARGIN_SCALE;
}

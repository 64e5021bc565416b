/* Inside the encoder: fitting (encoder_fit.c), encoding (encoder.c), frozen state
 * (encoder_state.c). */
#ifndef CORE_ENCODER_IMPL_H
#define CORE_ENCODER_IMPL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "fis/encoder.h"

#define ENCODER_COLUMNS_MAX 65536u
#define ENCODER_NAME_MAX 255u     /* bytes of a column's name */
#define ENCODER_CATEGORY_MAX 255u /* bytes of a category; longer ones cannot be fitted */
#define ENCODER_SHOWN 40          /* bytes of a value that an error repeats at most */

/* A deviation that is smaller, in magnitudes of the mean, is noise of the numbers. */
#define ENCODER_PRECISION 1e-12
/* The deviation of a column that never varied: whatever comes is scaled to 0. Its sign tells the
 * drift whether the value was another one, within what 32-bit floats tell apart. */
#define ENCODER_CONSTANT DBL_MAX
#define ENCODER_SAME 1e-6

struct category {
    char *text;
    size_t length;
};

struct encoder_column {
    struct fis_column pub; /* pub.name is owned */
    /* numeric: Welford's running mean and sum of squares while fitting */
    double mean, squares, deviation, factor; /* factor: 1 / deviation */
    uint64_t present, missing;
    bool missing_indicator;
    /* categorical: sorted by bytes */
    struct category *categories;
    const char **texts; /* the same texts as a plain list, made by finish */
    uint32_t n_categories;
    uint32_t first; /* index of this column's first feature */
    uint32_t width; /* features it makes */
};

struct encoder_name {
    const char *text; /* the column's own */
    size_t length;
    uint32_t column;
};

struct fis_encoder {
    struct encoder_column *columns;
    struct encoder_name *by_name; /* [n] sorted */
    uint32_t n, d, max_categories;
    uint32_t margins; /* columns of a base, the last ones */
    uint32_t tree_margins;
    struct fis_trees *trees;
    struct fis_encoder_image image; /* height 0: none */
    /* [3][n] mean, factor and bound of each column, where all columns are numeric and make one
     * feature each: what vectors of numbers are encoded by; else NULL. */
    double *flat;
    bool flat_plain; /* no column is scaled: numbers are features as they are */
    /* With flat, the columns that are scaled, and what 0 becomes there. */
    uint32_t n_scaled, *scaled;
    uint32_t n_constants, *constants; /* of them, those that never varied */
    float *scaled_zero;
    uint64_t rows;
    bool finished;
};

/* The place of a category: 1 and its index, or 0 and where it would go. */
bool fis_encoder_category(const struct encoder_column *c, const char *text, size_t length,
                          uint32_t *index);
static inline bool encoder_is_constant(const struct encoder_column *c)
{
    return c->pub.type == FIS_NUMERIC && c->pub.scale == FIS_SCALE_STANDARD &&
           c->deviation == ENCODER_CONSTANT;
}
static inline float encoder_constant(double mean, double number)
{
    return fabs(number - mean) <= ENCODER_SAME * fabs(mean) ? 0.0f : -0.0f;
}
/* Puts a new category at `index`. -FIS_NOMEM leaves the column as it was. */
int fis_encoder_insert(struct encoder_column *c, uint32_t index, const char *text, size_t length,
                       struct fis_error *e) FIS_MUST_CHECK;
/* encoder_margins.c: how many columns are a base's. INPUT: they are not the last, or not alike. */
int encoder_margins_count(const struct fis_column *columns, uint32_t n, uint32_t *margins,
                          struct fis_error *e) FIS_MUST_CHECK;
int encoder_margin_check(const struct fis_column *c, double number,
                         struct fis_error *e) FIS_MUST_CHECK;
/* The features of the base's columns, from their numbers [margins], checked; may be where they lie.
 */
void encoder_margins_encode(const struct fis_encoder *enc, const double *numbers, float *x);
/* Margins of one row, cut off and scaled, as the last features. */
void encoder_margins_scale(const double *margins, uint32_t n, float *x);
static inline bool encoder_is_margin(const struct fis_column *c)
{
    return c->type == FIS_NUMERIC &&
           (c->scale == FIS_SCALE_LOGIT || c->scale == FIS_SCALE_PROBABILITY);
}
/* encoder_image.c: before the freeze, gives all pixels of a channel one mean and one variance. */
void encoder_image_pool(struct fis_encoder *enc);
/* encoder_flat.c: sets `flat` where it can be; and x [n] from values [n], 1, or 0 and nothing when
 * one is not finite. */
int encoder_flat_make(struct fis_encoder *enc, struct fis_error *e) FIS_MUST_CHECK;
void encoder_flat_free(struct fis_encoder *enc);
int encoder_flat_run(const struct fis_encoder *enc, const void *values, float *x);
/* Lays out the features and the plain lists of categories; after this the encoder is frozen. */
int fis_encoder_freeze(struct fis_encoder *enc, struct fis_error *e) FIS_MUST_CHECK;

#endif

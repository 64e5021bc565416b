/*
 * The feature encoder: named columns to a vector of floats. Fitted on the initial labelled set,
 * frozen, and part of every head and model version.
 *
 * numeric, standard: (x - mean) / deviation (where the column did not vary, 0); missing -> 0 (the
 * mean) and an indicator feature of 1, present only when the column had missing values at fitting;
 * missing where there is no indicator: 0. |result| is capped at `FIS_ENCODER_CLIP` so that one
 * absurd value cannot swamp a network. numeric, none: as it is; missing -> 0. categorical: one-hot
 * over the categories seen (sorted by bytes; fis_value_category), one "unseen" slot, one "missing"
 * slot.
 *
 * numeric, logit or probability: the score of a model in production, the base (fis/network.h). Such
 *   columns are the last ones, all of one scale: one with two classes, the log odds or probability
 *   of the second; else one per class. They become the base's margins / FIS_MARGIN_SCALE: of one
 *   column its log odds, of several their logits (or logarithms) less the largest. A probability
 *   is taken as FIS_PROBABILITY_MIN to 1 - FIS_PROBABILITY_MIN, and a margin as -FIS_MARGIN_MAX to
 *   FIS_MARGIN_MAX: neither changes what is predicted. INPUT: missing, or no probability.
 *
 * Or the base is trees (fis/trees.h), which follow from the features: their margins are the last
 * features; 0 as long as there are none.
 *
 * Or the columns are the numbers of an image [height][width][channels], a byte v as v / 127.5 - 1:
 *   those of a channel have one mean and one deviation, over all its pixels, and no indicator.
 *
 * Thread: immutable after fitting. Owns: copies of all names; the trees.
 */
#ifndef FIS_ENCODER_H
#define FIS_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/trees.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_ENCODER_CLIP 50.0f
#define FIS_MARGIN_MAX 30.0
#define FIS_PROBABILITY_MIN 1e-6 /* also how far beyond 0 and 1 one may be by rounding */

enum fis_column_type { FIS_NUMERIC = 1, FIS_CATEGORICAL };
enum fis_column_scale {
    FIS_SCALE_STANDARD = 1,
    FIS_SCALE_NONE,
    FIS_SCALE_LOGIT,
    FIS_SCALE_PROBABILITY
};

struct fis_column {
    const char *name;
    enum fis_column_type type;
    enum fis_column_scale scale; /* numeric only */
};

/* One cell of a row as it came in. */
enum fis_value_kind { FIS_VALUE_MISSING = 0, FIS_VALUE_NUMBER, FIS_VALUE_TEXT };
struct fis_value {
    enum fis_value_kind kind;
    double number;    /* finite, and finite as a float (checked by encode) */
    const char *text; /* not NUL-terminated; of a number its digits, length 0 when not known */
    size_t length;
};

/* The name of the category that a value, not missing, stands for: features, classes and groups are
 * compared by it. A text without the white space around it; a whole number that is written 1, 1.0
 * or "1.0" is "1", whatever wrote it, and -0 is "0"; other numbers are their shortest decimal. A
 * text with leading zeros, a plus or an exponent is no number: "007" is not "7". The name lies in
 * the value's text or in `room`. */
#define FIS_CATEGORY_ROOM 40
void fis_value_category(const struct fis_value *v, char room[FIS_CATEGORY_ROOM], const char **text,
                        size_t *length);

/* Whether a column can have this value, whatever it was fitted on; missing is fine, but not in a
 * base's. INPUT names the column, what was found and what is expected. */
int fis_column_check(const struct fis_column *c, const struct fis_value *v,
                     struct fis_error *e) FIS_MUST_CHECK;

struct fis_encoder;

/* Fitting, in two calls per row set: new, then observe every row, then finish. */
struct fis_encoder *fis_encoder_new(const struct fis_column *columns, uint32_t n_columns,
                                    uint32_t max_categories, struct fis_error *e);
void fis_encoder_free(struct fis_encoder *enc);
/* values [n_columns]. INPUT: a wrong kind, a number that is not finite as float32, too many
 * categories. */
int fis_encoder_observe(struct fis_encoder *enc, const struct fis_value *values,
                        struct fis_error *e) FIS_MUST_CHECK;
int fis_encoder_finish(struct fis_encoder *enc, struct fis_error *e) FIS_MUST_CHECK;

/* Before finish: the base will be trees, with so many margins. INPUT: there is one of columns. */
int fis_encoder_expect_trees(struct fis_encoder *enc, uint32_t margins,
                             struct fis_error *e) FIS_MUST_CHECK;
/* Takes a reference to trees for these features. INPUT: they are for others, or not expected. */
int fis_encoder_set_trees(struct fis_encoder *enc, struct fis_trees *trees,
                          struct fis_error *e) FIS_MUST_CHECK;
struct fis_trees *fis_encoder_trees(const struct fis_encoder *enc); /* NULL: none (yet) */
/* The reference to them is the caller's, who applies them to many rows at once: margins that are
 * encoded after it are 0. */
struct fis_trees *fis_encoder_take_trees(struct fis_encoder *enc);
bool fis_encoder_has_trees(const struct fis_encoder *enc); /* or will have */

/* Before finish: the columns, standard ones, are those of an image. INPUT: they are not, or not as
 * many. fis_encoder_image: NULL where they are not. */
#define FIS_IMAGE_CHANNELS 4u
#define FIS_IMAGE_NUMBERS 65536u
struct fis_encoder_image {
    uint32_t height, width, channels;
};
int fis_encoder_expect_image(struct fis_encoder *enc, const struct fis_encoder_image *image,
                             struct fis_error *e) FIS_MUST_CHECK;
const struct fis_encoder_image *fis_encoder_image(const struct fis_encoder *enc);
#define FIS_PIXEL(v) ((float)(v) / 127.5f - 1.0f) /* the number of a byte */

uint32_t fis_encoder_columns(const struct fis_encoder *enc);
const struct fis_column *fis_encoder_column(const struct fis_encoder *enc, uint32_t i);
int fis_encoder_find(const struct fis_encoder *enc, const char *name, size_t length); /* or -1 */
uint32_t fis_encoder_dimension(const struct fis_encoder *enc);                        /* d */
uint32_t fis_encoder_margins(const struct fis_encoder *enc); /* of d, the last; 0: no base */
/* "age", "job=clerk", "job=(unseen)", "job=(missing)"; into buf, returns the length needed. */
size_t fis_encoder_feature_name(const struct fis_encoder *enc, uint32_t feature, char *buf,
                                size_t size);

/* x [d]. No allocation. INPUT names the column, what was found and what is expected. `unseen` (may
 * be NULL) counts categories never seen. */
int fis_encoder_encode(const struct fis_encoder *enc, const struct fis_value *values, float *x,
                       uint32_t *unseen, struct fis_error *e) FIS_MUST_CHECK;
/* Whether a scaled numeric column never varied in the rows that it was fitted on. */
bool fis_encoder_constant(const struct fis_encoder *enc, uint32_t i);
/* Counts of each categorical column [columns] whether the row x has a category never seen. */
void fis_encoder_unseen(const struct fis_encoder *enc, const float *x, uint64_t *counts);
/* All columns numeric: n values in column order, from a packed vector. INPUT: count, or the index
 * of a value that is not finite. */
int fis_encoder_encode_floats(const struct fis_encoder *enc, const float *values, uint32_t n,
                              float *x, struct fis_error *e) FIS_MUST_CHECK;

/* The same from n floats at any address, as they lie in a message. */
int fis_encoder_encode_packed(const struct fis_encoder *enc, const void *values, uint32_t n,
                              float *x, struct fis_error *e) FIS_MUST_CHECK;

/* The same of a row that is mostly 0: its n finite values at rising columns become the list of its
 * features, scaled columns among them whose value was 0; how many. index, value: room for all
 * columns. fis_encoder_lists: whether columns are features one by one, few are scaled, and none is
 * a base's. */
bool fis_encoder_lists(const struct fis_encoder *enc);
uint32_t fis_encoder_encode_list(const struct fis_encoder *enc, uint32_t *index, float *value,
                                 uint32_t n);

/* The frozen state, for the wire: plain structs, borrowed. */
struct fis_encoder_column_state {
    struct fis_column column;
    double mean, deviation;
    int missing_indicator;
    uint32_t n_categories;
    const char *const *categories; /* sorted */
};
void fis_encoder_state(const struct fis_encoder *enc, uint32_t column,
                       struct fis_encoder_column_state *out);
/* A finished encoder from such states; or one that expects margins of trees (0: no trees). INPUT
 * when they make no sense. */
struct fis_encoder *fis_encoder_from_states(const struct fis_encoder_column_state *states,
                                            uint32_t n, struct fis_error *e);
struct fis_encoder *fis_encoder_over_trees(const struct fis_encoder_column_state *states,
                                           uint32_t n, uint32_t margins, struct fis_error *e);

#ifdef __cplusplus
}
#endif

#endif

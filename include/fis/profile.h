/*
 * How records are distributed, column by column, in counts: what drift is measured with.
 *
 * Counted from encoded rows. The bins of a column:
 *   numeric: the value less the encoder's mean, in its deviations, at the edges
 *     -2, -1, -1/2, 0, 1/2, 1, 2 (8 bins; what was missing has the value 0 and no indicator, or
 *     counts in a ninth where the column has an indicator; of a column that never varied the
 *     fifth has its value, and the last any other);
 *   categorical: each category, unseen, missing.
 *
 * Population stability index of a column, from shares p of a reference and q of now:
 *   PSI = sum over bins (q - p) ln(q / p),
 * with half a count added to each bin, and less what chance alone gives, (k - 1)(1/n + 1/m) for k
 * bins that occur and n and m rows; not below 0. By the usual rule below 0.1 is no change, above
 * 0.25 a large one.
 *
 * Thread: one owner at a time. Owns: its counts; the encoder is not kept.
 */
#ifndef FIS_PROFILE_H
#define FIS_PROFILE_H

#include "fis/encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fis_profile;
struct fis_profile *fis_profile_new(const struct fis_encoder *encoder, struct fis_error *e);
void fis_profile_free(struct fis_profile *p);

void fis_profile_add(struct fis_profile *p, const float *x); /* one row [d] */
uint32_t fis_profile_rows(const struct fis_profile *p);
void fis_profile_clear(struct fis_profile *p);
/* Adds the counts of another of the same encoder. When more than `most` rows are in it then, all
 * counts are halved until not: what is older weighs less. */
void fis_profile_merge(struct fis_profile *p, const struct fis_profile *other, uint32_t most);

/* The counts [n], column by column, and a profile's from them. INPUT: not as many as the encoder
 * has bins, or columns that do not count the same rows. */
const uint32_t *fis_profile_counts(const struct fis_profile *p, uint32_t *n);
int fis_profile_load(struct fis_profile *p, const uint32_t *counts, uint32_t n,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Of column `column` of the encoder; both have its bins, and at least one row. */
double fis_profile_psi(const struct fis_profile *reference, const struct fis_profile *now,
                       uint32_t column);

#ifdef __cplusplus
}
#endif

#endif

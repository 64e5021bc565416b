/*
 * The learner: labelled rows, the copies of the network that learn from them, and the directions.
 *
 * Copies start from one warm start. The anchor learns from all labels. In mode BOOSTED, each
 * boosted copy's batch is, with probability `boost`, drawn from that copy's kept set (once it has
 * kept_min rows), else it is the anchor's own batch. In mode MIXED (the published algorithm) there
 * is one copy, the anchor: a share `mix` of each of its batches comes from the kept set (once it
 * has kept_min rows) and the rest from the initial rows; what is not kept is not learnt from. In
 * mode PLAIN there is one copy and all labels are alike. SGD, Nesterov momentum, weight decay. End
 * points are averages over every `average_every`-th iterate since fis_learner_round_begin.
 *
 * Kept set: a bought row is kept when both influences at its true label are <= 0, with the
 * current directions: with cross-fit, those of each half of the validation rows for that half's
 * copy. Rows set aside are looked at again at fis_learner_review.
 *
 * Everything is a function of the options, the rows in their order, and the number of steps.
 * Thread: one owner at a time (a job owns it while it runs). Owns: everything it is given, by copy.
 */
#ifndef FIS_LEARNER_H
#define FIS_LEARNER_H

#include "fis/influence.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fis_copies { FIS_COPIES_BOOSTED = 1, FIS_COPIES_PLAIN, FIS_COPIES_MIXED };

#define FIS_MAX_FOLDS 2

struct fis_learner_options {
    struct fis_shape shape;
    enum fis_copies copies;
    uint32_t folds; /* 1: one boosted copy (guide and gate halves); 2: cross-fit, one each; 0 (MIXED
                       and PLAIN only): all rows guide and judge, as in the published algorithm */
    float learning_rate, momentum, weight_decay;
    uint32_t batch;
    float boost, mix;
    int split_by_place;     /* halves are dealt by seed and place alone, so that what an example is
                               moves no other one; for noise (fis/privacy.h), which needs it */
    uint32_t kept_min;      /* 16 */
    uint32_t average_every; /* 6; 0: no averages, the current iterate is the end point */
    uint64_t seed;
};

struct fis_learner;
struct fis_learner *fis_learner_new(const struct fis_learner_options *o, struct fis_error *e);
void fis_learner_free(struct fis_learner *t);

/* Rows. Initial rows are part of every copy's data and never of a kept set. Bought rows return
 * their index among the bought. x [d] finite; y < K. */
int fis_learner_add_initial(struct fis_learner *t, const float *x, uint32_t y,
                            struct fis_error *e) FIS_MUST_CHECK;
int fis_learner_add_bought(struct fis_learner *t, const float *x, uint32_t y, uint32_t *index,
                           struct fis_error *e) FIS_MUST_CHECK;

/* Validation: x, y, group of n rows, copied. Split into guide and gate rows: folds = 1: guide half
 * = half 0, gate half = half 1; folds = 2: copy h is guided by half h and judged on the other.
 * The split is by seed, stratified by group and class (or not: split_by_place). */
int fis_learner_set_validation(struct fis_learner *t, const struct fis_rows *rows,
                               uint32_t n_groups, struct fis_error *e) FIS_MUST_CHECK;

/* `steps` optimizer steps of the anchor alone on the initial rows; resumable: 100 steps are twice
 * 50. An epoch is ceil(rows/batch) steps over a fresh shuffle. NUMERIC trouble (loss or parameters
 * not finite) is FIS_INPUT with the step's number; parameters are then as they were before the
 * call. */
int fis_learner_warm_up(struct fis_learner *t, uint32_t steps, struct fis_error *e) FIS_MUST_CHECK;
uint32_t fis_learner_epoch_steps(const struct fis_learner *t);

/* One step of gradient descent on a slab, Nesterov as PyTorch has it: g = gradient + decay w;
 * m = mu m + g; w -= rate (g + mu m). */
struct fis_sgd {
    float learning_rate, momentum, weight_decay;
};
void fis_sgd_step(const struct fis_sgd *o, const float *gradient, size_t n, float *momentum,
                  float *params);
/* The mean of `count` slabs, of which `params` is the last one: average is that of those before. */
void fis_running_average(const float *params, size_t n, uint32_t count, float *average);

/* Copies are set to the anchor, and their momentum to its. */
void fis_learner_fork(struct fis_learner *t);

void fis_learner_round_begin(struct fis_learner *t); /* a fresh average; remembers the state */
/* Not finite: as for warm_up; besides, bought rows that alone explain it (their logits at the
 * restored anchor are not finite, or beyond +-1e4) are excluded from then on, so that one absurd
 * row does not spoil every round to come. */
int fis_learner_train(struct fis_learner *t, uint32_t steps, struct fis_error *e) FIS_MUST_CHECK;
/* Back to where round_begin left it (a rejected round of `fis`, a loss that is not finite). */
void fis_learner_roll_back(struct fis_learner *t);

/* Directions at the anchor: for the heads, from all rows (folds = 2) or the guide half; and per
 * fold for the label check. After it fis_learner_panel has the new head. cosine (may be NULL): of
 * G_fair with the one before; NaN at first. */
int fis_learner_refresh(struct fis_learner *t, const struct fis_direction_options *o,
                        double *cosine, struct fis_error *e) FIS_MUST_CHECK;
/* What refreshes with noise have spent (and those without it, once there were some with). Set after
 * a restart: a refresh that follows and is the newest one again, to the bit, costs nothing. */
struct fis_privacy_account fis_learner_privacy(const struct fis_learner *t);
void fis_learner_set_privacy(struct fis_learner *t, const struct fis_privacy_account *spent);
const float *fis_learner_direction(const struct fis_learner *t, int which); /* slab, of the head */
struct fis_panel *
fis_learner_panel(const struct fis_learner *t); /* borrowed; NULL before refresh */

/* The check with true labels: puts bought row `index` into the kept set of each fold whose
 * influences allow it; returns the number of folds that keep it. infl_acc, infl_fair (may be
 * NULL): at the true label, along the head's directions. */
uint32_t fis_learner_check(struct fis_learner *t, uint32_t index, float *infl_acc,
                           float *infl_fair);
/* All bought rows again, kept ones too; how many changed sides (in any fold). */
uint32_t fis_learner_review(struct fis_learner *t);
bool fis_learner_is_kept(const struct fis_learner *t, uint32_t index);

/* Slabs: the anchor now; the averaged end points for publication (the anchor's and fold h's copy's;
 * the current iterate when there is no average yet). */
const float *fis_learner_anchor(const struct fis_learner *t);
const float *fis_learner_end_anchor(const struct fis_learner *t);
const float *fis_learner_end_boosted(const struct fis_learner *t, uint32_t fold);
/* Sets the anchor (and forks): resuming from a stored head, or from a roll-back. */
void fis_learner_set_anchor(struct fis_learner *t, const float *params);

/* All that a learner with the same options, rows and validation rows needs to go on to the bit: the
 * copies, their momentum and averages, the same at the round's beginning, the shuffle, the
 * generators, and which rows are excluded. `out` has save_size bytes; little-endian. Not in it:
 * rows, and what follows from them and the anchor. So, to go on: all rows again in their order,
 * load, fis_learner_refresh, fis_learner_review. Bought rows may be more than there were. */
size_t fis_learner_save_size(const struct fis_learner *t);
void fis_learner_save(const struct fis_learner *t, void *out);
/* INPUT: not what save wrote, of another format, shape or kind of copies, not as many initial rows,
 * or fewer bought ones; nothing is changed then, nor on NOMEM. */
int fis_learner_load(struct fis_learner *t, const void *in, size_t size,
                     struct fis_error *e) FIS_MUST_CHECK;

struct fis_learner_counts {
    uint32_t initial, bought, kept; /* kept: by any fold */
    uint32_t excluded;              /* bought rows that made the loss infinite */
    uint64_t steps;
    double last_loss; /* the anchor's, mean over the last call's steps */
};
struct fis_learner_counts fis_learner_counts(const struct fis_learner *t);
const struct fis_shape *fis_learner_shape(const struct fis_learner *t);
const struct fis_learner_options *fis_learner_options(const struct fis_learner *t);
uint32_t fis_learner_groups(const struct fis_learner *t); /* of the validation rows */
const struct fis_rows *fis_learner_validation(const struct fis_learner *t);
const uint8_t *fis_learner_fold_of(const struct fis_learner *t); /* [n validation] 0 or 1 */

#ifdef __cplusplus
}
#endif

#endif

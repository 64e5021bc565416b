/*
 * The learner: labelled rows, the network that learns from them (the anchor), and the directions.
 *
 * The anchor learns from all labels alike; or, `mixed` (the published algorithm): a share `mix` of
 * each of its batches comes from the kept set (once it has kept_min rows) and the rest from the
 * initial rows, and what is not kept is not learnt from. SGD, Nesterov momentum, weight decay. The
 * end point is the average over every `average_every`-th iterate since fis_learner_round_begin;
 * with `fall`, of the last quarter of those steps alone.
 *
 * Kept set: a bought row is kept when both influences at its true label are <= 0, with the current
 * directions. Rows set aside are looked at again at fis_learner_review.
 *
 * Everything is a function of the options, the rows in their order, and the number of steps.
 * Thread: one owner at a time (a job owns it while it runs). Owns: everything it is given, by copy.
 */
#ifndef FIS_LEARNER_H
#define FIS_LEARNER_H

#include <stdbool.h>

#include "fis/influence.h"
#include "fis/trees.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_MAX_FOLDS 3
/* What fis_learner_save writes is so many slabs at most, and beside them some bytes for a row that
 * is excluded and the margins of a row that has them out of fold. */
#define FIS_LEARNER_SAVED_SLABS(adamw) ((adamw) ? 8u : 6u)

struct fis_learner_options {
    struct fis_shape shape;
    bool mixed;     /* as the published algorithm trains */
    uint32_t folds; /* of the validation rows, 1 to FIS_MAX_FOLDS */
    bool guided;    /* with 2 folds: fold 0 guides and fold 1 judges; else all rows do both, and
                       the judge cross-fits */
    float learning_rate, momentum, weight_decay;
    /* AdamW in place of SGD: momentum is not used; the rate rises over the first `rise` steps, and
       in each round falls from there by half a cosine to a tenth at its `fall`th step, 0: not. */
    bool adamw;
    uint32_t rise, fall;
    /* Of a batch's images: each is flipped left to right with probability 1/2, and moved by up to
       `shift` pixels each way; the border is repeated. */
    bool flip;
    uint32_t shift;
    uint32_t batch;
    float mix;
    int split_by_place;     /* folds are dealt by seed and place alone, so that what an example is
                               moves no other one; for noise (fis/privacy.h), which needs it */
    uint32_t kept_min;      /* 16 */
    uint32_t average_every; /* 6; 0: no averages, the current iterate is the end point */
    uint32_t fresh_steps;   /* most steps of a network that is published; 0: there are none, and the
                               end point is the anchor's */
    int learn_validation;   /* the published networks, and trees below them, also learn from
                               validation rows' labels: 1, 0; -1: trees, and networks while there
                               are fewer labels than validation rows */
    uint64_t seed;
};

struct fis_learner;
struct fis_learner *fis_learner_new(const struct fis_learner_options *o, struct fis_error *e);
void fis_learner_free(struct fis_learner *t);

/* Rows. Initial rows are never part of the kept set. Bought rows return
 * their index among the bought. x [d] finite; y < K. */
int fis_learner_add_initial(struct fis_learner *t, const float *x, uint32_t y,
                            struct fis_error *e) FIS_MUST_CHECK;
int fis_learner_add_bought(struct fis_learner *t, const float *x, uint32_t y, uint32_t *index,
                           struct fis_error *e) FIS_MUST_CHECK;

/* Validation: x, y, group of n rows, copied. Split into folds by seed,
 * stratified by group and class (or not: split_by_place). */
int fis_learner_set_validation(struct fis_learner *t, const struct fis_rows *rows,
                               uint32_t n_groups, struct fis_error *e) FIS_MUST_CHECK;

/* Trees as a base (fis/trees.h), fitted to all labelled rows, and with learn_validation to the
 * validation rows (never to groups; not when `mixed`, nor with noise): their margins become the
 * last features of each row, out of fold of what they were fitted to. `out` is the caller's. */
int fis_learner_fit_base(struct fis_learner *t, const struct fis_trees_options *o,
                         fis_trees_fit_fn *fit, struct fis_trees **out,
                         struct fis_error *e) FIS_MUST_CHECK;
uint32_t fis_learner_fitted(const struct fis_learner *t); /* labelled rows then; 0: never */
/* Whether they were fitted to the validation rows as well: of these only margins out of fold say
 * anything, which no trees give afterwards. */
bool fis_learner_base_has_validation(const struct fis_learner *t);
/* The margins of rows that these trees were not fitted to: labelled ones that came later, and
 * validation rows. */
void fis_learner_apply_base(struct fis_learner *t, const struct fis_trees *trees);
/* The validation rows [n][d] as what is served sees them, where its base has other margins; NULL:
 * as the learner has them. Borrowed: until it changes. Part of the saved state while
 * fis_learner_base_has_validation. */
const float *fis_learner_served_rows(const struct fis_learner *t);
/* They are as they are now; as these trees, which were not fitted to them, have them (NULL: as the
 * learner has them). */
int fis_learner_keep_served(struct fis_learner *t, struct fis_error *e) FIS_MUST_CHECK;
int fis_learner_serve_base(struct fis_learner *t, const struct fis_trees *trees,
                           struct fis_error *e) FIS_MUST_CHECK;

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
/* One of AdamW (Loshchilov and Hutter 2019), betas .9 and .999, epsilon 1e-8, step = 1, 2, …:
 *     w -= rate (m^ / (sqrt(v^) + epsilon) + decay w),
 * with m, v the running means of gradient and square [n], m^, v^ without their bias to 0. */
struct fis_adamw {
    float learning_rate, weight_decay;
};
void fis_adamw_step(const struct fis_adamw *o, uint64_t step, const float *gradient, size_t n,
                    float *m, float *v, float *params);
/* The share of its peak that the rate has at a step (from 0): it rises in a line over `warm_up`
 * steps, and then falls by half a cosine to 0 at step `end`; 0: it does not fall. */
float fis_rate_at(uint64_t step, uint64_t warm_up, uint64_t end);
/* The mean of `count` slabs, of which `params` is the last one: average is that of those before. */
void fis_running_average(const float *params, size_t n, uint32_t count, float *average);

void fis_learner_round_begin(struct fis_learner *t); /* a fresh average; remembers the state */
/* Not finite: as for warm_up; besides, bought rows that alone explain it (their logits at the
 * restored anchor are not finite, or beyond +-1e4) are excluded from then on, so that one absurd
 * row does not spoil every round to come. */
int fis_learner_train(struct fis_learner *t, uint32_t steps, struct fis_error *e) FIS_MUST_CHECK;
/* Back to where round_begin left it (a rejected round of `fis`, a loss that is not finite). */
void fis_learner_roll_back(struct fis_learner *t);

/* Directions at the anchor, from all rows or, `guided`, from fold 0. After it fis_learner_panel has
 * the new head. cosine (may be NULL): of G_fair with the one before; NaN at first. */
int fis_learner_refresh(struct fis_learner *t, const struct fis_direction_options *o,
                        double *cosine, struct fis_error *e) FIS_MUST_CHECK;
/* What refreshes with noise have spent (and those without it, once there were some with). Set after
 * a restart: a refresh that follows and is the newest one again, to the bit, costs nothing. */
struct fis_privacy_account fis_learner_privacy(const struct fis_learner *t);
void fis_learner_set_privacy(struct fis_learner *t, const struct fis_privacy_account *spent);
const float *fis_learner_direction(const struct fis_learner *t, int which); /* slab, of the head */
struct fis_panel *
fis_learner_panel(const struct fis_learner *t); /* borrowed; NULL before refresh */

/* The check with true labels: puts bought row `index` into the kept set when its influences allow
 * it; whether they do. infl_acc, infl_fair (may be NULL): at the true label. */
bool fis_learner_check(struct fis_learner *t, uint32_t index, float *infl_acc, float *infl_fair);
/* All bought rows again, kept ones too; how many changed sides. */
uint32_t fis_learner_review(struct fis_learner *t);
bool fis_learner_is_kept(const struct fis_learner *t, uint32_t index);

/* Slabs: the anchor now, and its averaged end point (the current iterate when there is no average
 * yet). */
const float *fis_learner_anchor(const struct fis_learner *t);
const float *fis_learner_end_anchor(const struct fis_learner *t);
/* The networks that are published. Each begins afresh (seed and `round`), and is a function of the
 * options, the rows and the round alone: dropout, a rate that falls to 0 by a cosine, at most
 * fresh_steps steps or 50 epochs, and the mean over the last quarter's iterates. One learns from
 * all labels, initial and bought. With learn_validation it learns from the labels (never the
 * groups) of the validation rows too, and there is one more for each fold, which has not seen that
 * fold's rows and judges them. In force until the next training step, roll-back, or other anchor or
 * validation rows. INPUT: a loss that is not finite; bought rows that explain it are excluded, and
 * the anchor's end point stands. */
int fis_learner_retrain(struct fis_learner *t, uint32_t round, struct fis_error *e) FIS_MUST_CHECK;
bool fis_learner_learns_validation(const struct fis_learner *t); /* as things are */
/* Slabs: what is published, and what judges the rows of a fold; the anchor's end point without
 * networks in force. */
const float *fis_learner_end(const struct fis_learner *t);
const float *fis_learner_end_of(const struct fis_learner *t, uint32_t fold);
/* Sets the anchor: resuming from a stored head, or from a roll-back. */
void fis_learner_set_anchor(struct fis_learner *t, const float *params);

/* All that a learner with the same options, rows and validation rows needs to go on to the bit: the
 * anchor, its momentum and average, the same at the round's beginning, the shuffle, the generators,
 * and which rows are excluded. `out` has save_size bytes; little-endian. Not in it: rows, and what
 * follows from them and the anchor. So, to go on: all rows again in their order, load,
 * fis_learner_refresh, fis_learner_review. Bought rows may be more than there were. */
size_t fis_learner_save_size(const struct fis_learner *t);
void fis_learner_save(const struct fis_learner *t, void *out);
/* INPUT: not what save wrote, of another format or shape, of `mixed` or not, not as many initial
 * rows, or fewer bought ones; nothing is changed then, nor on NOMEM. */
int fis_learner_load(struct fis_learner *t, const void *in, size_t size,
                     struct fis_error *e) FIS_MUST_CHECK;

struct fis_learner_counts {
    uint32_t initial, bought, kept;
    uint32_t excluded; /* bought rows that made the loss infinite */
    uint64_t steps;
    double last_loss; /* the anchor's, mean over the last call's steps */
};
struct fis_learner_counts fis_learner_counts(const struct fis_learner *t);
const struct fis_shape *fis_learner_shape(const struct fis_learner *t);
const struct fis_learner_options *fis_learner_options(const struct fis_learner *t);
uint32_t fis_learner_groups(const struct fis_learner *t); /* of the validation rows */
const struct fis_rows *fis_learner_validation(const struct fis_learner *t);
const uint8_t *fis_learner_fold_of(const struct fis_learner *t);            /* [n validation] */
const float *fis_learner_initial(const struct fis_learner *t, uint32_t *n); /* x [n][d] */

#ifdef __cplusplus
}
#endif

#endif

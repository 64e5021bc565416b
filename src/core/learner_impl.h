/* The inside of struct fis_learner, shared by the files that implement it. */
#ifndef CORE_LEARNER_IMPL_H
#define CORE_LEARNER_IMPL_H

#include "fis/learner.h"

#define MAX_COPIES (1 + FIS_MAX_FOLDS)

struct row_store {
    float *x;    /* [capacity][d] */
    uint32_t *y; /* [capacity] */
    uint32_t n, capacity;
};

/* One copy's vectors, each a slab; they lie side by side in one block per state. */
struct copy {
    float *params, *momentum, *average;
};

/* What a roll-back restores, but for the block of vectors. */
struct progress {
    uint64_t steps;
    uint64_t round_steps;
    uint32_t averaged; /* iterates in the averages */
};

struct fis_learner {
    struct fis_learner_options o;
    size_t n_params;
    uint32_t n_copies; /* copy 0 is the anchor, copy 1 + h is fold h's boosted one */
    struct copy copy[MAX_COPIES];
    float *state, *at_round, *at_call; /* blocks of n_copies * 3 slabs */
    size_t state_size;
    struct progress now, round;
    double last_loss;

    struct row_store initial, bought;
    uint8_t *mark;                           /* [bought.capacity] bit h: kept by fold h */
    uint32_t *kept[FIS_MAX_FOLDS];           /* [bought.capacity] indices of the kept rows */
    uint32_t n_kept[FIS_MAX_FOLDS], n_marks; /* n_marks: rows kept by any fold */
    uint32_t n_excluded;

    /* The anchor's epoch: a shuffle of the rows it learns from, drawn again when they change. */
    uint32_t *order;
    uint32_t order_n, order_at, order_capacity;
    struct fis_rng shuffle, boost[FIS_MAX_FOLDS];
    /* From which the order can be drawn again: of how many bought rows, by what. */
    uint32_t order_bought;
    struct fis_rng order_rng;

    /* One batch. */
    float *x, *logits, *dlogits, *gradient;
    uint32_t *y;
    float *boosted_x;
    uint32_t *boosted_y;
    struct fis_scratch *scratch;

    /* Validation rows, and what is derived from them. */
    struct fis_rows rows;
    float *val_x;
    uint32_t *val_y, *val_group, n_groups;
    uint8_t *fold_of;
    uint32_t *fold_rows[2], fold_n[2];
    float *direction[FIS_DIRECTIONS];
    struct fis_privacy_account spent;
    int may_repeat; /* the next refresh may be the newest of the account again */
    struct fis_panel *panel, *fold_panel[FIS_MAX_FOLDS];
    struct fis_scratch *score_scratch;
    float *score_p, *score_acc, *score_fair; /* [LEARNER_SCORE_ROWS][K] */
};

#define LEARNER_SCORE_ROWS 256u
#define MARK_EXCLUDED 0x80u
#define MARK_LEFT_OUT 0x40u /* was excluded when the epoch's order was drawn */
#define MARK_FOLDS 0x0fu
/* Beyond this a logit says that the row, not the model, is at fault. */
#define ABSURD_LOGIT 1e4f

int rows_add(struct row_store *s, uint32_t d, const float *x, uint32_t y);
/* The epoch's order of the initial rows and of the first `bought` bought ones that are not left
 * out; row numbers from initial.n on are bought rows. t->order has room. */
void learner_draw_order(struct fis_learner *t, uint32_t bought);
int learner_order_room(struct fis_learner *t, struct fis_error *e);
/* Lists of the kept rows and counts, from the marks. */
void learner_rebuild_lists(struct fis_learner *t);
/* Folds that have a kept set of their own: 0 in PLAIN. */
uint32_t learner_kept_folds(const struct fis_learner *t);
void learner_exclude_absurd(struct fis_learner *t);
void learner_done_validation(struct fis_learner *t);

static inline const float *row_x(const struct row_store *s, uint32_t d, uint32_t i)
{
    return s->x + (size_t)i * d;
}

#endif

/* The inside of struct fis_learner, shared by the files that implement it. */
#ifndef CORE_LEARNER_IMPL_H
#define CORE_LEARNER_IMPL_H

#include <stdbool.h>

#include "fis/learner.h"

struct row_store {
    float *x;    /* [capacity][d] */
    uint32_t *y; /* [capacity] */
    uint32_t n, capacity;
};

/* The anchor's vectors, each a slab; they lie side by side in one block per state. */
struct vectors {
    float *params, *momentum, *average;
    float *square; /* AdamW's second moment; else NULL */
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
    struct vectors anchor;
    float *fresh;     /* [1 + FIS_MAX_FOLDS] slabs, with fresh_steps */
    uint32_t n_fresh; /* of them in force: 0; 1; or one for all rows and one for each fold */
    float *state, *at_round, *at_call; /* blocks of 3 slabs; 4 with AdamW */
    size_t state_size;
    struct progress now, round;
    double last_loss;

    struct row_store initial, bought;
    uint32_t fitted;        /* of them, that have margins out of fold */
    bool validation_fitted; /* the validation rows have too */
    uint8_t *mark;          /* [bought.capacity] of MARK_* */
    uint32_t *kept;         /* [bought.capacity] indices of the kept rows */
    uint32_t n_kept, n_excluded;

    /* The anchor's epoch: a shuffle of the rows it learns from, drawn again when they change. */
    uint32_t *order;
    uint32_t order_n, order_at, order_capacity;
    struct fis_rng shuffle, draw; /* draw: of the kept rows */
    /* From which the order can be drawn again: of how many bought rows, by what. */
    uint32_t order_bought;
    struct fis_rng order_rng;

    /* One batch. */
    float *x, *logits, *dlogits, *gradient;
    float *image; /* [d], of augmentation; else NULL */
    uint32_t *y;
    struct fis_scratch *scratch;

    /* Validation rows, and what is derived from them. */
    struct fis_rows rows;
    float *val_x, *served_x; /* served_x: as what is served sees them; NULL: as they are */
    uint32_t *val_y, *val_group, n_groups;
    uint64_t validation_hash; /* of features and classes: margins are of these rows alone */
    uint8_t *fold_of;
    uint32_t *fold_rows[FIS_MAX_FOLDS], fold_n[FIS_MAX_FOLDS];
    float *direction[FIS_DIRECTIONS];
    struct fis_privacy_account spent;
    bool may_repeat; /* the next refresh may be the newest of the account again */
    struct fis_panel *panel;
    struct fis_scratch *score_scratch;
    float *score_p, *score_acc, *score_fair; /* [LEARNER_SCORE_ROWS][K] */
};

#define LEARNER_SCORE_ROWS 256u
#define MARK_EXCLUDED 0x80u
#define MARK_LEFT_OUT 0x40u /* was excluded when the epoch's order was drawn */
#define MARK_KEPT 0x01u
/* Beyond this a logit says that the row, not the model, is at fault. */
#define ABSURD_LOGIT 1e4f

/* learner_base.c: what a saved state has of a base. */
struct blob_writer;
struct blob_reader;
struct learner_base_saved {
    uint32_t fitted, validation, served; /* rows */
    uint64_t hash;
    const unsigned char *margins, *of_validation, *of_served;
};
void learner_put_base(struct blob_writer *w, const struct fis_learner *t);
bool learner_get_base(struct blob_reader *r, const struct fis_learner *t,
                      struct learner_base_saved *saved);
int learner_install_base(struct fis_learner *t, const struct learner_base_saved *saved,
                         struct fis_error *e);
void learner_forget_served(struct fis_learner *t);
void learner_hash_validation(struct fis_learner *t);
/* The epoch's order of the initial rows and of the first `bought` bought ones that are not left
 * out; row numbers from initial.n on are bought rows. t->order has room. */
void learner_draw_order(struct fis_learner *t, uint32_t bought);
int learner_order_room(struct fis_learner *t, struct fis_error *e);
/* The list of the kept rows and counts, from the marks. */
void learner_rebuild_list(struct fis_learner *t);
/* Flips and moves the n images in t->x, as the options have it. */
void learner_augment(struct fis_learner *t, uint32_t n);
void learner_exclude_absurd(struct fis_learner *t);
void learner_done_validation(struct fis_learner *t);

static inline const float *row_x(const struct row_store *s, uint32_t d, uint32_t i)
{
    return s->x + (size_t)i * d;
}

#endif

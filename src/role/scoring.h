/*
 * A batch of records on its way through a scorer: messages in, decoding results and scores out.
 * The work itself (scoring_run) is pure and runs on a worker; nothing in it allocates.
 *
 * Thread: one owner at a time. Owns: its storage. Messages are borrowed and must live until the
 * batch is reused.
 */
#ifndef ROLE_SCORING_H
#define ROLE_SCORING_H

#include "fis/influence.h"
#include "fis/selector.h"
#include "wire/format.h"
#include "wire/types.h"

/* What a scorer scores with: an immutable snapshot of one head. */
struct scoring_head {
    uint64_t version, seed;
    struct fis_panel *panel;     /* one reference */
    struct fis_encoder *encoder; /* leaves the margins of trees to: */
    struct fis_trees *trees;     /* one reference; NULL: none */
    struct fis_profile *initial; /* how the initial set is distributed; NULL: not reported */
    _Atomic unsigned references;
};
/* Takes the head's encoder and `initial`; the panel is packed from its slabs. NULL: memory refused.
 */
struct scoring_head *scoring_head_take(struct wire_head_owned *head);
void scoring_head_unref(struct scoring_head *h);

/* Rows of a batch that are counted for drift: few enough to cost nothing. */
#define SCORING_SAMPLE 32u

struct scoring_options {
    const struct wire_schema *schema;
    enum wire_encoding encoding;
    struct fis_criteria criteria; /* but for the seed, which is the head's */
    uint32_t capacity;            /* records in a batch */
};

struct scoring_batch {
    uint32_t n;
    struct wire_message *messages; /* [capacity], filled by the caller */
    /* [capacity], filled by the caller with WIRE_REGISTRY, else NULL. NULL for a value whose schema
     * cannot be had: its error is filled in. */
    const struct wire_format **formats;
    /* Results, by message: */
    enum wire_decoded *status;
    struct wire_record **records; /* of WIRE_OK; each has room for its own id, and no longer one */
    struct fis_error *errors;     /* of WIRE_BAD */
    uint32_t *row;                /* of scores, when WIRE_OK */
    /* By row: */
    uint32_t rows, d;
    float *scores;   /* [rows][FIS_MAX_CRITERIA], see fis_criteria_batch */
    uint64_t unseen; /* sum over the records */
    uint64_t head_version;
    /* How a sample of the rows is distributed, at most SCORING_SAMPLE of them, evenly spread; NULL
     * when the head does not tell of the initial set. */
    struct fis_profile *sample;

    const struct scoring_options *options;
    char *room;                /* the records, one behind the other */
    struct scoring_head *head; /* of the run */
    float floors[FIS_MAX_CRITERIA];
    struct fis_scratch *scratch;
    struct fis_shape shape;
    float *x; /* [a block's rows][d]; behind them one row more */
    /* The block's rows, as struct fis_sparse has them, when `listed`: instead of x. */
    uint32_t *from, *index;
    float *value;
    bool listed;
    struct fis_arena arena;
    struct wire_bytes text; /* WIRE_REGISTRY: the message decoded last, as JSON in the arena */
};

int scoring_batch_init(struct scoring_batch *b, const struct scoring_options *o,
                       struct fis_error *e) FIS_MUST_CHECK;
void scoring_batch_done(struct scoring_batch *b);

/* By what records are scored, for people: "fis+"; "fis, strategy 1, pool". Scorers and trainer must
 * have it in common: scores of different kinds cannot be ranked. Returns out. */
#define SCORING_ALGORITHM 64
char *scoring_algorithm(const struct fis_criteria *c, bool pool, char out[SCORING_ALGORITHM]);

/* The head's selection, or ours where it does not have it, is in force. True: the two differ, and
 * `text` says in what, for people. */
#define SCORING_DIFFERENCE 160
bool scoring_selection(struct wire_head *head, const struct wire_selection *ours,
                       char text[SCORING_DIFFERENCE]);

/* For a run with the head. floors: what a record must reach to be requested (fis_criteria_batch);
 * NULL: all scores are. Makes room for the head's shape, when it changed: the one place that
 * allocates. */
int scoring_batch_prepare(struct scoring_batch *b, struct scoring_head *head, const float *floors,
                          struct fis_error *e) FIS_MUST_CHECK;

/* Decodes and scores messages[0..n) with the prepared head; a record whose score is no number is
 * WIRE_BAD. */
void scoring_run(struct scoring_batch *b);

/* A message that was WIRE_OK, as a candidate; it points into the batch, until the next call or run.
 * Its features are encoded again: few are needed, and to keep all of them would cost more than the
 * scoring of many. */
struct wire_candidate scoring_candidate(struct scoring_batch *b, uint32_t i);

/* What of a message's value is looked at first is asked of memory, to be there in time: it was
 * written by another processor, or long ago. */
#define SCORING_FETCH_BYTES 512
static inline void scoring_fetch(const struct wire_message *m)
{
    for (size_t at = 0; at < m->value.length && at < SCORING_FETCH_BYTES; at += 64)
        __builtin_prefetch((const char *)m->value.data + at);
}

/* Its scores [FIS_MAX_CRITERIA], until the next run. */
static inline const float *scoring_scores(const struct scoring_batch *b, uint32_t i)
{
    return b->scores + (size_t)b->row[i] * FIS_MAX_CRITERIA;
}

#endif

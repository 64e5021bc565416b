/* Inside the lab's engine: engine.c (life and course), engine_session.c (the trainer's session and
 * its ports), engine_scorer.c (the scorer role, and the pool as its records). */
#ifndef LAB_ENGINE_IMPL_H
#define LAB_ENGINE_IMPL_H

#include "lab/engine.h"
#include "role/scorer.h"
#include "session/session.h"
#include "wire/chunk.h"

#define LAB_ENGINE_ROUND_MS UINT64_C(3600000) /* with `delay`: a round's deadline */

struct lab_answer {
    uint32_t place; /* in the pool */
    uint64_t at_ms;
};

struct lab_engine {
    struct lab_run *r;
    struct fis_column *columns;
    char (*names)[12], (*ids)[12]; /* of columns; of the pool's records: their places */
    struct wire_schema schema;
    struct trainer_time now;
    struct fis_error failed; /* of a call that returns nothing */

    struct scorer *scorer;
    struct scoring_options scoring;
    struct scoring_batch batch;
    struct scoring_head *head;
    struct wire_assembler *assembler;
    struct fis_criteria criteria;
    bool enough;
    uint32_t most;               /* records of a batch */
    float *images;               /* [most][d], of a batch; NULL: rows are where they lie */
    uint32_t next, end;          /* of the records: the next one to be read */
    uint32_t window, window_all; /* one pass: records of a window; and of the pool for it */
    uint8_t *in_scan;            /* [n_pool], of a sampled pool; else NULL */
    uint32_t *order;             /* [n_pool] for samples */

    struct session *session;
    float *initial_x; /* gathered, [n_initial][d] */
    uint32_t *initial_y;
    uint32_t n_validation;
    bool end_due[SESSION_READERS], validated;
    bool rounds;                /* there are rounds after the warm-up */
    bool job_due, ends_asked;   /* by the session, since its last turn began */
    bool moved;                 /* it read or requested something, or a job ran */
    struct byte_buffer offers;  /* candidates: messages of the last batch, each behind its size */
    size_t offers_read;         /* bytes of them */
    int64_t offers_offset;      /* of the next message */
    struct byte_buffer label;   /* the message at hand */
    struct lab_answer *answers; /* [n_pool], by time; those before `answered` were read */
    uint32_t n_answers, answered;
};

/* rc < 0: the run ends with the first *e. */
void lab_engine_note_failure(struct lab_engine *g, int rc, const struct fis_error *e);

/* ---- engine_scorer.c */
int lab_engine_pool(struct lab_engine *g, struct fis_error *e) FIS_MUST_CHECK;
int lab_engine_scorer(struct lab_engine *g, struct fis_error *e) FIS_MUST_CHECK;
void lab_engine_scorer_done(struct lab_engine *g);
/* A chunk of a head. */
int lab_engine_head(struct lab_engine *g, struct wire_bytes chunk,
                    struct fis_error *e) FIS_MUST_CHECK;
/* Scores a batch and offers the best of it, if there is anything to read: up to the end of the
 * window, or of the pool. The session has read all offers. */
bool lab_engine_read_batch(struct lab_engine *g);

/* ---- engine_session.c */
/* The session leads, and its role waits for the warm-up's job. */
int lab_engine_session(struct lab_engine *g, const struct trainer_role_options *o,
                       struct fis_error *e) FIS_MUST_CHECK;
void lab_engine_session_done(struct lab_engine *g);
void lab_engine_offer(struct lab_engine *g, const struct wire_offer *offer);

#endif

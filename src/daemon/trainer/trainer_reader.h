/*
 * What the trainer reads of candidates, labels and control: each message once, in the order of its
 * partition, and as far as the role wants it. A command that needs a version of the models topic
 * holds up the rest until that has been fetched. What a topic has lost is told to the role.
 *
 * Commands have a consumer of their own, and come first: nothing else is handed over before every
 * partition of control was read to its end once, so that a pause holds that was sent while no
 * trainer ran.
 *
 * Thread: the loop. Owns: the consumers, what was read and not handed over yet, and the places.
 */
#ifndef DAEMON_TRAINER_READER_H
#define DAEMON_TRAINER_READER_H

#include "daemon/trainer/intake.h"
#include "daemon/context/lags.h"
#include "daemon/trainer/trainer_input.h"
#include "daemon/trainer/version_fetch.h"

enum { TRAINER_CANDIDATES, TRAINER_LABELS, TRAINER_CONTROL, TRAINER_VALIDATION, TRAINER_INPUTS };

struct trainer_source {
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    uint32_t first; /* its first topic */
    uint32_t taken; /* messages of the batch that were handed over */
};

struct trainer_reader {
    struct context *ctx;
    struct outbox *outbox;
    const char *group;
    const char *topics[TRAINER_INPUTS];
    struct trainer_source commands, rest; /* validation is read by another */
    bool commands_ended;                  /* the consumer has seen the ends */
    bool informed;                        /* and all before them was handed over */
    bool waiting;                         /* the next command waits for a version */
    struct intake intake;
    struct trainer_input input;
    struct fis_arena arena;
    struct version_fetch *fetch;
    uint64_t labels_lost; /* not told to the role yet */
    bool candidates_lost;
    uint64_t commit_again_ms, opened_ms;
    bool waiting_said;
};

/* The outbox, runtime and group's name are borrowed. trainer_reader_done in any case. */
int trainer_reader_init(struct trainer_reader *r, struct context *ctx, struct outbox *outbox,
                        const char *group, struct fis_error *e) FIS_MUST_CHECK;
void trainer_reader_done(struct trainer_reader *r);
/* Begins to read where the group's last transaction ended. */
int trainer_reader_open(struct trainer_reader *r, struct fis_error *e) FIS_MUST_CHECK;

/* Hands over what has arrived, until the role is due for a job: a burst of labels is taken in the
 * same steps as a trickle. *all: there is nothing left to hand over, or the role must act. */
int trainer_reader_turn(struct trainer_reader *r, struct trainer_role *role, bool *all,
                        struct fis_error *e) FIS_MUST_CHECK;
/* The role knows every command that was there at the start: before that it must not act. */
bool trainer_reader_informed(const struct trainer_reader *r);
/* Messages lie here that could be handed over at once. */
bool trainer_reader_left(const struct trainer_reader *r);
/* While it waits for the ends of control for long: people are told. About once a second. */
void trainer_reader_tick(struct trainer_reader *r, uint64_t now_ms);
/* Serves the consumers, and takes nothing. */
void trainer_reader_poll(struct trainer_reader *r);
int trainer_reader_events(struct trainer_reader *r, struct fis_error *e) FIS_MUST_CHECK;
/* Where it is in each partition, n at most; returns how many. */
uint32_t trainer_reader_lags(const struct trainer_reader *r, struct lag *lags, uint32_t n);

/* `arg` is the reader: the validation topic is read by another consumer. */
int trainer_reader_validation_moved(void *arg, int32_t partition, int64_t next,
                                    struct fis_error *e) FIS_MUST_CHECK;
/* How far the input was taken, to the outbox, whose commit takes it along. */
int trainer_reader_tell(struct trainer_reader *r, uint64_t now_ms,
                        struct fis_error *e) FIS_MUST_CHECK;

#endif

/*
 * Inside stream/: the consumer's state, shared by its parts: consumer.c (life, reading),
 * close.c (the end of it), assignment.c (owned partitions, rebalances), reader.c (assign modes),
 * reset.c (offsets that are gone, ends that are asked for), probe.c (topics that were recreated)
 * and steer.c (pausing, seeking, committing).
 *
 * Two queues. `events` is librdkafka's own for this client: rebalances, commit results, errors.
 * `data` is ours: the partitions' fetch queues are forwarded to it. So events are served without
 * taking messages, and holding messages back costs nothing.
 */
#ifndef STREAM_CONSUMER_IMPL_H
#define STREAM_CONSUMER_IMPL_H

#include "stream/probe.h"
#include "stream/client.h"
#include "stream/consumer.h"
#include "stream/ends.h"
#include "stream/refill.h"

/* How far a partition was read, and what there is to tell about it. */
struct stream_position {
    int64_t next;     /* -1: nothing read and the end not seen yet */
    int64_t goal;     /* of to_end; -1: not known yet */
    int64_t begin;    /* known with the goal, else -1 */
    int64_t expected; /* gone: what should have come next, -1 unknown; then the RESET's */
    int64_t first, lost, eof_offset;
    bool ended;     /* the goal was reached */
    bool held;      /* paused by itself */
    bool unsettled; /* nothing came since it was started: see stream_consumer_forward */
    bool gone;      /* its offset is: the ends are being asked for */
    bool recreated;
    bool stable_end;          /* `next` is the end of what is stable; the goal may be further */
    int64_t blocked_at;       /* where that was reported last; -1: not yet */
    bool reset, eof, blocked; /* events to be reported */
    struct stream_mark last, probe; /* of what was read; see probe.h */
};

struct stream_reader;

struct stream_consumer {
    struct stream_link link; /* first: it is the opaque of rk */
    rd_kafka_t *rk;
    rd_kafka_queue_t *events, *data;
    rd_kafka_queue_t *leaving; /* close.c's */
    char **topics;
    uint32_t topic_count;
    char *group;
    bool stored, election, rewind, latest, eofs;
    stream_revoke_fn *on_revoke;
    void *revoke_arg;
    bool closing;
    int patience_ms; /* of the close: to leave the group */
    bool sticky;     /* by a cooperative strategy */
    bool placed;     /* the group has dealt out partitions, once at least */

    struct stream_partition *owned;
    struct stream_position *positions; /* beside owned */
    uint32_t owned_count, owned_room;
    uint32_t last;                    /* where the last message's partition was found in owned */
    const rd_kafka_topic_t *last_rkt; /* of the last message of this read, */
    uint32_t last_topic;              /* and its index */

    bool assigned, revoked, lost, end, end_reported; /* events to be reported */
    bool news;                                       /* a position may have something to tell */
    bool gone;                                       /* one of them is */
    bool unsettled;                                  /* one of them may be */
    bool to_end;                                     /* ends are needed */
    bool goals;                                      /* the question that runs is for them */
    bool again;         /* it was asked before: a goal may only come nearer */
    int64_t blocked_ms; /* since when a goal is not reached for no message is there; 0: none */
    struct stream_errors errors;
    struct stream_reader *reader; /* assign modes */
    struct stream_ends ends;
    struct stream_refill refill;
    struct stream_probes probes;
};

/* The index of a topic's name, or topic_count. */
uint32_t stream_consumer_topic(const struct stream_consumer *c, const char *name);
/* The index in owned, or owned_count. */
uint32_t stream_consumer_find(struct stream_consumer *c, uint32_t topic, int32_t partition);
/* Adds to owned; false when memory is refused. */
bool stream_consumer_own(struct stream_consumer *c, uint32_t topic, int32_t partition);
/* Takes librdkafka's events: rebalances, errors, ends of commits. */
void stream_consumer_serve(struct stream_consumer *c);
/* Reports what librdkafka says of itself. */
void stream_consumer_failed(struct stream_consumer *c, rd_kafka_resp_err_t err, const char *where,
                            const char *text);

/* The fetch queue goes to our data queue before fetching starts, or the first messages would land
 * among the events. librdkafka ends it with every stop, which may come a little after our asking,
 * so it is set again until something comes. What is queued meanwhile moves along. */
void stream_consumer_forward(struct stream_consumer *c, const char *topic, int32_t partition);
/* What has no offset of its own starts here. */
int64_t stream_consumer_start(const struct stream_consumer *c);
bool stream_consumer_cooperative(const struct stream_consumer *c);

/* Assign modes: END, when every partition has reached its goal. */
void stream_consumer_check_end(struct stream_consumer *c);
/* librdkafka cannot go on with a partition: at `expected`, or at all when it is negative. */
void stream_reset_noticed(struct stream_consumer *c, uint32_t i, int64_t expected);
/* Partition i is another topic's now: it is read from its beginning. */
void stream_reset_recreated(struct stream_consumer *c, uint32_t i);
/* From read: asks for ends, takes the answers, starts partitions again. True: some were, and their
 * RESETs are to be reported before anything that comes from there. */
bool stream_reset_serve(struct stream_consumer *c);

void stream_consumer_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                               rd_kafka_topic_partition_list_t *list, void *opaque);

/* Assign mode: finds the partitions on a thread of its own, then read starts them. */
int stream_reader_new(struct stream_reader **out, struct stream_consumer *c,
                      struct fis_error *e) FIS_MUST_CHECK;
/* From read, in the owner's thread: starts what was found, takes the errors. */
void stream_reader_serve(struct stream_reader *r, struct stream_consumer *c);
/* Starts partition i of owned at an offset. */
void stream_reader_restart(struct stream_reader *r, struct stream_consumer *c, uint32_t i,
                           int64_t offset);
void stream_reader_quiet(struct stream_reader *r); /* joins the thread */
/* Stops the partitions, after that. */
void stream_reader_stop(struct stream_reader *r, const struct stream_consumer *c);
void stream_reader_free(struct stream_reader *r);

#endif

/*
 * Reading topics from their beginning, one message after another, without a consumer group.
 * Thread: one owner. Owns: consumer and batch.
 */
#ifndef CLI_TOPIC_READER_H
#define CLI_TOPIC_READER_H

#include "binding/binding.h"
#include "cli/cli.h"

struct topic_reader {
    struct cli *cli;
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    uint32_t at;
    bool ended;            /* everything that was there at the start has been given */
    struct fis_error last; /* the newest passing trouble (RETRY), class FIS_OK when none */
};

int topic_reader_open(struct topic_reader *r, struct cli *c, const char *const *topics,
                      uint32_t count, struct fis_error *e) FIS_MUST_CHECK;
/* The same for what comes from now on. */
int topic_reader_open_latest(struct topic_reader *r, struct cli *c, const char *const *topics,
                             uint32_t count, struct fis_error *e) FIS_MUST_CHECK;
/* 1: *m is the next message, a view that lives until the next call. 0: none within the time, or
 * `ended` has just become true, or it is time to stop. Negative: the reader is broken. */
int topic_reader_next(struct topic_reader *r, int timeout_ms, struct stream_message *m,
                      struct fis_error *e) FIS_MUST_CHECK;
void topic_reader_close(struct topic_reader *r); /* fine when it was never opened */

/* What it returns, if not 0, ends the reading and comes back. */
typedef int topic_take_fn(void *arg, const struct stream_message *m, struct fis_error *e);
/* Gives `take` every message up to the end. RETRY: interrupted, or nothing came: for 15 s from a
 * broker that answers, for cli_answer_ms from one that does not; its text begins with `what`. */
int topic_reader_to_end(struct topic_reader *r, const char *what, topic_take_fn *take, void *arg,
                        struct fis_error *e) FIS_MUST_CHECK;
/* The same for every message that is there now. */
int topic_reader_all(struct cli *c, const char *topic, topic_take_fn *take, void *arg,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif

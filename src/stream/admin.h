/* Inside stream/: one admin request and its answer. */
#ifndef STREAM_ADMIN_H
#define STREAM_ADMIN_H

#include "stream/client.h"
#include "stream/topics.h"

struct stream_admin {
    struct stream_link link; /* first: it is the opaque of rk */
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    bool moved; /* a leader or coordinator: another try, by a client of its own, may succeed */
    int timeout_ms;
    int64_t deadline; /* of the question that is asked now: CLOCK_MONOTONIC, ms */
};

int stream_admin_open(struct stream_admin *a, const struct stream_client *client, int timeout_ms,
                      struct fis_error *e) FIS_MUST_CHECK;
/* One that is answered the high watermark for the end of a partition, not the last stable offset. */
int stream_admin_open_uncommitted(struct stream_admin *a, const struct stream_client *client,
                                  int timeout_ms, struct fis_error *e) FIS_MUST_CHECK;
void stream_admin_close(struct stream_admin *a);
/* Metadata of a topic, asked for again until a broker answers; NULL: of the brokers alone. *out is
 * the caller's to rd_kafka_metadata_destroy. RETRY: no broker in time; the text begins with
 * `what`. */
int stream_admin_metadata(struct stream_admin *a, rd_kafka_topic_t *topic, const char *what,
                          const struct rd_kafka_metadata **out,
                          struct fis_error *e) FIS_MUST_CHECK;
/* Whether admin requests can be made at all. 0: yes. STREAM_TOPICS_UNSUPPORTED: this is an embedded
 * broker. RETRY: no broker in time, or none that knows the controller (it has just started). */
int stream_admin_ready(struct stream_admin *a, struct fis_error *e) FIS_MUST_CHECK;
/* ms of the question that is asked now, at least 1. An answer begins the time of the next one: a
 * broker that is slow is waited for as long as it answers. */
int stream_admin_left(const struct stream_admin *a);
void stream_admin_answered(struct stream_admin *a);
/* Before another try: false when no time is left. */
bool stream_admin_pause(const struct stream_admin *a);

/* Options with what is left of the time for a request of this kind. */
rd_kafka_AdminOptions_t *stream_admin_options(const struct stream_admin *a, rd_kafka_admin_op_t op);

/* A topic's answer that another try may change: the controller did not manage it in time, or has
 * moved. */
bool stream_admin_passes(rd_kafka_resp_err_t err);

/* Waits for the answer of a request that was sent. 0: *out is the caller's to destroy. The
 * broker does not know the request: STREAM_TOPICS_UNSUPPORTED. RETRY: no broker in time. */
int stream_admin_wait(struct stream_admin *a, const char *what, rd_kafka_event_t **out,
                      struct fis_error *e) FIS_MUST_CHECK;

/* Settings of all these topics, by one request. 0 also where a broker refuses to describe them:
 * look at `known`. STREAM_TOPICS_UNSUPPORTED. RETRY: no broker in time. */
int stream_topics_describe(struct stream_admin *a, const char *const *names, size_t count,
                           struct stream_topic_settings *out, struct fis_error *e) FIS_MUST_CHECK;

#endif

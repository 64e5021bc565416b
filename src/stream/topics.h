/*
 * Topics: create those that are missing, say how those that exist differ from what is needed,
 * and how far a consumer group is behind. Blocking, for the command line or a thread of its own.
 * Thread: safe; every call makes and ends its own client.
 */
#ifndef STREAM_TOPICS_H
#define STREAM_TOPICS_H

#include "stream/conf.h"

enum stream_cleanup { STREAM_CLEANUP_ANY, STREAM_CLEANUP_DELETE, STREAM_CLEANUP_COMPACT };

struct stream_topic {
    const char *name;
    int32_t partitions;  /* create: -1 is the broker's default. check: -1 is any */
    int16_t replication; /* create: -1 is the broker's default. Not checked */
    enum stream_cleanup cleanup;
    bool broker_time; /* create: the broker stamps messages, whatever the writer's clock says. Not
                         checked */
    int64_t max_message_bytes;            /* create: 0 is the broker's default. Not checked */
    const struct stream_property *config; /* more topic configuration, for create */
    size_t config_count;
};

/* Returned when the broker cannot do this (the embedded one): nothing was done, carry on. */
#define STREAM_TOPICS_UNSUPPORTED 1

#define STREAM_TOPIC_TEXT 200

struct stream_topic_report {
    bool exists;
    bool created;                 /* by this call */
    bool differs;                 /* check: what exists is not what is needed */
    int32_t partitions;           /* check: what is there; 0 when it does not exist */
    char text[STREAM_TOPIC_TEXT]; /* one line, "" when all is well */
};

/* Creates what is missing; a topic that exists is left alone. One report per topic, also on
 * failure as far as known. RETRY: no broker in time. FATAL: the broker refused (text names the
 * first topic). */
int stream_topics_create(const struct stream_client *client, const struct stream_topic *topics,
                         size_t count, int timeout_ms, struct stream_topic_report *reports,
                         struct fis_error *e) FIS_MUST_CHECK;

/* Compares partitions and cleanup.policy. 0 also when they differ: read the reports.
 * STREAM_TOPICS_UNSUPPORTED: partitions were compared, cleanup.policy could not be. */
int stream_topics_check(const struct stream_client *client, const struct stream_topic *topics,
                        size_t count, int timeout_ms, struct stream_topic_report *reports,
                        struct fis_error *e) FIS_MUST_CHECK;

/* max.message.bytes of each topic; 0 where it cannot be known: no such topic, asking is not
 * allowed, an embedded broker. RETRY: no broker in time. */
int stream_topics_limits(const struct stream_client *client, const char *const *names, size_t count,
                         int timeout_ms, int64_t *limits, struct fis_error *e) FIS_MUST_CHECK;

/* Messages that the group has not committed yet in the topic: sum over partitions of end -
 * committed (or - beginning, when nothing is committed). Asks the broker. */
int stream_group_lag(const struct stream_client *client, const char *group, const char *topic,
                     int timeout_ms, int64_t *lag, struct fis_error *e) FIS_MUST_CHECK;

/* What a partition holds: offsets `low` to `high` - 1, as a read_committed reader sees it (an open
 * transaction and what is behind it are not counted). */
struct stream_end {
    int32_t partition;
    int64_t low, high;
};

/* The ends of all partitions of a topic, by partition; *ends is the caller's to fis_free. RETRY: no
 * broker in time, or no such topic. */
int stream_topic_ends(const struct stream_client *client, const char *topic, int timeout_ms,
                      struct stream_end **ends, uint32_t *count,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif

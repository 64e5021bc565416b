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
    bool state;       /* check: it holds a memory, which compaction alone keeps */
    bool ordered;     /* check: its order counts, so one partition is used */
    bool keyless;     /* check: messages without a key come to it; a compacted topic refuses them */
    bool broker_time; /* create: the broker stamps messages, whatever the writer's clock says. Not
                         checked */
    bool brief;       /* create: kept for ten minutes, whatever the broker's default. Not checked */
    int64_t max_message_bytes;            /* create: 0 is the broker's default. check: at least */
    const struct stream_property *config; /* more topic configuration, for create */
    size_t config_count;
};

/* Returned when the broker cannot do this (the embedded one): nothing was done, carry on. */
#define STREAM_TOPICS_UNSUPPORTED 1

#define STREAM_TOPIC_TEXT 200

/* How a topic is kept, as the broker describes it. Retention: -1 is without end. */
struct stream_topic_settings {
    bool known;       /* else `why` not: no such topic, no right to ask, an embedded broker */
    char cleanup[32]; /* cleanup.policy, as it is written: "compact", "compact,delete" … */
    int64_t retention_ms, retention_bytes;
    int64_t max_message_bytes;
    int32_t min_insync; /* replicas that must have what is acknowledged */
    bool broker_time;   /* the broker stamps what is written */
    char why[FIS_ERROR_TEXT];
};
/* Messages are deleted by age or size, whatever their keys. */
bool stream_topic_deletes(const struct stream_topic_settings *s);

struct stream_topic_report {
    bool exists;
    bool missing;                      /* check: a broker answers that there is no such topic */
    bool denied;                       /* check: this principal may not even ask */
    bool created;                      /* by this call */
    bool seen;                         /* check: it existed when it was created or looked at */
    bool differs;                      /* check: what exists is not what is needed */
    bool loses;                        /* check: what has to stay is deleted in time */
    int32_t partitions;                /* check: what is there; 0 when it does not exist */
    int32_t replicas, in_sync;         /* check: of the partition that has the fewest */
    int32_t leaderless;                /* check: partitions that have no leader now */
    struct stream_topic_settings kept; /* check */
    char text[STREAM_TOPIC_TEXT];      /* one line, "" when all is well */
};

/* The timeouts below are for one question: an answer begins the time of the next, so that a broker
 * that is slow, or has just started, is waited for as long as it answers. */

/* A broker answers in this time. */
bool stream_reachable(const struct stream_client *client, int timeout_ms);

/* Creates what is missing; a topic that exists is left alone. One report per topic, also on
 * failure as far as known. RETRY: no broker in time. FATAL: the broker refused (text names the
 * first topic). */
int stream_topics_create(const struct stream_client *client, const struct stream_topic *topics,
                         size_t count, int timeout_ms, struct stream_topic_report *reports,
                         struct fis_error *e) FIS_MUST_CHECK;

/* Compares partitions, cleanup.policy and max.message.bytes. 0 also when they differ: read the
 * reports. They are all-zero, or those of stream_topics_create: what it made is waited for, since a
 * broker may know of it some time after another. STREAM_TOPICS_UNSUPPORTED: only partitions could
 * be compared. */
int stream_topics_check(const struct stream_client *client, const struct stream_topic *topics,
                        size_t count, int timeout_ms, struct stream_topic_report *reports,
                        struct fis_error *e) FIS_MUST_CHECK;

/* What is wrong with how a topic is kept, the worst first: what a start refuses or warns about. */
enum stream_topic_fault {
    STREAM_TOPIC_WELL,
    STREAM_TOPIC_LOSES,     /* what has to stay is deleted in time: refused */
    STREAM_TOPIC_KEYED,     /* it is compacted, and messages without a key come to it: refused */
    STREAM_TOPIC_UNORDERED, /* more partitions than one, and its order counts: the first is used */
    STREAM_TOPIC_POLICY,    /* another cleanup.policy */
    STREAM_TOPIC_UNKNOWN    /* how a memory is kept cannot be read */
};
enum stream_topic_fault stream_topic_judge(const struct stream_topic *t,
                                           const struct stream_topic_report *r);

/* The command that sets what differs: text of `size`, "" when no setting does. `where`: the
 * brokers' address. */
void stream_topic_command(const struct stream_topic *t, const struct stream_topic_report *r,
                          const char *where, char *text, size_t size);

/* Deletes topics; one that is not there is fine. One report per topic, also on failure: `exists` is
 * what is left, `text` why. STREAM_TOPICS_UNSUPPORTED. RETRY: no broker in time. FATAL: the broker
 * refused (text names the first topic). */
int stream_topics_delete(const struct stream_client *client, const char *const *names, size_t count,
                         int timeout_ms, struct stream_topic_report *reports,
                         struct fis_error *e) FIS_MUST_CHECK;

/* How many members a consumer group has; one that nobody knows has none. One that has gone without
 * a word is counted until its session ends. STREAM_TOPICS_UNSUPPORTED. RETRY. FATAL: refused. */
int stream_group_members(const struct stream_client *client, const char *group, int timeout_ms,
                         uint32_t *members, struct fis_error *e) FIS_MUST_CHECK;
/* Deletes a group without members, and with it what it has committed; one that nobody knows is
 * fine. */
int stream_group_delete(const struct stream_client *client, const char *group, int timeout_ms,
                        struct fis_error *e) FIS_MUST_CHECK;

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

/* What an open transaction hides: messages of a topic behind the last one that a read_committed
 * reader may see, and where that is; sums over partitions. */
struct stream_hidden {
    int64_t stable, hidden;
};
/* Of `count` topics that exist. RETRY: no broker in time. */
int stream_topics_hidden(const struct stream_client *client, const char *const *topics,
                         size_t count, int timeout_ms, struct stream_hidden *out,
                         struct fis_error *e) FIS_MUST_CHECK;

#endif

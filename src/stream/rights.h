/*
 * What a principal may do, asked without doing it: by requests that a broker authorizes first and
 * then refuses for another reason. A write asks for acks=2, which is none of Kafka's; a commit
 * carries more metadata than a group keeps; a transactional id asks for a timeout beyond every
 * limit, so nobody is fenced. Nothing is written. Blocking. Thread: safe; every call makes and ends
 * its own clients.
 */
#ifndef STREAM_RIGHTS_H
#define STREAM_RIGHTS_H

#include "stream/conf.h"

enum stream_may { STREAM_MAY_UNKNOWN, STREAM_MAY, STREAM_MAY_NOT };

struct stream_rights {
    const char *topic;     /* it exists: a question about another might create it */
    bool reading, writing; /* what is asked */
    enum stream_may read, write;
    char why[160]; /* of the last that is not known */
};

/* Asks about all topics at once; what has no answer in time stays unknown. INPUT: a client cannot
 * be made of the properties. */
int stream_rights_topics(const struct stream_client *client, struct stream_rights *topics,
                         size_t count, int timeout_ms, struct fis_error *e) FIS_MUST_CHECK;

/* Whether the group's offsets of a topic may be committed. */
int stream_right_group(const struct stream_client *client, const char *group, const char *topic,
                       int timeout_ms, enum stream_may *may, struct fis_error *e) FIS_MUST_CHECK;

/* Whether transactions may be begun under this id. */
int stream_right_transactions(const struct stream_client *client, const char *id, int timeout_ms,
                              enum stream_may *may, struct fis_error *e) FIS_MUST_CHECK;

#endif

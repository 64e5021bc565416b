/* What the tests on a real broker share; see test_kafka.c. */
#ifndef TESTS_KIT_STREAM_REAL_KAFKA_H
#define TESTS_KIT_STREAM_REAL_KAFKA_H

#include "kit/stream/embedded_kit.h"

#include "stream/topics.h"
#include "stream/txn_thread.h"

/* The least that a broker allows by default. */
#define REAL_SESSION                                                                               \
    {                                                                                              \
        "session.timeout.ms", "6000"                                                               \
    }

const char *broker(void);

/* A name that no other run has used. */
const char *fresh(char name[64], const char *what);

void make_topic(const char *at, const char *name, int32_t partitions, enum stream_cleanup cleanup);

/* A transactional producer with its thread, polled until its job is done. */
struct txn {
    struct stream_producer *p;
    struct stream_txn_thread *t;
};

struct stream_txn_result txn_wait(struct txn *x);

void txn_open(struct txn *x, const char *at, const char *id);

void txn_close(struct txn *x);

void txn_send(struct txn *x, const char *topic, unsigned number);

#endif

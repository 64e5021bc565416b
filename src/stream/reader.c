/*
 * Assign mode. librdkafka tells a topic's partitions only by a blocking call, so a short-lived
 * thread asks, until every topic is there; the owner's next read starts the partitions. The old
 * consumer calls are used (rd_kafka_consume_start_queue): they need no group and no coordinator.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "fis/mem.h"
#include "stream/consumer_impl.h"

#define ASK_TIMEOUT_MS 500
#define ASK_PAUSE_NS (200 * 1000 * 1000)
#define SAY_AGAIN_S 10

struct stream_reader {
    rd_kafka_t *rk;
    const struct stream_link *link;
    rd_kafka_topic_t **topics;
    int *partitions; /* 0: not known yet */
    uint32_t count;
    pthread_t thread;
    bool thread_made;
    bool told; /* the owner has seen `found` */

    /* What the thread said last, so that it does not say it five times a second. */
    uint32_t said_topic;
    rd_kafka_resp_err_t said;
    time_t said_at;

    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop, found;            /* under lock */
    struct stream_errors errors; /* under lock */
};

/* Reports that a topic cannot be read yet, when that is news or long ago. */
static void say(struct stream_reader *r, uint32_t i, rd_kafka_resp_err_t err)
{
    struct timespec now;
    char text[FIS_ERROR_TEXT];
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (r->said_at && r->said == err && r->said_topic == i &&
        now.tv_sec - r->said_at < SAY_AGAIN_S) {
        return;
    }
    r->said = err;
    r->said_topic = i;
    r->said_at = now.tv_sec ? now.tv_sec : 1;
    snprintf(text, sizeof text, "kafka topic \"%s\": %s; waiting for it",
             rd_kafka_topic_name(r->topics[i]),
             err ? rd_kafka_err2str(err) : "it has no partitions yet");
    pthread_mutex_lock(&r->lock);
    stream_errors_push(&r->errors, FIS_RETRY, text);
    pthread_mutex_unlock(&r->lock);
    if (r->link->wake) {
        r->link->wake(r->link->wake_arg);
    }
}

/* Partitions of one topic, 0 when it cannot be told now. */
static int ask(struct stream_reader *r, uint32_t i)
{
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(r->rk, 0, r->topics[i], &m, ASK_TIMEOUT_MS);
    int partitions = 0;
    if (!err && m->topic_cnt == 1) {
        err = m->topics[0].err;
        partitions = err ? 0 : m->topics[0].partition_cnt;
    }
    if (m) {
        rd_kafka_metadata_destroy(m);
    }
    if (partitions == 0) {
        say(r, i, err);
    }
    return partitions;
}

/* Waits a little; true when it is time to stop. */
static bool pause_or_stop(struct stream_reader *r)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ASK_PAUSE_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&r->lock);
    while (!r->stop && pthread_cond_timedwait(&r->stopped, &r->lock, &until) == 0) {
    }
    bool stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    return stop;
}

static void *find_partitions(void *arg)
{
    struct stream_reader *r = arg;
    uint32_t known = 0;
    while (known < r->count) {
        r->partitions[known] = ask(r, known);
        if (r->partitions[known] > 0) {
            known++;
            continue;
        }
        if (pause_or_stop(r)) {
            return NULL;
        }
    }
    pthread_mutex_lock(&r->lock);
    r->found = true;
    pthread_mutex_unlock(&r->lock);
    if (r->link->wake) {
        r->link->wake(r->link->wake_arg);
    }
    return NULL;
}

static bool init_sync(struct stream_reader *r)
{
    pthread_condattr_t attr;
    bool ok = pthread_mutex_init(&r->lock, NULL) == 0 && pthread_condattr_init(&attr) == 0;
    if (ok) {
        ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
             pthread_cond_init(&r->stopped, &attr) == 0;
        pthread_condattr_destroy(&attr);
    }
    return ok;
}

int stream_reader_new(struct stream_reader **out, struct stream_consumer *c, struct fis_error *e)
{
    struct stream_reader *r = fis_calloc(1, sizeof *r);
    if (!r) {
        return fis_fail(e, FIS_NOMEM, "kafka reader: out of memory");
    }
    r->rk = c->rk;
    r->link = &c->link;
    r->topics = fis_calloc(c->topic_count, sizeof(rd_kafka_topic_t *));
    r->partitions = fis_calloc(c->topic_count, sizeof *r->partitions);
    if (!r->topics || !r->partitions || !init_sync(r)) {
        fis_free(r->topics);
        fis_free(r->partitions);
        fis_free(r);
        return fis_fail(e, FIS_NOMEM, "kafka reader: out of memory");
    }
    for (; r->count < c->topic_count; r->count++) {
        r->topics[r->count] = rd_kafka_topic_new(c->rk, c->topics[r->count], NULL);
        if (!r->topics[r->count]) {
            int rc = fis_fail(e, FIS_INPUT, "kafka topic \"%s\": %s", c->topics[r->count],
                              rd_kafka_err2str(rd_kafka_last_error()));
            stream_reader_free(r);
            return rc;
        }
    }
    if (pthread_create(&r->thread, NULL, find_partitions, r) != 0) {
        stream_reader_free(r);
        return fis_fail(e, FIS_FATAL, "kafka reader: a thread cannot be started");
    }
    r->thread_made = true;
    *out = r;
    return 0;
}

static void start_all(struct stream_reader *r, struct stream_consumer *c)
{
    for (uint32_t t = 0; t < r->count; t++) {
        for (int32_t p = 0; p < r->partitions[t]; p++) {
            if (!stream_consumer_own(c, t, p)) {
                stream_errors_push(&c->errors, FIS_FATAL,
                                   "kafka consumer: out of memory for the "
                                   "partitions");
                return;
            }
            if (rd_kafka_consume_start_queue(r->topics[t], p, RD_KAFKA_OFFSET_BEGINNING, c->data) !=
                0) {
                rd_kafka_resp_err_t err = rd_kafka_last_error();
                c->owned_count--;
                stream_consumer_failed(c, err, "start", rd_kafka_err2str(err));
                return;
            }
        }
    }
    c->assigned = true;
}

void stream_reader_serve(struct stream_reader *r, struct stream_consumer *c)
{
    if (r->told) {
        return;
    }
    struct fis_error e;
    pthread_mutex_lock(&r->lock);
    while (stream_errors_pop(&r->errors, &e)) {
        stream_errors_push(&c->errors, e.class, e.text);
    }
    r->told = r->found;
    pthread_mutex_unlock(&r->lock);
    if (r->told) {
        start_all(r, c);
    }
}

void stream_reader_stop(struct stream_reader *r, const struct stream_consumer *c)
{
    if (r->thread_made) {
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_cond_signal(&r->stopped);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        r->thread_made = false;
    }
    for (uint32_t i = 0; i < c->owned_count; i++) {
        rd_kafka_consume_stop(r->topics[c->owned[i].topic], c->owned[i].partition);
    }
}

void stream_reader_free(struct stream_reader *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        rd_kafka_topic_destroy(r->topics[i]);
    }
    pthread_cond_destroy(&r->stopped);
    pthread_mutex_destroy(&r->lock);
    fis_free(r->topics);
    fis_free(r->partitions);
    fis_free(r);
}

/*
 * Assign mode. librdkafka tells a topic's partitions only by a blocking call, so a short-lived
 * thread asks, until every topic is there; the owner's next read starts the partitions. It asks
 * again every topic.metadata.refresh.interval.ms, as a member of a group does: partitions that were
 * added are read from their beginning. The old consumer calls are used
 * (rd_kafka_consume_start_queue): they need no group and no coordinator.
 */
#include <stdio.h>

#include "fis/mem.h"
#include "stream/consumer_impl.h"

struct stream_reader {
    struct stream_helper helper;
    rd_kafka_t *rk;
    rd_kafka_topic_t **topics;
    int *partitions; /* the thread's; 0: not known yet */
    int *started;    /* the owner's */
    uint32_t count;
    int64_t again_ms, interval_ms; /* when it asks again; interval 0: never */
};

static void say(struct stream_reader *r, uint32_t i, rd_kafka_resp_err_t err)
{
    char text[FIS_ERROR_TEXT];
    snprintf(text, sizeof text, "kafka topic \"%s\": %s; waiting for it",
             rd_kafka_topic_name(r->topics[i]),
             err ? rd_kafka_err2str(err) : "it has no partitions yet");
    stream_helper_say(&r->helper, (uint64_t)(err + 1000) << 32 | i, text);
}

/* Partitions of one topic, 0 when it is not known now. */
static int ask(struct stream_reader *r, uint32_t i)
{
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(r->rk, 0, r->topics[i], &m, STREAM_HELPER_ASK_MS);
    int partitions = 0;
    if (!err && m->topic_cnt == 1) {
        err = m->topics[0].err;
        partitions = err ? 0 : m->topics[0].partition_cnt;
    }
    if (m)
        rd_kafka_metadata_destroy(m);
    if (partitions == 0)
        say(r, i, err);
    return partitions;
}

/* In the thread. */
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
        if (stream_helper_pause(&r->helper))
            return NULL;
    }
    stream_helper_finish(&r->helper);
    return NULL;
}

static void free_lists(struct stream_reader *r)
{
    fis_free(r->topics);
    fis_free(r->partitions);
    fis_free(r->started);
    fis_free(r);
}

int stream_reader_new(struct stream_reader **out, struct stream_consumer *c, struct fis_error *e)
{
    struct stream_reader *r = fis_calloc(1, sizeof *r);
    if (!r)
        return fis_fail(e, FIS_NOMEM, "kafka reader: out of memory");
    r->rk = c->rk;
    r->topics = fis_calloc(c->topic_count, sizeof(rd_kafka_topic_t *));
    r->partitions = fis_calloc(c->topic_count, sizeof *r->partitions);
    r->started = fis_calloc(c->topic_count, sizeof *r->started);
    r->interval_ms = stream_refresh_interval(c->rk);
    if (!r->topics || !r->partitions || !r->started || !stream_helper_init(&r->helper, &c->link)) {
        free_lists(r);
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
    if (!stream_helper_start(&r->helper, find_partitions, r)) {
        stream_reader_free(r);
        return fis_fail(e, FIS_FATAL, "kafka reader: a thread cannot be started");
    }
    *out = r;
    return 0;
}

static bool start(struct stream_reader *r, struct stream_consumer *c, uint32_t topic,
                  int32_t partition)
{
    int64_t offset = c->stored   ? RD_KAFKA_OFFSET_STORED
                     : c->latest ? RD_KAFKA_OFFSET_END
                                 : RD_KAFKA_OFFSET_BEGINNING;
    if (!stream_consumer_own(c, topic, partition)) {
        stream_errors_push(&c->errors, FIS_FATAL,
                           "kafka consumer: out of memory for the partitions");
        return false;
    }
    if (rd_kafka_consume_start_queue(r->topics[topic], partition, offset, c->data) == 0)
        return true;
    rd_kafka_resp_err_t err = rd_kafka_last_error();
    c->owned_count--;
    stream_consumer_failed(c, err, "start", rd_kafka_err2str(err));
    return false;
}

static void start_new(struct stream_reader *r, struct stream_consumer *c)
{
    for (uint32_t t = 0; t < r->count; t++)
        for (; r->started[t] < r->partitions[t]; r->started[t]++) {
            if (!start(r, c, t, r->started[t]))
                return;
            c->assigned = true;
            c->to_end |= !c->end; /* its end belongs to the one that is waited for */
        }
}

void stream_reader_serve(struct stream_reader *r, struct stream_consumer *c)
{
    if (stream_helper_over(&r->helper, &c->errors)) {
        start_new(r, c);
        r->again_ms = stream_now_ms() + r->interval_ms;
    }
    if (!r->helper.running && r->interval_ms && stream_now_ms() >= r->again_ms &&
        !stream_helper_start(&r->helper, find_partitions, r))
        r->again_ms = stream_now_ms() + r->interval_ms; /* no thread now */
}

void stream_reader_restart(struct stream_reader *r, struct stream_consumer *c, uint32_t i,
                           int64_t offset)
{
    rd_kafka_topic_t *topic = r->topics[c->owned[i].topic];
    int32_t partition = c->owned[i].partition;
    if (rd_kafka_consume_stop(topic, partition) != 0 ||
        rd_kafka_consume_start_queue(topic, partition, offset, c->data) != 0) {
        rd_kafka_resp_err_t err = rd_kafka_last_error();
        stream_consumer_failed(c, err, "restart", rd_kafka_err2str(err));
    }
}

void stream_reader_quiet(struct stream_reader *r)
{
    stream_helper_stop(&r->helper);
}

void stream_reader_stop(struct stream_reader *r, const struct stream_consumer *c)
{
    for (uint32_t i = 0; i < c->owned_count; i++)
        rd_kafka_consume_stop(r->topics[c->owned[i].topic], c->owned[i].partition);
}

void stream_reader_free(struct stream_reader *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        rd_kafka_topic_destroy(r->topics[i]);
    stream_helper_done(&r->helper);
    free_lists(r);
}

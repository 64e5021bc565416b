#include "daemon/trainer/kafka_reader.h"

#include "daemon/context/closer.h"
#include "fis/mem.h"
#include "stream/consumer.h"

#define READ_BATCH 512

struct kafka_reader {
    struct context *ctx;
    struct kafka_reader_options o;
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    uint32_t at;              /* messages of the batch that were returned */
    struct fis_error blocked; /* kind RETRY: by what END is held back */
};

static int open_consumer(struct kafka_reader *r, struct fis_error *e)
{
    struct stream_consumer_options o = {
        .client = context_client(r->ctx),
        .group_id = r->o.group,
        .stored = r->o.group != NULL,
        .topics = r->o.topics,
        .topic_count = r->o.n_topics,
    };
    o.client.name = r->o.name;
    return stream_consumer_open(&r->consumer, &o, e);
}

int kafka_reader_open(struct kafka_reader **out, struct context *ctx,
                      const struct kafka_reader_options *o, struct fis_error *e)
{
    struct kafka_reader *r = fis_calloc(1, sizeof *r);
    if (!r)
        return fis_fail(e, FIS_NOMEM, "no memory to read %s", o->topics[0]);
    r->ctx = ctx;
    r->o = *o;
    r->batch = stream_batch_new(READ_BATCH);
    int rc = r->batch ? open_consumer(r, e)
                      : fis_fail(e, FIS_NOMEM, "no memory to read %s", o->topics[0]);
    if (rc < 0) {
        kafka_reader_close(r, 0);
        return rc;
    }
    *out = r;
    return 0;
}

void kafka_reader_close(struct kafka_reader *r, int timeout_ms)
{
    if (!r)
        return;
    stream_batch_free(r->batch);
    stream_consumer_close(r->consumer, timeout_ms);
    fis_free(r);
}

static void end(void *reader)
{
    kafka_reader_close(reader, 0);
}

void kafka_reader_end(struct kafka_reader *r)
{
    if (r)
        closer_take(r->ctx, end, r, NULL, NULL);
}

const char *kafka_reader_waits(const struct kafka_reader *r)
{
    return r && r->blocked.kind ? r->blocked.text : NULL;
}

/* 1: something for the session; 0: nothing; FATAL. */
static int event(struct kafka_reader *r, const struct stream_consumer_event *ev,
                 struct session_input *in, struct fis_error *e)
{
    *in = (struct session_input){.topic = (enum session_topic)(r->o.first + ev->topic)};
    switch (ev->kind) {
    case STREAM_END:
        r->blocked.kind = FIS_OK;
        in->event = SESSION_END;
        in->topic = r->o.first;
        in->first = ev->begin;
        return 1;
    case STREAM_BLOCKED:
        r->blocked = ev->error;
        context_blocked("trainer", &ev->error);
        in->event = SESSION_BLOCKED;
        return 1;
    case STREAM_RESET:
        in->event = SESSION_RESET;
        in->partition = ev->partition;
        in->expected = ev->expected;
        in->first = ev->first;
        in->lost = ev->lost_messages;
        in->recreated = ev->recreated;
        return 1;
    case STREAM_ASSIGNED:
        if (context_same_cluster(r->ctx, r->consumer, e) < 0)
            return -1;
        if (r->o.log_assigned)
            log_line(LOG_LEVEL_INFO, "assigned", "role=trainer partitions=%u topics=%s", ev->owned,
                     r->o.n_topics > 1 ? "candidates,labels" : "control");
        return 0;
    case STREAM_ERROR:
        if (ev->error.kind == FIS_FATAL)
            return fis_fail(e, FIS_FATAL, "%s", ev->error.text);
        if (context_same_cluster(r->ctx, r->consumer, e) < 0)
            return -1;
        context_trouble(r->ctx, "trainer", &ev->error);
        return 0;
    case STREAM_REVOKED:
    case STREAM_EOF:
        return 0;
    }
    return 0;
}

static void give(const struct kafka_reader *r, const struct stream_message *s,
                 struct session_input *in)
{
    *in = (struct session_input){
        .event = SESSION_MESSAGE,
        .topic = (enum session_topic)(r->o.first + s->topic),
        .message = {.topic = r->o.topics[s->topic],
                    .partition = s->partition,
                    .offset = s->offset,
                    .timestamp_ms = s->timestamp_ms,
                    .key = {s->key, s->key_length},
                    .value = {s->value, s->value_length}},
    };
}

static bool give_next(struct kafka_reader *r, struct session_input *in)
{
    if (r->at == r->batch->count)
        return false;
    give(r, &r->batch->messages[r->at++], in);
    return true;
}

static int next_event(struct kafka_reader *r, struct session_input *in, struct fis_error *e)
{
    struct stream_consumer_event ev;
    int rc = 0;
    while (rc == 0 && stream_consumer_event(r->consumer, &ev))
        rc = event(r, &ev, in, e);
    return rc;
}

/* The events of a read come behind its messages, and before the next read. */
int kafka_reader_read(struct kafka_reader *r, struct session_input *in, struct fis_error *e)
{
    if (give_next(r, in))
        return 1;
    int rc = next_event(r, in, e);
    if (rc)
        return rc;
    stream_batch_release(r->batch);
    r->at = 0;
    stream_consumer_read(r->consumer, r->batch, READ_BATCH);
    return give_next(r, in) ? 1 : next_event(r, in, e);
}

void kafka_reader_to_end(struct kafka_reader *r)
{
    stream_consumer_to_end(r->consumer);
}

int64_t kafka_reader_next(struct kafka_reader *r, enum session_topic t)
{
    return stream_consumer_next(r->consumer, (uint32_t)(t - r->o.first), 0);
}

void kafka_reader_poll(struct kafka_reader *r)
{
    if (r)
        stream_consumer_read(r->consumer, r->batch, 0);
}

uint32_t kafka_reader_lags(const struct kafka_reader *r, struct lag *lags, uint32_t n)
{
    return r ? lags_of(r->consumer, "trainer", r->o.topics, lags, n) : 0;
}

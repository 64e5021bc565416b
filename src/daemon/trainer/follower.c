#include "daemon/trainer/follower.h"

#include "daemon/context/closer.h"
#include "fis/mem.h"
#include "stream/consumer.h"

#define READ_BATCH 256
#define BATCHES_A_TURN 16

struct follower {
    struct context *ctx;
    const char *topics[MEMORY_TOPICS];
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    struct memory *memory;
    bool at_end;
};

/* A broker answers a client's requests one after the other: where the ends are is answered behind
 * the fetch that waits for messages, which therefore waits a short time only. */
static int open_consumer(struct follower *f, struct fis_error *e)
{
    struct stream_client client = context_client(f->ctx);
    struct stream_property *all = fis_calloc(client.property_count + 1, sizeof *all);
    if (!all)
        return fis_fail(e, FIS_NOMEM, "no memory to restore");
    all[0] = (struct stream_property){"fetch.wait.max.ms", "100"};
    for (size_t i = 0; i < client.property_count; i++)
        all[i + 1] = client.properties[i]; /* the operator's word comes last, and counts */
    client.properties = all;
    client.property_count++;
    client.name = "memory";
    struct stream_consumer_options o = {
        .client = client, .topics = f->topics, .topic_count = MEMORY_TOPICS};
    int rc = stream_consumer_open(&f->consumer, &o, e);
    fis_free(all);
    return rc;
}

int follower_open(struct follower **out, struct context *ctx, struct fis_error *e)
{
    struct follower *f = fis_calloc(1, sizeof *f);
    if (!f)
        return fis_fail(e, FIS_NOMEM, "no memory to restore");
    f->ctx = ctx;
    f->topics[MEMORY_LEDGER] = ctx->cfg->topics.ledger;
    f->topics[MEMORY_HEADS] = ctx->cfg->topics.heads;
    f->topics[MEMORY_MODELS] = ctx->cfg->topics.models;
    f->batch = stream_batch_new(READ_BATCH);
    f->memory = memory_new(f->topics, pipeline_ledger_bytes(ctx->cfg), e);
    if (f->memory)
        memory_watch(f->memory, ctx->observer.model, ctx->observer.state, ctx->observer.arg);
    if (f->memory && !ctx->exactly_once)
        memory_not_atomic(f->memory);
    int rc = !f->batch    ? fis_fail(e, FIS_NOMEM, "no memory to restore")
             : !f->memory ? -FIS_NOMEM
                          : open_consumer(f, e);
    if (rc < 0) {
        follower_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void follower_close(struct follower *f)
{
    if (!f)
        return;
    stream_batch_free(f->batch);
    stream_consumer_close(f->consumer, 1000);
    memory_free(f->memory);
    fis_free(f);
}

static void end(void *follower)
{
    follower_close(follower);
}

void follower_end(struct follower *f)
{
    if (f)
        closer_take(f->ctx, end, f, NULL, NULL);
}

static int take(struct follower *f, const struct stream_message *s, struct fis_error *e)
{
    struct wire_message m = {
        .topic = f->topics[s->topic],
        .partition = s->partition,
        .offset = s->offset,
        .timestamp_ms = s->timestamp_ms,
        .key = {s->key, s->key_length},
        .value = {s->value, s->value_length},
    };
    return memory_take(f->memory, (enum memory_topic)s->topic, &m, e);
}

static int take_events(struct follower *f, struct fis_error *e)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(f->consumer, &ev)) {
        if (ev.kind == STREAM_END)
            f->at_end = true;
        else if (ev.kind == STREAM_RESET && (ev.recreated || ev.lost_messages > 0))
            return fis_fail(e, FIS_ABORT_TXN, "topic %s is another than it was: reading all again",
                            f->topics[ev.topic]);
        else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL)
            return fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            context_trouble(f->ctx, "trainer", &ev.error);
    }
    return 0;
}

int follower_turn(struct follower *f, bool *more, struct fis_error *e)
{
    uint32_t n = READ_BATCH;
    int rc = 0;
    for (uint32_t k = 0; k < BATCHES_A_TURN && n == READ_BATCH && rc == 0; k++) {
        n = stream_consumer_read(f->consumer, f->batch, READ_BATCH);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = take(f, &f->batch->messages[i], e);
        stream_batch_release(f->batch);
    }
    *more = n == READ_BATCH;
    return rc < 0 ? rc : take_events(f, e);
}

bool follower_at_end(const struct follower *f)
{
    return f->at_end;
}

void follower_to_end(struct follower *f)
{
    f->at_end = false;
    stream_consumer_to_end(f->consumer);
}

struct memory *follower_memory(struct follower *f)
{
    return f->memory;
}

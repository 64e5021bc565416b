#include "daemon/trainer/version_fetch.h"

#include "daemon/context/closer.h"
#include "fis/mem.h"
#include "stream/consumer.h"
#include "wire/chunk.h"
#include "wire/model.h"

#define READ_BATCH 64
#define OPEN_VERSIONS 8

struct version_fetch {
    struct context *ctx;
    uint64_t version;
    const char *topics[1];
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    struct wire_assembler *chunks;
    struct wire_model_owned found;
    bool at_end;
};

int version_fetch_open(struct version_fetch **out, struct context *ctx, uint64_t version,
                       struct fis_error *e)
{
    struct version_fetch *f = fis_calloc(1, sizeof *f);
    if (!f)
        return fis_fail(e, FIS_NOMEM, "no memory to look for a version");
    f->ctx = ctx;
    f->version = version;
    f->topics[0] = ctx->cfg->topics.models;
    f->batch = stream_batch_new(READ_BATCH);
    f->chunks = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0);
    struct stream_consumer_options o = {
        .client = context_client(ctx), .topics = f->topics, .topic_count = 1};
    int rc = f->batch && f->chunks ? stream_consumer_open(&f->consumer, &o, e)
                                   : fis_fail(e, FIS_NOMEM, "no memory to look for a version");
    if (rc < 0) {
        version_fetch_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void version_fetch_close(struct version_fetch *f)
{
    if (!f)
        return;
    stream_batch_free(f->batch);
    stream_consumer_close(f->consumer, 1000);
    wire_assembler_free(f->chunks);
    wire_model_done(&f->found);
    fis_free(f);
}

static void end(void *fetch)
{
    version_fetch_close(fetch);
}

void version_fetch_end(struct version_fetch *f)
{
    if (f)
        closer_take(f->ctx, end, f, NULL, NULL);
}

static int take(struct version_fetch *f, const struct stream_message *m, struct fis_error *e)
{
    struct wire_bytes payload, value = {m->value, m->value_length};
    struct wire_model_owned model;
    uint64_t version;
    int rc = wire_assembler_feed(f->chunks, value, &payload, &version, e);
    if (rc > 0 && version == f->version && (rc = wire_model_decode(payload, &model, e)) == 0) {
        wire_model_done(&f->found);
        f->found = model;
    }
    if (rc >= 0)
        return 0;
    fis_error_prefix(e, "%s partition %d offset %lld", f->topics[0], (int)m->partition,
                     (long long)m->offset);
    if (rc != -FIS_INPUT)
        return rc;
    log_line(LOG_LEVEL_WARN, "version_unread", "text=\"%s\"", e->text);
    return 0; /* a version that cannot be read is not there */
}

int version_fetch_turn(struct version_fetch *f, struct fis_error *e)
{
    struct stream_consumer_event ev;
    uint32_t n;
    int rc = 0;
    do {
        n = stream_consumer_read(f->consumer, f->batch, READ_BATCH);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = take(f, &f->batch->messages[i], e);
        stream_batch_release(f->batch);
    } while (n == READ_BATCH && rc == 0);
    while (rc == 0 && stream_consumer_event(f->consumer, &ev)) {
        if (ev.kind == STREAM_END)
            f->at_end = true;
        else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL)
            rc = fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            context_trouble(f->ctx, "trainer", &ev.error);
    }
    return rc < 0 ? rc : f->at_end;
}

uint64_t version_fetch_wanted(const struct version_fetch *f)
{
    return f->version;
}

const struct wire_model *version_fetch_model(const struct version_fetch *f)
{
    return f->found.model.version ? &f->found.model : NULL;
}

#include "daemon/scorer_host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/dead_letter.h"
#include "stream/consumer.h"
#include "stream/producer.h"
#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/protobuf_codec.h"

#define HEAD_BATCH 64
#define READ_AT_ONCE 64

struct scorer_slot {
    struct scorer_host *host;
    uint32_t index;
    struct stream_batch *read;
    struct scoring_batch batch;
    struct job job;
};

struct scorer_host {
    struct runtime *rt;
    struct scorer *machine;
    struct scoring_options scoring;
    struct scorer_slot slots[SCORER_MAX_SLOTS];
    uint32_t n_slots;
    struct stream_consumer *records, *heads;
    struct stream_batch *head_batch;
    struct stream_offset *offsets; /* [capacity of a batch] work for a commit */
    struct stream_producer *producer;
    struct wire_assembler *assembler;
    struct scoring_head *head;
    struct wire_buffer buffer;
    const char *topics[1], *head_topics[1];
    char name[128], group[128];
    uint64_t said_records;
    bool stopping, failed;
};

static void fail(struct scorer_host *h, const struct fis_error *e)
{
    if (!h->failed)
        runtime_fail(h->rt, "scorer", e);
    h->failed = true;
}

/* ---- what the machine asks for ------------------------------------------------------------- */

static void run_slot(void *arg)
{
    struct scorer_slot *s = arg;
    scoring_run(&s->batch);
}

static void ran_slot(void *arg)
{
    struct scorer_slot *s = arg;
    scorer_scored(s->host->machine, s->index, &s->batch);
}

static void out_score(void *ctx, uint32_t slot)
{
    struct scorer_host *h = ctx;
    struct scorer_slot *s = &h->slots[slot];
    struct fis_error e;
    if (scoring_batch_prepare(&s->batch, h->head, &e) < 0) {
        fail(h, &e);
        return;
    }
    s->job = (struct job){.run = run_slot, .done = ran_slot, .arg = s};
    workers_submit(h->rt->workers, &s->job);
}

/* All scorers send to one partition: progress then stands behind the candidates of its records,
 * and who reads the topic sees one order of both, whatever the number of scorers. */
static void send_offer(struct scorer_host *h, uint32_t slot, const struct wire_offer *offer,
                       const void *key, size_t key_length)
{
    struct fis_error e;
    h->buffer.length = 0;
    if (wire_offer_encode(offer, &h->buffer, &e) < 0 ||
        stream_producer_send(h->producer, h->rt->cfg->topics.candidates, 0, key, key_length,
                             h->buffer.data, h->buffer.length, slot, &e) < 0)
        fail(h, &e);
}

static void out_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct scorer_host *h = ctx;
    struct scoring_batch *b = &h->slots[slot].batch;
    const struct wire_message *m = &b->messages[i];
    const float *scores = b->scores + (size_t)b->row[i] * FIS_MAX_CRITERIA;
    struct wire_offer offer = {
        .kind = WIRE_CANDIDATE,
        .candidate =
            {
                .id = b->records[i].id,
                .x = b->x + (size_t)b->row[i] * b->d,
                .d = b->d,
                .scores = {scores[0], scores[1]},
                .head_version = b->head_version,
                .encoding = h->scoring.encoding,
                .record = m->value,
                .event_time_ms = b->records[i].event_time_ms,
                .topic = m->topic,
                .partition = m->partition,
                .offset = m->offset,
            },
    };
    send_offer(h, slot, &offer, b->records[i].id.bytes, b->records[i].id.length);
}

static void out_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct scorer_host *h = ctx;
    struct scoring_batch *b = &h->slots[slot].batch;
    struct fis_error e;
    if (dead_letter_send(h->producer, h->rt->cfg->topics.dead_letter, &b->messages[i],
                         b->errors[i].text, h->rt->dead_letter_bytes, slot, &e) < 0)
        fail(h, &e);
}

static void out_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct scorer_host *h = ctx;
    struct wire_offer offer = {.kind = WIRE_PROGRESS, .progress = *p};
    send_offer(h, slot, &offer, h->name, strlen(h->name));
}

static void out_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct scorer_host *h = ctx;
    struct fis_error e;
    for (uint32_t i = 0; i < n; i++)
        h->offsets[i] = (struct stream_offset){h->topics[0], places[i].partition, places[i].next};
    if (stream_consumer_commit(h->records, h->offsets, n, &e) < 0)
        runtime_kafka_event(h->rt, "scorer", &e);
    stream_batch_release(h->slots[slot].read);
}

static void on_revoke(void *arg, bool lost, const struct stream_partition *partitions, size_t count)
{
    struct scorer_host *h = arg;
    log_line(LOG_LEVEL_INFO, "revoked", "role=scorer partitions=%zu lost=%d", count, lost);
    for (size_t i = 0; i < count; i++)
        scorer_revoked(h->machine, &partitions[i].partition, 1);
}

/* ---- opening ------------------------------------------------------------------------------- */

static int open_slots(struct scorer_host *h, struct fis_error *e)
{
    h->n_slots = h->rt->cfg->scorer.batches_in_flight;
    for (uint32_t i = 0; i < h->n_slots; i++) {
        struct scorer_slot *s = &h->slots[i];
        s->host = h;
        s->index = i;
        s->read = stream_batch_new(h->scoring.capacity);
        if (!s->read)
            return fis_fail(e, FIS_NOMEM, "no memory for a batch");
        if (scoring_batch_init(&s->batch, &h->scoring, e) < 0)
            return -1;
    }
    return 0;
}

static int open_kafka(struct scorer_host *h, struct fis_error *e)
{
    struct runtime *rt = h->rt;
    struct stream_consumer_options records = {
        .client = runtime_client(rt),
        .group_id = h->group,
        .topics = h->topics,
        .topic_count = 1,
        .queue_bytes = rt->cfg->scorer.queue_bytes,
        .on_revoke = on_revoke,
        .revoke_arg = h,
    };
    struct stream_consumer_options heads = {
        .client = runtime_client(rt),
        .topics = h->head_topics,
        .topic_count = 1,
    };
    struct stream_producer_options producer = {.client = runtime_client(rt), .patient = true};
    if (stream_producer_open(&h->producer, &producer, e) < 0 ||
        stream_consumer_open(&h->heads, &heads, e) < 0 ||
        stream_consumer_open(&h->records, &records, e) < 0)
        return -1;
    return 0;
}

static int open_all(struct scorer_host *h, struct fis_error *e)
{
    const struct config *cfg = h->rt->cfg;
    char host[64] = "localhost";
    gethostname(host, sizeof host - 1);
    snprintf(h->name, sizeof h->name, "%s-%s-%ld", cfg->pipeline, host, (long)getpid());
    snprintf(h->group, sizeof h->group, "%s-scorer", cfg->pipeline);
    h->topics[0] = cfg->topics.records;
    h->head_topics[0] = cfg->topics.heads;
    h->scoring = (struct scoring_options){
        .schema = &h->rt->pipeline.schema,
        .encoding = h->rt->pipeline.records,
        .criteria = h->rt->pipeline.criteria,
        .capacity = cfg->scorer.batch,
    };
    struct scorer_options options;
    pipeline_scorer(&h->rt->pipeline, h->name, &options);
    options.batch = h->scoring.capacity;
    struct scorer_out out = {.ctx = h,
                             .score = out_score,
                             .offer = out_offer,
                             .refuse = out_refuse,
                             .progress = out_progress,
                             .release = out_release};
    h->machine = scorer_new(&options, &out, e);
    h->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    h->head_batch = stream_batch_new(HEAD_BATCH);
    h->offsets = fis_calloc(h->scoring.capacity, sizeof *h->offsets);
    if (!h->machine || !h->assembler || !h->head_batch || !h->offsets)
        return h->machine ? fis_fail(e, FIS_NOMEM, "no memory for the scorer") : -1;
    return open_slots(h, e) < 0 ? -1 : open_kafka(h, e);
}

int scorer_host_open(struct scorer_host **out, struct runtime *rt, struct fis_error *e)
{
    struct scorer_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the scorer");
    h->rt = rt;
    if (open_all(h, e) < 0) {
        scorer_host_close(h, 0);
        return -1;
    }
    *out = h;
    return 0;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void on_report(void *arg, uint64_t token, enum fis_error_class class, const char *text)
{
    struct scorer_host *h = arg;
    if (class == FIS_OK) {
        scorer_acked(h->machine, (uint32_t)token);
        return;
    }
    struct fis_error e;
    fis_fail(&e, FIS_FATAL,
             "a message was not delivered: %s; its records are read again after "
             "a restart",
             text);
    fail(h, &e);
}

static void take_head(struct scorer_host *h, struct wire_bytes payload)
{
    struct wire_head_owned owned;
    struct fis_error e;
    if (wire_head_decode(payload, &owned, &e) < 0) {
        log_line(LOG_LEVEL_ERROR, "head", "refused=\"%s\"", e.text);
        return;
    }
    struct scoring_head *head = scoring_head_take(&owned);
    int rc = head ? scorer_head(h->machine, &owned.head, &e)
                  : fis_fail(&e, FIS_NOMEM, "no memory for a head");
    wire_head_done(&owned);
    if (rc < 0) {
        scoring_head_unref(head);
        fail(h, &e);
        return;
    }
    scoring_head_unref(h->head);
    h->head = head;
    log_line(LOG_LEVEL_DEBUG, "head", "role=scorer version=%llu",
             (unsigned long long)head->version);
}

static bool follow_heads(struct scorer_host *h)
{
    uint32_t n = stream_consumer_read(h->heads, h->head_batch, HEAD_BATCH);
    for (uint32_t i = 0; i < n; i++) {
        const struct stream_message *m = &h->head_batch->messages[i];
        struct wire_bytes payload;
        uint64_t version;
        struct fis_error e;
        int rc = wire_assembler_feed(h->assembler, (struct wire_bytes){m->value, m->value_length},
                                     &payload, &version, &e);
        if (rc < 0)
            log_line(LOG_LEVEL_ERROR, "head", "refused=\"%s\"", e.text);
        else if (rc > 0)
            take_head(h, payload);
    }
    stream_batch_release(h->head_batch);
    return n == HEAD_BATCH;
}

/* Takes over what was read since the last time. */
static void fill(struct scorer_host *h, struct scorer_slot *s)
{
    struct scoring_batch *b = &s->batch;
    for (uint32_t i = b->n; i < s->read->count; i++) {
        const struct stream_message *m = &s->read->messages[i];
        b->messages[i] = (struct wire_message){
            .topic = h->topics[0],
            .partition = m->partition,
            .offset = m->offset,
            .timestamp_ms = m->timestamp_ms,
            .key = {m->key, m->key_length},
            .value = {m->value, m->value_length},
        };
    }
    b->n = s->read->count;
}

/* A batch ends at its number of records, or when it holds its share of queue_bytes: memory has a
 * bound whatever the records' size. The machine hears of messages before the next read, which may
 * take their partition away. */
static uint32_t read_batch(struct scorer_host *h, struct scorer_slot *s)
{
    size_t bytes = 0, share = h->rt->cfg->scorer.queue_bytes / h->n_slots;
    uint32_t n = 1;
    s->batch.n = 0;
    while (n > 0 && bytes < share && s->batch.n < h->scoring.capacity) {
        uint32_t had = s->batch.n, room = h->scoring.capacity - had;
        n = stream_consumer_read(h->records, s->read, room < READ_AT_ONCE ? room : READ_AT_ONCE);
        fill(h, s);
        for (uint32_t i = had; i < s->batch.n; i++)
            bytes += s->batch.messages[i].value.length;
        if (n > 0)
            scorer_reading(h->machine, s->index, &s->batch);
    }
    return s->batch.n;
}

static bool read_records(struct scorer_host *h)
{
    int slot;
    while (!h->failed && (slot = scorer_free_slot(h->machine)) >= 0) {
        struct scorer_slot *s = &h->slots[slot];
        if (read_batch(h, s) == 0)
            return false;
        scorer_batch(h->machine, (uint32_t)slot, &s->batch);
    }
    /* Nothing is wanted now, but rebalances are served and the membership is kept. */
    stream_consumer_read(h->records, h->head_batch, 0);
    return false;
}

static void consumer_events(struct scorer_host *h, struct stream_consumer *c)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(c, &ev)) {
        if (ev.kind == STREAM_ASSIGNED && c == h->records)
            log_line(LOG_LEVEL_INFO, "assigned", "role=scorer partitions=%u", ev.owned);
        else if (ev.kind == STREAM_ERROR && ev.error.class == FIS_FATAL)
            fail(h, &ev.error);
        else if (ev.kind == STREAM_ERROR)
            runtime_kafka_event(h->rt, "scorer", &ev.error);
    }
}

bool scorer_host_turn(struct scorer_host *h)
{
    struct fis_error e;
    stream_producer_poll(h->producer, on_report, h);
    if (h->failed)
        return false;
    if (stream_producer_error(h->producer, &e)) {
        if (e.class == FIS_FATAL)
            fail(h, &e);
        else
            runtime_kafka_event(h->rt, "scorer", &e);
    }
    bool more = follow_heads(h);
    more |= read_records(h);
    consumer_events(h, h->heads);
    consumer_events(h, h->records);
    return more && !h->failed;
}

void scorer_host_tick(struct scorer_host *h)
{
    const struct scorer_counts *c = scorer_counts(h->machine);
    if (c->records + c->refused + c->tombstones == h->said_records)
        return;
    log_line(LOG_LEVEL_INFO, "scored",
             "records=%llu offered=%llu refused=%llu tombstones=%llu unseen=%llu lag=%lld "
             "head=%llu",
             (unsigned long long)c->records, (unsigned long long)c->offered,
             (unsigned long long)c->refused, (unsigned long long)c->tombstones,
             (unsigned long long)c->unseen, (long long)stream_consumer_lag(h->records),
             h->head ? (unsigned long long)h->head->version : 0);
    h->said_records = c->records + c->refused + c->tombstones;
}

void scorer_host_stop(struct scorer_host *h)
{
    h->stopping = true;
    scorer_stop(h->machine);
}

bool scorer_host_stopped(const struct scorer_host *h)
{
    return h->failed || (h->stopping && scorer_idle(h->machine));
}

void scorer_host_say_left(const struct scorer_host *h)
{
    if (h && h->machine && !scorer_idle(h->machine))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=scorer text=\"records in flight were not committed (%llu messages were not "
                 "acknowledged); they are scored again after a restart\"",
                 (unsigned long long)stream_producer_outstanding(h->producer));
}

void scorer_host_close(struct scorer_host *h, int patience_ms)
{
    if (!h)
        return;
    scorer_host_say_left(h);
    for (uint32_t i = 0; i < h->n_slots; i++)
        stream_batch_free(h->slots[i].read);
    stream_batch_free(h->head_batch);
    stream_consumer_close(h->records, patience_ms);
    stream_consumer_close(h->heads, 1000);
    stream_producer_close(h->producer);
    for (uint32_t i = 0; i < h->n_slots; i++)
        scoring_batch_done(&h->slots[i].batch);
    scorer_free(h->machine);
    fis_free(h->offsets);
    scoring_head_unref(h->head);
    wire_assembler_free(h->assembler);
    wire_buffer_done(&h->buffer);
    fis_free(h);
}

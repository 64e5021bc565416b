#include <stdio.h>
#include <unistd.h>

#include "daemon/scorer/scorer_host_impl.h"

#include "base/decimal.h"

/* Of an entry besides the record: features, votes. */
#define LEDGER_BYTES ((size_t)1 << 20)
/* Of a second each: how long no partition may be owned before that is reported. */
#define TICKS_EMPTY 10

/* ---- opening ------------------------------------------------------------------------------- */

static int open_slots(struct scorer_host *h, struct fis_error *e)
{
    h->n_slots = h->ctx->cfg->scorer.batches_in_flight;
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
    struct context *ctx = h->ctx;
    struct stream_consumer_options heads = {
        .client = context_client(ctx),
        .topics = h->head_topics,
        .topic_count = 1,
    };
    struct stream_consumer_options ledger = {
        .client = context_client(ctx),
        .topics = h->ledger_topics,
        .topic_count = 1,
    };
    struct stream_producer_options producer = {
        .client = context_client(ctx), .patient = true, .batch_bytes = ctx->batch_bytes};
    heads.client.name = "heads";
    producer.client.name = "offers";
    if (stream_producer_open(&h->producer, &producer, e) < 0 ||
        stream_consumer_open(&h->heads, &heads, e) < 0 ||
        (h->pool && stream_consumer_open(&h->ledger, &ledger, e) < 0) ||
        scorer_input_join(h, e) < 0)
        return -1;
    return 0;
}

static int open_all(struct scorer_host *h, struct fis_error *e)
{
    const struct config *cfg = h->ctx->cfg;
    char host[64] = "localhost";
    gethostname(host, sizeof host - 1);
    snprintf(h->name, sizeof h->name, "%s-%s-%ld", cfg->pipeline, host, (long)getpid());
    config_scorer_group(cfg, h->group);
    h->pool = cfg->selection.mode == CONFIG_POOL;
    h->n_topics = config_record_topics(cfg, h->topics);
    config_record_numbers(cfg, h->numbers);
    h->ledger_topics[0] = cfg->topics.ledger;
    h->head_topics[0] = cfg->topics.heads;
    h->scoring = (struct scoring_options){
        .schema = &h->ctx->pipeline.schema,
        .encoding = h->ctx->pipeline.records,
        .criteria = h->ctx->pipeline.criteria,
        .capacity = cfg->scorer.batch,
    };
    struct scorer_options options;
    pipeline_scorer(&h->ctx->pipeline, h->name, &options);
    options.batch = h->scoring.capacity;
    options.pool = h->pool;
    options.ledger_bytes = cfg->records.max_bytes + LEDGER_BYTES;
    struct scorer_out out = scorer_host_out(h);
    h->machine = scorer_new(&options, &out, e);
    h->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    h->follow_batch = stream_batch_new(SCORER_FOLLOW_BATCH);
    if (!h->machine || !h->assembler || !h->follow_batch)
        return h->machine ? fis_fail(e, FIS_NOMEM, "no memory for the scorer") : -1;
    if (h->scoring.encoding == WIRE_REGISTRY && scorer_schemas_open(&h->schemas, h->ctx, e) < 0)
        return -1;
    return open_slots(h, e) < 0 ? -1 : open_kafka(h, e);
}

int scorer_host_open(struct scorer_host **out, struct context *ctx, struct fis_error *e)
{
    struct scorer_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the scorer");
    h->ctx = ctx;
    histogram_init(&h->batch_records, histogram_sizes, histogram_sizes_n);
    histogram_init(&h->batch_seconds, histogram_seconds, histogram_seconds_n);
    histogram_init(&h->latency_seconds, histogram_seconds, histogram_seconds_n);
    if (open_all(h, e) < 0) {
        scorer_host_close(h, 0);
        return -1;
    }
    *out = h;
    return 0;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void on_report(void *arg, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct scorer_host *h = arg;
    if (kind == FIS_OK) {
        scorer_acked(h->machine, scorer_token_slot(token), scorer_token_n(token));
        return;
    }
    struct fis_error e;
    fis_fail(&e, FIS_FATAL,
             "a message was not delivered: %s; its records are read again after "
             "a restart",
             text);
    scorer_host_failed(h, &e);
}

bool scorer_host_turn(struct scorer_host *h)
{
    struct fis_error e;
    stream_producer_poll(h->producer, on_report, h);
    if (h->failed)
        return false;
    if (stream_producer_error(h->producer, &e)) {
        if (e.kind == FIS_FATAL)
            scorer_host_failed(h, &e);
        else
            context_trouble(h->ctx, "scorer", &e);
    }
    bool more = scorer_send_turn(h);
    more |= scorer_input_turn(h);
    scorer_commit_turn(h);
    return more && !h->failed;
}

/* A scorer without partitions looks like one with nothing to do: it is reported when it lasts
 * longer than a rebalance, and again when it is over. */
static void say_owned(struct scorer_host *h)
{
    h->ticks_empty = h->owned ? 0 : h->ticks_empty + 1;
    if (h->owned && h->reported_empty)
        log_line(LOG_LEVEL_INFO, "assignment", "role=scorer partitions=%u", h->owned);
    else if (h->ticks_empty == TICKS_EMPTY)
        log_line(LOG_LEVEL_WARN, "assignment",
                 "role=scorer partitions=0 text=\"the group has given this scorer no partition: "
                 "there are more scorers than partitions of %s, or the broker is not reached\"",
                 h->topics[0]);
    h->reported_empty = h->ticks_empty >= TICKS_EMPTY;
}

/* A cluster that took the place of another one may have the same topics, so that nothing fails. */
static void check_cluster(struct scorer_host *h)
{
    struct fis_error e;
    if (context_same_cluster(h->ctx, h->heads, &e) < 0 ||
        context_same_cluster(h->ctx, h->records, &e) < 0)
        scorer_host_failed(h, &e);
}

void scorer_host_tick(struct scorer_host *h)
{
    const struct scorer_counts *c = scorer_counts(h->machine);
    say_owned(h);
    if (!h->stopping)
        check_cluster(h);
    if (c->records + c->refused + c->tombstones == h->reported_records)
        return;
    log_line(LOG_LEVEL_INFO, "scored",
             "records=%llu offered=%llu refused=%llu tombstones=%llu unseen=%llu lag=%lld "
             "head=%llu lost=%llu",
             (unsigned long long)c->records, (unsigned long long)c->offered,
             (unsigned long long)c->refused, (unsigned long long)c->tombstones,
             (unsigned long long)c->unseen, (long long)stream_consumer_lag(h->records),
             h->head ? (unsigned long long)h->head->version : 0, (unsigned long long)c->lost);
    h->reported_records = c->records + c->refused + c->tombstones;
}

void scorer_host_stop(struct scorer_host *h)
{
    h->stopping = true;
    scorer_stop(h->machine);
}

/* What waits for a registry that is down is not waited for. */
static bool is_done(const struct scorer_host *h)
{
    uint32_t waiting = scorer_host_waiting(h);
    return scorer_idle(h->machine) || (waiting && waiting == scorer_under_way(h->machine) &&
                                       stream_producer_outstanding(h->producer) == 0);
}

bool scorer_host_stopped(const struct scorer_host *h)
{
    return h->failed || (h->stopping && is_done(h) && !h->uncommitted);
}

void scorer_host_say_left(const struct scorer_host *h)
{
    if (h && h->machine && !scorer_idle(h->machine))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=scorer text=\"records in flight were not committed (%s not acknowledged); "
                 "they are scored again after a restart\"",
                 DECIMAL_COUNT(stream_producer_outstanding(h->producer), "message"));
}

static void say_latency(const struct scorer_host *h)
{
    const struct histogram *s = &h->latency_seconds;
    if (s->count)
        log_line(LOG_LEVEL_INFO, "latency",
                 "role=scorer records=%llu p50_ms=%.1f p99_ms=%.1f longest_ms=%.1f",
                 (unsigned long long)s->count, 1e3 * histogram_quantile(s, .5),
                 1e3 * histogram_quantile(s, .99), 1e3 * s->max);
}

void scorer_host_close(struct scorer_host *h, int patience_ms)
{
    if (!h)
        return;
    scorer_host_say_left(h);
    say_latency(h);
    for (uint32_t i = 0; i < h->n_slots; i++)
        stream_batch_free(h->slots[i].read);
    stream_batch_free(h->follow_batch);
    if (h->uncommitted)
        scorer_commit_now(h);
    stream_consumer_close(h->records, patience_ms);
    stream_consumer_close(h->heads, 1000);
    stream_consumer_close(h->ledger, 1000);
    stream_producer_close(h->producer);
    for (uint32_t i = 0; i < h->n_slots; i++)
        scoring_batch_done(&h->slots[i].batch);
    scorer_schemas_close(h->schemas);
    scorer_free(h->machine);
    for (uint32_t k = 0; k < h->n_topics; k++)
        fis_free(h->next[k].next);
    fis_free(h->offsets);
    scoring_head_unref(h->head);
    fis_profile_free(h->profile);
    wire_assembler_free(h->assembler);
    byte_buffer_done(&h->buffer);
    byte_buffer_done(&h->kept);
    fis_free(h);
}

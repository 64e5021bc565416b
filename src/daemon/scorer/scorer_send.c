/* What the scorer needs done: scoring by workers, messages, commits, and in pool mode going back.
 */
#include <string.h>

#include "daemon/context/dead_letter.h"
#include "daemon/scorer/scorer_host_impl.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"
#include "wire/source.h"

/* Candidates and dead letters, of some 2 us each. */
#define SEND_AT_ONCE 512
/* Of several in a message, at most; a message of its own for each costs librdkafka and the broker
 * more than the candidate itself. */
#define OFFER_BYTES 32768u
/* More than a candidate's or a progress's other fields take; than a range does. */
#define OTHER_BYTES 128u
#define RANGE_BYTES 48u

/* ---- messages ------------------------------------------------------------------------------ */

static uint64_t token_of(uint32_t slot, uint32_t n)
{
    return (uint64_t)n << 32 | slot;
}

uint32_t scorer_token_slot(uint64_t token)
{
    return (uint32_t)token;
}

uint32_t scorer_token_n(uint64_t token)
{
    return (uint32_t)(token >> 32);
}

/* Sends what is packed, under the pipeline's name. All scorers send to one partition: progress then
 * stands behind the candidates of its records, and who reads the topic sees one order of both,
 * whatever the number of scorers. */
static void flush(struct scorer_host *h)
{
    const struct config *cfg = h->ctx->cfg;
    struct fis_error e;
    if (h->packed && stream_producer_send(h->producer, cfg->topics.candidates, 0, cfg->pipeline,
                                          strlen(cfg->pipeline), h->buffer.data, h->buffer.length,
                                          token_of(h->packed_slot, h->packed), &e) < 0)
        scorer_host_failed(h, &e);
    h->buffer.length = h->packed_bytes = h->packed = 0;
}

/* Puts it, `bytes` long at most, into the message that is being made for its slot, when there is
 * room; what finds none even in an empty one goes alone. A record that is taken goes through the
 * topic, so several that are as long together do. */
static void pack(struct scorer_host *h, uint32_t slot, const struct wire_offer *offer, size_t bytes)
{
    size_t allowed = h->ctx->pipeline.schema.max_bytes;
    struct fis_error e;
    bytes += OTHER_BYTES;
    if (h->packed_slot != slot ||
        h->packed_bytes + bytes > (allowed < OFFER_BYTES ? allowed : OFFER_BYTES))
        flush(h);
    if (wire_offer_encode(offer, &h->buffer, &e) < 0)
        scorer_host_failed(h, &e);
    h->packed_slot = slot;
    h->packed_bytes += bytes;
    h->packed++;
}

/* ---- scoring ------------------------------------------------------------------------------ */

static void run_slot(void *arg)
{
    struct scorer_slot *s = arg;
    uint64_t began = uv_hrtime();
    scoring_run(&s->batch);
    s->run_ns = uv_hrtime() - began;
}

static uint32_t count(const struct scorer_host *h, enum scorer_work work)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_slots; i++)
        n += h->slots[i].work == work;
    return n;
}

static void ran_slot(void *arg)
{
    struct scorer_slot *s = arg;
    struct scorer_host *h = s->host;
    histogram_observe(&h->batch_records, s->batch.n, 1);
    histogram_observe(&h->batch_seconds, 1e-9 * (double)s->run_ns, 1);
    scorer_drift_batch(h, &s->batch);
    s->work = SCORER_RAN;
}

static void tell_scored(struct scorer_host *h)
{
    for (uint32_t i = 0; i < h->n_slots; i++)
        if (h->slots[i].work == SCORER_RAN) {
            h->slots[i].work = SCORER_IDLE; /* before: it may be scored again */
            scorer_scored(h->machine, i, &h->slots[i].batch);
        }
}

uint32_t scorer_host_waiting(const struct scorer_host *h)
{
    return count(h, SCORER_WAITS);
}

/* Or lets it wait for its schemas. */
static void run_when_ready(struct scorer_host *h, struct scorer_slot *s)
{
    s->work = SCORER_WAITS;
    if (h->schemas && !scorer_schemas_ready(h->schemas, &s->batch, &s->resolved))
        return;
    s->job = (struct job){.run = run_slot, .done = ran_slot, .arg = s};
    s->work = SCORER_RUNS;
    workers_submit(h->ctx->workers, &s->job);
}

static void turn_schemas(struct scorer_host *h)
{
    struct fis_error e;
    if (!h->schemas)
        return;
    if (scorer_schemas_turn(h->schemas, &e) < 0)
        scorer_host_failed(h, &e);
    for (uint32_t i = 0; i < h->n_slots; i++)
        if (h->slots[i].work == SCORER_WAITS)
            run_when_ready(h, &h->slots[i]);
}

/* ---- what the machine needs done ----------------------------------------------------------- */

/* What comes of a batch is a request to the broker, which costs it about as much as handing out a
 * thousand records. So batches wait for others that are being scored, and what comes of them goes
 * in one; but no more of it in a turn than keeps that short. */
bool scorer_send_turn(struct scorer_host *h)
{
    turn_schemas(h);
    if (!count(h, SCORER_RUNS) || 4 * count(h, SCORER_RAN) >= h->n_slots)
        tell_scored(h);
    bool more = scorer_send(h->machine, SEND_AT_ONCE) == SEND_AT_ONCE;
    flush(h);
    return more;
}

static void out_score(void *ctx, uint32_t slot, const float *floors)
{
    struct scorer_host *h = ctx;
    struct scorer_slot *s = &h->slots[slot];
    struct fis_error e;
    if (scoring_batch_prepare(&s->batch, h->head, floors, &e) < 0) {
        scorer_host_failed(h, &e);
        return;
    }
    run_when_ready(h, s);
}

static void out_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct scorer_host *h = ctx;
    const struct pipeline *p = &h->ctx->pipeline;
    struct wire_candidate candidate = scoring_candidate(&h->slots[slot].batch, i);
    struct fis_error e;
    if (candidate.encoding == WIRE_JSON &&
        wire_json_keep(&p->schema, p->columns, p->n_columns, &candidate.record, &h->kept, &e) < 0) {
        scorer_host_failed(h, &e);
        return;
    }
    pack(h, slot, &(struct wire_offer){.candidates = &candidate, .n_candidates = 1},
         candidate.id.length + strlen(candidate.topic) + candidate.record.length +
             candidate.d * sizeof(float));
}

static void out_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct scorer_host *h = ctx;
    struct scoring_batch *b = &h->slots[slot].batch;
    struct fis_error e;
    h->dead.n[b->errors[i].code]++;
    if (dead_letter_send(h->producer, h->ctx->cfg->topics.dead_letter, &b->messages[i],
                         &b->errors[i], h->ctx->dead_letter_bytes, token_of(slot, 1), &e) < 0)
        scorer_host_failed(h, &e);
}

static void out_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct scorer_host *h = ctx;
    pack(h, slot, &(struct wire_offer){.progress = p}, strlen(h->name) + p->n_ranges * RANGE_BYTES);
    flush(h);
}

/* How old the records were when all that came of them was acknowledged. Many have the same
 * millisecond: they are counted together. */
static void note_latency(struct scorer_host *h, const struct scoring_batch *b)
{
    int64_t now = context_now().wall_ms;
    for (uint32_t i = 0, n; i < b->n; i += n) {
        int64_t at = b->messages[i].timestamp_ms;
        for (n = 1; i + n < b->n && b->messages[i + n].timestamp_ms == at; n++)
            ;
        if (at >= 0)
            histogram_observe(&h->latency_seconds, 1e-3 * (double)(now > at ? now - at : 0), n);
    }
}

static void out_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct scorer_host *h = ctx;
    scorer_commit_note(h, places, n);
    note_latency(h, &h->slots[slot].batch);
    h->slots[slot].spent = true;
}

/* ---- pool mode ----------------------------------------------------------------------------- */

static void out_rewind(void *ctx)
{
    struct scorer_host *h = ctx;
    struct fis_error e;
    if (stream_consumer_seek_begin(h->records, &e) < 0)
        scorer_host_failed(h, &e);
    log_line(LOG_LEVEL_INFO, "scan", "role=scorer partitions=%u", h->owned);
}

static void out_enough(void *ctx, int32_t partition)
{
    struct scorer_host *h = ctx;
    stream_consumer_pause_partition(h->records, scorer_host_topic(h, partition),
                                    wire_source_partition(partition));
}

struct scorer_out scorer_host_out(struct scorer_host *h)
{
    return (struct scorer_out){.ctx = h,
                               .score = out_score,
                               .offer = out_offer,
                               .refuse = out_refuse,
                               .progress = out_progress,
                               .release = out_release,
                               .rewind = out_rewind,
                               .enough = out_enough};
}

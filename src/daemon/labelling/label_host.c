#include "daemon/labelling/label_host.h"

#include "binding/binding.h"
#include "fis/mem.h"
#include "stream/consumer.h"
#include "stream/producer.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

#define READ_BATCH 500
#define QUIET_MS 1000

enum { READ_REQUESTS, READ_LABELS, READERS };

struct reader {
    struct stream_consumer *consumer;
    const char *topic;
    bool ended;       /* all that was there has been read */
    bool blocked;     /* but for what is behind an open transaction */
    uint64_t read_ms; /* when a message last came */
};

struct label_host {
    struct context *ctx;
    struct label_queue *queue;
    struct reader readers[READERS];
    struct stream_batch *batch;
    struct stream_producer *producer;
    struct byte_buffer value;
    struct fis_arena arena;
    struct wire_schema schema; /* of answers: they have no frame */
    struct wire_request_reader shown;
    bool stopping, failed;
};

/* ---- what comes ------------------------------------------------------------------------------ */

static int take_request(struct label_host *h, const struct wire_message *m, int64_t at_ms,
                        struct fis_error *e)
{
    struct wire_request_shown r;
    struct fis_error why;
    if (wire_request_show(&h->shown, m, false, &r, &why) <= 0)
        return 0; /* what is no request is nobody's to answer */
    const struct wire_label_request request = {
        .id = r.id,
        .round = r.round,
        .votes = r.votes,
        .requested_at_ms = r.requested_at_ms,
        .deadline_ms = r.deadline_ms,
        .cancelled = r.cancelled,
        .reason = r.reason,
    };
    int rc = label_queue_request(h->queue, &request, at_ms, m->value, e);
    wire_request_shown_done(&r);
    return rc;
}

/* What is no label is the trainer's to refuse: nobody has answered by it. */
static int take_label(struct label_host *h, const struct wire_message *m, int64_t at_ms,
                      struct fis_error *e)
{
    const struct pipeline *p = &h->ctx->pipeline;
    struct wire_label label;
    struct fis_error why;
    fis_arena_reset(&h->arena);
    enum wire_decoded d = p->labels == WIRE_PROTOBUF
                              ? wire_protobuf_label(&p->schema, m, &h->arena, &label, &why)
                              : wire_json_label(&p->schema, m, &h->arena, &label, &why);
    return d == WIRE_OK ? label_queue_label(h->queue, &label, at_ms, e) : 0;
}

static int take(struct label_host *h, int which, const struct stream_message *s,
                struct fis_error *e)
{
    const struct wire_message m = binding_message(s, h->readers[which].topic);
    int64_t at_ms = s->timestamp_ms >= 0 ? s->timestamp_ms : context_now().wall_ms;
    return which == READ_REQUESTS ? take_request(h, &m, at_ms, e) : take_label(h, &m, at_ms, e);
}

static void fail(struct label_host *h, const struct fis_error *e)
{
    h->failed = true;
    context_fail(h->ctx, "labelling", e);
}

static void take_event(struct label_host *h, struct reader *r,
                       const struct stream_consumer_event *ev)
{
    switch (ev->kind) {
    case STREAM_END:
        r->ended = true;
        break;
    case STREAM_BLOCKED:
        r->blocked = true;
        context_blocked("labelling", &ev->error);
        break;
    case STREAM_ERROR:
        if (ev->error.kind == FIS_FATAL)
            fail(h, &ev->error);
        else
            context_trouble(h->ctx, "labelling", &ev->error);
        break;
    default:
        break;
    }
}

/* What is behind an open transaction is not there yet for anybody: once nothing else comes, all has
 * been read. */
static void look_for_end(struct reader *r, uint32_t n)
{
    uint64_t now_ms = context_now().mono_ms;
    if (n)
        r->read_ms = now_ms;
    r->ended |= r->blocked && now_ms - r->read_ms > QUIET_MS;
}

/* True when there may be more. */
static bool read_some(struct label_host *h, int which)
{
    struct reader *r = &h->readers[which];
    struct stream_consumer_event ev;
    struct fis_error e;
    int rc = 0;
    if (!r->consumer)
        return false;
    uint32_t n = stream_consumer_read(r->consumer, h->batch, READ_BATCH);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = take(h, which, &h->batch->messages[i], &e);
    stream_batch_release(h->batch);
    if (rc)
        fail(h, &e);
    while (stream_consumer_event(r->consumer, &ev))
        take_event(h, r, &ev);
    look_for_end(r, n);
    return n == READ_BATCH;
}

static int open_reader(struct label_host *h, int which, const char *topic, const char *name,
                       struct fis_error *e)
{
    struct reader *r = &h->readers[which];
    r->topic = topic;
    struct stream_consumer_options o = {
        .client = context_client(h->ctx), .topics = &r->topic, .topic_count = 1};
    o.client.name = name;
    return stream_consumer_open(&r->consumer, &o, e);
}

/* Labels come behind the requests: whose request is not known counts for nothing. */
static void read_labels_next(struct label_host *h)
{
    struct fis_error e;
    if (h->readers[READ_REQUESTS].ended && !h->readers[READ_LABELS].consumer && !h->failed &&
        open_reader(h, READ_LABELS, h->ctx->cfg->topics.labels, "page-labels", &e) < 0)
        fail(h, &e);
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void on_report(void *host, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct label_host *h = host;
    if (kind != FIS_OK)
        log_line(LOG_LEVEL_WARN, "label", "text=\"an answer was not delivered\" reason=\"%s\"",
                 text);
    label_queue_sent(h->queue, token, kind == FIS_OK, kind != FIS_INPUT);
}

static int send_label(struct label_host *h, const struct wire_label *l, uint64_t token,
                      struct fis_error *e)
{
    const struct pipeline *p = &h->ctx->pipeline;
    const struct stream_producer_options o = {.client = context_client(h->ctx), .patient = true};
    int rc = h->producer ? 0 : stream_producer_open(&h->producer, &o, e);
    h->value.length = 0;
    if (!rc)
        rc = p->labels == WIRE_PROTOBUF ? wire_protobuf_label_encode(&p->schema, l, &h->value, e)
                                        : wire_json_label_encode(&p->schema, l, &h->value, e);
    if (!rc)
        rc = stream_producer_send(h->producer, h->ctx->cfg->topics.labels, -1, l->id.bytes,
                                  l->id.length, h->value.data, h->value.length, token, e);
    return rc;
}

static void send_due(struct label_host *h)
{
    struct trainer_time now = context_now();
    struct wire_label l;
    struct fis_error e;
    uint64_t token;
    while (label_queue_send(h->queue, h->stopping, now, &l, &token)) {
        int rc = send_label(h, &l, token, &e);
        if (!rc)
            continue;
        context_trouble(h->ctx, "labelling", &e);
        label_queue_sent(h->queue, token, false, rc != -FIS_INPUT);
        if (rc != -FIS_INPUT)
            return; /* at the next turn */
    }
}

static void take_reports(struct label_host *h)
{
    struct fis_error e;
    bool broken = false;
    while (h->producer && stream_producer_poll(h->producer, on_report, h))
        ;
    while (h->producer && stream_producer_error(h->producer, &e)) {
        context_trouble(h->ctx, "labelling", &e);
        broken |= e.kind == FIS_FATAL;
    }
    if (broken) { /* the next answer has a new one */
        stream_producer_close(h->producer);
        h->producer = NULL;
    }
}

bool label_host_turn(struct label_host *h)
{
    bool more = false;
    for (int i = 0; i < READERS && !h->failed; i++)
        more |= read_some(h, i);
    read_labels_next(h);
    send_due(h);
    take_reports(h);
    return more;
}

/* ---- life ------------------------------------------------------------------------------------ */

static const char *column_name(const void *config, uint32_t i)
{
    const struct config *cfg = config;
    return i < cfg->columns.count ? cfg->columns.items[i].name : NULL;
}

void label_host_adjust(struct label_host *h)
{
    const struct config_labels *l = &h->ctx->cfg->labels;
    label_queue_set(h->queue, &(struct label_queue_options){l->lease, l->undo});
}

static int open_all(struct label_host *h, struct fis_error *e)
{
    const struct config *cfg = h->ctx->cfg;
    h->arena.size = 4 * cfg->records.max_bytes + 65536;
    h->arena.base = fis_alloc(h->arena.size, 1);
    h->batch = stream_batch_new(READ_BATCH);
    h->queue = label_queue_new(&(struct label_queue_options){cfg->labels.lease, cfg->labels.undo});
    if (!h->arena.base || !h->batch || !h->queue)
        return fis_fail(e, FIS_NOMEM, "no memory for the labelling page");
    return open_reader(h, READ_REQUESTS, cfg->topics.label_requests, "page-requests", e);
}

int label_host_open(struct label_host **out, struct context *ctx, struct fis_error *e)
{
    struct label_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the labelling page");
    h->ctx = ctx;
    h->schema = ctx->pipeline.schema;
    h->schema.label_framing = (struct wire_framing){.kind = WIRE_FRAMING_NONE};
    h->shown = (struct wire_request_reader){.encoding = ctx->pipeline.labels,
                                            .column = column_name,
                                            .arg = ctx->cfg,
                                            .schema = &h->schema};
    int rc = open_all(h, e);
    if (rc < 0) {
        label_host_close(h, 0);
        return rc;
    }
    *out = h;
    return 0;
}

void label_host_stop(struct label_host *h)
{
    h->stopping = true;
}

bool label_host_stopped(const struct label_host *h)
{
    return h->stopping && label_queue_pending(h->queue) == 0;
}

void label_host_close(struct label_host *h, int timeout_ms)
{
    if (!h)
        return;
    if (h->batch)
        stream_batch_free(h->batch);
    for (int i = 0; i < READERS; i++)
        stream_consumer_close(h->readers[i].consumer, timeout_ms);
    stream_producer_close(h->producer);
    label_queue_free(h->queue);
    byte_buffer_done(&h->value);
    fis_free(h->arena.base);
    fis_free(h);
}

/* ---- for the page ---------------------------------------------------------------------------- */

struct label_queue *label_host_queue(struct label_host *h)
{
    return h->queue;
}

const char *label_host_waits(const struct label_host *h)
{
    if (h->readers[READ_REQUESTS].ended && h->readers[READ_LABELS].ended)
        return NULL;
    return "label requests and labels are being read";
}

int label_host_show(const struct label_host *h, const struct label_task *t,
                    struct wire_request_shown *out, struct fis_error *e)
{
    const struct wire_message m = {
        .topic = "", .key = {t->id->bytes, t->id->length}, .value = t->payload};
    int rc = wire_request_show(&h->shown, &m, true, out, e);
    if (rc > 0 && out->record)
        return 0;
    if (rc >= 0)
        wire_request_shown_done(out);
    return rc < 0 ? rc : fis_fail(e, FIS_INPUT, "the record is not there, or cannot be shown");
}

int label_host_read(struct label_host *h, const void *body, size_t length, struct wire_label *out,
                    struct fis_error *e)
{
    const struct wire_message m = {.topic = "", .value = {body, length}};
    fis_arena_reset(&h->arena);
    enum wire_decoded d = wire_json_label(&h->schema, &m, &h->arena, out, e);
    return d == WIRE_OK ? 0 : -(int)FIS_INPUT;
}

#include "daemon/monitor/fleet.h"

#include <stdio.h>
#include <string.h>

#include "binding/binding.h"
#include "stream/producer.h"
#include "wire/chunk.h"
#include "wire/model.h"

#define READ_BATCH 64
#define OPEN_VERSIONS 8
#define LEAVE_MS 500
#define MOST_UNSENT 4
/* Trouble that lasts longer than a reconnection is reported. */
#define TROUBLE_MS 10000

enum { FLEET_TOPIC, MODELS_TOPIC, TOPICS };
enum { READING, WRITING, WAYS };

struct fleet {
    struct context *ctx;
    const char *topics[TOPICS];
    struct stream_consumer *consumer;
    struct stream_producer *producer;
    struct stream_batch *batch;
    struct wire_assembler *models; /* NULL: somebody else reads them */
    struct byte_buffer buffer;
    struct fleet_process all[FLEET_MAX];
    uint32_t n;
    struct wire_process sent; /* last */
    uint64_t sent_ms;
    bool live; /* what was there at the start has been read */
    char trouble[WAYS][FIS_ERROR_TEXT];
    uint64_t well_ms; /* since then there is some */
    bool reported;
};

/* ---- life ------------------------------------------------------------------------------------ */

static int open_clients(struct fleet *f, struct fis_error *e)
{
    struct stream_consumer_options c = {
        .client = context_client(f->ctx),
        .topics = f->topics,
        .topic_count = f->models ? TOPICS : FLEET_TOPIC + 1,
    };
    struct stream_producer_options p = {.client = context_client(f->ctx)};
    c.client.name = "fleet";
    p.client.name = "fleet-reports";
    int rc = stream_producer_open(&f->producer, &p, e);
    return rc < 0 ? rc : stream_consumer_open(&f->consumer, &c, e);
}

int fleet_open(struct fleet **out, struct context *ctx, struct fis_error *e)
{
    struct fleet *f = fis_calloc(1, sizeof *f);
    bool follow = !(ctx->cfg->roles & CONFIG_TRAINER); /* its session reads them anyway */
    if (!f)
        return fis_fail(e, FIS_NOMEM, "no memory for the list of processes");
    f->ctx = ctx;
    f->topics[FLEET_TOPIC] = ctx->cfg->topics.fleet;
    f->topics[MODELS_TOPIC] = ctx->cfg->topics.models;
    f->batch = stream_batch_new(READ_BATCH);
    f->models = follow ? wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0) : NULL;
    int rc = f->batch && (f->models || !follow)
                 ? open_clients(f, e)
                 : fis_fail(e, FIS_NOMEM, "no memory for the list of processes");
    if (rc < 0) {
        fleet_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void fleet_close(struct fleet *f)
{
    if (!f)
        return;
    stream_batch_free(f->batch);
    stream_consumer_close(f->consumer, 1000);
    stream_producer_close(f->producer);
    wire_assembler_free(f->models);
    byte_buffer_done(&f->buffer);
    fis_free(f);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void note_trouble(struct fleet *f, int way, const char *text)
{
    snprintf(f->trouble[way], sizeof f->trouble[way], "%s", text);
}

static const char *trouble(const struct fleet *f)
{
    return f->trouble[*f->trouble[WRITING] ? WRITING : READING];
}

/* A stream_report_fn. */
static void on_report(void *fleet, uint64_t token, enum fis_error_kind kind, const char *text)
{
    (void)token;
    note_trouble(fleet, WRITING, kind == FIS_OK ? "" : text);
}

static void forget(struct fleet *f, uint32_t i)
{
    memmove(f->all + i, f->all + i + 1, (--f->n - i) * sizeof *f->all);
}

/* By name, so that a page shows them in one order; NULL: there are too many. */
static struct fleet_process *place(struct fleet *f, const char *name)
{
    uint32_t i = 0;
    while (i < f->n && strcmp(f->all[i].p.name, name) < 0)
        i++;
    if (i < f->n && strcmp(f->all[i].p.name, name) == 0)
        return &f->all[i];
    if (f->n == FLEET_MAX)
        return NULL;
    memmove(f->all + i + 1, f->all + i, (f->n++ - i) * sizeof *f->all);
    return &f->all[i];
}

static void take_process(struct fleet *f, const struct wire_message *m)
{
    struct wire_process p;
    struct fis_error e;
    uint64_t age = 0;
    struct trainer_time now = context_now();
    if (wire_process_decode(m, &p, &e) != WIRE_OK || strcmp(p.pipeline, f->ctx->cfg->pipeline) != 0)
        return;
    if (!f->live && m->timestamp_ms >= 0 && m->timestamp_ms < now.wall_ms)
        age = (uint64_t)(now.wall_ms - m->timestamp_ms);
    if (strcmp(p.name, f->sent.name) == 0 || age >= FLEET_KEEP_MS)
        return;
    struct fleet_process *at = place(f, p.name);
    if (at)
        *at = (struct fleet_process){p, now.mono_ms > age ? now.mono_ms - age : 0};
    if (at && p.stopped)
        forget(f, (uint32_t)(at - f->all));
}

static void take_model(struct fleet *f, const struct wire_message *m)
{
    struct wire_model_owned model;
    struct wire_bytes payload;
    struct fis_error e;
    uint64_t version;
    if (wire_assembler_feed(f->models, m->value, &payload, &version, &e) <= 0 ||
        wire_model_decode(payload, &model, &e) < 0)
        return; /* the trainer names what is not fisd's */
    observe_model(&f->ctx->observer, &model.model);
    wire_model_done(&model);
}

static void take_event(struct fleet *f, const struct stream_consumer_event *ev)
{
    if (ev->kind == STREAM_ERROR)
        note_trouble(f, READING, ev->error.text);
    else if (ev->kind == STREAM_END)
        f->live = true;
}

void fleet_turn(struct fleet *f)
{
    struct stream_consumer_event ev;
    uint32_t n;
    if (!f)
        return;
    stream_producer_poll(f->producer, on_report, f);
    do {
        n = stream_consumer_read(f->consumer, f->batch, READ_BATCH);
        for (uint32_t i = 0; i < n; i++) {
            const struct stream_message *s = &f->batch->messages[i];
            struct wire_message m = binding_message(s, f->topics[s->topic]);
            (s->topic == FLEET_TOPIC ? take_process : take_model)(f, &m);
        }
        if (n)
            note_trouble(f, READING, "");
        stream_batch_release(f->batch);
    } while (n == READ_BATCH && !f->models);
    if (n == READ_BATCH)
        context_wake(f->ctx); /* versions may be large: one batch a turn */
    while (stream_consumer_event(f->consumer, &ev))
        take_event(f, &ev);
}

/* ---- reporting ------------------------------------------------------------------------------- */

static void report(struct fleet *f, const struct wire_process *self)
{
    struct fis_error e;
    f->buffer.length = 0;
    f->sent = *self;
    f->sent_ms = context_now().mono_ms;
    if (stream_producer_outstanding(f->producer) >= MOST_UNSENT)
        return;
    if (wire_process_encode(self, &f->buffer, &e) < 0 ||
        stream_producer_send(f->producer, f->topics[FLEET_TOPIC], 0, self->name, strlen(self->name),
                             f->buffer.data, f->buffer.length, 0, &e) < 0)
        note_trouble(f, WRITING, e.text);
}

/* What others should see at once. */
static bool changed(const struct wire_process *a, const struct wire_process *b)
{
    return a->ready != b->ready || a->leads != b->leads || a->n_alarms != b->n_alarms ||
           strcmp(a->state, b->state) != 0 || a->leading.training != b->leading.training ||
           a->leading.served_version != b->leading.served_version ||
           strcmp(a->leading.phase, b->leading.phase) != 0 ||
           strcmp(a->leading.asking, b->leading.asking) != 0;
}

void fleet_tick(struct fleet *f, const struct wire_process *self, bool quiet)
{
    uint64_t now = context_now().mono_ms;
    if (!f)
        return;
    for (uint32_t i = f->n; i-- > 0;)
        if (now - f->all[i].seen_ms >= FLEET_KEEP_MS)
            forget(f, i);
    if (!f->sent_ms || now - f->sent_ms >= FLEET_INTERVAL_MS || changed(self, &f->sent))
        report(f, self);
    if (!*trouble(f) || quiet) {
        f->well_ms = now;
        f->reported = false;
    } else if (!f->reported && now - f->well_ms >= TROUBLE_MS) {
        f->reported = true;
        log_line(LOG_LEVEL_WARN, "fleet",
                 "text=\"the other processes of the pipeline are not seen, or do not see this one: "
                 "create %s (fisctl topics create), allow Read and Write on it, and without the "
                 "role trainer Read on %s\" "
                 "reason=\"%s\"",
                 f->topics[FLEET_TOPIC], f->topics[MODELS_TOPIC], trouble(f));
    }
}

void fleet_leave(struct fleet *f, const struct wire_process *self)
{
    struct fis_error e;
    if (!f)
        return;
    report(f, self);
    if (stream_producer_flush(f->producer, LEAVE_MS, NULL, NULL, &e) < 0)
        log_line(LOG_LEVEL_DEBUG, "fleet", "text=\"its end is not reported\" reason=\"%s\"",
                 e.text);
}

/* ---- what is shown --------------------------------------------------------------------------- */

bool fleet_silent(const struct fleet_process *f, uint64_t now_ms)
{
    return wire_process_silent(&f->p, now_ms - f->seen_ms);
}

const struct fleet_process *fleet_others(const struct fleet *f, uint32_t *n)
{
    *n = f ? f->n : 0;
    return f ? f->all : NULL;
}

const char *fleet_trouble(const struct fleet *f)
{
    return f && context_now().mono_ms - f->well_ms >= TROUBLE_MS ? trouble(f) : "";
}

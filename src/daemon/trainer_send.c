#include "daemon/trainer_send.h"

#include <string.h>

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/json_codec.h"
#include "wire/ledger.h"
#include "wire/model.h"
#include "wire/protobuf_codec.h"
#include "wire/raw.h"

void trainer_send_init(struct trainer_send *s, struct runtime *rt, struct outbox *outbox,
                       struct intake *intake, struct fis_arena *arena)
{
    *s = (struct trainer_send){.rt = rt, .outbox = outbox, .intake = intake, .arena = arena};
}

void trainer_send_done(struct trainer_send *s)
{
    wire_buffer_done(&s->payload);
    wire_buffer_done(&s->chunk);
    wire_buffer_done(&s->key);
}

bool trainer_send_failed(const struct trainer_send *s, struct fis_error *e)
{
    if (s->failed.class == FIS_OK)
        return false;
    *e = s->failed;
    return true;
}

static void check(struct trainer_send *s, int rc, const struct fis_error *e)
{
    if (rc < 0 && s->failed.class == FIS_OK)
        s->failed = *e;
}

static struct wire_bytes view(const struct wire_buffer *b)
{
    return (struct wire_bytes){b->data, b->length};
}

static int put(struct trainer_send *s, const char *topic, struct wire_bytes key,
               struct fis_error *e)
{
    return outbox_send(s->outbox, topic, key, view(&s->payload), e);
}

/* ---- requests ------------------------------------------------------------------------------ */

/* A record that is not JSON, as named values for the person who labels it. */
static int named_values(struct trainer_send *s, const struct wire_label_request *r,
                        struct wire_named_values *named, struct fis_error *e)
{
    const struct pipeline *p = &s->rt->pipeline;
    uint32_t n = p->n_columns;
    const char **names = fis_arena_alloc(s->arena, n * sizeof *names);
    struct fis_value *values = fis_arena_alloc(s->arena, n * sizeof *values);
    float *raw = fis_arena_alloc(s->arena, n * sizeof *raw);
    const float *from = raw;
    if (!names || !values || !raw)
        return fis_fail(e, FIS_NOMEM, "a label request needs more than %zu bytes", s->arena->size);
    if (r->encoding == WIRE_RAW)
        wire_floats_from_le(raw, r->record.data, n);
    else if (wire_protobuf_values(r->record, n, s->arena, &from, e) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        names[i] = p->columns[i].name;
        values[i] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = from[i]};
    }
    *named = (struct wire_named_values){names, values, n};
    return 0;
}

static int encode_request(struct trainer_send *s, const struct wire_label_request *r,
                          struct fis_error *e)
{
    const struct wire_schema *schema = &s->rt->pipeline.schema;
    struct wire_named_values named = {0};
    s->payload.length = 0;
    if (s->rt->pipeline.labels != WIRE_JSON)
        return wire_protobuf_request_encode(schema, r, &s->payload, e);
    fis_arena_reset(s->arena);
    if (r->encoding != WIRE_JSON && named_values(s, r, &named, e) < 0)
        return -1;
    return wire_json_label_request(schema, r, r->encoding == WIRE_JSON ? NULL : &named, s->arena,
                                   &s->payload, e);
}

static void out_request(void *ctx, const struct wire_label_request *r)
{
    struct trainer_send *s = ctx;
    struct fis_error e;
    int rc = encode_request(s, r, &e);
    if (rc == 0)
        rc = put(s, s->rt->cfg->topics.label_requests, wire_ledger_entry_key(&r->id), &e);
    check(s, rc, &e);
}

/* ---- ledger -------------------------------------------------------------------------------- */

static void out_ledger(void *ctx, const struct wire_ledger_entry *entry)
{
    struct trainer_send *s = ctx;
    struct fis_error e;
    s->payload.length = 0;
    int rc = wire_ledger_entry_encode(entry, &s->payload, &e);
    if (rc == 0)
        rc = put(s, s->rt->cfg->topics.ledger, wire_ledger_entry_key(&entry->id), &e);
    check(s, rc, &e);
}

static void out_state(void *ctx, const struct wire_trainer_state *state)
{
    struct trainer_send *s = ctx;
    struct fis_error e;
    s->payload.length = 0;
    int rc = wire_ledger_state_encode(state, &s->payload, &e);
    if (rc == 0)
        rc = put(s, s->rt->cfg->topics.ledger, wire_ledger_state_key, &e);
    check(s, rc, &e);
}

/* ---- heads and versions -------------------------------------------------------------------- */

/* Sends s->payload in chunks; pipeline: of a head, NULL: a model version. */
static int send_chunks(struct trainer_send *s, const char *topic, const char *pipeline,
                       uint64_t version, struct fis_error *e)
{
    struct wire_chunks c;
    int rc = wire_chunks_start(&c, version, view(&s->payload), s->rt->cfg->topics.max_chunk, e);
    while (rc == 0) {
        s->chunk.length = s->key.length = 0;
        rc = wire_chunks_next(&c, &s->chunk, e);
        if (rc <= 0)
            return rc;
        rc = pipeline ? wire_chunk_key_head(pipeline, c.next - 1, &s->key, e)
                      : wire_chunk_key_model(version, c.next - 1, &s->key, e);
        if (rc == 0)
            rc = outbox_send(s->outbox, topic, view(&s->key), view(&s->chunk), e);
    }
    return rc;
}

static void out_head(void *ctx, const struct wire_head *h)
{
    struct trainer_send *s = ctx;
    struct fis_error e;
    s->payload.length = 0;
    int rc = wire_head_encode(h, &s->payload, &e);
    if (rc == 0)
        rc = send_chunks(s, s->rt->cfg->topics.heads, h->pipeline, h->version, &e);
    check(s, rc, &e);
}

static void out_model(void *ctx, const struct wire_model *v)
{
    struct trainer_send *s = ctx;
    struct fis_error e;
    s->payload.length = 0;
    int rc = wire_model_encode(v, &s->payload, &e);
    if (rc == 0)
        rc = send_chunks(s, s->rt->cfg->topics.models, NULL, v->version, &e);
    check(s, rc, &e);
}

static void out_job(void *ctx, enum trainer_job kind)
{
    struct trainer_send *s = ctx;
    (void)kind;
    s->submit_job(s->submit_arg);
}

static void out_note(void *ctx, const char *event, const char *text)
{
    (void)ctx;
    log_line(LOG_LEVEL_INFO, event, "%s", text);
}

static void out_window(void *ctx, enum trainer_window what)
{
    struct trainer_send *s = ctx;
    intake_window(s->intake, what);
}

void trainer_send_out(struct trainer_send *s, void (*submit_job)(void *arg), void *submit_arg,
                      struct trainer_out *out)
{
    s->submit_job = submit_job;
    s->submit_arg = submit_arg;
    *out = (struct trainer_out){
        .ctx = s,
        .request = out_request,
        .ledger = out_ledger,
        .state = out_state,
        .head = out_head,
        .model = out_model,
        .job = out_job,
        .note = out_note,
        .window = out_window,
    };
}

#include "role/trainer_wire.h"

#include <math.h>

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/json_codec.h"
#include "wire/ledger.h"
#include "wire/model.h"
#include "wire/protobuf_codec.h"
#include "wire/raw.h"
#include "wire/record_image.h"

/* What naming the values of a column takes of the arena. */
#define COLUMN_BYTES 96

int trainer_wire_init(struct trainer_wire *w, const struct trainer_wire_options *o,
                      struct fis_error *e)
{
    size_t size = o->schema->max_bytes * WIRE_JSON_PER_BYTE + o->n_columns * (size_t)COLUMN_BYTES +
                  ((size_t)1 << 20);
    *w = (struct trainer_wire){.o = *o};
    if (!w->o.max_chunk)
        w->o.max_chunk = WIRE_CHUNK_BYTES;
    w->arena.base = fis_alloc(size, 1);
    if (!w->arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for label requests");
    w->arena.size = size;
    return 0;
}

void trainer_wire_done(struct trainer_wire *w)
{
    byte_buffer_done(&w->payload);
    byte_buffer_done(&w->chunk);
    byte_buffer_done(&w->key);
    fis_free(w->arena.base);
    *w = (struct trainer_wire){0};
}

bool trainer_wire_failed(const struct trainer_wire *w, struct fis_error *e)
{
    if (w->failed.kind == FIS_OK)
        return false;
    *e = w->failed;
    return true;
}

static struct wire_bytes view(const struct byte_buffer *b)
{
    return (struct wire_bytes){b->data, b->length};
}

/* rc: of encoding w->payload, which goes out when it is 0. */
static void put(struct trainer_wire *w, int rc, enum trainer_topic t, struct wire_bytes key,
                struct fis_error *e)
{
    if (rc == 0 && w->failed.kind == FIS_OK)
        rc = w->o.put(w->o.arg, t, key, view(&w->payload), e);
    if (rc < 0 && w->failed.kind == FIS_OK)
        w->failed = *e;
}

/* ---- requests ------------------------------------------------------------------------------ */

static int raw_values(struct wire_bytes record, uint32_t n, float *out, struct fis_error *e)
{
    int rc = wire_raw_check(record, n, e);
    if (!rc)
        wire_floats_from_le(out, record.data, n);
    return rc;
}

static int image_value(struct trainer_wire *w, const struct wire_image *image,
                       struct fis_value *value, struct fis_error *e)
{
    struct wire_bytes text;
    int rc = wire_image_text(w->o.schema, image, &w->arena, &text, e);
    if (!rc)
        *value =
            (struct fis_value){.kind = FIS_VALUE_TEXT, .text = text.data, .length = text.length};
    return rc;
}

/* A record that is not JSON, as named values for the person who labels it. */
static int named_values(struct trainer_wire *w, const struct wire_label_request *r,
                        struct wire_named_values *named, struct fis_error *e)
{
    uint32_t n = w->o.n_columns;
    const char **names = fis_arena_alloc(&w->arena, n * sizeof *names);
    struct fis_value *values = fis_arena_alloc(&w->arena, n * sizeof *values);
    float *raw = fis_arena_alloc(&w->arena, n * sizeof *raw);
    struct wire_named_values *attributes = fis_arena_alloc(&w->arena, sizeof *attributes);
    struct wire_image image = {0};
    const float *from = raw;
    if (!names || !values || !raw || !attributes)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "a label request needs more than %zu bytes",
                          w->arena.size);
    int rc = r->encoding == WIRE_RAW
                 ? raw_values(r->record, n, raw, e)
                 : wire_protobuf_values(r->record, n, &w->arena, &from, &image, e);
    if (rc >= 0 && r->encoding == WIRE_PROTOBUF)
        rc = wire_protobuf_attributes(r->record, &w->arena, attributes, e);
    if (rc >= 0 && image.data.data) {
        rc = image_value(w, &image, values, e);
        names[0] = WIRE_IMAGE;
        n = 0;
    }
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(from[i]))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "feature %u is not finite", i);
        names[i] = w->o.columns[i].name;
        values[i] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = from[i]};
    }
    *named = (struct wire_named_values){names, values, image.data.data ? 1 : n,
                                        r->encoding == WIRE_PROTOBUF ? attributes : NULL};
    return 0;
}

static int encode_request(struct trainer_wire *w, const struct wire_label_request *r,
                          struct fis_error *e)
{
    const struct wire_schema *schema = w->o.schema;
    struct wire_named_values named = {0};
    bool own_names = r->cancelled || r->encoding == WIRE_JSON;
    if (w->o.labels != WIRE_JSON)
        return wire_protobuf_request_encode(schema, r, &w->payload, e);
    fis_arena_reset(&w->arena);
    if (!own_names && named_values(w, r, &named, e) < 0)
        return -1;
    return wire_json_label_request(schema, r, own_names ? NULL : &named, &w->arena, &w->payload, e);
}

/* What a scorer reports is not trusted: any writer of its topic could have sent it. */
static int out_askable(void *ctx, enum wire_encoding encoding, struct wire_bytes record,
                       struct fis_error *e)
{
    struct trainer_wire *w = ctx;
    const struct wire_label_request r = {.encoding = encoding, .record = record};
    struct wire_named_values named;
    int rc = wire_schema_fits(w->o.schema, record.length, e);
    if (rc)
        return rc;
    fis_arena_reset(&w->arena);
    return encoding == WIRE_JSON ? wire_json_check(record, &w->arena, e)
                                 : named_values(w, &r, &named, e);
}

static void out_request(void *ctx, const struct wire_label_request *r)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = 0;
    put(w, encode_request(w, r, &e), TRAINER_REQUESTS, wire_ledger_entry_key(&r->id), &e);
}

/* ---- ledger -------------------------------------------------------------------------------- */

static void out_ledger(void *ctx, const struct wire_ledger_entry *entry)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = 0;
    put(w, wire_ledger_entry_encode(entry, &w->payload, &e), TRAINER_LEDGER,
        wire_ledger_entry_key(&entry->id), &e);
}

static void out_unheld(void *ctx, const struct fis_id *id)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    if (w->failed.kind == FIS_OK && w->o.put(w->o.arg, TRAINER_LEDGER, wire_ledger_entry_key(id),
                                             (struct wire_bytes){0}, &e) < 0)
        w->failed = e;
}

static void out_forgotten(void *ctx, const struct wire_forgotten *f)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = w->key.length = 0;
    int rc = wire_forgotten_encode(f, &w->payload, &e);
    if (rc == 0)
        rc = wire_forgotten_key(f, &w->key, &e);
    put(w, rc, TRAINER_LEDGER, view(&w->key), &e);
}

static void out_state(void *ctx, const struct wire_trainer_state *state)
{
    struct trainer_wire *w = ctx;
    struct wire_trainer_state whole = *state;
    struct fis_error e;
    w->payload.length = 0;
    if (w->o.control)
        whole.control = *w->o.control;
    whole.state_number = w->o.state_number ? *w->o.state_number : 0;
    whole.identity = w->o.identity ? *w->o.identity : (struct wire_identity){0};
    put(w, wire_ledger_state_encode(&whole, &w->payload, &e), TRAINER_LEDGER, wire_ledger_state_key,
        &e);
    if (w->o.state)
        w->o.state(w->o.arg, state);
}

/* ---- what goes in chunks ------------------------------------------------------------------- */

struct chunked {
    enum trainer_topic topic;
    const char *pipeline; /* of a head */
    uint64_t version;
};

static int chunk_key(struct trainer_wire *w, const struct chunked *c, uint32_t index,
                     struct fis_error *e)
{
    if (c->topic == TRAINER_HEADS)
        return wire_chunk_key_head(c->pipeline, index, &w->key, e);
    if (c->topic == TRAINER_MODELS)
        return wire_chunk_key_model(c->version, index, &w->key, e);
    return wire_checkpoint_key(index, &w->key, e);
}

/* Sends w->payload. */
static int put_chunks(struct trainer_wire *w, const struct chunked *c, struct fis_error *e)
{
    struct wire_chunks chunks;
    int rc = wire_chunks_start(&chunks, c->version, view(&w->payload), w->o.max_chunk, e);
    while (rc == 0) {
        w->chunk.length = w->key.length = 0;
        rc = wire_chunks_next(&chunks, &w->chunk, e);
        if (rc <= 0)
            return rc;
        rc = chunk_key(w, c, chunks.next - 1, e);
        if (rc == 0)
            rc = w->o.put(w->o.arg, c->topic, view(&w->key), view(&w->chunk), e);
    }
    return rc;
}

static void out_chunks(struct trainer_wire *w, int rc, const struct chunked *c, struct fis_error *e)
{
    if (rc == 0 && w->failed.kind == FIS_OK)
        rc = put_chunks(w, c, e);
    if (rc < 0 && w->failed.kind == FIS_OK)
        w->failed = *e;
}

static void out_head(void *ctx, const struct wire_head *h)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = 0;
    out_chunks(w, wire_head_encode(h, &w->payload, &e),
               &(struct chunked){TRAINER_HEADS, h->pipeline, h->version}, &e);
}

static void out_floors(void *ctx, const char *pipeline, const struct wire_floors *f)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = w->key.length = 0;
    int rc = wire_floors_encode(f, &w->payload, &e);
    if (rc == 0)
        rc = wire_floors_key(pipeline, &w->key, &e);
    put(w, rc, TRAINER_HEADS, view(&w->key), &e);
}

static void out_model(void *ctx, const struct wire_model *v)
{
    struct trainer_wire *w = ctx;
    struct wire_model whole = *v;
    struct fis_error e;
    w->payload.length = 0;
    whole.changes = w->o.identity ? w->o.identity->changes : NULL;
    whole.n_changes = w->o.identity ? w->o.identity->n_changes : 0;
    out_chunks(w, wire_model_encode(&whole, &w->payload, &e),
               &(struct chunked){TRAINER_MODELS, NULL, v->version}, &e);
    if (w->o.model)
        w->o.model(w->o.arg, &whole);
}

static void out_checkpoint(void *ctx, const struct wire_checkpoint *c)
{
    struct trainer_wire *w = ctx;
    struct fis_error e;
    w->payload.length = 0;
    out_chunks(w, wire_checkpoint_encode(c, &w->payload, &e),
               &(struct chunked){TRAINER_LEDGER, NULL, c->version}, &e);
}

/* ---- what is handed on --------------------------------------------------------------------- */

static void out_job(void *ctx, enum trainer_job kind)
{
    struct trainer_wire *w = ctx;
    w->o.job(w->o.arg, kind);
}

static void out_note(void *ctx, const char *event, const char *text)
{
    struct trainer_wire *w = ctx;
    if (w->o.note)
        w->o.note(w->o.arg, event, text);
}

static void out_pool(void *ctx)
{
    struct trainer_wire *w = ctx;
    if (w->o.pool)
        w->o.pool(w->o.arg);
}

void trainer_wire_out(struct trainer_wire *w, struct trainer_out *out)
{
    *out = (struct trainer_out){
        .ctx = w,
        .request = out_request,
        .ledger = out_ledger,
        .unheld = out_unheld,
        .forgotten = out_forgotten,
        .state = out_state,
        .checkpoint = out_checkpoint,
        .head = out_head,
        .floors = out_floors,
        .model = out_model,
        .job = out_job,
        .note = out_note,
        .pool = out_pool,
        .askable = out_askable,
    };
}

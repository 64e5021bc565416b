#include "daemon/trainer/example_topic.h"

#include "fis/mem.h"
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#define uthash_fatal(text) abort()
#include <uthash.h>

#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

struct kept {
    UT_hash_handle hh;
    struct fis_id id;
    char *key, *value;
    size_t key_length, value_length;
    int32_t partition;
    int64_t offset;
};

struct example_topic {
    struct context *ctx;
    const struct wire_schema *schema;
    int with_sensitive;
    struct session *session; /* places are reported to it; NULL: to nobody */
    const char *topics[1];
    struct kafka_reader *reader;
    struct fis_arena arena;
    struct kept *table;
    bool complete;
    int64_t newest_ms; /* timestamp of the newest example */
};

int example_topic_open(struct example_topic **out, struct context *ctx, const char *topic,
                       const struct wire_schema *schema, int with_sensitive,
                       struct session *session, struct fis_error *e)
{
    struct example_topic *t = fis_calloc(1, sizeof *t);
    if (!t)
        return fis_fail(e, FIS_NOMEM, "no memory to read %s", topic);
    t->ctx = ctx;
    t->schema = schema;
    t->with_sensitive = with_sensitive;
    t->session = session;
    t->topics[0] = topic;
    t->arena.size = schema->max_bytes * 24 + ((size_t)256 << 10);
    t->arena.base = fis_alloc(t->arena.size, 1);
    const struct kafka_reader_options o = {
        .topics = t->topics, .first = SESSION_VALIDATION, .n_topics = 1};
    int rc = t->arena.base ? kafka_reader_open(&t->reader, ctx, &o, e)
                           : fis_fail(e, FIS_NOMEM, "no memory to read %s", topic);
    if (rc < 0) {
        example_topic_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

static void drop(struct example_topic *t, struct kept *k)
{
    HASH_DEL(t->table, k);
    fis_free(k->key);
    fis_free(k->value);
    fis_free(k);
}

void example_topic_close(struct example_topic *t)
{
    if (!t)
        return;
    struct kept *k, *next;
    HASH_ITER (hh, t->table, k, next)
        drop(t, k);
    kafka_reader_close(t->reader, 0);
    fis_free(t->arena.base);
    fis_free(t);
}

/* What this says is good can be built from: one bad example must not spoil the set. */
static enum wire_decoded decode(struct example_topic *t, const struct wire_message *m,
                                struct wire_example *x, struct fis_error *e)
{
    const struct pipeline *p = &t->ctx->pipeline;
    const struct wire_schema *s = t->schema;
    fis_arena_reset(&t->arena);
    enum wire_decoded got =
        p->records == WIRE_JSON || p->records == WIRE_REGISTRY
            ? wire_json_example(s, p->columns, p->n_columns, t->with_sensitive, m, &t->arena, x, e)
            : wire_protobuf_example(s, p->n_columns, t->with_sensitive, m, &t->arena, x, e);
    if (got == WIRE_OK && t->with_sensitive && data_groups_check(s, x->sensitive, e) < 0)
        return WIRE_BAD;
    return got;
}

static struct kept *find(struct example_topic *t, const struct fis_id *id)
{
    struct kept *k;
    HASH_FIND(hh, t->table, id->bytes, id->length, k);
    return k;
}

static int keep(struct example_topic *t, const struct fis_id *id, const struct wire_message *m,
                struct fis_error *e)
{
    struct kept *k = fis_calloc(1, sizeof *k), *old = find(t, id);
    if (!k)
        return fis_fail(e, FIS_NOMEM, "no memory for examples of %s", t->topics[0]);
    k->id = *id;
    k->key = m->key.data ? fis_memdup(m->key.data, m->key.length) : NULL;
    k->key_length = m->key.length;
    k->value = fis_memdup(m->value.data, m->value.length);
    k->value_length = m->value.length;
    k->partition = m->partition;
    k->offset = m->offset;
    if (!k->value || (m->key.data && !k->key)) {
        fis_free(k->key);
        fis_free(k->value);
        fis_free(k);
        return fis_fail(e, FIS_NOMEM, "no memory for examples of %s", t->topics[0]);
    }
    if (old)
        drop(t, old);
    HASH_ADD_KEYPTR(hh, t->table, k->id.bytes, k->id.length, k);
    return 0;
}

static int take(struct example_topic *t, const struct wire_message *m, bool *changed,
                struct fis_error *e)
{
    struct wire_example x;
    struct fis_error why;
    struct kept *k;
    switch (decode(t, m, &x, &why)) {
    case WIRE_OK:
        *changed = true;
        if (m->timestamp_ms > t->newest_ms)
            t->newest_ms = m->timestamp_ms;
        return keep(t, &x.id, m, e);
    case WIRE_TOMBSTONE:
        if ((k = find(t, &x.id))) {
            drop(t, k);
            *changed = true;
        }
        return 0;
    case WIRE_BAD:
        log_line(LOG_LEVEL_ERROR, "example_refused",
                 "topic=%s partition=%d offset=%lld reason=\"%s\"", m->topic, (int)m->partition,
                 (long long)m->offset, why.text);
    }
    return 0;
}

int example_topic_turn(struct example_topic *t, bool *changed, struct fis_error *e)
{
    struct session_input in;
    int rc;
    while ((rc = kafka_reader_read(t->reader, &in, e)) > 0) {
        const struct wire_message *m = &in.message;
        t->complete |= in.event == SESSION_END;
        if (in.event != SESSION_MESSAGE)
            continue;
        if ((t->session &&
             session_moved(t->session, in.topic, m->partition, m->offset + 1, e) < 0) ||
            take(t, m, changed, e) < 0)
            return -FIS_NOMEM;
    }
    return rc;
}

const char *example_topic_waits(const struct example_topic *t)
{
    return t ? kafka_reader_waits(t->reader) : NULL;
}

bool example_topic_complete(const struct example_topic *t)
{
    return t->complete;
}

uint32_t example_topic_count(const struct example_topic *t)
{
    return HASH_COUNT(t->table);
}

static int by_id(struct kept *a, struct kept *b)
{
    return fis_id_compare(&a->id, &b->id);
}

static int decode_kept(struct example_topic *t, const struct kept *k, struct wire_example *x,
                       struct fis_error *e)
{
    struct wire_message m = {
        .topic = t->topics[0],
        .partition = k->partition,
        .offset = k->offset,
        .key = {k->key, k->key_length},
        .value = {k->value, k->value_length},
    };
    return decode(t, &m, x, e) == WIRE_OK ? 0 : fis_error_prefix(e, "%s", t->topics[0]);
}

struct fis_encoder *example_topic_fit(struct example_topic *t, uint32_t max_categories,
                                      struct fis_error *e)
{
    const struct pipeline *p = &t->ctx->pipeline;
    struct wire_example x;
    if (!t->table) {
        fis_fail(e, FIS_FATAL, "topic %s: there is no example to fit the columns on", t->topics[0]);
        return NULL;
    }
    struct fis_encoder *enc = fis_encoder_new(p->columns, p->n_columns, max_categories, e);
    HASH_SORT(t->table, by_id);
    if (enc && (fis_encoder_expect_trees(enc, p->tree_margins, e) < 0 ||
                wire_schema_fit_image(&p->schema, enc, e) < 0))
        goto fail;
    for (struct kept *k = t->table; enc && k; k = k->hh.next)
        if (decode_kept(t, k, &x, e) < 0 || fis_encoder_observe(enc, x.values, e) < 0)
            goto fail;
    if (enc && fis_encoder_finish(enc, e) == 0)
        return enc;
fail:
    fis_encoder_free(enc);
    return NULL;
}

static int build_row(struct example_topic *t, const struct fis_encoder *encoder,
                     const struct kept *k, struct data_examples *out, struct fis_error *e)
{
    struct wire_example x;
    uint32_t i = out->n;
    float *row = out->x + (size_t)i * out->d;
    if (decode_kept(t, k, &x, e) < 0 || fis_encoder_encode(encoder, x.values, row, NULL, e) < 0)
        return -1;
    int rc = t->with_sensitive
                 ? data_groups_add(&out->names, t->schema, x.sensitive, &out->groups[i], e)
                 : 0;
    out->left_out += rc > 0;
    if (rc)
        return rc < 0 ? rc : 0;
    fis_encoder_unseen(encoder, row, out->unseen);
    out->labels[i] = x.class_index;
    out->ids[i] = x.id;
    out->n++;
    return 0;
}

int example_topic_build(struct example_topic *t, const struct fis_encoder *encoder,
                        struct data_examples *out, struct fis_error *e)
{
    uint32_t n = HASH_COUNT(t->table), d = fis_encoder_dimension(encoder);
    struct data_examples x = {.d = d};
    int rc = 0;
    x.x = fis_alloc((size_t)n * d, sizeof *x.x);
    x.labels = fis_alloc(n, sizeof *x.labels);
    x.groups = t->with_sensitive ? fis_alloc(n, sizeof *x.groups) : NULL;
    x.ids = fis_alloc(n, sizeof *x.ids);
    x.unseen = fis_calloc(fis_encoder_columns(encoder), sizeof *x.unseen);
    if (!x.x || !x.labels || !x.ids || !x.unseen || (t->with_sensitive && !x.groups))
        rc = fis_fail(e, FIS_NOMEM, "no memory for %u examples", n);
    HASH_SORT(t->table, by_id);
    for (struct kept *k = t->table; rc == 0 && k; k = k->hh.next)
        rc = build_row(t, encoder, k, &x, e);
    if (rc < 0) {
        data_examples_done(&x);
        return rc;
    }
    if (x.groups)
        data_groups_sort(&x.names, x.groups, x.n);
    *out = x;
    return 0;
}

int64_t example_topic_newest(const struct example_topic *t)
{
    return t->newest_ms;
}

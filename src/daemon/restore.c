#include "daemon/restore.h"

#include <string.h>

#include "fis/mem.h"
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#define uthash_fatal(text) abort()
#include <uthash.h>

#include "stream/consumer.h"
#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/ledger.h"
#include "wire/model.h"

#define READ_BATCH 256
#define OPEN_VERSIONS 8

enum { LEDGER, HEADS, MODELS, TOPICS };

struct kept { /* the newest value of a ledger key, as it came */
    UT_hash_handle hh;
    char *value;
    size_t length;
    size_t key_length;
    char key[];
};

struct restore {
    struct runtime *rt;
    const char *topics[TOPICS];
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    struct fis_arena arena;
    struct wire_assembler *heads, *models;
    struct wire_head_owned head;
    struct wire_model_owned served;
    struct kept *ledger;
    struct wire_trainer_state state;
    bool complete, have_state;
};

int restore_open(struct restore **out, struct runtime *rt, struct fis_error *e)
{
    struct restore *r = fis_calloc(1, sizeof *r);
    if (!r)
        return fis_fail(e, FIS_NOMEM, "no memory to restore");
    r->rt = rt;
    r->topics[LEDGER] = rt->cfg->topics.ledger;
    r->topics[HEADS] = rt->cfg->topics.heads;
    r->topics[MODELS] = rt->cfg->topics.models;
    r->batch = stream_batch_new(READ_BATCH);
    r->heads = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    r->models = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0);
    r->arena.size = rt->cfg->records.max_bytes * 4 + ((size_t)1 << 20);
    r->arena.base = fis_alloc(r->arena.size, 1);
    struct stream_consumer_options o = {
        .client = runtime_client(rt), .topics = r->topics, .topic_count = TOPICS};
    int rc = r->batch && r->heads && r->models && r->arena.base
                 ? stream_consumer_open(&r->consumer, &o, e)
                 : fis_fail(e, FIS_NOMEM, "no memory to restore");
    if (rc < 0) {
        restore_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

static void drop(struct restore *r, struct kept *k)
{
    HASH_DEL(r->ledger, k);
    fis_free(k->value);
    fis_free(k);
}

void restore_close(struct restore *r)
{
    if (!r)
        return;
    struct kept *k, *next;
    HASH_ITER (hh, r->ledger, k, next)
        drop(r, k);
    stream_batch_free(r->batch);
    stream_consumer_close(r->consumer, 1000);
    wire_assembler_free(r->heads);
    wire_assembler_free(r->models);
    wire_head_done(&r->head);
    wire_model_done(&r->served);
    fis_free(r->arena.base);
    fis_free(r);
}

static int take_ledger(struct restore *r, const struct stream_message *m, struct fis_error *e)
{
    struct kept *k;
    HASH_FIND(hh, r->ledger, m->key, m->key_length, k);
    if (k)
        drop(r, k);
    if (!m->value)
        return 0;
    k = fis_calloc(1, sizeof *k + m->key_length);
    char *value = fis_memdup(m->value, m->value_length);
    if (!k || !value) {
        fis_free(k);
        fis_free(value);
        return fis_fail(e, FIS_NOMEM, "no memory for the ledger");
    }
    k->value = value;
    k->length = m->value_length;
    k->key_length = m->key_length;
    memcpy(k->key, m->key, m->key_length);
    HASH_ADD_KEYPTR(hh, r->ledger, k->key, k->key_length, k);
    return 0;
}

static int take_head(struct restore *r, struct wire_bytes payload, struct fis_error *e)
{
    struct wire_head_owned head;
    if (wire_head_decode(payload, &head, e) < 0)
        return fis_error_prefix(e, "%s", r->topics[HEADS]);
    wire_head_done(&r->head);
    r->head = head;
    return 0;
}

static int take_model(struct restore *r, struct wire_bytes payload, struct fis_error *e)
{
    struct wire_model_owned model;
    if (wire_model_decode(payload, &model, e) < 0)
        return fis_error_prefix(e, "%s", r->topics[MODELS]);
    if (model.model.served && model.model.version >= r->served.model.version) {
        wire_model_done(&r->served);
        r->served = model;
    } else {
        wire_model_done(&model);
    }
    return 0;
}

static int take(struct restore *r, const struct stream_message *m, struct fis_error *e)
{
    struct wire_bytes payload, value = {m->value, m->value_length};
    uint64_t version;
    if (m->topic == LEDGER)
        return take_ledger(r, m, e);
    struct wire_assembler *a = m->topic == HEADS ? r->heads : r->models;
    int rc = wire_assembler_feed(a, value, &payload, &version, e);
    if (rc < 0)
        return fis_error_prefix(e, "%s partition %d offset %lld", r->topics[m->topic],
                                (int)m->partition, (long long)m->offset);
    if (rc == 0)
        return 0;
    return m->topic == HEADS ? take_head(r, payload, e) : take_model(r, payload, e);
}

static int decode(struct restore *r, const struct kept *k, struct wire_ledger_item *item,
                  struct fis_error *e)
{
    struct wire_message m = {
        .topic = r->topics[LEDGER],
        .key = {k->key, k->key_length},
        .value = {k->value, k->length},
    };
    fis_arena_reset(&r->arena);
    return wire_ledger_decode(&m, &r->arena, item, e) == WIRE_OK
               ? 0
               : fis_error_prefix(e, "%s", r->topics[LEDGER]);
}

/* Everything was read: is there a state, and the head and version that it speaks of? */
static int conclude(struct restore *r, struct fis_error *e)
{
    struct wire_ledger_item item;
    struct kept *k;
    r->complete = true;
    HASH_FIND(hh, r->ledger, wire_ledger_state_key.data, wire_ledger_state_key.length, k);
    if (!k)
        return 0;
    if (decode(r, k, &item, e) < 0)
        return -1;
    r->state = item.state;
    r->have_state = true;
    if (!r->head.slabs || r->head.head.version < r->state.head_version)
        return fis_fail(e, FIS_FATAL, "%s: head %llu of the ledger is not there (newest: %llu)",
                        r->topics[HEADS], (unsigned long long)r->state.head_version,
                        (unsigned long long)r->head.head.version);
    if (r->served.model.version < r->state.served_version || !r->served.model.params)
        return fis_fail(e, FIS_FATAL, "%s: served version %llu of the ledger is not there",
                        r->topics[MODELS], (unsigned long long)r->state.served_version);
    return 0;
}

int restore_turn(struct restore *r, struct fis_error *e)
{
    struct stream_consumer_event ev;
    uint32_t n;
    int rc = 0;
    do {
        n = stream_consumer_read(r->consumer, r->batch, READ_BATCH);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = take(r, &r->batch->messages[i], e);
        stream_batch_release(r->batch);
    } while (n == READ_BATCH && rc == 0);
    while (rc == 0 && stream_consumer_event(r->consumer, &ev)) {
        if (ev.kind == STREAM_END)
            rc = conclude(r, e);
        else if (ev.kind == STREAM_ERROR && ev.error.class == FIS_FATAL)
            rc = fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            runtime_kafka_event(r->rt, "restore", &ev.error);
    }
    return rc;
}

bool restore_complete(const struct restore *r)
{
    return r->complete;
}

bool restore_found(const struct restore *r)
{
    return r->have_state;
}

static bool same_columns(const struct pipeline *p, const struct fis_encoder *enc)
{
    if (fis_encoder_columns(enc) != p->n_columns)
        return false;
    for (uint32_t i = 0; i < p->n_columns; i++) {
        const struct fis_column *c = fis_encoder_column(enc, i), *now = &p->columns[i];
        if (strcmp(c->name, now->name) != 0 || c->type != now->type ||
            (c->type == FIS_NUMERIC && c->scale != now->scale))
            return false;
    }
    return true;
}

static bool same_classes(const struct wire_schema *s, const struct wire_model *served)
{
    if (served->n_classes != s->n_classes)
        return false;
    for (uint32_t k = 0; k < s->n_classes; k++)
        if (strcmp(served->classes[k], s->classes[k]) != 0)
            return false;
    return true;
}

struct fis_encoder *restore_take_encoder(struct restore *r, struct fis_error *e)
{
    const struct pipeline *p = &r->rt->pipeline;
    const char *changed = !same_columns(p, r->head.encoder)             ? "columns"
                          : !same_classes(&p->schema, &r->served.model) ? "classes"
                                                                        : NULL;
    if (changed) {
        fis_fail(e, FIS_FATAL,
                 "the %s of the configuration are not those of head %llu on %s and version %llu "
                 "on %s: give the changed pipeline another name",
                 changed, (unsigned long long)r->head.head.version, r->topics[HEADS],
                 (unsigned long long)r->served.model.version, r->topics[MODELS]);
        return NULL;
    }
    struct fis_encoder *taken = r->head.encoder;
    r->head.encoder = NULL;
    return taken;
}

static int check_shape(const struct restore *r, const struct fis_shape *now, struct fis_error *e)
{
    const struct fis_shape *was[] = {&r->head.head.shape, &r->served.model.shape};
    for (int i = 0; i < 2; i++)
        if (was[i]->n_layers != now->n_layers ||
            memcmp(was[i]->width, now->width, (now->n_layers + 1) * sizeof *now->width) != 0)
            return fis_fail(e, FIS_FATAL,
                            "training.hidden is not what the network on %s has: give the changed "
                            "pipeline another name",
                            r->topics[i ? MODELS : HEADS]);
    return 0;
}

/* The entries of the state's round, or those of all others; in the order in which they were
 * written, which is that of the labels. */
static int tell_entries(struct restore *r, struct trainer_role *role, bool of_this_round,
                        struct fis_error *e)
{
    struct wire_ledger_item item;
    struct kept *k, *next;
    HASH_ITER (hh, r->ledger, k, next) {
        if (decode(r, k, &item, e) < 0)
            return -1;
        if (item.kind == WIRE_LEDGER_ENTRY &&
            (item.entry.round >= r->state.round) == of_this_round &&
            trainer_role_restore_entry(role, &item.entry, e) < 0)
            return -1;
    }
    return 0;
}

int restore_apply(struct restore *r, struct trainer_role *role, struct fis_error *e)
{
    r->state.head_version = r->head.head.version;
    if (check_shape(r, trainer_role_shape(role), e) < 0 ||
        trainer_role_restore_state(role, &r->state, r->head.head.params, r->served.model.params,
                                   e) < 0 ||
        tell_entries(r, role, false, e) < 0)
        return -1;
    return tell_entries(r, role, true, e);
}

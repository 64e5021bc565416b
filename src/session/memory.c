#include "session/memory_impl.h"

#include <string.h>

#define OPEN_VERSIONS 8
#define STATE_BYTES ((size_t)1 << 20) /* a state, decoded: partitions, and words of an operator */

static int new_arena(struct fis_arena *a, size_t size)
{
    a->base = fis_alloc(size, 1);
    a->size = size;
    return a->base ? 0 : -1;
}

struct memory *memory_new(const char *const names[MEMORY_TOPICS], size_t max_message_bytes,
                          struct fis_error *e)
{
    struct memory *m = fis_calloc(1, sizeof *m);
    if (!m) {
        fis_fail(e, FIS_NOMEM, "no memory to restore");
        return NULL;
    }
    memcpy(m->topics, names, sizeof m->topics);
    m->heads = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    m->models = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0);
    m->checkpoints = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    if (!m->heads || !m->models || !m->checkpoints || new_arena(&m->arena, max_message_bytes) < 0 ||
        new_arena(&m->state_arena, STATE_BYTES) < 0) {
        memory_free(m);
        fis_fail(e, FIS_NOMEM, "no memory to restore");
        return NULL;
    }
    return m;
}

static void drop(struct memory *m, struct kept *k)
{
    HASH_DEL(m->ledger, k);
    m->bytes -= k->length + k->key_length;
    fis_free(k->value);
    fis_free(k);
}

void memory_free(struct memory *m)
{
    if (!m)
        return;
    struct kept *k, *next;
    HASH_ITER (hh, m->ledger, k, next)
        drop(m, k);
    wire_assembler_free(m->heads);
    wire_assembler_free(m->models);
    wire_assembler_free(m->checkpoints);
    wire_head_done(&m->head);
    wire_model_done(&m->served);
    fis_free(m->checkpoint);
    fis_free(m->arena.base);
    fis_free(m->state_arena.base);
    fis_free(m);
}

void memory_watch(struct memory *m, void (*model)(void *arg, const struct wire_model *v),
                  void (*state)(void *arg, const struct wire_trainer_state *s), void *arg)
{
    m->seen = model;
    m->seen_state = state;
    m->seen_arg = arg;
}

void memory_not_atomic(struct memory *m)
{
    m->not_atomic = true;
}

void memory_begins(struct memory *m, int64_t offset)
{
    m->begin = offset;
}

/* ---- taking -------------------------------------------------------------------------------- */

static int remember(struct memory *m, const struct wire_message *msg, struct fis_error *e)
{
    struct kept *k;
    HASH_FIND(hh, m->ledger, msg->key.data, msg->key.length, k);
    m->written |= k || msg->value.data; /* a null for what never was says nothing */
    if (k)
        drop(m, k);
    if (!msg->value.data)
        return 0;
    k = fis_calloc(1, sizeof *k + msg->key.length);
    char *value = fis_memdup(msg->value.data, msg->value.length);
    if (k && value) {
        k->value = value;
        k->length = msg->value.length;
        k->key_length = msg->key.length;
        memcpy(k->key, msg->key.data, msg->key.length);
        HASH_ADD_KEYPTR(hh, m->ledger, k->key, k->key_length, k);
    }
    if (!k || !k->hh.tbl) { /* how uthash says that it had no memory */
        fis_free(k);
        fis_free(value);
        return fis_fail(e, FIS_NOMEM, "no memory for the ledger");
    }
    m->bytes += k->length + k->key_length;
    return 0;
}

static int take_checkpoint(struct memory *m, struct wire_bytes payload, uint64_t version,
                           struct fis_error *e)
{
    char *copy = fis_memdup(payload.data, payload.length);
    if (!copy)
        return fis_fail(e, FIS_NOMEM, "no memory for a checkpoint");
    fis_free(m->checkpoint);
    m->checkpoint = copy;
    m->checkpoint_length = payload.length;
    m->checkpoint_version = version;
    return 0;
}

/* Chunks of a checkpoint are put together as they come. */
static int take_ledger(struct memory *m, const struct wire_message *msg, struct fis_error *e)
{
    struct wire_ledger_item item;
    struct wire_bytes payload;
    uint64_t version;
    if (!msg->key.data || msg->key.length == 0)
        return fis_fail(e, FIS_INPUT, "a message without a key");
    fis_arena_reset(&m->arena);
    enum wire_decoded got = wire_ledger_decode(msg, &m->arena, &item, e);
    if (got == WIRE_BAD)
        return -FIS_INPUT;
    if (item.kind == WIRE_LEDGER_STATE && got == WIRE_OK && m->seen_state)
        m->seen_state(m->seen_arg, &item.state);
    if (item.kind != WIRE_LEDGER_CHECKPOINT)
        return remember(m, msg, e);
    if (got == WIRE_TOMBSTONE)
        return 0;
    int rc = wire_assembler_feed(m->checkpoints, item.chunk, &payload, &version, e);
    return rc > 0 ? take_checkpoint(m, payload, version, e) : rc;
}

static int take_head(struct memory *m, const struct wire_message *msg, struct fis_error *e)
{
    struct wire_head_owned head;
    struct wire_bytes payload;
    uint64_t version;
    int rc = wire_assembler_feed(m->heads, msg->value, &payload, &version, e);
    if (rc <= 0)
        return rc;
    if (wire_head_decode(payload, &head, e) < 0)
        return -FIS_INPUT;
    wire_head_done(&m->head);
    m->head = head;
    return 0;
}

static int take_model(struct memory *m, const struct wire_message *msg, struct fis_error *e)
{
    struct wire_model_owned model;
    struct wire_bytes payload;
    uint64_t version;
    int rc = wire_assembler_feed(m->models, msg->value, &payload, &version, e);
    if (rc <= 0)
        return rc;
    if (wire_model_decode(payload, &model, e) < 0)
        return -FIS_INPUT;
    if (m->seen)
        m->seen(m->seen_arg, &model.model);
    if (model.model.version > m->newest_version)
        m->newest_version = model.model.version;
    if (model.model.served && model.model.version >= m->served.model.version) {
        wire_model_done(&m->served);
        m->served = model;
    } else {
        wire_model_done(&model);
    }
    return 0;
}

int memory_take(struct memory *m, enum memory_topic t, const struct wire_message *msg,
                struct fis_error *e)
{
    struct fis_error why;
    char key[WIRE_KEY_TEXT];
    m->have_state = false; /* until it is concluded again */
    m->changed |= t != MEMORY_LEDGER || (msg->key.length == 1 && *(const char *)msg->key.data == 0);
    int rc = t == MEMORY_LEDGER  ? take_ledger(m, msg, &why)
             : t == MEMORY_HEADS ? take_head(m, msg, &why)
                                 : take_model(m, msg, &why);
    if (rc == 0)
        return 0;
    return fis_fail(e, why.kind, "%s partition %d offset %lld key '%s': %s", m->topics[t],
                    (int)msg->partition, (long long)msg->offset, wire_key_text(msg->key, key),
                    why.text);
}

/* ---- reading what is kept -------------------------------------------------------------------- */

int memory_decode(const struct memory *m, const struct kept *k, struct fis_arena *arena,
                  struct wire_ledger_item *item, struct fis_error *e)
{
    struct wire_message msg = {
        .topic = m->topics[MEMORY_LEDGER],
        .key = {k->key, k->key_length},
        .value = {k->value, k->length},
    };
    struct fis_error why;
    fis_arena_reset(arena);
    if (wire_ledger_decode(&msg, arena, item, &why) == WIRE_OK)
        return 0;
    return fis_fail(e, FIS_FATAL, "%s: %s", m->topics[MEMORY_LEDGER], why.text);
}

struct kept *memory_kept_state(const struct memory *m)
{
    struct kept *k;
    HASH_FIND(hh, m->ledger, wire_ledger_state_key.data, wire_ledger_state_key.length, k);
    return k;
}

bool memory_found(const struct memory *m)
{
    return m->have_state;
}

bool memory_cut(const struct memory *m)
{
    return m->begin > 0;
}

const struct wire_trainer_state *memory_state(const struct memory *m)
{
    return m->have_state ? &m->state : NULL;
}

const struct wire_head *memory_head(const struct memory *m)
{
    return m->head.slabs ? &m->head.head : NULL;
}

const struct wire_model *memory_served(const struct memory *m)
{
    return m->served.model.params ? &m->served.model : NULL;
}

bool memory_has_checkpoint(const struct memory *m)
{
    return m->have_state && m->state.checkpoint && m->checkpoint &&
           m->checkpoint_version == m->state.checkpoint;
}

uint64_t memory_entries(const struct memory *m)
{
    return HASH_COUNT(m->ledger) - (memory_kept_state(m) != NULL);
}

uint64_t memory_bytes(const struct memory *m)
{
    uint64_t slabs = m->head.slabs ? 3 * fis_shape_params(&m->head.head.shape) : 0;
    slabs += m->served.model.params ? fis_shape_params(&m->served.model.shape) : 0;
    return m->bytes + m->checkpoint_length + slabs * sizeof(float);
}

struct fis_encoder *memory_take_encoder(struct memory *m)
{
    struct fis_encoder *taken = m->head.encoder;
    m->head.encoder = NULL;
    m->head.head.encoder = NULL;
    return taken;
}

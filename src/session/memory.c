#include "session/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/planted.h"
#include "fis/mem.h"
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#include <uthash.h>

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/ledger.h"
#include "wire/model.h"

#define OPEN_VERSIONS 8
#define STATE_BYTES ((size_t)1 << 20) /* a state, decoded: partitions, and words of an operator */

struct kept { /* the newest value of a ledger key, as it came */
    UT_hash_handle hh;
    char *value;
    size_t length;
    size_t key_length;
    char key[];
};

struct memory {
    const char *topics[MEMORY_TOPICS];
    struct fis_arena arena;       /* of the entry or chunk at hand */
    struct fis_arena state_arena; /* of `state` */
    struct wire_assembler *heads, *models, *checkpoints;
    struct wire_head_owned head;
    struct wire_model_owned served;
    uint64_t newest_version; /* served or not */
    char *checkpoint;        /* the newest that is whole, as it came */
    size_t checkpoint_length;
    uint64_t checkpoint_version;
    struct kept *ledger;
    uint64_t bytes; /* of the ledger */
    struct wire_trainer_state state;
    bool have_state, not_atomic;
    bool changed;                 /* a state, head or version came since it was compared */
    bool written;                 /* an entry or a state was taken, with or without a value */
    int64_t begin;                /* of the ledger; above 0: messages were deleted from it */
    char trouble[FIS_ERROR_TEXT]; /* of the checkpoint; "": none */
    void (*seen)(void *arg, const struct wire_model *v);
    void (*seen_state)(void *arg, const struct wire_trainer_state *s);
    void *seen_arg;
};

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

static int decode(const struct memory *m, const struct kept *k, struct fis_arena *arena,
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

/* ---- whose it is ---------------------------------------------------------------------------- */

/* What an earlier program wrote says it by the newest head and served version. */
static int facts_of_versions(const struct memory *m, struct identity *out, struct fis_error *e)
{
    const struct wire_model *v = &m->served.model;
    const struct fis_encoder *enc = m->head.encoder;
    struct fis_column *columns = NULL;
    *out = (struct identity){0};
    if (!v->params)
        return 0;
    struct identity_source from = {
        .pipeline = v->pipeline,
        .classes = v->classes,
        .n_classes = v->n_classes,
        .positive = v->classes[v->positive],
        .metric = v->metric,
        .algorithm = v->algorithm,
        .hidden = v->shape.width + 1,
        .n_hidden = v->shape.n_layers - 1,
        .n_columns = enc ? fis_encoder_columns(enc) : 0,
    };
    if (from.n_columns && !(columns = fis_alloc(from.n_columns, sizeof *columns)))
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", from.n_columns);
    for (uint32_t i = 0; i < from.n_columns; i++)
        columns[i] = *fis_encoder_column(enc, i);
    from.columns = columns;
    int rc = identity_init(out, &from, e);
    fis_free(columns);
    return rc;
}

static int check_owner(const struct memory *m, enum memory_topic t, const char *theirs,
                       const struct identity *ours, struct fis_error *e)
{
    const struct wire_fact owner = {ours->facts[0].name, theirs};
    return theirs ? identity_compare(ours, &owner, 1, NULL, m->topics[t], e) : 0;
}

static int compare_state(struct memory *m, const struct identity *ours, const char *accept,
                         struct fis_error *e)
{
    struct wire_ledger_item item;
    struct identity own = {0};
    struct kept *k;
    HASH_FIND(hh, m->ledger, wire_ledger_state_key.data, wire_ledger_state_key.length, k);
    item.state.identity.n_facts = 0;
    int rc = k ? decode(m, k, &m->arena, &item, e) : 0;
    struct wire_identity theirs = item.state.identity;
    if (rc == 0 && !theirs.n_facts) {
        rc = facts_of_versions(m, &own, e);
        theirs = identity_view(&own);
    }
    if (rc == 0)
        rc = identity_compare(ours, theirs.facts, theirs.n_facts, accept, m->topics[MEMORY_LEDGER],
                              e);
    identity_done(&own);
    return rc;
}

int memory_compare(struct memory *m, const struct identity *ours, const char *accept,
                   struct fis_error *e)
{
    if (!m->changed)
        return 0;
    int rc = compare_state(m, ours, accept, e);
    if (rc == 0)
        rc = check_owner(m, MEMORY_HEADS, m->head.head.pipeline, ours, e);
    if (rc == 0)
        rc = check_owner(m, MEMORY_MODELS, m->served.model.pipeline, ours, e);
    m->changed = rc != 0;
    return rc;
}

int memory_identity(const struct memory *m, struct identity *own, struct wire_identity *out,
                    struct fis_error *e)
{
    *own = (struct identity){0};
    *out = m->have_state ? m->state.identity : (struct wire_identity){0};
    if (out->n_facts)
        return 0;
    int rc = facts_of_versions(m, own, e);
    *out = identity_view(own);
    return rc;
}

/* ---- concluding ---------------------------------------------------------------------------- */

static int check_there(const struct memory *m, const struct wire_trainer_state *s,
                       struct fis_error *e)
{
    if (!m->head.slabs ||
        (m->head.head.version < s->head_version && !PLANTED(tail_unnoticed)))
        return fis_fail(e, FIS_FATAL, "%s: head %llu of the ledger is not there (newest: %llu)",
                        m->topics[MEMORY_HEADS], (unsigned long long)s->head_version,
                        (unsigned long long)m->head.head.version);
    if ((m->served.model.version < s->served_version && !PLANTED(tail_unnoticed)) ||
        !m->served.model.params)
        return fis_fail(e, FIS_FATAL, "%s: served version %llu of the ledger is not there",
                        m->topics[MEMORY_MODELS], (unsigned long long)s->served_version);
    if (!m->not_atomic && m->newest_version < s->model_version && !PLANTED(tail_unnoticed))
        return fis_fail(e, FIS_FATAL, "%s: version %llu of the ledger is not there (newest: %llu)",
                        m->topics[MEMORY_MODELS], (unsigned long long)s->model_version,
                        (unsigned long long)m->newest_version);
    return 0;
}

static int check_newer(const struct memory *m, enum memory_topic t, uint64_t there, uint64_t ledger,
                       struct fis_error *e)
{
    const char *what = t == MEMORY_HEADS ? "head" : "version";
    if (m->not_atomic || there <= ledger)
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s: %s %llu is newer than the ledger %s, which knows %llu at most: the topics "
                    "are of different times. Recreate ledger, heads and models and restore all "
                    "three from one backup",
                    m->topics[t], what, (unsigned long long)there, m->topics[MEMORY_LEDGER],
                    (unsigned long long)ledger);
}

/* Without a state nothing can be there: the first one goes out with the first head and version. */
static int check_times(const struct memory *m, const struct wire_trainer_state *s,
                       struct fis_error *e)
{
    uint64_t head = s ? s->head_version : 0, version = s ? s->model_version : 0;
    int rc = check_newer(m, MEMORY_MODELS, m->newest_version, version, e);
    return rc ? rc : check_newer(m, MEMORY_HEADS, m->head.head.version, head, e);
}

/* In at_least_once a crash may leave what was sent before the first state. A transaction that was
 * aborted leaves offsets and nothing else. */
static int check_new(const struct memory *m, struct fis_error *e)
{
    uint64_t entries = HASH_COUNT(m->ledger);
    if (m->begin <= 0 && (m->not_atomic || !m->written))
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s holds %llu entries and no state, but was written before (it begins at "
                    "offset %lld): messages were deleted. Recreate ledger, heads and models and "
                    "restore all three from one backup; without one the pipeline starts from the "
                    "beginning",
                    m->topics[MEMORY_LEDGER], (unsigned long long)entries,
                    (long long)(m->begin > 0 ? m->begin : 0));
}

int memory_conclude(struct memory *m, struct fis_error *e)
{
    struct wire_ledger_item item;
    struct kept *k;
    m->have_state = false;
    HASH_FIND(hh, m->ledger, wire_ledger_state_key.data, wire_ledger_state_key.length, k);
    if (!k) {
        int new = check_times(m, NULL, e);
        return new ? new : check_new(m, e);
    }
    int rc = decode(m, k, &m->state_arena, &item, e);
    if (rc == 0)
        rc = check_there(m, &item.state, e);
    if (rc == 0)
        rc = check_times(m, &item.state, e);
    if (rc < 0)
        return rc;
    m->state = item.state;
    m->have_state = true;
    return 0;
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
    struct kept *k;
    HASH_FIND(hh, m->ledger, wire_ledger_state_key.data, wire_ledger_state_key.length, k);
    return HASH_COUNT(m->ledger) - (k != NULL);
}

uint64_t memory_bytes(const struct memory *m)
{
    uint64_t slabs = m->head.slabs ? 3 * fis_shape_params(&m->head.head.shape) : 0;
    slabs += m->served.model.params ? fis_shape_params(&m->served.model.shape) : 0;
    return m->bytes + m->checkpoint_length + slabs * sizeof(float);
}

/* ---- going on ------------------------------------------------------------------------------ */

struct fis_encoder *memory_take_encoder(struct memory *m)
{
    struct fis_encoder *taken = m->head.encoder;
    m->head.encoder = NULL;
    m->head.head.encoder = NULL;
    return taken;
}

static int check_shape(const struct memory *m, const struct fis_shape *now, struct fis_error *e)
{
    const struct fis_shape *was[] = {&m->head.head.shape, &m->served.model.shape};
    for (int i = 0; i < 2; i++)
        if (!fis_shape_equal(was[i], now))
            return fis_fail(
                e, FIS_FATAL,
                "model or training.hidden is not what the network on %s has: give the changed "
                "pipeline another name",
                m->topics[i ? MEMORY_MODELS : MEMORY_HEADS]);
    return 0;
}

static int tell_entries(struct memory *m, struct trainer_role *role, struct fis_error *e)
{
    struct wire_ledger_item item;
    struct kept *k, *next;
    HASH_ITER (hh, m->ledger, k, next) {
        int rc = decode(m, k, &m->arena, &item, e);
        if (rc == 0 && item.kind == WIRE_LEDGER_ENTRY)
            rc = trainer_role_restore_entry(role, &item.entry, e);
        else if (rc == 0 && item.kind == WIRE_LEDGER_FORGOTTEN)
            rc = trainer_role_restore_forgotten(role, &item.forgotten, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* Without it the copies begin at the anchor: something to say, and no reason to stop. */
static int tell_checkpoint(struct memory *m, struct trainer_role *role, struct fis_error *e)
{
    struct wire_checkpoint c;
    struct fis_error why;
    struct wire_bytes bytes = {m->checkpoint, m->checkpoint_length};
    int rc = memory_has_checkpoint(m) && !PLANTED(checkpoint_ignored)
                 ? wire_checkpoint_decode(bytes, &c, &why)
                 : fis_fail(&why, FIS_INPUT,
                            m->state.checkpoint ? "it is not there" : "none was written yet");
    if (rc == 0)
        rc = trainer_role_restore_checkpoint(role, c.learner, c.gate, &why);
    snprintf(m->trouble, sizeof m->trouble, "%s", rc < 0 ? why.text : "");
    if (rc == 0 || rc == -FIS_INPUT)
        return 0;
    *e = why;
    return rc;
}

const char *memory_checkpoint_trouble(const struct memory *m)
{
    return m->trouble;
}

/* In at_least_once heads and versions may be ahead of the state: no number is given twice, and what
 * is served is what users see, whose accuracy is not known yet. */
static void go_on_behind(const struct memory *m, struct wire_trainer_state *state)
{
    state->head_version = m->head.head.version;
    if (m->newest_version > state->model_version)
        state->model_version = m->newest_version;
    if (m->served.model.version > state->served_version) {
        state->previous_version = m->served.model.previous;
        state->served_version = m->served.model.version;
        state->served_accuracy = (double)NAN;
    }
}

/* Every request is an entry of the unit that the state is of, and stays one. */
static int check_whole(const struct memory *m, const struct trainer_role *role, struct fis_error *e)
{
    const struct trainer_role_counts n = trainer_role_counts(role);
    uint64_t there = n.selector.asked + n.forgotten;
    if (m->not_atomic || there >= m->state.requested || PLANTED(entries_uncounted))
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s holds %llu of %llu requested records: messages were deleted from it, and "
                    "the others would be requested again. Recreate ledger, heads and models and "
                    "restore all three from one backup; without one the pipeline starts from the "
                    "beginning",
                    m->topics[MEMORY_LEDGER], (unsigned long long)there,
                    (unsigned long long)m->state.requested);
}

int memory_apply(struct memory *m, struct trainer_role *role, struct trainer_time now,
                 struct fis_error *e)
{
    struct wire_trainer_state state = m->state;
    go_on_behind(m, &state);
    int rc = check_shape(m, trainer_role_shape(role), e);
    if (rc == 0)
        rc = trainer_role_restore_state(role, &state, m->head.head.params, m->served.model.params,
                                        now, e);
    if (rc == 0 && m->served.encoder)
        rc = trainer_role_restore_base(role, fis_encoder_trees(m->served.encoder), e);
    if (rc == 0)
        rc = tell_entries(m, role, e);
    if (rc == 0)
        rc = check_whole(m, role, e);
    return rc ? rc : tell_checkpoint(m, role, e);
}

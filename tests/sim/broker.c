#include "broker.h"

#include <string.h>

#include <xxhash.h>

const char *const sim_topic_names[SIM_TOPICS] = {"records", "candidates", "label-requests",
                                                 "labels",  "control",    "ledger",
                                                 "heads",   "models",     "dead-letter"};

struct sim_broker *sim_broker_new(struct sim_world *w)
{
    struct sim_broker *b = sim_alloc(w, sizeof *b);
    b->w = w;
    b->n_units = 1;
    b->txn_timeout_ms = 60000;
    for (int t = 0; t < SIM_TOPICS; t++)
        b->partitions[t] = 1;
    for (int g = 0; g < SIM_GROUPS; g++) {
        struct sim_group *group = &b->groups[g];
        group->topic = g == SIM_SCORERS ? SIM_RECORDS : SIM_LEDGER;
        group->session_ms = 10000;
        for (int t = 0; t < SIM_TOPICS; t++)
            for (int p = 0; p < SIM_PARTITIONS; p++)
                group->committed[t][p] = -1;
    }
    return b;
}

int32_t sim_partition_of(const struct sim_broker *b, enum sim_topic t, struct wire_bytes key)
{
    return (int32_t)(XXH3_64bits(key.data, key.length) % b->partitions[t]);
}

static struct sim_entry *add(struct sim_broker *b, struct sim_log *log)
{
    if (log->n == log->capacity) {
        uint32_t more = log->capacity ? 2 * log->capacity : 32;
        log->entries = sim_grow(b->w, log->entries, log->n * sizeof *log->entries,
                                more * sizeof *log->entries);
        log->capacity = more;
    }
    struct sim_entry *e = &log->entries[log->n++];
    *e = (struct sim_entry){.offset = log->next++, .timestamp_ms = sim_wall(b->w, SIM_NOBODY)};
    return e;
}

static struct sim_entry *append(struct sim_broker *b, enum sim_topic t, int32_t partition,
                                struct wire_bytes key, struct wire_bytes value,
                                const struct sim_origin *origin)
{
    struct sim_entry *e = add(b, &b->logs[t][partition]);
    e->key = sim_copy(b->w, key);
    e->value = sim_copy(b->w, value);
    if (origin)
        e->origin = *origin;
    return e;
}

int64_t sim_append(struct sim_broker *b, enum sim_topic t, int32_t partition, struct wire_bytes key,
                   struct wire_bytes value, const struct sim_origin *origin)
{
    struct sim_entry e = *append(b, t, partition, key, value, origin);
    if (b->on_append)
        b->on_append(b->w, t, partition, &e);
    return e.offset;
}

int64_t sim_append_foreign(struct sim_broker *b, enum sim_topic t, int32_t partition,
                           struct wire_bytes key, struct wire_bytes value)
{
    struct sim_entry *e = append(b, t, partition, key, value, NULL);
    e->foreign = true;
    const struct sim_entry copy = *e;
    if (b->on_append)
        b->on_append(b->w, t, partition, &copy);
    return copy.offset;
}

static uint32_t find(const struct sim_log *log, int64_t offset)
{
    uint32_t low = 0, high = log->n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (log->entries[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct sim_entry *sim_entry_at(const struct sim_broker *b, const struct sim_place *at)
{
    const struct sim_log *log = &b->logs[at->topic][at->partition];
    uint32_t i = find(log, at->offset);
    return i < log->n && log->entries[i].offset == at->offset ? &log->entries[i] : NULL;
}

int64_t sim_stable_end(const struct sim_broker *b, enum sim_topic t, int32_t partition)
{
    int64_t end = b->logs[t][partition].next;
    for (uint32_t i = 0; i < SIM_PRODUCERS + b->n_hanging; i++) {
        uint32_t open = i < SIM_PRODUCERS ? b->producers[i].unit : b->hanging[i - SIM_PRODUCERS];
        int64_t first = open ? b->units[open]->first[t][partition] : -1;
        end = first >= 0 && first < end ? first : end;
    }
    return end;
}

int64_t sim_end(const struct sim_broker *b, enum sim_topic t, int32_t partition)
{
    return b->logs[t][partition].next;
}

int64_t sim_log_start(const struct sim_broker *b, enum sim_topic t, int32_t partition)
{
    return b->logs[t][partition].start;
}

bool sim_readable(const struct sim_broker *b, const struct sim_entry *e)
{
    return !e->marker && (!e->unit || b->units[e->unit]->status == SIM_COMMITTED);
}

int sim_fetch(struct sim_broker *b, enum sim_topic t, int32_t partition, int64_t *position,
              struct sim_entry *entry)
{
    const struct sim_log *log = &b->logs[t][partition];
    if (*position < log->start || *position > log->next)
        return SIM_OUT_OF_RANGE;
    int64_t end = sim_stable_end(b, t, partition);
    for (uint32_t i = find(log, *position); i < log->n && log->entries[i].offset < end; i++)
        if (sim_readable(b, &log->entries[i])) {
            *entry = log->entries[i];
            *position = entry->offset + 1;
            return 1;
        }
    *position = *position < end ? end : *position;
    return 0;
}

static bool same_key(const struct sim_entry *a, const struct sim_entry *b)
{
    return a->key.length == b->key.length && memcmp(a->key.data, b->key.data, a->key.length) == 0;
}

/* A later record of the same key, itself below the stable end. */
static bool replaced(const struct sim_broker *b, const struct sim_log *log, uint32_t i, int64_t end)
{
    for (uint32_t k = i + 1; k < log->n && log->entries[k].offset < end; k++)
        if (sim_readable(b, &log->entries[k]) && same_key(&log->entries[i], &log->entries[k]))
            return true;
    return false;
}

void sim_compact(struct sim_broker *b, enum sim_topic t, int32_t partition)
{
    struct sim_log *log = &b->logs[t][partition];
    int64_t end = sim_stable_end(b, t, partition);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->n; i++) {
        const struct sim_entry *e = &log->entries[i];
        bool last = i + 1 == log->n; /* the active segment is left alone */
        bool drop = !last && e->offset < end && (!sim_readable(b, e) || replaced(b, log, i, end));
        if (!drop)
            log->entries[kept++] = *e;
    }
    log->n = kept;
}

void sim_delete_before(struct sim_broker *b, enum sim_topic t, int32_t partition, int64_t offset)
{
    struct sim_log *log = &b->logs[t][partition];
    offset = offset < log->next ? offset : log->next;
    uint32_t gone = find(log, offset);
    if (offset <= log->start)
        return;
    memmove(log->entries, log->entries + gone, (log->n - gone) * sizeof *log->entries);
    log->n -= gone;
    log->start = offset;
}

uint32_t sim_foreign_before(const struct sim_broker *b, enum sim_topic t, int64_t offset)
{
    const struct sim_log *log = &b->logs[t][0];
    uint32_t n = 0;
    for (uint32_t i = 0; i < log->n && log->entries[i].offset < offset; i++)
        n += log->entries[i].foreign && sim_readable(b, &log->entries[i]);
    return n;
}

bool sim_of_memory(enum sim_topic t)
{
    return t == SIM_LEDGER || t == SIM_HEADS || t == SIM_MODELS;
}

bool sim_was_cut(const struct sim_broker *b, enum sim_topic t, int32_t p, uint32_t made,
                 int64_t offset)
{
    const struct sim_log *log = &b->logs[t][p];
    for (uint32_t i = made; i < log->made; i++)
        if (offset > log->cuts[i])
            return true;
    return false;
}

bool sim_open_on(const struct sim_broker *b, enum sim_topic t)
{
    for (int i = 0; i < SIM_PRODUCERS; i++)
        for (int p = 0; b->producers[i].unit && p < SIM_PARTITIONS; p++)
            if (b->units[b->producers[i].unit]->first[t][p] >= 0)
                return true;
    return false;
}

void sim_lose_tail(struct sim_broker *b, enum sim_topic t, int32_t p, int64_t offset)
{
    struct sim_log *log = &b->logs[t][p];
    SIM_MUST(b->w, log->made < SIM_CUTS && !sim_open_on(b, t), "simulator: a tail cannot be cut");
    log->cuts[log->made++] = offset;
    log->n = find(log, offset);
    log->next = offset;
    log->start = log->start < offset ? log->start : offset;
}

void sim_recreate(struct sim_broker *b, enum sim_topic t)
{
    for (int32_t p = 0; p < (int32_t)b->partitions[t]; p++) {
        sim_lose_tail(b, t, p, 0);
        b->logs[t][p].start = 0;
        for (int g = 0; g < SIM_GROUPS; g++)
            b->groups[g].committed[t][p] = -1;
    }
}

void sim_add_partition(struct sim_broker *b, enum sim_topic t)
{
    SIM_MUST(b->w, b->partitions[t] < SIM_PARTITIONS, "simulator: too many partitions");
    b->partitions[t]++;
    for (int g = 0; g < SIM_GROUPS; g++)
        if (b->groups[g].topic == t)
            sim_group_stir(b, (enum sim_group_id)g);
}

/* ---- transactions -------------------------------------------------------------------------- */

static struct sim_unit *begin(struct sim_broker *b, uint32_t producer)
{
    struct sim_producer_id *id = &b->producers[producer];
    if (id->unit)
        return b->units[id->unit];
    if (b->n_units >= b->unit_capacity) {
        uint32_t more = b->unit_capacity ? 2 * b->unit_capacity : 64;
        b->units =
            sim_grow(b->w, b->units, b->unit_capacity * sizeof *b->units, more * sizeof *b->units);
        b->unit_capacity = more;
    }
    struct sim_unit *u = sim_alloc(b->w, sizeof *u);
    *u = (struct sim_unit){.producer = producer, .began = b->w->now};
    memset(u->first, -1, sizeof u->first);
    memset(u->offsets, -1, sizeof u->offsets);
    b->units[b->n_units] = u;
    id->unit = b->n_units++;
    return u;
}

static void mark(struct sim_broker *b, const struct sim_unit *u, uint32_t number)
{
    for (int t = 0; t < SIM_TOPICS; t++)
        for (int p = 0; p < SIM_PARTITIONS; p++)
            if (u->first[t][p] >= 0) {
                struct sim_entry *e = add(b, &b->logs[t][p]);
                e->marker = true;
                e->unit = number;
            }
}

/* A place of a log that has lost it since is dropped. */
static void commit_place(struct sim_broker *b, struct sim_unit *u, enum sim_topic t, int32_t p)
{
    struct sim_group *g = &b->groups[u->group];
    if (u->offsets[t][p] < 0)
        return;
    if (t != SIM_LEDGER && sim_was_cut(b, t, p, u->made[t][p], u->offsets[t][p])) {
        u->offsets[t][p] = -1;
        return;
    }
    g->committed[t][p] = u->offsets[t][p];
    g->made[t][p] = b->logs[t][p].made;
}

static void end(struct sim_broker *b, uint32_t producer, bool commit)
{
    struct sim_producer_id *id = &b->producers[producer];
    struct sim_unit *u = b->units[id->unit];
    u->status = commit ? SIM_COMMITTED : SIM_ABORTED;
    mark(b, u, id->unit);
    id->unit = 0;
    for (int t = 0; commit && t < SIM_TOPICS; t++)
        for (int p = 0; p < SIM_PARTITIONS; p++)
            commit_place(b, u, (enum sim_topic)t, p);
    if (b->on_unit)
        b->on_unit(b->w, u);
}

int32_t sim_txn_init(struct sim_broker *b, uint32_t producer)
{
    struct sim_producer_id *id = &b->producers[producer];
    if (id->unit && producer == SIM_TRAINER_ID && b->n_hanging < SIM_HANGING && b->loses_end &&
        b->loses_end(b->w))
        b->hanging[b->n_hanging++] = id->unit;
    else if (id->unit)
        end(b, producer, false);
    id->unit = 0;
    id->backwards = id->cut = false;
    memset(id->last, -1, sizeof id->last);
    return ++id->epoch;
}

enum sim_code sim_txn_append(struct sim_broker *b, uint32_t producer, int32_t epoch,
                             enum sim_topic t, int32_t partition, struct wire_bytes key,
                             struct wire_bytes value, const struct sim_origin *origin)
{
    if (epoch != b->producers[producer].epoch)
        return SIM_FENCED;
    struct sim_unit *u = begin(b, producer);
    struct sim_entry *e = append(b, t, partition, key, value, origin);
    struct sim_producer_id *id = &b->producers[producer];
    e->unit = id->unit;
    bool behind = e->offset > id->last[t][partition];
    id->backwards |= sim_of_memory(t) && !behind;
    id->cut |= t == SIM_LEDGER && !behind;
    id->last[t][partition] = e->offset;
    if (u->first[t][partition] < 0)
        u->first[t][partition] = e->offset;
    if (u->n == u->capacity) {
        uint32_t more = u->capacity ? 2 * u->capacity : 8;
        u->places = sim_grow(b->w, u->places, u->n * sizeof *u->places, more * sizeof *u->places);
        u->capacity = more;
    }
    u->places[u->n++] = (struct sim_place){t, partition, e->offset};
    e->foreign = producer == SIM_FOREIGN_ID;
    const struct sim_entry copy = *e;
    if (b->on_append && copy.foreign)
        b->on_append(b->w, t, partition, &copy);
    return SIM_OK;
}

enum sim_code sim_txn_offset(struct sim_broker *b, uint32_t producer, int32_t epoch,
                             enum sim_group_id g, enum sim_topic t, int32_t partition, int64_t next,
                             uint32_t made)
{
    if (epoch != b->producers[producer].epoch)
        return SIM_FENCED;
    struct sim_unit *u = begin(b, producer);
    u->group = g;
    u->has_offsets = true;
    u->offsets[t][partition] = next;
    u->made[t][partition] = made;
    return SIM_OK;
}

enum sim_code sim_txn_end(struct sim_broker *b, uint32_t producer, int32_t epoch, bool commit)
{
    if (epoch != b->producers[producer].epoch)
        return SIM_FENCED;
    if (!b->producers[producer].unit)
        return SIM_NOT_OPEN;
    if (commit && b->producers[producer].cut)
        return SIM_CUT;
    end(b, producer, commit);
    return SIM_OK;
}

enum sim_code sim_txn_sweep(struct sim_broker *b, uint32_t producer, int32_t epoch)
{
    if (epoch != b->producers[producer].epoch)
        return SIM_FENCED;
    for (uint32_t i = 0; i < b->n_hanging; i++) {
        b->units[b->hanging[i]]->status = SIM_ABORTED;
        mark(b, b->units[b->hanging[i]], b->hanging[i]);
    }
    b->n_hanging = 0;
    return SIM_OK;
}

void sim_txn_expire(struct sim_broker *b)
{
    for (uint32_t i = 0; i < SIM_PRODUCERS; i++) {
        uint32_t open = b->producers[i].unit;
        if (!open || b->w->now - b->units[open]->began < b->txn_timeout_ms)
            continue;
        sim_note(b->w, "broker", "transaction %u is open for too long: aborted", open);
        end(b, i, false);
        b->producers[i].epoch++;
    }
}

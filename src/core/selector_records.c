#include "core/selector_records.h"

#include <string.h>
#include <xxhash.h>

#define ENTRIES 256u
#define SLOTS 64u

uint64_t known_hash(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}

void known_init(struct known *k, uint32_t d)
{
    *k = (struct known){.free_slot = NO_SLOT, .d = d};
}

struct slot *known_slot(const struct known *k, uint32_t slot)
{
    return &k->slot_chunks[slot / SLOTS][slot % SLOTS];
}

void known_done(struct known *k)
{
    for (struct entry *entry = k->table; entry; entry = entry->hh.next)
        known_drop_votes(entry);
    HASH_CLEAR(hh, k->table);
    for (uint32_t i = 0; i < k->n_slot_chunks; i++) {
        for (uint32_t j = 0; j < SLOTS; j++)
            fis_free(k->slot_chunks[i][j].payload);
        fis_free(k->slot_chunks[i][0].x);
        fis_free(k->slot_chunks[i]);
    }
    for (uint32_t i = 0; i < k->n_entry_chunks; i++)
        fis_free(k->entry_chunks[i]);
    fis_free(k->slot_chunks);
    fis_free(k->entry_chunks);
    *k = (struct known){.free_slot = NO_SLOT};
}

struct entry *known_find(const struct known *k, const struct fis_id *id)
{
    struct entry *found;
    HASH_FIND(hh, k->table, id->bytes, id->length, found);
    return found;
}

static int more_entries(struct known *k)
{
    struct entry *chunk = fis_alloc(ENTRIES, sizeof *chunk);
    if (!chunk || !fis_more(&k->entry_chunks, k->n_entry_chunks, sizeof *k->entry_chunks)) {
        fis_free(chunk);
        return -1;
    }
    k->entry_chunks[k->n_entry_chunks++] = chunk;
    for (uint32_t i = ENTRIES; i-- > 0;) {
        chunk[i].r.newer = k->free_entries;
        k->free_entries = &chunk[i].r;
    }
    return 0;
}

/* The slots of a chunk share one block of features: the first slot's x. */
static int more_slots(struct known *k)
{
    struct slot *chunk = fis_calloc(SLOTS, sizeof *chunk);
    float *x = chunk ? fis_alloc((size_t)SLOTS * k->d, sizeof *x) : NULL;
    if (!x || !fis_more(&k->slot_chunks, k->n_slot_chunks, sizeof *k->slot_chunks)) {
        fis_free(x);
        fis_free(chunk);
        return -1;
    }
    k->slot_chunks[k->n_slot_chunks] = chunk;
    for (uint32_t i = SLOTS; i-- > 0;) {
        chunk[i].x = x + (size_t)i * k->d;
        chunk[i].number = k->n_slot_chunks * SLOTS + i;
        chunk[i].next_free = k->free_slot;
        k->free_slot = chunk[i].number;
    }
    k->n_slot_chunks++;
    return 0;
}

static int take_slot(struct known *k, struct entry *entry, const struct fis_candidate *c)
{
    char *payload = NULL;
    if (k->free_slot == NO_SLOT && more_slots(k) < 0)
        return -1;
    if (c->payload_length && !(payload = fis_memdup(c->payload, c->payload_length)))
        return -1;
    struct slot *slot = known_slot(k, k->free_slot);
    k->free_slot = slot->next_free;
    slot->payload = payload;
    slot->payload_length = c->payload_length;
    slot->entry = entry;
    slot->heaps = 0;
    memcpy(slot->x, c->x, k->d * sizeof *c->x);
    memcpy(slot->scores, c->scores, sizeof slot->scores);
    entry->slot = slot->number;
    return 0;
}

int known_give_slot(struct known *k, struct entry *entry, const struct fis_candidate *c,
                    struct fis_error *e)
{
    if (take_slot(k, entry, c) < 0)
        return fis_fail(e, FIS_NOMEM, "selector: no memory for another candidate");
    return 0;
}

void known_drop_payload(struct known *k, struct entry *entry)
{
    if (entry->slot == NO_SLOT)
        return;
    struct slot *slot = known_slot(k, entry->slot);
    fis_free(slot->payload);
    slot->payload = NULL;
    slot->payload_length = 0;
}

void known_drop_slot(struct known *k, struct entry *entry)
{
    if (entry->slot == NO_SLOT)
        return;
    struct slot *slot = known_slot(k, entry->slot);
    known_drop_payload(k, entry);
    slot->entry = NULL;
    slot->next_free = k->free_slot;
    k->free_slot = slot->number;
    entry->slot = NO_SLOT;
}

static bool is_before(const struct fis_request *a, const struct fis_request *b)
{
    if (a->asked_at_ms != b->asked_at_ms)
        return a->asked_at_ms < b->asked_at_ms;
    return fis_id_compare(&a->id, &b->id) < 0;
}

void known_link(struct known *k, enum request_list list, struct entry *entry)
{
    struct fis_request *r = &entry->r, *older = k->list[list].last;
    if (list == LIST_NONE)
        return;
    while (list == LIST_OPEN && older && is_before(r, older))
        older = older->older;
    r->older = older;
    r->newer = older ? older->newer : k->list[list].first;
    *(r->older ? &r->older->newer : &k->list[list].first) = r;
    *(r->newer ? &r->newer->older : &k->list[list].last) = r;
}

void known_unlink(struct known *k, enum request_list list, struct entry *entry)
{
    struct fis_request *r = &entry->r;
    if (list == LIST_NONE)
        return;
    *(r->older ? &r->older->newer : &k->list[list].first) = r->newer;
    *(r->newer ? &r->newer->older : &k->list[list].last) = r->older;
    r->older = r->newer = NULL;
}

void known_drop_votes(struct entry *entry)
{
    for (uint32_t i = 0; i < entry->r.n_votes; i++)
        fis_free((char *)(uintptr_t)entry->r.votes[i].annotator);
    fis_free(entry->r.votes);
    entry->r.votes = NULL;
    entry->r.n_votes = 0;
}

static void give_back(struct known *k, struct entry *entry)
{
    known_drop_slot(k, entry);
    known_drop_votes(entry);
    entry->r.newer = k->free_entries;
    k->free_entries = &entry->r;
}

struct entry *known_add(struct known *k, const struct fis_candidate *c, bool with_slot,
                        struct fis_error *e)
{
    if (!k->free_entries && more_entries(k) < 0)
        goto nomem;
    struct entry *entry = entry_of(k->free_entries);
    k->free_entries = entry->r.newer;
    *entry = (struct entry){.slot = NO_SLOT};
    entry->r.id = c->id;
    if (with_slot && take_slot(k, entry, c) < 0) {
        give_back(k, entry);
        goto nomem;
    }
    HASH_ADD_KEYPTR(hh, k->table, entry->r.id.bytes, entry->r.id.length, entry);
    if (!entry->hh.tbl) { /* how uthash says that it had no memory */
        give_back(k, entry);
        goto nomem;
    }
    return entry;
nomem:
    fis_fail(e, FIS_NOMEM, "selector: no memory for another candidate");
    return NULL;
}

void known_remove(struct known *k, struct entry *entry)
{
    HASH_DEL(k->table, entry);
    give_back(k, entry);
}

#include "core/selector_known.h"

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
    struct entry **chunks = chunk ? fis_grow(k->entry_chunks, k->n_entry_chunks,
                                             k->n_entry_chunks + 1, sizeof(struct entry *))
                                  : NULL;
    if (!chunks) {
        fis_free(chunk);
        return -1;
    }
    k->entry_chunks = chunks;
    k->entry_chunks[k->n_entry_chunks++] = chunk;
    for (uint32_t i = ENTRIES; i-- > 0;) {
        chunk[i].next_free = k->free_entries;
        k->free_entries = &chunk[i];
    }
    return 0;
}

/* The slots of a chunk share one block of features: the first slot's x. */
static int more_slots(struct known *k)
{
    struct slot *chunk = fis_calloc(SLOTS, sizeof *chunk);
    float *x = chunk ? fis_alloc((size_t)SLOTS * k->d, sizeof *x) : NULL;
    struct slot **chunks =
        x ? fis_grow(k->slot_chunks, k->n_slot_chunks, k->n_slot_chunks + 1, sizeof(struct slot *))
          : NULL;
    if (!chunks) {
        fis_free(x);
        fis_free(chunk);
        return -1;
    }
    k->slot_chunks = chunks;
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

void known_changed(struct known *k, struct entry *entry)
{
    if (entry->changed)
        return;
    entry->changed = 1;
    entry->changed_before = k->changed_last;
    entry->changed_after = NULL;
    if (k->changed_last)
        k->changed_last->changed_after = entry;
    else
        k->changed_first = entry;
    k->changed_last = entry;
}

void known_told(struct known *k, struct entry *entry)
{
    if (!entry->changed)
        return;
    entry->changed = 0;
    if (entry->changed_before)
        entry->changed_before->changed_after = entry->changed_after;
    else
        k->changed_first = entry->changed_after;
    if (entry->changed_after)
        entry->changed_after->changed_before = entry->changed_before;
    else
        k->changed_last = entry->changed_before;
}

static void give_back(struct known *k, struct entry *entry)
{
    known_drop_slot(k, entry);
    entry->next_free = k->free_entries;
    k->free_entries = entry;
}

struct entry *known_add(struct known *k, const struct fis_candidate *c, int with_slot,
                        struct fis_error *e)
{
    if (!k->free_entries && more_entries(k) < 0)
        goto nomem;
    struct entry *entry = k->free_entries;
    k->free_entries = entry->next_free;
    *entry = (struct entry){.slot = NO_SLOT};
    entry->id = c->id;
    if (with_slot && take_slot(k, entry, c) < 0) {
        give_back(k, entry);
        goto nomem;
    }
    HASH_ADD_KEYPTR(hh, k->table, entry->id.bytes, entry->id.length, entry);
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
    known_told(k, entry);
    HASH_DEL(k->table, entry);
    give_back(k, entry);
}

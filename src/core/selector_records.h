/*
 * What the selector knows, by id: an entry for every id that is held, asked for or done with, and
 * a slot (features, scores, payload) for those whose features are still needed. Entries and slots
 * come in chunks that never move, so that ids and features may be lent out; what is given back is
 * used again before more is asked of the allocator.
 */
#ifndef CORE_SELECTOR_RECORDS_H
#define CORE_SELECTOR_RECORDS_H

#include "core/request_table.h"
#include "fis/mem.h"
#include "fis/selector.h"

#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((void)(entry))
#define HASH_FUNCTION(key, length, hash) (hash) = (unsigned)known_hash(key, length)
#include <uthash.h>

struct slot {
    float *x; /* [d] */
    char *payload;
    size_t payload_length;
    float scores[FIS_MAX_CRITERIA];
    uint32_t heaps; /* bit i: heap i holds it */
    uint32_t number;
    uint32_t next_free; /* while unused */
    struct entry *entry;
};

struct entry {
    struct fis_request r; /* first: see entry_of. Its links serve all lists, and the free one */
    UT_hash_handle hh;
    uint64_t features; /* fis_features_hash; 0: not known, or of no interest */
    uint32_t slot;     /* NO_SLOT when it has none */
    bool placed;       /* has a place in round r.round */
};
static inline struct entry *entry_of(const struct fis_request *r)
{
    return (struct entry *)(uintptr_t)r;
}

#define NO_SLOT UINT32_MAX

struct known {
    struct entry *table;
    struct {
        struct fis_request *first, *last;
    } list[LISTS];
    struct fis_request *free_entries;
    struct entry **entry_chunks;
    uint32_t n_entry_chunks;
    struct slot **slot_chunks;
    uint32_t n_slot_chunks;
    uint32_t free_slot; /* head of the list, or NO_SLOT */
    uint32_t d;
};

uint64_t known_hash(const void *bytes, size_t length);
void known_init(struct known *k, uint32_t d);
void known_done(struct known *k);
struct entry *known_find(const struct known *k, const struct fis_id *id);
struct slot *known_slot(const struct known *k, uint32_t slot);
/* A new entry in the table, with a slot that holds copies of the candidate's features and payload
 * when with_slot. */
struct entry *known_add(struct known *k, const struct fis_candidate *c, bool with_slot,
                        struct fis_error *e);
/* A slot for an entry that has none; -FIS_NOMEM. */
int known_give_slot(struct known *k, struct entry *entry, const struct fis_candidate *c,
                    struct fis_error *e);
void known_drop_payload(struct known *k, struct entry *entry);
void known_drop_slot(struct known *k, struct entry *entry);
/* CHANGED is in the order of linking; OPEN by asked_at_ms and id, as after a restart. */
void known_link(struct known *k, enum request_list list, struct entry *entry);
void known_unlink(struct known *k, enum request_list list, struct entry *entry);
void known_drop_votes(struct entry *entry);
void known_remove(struct known *k, struct entry *entry); /* in no list */

#endif

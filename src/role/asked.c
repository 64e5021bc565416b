#include "role/asked.h"

#include <string.h>

#include "role/forgotten.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#include <uthash.h>

struct id {
    UT_hash_handle hh;
    char bytes[]; /* [hh.keylen] */
};

struct asked {
    struct id *ids;
    struct forgotten forgotten;
    uint64_t head_version;
    struct fis_arena arena;
};

struct asked *asked_new(size_t message_bytes, struct fis_error *e)
{
    struct asked *a = fis_calloc(1, sizeof *a);
    if (a) {
        a->arena.size = message_bytes * 4 + ((size_t)64 << 10);
        a->arena.base = fis_alloc(a->arena.size, 1);
        if (a->arena.base)
            return a;
    }
    asked_free(a);
    fis_fail(e, FIS_NOMEM, "no memory for the ids that were asked for");
    return NULL;
}

void asked_free(struct asked *a)
{
    if (!a)
        return;
    struct id *id, *next;
    HASH_ITER (hh, a->ids, id, next) {
        HASH_DEL(a->ids, id);
        fis_free(id);
    }
    forgotten_done(&a->forgotten);
    fis_free(a->arena.base);
    fis_free(a);
}

static struct id *find(const struct asked *a, const struct fis_id *id)
{
    struct id *found;
    HASH_FIND(hh, a->ids, id->bytes, id->length, found);
    return found;
}

static int add(struct asked *a, const struct fis_id *id, struct fis_error *e)
{
    if (find(a, id))
        return 0;
    struct id *fresh = fis_calloc(1, sizeof *fresh + id->length);
    if (fresh) {
        memcpy(fresh->bytes, id->bytes, id->length);
        HASH_ADD_KEYPTR(hh, a->ids, fresh->bytes, id->length, fresh);
        if (fresh->hh.tbl)
            return 0;
        fis_free(fresh); /* so uthash says that it had no memory */
    }
    return fis_fail(e, FIS_NOMEM, "no memory for an id that was asked for");
}

static void forget(struct asked *a, const struct fis_id *id)
{
    struct id *found = find(a, id);
    if (!found)
        return;
    HASH_DEL(a->ids, found);
    fis_free(found);
}

int asked_take(struct asked *a, const struct wire_message *m, struct fis_error *e)
{
    struct wire_ledger_item item = {0};
    fis_arena_reset(&a->arena);
    enum wire_decoded found = wire_ledger_decode(m, &a->arena, &item, e);
    if (found == WIRE_BAD)
        return -FIS_INPUT;
    if (item.kind == WIRE_LEDGER_STATE && found == WIRE_OK &&
        item.state.head_version > a->head_version)
        a->head_version = item.state.head_version;
    if (item.kind == WIRE_LEDGER_FORGOTTEN && found == WIRE_OK) {
        int rc = forgotten_add(&a->forgotten, &item.forgotten, e);
        return rc < 0 ? rc : 0;
    }
    if (item.kind != WIRE_LEDGER_ENTRY)
        return 0;
    /* A record in a heap was not asked for yet: it is to be scored again, like all others. */
    if (found == WIRE_OK && item.entry.state != WIRE_IN_HEAP)
        return add(a, &item.entry.id, e);
    forget(a, &item.entry.id);
    return 0;
}

bool asked_has(const struct asked *a, const struct fis_id *id)
{
    return find(a, id) != NULL || forgotten_has(&a->forgotten, id);
}

uint64_t asked_head_version(const struct asked *a)
{
    return a->head_version;
}

#include "cli/id_map.h"

#include <string.h>

#include "fis/mem.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(pointer, size) fis_free(pointer)
#include <uthash.h>

struct id_map_entry {
    UT_hash_handle hh;
    uint32_t number;
    uint8_t length;
    char bytes[];
};

static struct id_map_entry *find(const struct id_map *m, const struct fis_id *id)
{
    struct id_map_entry *found;
    HASH_FIND(hh, m->head, id->bytes, id->length, found);
    return found;
}

int id_map_add(struct id_map *m, const struct fis_id *id, uint32_t number, uint32_t *value,
               struct fis_error *e)
{
    struct id_map_entry *entry = find(m, id);
    if (entry) {
        if (value)
            *value = entry->number;
        return 0;
    }
    entry = fis_alloc(1, sizeof *entry + id->length);
    if (entry) {
        entry->number = number;
        entry->length = id->length;
        memcpy(entry->bytes, id->bytes, id->length);
        HASH_ADD_KEYPTR(hh, m->head, entry->bytes, entry->length, entry);
    }
    if (!entry || !entry->hh.tbl) {
        fis_free(entry);
        return fis_fail(e, FIS_NOMEM, "no memory for %llu ids", (unsigned long long)m->count + 1);
    }
    m->count++;
    return 1;
}

int id_map_put(struct id_map *m, const struct fis_id *id, uint32_t number, struct fis_error *e)
{
    struct id_map_entry *entry = find(m, id);
    if (!entry)
        return id_map_add(m, id, number, NULL, e);
    entry->number = number;
    return 0;
}

int id_map_each(const struct id_map *m,
                int (*each)(void *arg, const struct fis_id *id, uint32_t number), void *arg)
{
    int rc = 0;
    for (const struct id_map_entry *entry = m->head; !rc && entry; entry = entry->hh.next) {
        struct fis_id id = {.length = entry->length};
        memcpy(id.bytes, entry->bytes, entry->length);
        rc = each(arg, &id, entry->number);
    }
    return rc;
}

bool id_map_get(const struct id_map *m, const struct fis_id *id, uint32_t *value)
{
    const struct id_map_entry *entry = find(m, id);
    if (entry && value)
        *value = entry->number;
    return entry != NULL;
}

bool id_map_remove(struct id_map *m, const struct fis_id *id)
{
    struct id_map_entry *entry = find(m, id);
    if (!entry)
        return false;
    HASH_DEL(m->head, entry);
    fis_free(entry);
    m->count--;
    return true;
}

void id_map_done(struct id_map *m)
{
    struct id_map_entry *entry, *next;
    HASH_ITER (hh, m->head, entry, next) {
        HASH_DEL(m->head, entry);
        fis_free(entry);
    }
    *m = (struct id_map){0};
}

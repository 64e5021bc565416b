/*
 * Ids and a number for each: the answers of a file, requests that are open.
 * Thread: one owner. Owns: copies of the ids.
 */
#ifndef CLI_ID_MAP_H
#define CLI_ID_MAP_H

#include <stdbool.h>

#include "fis/error.h"
#include "fis/id.h"

struct id_map_entry;
struct id_map { /* all-zero is an empty one */
    struct id_map_entry *head;
    uint64_t count;
};

/* 1: added; 0: it was there, and *value (may be NULL) gets its number; -FIS_NOMEM. */
int id_map_add(struct id_map *m, const struct fis_id *id, uint32_t number, uint32_t *value,
               struct fis_error *e) FIS_MUST_CHECK;
/* 1: there, *value (may be NULL) is written; 0: not. */
bool id_map_get(const struct id_map *m, const struct fis_id *id, uint32_t *value);
/* The number of an id, whether it was there or not. 1: it is new; 0: it was there; -FIS_NOMEM. */
int id_map_put(struct id_map *m, const struct fis_id *id, uint32_t number,
               struct fis_error *e) FIS_MUST_CHECK;
/* Each id, in the order in which they came, until `each` returns what is not 0; that comes back. */
int id_map_each(const struct id_map *m,
                int (*each)(void *arg, const struct fis_id *id, uint32_t number), void *arg);
/* 1: it was there and is gone now; 0: it was not. */
bool id_map_remove(struct id_map *m, const struct fis_id *id);
void id_map_done(struct id_map *m);

#endif

/*
 * Requests that wait for an answer, in the order in which they came; one that is withdrawn drops
 * out.
 * Thread: one owner. Owns: the requests.
 */
#ifndef CLI_REQUEST_QUEUE_H
#define CLI_REQUEST_QUEUE_H

#include <stdbool.h>

#include "cli/id_map.h"
#include "cli/request_view.h"

struct request_queue { /* all-zero is an empty one */
    struct wire_request_shown *items;
    uint32_t head, tail, room; /* those between wait; one without an id has dropped out */
    uint32_t base;             /* number of items[0] since the beginning */
    struct id_map numbers;     /* of those that wait */
};

/* Takes the request, also when it fails. 1: it waits now; 0: one with this id does already. */
int request_queue_add(struct request_queue *q, struct wire_request_shown *take,
                      struct fis_error *e) FIS_MUST_CHECK;
/* 1: it was there. */
bool request_queue_drop(struct request_queue *q, const struct fis_id *id);
/* The oldest, which is the caller's then; false when none waits. */
bool request_queue_next(struct request_queue *q, struct wire_request_shown *out);
static inline uint64_t request_queue_count(const struct request_queue *q)
{
    return q->numbers.count;
}
void request_queue_done(struct request_queue *q);

#endif

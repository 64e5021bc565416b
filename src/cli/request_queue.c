#include "cli/request_queue.h"

#include <string.h>

#include "fis/mem.h"

static int make_room(struct request_queue *q, struct fis_error *e)
{
    if (q->tail < q->room)
        return 0;
    if (q->head > q->room / 2) {
        memmove(q->items, q->items + q->head, (q->tail - q->head) * sizeof *q->items);
        q->base += q->head;
        q->tail -= q->head;
        q->head = 0;
        return 0;
    }
    uint32_t room = q->room ? 2 * q->room : 64;
    if (!fis_grow(&q->items, q->tail, room, sizeof *q->items))
        return fis_fail(e, FIS_NOMEM, "no memory for %u label requests", room);
    q->room = room;
    return 0;
}

int request_queue_add(struct request_queue *q, struct wire_request_shown *take, struct fis_error *e)
{
    int rc = make_room(q, e);
    if (!rc)
        rc = id_map_add(&q->numbers, &take->id, q->base + q->tail, NULL, e);
    if (rc <= 0) {
        wire_request_shown_done(take);
        return rc;
    }
    q->items[q->tail++] = *take;
    *take = (struct wire_request_shown){0};
    return 1;
}

bool request_queue_drop(struct request_queue *q, const struct fis_id *id)
{
    uint32_t number;
    if (!id_map_get(&q->numbers, id, &number))
        return false;
    wire_request_shown_done(&q->items[number - q->base]);
    return id_map_remove(&q->numbers, id);
}

bool request_queue_next(struct request_queue *q, struct wire_request_shown *out)
{
    while (q->head < q->tail) {
        struct wire_request_shown *r = &q->items[q->head++];
        if (!r->id.length)
            continue;
        *out = *r;
        *r = (struct wire_request_shown){0};
        id_map_remove(&q->numbers, &out->id);
        return true;
    }
    return false;
}

void request_queue_done(struct request_queue *q)
{
    for (uint32_t i = q->head; i < q->tail; i++)
        wire_request_shown_done(&q->items[i]);
    fis_free(q->items);
    id_map_done(&q->numbers);
    *q = (struct request_queue){0};
}

#include "daemon/intake.h"

#include "fis/mem.h"

void intake_init(struct intake *in, uint32_t held_topic)
{
    *in = (struct intake){.held = held_topic};
}

void intake_done(struct intake *in)
{
    fis_free(in->places);
    *in = (struct intake){0};
}

/* Messages come in runs of one partition: the search begins where the last one ended. */
static struct intake_place *find(struct intake *in, uint32_t topic, int32_t partition)
{
    for (uint32_t k = 0, i = in->last; k < in->count; k++, i++) {
        i = i < in->count ? i : 0;
        if (in->places[i].topic == topic && in->places[i].partition == partition) {
            in->last = i;
            return &in->places[i];
        }
    }
    return NULL;
}

static struct intake_place *add(struct intake *in, uint32_t topic, int32_t partition,
                                int64_t offset)
{
    if (in->count == in->capacity) {
        uint32_t more = in->capacity ? 2 * in->capacity : 16;
        struct intake_place *grown = fis_grow(in->places, in->count, more, sizeof *grown);
        if (!grown)
            return NULL;
        in->places = grown;
        in->capacity = more;
    }
    struct intake_place *p = &in->places[in->count++];
    *p = (struct intake_place){topic, partition, offset, offset, -1, -1};
    return p;
}

int intake_take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e)
{
    struct intake_place *p = find(in, topic, partition);
    if (!p && !(p = add(in, topic, partition, offset)))
        return fis_fail(e, FIS_NOMEM, "no memory for offsets");
    bool held = topic == in->held && !in->free;
    if (offset < p->taken) {
        p->told = -1; /* the commit that was told got lost: tell it again */
        return 0;
    }
    p->taken = offset + 1;
    if (!held)
        p->commit = p->taken;
    return 1;
}

void intake_window(struct intake *in, enum trainer_window what)
{
    in->free = what == TRAINER_WINDOW_NONE;
    for (uint32_t i = 0; i < in->count; i++) {
        struct intake_place *p = &in->places[i];
        if (p->topic != in->held)
            continue;
        if (what == TRAINER_WINDOW_CLOSED)
            p->window = p->taken;
        else
            p->commit = in->free ? p->taken : p->window;
    }
}

const struct intake_place *intake_next(struct intake *in)
{
    for (uint32_t i = 0; i < in->count; i++) {
        struct intake_place *p = &in->places[i];
        if (p->commit == p->told || p->commit < 0)
            continue;
        p->told = p->commit;
        return p;
    }
    return NULL;
}

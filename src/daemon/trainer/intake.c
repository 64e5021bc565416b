#include "daemon/trainer/intake.h"

#include "fis/mem.h"

void intake_init(struct intake *in)
{
    *in = (struct intake){0};
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
    *p = (struct intake_place){topic, partition, offset, -1};
    return p;
}

static struct intake_place *place(struct intake *in, uint32_t topic, int32_t partition,
                                  int64_t offset, struct fis_error *e)
{
    struct intake_place *p = find(in, topic, partition);
    if (!p && !(p = add(in, topic, partition, offset)))
        fis_fail(e, FIS_NOMEM, "no memory for offsets");
    return p;
}

int intake_take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e)
{
    struct intake_place *p = place(in, topic, partition, offset, e);
    if (!p)
        return -FIS_NOMEM;
    if (offset < p->next)
        return 0;
    p->next = offset + 1;
    return 1;
}

int intake_move(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e)
{
    struct intake_place *p = place(in, topic, partition, offset, e);
    if (!p)
        return -FIS_NOMEM;
    p->next = offset;
    return 0;
}

const struct intake_place *intake_next(struct intake *in)
{
    for (uint32_t i = 0; i < in->count; i++) {
        struct intake_place *p = &in->places[i];
        if (p->next == p->told)
            continue;
        p->told = p->next;
        return p;
    }
    return NULL;
}

void intake_again(struct intake *in)
{
    for (uint32_t i = 0; i < in->count; i++)
        in->places[i].told = -1;
}

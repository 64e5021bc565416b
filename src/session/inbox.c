#include "session/inbox.h"

#include "fis/mem.h"

void inbox_done(struct inbox *in)
{
    fis_free(in->places);
    fis_free(in->changed);
    *in = (struct inbox){0};
}

/* Messages come in runs of one partition: the search begins where the last one ended. */
static struct inbox_place *find(struct inbox *in, enum session_topic topic, int32_t partition)
{
    for (uint32_t k = 0, i = in->last; k < in->count; k++, i++) {
        i = i < in->count ? i : 0;
        if (in->places[i].at.topic == topic && in->places[i].at.partition == partition) {
            in->last = i;
            return &in->places[i];
        }
    }
    return NULL;
}

static bool grow(struct inbox *in)
{
    return fis_more(&in->places, in->count, sizeof *in->places) &&
           fis_more(&in->changed, in->count, sizeof *in->changed);
}

static struct inbox_place *place(struct inbox *in, enum session_topic topic, int32_t partition,
                                 int64_t offset, struct fis_error *e)
{
    struct inbox_place *p = find(in, topic, partition);
    if (p)
        return p;
    if (!grow(in)) {
        fis_fail(e, FIS_NOMEM, "no memory for offsets");
        return NULL;
    }
    p = &in->places[in->count++];
    *p = (struct inbox_place){{topic, partition, offset}, -1};
    return p;
}

int inbox_take(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
               struct fis_error *e)
{
    struct inbox_place *p = place(in, topic, partition, offset, e);
    if (!p)
        return -FIS_NOMEM;
    if (offset < p->at.next)
        return 0;
    p->at.next = offset + 1;
    return 1;
}

int inbox_move(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
               struct fis_error *e)
{
    struct inbox_place *p = place(in, topic, partition, offset, e);
    if (!p)
        return -FIS_NOMEM;
    p->at.next = offset;
    return 0;
}

int inbox_restart(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
                  struct fis_error *e)
{
    int rc = inbox_move(in, topic, partition, offset, e);
    if (rc == 0)
        find(in, topic, partition)->given = -1;
    return rc;
}

bool inbox_has_changed(const struct inbox *in)
{
    for (uint32_t i = 0; i < in->count; i++)
        if (in->places[i].at.next != in->places[i].given)
            return true;
    return false;
}

const struct session_place *inbox_changed(struct inbox *in, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        struct inbox_place *p = &in->places[i];
        if (p->at.next == p->given)
            continue;
        p->given = p->at.next;
        in->changed[(*n)++] = p->at;
    }
    return in->changed;
}

void inbox_again(struct inbox *in)
{
    for (uint32_t i = 0; i < in->count; i++)
        in->places[i].given = -1;
}

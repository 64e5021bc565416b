/* What a batch holds of which partition: for the commit, and for the progress. */
#include <assert.h>

#include "base/planted.h"
#include "role/scorer_impl.h"

/* Messages come in runs of a partition, and of an assignment: the newest part is looked at first.
 * A part whose partition was taken away has seen its last message: what comes later was read under
 * a new assignment, which begins where the last commit was. */
static struct scorer_part *part_of(struct slot *s, int32_t partition)
{
    for (uint32_t i = s->n_parts; i-- > 0;)
        if (s->parts[i].partition == partition)
            return &s->parts[i];
    return NULL;
}

static struct scorer_place *recreated_of(const struct scorer *m, int32_t partition)
{
    for (uint32_t i = 0; i < m->n_recreated; i++)
        if (m->recreated[i].partition == partition)
            return &m->recreated[i];
    return NULL;
}

int scorer_recreated(struct scorer *m, int32_t partition, int64_t first, struct fis_error *e)
{
    struct scorer_place *place = recreated_of(m, partition);
    if (!place) {
        if (!fis_more(&m->recreated, m->n_recreated, sizeof *m->recreated))
            return fis_fail(e, FIS_NOMEM, "scorer: no memory for %u partitions",
                            m->n_recreated + 1);
        place = &m->recreated[m->n_recreated++];
    }
    *place = (struct scorer_place){partition, first};
    return 0;
}

void scorer_recreated_forget(struct scorer *m, int32_t partition)
{
    struct scorer_place *recreated = recreated_of(m, partition);
    if (recreated)
        *recreated = m->recreated[--m->n_recreated];
}

static struct scorer_part *open_part(struct scorer *m, struct slot *s,
                                     const struct wire_message *message)
{
    struct scorer_part *part = &s->parts[s->n_parts++];
    struct scorer_place *recreated = recreated_of(m, message->partition);
    *part =
        (struct scorer_part){.partition = message->partition, .commit = true, .range = NO_RANGE};
    if (recreated) {
        part->recreated = true;
        part->first = recreated->next < message->offset ? recreated->next : message->offset;
        *recreated = m->recreated[--m->n_recreated];
    }
    return part;
}

void scorer_parts_note(struct scorer *m, struct slot *s, const struct scoring_batch *b)
{
    assert(b->n <= m->o.batch);
    for (; s->noted < b->n; s->noted++) {
        const struct wire_message *message = &b->messages[s->noted];
        struct scorer_part *part =
            s->n_parts && s->parts[s->n_parts - 1].partition == message->partition
                ? &s->parts[s->n_parts - 1]
                : part_of(s, message->partition);
        if (part && part->commit && message->offset < part->next)
            part->commit = false; /* it went back (an offset that was reset): start again */
        if (!part || !part->commit)
            part = open_part(m, s, message);
        part->next = message->offset + 1;
        if (m->o.pool)
            scorer_scan_read(m, message);
    }
}

/* Whether the message goes on with the range so that any part of it can be reported: as many
 * records as offsets, or none at all. */
static bool goes_on(const struct wire_range *r, int64_t offset, int record)
{
    return offset == r->next &&
           (record ? r->records == (uint64_t)(r->next - r->begin) : !r->records);
}

/* Ranges are cut where records and others meet, so that a reader who has counted a range in part
 * (it was read twice, in other batches) knows exactly how many records are new to it. A topic full
 * of gaps (one record a transaction) would make that long; beyond a bound they are run together. */
void scorer_range_add(struct scorer *m, struct slot *s, const struct wire_message *message,
                      enum wire_decoded status)
{
    struct scorer_part *part = part_of(s, message->partition);
    if (part->range != NO_RANGE && !part->recreated && status == WIRE_OK) {
        struct wire_range *same = &s->ranges[part->range];
        if (goes_on(same, message->offset, 1)) { /* nearly always */
            same->next++;
            same->records++;
            return;
        }
    }
    if (part->recreated && message->offset >= part->first) {
        part->recreated = false;
        s->ranges[s->n_ranges++] = (struct wire_range){
            .partition = part->partition, .begin = part->first, .next = part->first};
    }
    struct wire_range *r = part->range == NO_RANGE ? NULL : &s->ranges[part->range];
    int backwards = r && message->offset < r->next;
    if (!r || backwards ||
        (!goes_on(r, message->offset, status == WIRE_OK) && s->n_ranges < SCORER_MAX_RANGES)) {
        assert(s->n_ranges < 2 * m->o.batch);
        part->range = s->n_ranges;
        r = &s->ranges[s->n_ranges++];
        *r = (struct wire_range){.partition = message->partition, .begin = message->offset};
    }
    r->next = message->offset + 1;
    r->records += status == WIRE_OK;
    r->refused += status == WIRE_BAD;
    r->tombstones += status == WIRE_TOMBSTONE;
}

uint32_t scorer_places(const struct scorer *m, const struct slot *s, struct scorer_place *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_parts && !m->o.pool; i++)
        if (s->parts[i].commit)
            out[n++] = (struct scorer_place){s->parts[i].partition,
                                             s->parts[i].next + PLANTED(offset_early)};
    return n;
}

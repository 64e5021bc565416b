/* Pool mode: a scan of the whole topic, from its beginning to the ends that came with the head. */

#include "role/scorer_impl.h"

static struct scan_partition *find(const struct scorer *m, int32_t partition)
{
    for (uint32_t i = 0; i < m->n_partitions; i++)
        if (m->partitions[i].partition == partition)
            return &m->partitions[i];
    return NULL;
}

/* The partitions of the new scan, and what is remembered of those of the older ones. */
static int set_ends(struct scorer *m, const struct wire_head *head, struct fis_error *e)
{
    uint32_t room = m->n_partitions + head->n_ends;
    struct scan_partition *table = fis_calloc(room + 1, sizeof *table);
    struct wire_range *ranges = fis_calloc(room + 1, sizeof *ranges);
    if (!table || !ranges) {
        fis_free(table);
        fis_free(ranges);
        return fis_fail(e, FIS_NOMEM, "scorer: no memory for a scan of %u partitions",
                        head->n_ends);
    }
    for (uint32_t i = 0; i < m->n_partitions; i++)
        table[i] = (struct scan_partition){.partition = m->partitions[i].partition,
                                           .refused = m->partitions[i].refused};
    fis_free(m->partitions);
    fis_free(m->end_ranges);
    m->partitions = table;
    m->end_ranges = ranges;
    for (uint32_t i = 0; i < head->n_ends; i++) {
        struct scan_partition *p = find(m, head->ends[i].partition);
        if (!p) {
            p = &table[m->n_partitions++];
            p->partition = head->ends[i].partition;
        }
        p->end = head->ends[i].end;
    }
    return 0;
}

int scorer_scan_head(struct scorer *m, const struct wire_head *head, struct fis_error *e)
{
    if (head->scan == m->scan)
        return 0;
    if (head->scan && set_ends(m, head, e) < 0)
        return -FIS_NOMEM;
    m->scan = head->scan;
    m->scan_head = head->version;
    m->scanning = false;
    return 0;
}

void scorer_scan_begin(struct scorer *m)
{
    if (!m->scan || m->scanning || asked_head_version(m->asked) < m->scan_head)
        return;
    m->out.rewind(m->out.ctx);
    m->scanning = true; /* only now: what was reported before of ends belongs to the time before */
    m->counts.scans++;
}

void scorer_scan_read(struct scorer *m, const struct wire_message *message)
{
    struct scan_partition *p = find(m, message->partition);
    if (p && (message->offset < p->end - 1 || p->reached))
        return;
    if (p) {
        p->reached = true;
        p->reported = message->offset == p->end - 1; /* by this batch's own progress */
    }
    m->out.enough(m->out.ctx, message->partition);
}

void scorer_end(struct scorer *m, int32_t partition, int64_t offset)
{
    struct scan_partition *p = m->scanning ? find(m, partition) : NULL;
    if (!p || p->reached || offset < p->end)
        return;
    p->reached = true;
    m->out.enough(m->out.ctx, partition);
    scorer_advance(m);
}

void scorer_scan_revoked(struct scorer *m, int32_t partition)
{
    struct scan_partition *p = find(m, partition);
    if (p)
        p->reached = p->reported = false; /* should it come back, it is read from its beginning */
}

bool scorer_scan_beyond(struct scorer *m, const struct wire_message *message)
{
    const struct scan_partition *p = find(m, message->partition);
    return !p || message->offset >= p->end;
}

bool scorer_scan_refuses(struct scorer *m, const struct wire_message *message)
{
    const struct scan_partition *p = find(m, message->partition);
    return p && message->offset >= p->refused;
}

/* Batches are scored in any order, but progress is reported in the order of reading: what is behind
 * it was refused and acknowledged without a gap. */
void scorer_scan_reported(struct scorer *m, const struct slot *s)
{
    for (uint32_t i = 0; i < s->n_ranges; i++) {
        struct scan_partition *p = find(m, s->ranges[i].partition);
        if (p && s->ranges[i].next > p->refused)
            p->refused = s->ranges[i].next;
    }
}

bool scorer_scan_stale(const struct scorer *m, const struct slot *s)
{
    return m->o.pool && s->scan != m->scan;
}

/* A batch that holds messages of the partition and has not reported them yet. */
static bool in_flight(const struct scorer *m, int32_t partition)
{
    for (uint32_t i = 0; i < m->o.slots; i++) {
        const struct slot *s = &m->slots[i];
        if (s->state == SLOT_FREE || s->state >= SLOT_PROGRESS || scorer_scan_stale(m, s))
            continue;
        for (uint32_t k = 0; k < s->n_parts; k++)
            if (s->parts[k].partition == partition)
                return true;
    }
    return false;
}

/* An end at which no record lies (markers of transactions, compacted away) is in no batch: it is
 * reported by itself, as an empty range. */
void scorer_scan_tell(struct scorer *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; m->scanning && i < m->n_partitions; i++) {
        struct scan_partition *p = &m->partitions[i];
        if (!p->reached || p->reported || !p->end || in_flight(m, p->partition))
            continue;
        p->reported = true;
        m->end_ranges[n++] =
            (struct wire_range){.partition = p->partition, .begin = p->end, .next = p->end};
    }
    if (!n)
        return;
    struct wire_progress progress = {.scorer = m->o.name,
                                     .head_version = m->head_version,
                                     .scan = m->scan,
                                     .ranges = m->end_ranges,
                                     .n_ranges = n};
    m->ends_unacked++;
    m->out.progress(m->out.ctx, scorer_no_slot(m), &progress);
}

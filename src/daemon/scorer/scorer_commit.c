/* How far records were handled, committed for the group now and then: every commit is a message
 * that the broker writes, and of many only the last one counts. */
#include "daemon/scorer/scorer_host_impl.h"
#include "fis/mem.h"
#include "wire/source.h"

void scorer_host_failed(struct scorer_host *h, const struct fis_error *e)
{
    if (!h->failed)
        context_fail(h->ctx, "scorer", e);
    h->failed = true;
}

uint32_t scorer_host_topic(const struct scorer_host *h, int32_t source)
{
    uint32_t k = 0;
    while (k + 1 < h->n_topics && h->numbers[k] != wire_source_topic(source))
        k++;
    return k;
}

static bool make_room(struct scorer_host *h, struct scorer_next *t, uint32_t partitions)
{
    uint32_t all = h->n_offsets + partitions - t->n;
    if (!fis_grow(&t->next, t->n, partitions, sizeof *t->next) ||
        !fis_grow(&h->offsets, h->n_offsets, all, sizeof *h->offsets))
        return false;
    h->n_offsets = all;
    for (; t->n < partitions; t->n++)
        t->next[t->n] = 0;
    return true;
}

void scorer_commit_note(struct scorer_host *h, const struct scorer_place *places, uint32_t n)
{
    struct fis_error e;
    for (uint32_t i = 0; i < n; i++) {
        struct scorer_next *t = &h->next[scorer_host_topic(h, places[i].partition)];
        uint32_t p = (uint32_t)wire_source_partition(places[i].partition);
        if (p >= t->n && !make_room(h, t, p + 1)) {
            fis_fail(&e, FIS_NOMEM, "no memory for the offsets of %u partitions", p + 1);
            scorer_host_failed(h, &e);
            return;
        }
        t->next[p] = places[i].next;
        h->uncommitted = true;
    }
}

void scorer_commit_now(struct scorer_host *h)
{
    struct fis_error e;
    uint32_t n = 0;
    for (uint32_t k = 0; k < h->n_topics; k++)
        for (uint32_t p = 0; p < h->next[k].n; p++)
            if (h->next[k].next[p]) {
                h->offsets[n++] =
                    (struct stream_offset){h->topics[k], (int32_t)p, h->next[k].next[p], 0};
                h->next[k].next[p] = 0;
            }
    h->uncommitted = false;
    h->commit_at_ms = context_now().mono_ms + h->ctx->cfg->runtime.commit_interval;
    if (n && stream_consumer_commit(h->records, h->offsets, n, &e) < 0)
        context_trouble(h->ctx, "scorer", &e);
}

void scorer_commit_turn(struct scorer_host *h)
{
    bool last = h->stopping && scorer_idle(h->machine);
    if (h->uncommitted && (last || context_now().mono_ms >= h->commit_at_ms))
        scorer_commit_now(h);
}

void scorer_commit_revoked(struct scorer_host *h, bool lost,
                           const struct stream_partition *partitions, size_t count)
{
    for (size_t i = 0; lost && i < count; i++) {
        struct scorer_next *t = &h->next[partitions[i].topic];
        if ((uint32_t)partitions[i].partition < t->n)
            t->next[partitions[i].partition] = 0;
    }
    if (!lost && h->uncommitted)
        scorer_commit_now(h);
}

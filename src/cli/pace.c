#include "cli/pace.h"

void pace_init(struct pace *p, double rate, uint32_t partitions, int64_t now_ms)
{
    *p = (struct pace){.rate = rate, .partitions = partitions, .start_ms = now_ms};
    p->asked_ms = now_ms - PACE_ASK_MS;
}

/* The bound on unread records, by their size so far; UINT64_MAX when there is none. */
static uint64_t pace_bound(const struct pace *p)
{
    if (!p->partitions)
        return UINT64_MAX;
    uint64_t records = (uint64_t)p->partitions * PACE_RECORDS;
    uint64_t bytes = (uint64_t)p->partitions * PACE_BYTES;
    if (bytes > PACE_TOTAL)
        bytes = PACE_TOTAL;
    /* Before anything is known of their size, a few at a time. */
    uint64_t size = p->sent ? p->bytes / p->sent + 1 : 10000;
    uint64_t by_size = bytes / size;
    records = by_size < records ? by_size : records;
    return records ? records : 1;
}

uint64_t pace_unread(const struct pace *p)
{
    return p->unread + (p->sent - p->unread_at);
}

static uint64_t by_rate(const struct pace *p, int64_t now_ms)
{
    if (p->rate <= 0)
        return UINT64_MAX;
    double due = p->rate * (double)(now_ms - p->start_ms) / 1000 + 1;
    return due > (double)p->sent ? (uint64_t)(due - (double)p->sent) : 0;
}

uint64_t pace_allowed(const struct pace *p, int64_t now_ms)
{
    uint64_t rate = by_rate(p, now_ms), bound = pace_bound(p), unread = pace_unread(p);
    uint64_t room = bound == UINT64_MAX ? bound : unread < bound ? bound - unread : 0;
    return rate < room ? rate : room;
}

int pace_wait_ms(const struct pace *p, int64_t now_ms)
{
    if (p->rate <= 0 || by_rate(p, now_ms) > 0)
        return 20;
    double due = (double)p->start_ms + (double)p->sent * 1000 / p->rate - (double)now_ms;
    return due < 1 ? 1 : due > 100 ? 100 : (int)due;
}

void pace_sent(struct pace *p, uint64_t bytes)
{
    p->sent++;
    p->bytes += bytes;
}

bool pace_ask(const struct pace *p, int64_t now_ms)
{
    return p->partitions && pace_unread(p) > pace_bound(p) / 2 &&
           now_ms - p->asked_ms >= PACE_ASK_MS;
}

void pace_lag(struct pace *p, uint64_t unread, uint64_t sent_then, int64_t now_ms)
{
    p->unread = unread;
    p->unread_at = sent_then;
    p->asked_ms = now_ms;
    /* What a wait for the scorers cost is not made up for by a burst after it. */
    if (p->rate > 0 && by_rate(p, now_ms) > p->rate + 1)
        p->start_ms = now_ms - (int64_t)((double)p->sent * 1000 / p->rate);
}

/*
 * Offsets that are gone, and ends that are needed. Both need to know where partitions begin and
 * end, which only a blocking call tells (stream/ends.h).
 *
 * librdkafka would jump by itself (auto.offset.reset), but it says so in a log line alone. With
 * "error" it says what it requested and stops fetching the partition, which can then not be sought
 * in, only started again.
 */

#include "stream/consumer_impl.h"

/* A transaction that is open for longer than a unit of commit takes is reported, and the ends are
 * asked for again: a log that was cut ends earlier than it did. */
#define BLOCKED_MS 1000

void stream_reset_noticed(struct stream_consumer *c, uint32_t i, int64_t expected)
{
    struct stream_position *p = &c->positions[i];
    bool unknown = expected < 0;
    if (unknown ? p->next >= 0 : expected < p->next)
        return; /* from before a restart */
    p->gone = c->gone = true;
    if (!p->reset)
        p->expected = unknown ? -1 : expected;
    p->next = unknown ? -1 : expected; /* where a restart would try again */
}

void stream_reset_recreated(struct stream_consumer *c, uint32_t i)
{
    struct stream_position *p = &c->positions[i];
    if (!p->reset)
        p->expected = p->next;
    p->gone = c->gone = p->recreated = true;
}

/* ---- starting again --------------------------------------------------------------------- */

static void report(struct stream_consumer *c, rd_kafka_error_t *error)
{
    if (error) {
        stream_consumer_failed(c, rd_kafka_error_code(error), "restart",
                               rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
    }
}

static void add(const struct stream_consumer *c, rd_kafka_topic_partition_list_t *list, uint32_t i)
{
    const struct stream_partition *p = &c->owned[i];
    int64_t next = c->positions[i].next;
    rd_kafka_topic_partition_list_add(list, c->topics[p->topic], p->partition)->offset =
        next >= 0 ? next : stream_consumer_start(c);
}

/* An eager assignment is set as a whole: the others go on where they are, fetched again. */
static void restart_eager(struct stream_consumer *c)
{
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new((int)c->owned_count);
    for (uint32_t i = 0; i < c->owned_count; i++) {
        add(c, all, i);
        c->positions[i].unsettled = true;
    }
    rd_kafka_resp_err_t err = rd_kafka_assign(c->rk, all);
    if (err)
        stream_consumer_failed(c, err, "restart", rd_kafka_err2str(err));
    rd_kafka_topic_partition_list_destroy(all);
}

static void restart(struct stream_consumer *c, rd_kafka_topic_partition_list_t *list)
{
    c->unsettled = true;
    if (stream_consumer_cooperative(c)) {
        report(c, rd_kafka_incremental_unassign(c->rk, list));
        report(c, rd_kafka_incremental_assign(c->rk, list));
    } else {
        restart_eager(c);
    }
}

/* ---- answers ---------------------------------------------------------------------------- */

/* Where a partition goes on, and what there is to tell. */
static void settle_reset(struct stream_consumer *c, struct stream_position *p,
                         const struct stream_range *r)
{
    p->gone = false;
    if (!p->recreated && p->next >= r->low && p->next <= r->high)
        return; /* it is there: a replica was behind, or the topic has grown again */
    p->recreated = p->recreated || p->next > r->high;
    if (!p->recreated && p->next >= 0 && p->next < r->low)
        p->lost += r->low - p->next;
    p->first = p->next = r->low;
    p->last.offset = p->probe.offset = -1;
    if (p->goal > r->high)
        p->goal = r->high;
    p->reset = c->news = true;
}

static void take_resets(struct stream_consumer *c)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    for (uint32_t k = 0; k < c->ends.count; k++) {
        const struct stream_range *r = &c->ends.list[k];
        uint32_t i = stream_consumer_find(c, r->topic, r->partition);
        if (i == c->owned_count || !c->positions[i].gone)
            continue; /* given up in the meantime */
        settle_reset(c, &c->positions[i], r);
        c->positions[i].unsettled = true;
        if (c->reader)
            stream_reader_restart(c->reader, c, i, c->positions[i].next);
        else
            add(c, list, i);
    }
    if (list->cnt > 0)
        restart(c, list);
    rd_kafka_topic_partition_list_destroy(list);
}

/* What is stable ends before the goal: a transaction is open there. */
static bool is_blocked(const struct stream_position *p)
{
    return p->stable_end && !p->ended;
}

static void set_goal(struct stream_consumer *c, struct stream_position *p, int64_t high)
{
    if (!c->again || high < p->goal)
        p->goal = high;
    p->ended = p->next >= p->goal;
    if (c->again && is_blocked(p) && p->next != p->blocked_at) {
        p->blocked_at = p->next;
        p->blocked = c->news = true;
    }
}

static void take_goals(struct stream_consumer *c)
{
    c->goals = false;
    if (c->to_end)
        return; /* asked for again: these are old */
    for (uint32_t k = 0; k < c->ends.count; k++) {
        const struct stream_range *r = &c->ends.list[k];
        uint32_t i = stream_consumer_find(c, r->topic, r->partition);
        if (i < c->owned_count) {
            c->positions[i].begin = r->low;
            set_goal(c, &c->positions[i], r->high);
        }
    }
    stream_consumer_check_end(c);
}

/* ---- questions -------------------------------------------------------------------------- */

static void ask(struct stream_consumer *c, bool goals)
{
    struct stream_range *list = stream_ends_room(&c->ends, c->owned_count);
    uint32_t n = 0;
    for (uint32_t i = 0; list && i < c->owned_count; i++)
        if (goals || c->positions[i].gone)
            list[n++] = (struct stream_range){c->owned[i].topic, c->owned[i].partition, 0, 0};
    if (list && n > 0 && !stream_ends_ask(&c->ends, n))
        list = NULL;
    if (!list) { /* the next read tries again */
        stream_errors_push(&c->errors, FIS_RETRY,
                           "kafka consumer: no memory or no thread to ask where partitions end");
        return;
    }
    if (goals) {
        c->again = !c->to_end;
        c->to_end = false;
        c->goals = true;
    } else {
        c->gone = false;
    }
}

static bool blocked_for_long(struct stream_consumer *c)
{
    bool blocked = false;
    for (uint32_t i = 0; c->reader && !c->end && i < c->owned_count; i++)
        blocked |= is_blocked(&c->positions[i]);
    int64_t now = stream_now_ms();
    if (!blocked || !c->blocked_ms)
        c->blocked_ms = blocked ? now : 0;
    if (!blocked || now - c->blocked_ms < BLOCKED_MS)
        return false;
    c->blocked_ms = now;
    return true;
}

bool stream_reset_serve(struct stream_consumer *c)
{
    bool resets = false;
    if (stream_helper_over(&c->ends.helper, &c->errors)) {
        resets = !c->goals;
        if (c->goals)
            take_goals(c);
        else
            take_resets(c);
    }
    if (c->ends.helper.running || c->owned_count == 0)
        return resets;
    if (c->gone)
        ask(c, false);
    else if (c->to_end || blocked_for_long(c))
        ask(c, true);
    return resets;
}

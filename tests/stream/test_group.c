/* Rebalances of a group on the embedded broker, eager and cooperative: nothing is lost, and what
 * was committed in on_revoke is not read again. */
#include "kit/stream/embedded_kit.h"

#define MESSAGES 2000
#define PARTITIONS 4

struct member {
    bool held;
    struct stream_consumer *c;
    struct stream_batch *batch;
    const char *topic;
    int64_t next[PARTITIONS]; /* to commit; -1: nothing read */
    unsigned *seen;
    unsigned revocations, revoked_partitions;
};

/* Commits what was handled, at the last moment. */
static void on_revoke(void *arg, bool lost, const struct stream_partition *p, size_t count)
{
    struct member *m = arg;
    m->revocations++;
    m->revoked_partitions += (unsigned)count;
    assert_false(lost);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(p[i].topic, 0);
        if (m->next[p[i].partition] >= 0) {
            const struct stream_offset o = {m->topic, p[i].partition, m->next[p[i].partition], 0};
            KIT_OK(stream_consumer_commit(m->c, &o, 1, &kit_e));
        }
        m->next[p[i].partition] = -1;
    }
}

static void member_open(struct member *m, const char *at, const char *topic, const char *strategy,
                        unsigned *seen)
{
    *m = (struct member){.topic = topic, .seen = seen, .next = {-1, -1, -1, -1}};
    m->batch = stream_batch_new(10);
    m->c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at,
                                            .group = topic,
                                            .topics = {topic},
                                            .on_revoke = on_revoke,
                                            .revoke_arg = m,
                                            .more = {{"partition.assignment.strategy", strategy}},
                                            .more_count = 1});
}

/* Reads and handles at most one batch. */
static unsigned member_turn(struct member *m)
{
    unsigned n = stream_consumer_read(m->c, m->batch, m->held ? 0 : 10);
    for (uint32_t i = 0; i < m->batch->count; i++) {
        const struct stream_message *x = &m->batch->messages[i];
        m->seen[kit_number(x)]++;
        m->next[x->partition] = x->offset + 1;
    }
    stream_batch_release(m->batch);
    struct stream_consumer_event ev;
    while (stream_consumer_event(m->c, &ev))
        if (ev.kind == STREAM_ERROR)
            assert_int_equal(ev.error.kind, FIS_RETRY);
    return n;
}

static size_t owned(struct member *m)
{
    size_t n;
    (void)stream_consumer_owned(m->c, &n);
    return n;
}

static void rebalance(const char *at, struct stream_embedded *b, const char *topic,
                      const char *strategy)
{
    static unsigned seen[MESSAGES];
    memset(seen, 0, sizeof seen);
    KIT_OK(stream_embedded_topic(b, topic, PARTITIONS, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, -1, 0, MESSAGES);
    struct member one, two;
    member_open(&one, at, topic, strategy, seen);
    KIT_UNTIL((member_turn(&one), owned(&one) == PARTITIONS));
    for (int i = 0; i < 20; i++)
        member_turn(&one);
    member_open(&two, at, topic, strategy, seen);
    one.held = true; /* the rebalance is served while no messages are taken */
    KIT_UNTIL((member_turn(&one), member_turn(&two), owned(&one) == 2 && owned(&two) == 2));
    assert_true(one.revocations > 0);
    one.held = false;
    unsigned total = 0;
    KIT_UNTIL(({
        member_turn(&one);
        member_turn(&two);
        total = 0;
        for (int i = 0; i < MESSAGES; i++)
            total += seen[i] > 0;
        total == MESSAGES;
    }));
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(seen[i], 1);
    stream_consumer_close(one.c, 5000);
    stream_consumer_close(two.c, 5000);
    stream_batch_free(one.batch);
    stream_batch_free(two.batch);
    stream_producer_close(p);
}

static void eager(void **state)
{
    rebalance(stream_embedded_bootstrap(*state), *state, "eager", "range");
}

static void cooperative(void **state)
{
    rebalance(stream_embedded_bootstrap(*state), *state, "cooperative", "cooperative-sticky");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager),
        cmocka_unit_test(cooperative),
    };
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}

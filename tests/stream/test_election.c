/* Leadership through a group, on the embedded broker: one owner of the only partition, who is
 * followed when it leaves and when it falls silent; a newcomer disturbs nobody. */
#include "kit/stream/embedded_kit.h"

struct candidate {
    struct stream_consumer *c;
    unsigned lost, revoked;
};

static void on_revoke(void *arg, bool lost, const struct stream_partition *p, size_t count)
{
    struct candidate *x = arg;
    (void)p;
    x->revoked += (unsigned)count;
    x->lost += lost && count > 0;
}

static void enter(struct candidate *x, const char *at, const char *topic)
{
    *x = (struct candidate){0};
    x->c = kit_consumer(&(struct kit_consumer){.bootstrap = at,
                                               .group = topic,
                                               .topics = {topic},
                                               .election = true,
                                               .on_revoke = on_revoke,
                                               .revoke_arg = x});
}

/* Whether it leads; serves it. */
static bool leads(struct candidate *x)
{
    size_t n;
    struct stream_consumer_event ev;
    stream_consumer_read(x->c, NULL, 0);
    while (stream_consumer_event(x->c, &ev))
        if (ev.kind == STREAM_ERROR)
            assert_int_equal(ev.error.kind, FIS_RETRY);
        else
            assert_true(ev.kind == STREAM_ASSIGNED || ev.kind == STREAM_REVOKED);
    (void)stream_consumer_owned(x->c, &n);
    return n > 0;
}

/* One leads, and is not disturbed by the others, who do not. */
static void first_leads(struct candidate *one, struct candidate *two, struct candidate *three)
{
    KIT_UNTIL(leads(one));
    int64_t end = kit_now() + 8000; /* longer than the broker's rebalance */
    while (kit_now() < end) {
        assert_true(leads(one));
        assert_false(leads(two));
        assert_false(leads(three));
        kit_nap();
    }
    assert_int_equal(one->revoked, 0);
}

static void election(struct stream_embedded *b, const char *topic, int leave_ms)
{
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, topic, 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 1000);
    struct candidate x[3];
    enter(&x[0], at, topic);
    KIT_UNTIL(leads(&x[0]));
    enter(&x[1], at, topic);
    enter(&x[2], at, topic);
    first_leads(&x[0], &x[1], &x[2]);
    kit_fill(p, topic, 0, 0, 1000); /* nobody reads it */
    stream_consumer_close(x[0].c, leave_ms);
    bool second = false, third = false;
    KIT_UNTIL((second = leads(&x[1]), third = leads(&x[2]), second || third));
    assert_true(second != third);
    stream_consumer_close(x[1].c, 5000);
    stream_consumer_close(x[2].c, 5000);
    stream_producer_close(p);
}

static void the_leader_leaves(void **state)
{
    election(*state, "leaves", 5000);
}

static void the_leader_falls_silent(void **state)
{
    election(*state, "silent", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_leader_leaves),
        cmocka_unit_test(the_leader_falls_silent),
    };
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}

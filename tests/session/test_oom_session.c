/*
 * A session under every refused allocation: it stops with NOMEM and has committed no half of a
 * unit, so a new one goes on from the topics and ends as if nothing had been refused.
 */
#include "kit/base/oom.h"
#include "kit/cmocka.h"
#include "kit/session/session_kit.h"
#include "wire/json_arena.h"

/* What an undisturbed life has left: in stream mode, in pool mode, and (NEXT) in stream mode with
 * one restart. */
enum { STREAM, POOL, NEXT, LIVES };
static struct kit undisturbed[LIVES];

/* Answers all that was requested and is not answered yet. */
static void answer(struct kit *k)
{
    for (uint32_t i = k->topic[SESSION_LABELS].n; i < kit_requests(k); i++)
        kit_label(k, k->topic[SESSION_REQUESTS].m[i].key, i % 2 ? "yes" : "no");
    kit_settle(k);
}

/* While memory is refused, encoding is too: the message is the one that the undisturbed life had.
 */
static void same_as(struct kit *k, enum session_topic t, const struct kit *model)
{
    assert_true(k->topic[t].n < model->topic[t].n);
    const struct kit_message *m = &model->topic[t].m[k->topic[t].n];
    kit_append(k, t, m->key, m->value, m->value_length);
}

static void command(struct kit *k, enum wire_control_kind kind, uint64_t version,
                    const struct kit *model)
{
    if (model)
        same_as(k, SESSION_CONTROL, model);
    else
        kit_command(k, kind, version);
}

/* Records that a window or a scan waits for. */
static void offer(struct kit *k, uint32_t round, const struct kit *model)
{
    if (k->stopped || kit_requests(k) >= 4 * round)
        return;
    if (model)
        same_as(k, SESSION_CANDIDATES, model);
    else
        kit_candidates(k, k->o.role.pool ? 0 : 50 * (round - 1), 50);
    kit_settle(k);
}

/* From wherever the topics are: commands, rounds of requests and answers, a stop. */
static void live(struct kit *k, uint32_t rounds, const struct kit *model)
{
    kit_settle(k);
    if (!k->stopped)
        kit_lead(k);
    if (!k->topic[SESSION_CONTROL].n) {
        command(k, WIRE_CONTROL_PROMOTE, 1, model); /* looks a version up */
        command(k, WIRE_CONTROL_PIN, 0, model);
        kit_append(k, SESSION_CANDIDATES, "s", "\xff\xff", 2);
    }
    kit_settle(k);
    for (uint32_t round = 1; round <= rounds; round++) {
        offer(k, round, model);
        answer(k);
    }
    if (!k->stopped)
        session_stop(k->session, k->now);
    kit_settle(k);
}

static void same_keys(const struct kit_topic *a, const struct kit_topic *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++)
        assert_string_equal(a->m[i].key, b->m[i].key);
}

/* The topics of a life that has ended. */
static void inherit(struct kit *k, const struct kit *from)
{
    for (uint32_t t = 0; t <= KIT_DEAD; t++)
        for (uint32_t i = 0; i < from->topic[t].n; i++) {
            const struct kit_message *m = &from->topic[t].m[i];
            kit_append_bytes(k, t, (struct wire_bytes){m->key, m->key_length},
                             (struct wire_bytes){m->value, m->value_length});
        }
    memcpy(k->committed, from->committed, sizeof k->committed);
}

static int life(void *arg, struct fis_error *e)
{
    struct kit k;
    const struct kit *model = arg;
    uint32_t rounds = model == &undisturbed[NEXT] ? 3 : 2;
    int rc = kit_try_open(&k, model == &undisturbed[POOL], e);
    if (rc < 0)
        return rc;
    if (model == &undisturbed[NEXT])
        inherit(&k, &undisturbed[STREAM]);
    live(&k, rounds, model);
    assert_true(k.stopped);
    if (k.failed != FIS_OK) {
        *e = k.error;
        rc = -(int)k.failed;
        fis_mem_refuse_after(UINT64_MAX);
        kit_restart(&k);
        live(&k, rounds, NULL);
        assert_int_equal(k.failed, FIS_OK);
    }
    same_keys(&k.topic[SESSION_REQUESTS], &model->topic[SESSION_REQUESTS]);
    assert_int_equal(k.committed[SESSION_LABELS], model->committed[SESSION_LABELS]);
    kit_close(&k);
    return rc;
}

static void a_life_in_stream_mode(void **state)
{
    (void)state;
    assert_true(oom_run(life, &undisturbed[STREAM]) > 200);
}

static void a_life_in_pool_mode(void **state)
{
    (void)state;
    assert_true(oom_run(life, &undisturbed[POOL]) > 200);
}

static void a_life_that_begins_with_a_restore(void **state)
{
    (void)state;
    assert_true(oom_run(life, &undisturbed[NEXT]) > 200);
}

static int set_up(void **state)
{
    (void)state;
    wire_json_init();
    for (int i = 0; i < LIVES; i++) {
        kit_open(&undisturbed[i], i == POOL);
        if (i == NEXT)
            inherit(&undisturbed[i], &undisturbed[STREAM]);
        live(&undisturbed[i], i == NEXT ? 3 : 2, NULL);
        assert_int_equal(kit_requests(&undisturbed[i]), i == NEXT ? 12 : 8);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < LIVES; i++)
        kit_close(&undisturbed[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_life_in_stream_mode),
                                       cmocka_unit_test(a_life_in_pool_mode),
                                       cmocka_unit_test(a_life_that_begins_with_a_restore)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

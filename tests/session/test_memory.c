/* Memory and words of the trainer, through bytes: what trainer_wire writes onto topics, memory
 * reads back, and a role that is restored from it goes on as the other would have. */
#include "kit/session/machine.h"

/* ---- comparing ------------------------------------------------------------------------------- */
static void same_keys(const struct machine_topic *a, const struct machine_topic *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_int_equal(a->m[i].key_length, b->m[i].key_length);
        assert_memory_equal(a->m[i].key, b->m[i].key, a->m[i].key_length);
    }
}

#define VERSIONS 32

/* Every version of the topic, by its number. */
static uint32_t versions(const struct machine_topic *t, struct wire_model_owned found[VERSIONS])
{
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 4, 0);
    struct wire_bytes payload;
    struct fis_error e;
    uint64_t version;
    uint32_t n = 0;
    memset(found, 0, VERSIONS * sizeof *found);
    for (uint32_t i = 0; i < t->n; i++) {
        int rc = wire_assembler_feed(a, (struct wire_bytes){t->m[i].value, t->m[i].value_length},
                                     &payload, &version, &e);
        assert_true(rc >= 0);
        if (rc == 0)
            continue;
        assert_true(version == n + 1 && version < VERSIONS); /* consecutive, each once */
        assert_int_equal(wire_model_decode(payload, &found[n++], &e), 0);
    }
    wire_assembler_free(a);
    return n;
}

static void same_versions(const struct machine_topic *a, const struct machine_topic *b)
{
    static struct wire_model_owned x[VERSIONS], y[VERSIONS];
    uint32_t n = versions(a, x);
    assert_int_equal(n, versions(b, y));
    assert_true(n > 2);
    for (uint32_t i = 0; i < n; i++) {
        const struct wire_model *v = &x[i].model, *w = &y[i].model;
        assert_string_equal(v->verdict, w->verdict);
        assert_string_equal(v->reason, w->reason);
        assert_int_equal(v->served, w->served);
        assert_int_equal(v->labels_bought, w->labels_bought);
        assert_int_equal(!v->params, !w->params);
        if (v->params)
            assert_memory_equal(v->params, w->params, fis_shape_params(&v->shape) * sizeof(float));
        wire_model_done(&x[i]);
        wire_model_done(&y[i]);
    }
}

static void restarted_from_the_topics_it_says_the_same(void **state)
{
    (void)state;
    static struct machine whole, often, compacted;
    machine_run(&whole, 0, false);
    machine_run(&often, 3, false);
    machine_run(&compacted, 2, true);
    assert_true(whole.topic[TRAINER_REQUESTS].n > 40);
    same_keys(&whole.topic[TRAINER_REQUESTS], &often.topic[TRAINER_REQUESTS]);
    same_keys(&whole.topic[TRAINER_REQUESTS], &compacted.topic[TRAINER_REQUESTS]);
    same_versions(&whole.topic[TRAINER_MODELS], &often.topic[TRAINER_MODELS]);
    struct memory *a = machine_remember(&whole), *b = machine_remember(&compacted);
    assert_int_equal(memory_entries(a), memory_entries(b));
    assert_int_equal(memory_state(a)->round, memory_state(b)->round);
    assert_int_equal(memory_state(a)->phase, memory_state(b)->phase);
    assert_int_equal(memory_state(a)->served_version, memory_state(b)->served_version);
    assert_memory_equal(memory_served(a)->params, memory_served(b)->params,
                        fis_shape_params(&memory_served(a)->shape) * sizeof(float));
    memory_free(a);
    memory_free(b);
    machine_close(&whole);
    machine_close(&often);
    machine_close(&compacted);
}

static void the_state_needs_its_head_and_version(void **state)
{
    (void)state;
    static struct machine m;
    struct fis_error e;
    machine_run(&m, 0, false);
    for (int without = 1; without < MEMORY_TOPICS; without++) {
        struct memory *memory = memory_new(machine_topic_names, 65536, &e);
        for (int t = 0; t < MEMORY_TOPICS; t++)
            if (t != without)
                assert_int_equal(machine_feed(memory, (enum memory_topic)t,
                                              &m.topic[machine_topic_of[t]], 0, &e),
                                 0);
        assert_int_equal(memory_conclude(memory, &e), -FIS_FATAL);
        assert_non_null(strstr(e.text, machine_topic_names[without]));
        assert_false(memory_found(memory));
        memory_free(memory);
    }
    machine_close(&m);
}

/* A standby takes what is written as it comes, and what it has at any end is whole. */
struct watched {
    uint32_t models, states;
    uint64_t head_version;
};

static void watch_model(void *arg, const struct wire_model *v)
{
    struct watched *w = arg;
    w->models += v->version > 0;
}

static void watch_state(void *arg, const struct wire_trainer_state *s)
{
    struct watched *w = arg;
    w->states++;
    w->head_version = s->head_version;
}

static void a_standby_keeps_up(void **state)
{
    (void)state;
    static struct machine m;
    struct fis_error e;
    machine_run(&m, 0, false);
    struct memory *memory = memory_new(machine_topic_names, 65536, &e),
                  *whole = machine_remember(&m);
    struct watched watched = {0};
    memory_watch(memory, watch_model, watch_state, &watched);
    for (int t = MEMORY_TOPICS - 1; t >= 0; t--) /* the ledger last: it names the others */
        for (uint32_t part = 0; part < 5; part++) {
            struct machine_topic slice = m.topic[machine_topic_of[t]];
            slice.n = part < 4 ? slice.n * (part + 1) / 5 : slice.n;
            assert_int_equal(machine_feed(memory, (enum memory_topic)t, &slice,
                                          m.topic[machine_topic_of[t]].n * part / 5, &e),
                             0);
            assert_false(memory_found(memory)); /* not before it is concluded */
        }
    if (memory_conclude(memory, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(memory_found(memory));
    assert_true(memory_has_checkpoint(memory));
    assert_int_equal(memory_entries(memory), memory_entries(whole));
    assert_int_equal(memory_bytes(memory), memory_bytes(whole));
    assert_int_equal(memory_state(memory)->head_version, memory_head(memory)->version);
    assert_true(watched.models > 1 && watched.states > 1); /* each, not the newest alone */
    assert_int_equal(watched.head_version, memory_head(memory)->version);
    memory_free(memory);
    memory_free(whole);
    machine_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarted_from_the_topics_it_says_the_same),
        cmocka_unit_test(the_state_needs_its_head_and_version),
        cmocka_unit_test(a_standby_keeps_up),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

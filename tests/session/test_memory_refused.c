/* What the memory refuses: topics that lost messages or are of two times; and what it says has
 * changed. */
#include "kit/session/machine.h"

/* A role of its own, given what the memory has. */
static int try_to_go_on(struct machine *m, struct memory *memory, struct fis_error *e)
{
    struct trainer_role_options o = small_options();
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = SMALL_D,
                                     .labels = WIRE_JSON,
                                     .put = machine_put,
                                     .job = machine_want_job,
                                     .arg = m};
    struct trainer_out out;
    assert_int_equal(trainer_wire_init(&m->wire, &w, e), 0);
    trainer_wire_out(&m->wire, &out);
    m->encoder = memory_take_encoder(memory);
    m->role = trainer_role_new(&o, m->encoder, &out, e);
    small_load(m->role, 60);
    return memory_apply(memory, m->role, m->now, e);
}

static void go_on(struct machine *m, struct memory *memory)
{
    struct fis_error e;
    if (try_to_go_on(m, memory, &e) < 0)
        fail_msg("%s", e.text);
}

/* Without the entry of one request, which would be made again. */
static void a_ledger_that_lost_a_request_is_refused(void **state)
{
    (void)state;
    static struct machine m;
    struct machine next = {.now = {1000, 1700000000000}};
    struct fis_error e;
    machine_run(&m, 0, false);
    struct memory *memory = memory_new(machine_topic_names, 65536, &e);
    const struct machine_message *lost = &m.topic[TRAINER_REQUESTS].m[0];
    for (uint32_t i = 0; i < m.topic[TRAINER_LEDGER].n; i++) {
        const struct machine_message *k = &m.topic[TRAINER_LEDGER].m[i];
        if (k->key_length == lost->key_length && memcmp(k->key, lost->key, k->key_length) == 0)
            continue;
        const struct wire_message msg = {.topic = machine_topic_names[MEMORY_LEDGER],
                                         .offset = i,
                                         .key = {k->key, k->key_length},
                                         .value = {k->value, k->value_length}};
        assert_int_equal(memory_take(memory, MEMORY_LEDGER, &msg, &e), 0);
    }
    for (int t = MEMORY_HEADS; t < MEMORY_TOPICS; t++)
        assert_int_equal(
            machine_feed(memory, (enum memory_topic)t, &m.topic[machine_topic_of[t]], 0, &e), 0);
    assert_int_equal(memory_conclude(memory, &e), 0);
    assert_int_equal(try_to_go_on(&next, memory, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "t.ledger holds "));
    assert_non_null(strstr(e.text, " requested records"));
    memory_free(memory);
    machine_stop(&next);
    machine_close(&m);
}

/* The ledger of the first unit, or none at all, with one of the others as it is rounds later. */
static struct memory *of_two_times(const struct machine *old, const struct machine *now, int newer,
                                   bool begun)
{
    struct fis_error e;
    struct memory *memory = memory_new(machine_topic_names, 65536, &e);
    for (int t = 0; t < MEMORY_TOPICS; t++) {
        const struct machine_topic none = {0}, *from = t == newer ? &now->topic[machine_topic_of[t]]
                                                       : begun    ? &old->topic[machine_topic_of[t]]
                                                                  : &none;
        assert_int_equal(machine_feed(memory, (enum memory_topic)t, from, 0, &e), 0);
    }
    return memory;
}

static void other_topics_that_are_newer_are_refused(void **state)
{
    (void)state;
    static struct machine old, now;
    struct fis_error e;
    machine_start(&old);
    machine_run(&now, 0, false);
    for (int newer = 1; newer < MEMORY_TOPICS; newer++)
        for (int begun = 0; begun < 2; begun++) {
            struct memory *memory = of_two_times(&old, &now, newer, begun);
            assert_int_equal(memory_conclude(memory, &e), -FIS_FATAL);
            if (!strstr(e.text, machine_topic_names[newer]) ||
                !strstr(e.text, machine_topic_names[MEMORY_LEDGER]) ||
                !strstr(e.text, newer == MEMORY_HEADS ? "head " : "version ") ||
                !strstr(e.text, begun ? "knows 1 at most" : "knows 0 at most"))
                fail_msg("%s", e.text);
            assert_false(memory_found(memory));
            memory_not_atomic(memory); /* then it may be so */
            if (memory_conclude(memory, &e) < 0)
                fail_msg("%s", e.text);
            assert_int_equal(memory_found(memory), begun);
            memory_free(memory);
        }
    machine_close(&old);
    machine_close(&now);
}

/* In at_least_once: numbers go on behind what is there, and what is served is what users see. */
static void versions_go_on_behind_the_newest(void **state)
{
    (void)state;
    static struct machine old, now;
    machine_start(&old);
    machine_run(&now, 0, false);
    struct memory *whole = machine_remember(&now);
    struct memory *memory = of_two_times(&old, &now, MEMORY_MODELS, true);
    struct fis_error e;
    memory_not_atomic(memory);
    if (memory_conclude(memory, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(memory_state(memory)->model_version < memory_state(whole)->model_version);
    machine_stop(&old);
    go_on(&old, memory);
    struct trainer_role_counts c = trainer_role_counts(old.role);
    assert_int_equal(c.model_version, memory_state(whole)->model_version);
    assert_int_equal(c.served_version, memory_state(whole)->served_version);
    memory_free(memory);
    memory_free(whole);
    machine_close(&old);
    machine_close(&now);
}

static int compared(struct memory *memory, const struct fis_column *with, uint32_t d,
                    const char *const *classes, const char *pipeline, const char *metric,
                    struct fis_error *e)
{
    struct identity id;
    struct trainer_role_options o = small_options();
    struct identity_source from = {
        .pipeline = pipeline,
        .columns = with,
        .n_columns = d,
        .classes = classes,
        .n_classes = 2,
        .positive = classes[1],
        .metric = metric,
        .algorithm = "fis+",
        .hidden = o.hidden,
        .n_hidden = o.n_hidden,
    };
    assert_int_equal(identity_init(&id, &from, e), 0);
    int rc = memory_compare(memory, &id, NULL, e);
    identity_done(&id);
    return rc;
}

/* A ledger of an earlier program has no identity: head and version say whose it is. */
static void what_changed_is_found_without_an_identity_too(void **state)
{
    (void)state;
    static const char *const others[] = {"no", "maybe"};
    static struct machine m;
    struct fis_column other[SMALL_D];
    struct fis_error e;
    machine_run(&m, 0, false);
    struct memory *memory = machine_remember(&m);
    assert_int_equal(memory_state(memory)->identity.n_facts, 0);
    const char *metric = fis_metric_name(FIS_EQUALIZED_ODDS);
    memcpy(other, small_columns, sizeof other);
    other[1].name = "z";
    assert_int_equal(compared(memory, other, SMALL_D, small_schema.classes, "t", metric, &e),
                     -FIS_FATAL);
    assert_non_null(strstr(e.text, "columns"));
    assert_non_null(strstr(e.text, "'z' numeric unscaled"));
    assert_int_equal(
        compared(memory, small_columns, SMALL_D - 1, small_schema.classes, "t", metric, &e),
        -FIS_FATAL);
    assert_int_equal(compared(memory, small_columns, SMALL_D, others, "t", metric, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "classes 'no', 'maybe' (was 'no', 'yes')"));
    assert_int_equal(
        compared(memory, small_columns, SMALL_D, small_schema.classes, "u", metric, &e),
        -FIS_FATAL);
    assert_non_null(
        strstr(e.text, "t.ledger holds the memory of pipeline t, and this is pipeline u"));
    assert_int_equal(
        compared(memory, small_columns, SMALL_D, small_schema.classes, "t", "risk_disparity", &e),
        -FIS_FATAL);
    assert_non_null(strstr(e.text, "metric risk_disparity (was equalized_odds)"));
    if (compared(memory, small_columns, SMALL_D, small_schema.classes, "t", metric, &e) < 0)
        fail_msg("%s", e.text);
    struct fis_encoder *taken = memory_take_encoder(memory);
    assert_non_null(taken);
    assert_null(memory_head(memory)->encoder);
    fis_encoder_free(taken);
    memory_free(memory);
    machine_close(&m);
}

/* Without its checkpoint, or with one that belongs to another state, the role starts all the same.
 */
static void a_missing_checkpoint_is_reported(void **state)
{
    (void)state;
    static struct machine m;
    struct fis_error e;
    machine_run(&m, 0, false);
    struct machine_topic *ledger = &m.topic[TRAINER_LEDGER];
    machine_stop(&m);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ledger->n; i++) {
        if (ledger->m[i].key_length > 1 && ledger->m[i].key[0] == 0) {
            free(ledger->m[i].key);
            free(ledger->m[i].value);
        } else {
            ledger->m[kept++] = ledger->m[i];
        }
    }
    assert_true(kept < ledger->n);
    ledger->n = kept;
    struct memory *memory = machine_remember(&m);
    assert_false(memory_has_checkpoint(memory));
    go_on(&m, memory);
    assert_string_not_equal(memory_checkpoint_trouble(memory), "");
    memory_free(memory);
    assert_int_equal(trainer_role_start(m.role, m.now, &e), 0);
    machine_settle(&m);
    machine_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_that_lost_a_request_is_refused),
        cmocka_unit_test(other_topics_that_are_newer_are_refused),
        cmocka_unit_test(versions_go_on_behind_the_newest),
        cmocka_unit_test(what_changed_is_found_without_an_identity_too),
        cmocka_unit_test(a_missing_checkpoint_is_reported),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Memory and words of the trainer, through bytes: what trainer_wire writes onto topics, memory
 * reads back, and a role that is restored from it goes on as the other would have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "kit/role/small_pipeline.h"
#include "session/memory.h"
#include "role/trainer_wire.h"
#include "wire/chunk.h"
#include "wire/json_arena.h"
#include "wire/ledger.h"
#include "wire/model.h"

#define D SMALL_D

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

/* ---- topics ---------------------------------------------------------------------------------- */

struct message {
    char *key, *value; /* value NULL: a tombstone */
    size_t key_length, value_length;
};
struct topic {
    struct message *m;
    uint32_t n, room;
};

static void append(struct topic *t, struct wire_bytes key, struct wire_bytes value)
{
    if (t->n == t->room)
        t->m = realloc(t->m, (t->room = 2 * t->room + 64) * sizeof *t->m);
    struct message *m = &t->m[t->n++];
    *m = (struct message){.key_length = key.length, .value_length = value.length};
    m->key = malloc(key.length + 1);
    memcpy(m->key, key.data, key.length);
    if (value.data) {
        m->value = malloc(value.length + 1);
        memcpy(m->value, value.data, value.length);
    }
}

static void clear(struct topic *t, uint32_t from)
{
    for (uint32_t i = from; i < t->n; i++) {
        free(t->m[i].key);
        free(t->m[i].value);
    }
    t->n = from < t->n ? from : t->n;
    if (from == 0) {
        free(t->m);
        *t = (struct topic){0};
    }
}

static bool later(const struct topic *t, uint32_t i)
{
    for (uint32_t k = i + 1; k < t->n; k++)
        if (t->m[k].key_length == t->m[i].key_length &&
            memcmp(t->m[k].key, t->m[i].key, t->m[i].key_length) == 0)
            return true;
    return false;
}

/* As a broker may: the newest of each key stays, some of the others too. */
static void compact(struct topic *t, struct fis_rng *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (later(t, i) && fis_rng_below(r, 4)) {
            free(t->m[i].key);
            free(t->m[i].value);
            continue;
        }
        t->m[kept++] = t->m[i];
    }
    t->n = kept;
}

/* ---- a trainer and its topics ---------------------------------------------------------------- */

struct machine {
    struct topic topic[TRAINER_TOPICS];
    uint32_t committed[TRAINER_TOPICS];
    struct trainer_wire wire;
    struct trainer_role *role;
    struct fis_encoder *encoder;
    struct trainer_time now;
    int job;
};

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    struct machine *m = arg;
    (void)e;
    append(&m->topic[t], key, value);
    return 0;
}

static void want_job(void *arg, enum trainer_job kind)
{
    struct machine *m = arg;
    assert_false(m->job);
    m->job = (int)kind;
}

static const char *const names[MEMORY_TOPICS] = {"t.ledger", "t.heads", "t.models"};
static const enum trainer_topic read_from[MEMORY_TOPICS] = {TRAINER_LEDGER, TRAINER_HEADS,
                                                            TRAINER_MODELS};

static int feed(struct memory *memory, enum memory_topic t, const struct topic *from,
                uint32_t first, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = first; rc == 0 && i < from->n; i++) {
        struct wire_message m = {
            .topic = names[t],
            .offset = i,
            .key = {from->m[i].key, from->m[i].key_length},
            .value = {from->m[i].value, from->m[i].value_length},
        };
        rc = memory_take(memory, t, &m, e);
    }
    return rc;
}

static struct memory *remember(const struct machine *m)
{
    struct fis_error e;
    struct memory *memory = memory_new(names, 65536, &e);
    assert_non_null(memory);
    for (int t = 0; t < MEMORY_TOPICS; t++)
        if (feed(memory, (enum memory_topic)t, &m->topic[read_from[t]], 0, &e) < 0)
            fail_msg("%s", e.text);
    if (memory_conclude(memory, &e) < 0)
        fail_msg("%s", e.text);
    return memory;
}

static void settle_machine(struct machine *m)
{
    struct fis_error e;
    while (m->job) {
        m->job = 0;
        trainer_role_job(m->role);
        if (trainer_role_job_done(m->role, m->now, &e) < 0)
            fail_msg("job: %s", e.text);
    }
}

static void commit(struct machine *m)
{
    struct fis_error e;
    assert_int_equal(trainer_role_flush(m->role, m->now, &e), 0);
    assert_false(trainer_wire_failed(&m->wire, &e));
    for (int t = 0; t < TRAINER_TOPICS; t++)
        m->committed[t] = m->topic[t].n;
}

/* A new process: from nothing but the topics, and what was not committed is gone. */
static void start_machine(struct machine *m)
{
    struct trainer_role_options o = small_options();
    struct trainer_out out;
    struct fis_error e;
    struct trainer_wire_options w = {
        .schema = &small_schema,
        .columns = small_columns,
        .n_columns = D,
        .labels = WIRE_JSON,
        .max_chunk = 200,
        .put = put,
        .job = want_job,
        .arg = m,
    };
    for (int t = 0; t < TRAINER_TOPICS; t++)
        clear(&m->topic[t], m->committed[t]);
    struct memory *memory = remember(m);
    assert_int_equal(trainer_wire_init(&m->wire, &w, &e), 0);
    trainer_wire_out(&m->wire, &out);
    m->encoder = memory_found(memory) ? memory_take_encoder(memory) : small_encoder(&e);
    assert_non_null(m->encoder);
    m->role = trainer_role_new(&o, m->encoder, &out, &e);
    assert_non_null(m->role);
    small_load(m->role, 60);
    if (memory_found(memory) && memory_apply(memory, m->role, m->now, &e) < 0)
        fail_msg("%s", e.text);
    if (memory_found(memory))
        assert_string_equal(memory_checkpoint_trouble(memory), "");
    memory_free(memory);
    assert_int_equal(trainer_role_start(m->role, m->now, &e), 0);
    settle_machine(m);
    commit(m);
}

static void stop_machine(struct machine *m)
{
    trainer_role_free(m->role);
    fis_encoder_free(m->encoder);
    trainer_wire_done(&m->wire);
    m->job = 0;
}

static void close_machine(struct machine *m)
{
    stop_machine(m);
    for (int t = 0; t < TRAINER_TOPICS; t++)
        clear(&m->topic[t], 0);
}

/* ---- the input, a function of the step ------------------------------------------------------- */

static void offer_records(struct machine *m, int step)
{
    struct fis_error e;
    struct fis_rng r;
    fis_rng_seed(&r, 77, (uint64_t)step);
    for (uint32_t i = 0; i < 50; i++) {
        float x[D];
        char text[32];
        struct wire_candidate c = {.x = x, .d = D, .encoding = WIRE_JSON};
        small_draw(&r, x, NULL);
        fis_id_set(&c.id, text,
                   (size_t)snprintf(text, sizeof text, "r%u", (uint32_t)step * 50 + i));
        c.record = (struct wire_bytes){"{\"a\":1}", 7};
        assert_int_equal(trainer_role_offer(m->role, &c, &e), 0);
    }
    struct wire_range range = {.begin = step * 50, .next = step * 50 + 50, .records = 50};
    struct wire_progress p = {.ranges = &range, .n_ranges = 1};
    trainer_role_progress(m->role, &p);
}

/* Answers the requests [from, n) of the topic; some are skipped. */
static void answer(struct machine *m, uint32_t from)
{
    struct fis_error e;
    uint32_t n = m->topic[TRAINER_REQUESTS].n;
    for (uint32_t i = from; i < n; i++) {
        const struct message *r = &m->topic[TRAINER_REQUESTS].m[i];
        struct wire_label l = {.annotator = "ann"};
        fis_id_set(&l.id, r->key, r->key_length);
        l.status = i % 7 == 3 ? WIRE_SKIPPED : WIRE_LABELLED;
        l.class_index = number_of(&l.id) % 2;
        assert_int_equal(trainer_role_label(m->role, &l, m->now, &e), 0);
    }
}

static void idle_machine(struct machine *m)
{
    m->now.mono_ms += 10;
    m->now.wall_ms += 10;
    trainer_role_idle(m->role, m->now);
    settle_machine(m);
}

#define STEPS 24

/* Each step is one unit of commit. `restart` 0: never; else about one in so many steps ends with a
 * crash before its commit, and is done again. */
static void run_machine(struct machine *m, uint32_t restart, bool compacting)
{
    struct fis_rng r;
    fis_rng_seed(&r, 5, restart);
    memset(m, 0, sizeof *m);
    m->now = (struct trainer_time){1000, 1700000000000};
    start_machine(m);
    uint32_t answered = 0;
    for (int step = 0; step < STEPS; step++) {
        bool crash = restart && fis_rng_below(&r, restart) == 0;
        for (;; crash = false) {
            struct trainer_time before = m->now;
            offer_records(m, step);
            idle_machine(m);
            uint32_t asked = m->topic[TRAINER_REQUESTS].n;
            answer(m, answered);
            idle_machine(m);
            if (!crash) {
                answered = asked;
                break;
            }
            m->now = before;
            stop_machine(m);
            if (compacting)
                for (int t = 0; t < MEMORY_TOPICS; t++) {
                    clear(&m->topic[read_from[t]], m->committed[read_from[t]]);
                    compact(&m->topic[read_from[t]], &r);
                    m->committed[read_from[t]] = m->topic[read_from[t]].n;
                }
            start_machine(m);
        }
        commit(m);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void same_keys(const struct topic *a, const struct topic *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_int_equal(a->m[i].key_length, b->m[i].key_length);
        assert_memory_equal(a->m[i].key, b->m[i].key, a->m[i].key_length);
    }
}

#define VERSIONS 32

/* Every version of the topic, by its number. */
static uint32_t versions(const struct topic *t, struct wire_model_owned found[VERSIONS])
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

static void same_versions(const struct topic *a, const struct topic *b)
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
    run_machine(&whole, 0, false);
    run_machine(&often, 3, false);
    run_machine(&compacted, 2, true);
    assert_true(whole.topic[TRAINER_REQUESTS].n > 40);
    same_keys(&whole.topic[TRAINER_REQUESTS], &often.topic[TRAINER_REQUESTS]);
    same_keys(&whole.topic[TRAINER_REQUESTS], &compacted.topic[TRAINER_REQUESTS]);
    same_versions(&whole.topic[TRAINER_MODELS], &often.topic[TRAINER_MODELS]);
    struct memory *a = remember(&whole), *b = remember(&compacted);
    assert_int_equal(memory_entries(a), memory_entries(b));
    assert_int_equal(memory_state(a)->round, memory_state(b)->round);
    assert_int_equal(memory_state(a)->phase, memory_state(b)->phase);
    assert_int_equal(memory_state(a)->served_version, memory_state(b)->served_version);
    assert_memory_equal(memory_served(a)->params, memory_served(b)->params,
                        fis_shape_params(&memory_served(a)->shape) * sizeof(float));
    memory_free(a);
    memory_free(b);
    close_machine(&whole);
    close_machine(&often);
    close_machine(&compacted);
}

/* ---- memory alone ---------------------------------------------------------------------------- */

static void one_message(struct memory *m, enum memory_topic t, struct wire_bytes key,
                        struct wire_bytes value, int expected, const char *says)
{
    struct fis_error e;
    struct wire_message msg = {.topic = names[t], .offset = 7, .key = key, .value = value};
    int rc = memory_take(m, t, &msg, &e);
    assert_int_equal(rc, expected);
    if (says && !strstr(e.text, says))
        fail_msg("%s", e.text);
}

static void nothing_yet(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(names, 65536, &e);
    assert_int_equal(memory_conclude(m, &e), 0);
    assert_false(memory_found(m));
    assert_null(memory_state(m));
    assert_null(memory_head(m));
    assert_null(memory_served(m));
    assert_false(memory_has_checkpoint(m));
    assert_int_equal(memory_entries(m), 0);
    assert_int_equal(memory_bytes(m), 0);
    memory_free(m);
    memory_free(NULL);
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(names, 65536, &e);
    struct wire_bytes junk = {"\xff\xff\xff", 3}, key = {"k", 1}, none = {0};
    one_message(m, MEMORY_LEDGER, none, junk, -FIS_INPUT, "t.ledger partition 0 offset 7");
    one_message(m, MEMORY_HEADS, key, junk, -FIS_INPUT, "t.heads partition 0 offset 7 key 'k'");
    one_message(m, MEMORY_MODELS, key, junk, -FIS_INPUT, "t.models partition 0 offset 7");
    one_message(m, MEMORY_LEDGER, (struct wire_bytes){"\0checkpoint/0", 13}, junk, -FIS_INPUT,
                "t.ledger");
    one_message(m, MEMORY_HEADS, key, none, 0, NULL); /* null values are nothing new */
    one_message(m, MEMORY_MODELS, key, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, key, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, wire_ledger_state_key, junk, -FIS_INPUT, "key '?'");
    one_message(m, MEMORY_LEDGER, key, junk, -FIS_INPUT, "t.ledger");
    one_message(m, MEMORY_LEDGER, key, (struct wire_bytes){"1", 1}, -FIS_INPUT, "key 'k': truncated: field 6");
    assert_int_equal(memory_conclude(m, &e), 0); /* as if none of them were there */
    assert_int_equal(memory_bytes(m), 0);
    memory_free(m);
}

static void tombstones_and_newer_values_replace(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(names, 65536, &e);
    struct wire_bytes a = {"a", 1}, b = {"b", 1}, v = {"\x08\x05", 2}, none = {0};
    one_message(m, MEMORY_LEDGER, a, v, 0, NULL);
    one_message(m, MEMORY_LEDGER, b, v, 0, NULL);
    one_message(m, MEMORY_LEDGER, a, v, 0, NULL);
    assert_int_equal(memory_entries(m), 2);
    assert_int_equal(memory_bytes(m), 6);
    one_message(m, MEMORY_LEDGER, a, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, a, none, 0, NULL);
    assert_int_equal(memory_entries(m), 1);
    assert_int_equal(memory_bytes(m), 3);
    memory_free(m);
}

static void the_state_needs_its_head_and_version(void **state)
{
    (void)state;
    static struct machine m;
    struct fis_error e;
    run_machine(&m, 0, false);
    for (int without = 1; without < MEMORY_TOPICS; without++) {
        struct memory *memory = memory_new(names, 65536, &e);
        for (int t = 0; t < MEMORY_TOPICS; t++)
            if (t != without)
                assert_int_equal(feed(memory, (enum memory_topic)t, &m.topic[read_from[t]], 0, &e),
                                 0);
        assert_int_equal(memory_conclude(memory, &e), -FIS_FATAL);
        assert_non_null(strstr(e.text, names[without]));
        assert_false(memory_found(memory));
        memory_free(memory);
    }
    close_machine(&m);
}

/* A role of its own, told what the memory has. */
static int try_to_go_on(struct machine *m, struct memory *memory, struct fis_error *e)
{
    struct trainer_role_options o = small_options();
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = D,
                                     .labels = WIRE_JSON,
                                     .put = put,
                                     .job = want_job,
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
    run_machine(&m, 0, false);
    struct memory *memory = memory_new(names, 65536, &e);
    const struct message *lost = &m.topic[TRAINER_REQUESTS].m[0];
    for (uint32_t i = 0; i < m.topic[TRAINER_LEDGER].n; i++) {
        const struct message *k = &m.topic[TRAINER_LEDGER].m[i];
        if (k->key_length == lost->key_length && memcmp(k->key, lost->key, k->key_length) == 0)
            continue;
        const struct wire_message msg = {.topic = names[MEMORY_LEDGER],
                                         .offset = i,
                                         .key = {k->key, k->key_length},
                                         .value = {k->value, k->value_length}};
        assert_int_equal(memory_take(memory, MEMORY_LEDGER, &msg, &e), 0);
    }
    for (int t = MEMORY_HEADS; t < MEMORY_TOPICS; t++)
        assert_int_equal(feed(memory, (enum memory_topic)t, &m.topic[read_from[t]], 0, &e), 0);
    assert_int_equal(memory_conclude(memory, &e), 0);
    assert_int_equal(try_to_go_on(&next, memory, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "t.ledger holds "));
    assert_non_null(strstr(e.text, " requested records"));
    memory_free(memory);
    stop_machine(&next);
    close_machine(&m);
}

/* The ledger of the first unit, or none at all, with one of the others as it is rounds later. */
static struct memory *of_two_times(const struct machine *old, const struct machine *now, int newer,
                                   bool begun)
{
    struct fis_error e;
    struct memory *memory = memory_new(names, 65536, &e);
    for (int t = 0; t < MEMORY_TOPICS; t++) {
        const struct topic none = {0}, *from = t == newer ? &now->topic[read_from[t]]
                                               : begun    ? &old->topic[read_from[t]]
                                                          : &none;
        assert_int_equal(feed(memory, (enum memory_topic)t, from, 0, &e), 0);
    }
    return memory;
}

static void other_topics_that_are_newer_are_refused(void **state)
{
    (void)state;
    static struct machine old, now;
    struct fis_error e;
    start_machine(&old);
    run_machine(&now, 0, false);
    for (int newer = 1; newer < MEMORY_TOPICS; newer++)
        for (int begun = 0; begun < 2; begun++) {
            struct memory *memory = of_two_times(&old, &now, newer, begun);
            assert_int_equal(memory_conclude(memory, &e), -FIS_FATAL);
            if (!strstr(e.text, names[newer]) || !strstr(e.text, names[MEMORY_LEDGER]) ||
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
    close_machine(&old);
    close_machine(&now);
}

/* In at_least_once: numbers go on behind what is there, and what is served is what users see. */
static void versions_go_on_behind_the_newest(void **state)
{
    (void)state;
    static struct machine old, now;
    start_machine(&old);
    run_machine(&now, 0, false);
    struct memory *whole = remember(&now);
    struct memory *memory = of_two_times(&old, &now, MEMORY_MODELS, true);
    struct fis_error e;
    memory_not_atomic(memory);
    if (memory_conclude(memory, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(memory_state(memory)->model_version < memory_state(whole)->model_version);
    stop_machine(&old);
    go_on(&old, memory);
    struct trainer_role_counts c = trainer_role_counts(old.role);
    assert_int_equal(c.model_version, memory_state(whole)->model_version);
    assert_int_equal(c.served_version, memory_state(whole)->served_version);
    memory_free(memory);
    memory_free(whole);
    close_machine(&old);
    close_machine(&now);
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
    struct fis_column other[D];
    struct fis_error e;
    run_machine(&m, 0, false);
    struct memory *memory = remember(&m);
    assert_int_equal(memory_state(memory)->identity.n_facts, 0);
    const char *metric = fis_metric_name(FIS_EQUALIZED_ODDS);
    memcpy(other, small_columns, sizeof other);
    other[1].name = "z";
    assert_int_equal(compared(memory, other, D, small_schema.classes, "t", metric, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "columns"));
    assert_non_null(strstr(e.text, "'z' numeric unscaled"));
    assert_int_equal(compared(memory, small_columns, D - 1, small_schema.classes, "t", metric, &e), -FIS_FATAL);
    assert_int_equal(compared(memory, small_columns, D, others, "t", metric, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "classes 'no', 'maybe' (was 'no', 'yes')"));
    assert_int_equal(compared(memory, small_columns, D, small_schema.classes, "u", metric, &e), -FIS_FATAL);
    assert_non_null(
        strstr(e.text, "t.ledger holds the memory of pipeline t, and this is pipeline u"));
    assert_int_equal(compared(memory, small_columns, D, small_schema.classes, "t", "risk_disparity", &e),
                     -FIS_FATAL);
    assert_non_null(strstr(e.text, "metric risk_disparity (was equalized_odds)"));
    if (compared(memory, small_columns, D, small_schema.classes, "t", metric, &e) < 0)
        fail_msg("%s", e.text);
    struct fis_encoder *taken = memory_take_encoder(memory);
    assert_non_null(taken);
    assert_null(memory_head(memory)->encoder);
    fis_encoder_free(taken);
    memory_free(memory);
    close_machine(&m);
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
    run_machine(&m, 0, false);
    struct memory *memory = memory_new(names, 65536, &e), *whole = remember(&m);
    struct watched watched = {0};
    memory_watch(memory, watch_model, watch_state, &watched);
    for (int t = MEMORY_TOPICS - 1; t >= 0; t--) /* the ledger last: it speaks of the others */
        for (uint32_t part = 0; part < 5; part++) {
            struct topic slice = m.topic[read_from[t]];
            slice.n = part < 4 ? slice.n * (part + 1) / 5 : slice.n;
            assert_int_equal(
                feed(memory, (enum memory_topic)t, &slice, m.topic[read_from[t]].n * part / 5, &e),
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
    close_machine(&m);
}

/* Without its checkpoint, or with one that belongs to another state, the role starts all the same.
 */
static void a_checkpoint_that_is_not_there_is_said(void **state)
{
    (void)state;
    static struct machine m;
    struct fis_error e;
    run_machine(&m, 0, false);
    struct topic *ledger = &m.topic[TRAINER_LEDGER];
    stop_machine(&m);
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
    struct memory *memory = remember(&m);
    assert_false(memory_has_checkpoint(memory));
    go_on(&m, memory);
    assert_string_not_equal(memory_checkpoint_trouble(memory), "");
    memory_free(memory);
    assert_int_equal(trainer_role_start(m.role, m.now, &e), 0);
    settle_machine(&m);
    close_machine(&m);
}

/* ---- trainer_wire alone ---------------------------------------------------------------------- */

static int refuse_second(void *arg, enum trainer_topic t, struct wire_bytes key,
                         struct wire_bytes value, struct fis_error *e)
{
    int *puts = arg;
    (void)t;
    (void)key;
    (void)value;
    return ++*puts == 2 ? fis_fail(e, FIS_ABORT_TXN, "no more") : 0;
}

static void nothing_is_put_after_a_failure(void **state)
{
    (void)state;
    int puts = 0;
    struct trainer_wire wire;
    struct trainer_out out;
    struct fis_error e;
    struct fis_id id;
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = D,
                                     .labels = WIRE_JSON,
                                     .put = refuse_second,
                                     .arg = &puts};
    assert_int_equal(trainer_wire_init(&wire, &w, &e), 0);
    trainer_wire_out(&wire, &out);
    fis_id_set(&id, "r1", 2);
    for (int i = 0; i < 5; i++)
        out.unheld(out.ctx, &id);
    out.note(out.ctx, "event", "text"); /* nobody listens */
    assert_int_equal(puts, 2);
    assert_true(trainer_wire_failed(&wire, &e));
    assert_int_equal(e.kind, FIS_ABORT_TXN);
    assert_string_equal(e.text, "no more");
    trainer_wire_done(&wire);
}

static void what_cannot_be_encoded_is_a_failure(void **state)
{
    (void)state;
    static struct machine m;
    struct trainer_out out;
    struct fis_error e;
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = D,
                                     .labels = WIRE_JSON,
                                     .put = put,
                                     .arg = &m};
    memset(&m, 0, sizeof m);
    assert_int_equal(trainer_wire_init(&m.wire, &w, &e), 0);
    trainer_wire_out(&m.wire, &out);
    struct wire_ledger_entry entry = {.state = (enum wire_ledger_state)99};
    fis_id_set(&entry.id, "r1", 2);
    out.ledger(out.ctx, &entry);
    assert_true(trainer_wire_failed(&m.wire, &e));
    assert_int_equal(m.topic[TRAINER_LEDGER].n, 0);
    trainer_wire_done(&m.wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarted_from_the_topics_it_says_the_same),
        cmocka_unit_test(nothing_yet),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(tombstones_and_newer_values_replace),
        cmocka_unit_test(the_state_needs_its_head_and_version),
        cmocka_unit_test(a_ledger_that_lost_a_request_is_refused),
        cmocka_unit_test(other_topics_that_are_newer_are_refused),
        cmocka_unit_test(versions_go_on_behind_the_newest),
        cmocka_unit_test(what_changed_is_found_without_an_identity_too),
        cmocka_unit_test(a_standby_keeps_up),
        cmocka_unit_test(a_checkpoint_that_is_not_there_is_said),
        cmocka_unit_test(nothing_is_put_after_a_failure),
        cmocka_unit_test(what_cannot_be_encoded_is_a_failure),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

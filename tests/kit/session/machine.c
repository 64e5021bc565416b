#include "kit/session/machine.h"

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static void append(struct machine_topic *t, struct wire_bytes key, struct wire_bytes value)
{
    if (t->n == t->room)
        t->m = realloc(t->m, (t->room = 2 * t->room + 64) * sizeof *t->m);
    struct machine_message *m = &t->m[t->n++];
    *m = (struct machine_message){.key_length = key.length, .value_length = value.length};
    m->key = malloc(key.length + 1);
    memcpy(m->key, key.data, key.length);
    if (value.data) {
        m->value = malloc(value.length + 1);
        memcpy(m->value, value.data, value.length);
    }
}

static void clear(struct machine_topic *t, uint32_t from)
{
    for (uint32_t i = from; i < t->n; i++) {
        free(t->m[i].key);
        free(t->m[i].value);
    }
    t->n = from < t->n ? from : t->n;
    if (from == 0) {
        free(t->m);
        *t = (struct machine_topic){0};
    }
}

static bool later(const struct machine_topic *t, uint32_t i)
{
    for (uint32_t k = i + 1; k < t->n; k++)
        if (t->m[k].key_length == t->m[i].key_length &&
            memcmp(t->m[k].key, t->m[i].key, t->m[i].key_length) == 0)
            return true;
    return false;
}

/* As a broker may: the newest of each key stays, some of the others too. */
static void compact(struct machine_topic *t, struct fis_rng *r)
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

int machine_put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
                struct fis_error *e)
{
    struct machine *m = arg;
    (void)e;
    append(&m->topic[t], key, value);
    return 0;
}

void machine_want_job(void *arg, enum trainer_job kind)
{
    struct machine *m = arg;
    assert_false(m->job);
    m->job = (int)kind;
}

const char *const machine_topic_names[MEMORY_TOPICS] = {"t.ledger", "t.heads", "t.models"};

const enum trainer_topic machine_topic_of[MEMORY_TOPICS] = {TRAINER_LEDGER, TRAINER_HEADS,
                                                            TRAINER_MODELS};

int machine_feed(struct memory *memory, enum memory_topic t, const struct machine_topic *from,
                 uint32_t first, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = first; rc == 0 && i < from->n; i++) {
        struct wire_message m = {
            .topic = machine_topic_names[t],
            .offset = i,
            .key = {from->m[i].key, from->m[i].key_length},
            .value = {from->m[i].value, from->m[i].value_length},
        };
        rc = memory_take(memory, t, &m, e);
    }
    return rc;
}

struct memory *machine_remember(const struct machine *m)
{
    struct fis_error e;
    struct memory *memory = memory_new(machine_topic_names, 65536, &e);
    assert_non_null(memory);
    for (int t = 0; t < MEMORY_TOPICS; t++)
        if (machine_feed(memory, (enum memory_topic)t, &m->topic[machine_topic_of[t]], 0, &e) < 0)
            fail_msg("%s", e.text);
    if (memory_conclude(memory, &e) < 0)
        fail_msg("%s", e.text);
    return memory;
}

void machine_settle(struct machine *m)
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

void machine_start(struct machine *m)
{
    struct trainer_role_options o = small_options();
    struct trainer_out out;
    struct fis_error e;
    struct trainer_wire_options w = {
        .schema = &small_schema,
        .columns = small_columns,
        .n_columns = SMALL_D,
        .labels = WIRE_JSON,
        .max_chunk = 200,
        .put = machine_put,
        .job = machine_want_job,
        .arg = m,
    };
    for (int t = 0; t < TRAINER_TOPICS; t++)
        clear(&m->topic[t], m->committed[t]);
    struct memory *memory = machine_remember(m);
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
    machine_settle(m);
    commit(m);
}

void machine_stop(struct machine *m)
{
    trainer_role_free(m->role);
    fis_encoder_free(m->encoder);
    trainer_wire_done(&m->wire);
    m->job = 0;
}

void machine_close(struct machine *m)
{
    machine_stop(m);
    for (int t = 0; t < TRAINER_TOPICS; t++)
        clear(&m->topic[t], 0);
}

static void offer_records(struct machine *m, int step)
{
    struct fis_error e;
    struct fis_rng r;
    fis_rng_seed(&r, 77, (uint64_t)step);
    for (uint32_t i = 0; i < 50; i++) {
        float x[SMALL_D];
        char text[32];
        struct wire_candidate c = {.x = x, .d = SMALL_D, .encoding = WIRE_JSON};
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
        const struct machine_message *r = &m->topic[TRAINER_REQUESTS].m[i];
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
    machine_settle(m);
}

#define STEPS 24

void machine_run(struct machine *m, uint32_t restart, bool compacting)
{
    struct fis_rng r;
    fis_rng_seed(&r, 5, restart);
    memset(m, 0, sizeof *m);
    m->now = (struct trainer_time){1000, 1700000000000};
    machine_start(m);
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
            machine_stop(m);
            if (compacting)
                for (int t = 0; t < MEMORY_TOPICS; t++) {
                    clear(&m->topic[machine_topic_of[t]], m->committed[machine_topic_of[t]]);
                    compact(&m->topic[machine_topic_of[t]], &r);
                    m->committed[machine_topic_of[t]] = m->topic[machine_topic_of[t]].n;
                }
            machine_start(m);
        }
        commit(m);
    }
}

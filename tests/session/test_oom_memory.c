/*
 * The trainer, its words on topics and its memory, under every refused allocation: what fails says
 * NOMEM and leaves nothing behind. Each scenario is a life: made, given data, trained, asked for
 * labels, remembered, and made again from the memory.
 */

#include "kit/cmocka.h"

#include "kit/base/oom.h"

#include "kit/role/small_pipeline.h"
#include "session/memory.h"
#include "role/trainer_wire.h"
#include "wire/json_arena.h"

#define D SMALL_D
#define ROWS 60

static const char *const names[MEMORY_TOPICS] = {"t.ledger", "t.heads", "t.models"};

static float x[ROWS * D];
static uint32_t y[ROWS], groups[ROWS];

struct life {
    struct memory *memory; /* of all that was put */
    struct trainer_wire wire;
    struct fis_encoder *encoder;
    struct trainer_role *role;
    struct fis_id asked[16];
    uint32_t n_asked;
    int job, pool_requested;
    uint64_t ms;
};

static struct trainer_role_options short_options(void)
{
    struct trainer_role_options o = small_options();
    o.warm_up_epochs = 1;
    o.steps_per_round = 2;
    o.rounds = 2;
    o.window_records = 20;
    o.votes = 2;
    o.validation_rows = ROWS;
    o.selector.labels_per_round = 4;
    o.learner.batch = 8;
    o.learner.kept_min = 2;
    o.gate.min_rows = 10;
    o.gate.min_cell = 1;
    o.gate.resamples = 5;
    return o;
}

static struct trainer_time now(const struct life *l)
{
    return (struct trainer_time){l->ms, 1000000000 + (int64_t)l->ms};
}

static struct wire_bytes no_bytes(void)
{
    return (struct wire_bytes){NULL, 0};
}

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    static const int into[TRAINER_TOPICS] = {-1, MEMORY_LEDGER, MEMORY_HEADS, MEMORY_MODELS};
    struct life *l = arg;
    if (into[t] < 0) {
        if (l->n_asked < 16)
            assert_int_equal(fis_id_set(&l->asked[l->n_asked++], key.data, key.length), 0);
        return 0;
    }
    struct wire_message m = {.topic = names[into[t]], .key = key, .value = value};
    return memory_take(l->memory, (enum memory_topic)into[t], &m, e);
}

static void want_job(void *arg, enum trainer_job kind)
{
    ((struct life *)arg)->job = (int)kind;
}

static void want_pool(void *arg)
{
    ((struct life *)arg)->pool_requested = 1;
}

/* ---- a life, step by step ------------------------------------------------------------------- */

static int make_role(struct life *l, int pool, struct fis_error *e)
{
    struct trainer_role_options o = short_options();
    o.pool = pool;
    struct trainer_out out;
    trainer_wire_out(&l->wire, &out);
    l->role = trainer_role_new(&o, l->encoder, &out, e);
    if (!l->role)
        return oom_failed(e);
    for (uint32_t i = 0; i < ROWS / 2; i++) {
        int rc = trainer_role_initial(l->role, x + (size_t)i * D, y[i], e);
        if (rc)
            return rc;
    }
    struct fis_rows rows = {ROWS, D, x, y, groups};
    return trainer_role_validation(l->role, &rows, 2, e);
}

static int begin(struct life *l, int pool, struct fis_error *e)
{
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = D,
                                     .labels = WIRE_JSON,
                                     .max_chunk = 400,
                                     .put = put,
                                     .job = want_job,
                                     .pool = want_pool,
                                     .arg = l};
    *l = (struct life){.ms = 1000};
    l->memory = memory_new(names, 65536, e);
    if (!l->memory)
        return oom_failed(e);
    int rc = trainer_wire_init(&l->wire, &w, e);
    if (rc)
        return rc;
    l->encoder = small_encoder(e);
    return l->encoder ? make_role(l, pool, e) : oom_failed(e);
}

static void end(struct life *l)
{
    trainer_role_free(l->role);
    fis_encoder_free(l->encoder);
    trainer_wire_done(&l->wire);
    memory_free(l->memory);
}

static int run_jobs(struct life *l, struct fis_error *e)
{
    int rc = 0;
    while (rc == 0 && l->job) {
        l->job = 0;
        trainer_role_job(l->role);
        rc = trainer_role_job_done(l->role, now(l), e);
    }
    return rc;
}

/* As before a commit: jobs, and what was sent. */
static int settle(struct life *l, struct fis_error *e)
{
    int rc = run_jobs(l, e);
    if (rc)
        return rc;
    l->ms += 10;
    trainer_role_idle(l->role, now(l));
    rc = run_jobs(l, e);
    if (rc == 0)
        rc = trainer_role_flush(l->role, now(l), e);
    if (rc == 0 && trainer_wire_failed(&l->wire, e))
        rc = -(int)e->kind;
    return rc;
}

static int offer(struct life *l, struct fis_error *e)
{
    struct wire_range range = {0, 0, 20, 20, 0, 0};
    struct wire_progress p = {.scorer = "s", .ranges = &range, .n_ranges = 1};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < 12; i++) {
        struct wire_candidate c = {.x = x + (size_t)(ROWS - 1 - i) * D,
                                   .d = D,
                                   .id = {2, {'r', (char)('a' + i)}},
                                   .encoding = WIRE_JSON,
                                   .record = {"{\"a\":1}", 7}};
        rc = trainer_role_offer(l->role, &c, e);
    }
    if (rc == 0)
        trainer_role_progress(l->role, &p);
    return rc;
}

static int answer(struct life *l, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < 2 * l->n_asked; i++) {
        struct wire_label label = {
            .id = l->asked[i / 2], .class_index = i / 2 % 2, .annotator = i % 2 ? "ann" : "bob"};
        rc = trainer_role_label(l->role, &label, now(l), e);
    }
    return rc;
}

static int order(struct life *l, enum wire_control_kind kind, struct fis_error *e)
{
    struct wire_control c = {
        .command = {2, {'c', (char)('0' + kind)}}, .kind = kind, .by = "t", .reason = ""};
    return trainer_role_control(l->role, &c, NULL, now(l), e);
}

static int live(struct life *l, struct fis_error *e)
{
    int rc = begin(l, 0, e);
    if (!rc)
        rc = trainer_role_start(l->role, now(l), e);
    if (!rc)
        rc = settle(l, e);
    if (!rc)
        rc = offer(l, e);
    if (!rc)
        rc = settle(l, e);
    if (!rc)
        rc = order(l, WIRE_CONTROL_PIN, e);
    if (!rc)
        rc = answer(l, e);
    return rc ? rc : settle(l, e);
}

static int one_life(void *arg, struct fis_error *e)
{
    struct life l;
    (void)arg;
    int rc = live(&l, e);
    if (rc == 0)
        assert_true(l.n_asked > 0 && trainer_role_counts(l.role).labels > 0);
    end(&l);
    return rc;
}

/* A round of the pool: the ends that did not fit are given once more. */
static int scan(struct life *l, struct fis_error *e)
{
    static const struct wire_pool_end ends[] = {{0, 20}, {4, 1}};
    int rc = begin(l, 1, e);
    if (!rc)
        rc = trainer_role_start(l->role, now(l), e);
    if (!rc)
        rc = settle(l, e);
    if (rc)
        return rc;
    assert_true(l->pool_requested);
    rc = trainer_role_pool(l->role, ends, 2, now(l), e);
    if (rc) {
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(trainer_role_pool(l->role, ends, 2, now(l), NULL), 0);
    }
    assert_true(trainer_role_counts(l->role).scan > 0);
    return rc ? rc : settle(l, e);
}

static int pool_life(void *arg, struct fis_error *e)
{
    struct life l;
    (void)arg;
    int rc = scan(&l, e);
    end(&l);
    return rc;
}

/* ---- made again from what is remembered -------------------------------------------------------
 */

static int again(struct life *l, struct memory *memory, struct fis_error *e)
{
    int rc = begin(l, 0, e);
    if (!rc)
        rc = memory_apply(memory, l->role, now(l), e);
    if (!rc)
        rc = trainer_role_start(l->role, now(l), e);
    return rc ? rc : settle(l, e);
}

static int next_life(void *arg, struct fis_error *e)
{
    struct life l;
    int rc = again(&l, arg, e);
    if (rc == 0)
        assert_true(trainer_role_counts(l.role).round > 0);
    end(&l);
    return rc;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void a_life(void **state)
{
    (void)state;
    assert_true(oom_run(one_life, NULL) > 200);
}

static void a_scan(void **state)
{
    (void)state;
    assert_true(oom_run(pool_life, NULL) > 100);
}

static void the_next_one(void **state)
{
    struct life l;
    struct fis_error e;
    (void)state;
    if (live(&l, &e) || memory_conclude(l.memory, &e))
        fail_msg("%s", e.text);
    assert_true(memory_found(l.memory));
    assert_true(oom_run(next_life, l.memory) > 100);
    end(&l);
}

/* What was put while memory ran short is put again into a memory that has room. */
static int take(void *arg, struct fis_error *e)
{
    struct memory *m = memory_new(names, 65536, e);
    (void)arg;
    if (!m)
        return oom_failed(e);
    int rc = 0;
    for (int i = 0; rc == 0 && i < 40; i++) {
        char key[] = {'r', (char)('0' + i)};
        struct wire_message message = {
            .topic = names[0], .key = {key, 2}, .value = {"\x08\x02", 2}};
        rc = memory_take(m, MEMORY_LEDGER, &message, e);
        if (rc == 0 && i % 2) {
            message.value = no_bytes();
            rc = memory_take(m, MEMORY_LEDGER, &message, e);
        }
    }
    memory_free(m);
    return rc;
}

static void remembering(void **state)
{
    (void)state;
    assert_true(oom_run(take, NULL) > 40);
}

static int set_up(void **state)
{
    struct fis_rng r;
    (void)state;
    wire_json_init();
    fis_rng_seed(&r, 5, 5);
    for (uint32_t i = 0; i < ROWS; i++) {
        groups[i] = i % 2;
        y[i] = i / 2 % 2;
        for (uint32_t k = 0; k < D; k++)
            x[i * D + k] = (float)(fis_rng_normal(&r) + (k < 2 ? (double)y[i] : (double)groups[i]));
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life),
        cmocka_unit_test(a_scan),
        cmocka_unit_test(the_next_one),
        cmocka_unit_test(remembering),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

/* The trainer machine: rounds, budget, labels, the gate's word, and going on from a ledger. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fis/mem.h"
#include "role/trainer.h"

#define D 3
#define MAX_IDS 4096
#define MAX_VERSIONS 64

static const char *const class_names[] = {"no", "yes"};
static const struct wire_schema schema = {.classes = class_names, .n_classes = 2};
static const struct fis_column columns[D] = {
    {"a", FIS_NUMERIC, FIS_SCALE_NONE},
    {"b", FIS_NUMERIC, FIS_SCALE_NONE},
    {"c", FIS_NUMERIC, FIS_SCALE_NONE},
};

/* The world around the machine: it remembers what was said, and answers from the true labels. */
struct world {
    struct fis_encoder *encoder;
    struct trainer_role *role;
    struct trainer_time now;
    struct fis_rng rng;
    int job;
    struct fis_id open[MAX_IDS]; /* requests in order */
    float x[MAX_IDS][D];         /* of record i */
    uint32_t n_requests, n_records;
    unsigned char asked[MAX_IDS];
    struct wire_ledger_entry ledger[MAX_IDS];
    float ledger_x[MAX_IDS][D];
    struct wire_trainer_state state;
    uint64_t heads, last_head;
    float head[64], served[64]; /* slabs */
    uint32_t n_versions;
    struct {
        int served;
        char reason[32];
        double accuracy;
        uint64_t labels;
    } version[MAX_VERSIONS];
};

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static void on_request(void *ctx, const struct wire_label_request *r)
{
    struct world *w = ctx;
    uint32_t n = number_of(&r->id);
    assert_false(w->asked[n]); /* at most once per record */
    w->asked[n] = 1;
    w->open[w->n_requests++] = r->id;
}

static void on_ledger(void *ctx, const struct wire_ledger_entry *entry)
{
    struct world *w = ctx;
    uint32_t n = number_of(&entry->id);
    w->ledger[n] = *entry;
    if (entry->x)
        memcpy(w->ledger_x[n], entry->x, sizeof w->ledger_x[n]);
    w->ledger[n].x = w->ledger_x[n];
}

static void on_state(void *ctx, const struct wire_trainer_state *s)
{
    ((struct world *)ctx)->state = *s;
}

static void on_head(void *ctx, const struct wire_head *h)
{
    struct world *w = ctx;
    size_t n = fis_shape_params(&h->shape);
    assert_true(n <= 64 && h->version > w->last_head);
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(h->params[i]) && isfinite(h->g_acc[i]) && isfinite(h->g_fair[i]));
    memcpy(w->head, h->params, n * sizeof *w->head);
    w->last_head = h->version;
    w->heads++;
}

static void on_model(void *ctx, const struct wire_model *v)
{
    struct world *w = ctx;
    assert_int_equal(v->served, v->params != NULL);
    if (v->served)
        memcpy(w->served, v->params, fis_shape_params(&v->shape) * sizeof *w->served);
    w->version[w->n_versions].served = v->served;
    w->version[w->n_versions].accuracy = v->metrics.accuracy;
    w->version[w->n_versions].labels = v->labels_bought;
    snprintf(w->version[w->n_versions++].reason, 32, "%s", v->reason);
}

static void on_job(void *ctx, enum trainer_job kind)
{
    struct world *w = ctx;
    assert_false(w->job);
    w->job = (int)kind;
}

static void on_note(void *ctx, const char *event, const char *text)
{
    (void)ctx;
    (void)event;
    (void)text;
}

static struct trainer_role_options options(void)
{
    struct trainer_role_options o = {
        .pipeline = "t",
        .schema = &schema,
        .positive = 1,
        .cross_fit = 0,
        .precondition = 0,
        .warm_up_epochs = 10,
        .steps_per_round = 20,
        .rounds = 3,
        .window_records = 100,
        .validation_rows = 600,
        .n_groups = 2,
    };
    o.selector.criteria.algorithm = FIS_ALGORITHM_FIS_PLUS;
    o.selector.labels_per_round = 16;
    o.learner.copies = FIS_COPIES_BOOSTED;
    o.learner.learning_rate = .05f;
    o.learner.momentum = .9f;
    o.learner.batch = 32;
    o.learner.boost = .5f;
    o.learner.kept_min = 4;
    o.learner.average_every = 2;
    o.learner.seed = 5;
    o.gate.metric = o.directions.surrogate.metric = FIS_EQUALIZED_ODDS;
    o.directions.surrogate.form = FIS_GAP_OVERALL;
    o.directions.surrogate.positive = o.gate.positive = 1;
    o.directions.damping = .01;
    o.gate.epsilon = .005;
    o.gate.min_rows = 100;
    o.gate.min_cell = 10;
    o.gate.warn_cell = 20;
    o.gate.rule = FIS_GATE_RULE_FAIRER;
    o.gate.standard_errors = 1;
    o.gate.resamples = 50;
    return o;
}

/* y depends on a and b; c is the group's shadow. */
static uint32_t draw(struct fis_rng *r, float *x, uint32_t *group)
{
    uint32_t g = fis_rng_below(r, 2), y = fis_rng_below(r, 2);
    x[0] = (float)(fis_rng_normal(r) + (y ? .8 : -.8));
    x[1] = (float)(fis_rng_normal(r) + (y ? .5 : -.5) + (g ? .4 : -.4));
    x[2] = (float)(fis_rng_normal(r) * .3 + (g ? 1 : -1));
    if (group)
        *group = g;
    return y;
}

static void open_world(struct world *w, const struct trainer_role_options *o)
{
    struct fis_error e;
    struct trainer_out out = {w, on_request, on_ledger, on_state, on_head, on_model, on_job,
                              on_note};
    memset(w, 0, sizeof *w);
    fis_rng_seed(&w->rng, 1, 1);
    w->encoder = fis_encoder_new(columns, D, 10, &e);
    struct fis_value row[D] = {{FIS_VALUE_NUMBER, 1, NULL, 0},
                               {FIS_VALUE_NUMBER, 1, NULL, 0},
                               {FIS_VALUE_NUMBER, 1, NULL, 0}};
    assert_int_equal(fis_encoder_observe(w->encoder, row, &e), 0);
    assert_int_equal(fis_encoder_finish(w->encoder, &e), 0);
    w->role = trainer_role_new(o, w->encoder, &out, &e);
    assert_non_null(w->role);
}

static void load_world(struct world *w, uint32_t n_initial)
{
    struct fis_error e;
    struct fis_rng r;
    static float x[600 * D];
    static uint32_t y[600], g[600];
    fis_rng_seed(&r, 2, 2);
    for (uint32_t i = 0; i < n_initial; i++) {
        float row[D];
        uint32_t label = draw(&r, row, NULL);
        assert_int_equal(trainer_role_initial(w->role, row, label, &e), 0);
    }
    for (uint32_t i = 0; i < 600; i++)
        y[i] = draw(&r, x + i * D, &g[i]);
    struct fis_rows rows = {600, D, x, y, g};
    assert_int_equal(trainer_role_validation(w->role, &rows, 2, &e), 0);
}

static void close_world(struct world *w)
{
    trainer_role_free(w->role);
    fis_encoder_free(w->encoder);
}

/* Runs the job that is asked for, if any. */
static void settle(struct world *w)
{
    struct fis_error e;
    while (w->job) {
        w->job = 0;
        trainer_role_job(w->role);
        if (trainer_role_job_done(w->role, w->now, &e) < 0)
            fail_msg("job: %s", e.text);
    }
}

static void start(struct world *w)
{
    struct fis_error e;
    assert_int_equal(trainer_role_start(w->role, w->now, &e), 0);
    settle(w);
}

static void idle(struct world *w)
{
    w->now.mono_ms += 10;
    trainer_role_idle(w->role, w->now);
    settle(w);
}

static void offer(struct world *w, uint32_t n)
{
    struct fis_error e;
    struct wire_progress p = {.records = n};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = w->n_records++;
        struct wire_candidate c = {.x = w->x[number], .d = D, .encoding = WIRE_JSON};
        char text[16];
        draw(&w->rng, w->x[number], NULL);
        fis_id_set(&c.id, text, (size_t)snprintf(text, sizeof text, "r%u", number));
        c.record = (struct wire_bytes){"{}", 2};
        assert_int_equal(trainer_role_offer(w->role, &c, &e), 0);
    }
    trainer_role_progress(w->role, &p);
}

static int label(struct world *w, const struct fis_id *id, uint32_t y)
{
    struct fis_error e;
    struct wire_label l = {.id = *id, .class_index = y};
    return trainer_role_label(w->role, &l, &e);
}

static uint32_t truth(const struct fis_id *id)
{
    return number_of(id) % 2;
}

/* Rounds until nothing more is asked for. */
static void run_rounds(struct world *w)
{
    uint32_t answered = 0;
    for (int i = 0; i < 40; i++) {
        if (w->n_records + 100 <= MAX_IDS)
            offer(w, 100);
        idle(w);
        for (; answered < w->n_requests; answered++, idle(w))
            assert_int_equal(label(w, &w->open[answered], truth(&w->open[answered])), 0);
    }
}

static void test_rounds_to_the_end(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    assert_int_equal(w.n_versions, 1);
    assert_true(w.version[0].served);
    assert_string_equal(w.version[0].reason, "first");
    run_rounds(&w);
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_string_equal(c.phase, "done");
    assert_int_equal(c.labels, 48); /* three rounds of sixteen, and not one more */
    assert_int_equal(w.n_requests, 48);
    assert_int_equal(w.n_versions, 4);
    assert_int_equal(c.published + c.rejected, 4);
    assert_int_equal(w.version[3].labels, 48);
    assert_true(w.heads >= 1 + 3 * 4);
    close_world(&w);
}

static void test_the_budget_is_exact(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    o.rounds = 0;
    o.selector.budget = 37; /* in the middle of the third round */
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    run_rounds(&w);
    assert_int_equal(w.n_requests, 37);
    assert_int_equal(trainer_role_counts(w.role).labels, 37);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    close_world(&w);
}

static void test_the_in_flight_limit_holds(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    o.selector.in_flight = 5;
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    offer(&w, 100);
    idle(&w);
    assert_int_equal(w.n_requests, 5);
    idle(&w);
    assert_int_equal(w.n_requests, 5);
    label(&w, &w.open[0], 0);
    label(&w, &w.open[1], 1);
    idle(&w);
    assert_int_equal(w.n_requests, 7);
    close_world(&w);
}

static void test_labels_that_are_not_wanted(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    struct fis_id nobody;
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    offer(&w, 100);
    idle(&w);
    fis_id_set(&nobody, "r4000", 5);
    assert_int_equal(label(&w, &nobody, 1), -FIS_INPUT);
    assert_int_equal(label(&w, &w.open[0], 1), 0);
    assert_int_equal(label(&w, &w.open[0], 1), 0);          /* again: counts once */
    assert_int_equal(label(&w, &w.open[0], 0), -FIS_INPUT); /* contradicts */
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.labels, 1);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.learner.bought, 1);
    struct fis_error e;
    struct wire_label skip = {.id = w.open[1], .status = WIRE_SKIPPED};
    assert_int_equal(trainer_role_label(w.role, &skip, &e), 0);
    c = trainer_role_counts(w.role);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.learner.bought, 1);
    assert_int_equal(w.ledger[number_of(&w.open[1])].state, WIRE_SKIPPED_BY_PERSON);
    close_world(&w);
}

static void test_a_round_ends_at_its_deadline(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    o.round_deadline_ms = 1000;
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    offer(&w, 100);
    idle(&w);
    label(&w, &w.open[0], 1);
    idle(&w);
    assert_int_equal(w.n_versions, 1);
    w.now.wall_ms -= 10000000; /* the wall clock is not what it goes by */
    idle(&w);
    assert_int_equal(w.n_versions, 1);
    w.now.mono_ms += 1000;
    idle(&w);
    assert_int_equal(w.n_versions, 2);
    assert_int_equal(label(&w, &w.open[1], 1), 0); /* late, but paid for */
    assert_int_equal(trainer_role_counts(w.role).labels, 2);
    close_world(&w);
}

static void test_a_round_that_diverges_is_rejected(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    open_world(&w, &o);
    load_world(&w, 200);
    start(&w);
    float served[64], head[64];
    memcpy(served, w.served, sizeof served);
    offer(&w, 100);
    idle(&w);
    memcpy(head, w.head, sizeof head);
    /* One absurd record among the answers, as if it had been bought. */
    for (uint32_t i = 0; i < 16; i++)
        for (int k = 0; k < D; k++)
            w.x[number_of(&w.open[i])][k] = 3e38f;
    struct wire_ledger_entry absurd = {.state = WIRE_ACCEPTED, .d = D};
    float x[D] = {3e38f, -3e38f, 3e38f};
    struct fis_error e;
    absurd.x = x;
    fis_id_set(&absurd.id, "r4001", 5);
    for (int i = 0; i < 64; i++) {
        fis_id_set(&absurd.id, "r4001", 5);
        absurd.id.bytes[4] = (char)('0' + i);
        assert_int_equal(trainer_role_restore_entry(w.role, &absurd, &e), 0);
    }
    for (uint32_t i = 0; i < 16; i++)
        label(&w, &w.open[i], 1);
    idle(&w);
    assert_int_equal(w.n_versions, 2);
    assert_false(w.version[1].served);
    assert_string_equal(w.version[1].reason, "not_finite");
    assert_memory_equal(served, w.served, sizeof served);
    close_world(&w);
}

static void test_going_on_from_the_ledger(void **state)
{
    (void)state;
    static struct world before, after;
    struct trainer_role_options o = options();
    struct fis_error e;
    o.rounds = 0;
    o.selector.budget = 40;
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 200);
    idle(&before);
    for (uint32_t i = 0; i < 16; i++)
        label(&before, &before.open[i], truth(&before.open[i]));
    idle(&before); /* round 1 is judged */
    offer(&before, 200);
    idle(&before); /* round 2 has asked */
    assert_int_equal(before.n_requests, 32);
    label(&before, &before.open[16], 1);

    open_world(&after, &o);
    load_world(&after, 200);
    for (uint32_t i = 0; i < MAX_IDS; i++)
        if (before.ledger[i].state)
            assert_int_equal(trainer_role_restore_entry(after.role, &before.ledger[i], &e), 0);
    memcpy(after.asked, before.asked, sizeof after.asked);
    memcpy(after.ledger, before.ledger, sizeof after.ledger);
    after.last_head = before.state.head_version;
    assert_int_equal(trainer_role_restore_state(after.role, &before.state, before.head,
                                                before.served, &e), 0);
    start(&after);
    assert_int_equal(after.n_versions, 0); /* no second warm-up */
    struct trainer_role_counts c = trainer_role_counts(after.role);
    assert_int_equal(c.selector.answered, 17);
    assert_int_equal(c.selector.open, 15);
    assert_int_equal(c.selector.budget_left, 8);
    assert_int_equal(c.learner.bought, 17);
    assert_int_equal(c.round, before.state.round);
    /* An answer to a request of the old instance is taken. */
    assert_int_equal(label(&after, &before.open[17], 0), 0);
    after.n_records = before.n_records;
    run_rounds(&after);
    assert_int_equal(after.n_requests, 8); /* the budget is exact over both lives */
    close_world(&before);
    close_world(&after);
}

static void test_starts_that_are_refused(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    struct fis_error e;
    open_world(&w, &o);
    load_world(&w, 0);
    assert_int_equal(trainer_role_start(w.role, w.now, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "initial"));
    close_world(&w);

    o.learner.learning_rate = 3e38f; /* the warm-up diverges */
    open_world(&w, &o);
    load_world(&w, 200);
    assert_int_equal(trainer_role_start(w.role, w.now, &e), 0);
    trainer_role_job(w.role);
    assert_true(trainer_role_job_done(w.role, w.now, &e) < 0);
    assert_non_null(strstr(e.text, "finite"));
    assert_int_equal(w.heads, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_to_the_end),
        cmocka_unit_test(test_the_budget_is_exact),
        cmocka_unit_test(test_the_in_flight_limit_holds),
        cmocka_unit_test(test_labels_that_are_not_wanted),
        cmocka_unit_test(test_a_round_ends_at_its_deadline),
        cmocka_unit_test(test_a_round_that_diverges_is_rejected),
        cmocka_unit_test(test_going_on_from_the_ledger),
        cmocka_unit_test(test_starts_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

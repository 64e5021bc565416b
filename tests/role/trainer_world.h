/* The world around a trainer machine, for its tests: it remembers what was said, runs the jobs and
 * answers from the true labels. */
#ifndef TESTS_TRAINER_WORLD_H
#define TESTS_TRAINER_WORLD_H

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
    enum trainer_window window;
    uint32_t windows;
    float head[64], served[64]; /* slabs */
    uint32_t n_versions;
    struct {
        int served;
        char reason[32];
        double accuracy;
        uint64_t labels;
        uint32_t rows;
    } version[MAX_VERSIONS];
};

static inline uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static inline void on_request(void *ctx, const struct wire_label_request *r)
{
    struct world *w = ctx;
    uint32_t n = number_of(&r->id);
    assert_false(w->asked[n]); /* at most once per record */
    w->asked[n] = 1;
    w->open[w->n_requests++] = r->id;
}

static inline void on_ledger(void *ctx, const struct wire_ledger_entry *entry)
{
    struct world *w = ctx;
    uint32_t n = number_of(&entry->id);
    w->ledger[n] = *entry;
    if (entry->x)
        memcpy(w->ledger_x[n], entry->x, sizeof w->ledger_x[n]);
    w->ledger[n].x = w->ledger_x[n];
}

static inline void on_state(void *ctx, const struct wire_trainer_state *s)
{
    ((struct world *)ctx)->state = *s;
}

static inline void on_head(void *ctx, const struct wire_head *h)
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

static inline void on_model(void *ctx, const struct wire_model *v)
{
    struct world *w = ctx;
    assert_int_equal(v->served, v->params != NULL);
    if (v->served)
        memcpy(w->served, v->params, fis_shape_params(&v->shape) * sizeof *w->served);
    w->version[w->n_versions].served = v->served;
    w->version[w->n_versions].accuracy = v->metrics.accuracy;
    w->version[w->n_versions].labels = v->labels_bought;
    w->version[w->n_versions].rows = v->metrics.n;
    snprintf(w->version[w->n_versions++].reason, 32, "%s", v->reason);
}

static inline void on_job(void *ctx, enum trainer_job kind)
{
    struct world *w = ctx;
    assert_false(w->job);
    w->job = (int)kind;
}

static inline void on_note(void *ctx, const char *event, const char *text)
{
    (void)ctx;
    (void)event;
    (void)text;
}

static inline void on_window(void *ctx, enum trainer_window what)
{
    struct world *w = ctx;
    w->window = what;
    w->windows++;
}

static inline struct trainer_role_options options(void)
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
static inline uint32_t draw(struct fis_rng *r, float *x, uint32_t *group)
{
    uint32_t g = fis_rng_below(r, 2), y = fis_rng_below(r, 2);
    x[0] = (float)(fis_rng_normal(r) + (y ? .8 : -.8));
    x[1] = (float)(fis_rng_normal(r) + (y ? .5 : -.5) + (g ? .4 : -.4));
    x[2] = (float)(fis_rng_normal(r) * .3 + (g ? 1 : -1));
    if (group)
        *group = g;
    return y;
}

static inline void open_world(struct world *w, const struct trainer_role_options *o)
{
    struct fis_error e;
    struct trainer_out out = {w,        on_request, on_ledger, on_state, on_head,
                              on_model, on_job,     on_note,   on_window};
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

static inline void load_world(struct world *w, uint32_t n_initial)
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

static inline void close_world(struct world *w)
{
    trainer_role_free(w->role);
    fis_encoder_free(w->encoder);
}

/* Runs the job that is asked for, if any. */
static inline void settle(struct world *w)
{
    struct fis_error e;
    while (w->job) {
        w->job = 0;
        trainer_role_job(w->role);
        if (trainer_role_job_done(w->role, w->now, &e) < 0)
            fail_msg("job: %s", e.text);
    }
}

static inline void start(struct world *w)
{
    struct fis_error e;
    assert_int_equal(trainer_role_start(w->role, w->now, &e), 0);
    settle(w);
}

static inline void idle(struct world *w)
{
    w->now.mono_ms += 10;
    trainer_role_idle(w->role, w->now);
    settle(w);
}

static inline void offer(struct world *w, uint32_t n)
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

static inline int label(struct world *w, const struct fis_id *id, uint32_t y)
{
    struct fis_error e;
    struct wire_label l = {.id = *id, .class_index = y};
    return trainer_role_label(w->role, &l, &e);
}

static inline uint32_t truth(const struct fis_id *id)
{
    return number_of(id) % 2;
}

/* Rounds until nothing more is asked for. */
static inline void run_rounds(struct world *w)
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

/* What a host does: the state, earlier rounds' entries, then this round's. */
static inline void restore(struct world *after, const struct world *before)
{
    struct fis_error e;
    memcpy(after->asked, before->asked, sizeof after->asked);
    memcpy(after->ledger, before->ledger, sizeof after->ledger);
    after->last_head = before->state.head_version;
    assert_int_equal(
        trainer_role_restore_state(after->role, &before->state, before->head, before->served, &e),
        0);
    for (int this_round = 0; this_round < 2; this_round++)
        for (uint32_t i = 0; i < MAX_IDS; i++)
            if (before->ledger[i].state &&
                (before->ledger[i].round >= before->state.round) == this_round)
                assert_int_equal(trainer_role_restore_entry(after->role, &before->ledger[i], &e),
                                 0);
    memcpy(after->x, before->x, sizeof after->x);
}

static inline void play_round(struct world *w)
{
    uint32_t from = w->n_requests;
    offer(w, 100);
    idle(w);
    for (uint32_t i = from; i < w->n_requests; i++)
        label(w, &w->open[i], truth(&w->open[i]));
    idle(w);
    idle(w);
}

#endif

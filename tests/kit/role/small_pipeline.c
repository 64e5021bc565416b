#include "kit/role/small_pipeline.h"

#include "kit/cmocka.h"

static const char *const class_names[] = {"no", "yes"};
const struct wire_schema small_schema = {
    .classes = class_names, .n_classes = 2, .id_column = "id", .max_bytes = 4096};
const struct fis_column small_columns[SMALL_D] = {
    {"a", FIS_NUMERIC, FIS_SCALE_NONE},
    {"b", FIS_NUMERIC, FIS_SCALE_NONE},
    {"c", FIS_NUMERIC, FIS_SCALE_NONE},
};

struct trainer_role_options small_options(void)
{
    struct trainer_role_options o = {
        .pipeline = "t",
        .schema = &small_schema,
        .positive = 1,
        .precondition = 0,
        .warm_up_epochs = 10,
        .steps_per_round = 20,
        .rounds = 3,
        .window_records = 100,
        .validation_rows = SMALL_VALIDATION,
        .n_groups = 2,
    };
    o.selector.criteria.acquisition = &fis_acquisition_fis_plus;
    o.selector.labels_per_round = 16;
    o.publication = &publication_line;
    o.learner.learning_rate = .05f;
    o.learner.momentum = .9f;
    o.learner.batch = 32;
    o.learner.kept_min = 4;
    o.learner.average_every = 2;
    o.learner.fresh_steps = 40;
    o.learner.learn_validation = -1;
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

struct fis_encoder *small_encoder(struct fis_error *e)
{
    const struct fis_value row[SMALL_D] = {{FIS_VALUE_NUMBER, 1, NULL, 0},
                                           {FIS_VALUE_NUMBER, 1, NULL, 0},
                                           {FIS_VALUE_NUMBER, 1, NULL, 0}};
    struct fis_encoder *enc = fis_encoder_new(small_columns, SMALL_D, 10, e);
    if (enc && (fis_encoder_observe(enc, row, e) < 0 || fis_encoder_finish(enc, e) < 0)) {
        fis_encoder_free(enc);
        return NULL;
    }
    return enc;
}

uint32_t small_draw(struct fis_rng *r, float *x, uint32_t *group)
{
    uint32_t g = fis_rng_below(r, 2), y = fis_rng_below(r, 2);
    x[0] = (float)(fis_rng_normal(r) + (y ? .8 : -.8));
    x[1] = (float)(fis_rng_normal(r) + (y ? .5 : -.5) + (g ? .4 : -.4));
    x[2] = (float)(fis_rng_normal(r) * .3 + (g ? 1 : -1));
    if (group)
        *group = g;
    return y;
}

void small_load(struct trainer_role *role, uint32_t n_initial)
{
    struct fis_error e;
    struct fis_rng r;
    static float x[SMALL_VALIDATION * SMALL_D];
    static uint32_t y[SMALL_VALIDATION], g[SMALL_VALIDATION];
    fis_rng_seed(&r, 2, 2);
    for (uint32_t i = 0; i < n_initial; i++) {
        float row[SMALL_D];
        uint32_t label = small_draw(&r, row, NULL);
        assert_int_equal(trainer_role_initial(role, row, label, &e), 0);
    }
    for (uint32_t i = 0; i < SMALL_VALIDATION; i++)
        y[i] = small_draw(&r, x + (size_t)i * SMALL_D, &g[i]);
    struct fis_rows rows = {SMALL_VALIDATION, SMALL_D, x, y, g};
    assert_int_equal(trainer_role_validation(role, &rows, 2, &e), 0);
}

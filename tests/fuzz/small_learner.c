#include "small_learner.h"

#include "common.h"
#include "fis/rng.h"

#define D 3u
#define INITIAL 12u
#define BOUGHT 10u
#define VALIDATION 60u

static uint32_t draw(struct fis_rng *r, uint32_t i, float *x)
{
    uint32_t y = i / 2 % 2;
    for (uint32_t k = 0; k < D; k++)
        x[k] = (float)(fis_rng_normal(r) + (k < 2 ? (double)y : (double)(i % 2)));
    return y;
}

static void must(int rc, const struct fis_error *e)
{
    if (rc < 0)
        FUZZ_FAIL("%s", e->text);
}

static void add_rows(struct fis_learner *t)
{
    struct fis_rng r;
    struct fis_error e = {0};
    float x[VALIDATION * D];
    uint32_t y[VALIDATION], group[VALIDATION], index;
    fis_rng_seed(&r, 3, 1);
    for (uint32_t i = 0; i < INITIAL + BOUGHT; i++) {
        uint32_t label = draw(&r, i, x);
        must(i < INITIAL ? fis_learner_add_initial(t, x, label, &e)
                         : fis_learner_add_bought(t, x, label, &index, &e),
             &e);
    }
    for (uint32_t i = 0; i < VALIDATION; i++) {
        y[i] = draw(&r, i, x + (size_t)i * D);
        group[i] = i % 2;
    }
    struct fis_rows rows = {VALIDATION, D, x, y, group};
    must(fis_learner_set_validation(t, &rows, 2, &e), &e);
}

static void make_parts(struct fuzz_learner *l)
{
    struct fis_learner_options o = {.folds = FIS_MAX_FOLDS,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 4,
                                    .kept_min = 1,
                                    .average_every = 2,
                                    .seed = 7};
    struct fis_gate_options g = {.metric = FIS_EQUALIZED_ODDS,
                                 .positive = 1,
                                 .epsilon = .005,
                                 .line = true,
                                 .min_rows = 10,
                                 .min_cell = 1,
                                 .rule = FIS_GATE_RULE_FAIRER,
                                 .resamples = 5};
    struct fis_error e = {0};
    must(fis_shape_init(&o.shape, D, (uint32_t[]){3}, 1, 2, &e), &e);
    l->learner = fis_learner_new(&o, &e);
    l->gate = fis_gate_new(&g, &o.shape, &e);
    l->params = fis_calloc(fis_shape_params(&o.shape), sizeof *l->params);
    FUZZ_HOLDS(l->learner && l->gate && l->params);
    l->directions = (struct fis_direction_options){.n_groups = 2, .damping = .01};
    l->directions.surrogate = (struct fis_surrogate){
        .metric = FIS_EQUALIZED_ODDS, .form = FIS_GAP_OVERALL, .positive = 1};
}

void fuzz_learner_make(struct fuzz_learner *l)
{
    struct fis_gate_judgement j;
    struct fis_error e = {0};
    make_parts(l);
    add_rows(l->learner);
    must(fis_learner_warm_up(l->learner, 4, &e), &e);
    must(fis_gate_first(l->gate, l->learner, &j, l->params, &e), &e);
    fis_learner_round_begin(l->learner);
    must(fis_learner_refresh(l->learner, &l->directions, NULL, &e), &e);
    (void)fis_learner_review(l->learner);
    must(fis_learner_train(l->learner, 3, &e), &e);
}

void fuzz_learner_go_on(struct fuzz_learner *l)
{
    struct fis_gate_judgement j;
    struct fis_error e = {0};
    int rc = fis_learner_refresh(l->learner, &l->directions, NULL, &e);
    fuzz_check_result(rc, &e);
    if (rc)
        return;
    (void)fis_learner_review(l->learner);
    rc = fis_learner_train(l->learner, 3, &e);
    fuzz_check_result(rc, &e);
    rc = fis_gate_judge(l->gate, l->learner, &j, l->params, &e);
    fuzz_check_result(rc, &e);
    FUZZ_HOLDS(rc == 0 && (j.verdict == FIS_PUBLISH || j.verdict == FIS_REJECT));
}

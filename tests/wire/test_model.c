/* Model versions to bytes and back, and to JSON. */
#include "kit/wire/heads.h"

#include <jansson.h>
#include <math.h>

#include "wire/model.h"

struct world {
    struct fis_encoder *enc;
    struct wire_model model;
    float *params;
    struct byte_buffer out;
    struct fis_error e;
};

static void random_metrics(struct fis_metrics *m, struct fis_rng *r)
{
    *m = (struct fis_metrics){.accuracy = fis_rng_unit(r),
                              .balanced_accuracy = fis_rng_unit(r),
                              .demographic_parity = fis_rng_unit(r),
                              .equal_opportunity = fis_rng_unit(r),
                              .equalized_odds = fis_rng_unit(r),
                              .equalized_odds_max = fis_rng_unit(r),
                              .risk_disparity = (double)NAN,
                              .n = 500,
                              .n_groups = 3,
                              .classes = 2,
                              .predicted_classes = 2,
                              .recall = {.25, (double)NAN}};
    for (uint32_t g = 0; g < 3; g++)
        m->group[g] = (struct fis_group_metrics){g, fis_rng_unit(r), fis_rng_unit(r),
                                                 g ? fis_rng_unit(r) : (double)NAN, 0};
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct fis_rng r;
    struct wire_model *m;
    assert_non_null(w);
    fis_rng_seed(&r, 9, 0);
    w->enc = mixed_encoder();
    m = &w->model;
    *m = (struct wire_model){.pipeline = "adult",
                             .version = 12,
                             .parent = 11,
                             .created_at_ms = 1700000000000,
                             .served = 1,
                             .classes = test_schema.classes,
                             .n_classes = 2,
                             .positive = 1,
                             .metric = "equalized_odds",
                             .encoder = w->enc,
                             .verdict = "publish",
                             .reason = "fairer",
                             .reason_text = "fairer by .03 (standard error .01)",
                             .epsilon = .005,
                             .val0 = .82,
                             .floor = .815,
                             .difference = .03,
                             .difference_se = (double)NAN,
                             .detectable = .03,
                             .undetectable = true,
                             .interpolation = .5,
                             .looks = 4,
                             .smallest_cell = 86,
                             .warn_cell = 1,
                             .labels_bought = 512,
                             .labels_kept = 100,
                             .head_version = 17,
                             .seed = UINT64_MAX,
                             .round = 4,
                             .algorithm = "fis+"};
    random_metrics(&m->metrics, &r);
    random_metrics(&m->anchor, &r);
    m->intervals =
        (struct fis_metrics_intervals){.level = .95,
                                       .accuracy = {.1, .2, .05},
                                       .demographic_parity = {(double)NAN, 0, 0},
                                       .equal_opportunity = {0, 1, .5},
                                       .equalized_odds = {.01, .02, .005},
                                       .risk_disparity = {(double)NAN, (double)NAN, (double)NAN}};
    assert_int_equal(fis_shape_init(&m->shape, MIXED_D, (uint32_t[]){3}, 1, 2, &w->e), 0);
    m->params = w->params = random_slab(&m->shape, 1);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    fis_encoder_free(w->enc);
    fis_free(w->params);
    byte_buffer_done(&w->out);
    free(w);
    return 0;
}

static int encode(struct world *w)
{
    w->out.length = 0;
    return wire_model_encode(&w->model, &w->out, &w->e);
}

static void same(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void assert_same_metrics(const struct fis_metrics *a, const struct fis_metrics *b)
{
    same(a->accuracy, b->accuracy);
    same(a->balanced_accuracy, b->balanced_accuracy);
    same(a->demographic_parity, b->demographic_parity);
    same(a->equal_opportunity, b->equal_opportunity);
    same(a->equalized_odds, b->equalized_odds);
    same(a->equalized_odds_max, b->equalized_odds_max);
    same(a->risk_disparity, b->risk_disparity);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_groups, b->n_groups);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->predicted_classes, b->predicted_classes);
    for (uint32_t k = 0; k < a->classes; k++)
        same(a->recall[k], b->recall[k]);
    for (uint32_t g = 0; g < a->n_groups; g++) {
        assert_int_equal(a->group[g].n, b->group[g].n);
        same(a->group[g].accuracy, b->group[g].accuracy);
        same(a->group[g].positive_rate, b->group[g].positive_rate);
        same(a->group[g].tpr, b->group[g].tpr);
        same(a->group[g].fpr, b->group[g].fpr);
    }
}

static void assert_same_interval(struct fis_interval a, struct fis_interval b)
{
    if (isnan(a.low)) { /* an interval is there whole or not at all */
        assert_true(isnan(b.low) && isnan(b.high) && isnan(b.se));
        return;
    }
    assert_true(a.low == b.low && a.high == b.high && a.se == b.se);
}

static void assert_same_gate(const struct wire_model *a, const struct wire_model *b)
{
    assert_string_equal(a->verdict, b->verdict);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->reason_text, b->reason_text);
    assert_string_equal(a->metric, b->metric);
    same(a->epsilon, b->epsilon);
    same(a->val0, b->val0);
    same(a->floor, b->floor);
    same(a->difference, b->difference);
    same(a->difference_se, b->difference_se);
    same(a->detectable, b->detectable);
    assert_int_equal(a->undetectable, b->undetectable);
    same(a->interpolation, b->interpolation);
    assert_int_equal(a->looks, b->looks);
    assert_int_equal(a->smallest_cell, b->smallest_cell);
    assert_int_equal(a->warn_cell, b->warn_cell);
}

static void assert_round_trip(struct world *w)
{
    struct wire_model_owned got = {0};
    const struct wire_model *a = &w->model, *b = &got.model;
    if (encode(w))
        fail_msg("%s", w->e.text);
    if (wire_model_decode((struct wire_bytes){w->out.data, w->out.length}, &got, &w->e))
        fail_msg("%s", w->e.text);
    memset(w->out.data, 0xee, w->out.length); /* nothing is borrowed */
    assert_string_equal(a->pipeline, b->pipeline);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(strcmp(a->reason, WIRE_ROLLED_BACK) == 0 ? a->previous : a->parent,
                     b->previous);
    assert_int_equal(a->created_at_ms, b->created_at_ms);
    assert_int_equal(a->served, b->served);
    assert_int_equal(a->n_classes, b->n_classes);
    assert_string_equal(b->classes[1], "yes");
    assert_int_equal(a->positive, b->positive);
    assert_same_shape(&a->shape, &b->shape);
    assert_int_equal(!a->params, !b->params);
    if (a->params)
        assert_memory_equal(a->params, b->params, fis_shape_params(&a->shape) * sizeof(float));
    assert_int_equal(!a->encoder, !b->encoder);
    if (a->encoder)
        assert_same_encoder(a->encoder, b->encoder);
    assert_same_gate(a, b);
    assert_same_metrics(&a->metrics, &b->metrics);
    assert_same_metrics(&a->anchor, &b->anchor);
    same(a->intervals.level, b->intervals.level);
    assert_same_interval(a->intervals.accuracy, b->intervals.accuracy);
    assert_same_interval(a->intervals.demographic_parity, b->intervals.demographic_parity);
    assert_same_interval(a->intervals.equal_opportunity, b->intervals.equal_opportunity);
    assert_same_interval(a->intervals.equalized_odds, b->intervals.equalized_odds);
    assert_same_interval(a->intervals.risk_disparity, b->intervals.risk_disparity);
    assert_int_equal(a->labels_bought, b->labels_bought);
    assert_int_equal(a->labels_kept, b->labels_kept);
    assert_int_equal(a->head_version, b->head_version);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->round, b->round);
    assert_string_equal(a->algorithm, b->algorithm);
    assert_true(a->privacy.refreshes == b->privacy.refreshes);
    assert_true(a->privacy.exact == b->privacy.exact);
    same(a->privacy.rho, b->privacy.rho);
    same(a->privacy.epsilon, b->privacy.epsilon);
    same(a->privacy.delta, b->privacy.delta);
    wire_model_done(&got);
    wire_model_done(&got);
}

static void round_trip(void **state)
{
    struct world *w = *state;
    assert_round_trip(w);
    w->model.privacy = (struct wire_privacy){
        .refreshes = 3, .rho = .5, .noise = 4, .clip = 1, .delta = 1e-5, .epsilon = 4.4};
    assert_round_trip(w);
    w->model.privacy.exact = 1;
    w->model.privacy.epsilon = (double)NAN;
    assert_round_trip(w);
    w->model.served = 0;
    w->model.verdict = "reject";
    w->model.reason = "not_finite";
    w->model.params = NULL;
    assert_round_trip(w);
    w->model.encoder = NULL;
    assert_round_trip(w);
    /* Nothing could be worked out. */
    const struct fis_interval none = {(double)NAN, (double)NAN, (double)NAN};
    w->model.intervals = (struct fis_metrics_intervals){.95, none, none, none, none, none, none};
    w->model.metrics = (struct fis_metrics){.accuracy = (double)NAN,
                                            .balanced_accuracy = (double)NAN,
                                            .n_groups = FIS_MAX_GROUPS,
                                            .classes = FIS_MAX_CLASSES};
    assert_round_trip(w);
}

static void refused_when_written(void **state)
{
    struct world *w = *state;
#define REFUSED(change, back, says)                                                                \
    do {                                                                                           \
        change;                                                                                    \
        assert_int_equal(encode(w), -FIS_INPUT);                                                   \
        assert_says(&w->e, says);                                                                  \
        assert_int_equal(w->out.length, 0);                                                        \
        back;                                                                                      \
    } while (0)
    REFUSED(w->params[4] = NAN, w->params[4] = 0, "parameter 4 is not finite");
    REFUSED(w->model.params = NULL, w->model.params = w->params, "without parameters");
    REFUSED(w->model.encoder = NULL, w->model.encoder = w->enc, "without encoder");
    REFUSED(w->model.positive = 2, w->model.positive = 1, "positive is 2");
    REFUSED(w->model.n_classes = 1, w->model.n_classes = 2, "classes: 1");
    REFUSED(w->model.verdict = "maybe", w->model.verdict = "publish", "verdict \"maybe\"");
    REFUSED(w->model.reason_text = "\xff", w->model.reason_text = "", "not UTF-8");
    REFUSED(w->model.metrics.n_groups = 65, w->model.metrics.n_groups = 3, "65 groups");
    assert_int_equal(encode(w), 0);
}

static void assert_refused(struct world *w, const Fis__V1__ModelVersion *m, const char *says)
{
    struct wire_model_owned got = {0};
    size_t n = fis__v1__model_version__get_packed_size(m);
    unsigned char *bytes = malloc(n);
    assert_non_null(bytes);
    fis__v1__model_version__pack(m, bytes);
    assert_int_equal(wire_model_decode((struct wire_bytes){bytes, n}, &got, &w->e), -FIS_INPUT);
    assert_says(&w->e, says);
    assert_says(&w->e, "model version: ");
    assert_null(got.storage[0]);
    free(bytes);
}

static void refused_when_read(void **state)
{
    struct world *w = *state;
    assert_int_equal(encode(w), 0);
    Fis__V1__ModelVersion *m = fis__v1__model_version__unpack(NULL, w->out.length, w->out.data);
    assert_non_null(m);
    Fis__V1__Encoder *encoder = m->encoder;
    Fis__V1__Gate *gate = m->gate;
#undef REFUSED
#define REFUSED(change, back, says)                                                                \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(w, m, says);                                                                \
        back;                                                                                      \
    } while (0)
    REFUSED(m->network->parameters[0] = INFINITY, m->network->parameters[0] = 0, "parameter 0");
    REFUSED(m->network->n_parameters = 0, m->network->n_parameters = 35, "without parameters");
    REFUSED(m->encoder = NULL, m->encoder = encoder, "without encoder");
    REFUSED(m->gate = NULL, m->gate = gate, "no gate verdict");
    REFUSED(gate->verdict = FIS__V1__GATE__VERDICT__VERDICT_UNSPECIFIED,
            gate->verdict = FIS__V1__GATE__VERDICT__PUBLISH, "no gate verdict");
    REFUSED(m->n_classes = 1, m->n_classes = 2, "classes: 1");
    REFUSED(m->positive = 7, m->positive = 1, "positive is 7");
    REFUSED(m->metrics->values[0]->value = (double)NAN, m->metrics->values[0]->value = 1,
            "accuracy is not finite");
    REFUSED(m->metrics->values[0]->interval->low = (double)INFINITY,
            m->metrics->values[0]->interval->low = 0, "the interval of accuracy is not finite");
    REFUSED(m->metrics->classes = 65, m->metrics->classes = 2, "65 classes");
    REFUSED(m->metrics->recall[0]->class_index = 2, m->metrics->recall[0]->class_index = 0,
            "recall of class 2 of 2");
    fis__v1__model_version__free_unpacked(m, NULL);
}

static void try_model(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    struct wire_model_owned got = {0};
    w->e.text[0] = 0;
    int rc = wire_model_decode((struct wire_bytes){bytes, length}, &got, &w->e);
    if (rc) {
        assert_true(rc == -FIS_INPUT && w->e.text[0] && !got.storage[0]);
    } else {
        const struct wire_model *m = &got.model;
        assert_true(m->positive < m->n_classes && m->metrics.n_groups <= FIS_MAX_GROUPS);
        for (size_t i = 0; m->params && i < fis_shape_params(&m->shape); i++)
            assert_true(isfinite(m->params[i]));
    }
    wire_model_done(&got);
}

static void spoiled(void **state)
{
    struct world *w = *state;
    assert_int_equal(encode(w), 0);
    spoil(w->out.data, w->out.length, 10000, try_model, w);
}

static json_t *at(const json_t *object, const char *a, const char *b)
{
    json_t *v = json_object_get(object, a);
    v = b ? json_object_get(v, b) : v;
    if (!v)
        fail_msg("no %s %s", a, b ? b : "");
    return v;
}

static void as_json(void **state)
{
    struct world *w = *state;
    for (int weights = 0; weights < 2; weights++) {
        w->out.length = 0;
        assert_int_equal(wire_model_json(&w->model, &w->out, weights, &w->e), 0);
        json_error_t error;
        json_t *j = json_loadb((const char *)w->out.data, w->out.length, 0, &error);
        assert_non_null(j);
        assert_int_equal(json_integer_value(at(j, "version", NULL)), 12);
        assert_true(json_is_true(at(j, "served", NULL)));
        assert_string_equal(json_string_value(at(j, "positive", NULL)), "yes");
        assert_string_equal(json_string_value(at(j, "gate", "verdict")), "publish");
        assert_true(json_real_value(at(j, "gate", "floor")) == .815);
        assert_true(json_is_null(at(j, "gate", "difference_se")));
        assert_true(json_is_null(at(j, "metrics", "risk_disparity")));
        assert_int_equal(json_array_size(at(j, "metrics", "groups")), 3);
        assert_true(json_real_value(at(at(j, "metrics", "intervals"), "accuracy", "high")) == .2);
        assert_string_equal(json_string_value(at(j, "lineage", "seed")), "18446744073709551615");
        assert_int_equal(json_array_size(at(j, "columns", NULL)), 3);
        const json_t *parameters = json_object_get(j, "parameters");
        assert_int_equal(json_array_size(parameters), weights ? 35 : 0);
        for (size_t i = 0; i < json_array_size(parameters); i++) /* 9 digits bring a float back */
            assert_true((float)json_real_value(json_array_get(parameters, i)) == w->params[i]);
        json_decref(j);
    }
    w->out.length = 0;
    w->model.params = NULL;
    w->model.encoder = NULL;
    assert_int_equal(wire_model_json(&w->model, &w->out, 1, &w->e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, up, down),
        cmocka_unit_test_setup_teardown(refused_when_written, up, down),
        cmocka_unit_test_setup_teardown(refused_when_read, up, down),
        cmocka_unit_test_setup_teardown(spoiled, up, down),
        cmocka_unit_test_setup_teardown(as_json, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Scoring heads to bytes and back. */
#include "kit/wire/heads.h"

#include <math.h>

#include "wire/head.h"

struct world {
    struct fis_encoder *enc;
    struct wire_head head;
    float *params, *g_acc, *g_fair;
    struct byte_buffer out;
    struct fis_error e;
};

static void set_shape(struct world *w, const uint32_t *hidden, uint32_t n_hidden, uint32_t classes)
{
    fis_free(w->params);
    fis_free(w->g_acc);
    fis_free(w->g_fair);
    assert_int_equal(fis_shape_init(&w->head.shape, MIXED_D, hidden, n_hidden, classes, &w->e), 0);
    w->head.params = w->params = random_slab(&w->head.shape, 1);
    w->head.g_acc = w->g_acc = random_slab(&w->head.shape, 2);
    w->head.g_fair = w->g_fair = random_slab(&w->head.shape, 3);
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->enc = mixed_encoder();
    w->head = (struct wire_head){.pipeline = "adult",
                                 .algorithm = "fis, strategy 1",
                                 .selection = {.heap = 256, .distinct = true, .seed = UINT64_MAX},
                                 .version = 12,
                                 .round = 3,
                                 .created_at_ms = 1700000000000,
                                 .encoder = w->enc};
    set_shape(w, (const uint32_t[]){5}, 1, 2);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    fis_encoder_free(w->enc);
    fis_free(w->params);
    fis_free(w->g_acc);
    fis_free(w->g_fair);
    byte_buffer_done(&w->out);
    free(w);
    return 0;
}

static int encode(struct world *w)
{
    w->out.length = 0;
    return wire_head_encode(&w->head, &w->out, &w->e);
}

static void assert_round_trip(struct world *w)
{
    struct wire_head_owned got = {0};
    size_t n = fis_shape_params(&w->head.shape);
    if (encode(w))
        fail_msg("%s", w->e.text);
    if (wire_head_decode((struct wire_bytes){w->out.data, w->out.length}, &got, &w->e))
        fail_msg("%s", w->e.text);
    assert_string_equal(got.head.pipeline, "adult");
    assert_string_equal(got.head.algorithm, "fis, strategy 1");
    assert_int_equal(got.head.selection.heap, 256);
    assert_true(got.head.selection.distinct);
    assert_true(got.head.selection.seed == UINT64_MAX);
    assert_int_equal(got.head.version, 12);
    assert_int_equal(got.head.round, 3);
    assert_int_equal(got.head.created_at_ms, 1700000000000);
    assert_same_shape(&got.head.shape, &w->head.shape);
    assert_memory_equal(got.head.params, w->params, n * sizeof(float));
    for (size_t i = 0; i < n; i++) /* -0 may become 0 in a layer that is not sent */
        assert_true(got.head.g_acc[i] == w->g_acc[i] && got.head.g_fair[i] == w->g_fair[i]);
    assert_same_encoder(got.head.encoder, w->enc);
    assert_int_equal(got.head.scan, w->head.scan);
    assert_int_equal(got.head.n_ends, w->head.n_ends);
    assert_int_equal(got.head.initial != NULL, w->head.initial != NULL);
    if (w->head.initial) {
        uint32_t want, found;
        const uint32_t *c = fis_profile_counts(w->head.initial, &want);
        assert_memory_equal(fis_profile_counts(got.head.initial, &found), c, want * sizeof *c);
        assert_int_equal(found, want);
    }
    for (uint32_t i = 0; i < got.head.n_ends; i++) {
        assert_int_equal(got.head.ends[i].partition, w->head.ends[i].partition);
        assert_int_equal(got.head.ends[i].end, w->head.ends[i].end);
    }
    wire_head_done(&got);
    wire_head_done(&got);
}

static void round_trip(void **state)
{
    struct world *w = *state;
    assert_round_trip(w);
    set_shape(w, NULL, 0, 2);
    assert_round_trip(w);
    set_shape(w, (const uint32_t[]){7, 1, 6, 5, 4, 3, 2}, 7, 10);
    assert_round_trip(w);
}

static void zero_layers_are_not_sent(void **state)
{
    struct world *w = *state;
    set_shape(w, (const uint32_t[]){30, 20}, 2, 2);
    assert_int_equal(encode(w), 0);
    size_t full = w->out.length, from = fis_shape_offset(&w->head.shape, 2);
    memset(w->g_acc, 0, from * sizeof(float));
    assert_int_equal(encode(w), 0);
    assert_int_equal(w->out.length, full); /* the other one has them */
    memset(w->g_fair, 0, from * sizeof(float));
    w->g_fair[3] = -0.0f;
    assert_round_trip(w);
    assert_true(w->out.length <= full - 2 * from * sizeof(float) + 16);
    size_t n = fis_shape_params(&w->head.shape);
    memset(w->g_acc, 0, n * sizeof(float));
    memset(w->g_fair, 0, n * sizeof(float));
    assert_round_trip(w);
}

static void a_scan_of_the_pool(void **state)
{
    struct world *w = *state;
    static const struct wire_pool_end ends[] = {{0, 12345678901234}, {7, 1}, {3, 0}};
    w->head.scan = 12;
    assert_round_trip(w);
    w->head.ends = ends;
    w->head.n_ends = 3;
    assert_round_trip(w);
    w->head.scan = 13;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "scan 13 of head 12");
    w->head.scan = 0;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "ends of partitions, and no scan");
    w->head.scan = 4;
    w->head.n_ends = WIRE_PARTITIONS + 1;
    struct wire_pool_end *many = calloc(w->head.n_ends, sizeof *many);
    assert_non_null(many);
    w->head.ends = many;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "scan: 10001 partitions, at most 10000 allowed");
    for (int32_t i = 0; i < (int32_t)w->head.n_ends; i++)
        many[i].partition = i;
    w->head.n_ends--;
    assert_round_trip(w);
    free(many);
}

static void assert_refused(struct world *w, const Fis__V1__ScoringHead *m, const char *says)
{
    struct wire_head_owned got = {0};
    size_t n = fis__v1__scoring_head__get_packed_size(m);
    unsigned char *bytes = malloc(n);
    assert_non_null(bytes);
    fis__v1__scoring_head__pack(m, bytes);
    assert_int_equal(wire_head_decode((struct wire_bytes){bytes, n}, &got, &w->e), -FIS_INPUT);
    assert_says(&w->e, says);
    assert_says(&w->e, "scoring head: ");
    assert_null(got.slabs);
    free(bytes);
}

static void how_the_initial_set_is_distributed(void **state)
{
    struct world *w = *state;
    struct fis_profile *p = fis_profile_new(w->enc, &w->e);
    float x[MIXED_D] = {0};
    assert_non_null(p);
    for (int i = 0; i < 300; i++) {
        x[0] = (float)(i % 7) - 3;
        fis_profile_add(p, x);
    }
    w->head.initial = p;
    assert_round_trip(w);
    assert_int_equal(encode(w), 0);
    Fis__V1__ScoringHead *m = fis__v1__scoring_head__unpack(NULL, w->out.length, w->out.data);
    assert_non_null(m);
    m->initial_counts[0]++;
    assert_refused(w, m, "distribution: column 1 counts 300 rows, the first 301");
    m->n_initial_counts--;
    assert_refused(w, m, "distribution: ");
    m->n_initial_counts++;
    fis__v1__scoring_head__free_unpacked(m, NULL);
    w->head.initial = NULL;
    fis_profile_free(p);
}

static void refused_when_written(void **state)
{
    struct world *w = *state;
    w->params[17] = NAN;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "parameter 17 is not finite");
    w->params[17] = 0;
    w->g_fair[2] = INFINITY;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "fairness direction 2 is not finite");
    w->g_fair[2] = 0;
    w->head.shape.width[0] = 7;
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "encoder: 8 features, the network requires 7");
    w->head.shape.width[0] = 8;
    w->head.pipeline = "caf\xe9";
    assert_int_equal(encode(w), -FIS_INPUT);
    assert_says(&w->e, "field 1 (pipeline) at byte 0: not UTF-8 after 3 of 4 bytes");
    assert_int_equal(w->out.length, 0);
}

static void refused_when_read(void **state)
{
    struct world *w = *state;
    assert_int_equal(encode(w), 0);
    Fis__V1__ScoringHead *m = fis__v1__scoring_head__unpack(NULL, w->out.length, w->out.data);
    assert_non_null(m);
    Fis__V1__Network *net = m->network;
    Fis__V1__Encoder__Column *job = m->encoder->columns[2], *age = m->encoder->columns[0];
    uint32_t layer = m->directions_from_layer;
    char *first = job->categories[0];
#define REFUSED(change, back, says)                                                                \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(w, m, says);                                                                \
        back;                                                                                      \
    } while (0)
    REFUSED(net->parameters[1] = NAN, net->parameters[1] = 0, "parameter 1 is not finite");
    REFUSED(m->accuracy_direction[1] = INFINITY, m->accuracy_direction[1] = 0,
            "accuracy direction 1 is not finite");
    REFUSED(net->n_parameters--, net->n_parameters++, "network: 56 parameters, 57 expected");
    REFUSED(net->width[1] = 0, net->width[1] = 5, "width 0");
    REFUSED(net->width[1] = UINT32_MAX, net->width[1] = 5, "width 4294967295");
    REFUSED(net->width[2] = 1, net->width[2] = 2, "classes: 1");
    REFUSED(net->n_width = 1, net->n_width = 3, "network: 1 widths, 2..9 expected");
    REFUSED(m->network = NULL, m->network = net, "network: 0 widths");
    REFUSED(m->heap = 1000001, m->heap = 256, "heap: 1000001 candidates, at most 1000000");
    REFUSED(m->directions_from_layer = 1, m->directions_from_layer = layer,
            "accuracy direction: 57 numbers, 12 expected");
    REFUSED(m->directions_from_layer = 3, m->directions_from_layer = layer,
            "directions from layer 3, the network has 2");
    REFUSED(m->n_fairness_direction = 0, m->n_fairness_direction = 57,
            "fairness direction: 0 numbers, 57 expected");
    REFUSED(job->n_categories = 2, job->n_categories = 3,
            "encoder: 7 features, the network requires 8");
    REFUSED(job->categories[0] = job->categories[1], job->categories[0] = first,
            "category 1 is not after");
    REFUSED(age->deviation = 0, age->deviation = 9, "deviation 0");
    REFUSED(age->type = FIS__V1__ENCODER__COLUMN__TYPE__TYPE_UNSPECIFIED,
            age->type = FIS__V1__ENCODER__COLUMN__TYPE__NUMERIC, "column 0 has no type");
    REFUSED(age->type = (Fis__V1__Encoder__Column__Type)9,
            age->type = FIS__V1__ENCODER__COLUMN__TYPE__NUMERIC, "9 is not known");
    REFUSED(m->encoder->n_columns = 0, m->encoder->n_columns = 3, "column");
    Fis__V1__Pool pool = FIS__V1__POOL__INIT;
    Fis__V1__Pool__End ends[2] = {FIS__V1__POOL__END__INIT, FIS__V1__POOL__END__INIT};
    Fis__V1__Pool__End *list[] = {&ends[0], &ends[1]};
    m->pool = &pool;
    pool.ends = list;
    pool.n_ends = 2;
    REFUSED(ends[1].partition = 1, pool.scan = 12, "ends of partitions, and no scan");
    REFUSED(ends[1].partition = 0, ends[1].partition = 1, "scan: partition 0 twice");
    REFUSED(ends[1].partition = -1, ends[1].partition = 1, "scan: partition -1");
    REFUSED(ends[0].end = -5, ends[0].end = 5, "scan: partition 0 ends at offset -5");
    REFUSED(pool.scan = 13, pool.scan = 12, "scan 13 of head 12");
    m->pool = NULL;
    fis__v1__scoring_head__free_unpacked(m, NULL);
    struct wire_head_owned got;
    assert_int_equal(wire_head_decode((struct wire_bytes){"", 0}, &got, &w->e), -FIS_INPUT);
    assert_says(&w->e, "no encoder");
}

static void try_head(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    struct wire_head_owned got = {0};
    w->e.text[0] = 0;
    int rc = wire_head_decode((struct wire_bytes){bytes, length}, &got, &w->e);
    if (rc) {
        assert_true(rc == -FIS_INPUT && w->e.text[0] && !got.slabs);
    } else {
        for (size_t i = 0; i < 3 * fis_shape_params(&got.head.shape); i++)
            assert_true(isfinite(got.slabs[i]));
        assert_int_equal(fis_encoder_dimension(got.encoder), got.head.shape.width[0]);
        for (uint32_t i = 0; i < got.head.n_ends; i++)
            assert_true(got.head.ends[i].partition >= 0 && got.head.ends[i].end >= 0);
    }
    wire_head_done(&got);
}

static void spoiled(void **state)
{
    struct world *w = *state;
    static const struct wire_pool_end ends[] = {{0, 123456}, {1, 7}};
    w->head.scan = 12;
    w->head.ends = ends;
    w->head.n_ends = 2;
    set_shape(w, (const uint32_t[]){2}, 1, 2);
    assert_int_equal(encode(w), 0);
    spoil(w->out.data, w->out.length, 10000, try_head, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, up, down),
        cmocka_unit_test_setup_teardown(zero_layers_are_not_sent, up, down),
        cmocka_unit_test_setup_teardown(a_scan_of_the_pool, up, down),
        cmocka_unit_test_setup_teardown(how_the_initial_set_is_distributed, up, down),
        cmocka_unit_test_setup_teardown(refused_when_written, up, down),
        cmocka_unit_test_setup_teardown(refused_when_read, up, down),
        cmocka_unit_test_setup_teardown(spoiled, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

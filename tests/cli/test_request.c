/*
 * Label requests of every encoding as a person is shown them, and versions from the topic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/models.h"
#include "cli/request_queue.h"
#include "fis/rng.h"
#include "wire/json_arena.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

static const char *const classes[] = {"no", "yes"};
static struct config_column columns[] = {{.name = "f0"}, {.name = "f1"}};

static struct cli make_cli(enum wire_encoding labels)
{
    struct cli c = {.labels_encoding = labels};
    c.schema = (struct wire_schema){.classes = classes, .n_classes = 2, .max_bytes = 10000};
    c.cfg.columns = (struct config_columns){.count = 2, .items = columns};
    return c;
}

/* What is shown of a request for this record. */
static char *shown(enum wire_encoding labels, enum wire_encoding encoding, const void *record,
                   size_t length)
{
    const struct cli c = make_cli(labels);
    struct wire_label_request r = {
        .round = 3, .criterion = "entropy", .encoding = encoding, .record = {record, length}};
    struct byte_buffer b = {0};
    struct wire_request_shown out;
    struct fis_error e;
    char *text = NULL;
    size_t n;
    assert_int_equal(fis_id_set(&r.id, "i1", 2), 0);
    assert_int_equal(wire_protobuf_request_encode(&c.schema, &r, &b, &e), 0);
    const struct wire_message m = {.topic = "t", .value = {b.data, b.length}};
    assert_int_equal(request_read(&c, &m, 1, &out, &e), 1);
    assert_int_equal(out.round, 3);
    assert_string_equal(out.criterion, "entropy");
    assert_memory_equal(out.id.bytes, "i1", 2);
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    request_print(&out, 40, f);
    assert_int_equal(fclose(f), 0);
    wire_request_shown_done(&out);
    byte_buffer_done(&b);
    return text;
}

static void expect_shown(enum wire_encoding encoding, const void *record, size_t length,
                         const char *expected)
{
    char *text = shown(WIRE_PROTOBUF, encoding, record, length);
    assert_string_equal(text, expected);
    free(text);
}

static void every_encoding_is_shown(void **state)
{
    (void)state;
    static const char json[] = "{\"age\":39,\"a job\":\"\\u001b[2J\",\"x\":1.5,\"l\":[1,null]}";
    static const unsigned char raw[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
    /* 2: two packed floats; 4: attribute url = u */
    static const char record[] = "\x12\x08\x00\x00\x80\x3f\x00\x00\x00\xc0"
                                 "\x22\x08\x0a\x03url\x12\x01u";
    /* 3: sparse, index 1 is -2 */
    static const char sparse[] = "\x1a\x09\x0a\x01\x01\x12\x04\x00\x00\x00\xc0";
    expect_shown(WIRE_JSON, json, sizeof json - 1,
                 "  age    39\n  a job  ?[2J\n  x      1.5\n  l      [1,null]\n");
    expect_shown(WIRE_RAW, raw, sizeof raw, "  f0  1\n  f1  -2\n");
    expect_shown(WIRE_PROTOBUF, record, sizeof record - 1, "  url  u\n  f0   1\n  f1   -2\n");
    expect_shown(WIRE_PROTOBUF, sparse, sizeof sparse - 1, "  f1  -2\n");
    expect_shown(WIRE_JSON, "{", 1, "  (the record cannot be shown)\n");
}

static void long_values_are_cut(void **state)
{
    (void)state;
    char json[600] = "{\"text\":\"";
    memset(json + strlen(json), 'x', 500);
    strcat(json, "\"}");
    char *text = shown(WIRE_PROTOBUF, WIRE_JSON, json, strlen(json));
    assert_true(strlen(text) <= 40);
    free(text);
}

static void what_is_no_request(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "[]", "{\"round\":1}", "{\"id\":\"\"}", "\xff\xff"};
    for (int p = 0; p < 2; p++) {
        const struct cli c = make_cli(p ? WIRE_PROTOBUF : WIRE_JSON);
        struct wire_request_shown out;
        struct fis_error e;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            const struct wire_message m = {.topic = "t", .value = {bad[i], strlen(bad[i])}};
            assert_int_equal(request_read(&c, &m, 1, &out, &e), -FIS_INPUT);
        }
        const struct wire_message none = {.topic = "t"};
        assert_int_equal(request_read(&c, &none, 1, &out, &e), 0);
    }
}

static void read_as(struct cli *c, const char *json, struct wire_request_shown *out)
{
    struct fis_error e;
    const struct wire_message m = {.topic = "t", .value = {json, strlen(json)}};
    assert_int_equal(request_read(c, &m, 1, out, &e), 1);
}

static void votes_and_withdrawals(void **state)
{
    (void)state;
    struct cli c = make_cli(WIRE_JSON);
    struct wire_request_shown r;
    read_as(&c, "{\"id\":\"a\",\"record\":{}}", &r);
    assert_true(r.votes == 1 && !r.cancelled);
    wire_request_shown_done(&r);
    read_as(&c, "{\"id\":\"a\",\"votes\":3,\"record\":{}}", &r);
    assert_int_equal(r.votes, 3);
    wire_request_shown_done(&r);
    read_as(&c, "{\"id\":\"a\",\"record\":{\"f\":1},\"attributes\":{\"url\":\"u\",\"f\":\"2\"}}",
            &r);
    assert_int_equal(json_object_size(r.record), 2);
    assert_string_equal(json_string_value(json_object_get(r.record, "url")), "u");
    assert_int_equal(json_integer_value(json_object_get(r.record, "f")), 1);
    wire_request_shown_done(&r);
    read_as(&c, "{\"id\":\"a\",\"cancelled\":true,\"reason\":\"exp\\u001b\"}", &r);
    assert_true(r.cancelled && !r.record);
    assert_string_equal(r.reason, "exp?");
    wire_request_shown_done(&r);
    static const char *const bad[] = {"{\"id\":\"a\",\"votes\":0}", "{\"id\":\"a\",\"votes\":100}",
                                      "{\"id\":\"a\",\"votes\":\"3\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fis_error e;
        const struct wire_message m = {.topic = "t", .value = {bad[i], strlen(bad[i])}};
        assert_int_equal(request_read(&c, &m, 1, &r, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "votes: a whole number from 1 to 99 allowed"));
    }
    c.labels_encoding = WIRE_PROTOBUF;
    struct wire_label_request sent = {.cancelled = 1, .reason = "expired"};
    struct byte_buffer b = {0};
    struct fis_error e;
    assert_int_equal(fis_id_set(&sent.id, "a", 1), 0);
    assert_int_equal(wire_protobuf_request_encode(&c.schema, &sent, &b, &e), 0);
    const struct wire_message m = {.topic = "t", .value = {b.data, b.length}};
    assert_int_equal(request_read(&c, &m, 1, &r, &e), 1);
    assert_true(r.cancelled && r.votes == 1 && !r.record);
    assert_string_equal(r.reason, "expired");
    wire_request_shown_done(&r);
    byte_buffer_done(&b);
}

static void numbered(uint32_t i, struct wire_request_shown *r)
{
    char id[16];
    int n = snprintf(id, sizeof id, "r%u", i);
    *r = (struct wire_request_shown){.round = i, .votes = 1, .record = json_object()};
    assert_int_equal(fis_id_set(&r->id, id, (size_t)n), 0);
}

/* A queue against a list of what should be in it. */
static void a_line_of_requests(void **state)
{
    (void)state;
    enum { N = 3000 };
    static uint32_t model[N];
    uint32_t head = 0, tail = 0, next = 0;
    struct request_queue q = {0};
    struct wire_request_shown r;
    struct fis_error e;
    struct fis_rng rng;
    fis_rng_seed(&rng, 1, 0);
    while (next < N) {
        uint32_t what = fis_rng_below(&rng, 8);
        if (what < 4) {
            numbered(next, &r);
            assert_int_equal(request_queue_add(&q, &r, &e), 1);
            model[tail++] = next++;
            numbered(model[head], &r);
            assert_int_equal(request_queue_add(&q, &r, &e), 0); /* it waits already */
        } else if (what < 6 && head < tail) {
            assert_true(request_queue_next(&q, &r));
            assert_int_equal(r.round, model[head++]);
            wire_request_shown_done(&r);
        } else if (head < tail) {
            uint32_t at = head + fis_rng_below(&rng, tail - head);
            struct fis_id id;
            numbered(model[at], &r);
            id = r.id;
            wire_request_shown_done(&r);
            assert_int_equal(request_queue_drop(&q, &id), 1);
            assert_int_equal(request_queue_drop(&q, &id), 0);
            memmove(model + at, model + at + 1, (tail - at - 1) * sizeof *model);
            tail--;
        }
        assert_int_equal(request_queue_count(&q), tail - head);
    }
    while (head < tail) {
        assert_true(request_queue_next(&q, &r));
        assert_int_equal(r.round, model[head++]);
        wire_request_shown_done(&r);
    }
    assert_false(request_queue_next(&q, &r));
    numbered(1, &r);
    assert_int_equal(request_queue_add(&q, &r, &e), 1);
    request_queue_done(&q);
}

/* ---- versions ------------------------------------------------------------------------------ */

/* What a command prints. */
static char *printed(int (*print)(void *arg), void *arg)
{
    char *text = calloc(1, 20000);
    FILE *file = tmpfile();
    assert_true(text && file);
    fflush(stdout);
    int before = dup(1);
    assert_true(before >= 0 && dup2(fileno(file), 1) == 1);
    int rc = print(arg);
    fflush(stdout);
    dup2(before, 1);
    close(before);
    rewind(file);
    assert_int_equal(rc, 0);
    assert_true(fread(text, 1, 19999, file) > 0);
    fclose(file);
    return text;
}

struct pair {
    struct models_evaluation v;
    struct wire_model a, b;
};

static int print_pair(void *arg)
{
    struct pair *p = arg;
    struct fis_error e;
    return models_compare(&p->v, &p->a, &p->b, &e);
}

static struct wire_model measured(uint64_t version, double accuracy)
{
    struct wire_model m = {.version = version, .metrics = {.n = 500, .n_groups = 2}};
    fis_metrics_none(&m.metrics);
    m.metrics.n = 500;
    m.metrics.n_groups = 2;
    m.metrics.accuracy = accuracy;
    m.metrics.group[0] = (struct fis_group_metrics){300, accuracy, .5, .25, (double)NAN};
    m.metrics.group[1] = (struct fis_group_metrics){200, accuracy, .4, .25, .125};
    m.intervals.accuracy = (struct fis_interval){accuracy - .1, accuracy + .1, .05};
    m.intervals.demographic_parity.low = (double)NAN;
    return m;
}

static void two_versions_side_by_side(void **state)
{
    (void)state;
    struct pair p = {.v = {.served = 7}, .a = measured(3, .75), .b = measured(7, .8125)};
    char *text = printed(print_pair, &p);
    assert_non_null(strstr(text, "version 3"));
    assert_non_null(strstr(text, "version 7 (served)"));
    assert_non_null(strstr(text, ".750 [.650, .850]"));
    assert_non_null(strstr(text, "+.062"));
    assert_non_null(strstr(text, "group 1: FPR"));
    assert_non_null(strstr(text, "--data"));
    free(text);
    p.v.json = true;
    text = printed(print_pair, &p);
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    const json_t *d = json_object_get(json_object_get(o, "difference"), "accuracy");
    assert_true(json_real_value(json_object_get(d, "value")) == .0625);
    assert_true(json_is_null(json_object_get(d, "low")));
    const json_t *groups = json_object_get(json_object_get(o, "b"), "groups");
    assert_int_equal(json_array_size(groups), 2);
    assert_true(json_is_null(json_object_get(json_array_get(groups, 0), "false_positive_rate")));
    assert_true(json_is_true(json_object_get(json_object_get(o, "b"), "served")));
    json_decref(o);
    free(text);
}

static int send_version(struct models *m, uint64_t version, int served, const char *reason,
                        size_t max)
{
    const struct wire_model model = {.pipeline = "p",
                                     .version = version,
                                     .served = served,
                                     .classes = classes,
                                     .n_classes = 2,
                                     .positive = 1,
                                     .metric = "equalized_odds",
                                     .verdict = "reject",
                                     .reason = reason,
                                     .reason_text = "text",
                                     .shape = {.n_layers = 1, .width = {2, 2}},
                                     .algorithm = "fis+"};
    struct byte_buffer payload = {0}, chunk = {0};
    struct wire_chunks cut;
    struct fis_error e;
    const struct wire_model *got = NULL;
    int complete = 0;
    if (wire_model_encode(&model, &payload, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
    const struct wire_bytes bytes = {payload.data, payload.length};
    assert_int_equal(wire_chunks_start(&cut, version, bytes, max, &e), 0);
    while (wire_chunks_next(&cut, &chunk, &e) == 1) {
        const struct stream_message message = {.value = chunk.data, .value_length = chunk.length};
        int rc = models_take(m, &message, &got, &e);
        assert_true(rc >= 0);
        complete += rc;
        chunk.length = 0;
    }
    if (complete) {
        assert_non_null(got);
        assert_int_equal(got->version, version);
    }
    byte_buffer_done(&payload);
    byte_buffer_done(&chunk);
    return complete;
}

static void versions_in_order(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {3, 1, 2, 40, 2};
    struct models m;
    struct fis_error e;
    char text[64];
    assert_int_equal(models_init(&m, &e), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(send_version(&m, numbers[i], 0, i == 4 ? "below_floor" : "not_fairer", 16),
                         1);
    assert_int_equal(m.n, 4);
    for (uint32_t i = 1; i < m.n; i++)
        assert_true(m.items[i - 1].model.version < m.items[i].model.version);
    /* The later write of a version is the valid one. */
    assert_string_equal(models_reason(models_version(&m, 2), text), "below floor");
    assert_null(models_served(&m));
    models_done(&m);
}

static void broken_versions_are_counted(void **state)
{
    (void)state;
    struct models m;
    struct fis_error e;
    const struct stream_message garbage = {.value = "garbage", .value_length = 7}, none = {0};
    assert_int_equal(models_init(&m, &e), 0);
    assert_int_equal(models_take(&m, &garbage, NULL, &e), 0);
    assert_int_equal(models_take(&m, &none, NULL, &e), 0);
    assert_int_equal(m.refused, 1);
    assert_true(m.first.text[0] != 0);
    assert_int_equal(send_version(&m, 1, 0, "not_fairer", 100000), 1);
    assert_int_equal(m.n, 1);
    models_done(&m);
}

static void intervals_in_words(void **state)
{
    (void)state;
    char text[48];
    struct fis_metrics m = {.n = 9, .accuracy = .8312, .balanced_accuracy = .7};
    struct fis_metrics_intervals in = {.accuracy = {.8, .85, .01}, .equalized_odds = {.1, .2, .01}};
    m.demographic_parity = .25;
    in.demographic_parity.low = (double)NAN;
    m.equalized_odds = (double)NAN;
    assert_string_equal(models_metric(&m, &in, WIRE_ACCURACY, text), ".831 [.800, .850]");
    assert_string_equal(models_metric(&m, &in, WIRE_BALANCED_ACCURACY, text), ".700");
    assert_string_equal(models_metric(&m, &in, WIRE_DEMOGRAPHIC_PARITY, text), ".250");
    assert_string_equal(models_metric(&m, &in, WIRE_EQUALIZED_ODDS, text), "n/e");
    assert_string_equal(models_metric(&m, &in, WIRE_METRICS, text), "n/e");
    m.n = 0; /* nothing was measured */
    assert_string_equal(models_metric(&m, &in, WIRE_ACCURACY, text), "n/e");
    assert_int_equal(wire_metric_named("equalized_odds"), WIRE_EQUALIZED_ODDS);
    assert_int_equal(wire_metric_named("risk_disparity"), WIRE_RISK_DISPARITY);
    assert_int_equal(wire_metric_named("none"), WIRE_METRICS);
    assert_int_equal(wire_metric_named(NULL), WIRE_METRICS);
}

/* The example on this line: from the first brace to the last. */
static struct wire_message example(const char *line)
{
    const char *begin = strchr(line, '{'), *end = strrchr(line, '}');
    assert_true(begin && end && end > begin);
    return (struct wire_message){.topic = "t", .value = {begin, (size_t)(end - begin) + 1}};
}

/* The examples for authors of a labelling tool. */
static void examples_of_the_manual(void **state)
{
    (void)state;
    static unsigned char memory[65536];
    const struct cli c = make_cli(WIRE_JSON);
    struct fis_arena arena = {.base = memory, .size = sizeof memory};
    struct wire_label label;
    struct wire_request_shown request;
    struct fis_error e;
    char line[1000];
    int withdrawals = 0, votes = 0;
    FILE *f = fopen("docs/messages.md", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "withdrawal {", 12)) {
            const struct wire_message m = example(line);
            assert_int_equal(request_read(&c, &m, 1, &request, &e), 1);
            assert_true(request.cancelled);
            assert_string_equal(request.reason, "expired");
            wire_request_shown_done(&request);
            withdrawals++;
        } else if (!strncmp(line, "vote ", 5)) {
            const struct wire_message m = example(line);
            assert_int_equal(wire_json_label(&c.schema, &m, &arena, &label, &e), WIRE_OK);
            assert_string_equal(label.annotator, "ann");
            assert_int_equal(label.class_index, 1);
            votes++;
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(withdrawals, 1);
    assert_int_equal(votes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_is_shown),     cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(votes_and_withdrawals),       cmocka_unit_test(a_line_of_requests),
        cmocka_unit_test(what_is_no_request),          cmocka_unit_test(versions_in_order),
        cmocka_unit_test(broken_versions_are_counted), cmocka_unit_test(intervals_in_words),
        cmocka_unit_test(two_versions_side_by_side),   cmocka_unit_test(examples_of_the_manual),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Labels, label requests and labelled examples in protobuf. */
#include "kit/wire/binary.h"

#include "wire/protobuf_codec.h"

struct world {
    struct codec c;
    struct wire_label label;
    struct wire_example example;
    int sensitive;
};

static int up(void **state)
{
    return codec_up(state, sizeof(struct world), 16384);
}

static enum wire_decoded decode(struct world *w, const void *key, size_t key_length,
                                const void *bytes, size_t length)
{
    struct wire_message m = message_of(key, key_length, bytes, length);
    fis_arena_reset(&w->c.arena);
    memset(&w->label, 0xff, sizeof w->label);
    w->c.e.text[0] = 0;
    return wire_protobuf_label(&test_schema, &m, &w->c.arena, &w->label, &w->c.e);
}

static void assert_class(struct world *w, const void *bytes, size_t length, uint32_t k)
{
    if (decode(w, "s3-1", 4, bytes, length) != WIRE_OK)
        fail_msg("%s", w->c.e.text);
    assert_id(&w->label.id, "s3-1");
    assert_int_equal(w->label.status, WIRE_LABELLED);
    assert_int_equal(w->label.class_index, k);
}

static void assert_bad(struct world *w, const void *bytes, size_t length, const char *says)
{
    assert_int_equal(decode(w, "s3-1", 4, bytes, length), WIRE_BAD);
    assert_int_equal(w->c.e.kind, FIS_INPUT);
    assert_says(&w->c.e, says);
}

static void class_zero_is_nothing(void **state)
{
    struct world *w = *state;
    assert_class(w, "", 0, 0);
    assert_class(w, "\0\0\0\0\x07\0", 6, 0);
    assert_int_equal(decode(w, "s3-1", 4, NULL, 0), WIRE_TOMBSTONE);
    assert_id(&w->label.id, "s3-1");
    assert_int_equal(decode(w, NULL, 0, "", 0), WIRE_BAD);
    assert_says(&w->c.e, "no id: neither");
    assert_int_equal(decode(w, NULL, 0, NULL, 0), WIRE_BAD);
}

static void class_by_index_or_name(void **state)
{
    struct world *w = *state;
    assert_class(w, "\x10\x01", 2, 1);
    assert_class(w, "\x10\x00", 2, 0);
    assert_class(w, "\x1a\x03yes", 5, 1);
    assert_class(w, "\x1a\x02no", 4, 0);
    assert_class(w, "\x10\x01\x1a\x03yes", 7, 1);
    assert_class(w, "\0\0\0\0\x07\0\x10\x01", 8, 1);
    assert_bad(w, "\x10\x07", 2, "class 7: 0..1 allowed [no, yes]");
    assert_bad(w, "\x1a\x03YES", 5, "class \"YES\": not a class, allowed: [no, yes]");
    assert_class(w, "\x1a\x03no ", 5, 0);
    assert_bad(w, "\x10\x01\x1a\x02no", 6, "class_index 1 is \"yes\", class_name is \"no\"");
    assert_bad(w, "\x1a\x03no\0", 5, "field 3 (class_name) at byte 0: holds a NUL");
    assert_bad(w, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "does not fit 32 bits");
}

static void status(void **state)
{
    struct world *w = *state;
    assert_int_equal(decode(w, "a", 1, "\x0a\x01z\x20\x01", 5), WIRE_OK);
    assert_int_equal(w->label.status, WIRE_SKIPPED);
    assert_id(&w->label.id, "z"); /* the field, not the key */
    assert_int_equal(decode(w, "a", 1, "\x20\x02", 2), WIRE_OK);
    assert_int_equal(w->label.status, WIRE_UNSURE);
    assert_bad(w, "\x20\x03", 2,
               "field 4 (status) at byte 0: 3 is not known, allowed: 0 LABELLED, 1 SKIPPED, 2");
    assert_bad(w, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "-1 is not known");
    assert_bad(w, "\x20\x01\x10\x01", 4, "status SKIPPED with a class");
}

static void label_round_trip(void **state)
{
    struct world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 1, 0);
    for (uint32_t i = 0; i < 500; i++) {
        struct wire_label label = {.status = (enum wire_label_status)fis_rng_below(&rng, 3)};
        char id[32];
        int n = snprintf(id, sizeof id, "id-%u", i);
        assert_int_equal(fis_id_set(&label.id, id, (size_t)n), 0);
        if (label.status == WIRE_LABELLED)
            label.class_index = fis_rng_below(&rng, 2);
        w->c.out.length = 0;
        label.annotator = i % 2 ? "ann" : NULL;
        label.labelled_at_ms = i;
        assert_int_equal(wire_protobuf_label_encode(&test_schema, &label, &w->c.out, &w->c.e), 0);
        assert_int_equal(decode(w, NULL, 0, w->c.out.data, w->c.out.length), WIRE_OK);
        assert_id(&w->label.id, id);
        assert_int_equal(w->label.status, label.status);
        assert_int_equal(w->label.class_index, label.class_index);
        assert_string_equal(w->label.annotator, i % 2 ? "ann" : "");
        assert_int_equal(w->label.labelled_at_ms, i);
    }
    char name[WIRE_ANNOTATOR + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    const struct wire_label wrong[] = {
        {.class_index = 2}, {.annotator = name}, {.labelled_at_ms = -1}};
    w->c.out.length = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(wire_protobuf_label_encode(&test_schema, &wrong[i], &w->c.out, &w->c.e),
                         -FIS_INPUT);
    assert_int_equal(w->c.out.length, 0);
}

/* As configured, so that who reads them takes the frame off. */
static void labels_are_framed(void **state)
{
    struct world *w = *state;
    static const uint32_t path[] = {1, 70};
    struct wire_schema framed = test_schema;
    struct wire_label sent = {.class_index = 1}, got;
    assert_int_equal(fis_id_set(&sent.id, "a", 1), 0);
    for (uint32_t n = 0; n <= 2; n++) {
        framed.label_framing = (struct wire_framing){WIRE_FRAMING_CONFLUENT, path, n};
        w->c.out.length = 0;
        assert_int_equal(wire_protobuf_label_encode(&framed, &sent, &w->c.out, &w->c.e), 0);
        struct wire_message m = message_of(NULL, 0, w->c.out.data, w->c.out.length);
        fis_arena_reset(&w->c.arena);
        assert_int_equal(wire_protobuf_label(&framed, &m, &w->c.arena, &got, &w->c.e), WIRE_OK);
        assert_int_equal(got.class_index, 1);
    }
}

static void who_and_when(void **state)
{
    struct world *w = *state;
    unsigned char bytes[300] = {0x2a, 0x80, 0x02};
    memset(bytes + 3, 'n', 256);
    assert_bad(w, bytes, 259, "annotator: a name of 256 bytes, at most 255 allowed");
    bytes[1] = 0xff;
    bytes[2] = 0x01;
    assert_class(w, bytes, 258, 0);
    assert_int_equal(strlen(w->label.annotator), 255);
    assert_class(w, "", 0, 0);
    assert_string_equal(w->label.annotator, "");
    assert_int_equal(w->label.labelled_at_ms, 0);
    assert_bad(w, "\x2a\x02\xc3\x28", 4, "field 5 (annotator) at byte 0: not UTF-8");
    assert_bad(w, "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
               "labelled_at_ms -1: before 1970");
}

static void try_label(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode(w, "k", 1, bytes, length) == WIRE_BAD)
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
    else
        assert_true(w->label.class_index < 2 && w->label.status <= WIRE_UNSURE);
}

static void label_spoiled(void **state)
{
    const unsigned char bytes[] = "\0\0\0\0\x07\0\x0a\x04s3-1\x10\x01\x1a\x03yes\x2a\x03"
                                  "ann\x30\xe8\x07";
    try_label(*state, bytes, sizeof bytes - 1);
    spoil(bytes, sizeof bytes - 1, 10000, try_label, *state);
    spoil(bytes + 6, sizeof bytes - 7, 10000, try_label, *state);
}

static enum wire_decoded decode_request(struct world *w, const void *bytes, size_t length,
                                        struct wire_label_request *r, const char *const **classes,
                                        uint32_t *n)
{
    struct wire_message m = message_of("k", 1, bytes, length);
    fis_arena_reset(&w->c.arena);
    w->c.e.text[0] = 0;
    return wire_protobuf_request(&m, &w->c.arena, r, classes, n, &w->c.e);
}

static void try_request(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    struct wire_label_request r;
    if (decode_request(w, bytes, length, &r, NULL, NULL) == WIRE_BAD)
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
    else
        assert_true(r.record.data && r.votes >= 1 && r.votes <= WIRE_VOTES &&
                    !r.reason == !r.cancelled);
}

static void request_round_trip(void **state)
{
    struct world *w = *state;
    struct wire_label_request in = {.round = 3,
                                    .criterion = "entropy",
                                    .head_version = UINT64_MAX,
                                    .requested_at_ms = 1700000000000,
                                    .deadline_ms = 1700000001000,
                                    .encoding = WIRE_JSON,
                                    .record = {"{\"a\":\0}", 7}};
    struct wire_label_request out;
    const char *const *classes = NULL;
    uint32_t n = 0;
    assert_int_equal(fis_id_set(&in.id, "r\nx", 3), 0);
    assert_int_equal(wire_protobuf_request_encode(&test_schema, &in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode_request(w, w->c.out.data, w->c.out.length, &out, &classes, &n),
                     WIRE_OK);
    assert_int_equal(fis_id_compare(&in.id, &out.id), 0);
    assert_int_equal(out.round, 3);
    assert_string_equal(out.criterion, "entropy");
    assert_true(out.head_version == UINT64_MAX);
    assert_int_equal(out.requested_at_ms, in.requested_at_ms);
    assert_int_equal(out.deadline_ms, in.deadline_ms);
    assert_int_equal(out.encoding, WIRE_JSON);
    assert_int_equal(out.record.length, 7);
    assert_memory_equal(out.record.data, in.record.data, 7);
    assert_int_equal(n, 2);
    assert_string_equal(classes[1], "yes");
    assert_int_equal(decode_request(w, "", 0, &out, NULL, NULL), WIRE_BAD);
    assert_says(&w->c.e, "encoding is not given");
    assert_true(out.votes == 1 && !out.cancelled && !out.reason);
    spoil(w->c.out.data, w->c.out.length, 10000, try_request, w);
}

static void assert_request_bad(struct world *w, const void *bytes, size_t length, const char *says)
{
    struct wire_label_request r;
    assert_int_equal(decode_request(w, bytes, length, &r, NULL, NULL), WIRE_BAD);
    assert_int_equal(w->c.e.kind, FIS_INPUT);
    assert_says(&w->c.e, says);
}

static void several_votes(void **state)
{
    struct world *w = *state;
    struct wire_label_request in = {.encoding = WIRE_JSON, .record = {"{}", 2}}, out;
    assert_int_equal(fis_id_set(&in.id, "r", 1), 0);
    for (in.votes = 0; in.votes <= WIRE_VOTES; in.votes++) {
        w->c.out.length = 0;
        assert_int_equal(wire_protobuf_request_encode(&test_schema, &in, &w->c.out, &w->c.e), 0);
        assert_int_equal(decode_request(w, w->c.out.data, w->c.out.length, &out, NULL, NULL),
                         WIRE_OK);
        assert_int_equal(out.votes, in.votes ? in.votes : 1);
    }
    w->c.out.length = 0;
    assert_int_equal(wire_protobuf_request_encode(&test_schema, &in, &w->c.out, &w->c.e),
                     -FIS_INPUT);
    assert_int_equal(w->c.out.length, 0);
    assert_request_bad(w, "\x40\x01\x50\x64", 4, "a request for 100 votes, at most 99 allowed");
}

static void a_request_is_withdrawn(void **state)
{
    struct world *w = *state;
    struct wire_label_request in = {.round = 3,
                                    .criterion = "ekg",
                                    .encoding = WIRE_JSON,
                                    .record = {"{}", 2},
                                    .votes = 3,
                                    .cancelled = 1,
                                    .reason = "expired"};
    struct wire_label_request out;
    assert_int_equal(fis_id_set(&in.id, "r", 1), 0);
    assert_int_equal(wire_protobuf_request_encode(&test_schema, &in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode_request(w, w->c.out.data, w->c.out.length, &out, NULL, NULL), WIRE_OK);
    assert_id(&out.id, "r");
    assert_int_equal(out.cancelled, 1);
    assert_string_equal(out.reason, "expired");
    assert_int_equal(out.round, 3);
    assert_true(out.record.length == 0 && out.encoding == 0);
    spoil(w->c.out.data, w->c.out.length, 5000, try_request, w);
    in.reason = NULL;
    w->c.out.length = 0;
    assert_int_equal(wire_protobuf_request_encode(&test_schema, &in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode_request(w, w->c.out.data, w->c.out.length, &out, NULL, NULL), WIRE_OK);
    assert_string_equal(out.reason, "");
    assert_request_bad(w, "\x58\x01\x40\x01", 4, "a cancelled request with a record");
    assert_request_bad(w, "\x58\x01\x4a\x01x", 5, "a cancelled request with a record");
    assert_request_bad(w, "\x40\x01\x62\x01x", 5, "with a reason that is not cancelled");
}

/* A validation example: id e1, packed .5 -1, class yes, sex f, race x. */
static const unsigned char example_bytes[] =
    "\x0a\x02"
    "e1\x12\x08\x00\x00\x00\x3f\x00\x00\x80\xbf\x20\x01\x32\x08\x0a\x03sex\x12\x01"
    "f\x32\x09\x0a\x04race\x12\x01x";
enum { EXAMPLE = sizeof example_bytes - 1 };

static enum wire_decoded decode_example(struct world *w, int sensitive, const void *bytes,
                                        size_t length)
{
    struct wire_message m = message_of("k", 1, bytes, length);
    fis_arena_reset(&w->c.arena);
    memset(&w->example, 0, sizeof w->example);
    w->c.e.text[0] = 0;
    return wire_protobuf_example(&test_schema, 2, sensitive, &m, &w->c.arena, &w->example, &w->c.e);
}

static void assert_example_bad(struct world *w, int sensitive, const void *bytes, size_t length,
                               const char *says)
{
    assert_int_equal(decode_example(w, sensitive, bytes, length), WIRE_BAD);
    assert_int_equal(w->c.e.kind, FIS_INPUT);
    assert_says(&w->c.e, says);
}

static void examples(void **state)
{
    struct world *w = *state;
    if (decode_example(w, 1, example_bytes, EXAMPLE) != WIRE_OK)
        fail_msg("%s", w->c.e.text);
    assert_id(&w->example.id, "e1");
    assert_int_equal(w->example.class_index, 1);
    assert_int_equal(w->example.values[0].kind, FIS_VALUE_NUMBER);
    assert_true(w->example.values[0].number == .5 && w->example.values[1].number == -1);
    assert_int_equal(w->example.sensitive[0].length, 1);
    assert_memory_equal(w->example.sensitive[0].text, "f", 1);
    assert_memory_equal(w->example.sensitive[1].text, "x", 1);
    /* Without the sensitive attributes it is an initial example, and only then. */
    assert_int_equal(decode_example(w, 0, example_bytes, 16), WIRE_OK);
    assert_null(w->example.sensitive);
    assert_example_bad(w, 0, example_bytes, EXAMPLE, "an initial example with sensitive");
    /* A value that is missing is for who makes groups of them to judge. */
    assert_int_equal(decode_example(w, 1, example_bytes, 26), WIRE_OK);
    assert_int_equal(w->example.sensitive[0].kind, FIS_VALUE_TEXT);
    assert_int_equal(w->example.sensitive[1].kind, FIS_VALUE_MISSING);
    assert_example_bad(w, 1, example_bytes, 4, "0 features, 2 expected");
    assert_int_equal(decode_example(w, 1, NULL, 0), WIRE_TOMBSTONE);
    assert_id(&w->example.id, "k");
}

static void example_errors_keep_secrets(void **state)
{
    struct world *w = *state;
    unsigned char bytes[64];
    memcpy(bytes, example_bytes, EXAMPLE);
    memcpy(bytes + EXAMPLE, "\x32\x0d\x0a\x06SECRET\x12\x03sex", 15);
    assert_example_bad(w, 1, bytes, EXAMPLE + 15,
                       "the key of an entry is not one of the 2 sensitive columns");
    assert_null(strstr(w->c.e.text, "SECRET"));
    memcpy(bytes + EXAMPLE, "\x32\x0d\x0a\x03sex\x12\x06SECRE\xff", 15);
    assert_example_bad(w, 1, bytes, EXAMPLE + 15, "field 2 (value)");
    assert_null(strstr(w->c.e.text, "SECRE"));
    bytes[6 + 3] = 0x7f; /* .5 becomes infinite or NaN */
    bytes[6 + 2] = 0xc0;
    assert_example_bad(w, 1, bytes, EXAMPLE, "feature 0: nan is not a finite number");
    memcpy(bytes, example_bytes, EXAMPLE);
    bytes[15] = 2;
    assert_example_bad(w, 1, bytes, EXAMPLE, "class 2: 0..1 allowed [no, yes]");
}

static void try_example(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode_example(w, w->sensitive, bytes, length) == WIRE_BAD)
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
    else
        assert_true(w->example.class_index < 2 && !w->sensitive == !w->example.sensitive);
}

static void example_spoiled(void **state)
{
    struct world *w = *state;
    for (w->sensitive = 0; w->sensitive < 2; w->sensitive++)
        spoil(example_bytes, EXAMPLE, 10000, try_example, w);
    w->c.arena.size = 48; /* too small for what it needs */
    assert_example_bad(w, 1, example_bytes, EXAMPLE, "takes more than 48 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(class_zero_is_nothing, up, codec_down),
        cmocka_unit_test_setup_teardown(class_by_index_or_name, up, codec_down),
        cmocka_unit_test_setup_teardown(status, up, codec_down),
        cmocka_unit_test_setup_teardown(label_round_trip, up, codec_down),
        cmocka_unit_test_setup_teardown(labels_are_framed, up, codec_down),
        cmocka_unit_test_setup_teardown(label_spoiled, up, codec_down),
        cmocka_unit_test_setup_teardown(who_and_when, up, codec_down),
        cmocka_unit_test_setup_teardown(request_round_trip, up, codec_down),
        cmocka_unit_test_setup_teardown(several_votes, up, codec_down),
        cmocka_unit_test_setup_teardown(a_request_is_withdrawn, up, codec_down),
        cmocka_unit_test_setup_teardown(examples, up, codec_down),
        cmocka_unit_test_setup_teardown(example_errors_keep_secrets, up, codec_down),
        cmocka_unit_test_setup_teardown(example_spoiled, up, codec_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

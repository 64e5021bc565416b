/*
 * Whatever in wire allocates, under every refused allocation: NOMEM each time, the output buffer as
 * it was, and the same object does its work afterwards.
 */
#include "kit/wire/heads.h"

#include "kit/base/oom.h"

#include <math.h>

#include "wire/chunk.h"
#include "wire/csv.h"
#include "wire/head.h"
#include "wire/json_codec.h"
#include "wire/json_text.h"
#include "wire/ledger.h"
#include "wire/model.h"
#include "wire/model_card.h"
#include "wire/onnx.h"
#include "wire/protobuf_codec.h"

struct world {
    struct fis_encoder *encoder;
    float *slab;
    struct wire_head head;
    struct wire_model model;
    struct byte_buffer bytes; /* what a decoder is given */
};

static const struct wire_range ranges[] = {{0, 5, 9, 3, 1, 0}, {7, 0, 100, 99, 0, 1}};
static const struct wire_counted counted[] = {{0, 17}, {5, 0}};
static const struct wire_pool_end ends[] = {{0, 100}, {3, 7}};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    uint32_t hidden = 4;
    assert_non_null(w);
    w->encoder = mixed_encoder();
    w->head = (struct wire_head){.pipeline = "p",
                                 .version = 12,
                                 .encoder = w->encoder,
                                 .scan = 11,
                                 .ends = ends,
                                 .n_ends = 2};
    assert_int_equal(fis_shape_init(&w->head.shape, MIXED_D, &hidden, 1, 2, NULL), 0);
    w->slab = random_slab(&w->head.shape, 4);
    w->head.params = w->head.g_acc = w->head.g_fair = w->slab;
    w->model = (struct wire_model){.pipeline = "p",
                                   .version = 4,
                                   .served = 1,
                                   .classes = test_schema.classes,
                                   .n_classes = 2,
                                   .positive = 1,
                                   .metric = "equalized_odds",
                                   .shape = w->head.shape,
                                   .params = w->slab,
                                   .encoder = w->encoder,
                                   .verdict = "publish",
                                   .reason = "fairer",
                                   .reason_text = "fairer by .03",
                                   .algorithm = "fis+"};
    fis_metrics_none(&w->model.metrics);
    fis_metrics_none(&w->model.anchor);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    fis_encoder_free(w->encoder);
    fis_free(w->slab);
    byte_buffer_done(&w->bytes);
    free(w);
    return 0;
}

/* ---- encoders ---------------------------------------------------------------------------------
 */

enum what {
    CANDIDATE,
    PROGRESS,
    LABEL,
    REQUEST,
    CONTROL,
    JSON_LABEL,
    JSON_REQUEST,
    ENTRY,
    STATE,
    CHECKPOINT,
    CHECKPOINT_KEY,
    HEAD,
    HEAD_KEY,
    MODEL,
    MODEL_KEY,
    MODEL_JSON,
    MODEL_ONNX,
    MODEL_CARD,
    MODEL_CARD_JSON,
    CHUNK,
    ALL
};

static int encode_offer(enum what what, const struct world *w, struct byte_buffer *out,
                        struct fis_error *e)
{
    const struct wire_progress progress = {.scorer = "s", .ranges = ranges, .n_ranges = 2};
    const struct wire_candidate candidate = {.id = {1, "r"},
                                             .x = w->slab,
                                             .d = MIXED_D,
                                             .scores = {1, -INFINITY},
                                             .encoding = WIRE_JSON,
                                             .record = {"{}", 2}};
    struct wire_offer o = {.progress = &progress};
    if (what == CANDIDATE)
        o = (struct wire_offer){.candidates = &candidate, .n_candidates = 1};
    return wire_offer_encode(&o, out, e);
}

static int encode_label(enum what what, struct byte_buffer *out, struct fis_error *e)
{
    struct wire_label l = {.id = {1, "r"}, .class_index = 1, .annotator = "ann"};
    struct wire_label_request r = {.id = {1, "r"},
                                   .criterion = "ekg",
                                   .encoding = WIRE_JSON,
                                   .record = {"{\"age\":1}", 9},
                                   .votes = 1};
    struct wire_control c = {.command = {1, "c"}, .kind = WIRE_CONTROL_PIN, .by = "", .reason = ""};
    _Alignas(16) unsigned char room[8192];
    struct fis_arena arena = {.base = room, .size = sizeof room};
    switch (what) {
    case LABEL:
        return wire_protobuf_label_encode(&test_schema, &l, out, e);
    case REQUEST:
        return wire_protobuf_request_encode(&test_schema, &r, out, e);
    case CONTROL:
        return wire_control_encode(&c, out, e);
    case JSON_LABEL:
        return wire_json_label_encode(&test_schema, &l, out, e);
    default:
        return wire_json_label_request(&test_schema, &r, NULL, &arena, out, e);
    }
}

static int encode_ledger(enum what what, const struct world *w, struct byte_buffer *out,
                         struct fis_error *e)
{
    struct wire_ledger_entry entry = {
        .id = {1, "r"}, .state = WIRE_ACCEPTED, .x = w->slab, .d = MIXED_D};
    struct wire_trainer_state state = {.phase = WIRE_PHASE_LABEL,
                                       .counted = counted,
                                       .n_counted = 2,
                                       .control_id = "c",
                                       .control_text = "done"};
    struct wire_checkpoint c = {1, 12, {"learner", 7}, {"gate", 4}};
    switch (what) {
    case ENTRY:
        return wire_ledger_entry_encode(&entry, out, e);
    case STATE:
        return wire_ledger_state_encode(&state, out, e);
    case CHECKPOINT:
        return wire_checkpoint_encode(&c, out, e);
    default:
        return wire_checkpoint_key(3, out, e);
    }
}

static int encode_stored(enum what what, const struct world *w, struct byte_buffer *out,
                         struct fis_error *e)
{
    struct wire_chunks c;
    int rc;
    switch (what) {
    case HEAD:
        return wire_head_encode(&w->head, out, e);
    case HEAD_KEY:
        return wire_chunk_key_head("p", 1, out, e);
    case MODEL:
        return wire_model_encode(&w->model, out, e);
    case MODEL_KEY:
        return wire_chunk_key_model(4, 1, out, e);
    case MODEL_JSON:
        return wire_model_json(&w->model, out, 1, e);
    case MODEL_ONNX:
        return wire_onnx_encode(&w->model, out, e);
    case MODEL_CARD:
        return wire_model_card_text(&w->model, (struct wire_group_names){0}, out, e);
    case MODEL_CARD_JSON:
        return wire_model_card_json(&w->model, (struct wire_group_names){0}, out, e);
    default:
        rc = wire_chunks_start(&c, 1, (struct wire_bytes){"abc", 3}, 2, e);
        rc = rc ? rc : wire_chunks_next(&c, out, e);
        return rc < 0 ? rc : 0;
    }
}

static int encode(enum what what, const struct world *w, struct byte_buffer *out,
                  struct fis_error *e)
{
    if (what <= PROGRESS)
        return encode_offer(what, w, out, e);
    if (what <= JSON_REQUEST)
        return encode_label(what, out, e);
    return what <= CHECKPOINT_KEY ? encode_ledger(what, w, out, e) : encode_stored(what, w, out, e);
}

struct encoding {
    const struct world *w;
    enum what what;
    struct byte_buffer whole; /* what comes of it when there is memory */
};

static int encode_all_over(void *arg, struct fis_error *e)
{
    struct encoding *x = arg;
    struct byte_buffer out = {0};
    int rc = encode(x->what, x->w, &out, e);
    if (rc) { /* nothing was appended, and now it goes */
        struct fis_error second;
        assert_int_equal(out.length, 0);
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(encode(x->what, x->w, &out, &second), 0);
    }
    assert_int_equal(out.length, x->whole.length);
    assert_memory_equal(out.data, x->whole.data, out.length);
    byte_buffer_done(&out);
    return rc;
}

static void encoders(void **state)
{
    for (int what = 0; what < ALL; what++) {
        struct encoding x = {.w = *state, .what = (enum what)what};
        struct fis_error e;
        assert_int_equal(encode(x.what, x.w, &x.whole, &e), 0);
        assert_true(x.whole.length > 0);
        assert_true(oom_run(encode_all_over, &x) >= 1);
        byte_buffer_done(&x.whole);
    }
}

/* ---- decoders that own what they give ---------------------------------------------------------
 */

static struct wire_bytes bytes_of(const struct byte_buffer *b)
{
    return (struct wire_bytes){b->data, b->length};
}

static int decode_head(void *arg, struct fis_error *e)
{
    struct world *w = arg;
    struct wire_head_owned head = {0};
    int rc = wire_head_decode(bytes_of(&w->bytes), &head, e);
    assert_true(rc == 0 || !head.slabs);
    if (rc == 0)
        wire_head_done(&head);
    return rc;
}

static int decode_model(void *arg, struct fis_error *e)
{
    struct world *w = arg;
    struct wire_model_owned model = {0};
    int rc = wire_model_decode(bytes_of(&w->bytes), &model, e);
    assert_true(rc == 0 || !model.storage[0]);
    if (rc == 0)
        wire_model_done(&model);
    return rc;
}

static void decoders(void **state)
{
    struct world *w = *state;
    w->bytes.length = 0;
    assert_int_equal(wire_head_encode(&w->head, &w->bytes, NULL), 0);
    assert_true(oom_run(decode_head, w) > 10);
    w->bytes.length = 0;
    assert_int_equal(wire_model_encode(&w->model, &w->bytes, NULL), 0);
    assert_true(oom_run(decode_model, w) > 20);
}

/* ---- chunks -----------------------------------------------------------------------------------
 */

enum { PIECES = 3 };
struct pieces {
    struct byte_buffer piece[PIECES];
};
static const char cut_text[] = "what is cut in three";

/* A piece that could not be taken is given again: nothing is missing in the end. */
static int assemble(void *arg, struct fis_error *e)
{
    struct pieces *p = arg;
    struct wire_bytes whole = {0};
    uint64_t version = 0;
    int rc = 0, failed = 0;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 0);
    if (!a)
        return fis_fail(e, FIS_NOMEM, "no assembler");
    for (size_t i = 0; i < PIECES; i++) {
        rc = wire_assembler_feed(a, bytes_of(&p->piece[i]), &whole, &version, e);
        if (rc < 0) {
            failed = rc;
            fis_mem_refuse_after(UINT64_MAX);
            rc = wire_assembler_feed(a, bytes_of(&p->piece[i]), &whole, &version, NULL);
        }
        assert_int_equal(rc, i == PIECES - 1);
    }
    assert_int_equal(whole.length, sizeof cut_text);
    assert_memory_equal(whole.data, cut_text, sizeof cut_text);
    assert_int_equal(wire_assembler_held(a), 0);
    wire_assembler_free(a);
    return failed;
}

static void assembler(void **state)
{
    struct pieces p = {0};
    struct wire_chunks c;
    (void)state;
    assert_int_equal(
        wire_chunks_start(&c, 7, (struct wire_bytes){cut_text, sizeof cut_text}, 8, NULL), 0);
    for (size_t i = 0; i < PIECES; i++)
        assert_int_equal(wire_chunks_next(&c, &p.piece[i], NULL), 1);
    assert_int_equal(wire_chunks_next(&c, &p.piece[0], NULL), 0);
    assert_true(oom_run(assemble, &p) > PIECES);
    for (size_t i = 0; i < PIECES; i++)
        byte_buffer_done(&p.piece[i]);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

static int parse_csv(void *arg, struct fis_error *e)
{
    static const char text[] = "a,b\n1,\"2\n3\"\n";
    struct wire_csv_row row;
    int rc, rows = 0;
    (void)arg;
    struct wire_csv *csv = wire_csv_new(',', e);
    if (!csv)
        return oom_failed(e);
    wire_csv_feed(csv, text, sizeof text - 1);
    while ((rc = wire_csv_next(csv, &row, e)) > 0)
        rows++;
    if (rc < 0) { /* final: it does not go on in the middle of a row */
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(wire_csv_next(csv, &row, NULL), rc);
    } else {
        assert_int_equal(rows, 2);
    }
    wire_csv_free(csv);
    return rc;
}

static int parse_json(void *arg, struct fis_error *e)
{
    static const char text[] = "{\"a\":[1,2.5,\"x\\u20ac\",{\"b\":null}],\"c\":\"d\"}";
    (void)arg;
    json_t *object = wire_json_parse((struct wire_bytes){text, sizeof text - 1}, e);
    if (!object)
        return oom_failed(e);
    assert_int_equal(json_object_size(object), 2);
    json_decref(object);
    return 0;
}

static void texts(void **state)
{
    (void)state;
    assert_true(oom_run(parse_csv, NULL) > 3);
    assert_true(oom_run(parse_json, NULL) > 10);
}

/* Decoders that take memory from the arena alone do not notice. */
static void arenas(void **state)
{
    struct world *w = *state;
    struct fis_arena arena = test_arena(65536);
    struct wire_offer offer;
    struct wire_ledger_item item;
    struct wire_label label;
    struct fis_error e;
    w->bytes.length = 0;
    assert_int_equal(encode(PROGRESS, w, &w->bytes, &e), 0);
    struct wire_message progress = message_of("r", 1, w->bytes.data, w->bytes.length);
    struct byte_buffer entry = {0}, json = {0};
    assert_int_equal(encode(ENTRY, w, &entry, &e), 0);
    assert_int_equal(encode(JSON_LABEL, w, &json, &e), 0);
    struct wire_message stored = message_of("r", 1, entry.data, entry.length);
    struct wire_message answer = message_of("r", 1, json.data, json.length);
    uint64_t before = fis_mem_count();
    fis_mem_refuse_after(0);
    assert_int_equal(wire_offer_decode(&progress, &arena, &offer, &e), WIRE_OK);
    assert_int_equal(wire_ledger_decode(&stored, &arena, &item, &e), WIRE_OK);
    assert_int_equal(wire_json_label(&test_schema, &answer, &arena, &label, &e), WIRE_OK);
    fis_mem_refuse_after(UINT64_MAX);
    assert_int_equal(fis_mem_count(), before);
    byte_buffer_done(&entry);
    byte_buffer_done(&json);
    fis_free(arena.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoders), cmocka_unit_test(decoders), cmocka_unit_test(assembler),
        cmocka_unit_test(texts),    cmocka_unit_test(arenas),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* Seeds in protobuf: each message plain, and those that may have a frame in one too. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "seeds.h"

#include "fis.pb-c.h"
#include "wire/protobuf_codec.h"
#include "wire/protobuf_unpack.h"

static const struct fis_error *error_of(int rc, const struct fis_error *e)
{
    if (rc)
        FUZZ_FAIL("%s", e->text);
    return e;
}
#define GOOD(call) error_of((call), &e)

/* Behind the kind and the key "abc" in target `protobuf`; in target `frame` in a frame. */
static void write(char kind, const char *name, struct byte_buffer *value)
{
    static const char kinds_in_frame[] = "rlqi";
    const char *place = strchr(kinds_in_frame, kind);
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    char head[5] = {kind, 3, 'a', 'b', 'c'};
    GOOD(byte_buffer_append(&out, head, sizeof head, &e));
    GOOD(byte_buffer_append(&out, value->data, value->length, &e));
    seed_write("protobuf", name, out.data, out.length);
    if (place) {
        char frame[7] = {(char)(place - kinds_in_frame), 0, 0, 0, 0, 9, 0};
        out.length = 0;
        GOOD(byte_buffer_append(&out, frame, sizeof frame, &e));
        GOOD(byte_buffer_append(&out, value->data, value->length, &e));
        seed_write("frame", name, out.data, out.length);
    }
    byte_buffer_done(&out);
    value->length = 0;
}

static void records(struct byte_buffer *b)
{
    Fis__V1__Record r = FIS__V1__RECORD__INIT;
    Fis__V1__Sparse sparse = FIS__V1__SPARSE__INIT;
    float values[] = {1, -2.5f, 0, 1e30f};
    uint32_t index[] = {3, 0};
    struct fis_error e = {0};
    r.id = (ProtobufCBinaryData){3, (uint8_t *)(uintptr_t) "r-1"};
    r.n_features = 4;
    r.features = values;
    r.event_time_ms = 1700000000000;
    GOOD(wire_protobuf_pack(&r, b, &e));
    write('r', "record-dense", b);
    r.n_features = 0;
    r.sparse = &sparse;
    sparse.n_index = sparse.n_value = 2;
    sparse.index = index;
    sparse.value = values;
    GOOD(wire_protobuf_pack(&r, b, &e));
    write('r', "record-sparse", b);
    sparse.n_value = 1;
    GOOD(wire_protobuf_pack(&r, b, &e));
    write('r', "record-uneven", b);
}

static void offers(struct byte_buffer *b)
{
    static const float x[] = {0, 0, 1, 0, 0, 0, 0, -3}, dense[] = {1, 2, 3};
    static const struct wire_range ranges[] = {{0, 5, 9, 3, 1, 0}, {7, 0, 100, 99, 0, 1}};
    static const struct wire_progress progress = {
        .scorer = "s1", .head_version = 12, .scan = 11, .ranges = ranges, .n_ranges = 2};
    struct wire_candidate c[2] = {{.id = {3, "r-1"},
                                   .x = x,
                                   .d = 8,
                                   .scores = {.5f, -2},
                                   .head_version = 12,
                                   .encoding = WIRE_JSON,
                                   .record = {"{}", 2},
                                   .event_time_ms = 5,
                                   .topic = "t.records",
                                   .partition = 2,
                                   .offset = 77}};
    struct wire_offer o = {.candidates = c, .n_candidates = 1};
    struct fis_error e = {0};
    GOOD(wire_offer_encode(&o, b, &e));
    write('o', "candidate-sparse", b);
    c[1] = c[0];
    c[1].x = dense;
    c[1].d = 3;
    c[1].encoding = WIRE_RAW;
    o.candidates = c + 1;
    GOOD(wire_offer_encode(&o, b, &e));
    write('o', "candidate-dense", b);
    GOOD(wire_offer_encode(&(struct wire_offer){.progress = &progress}, b, &e));
    write('o', "progress", b);
    o = (struct wire_offer){.candidates = c, .n_candidates = 2, .progress = &progress};
    GOOD(wire_offer_encode(&o, b, &e));
    write('o', "candidates-and-progress", b);
}

static void labels(struct byte_buffer *b)
{
    struct wire_label l = {
        .id = {3, "r-1"}, .class_index = 1, .annotator = "ann", .labelled_at_ms = 9};
    struct fis_error e = {0};
    GOOD(wire_protobuf_label_encode(&fuzz_schema, &l, b, &e));
    write('l', "label", b);
    l.status = WIRE_UNSURE;
    l.class_index = 0;
    GOOD(wire_protobuf_label_encode(&fuzz_schema, &l, b, &e));
    write('l', "label-unsure", b);
    write('l', "label-empty", b);
}

/* The same for fisctl, the record being protobuf itself. */
static void shown_requests(void)
{
    static const char *const json[] = {
        "j\0{\"id\":\"r-1\",\"round\":2,\"criterion\":\"ekg\",\"head\":12,\"classes\":[\"no\","
        "\"yes\"],"
        "\"requested_at\":1700000000000,\"votes\":3,\"record\":{\"a\":1.5,\"b\":\"x\\u001b[2J\","
        "\"c\":[1]}}",
        "j\0{\"id\":\"r-1\",\"round\":2,\"head\":12,\"cancelled\":true,\"reason\":\"expired\"}"};
    Fis__V1__Record record = FIS__V1__RECORD__INIT;
    Fis__V1__Record__AttributesEntry note = FIS__V1__RECORD__ATTRIBUTES_ENTRY__INIT, *all = &note;
    float values[] = {1, 2, -3, 0};
    struct byte_buffer inner = {0}, b = {0};
    struct fis_error e = {0};
    note.key = (char *)(uintptr_t) "note";
    note.value = (char *)(uintptr_t) "\x1b[31m";
    record.n_attributes = 1;
    record.attributes = &all;
    record.n_features = 4;
    record.features = values;
    GOOD(wire_protobuf_pack(&record, &inner, &e));
    for (int raw = 0; raw < 2; raw++) {
        struct wire_label_request r = {.id = {3, "r-1"}, .criterion = "ekg", .votes = 1};
        r.encoding = raw ? WIRE_RAW : WIRE_PROTOBUF;
        r.record = raw ? (struct wire_bytes){values, sizeof values}
                       : (struct wire_bytes){inner.data, inner.length};
        b.length = 0;
        GOOD(byte_buffer_append(&b, "p", 2, &e));
        GOOD(wire_protobuf_request_encode(&fuzz_schema, &r, &b, &e));
        seed_write("request", raw ? "raw" : "protobuf", b.data, b.length);
    }
    for (size_t i = 0; i < 2; i++)
        seed_write("request", i ? "json-cancelled" : "json", json[i], 2 + strlen(json[i] + 2));
    byte_buffer_done(&inner);
    byte_buffer_done(&b);
}

static void requests(struct byte_buffer *b)
{
    struct wire_label_request r = {.id = {3, "r-1"},
                                   .round = 2,
                                   .criterion = "ekg",
                                   .head_version = 12,
                                   .requested_at_ms = 1700000000000,
                                   .deadline_ms = 1700000003000,
                                   .encoding = WIRE_JSON,
                                   .record = {"{\"a\":1}", 7},
                                   .votes = 3};
    struct fis_error e = {0};
    GOOD(wire_protobuf_request_encode(&fuzz_schema, &r, b, &e));
    write('q', "request", b);
    r.cancelled = 1;
    r.reason = "expired";
    GOOD(wire_protobuf_request_encode(&fuzz_schema, &r, b, &e));
    write('q', "request-cancelled", b);
}

static void controls(struct byte_buffer *b)
{
    static const char *const names[] = {"",      "pause",    "resume",  "cancel",     "pin",
                                        "unpin", "rollback", "promote", "cancel-all", "resend",
                                        "forget"};
    struct fis_error e = {0};
    for (int kind = WIRE_CONTROL_PAUSE; kind <= WIRE_CONTROL_LAST; kind++) {
        struct wire_control c = {.command = {3, "abc"},
                                 .kind = (enum wire_control_kind)kind,
                                 .by = "ann",
                                 .reason = "n\xc3\xb6tig",
                                 .at_ms = 1700000000000};
        if (kind == WIRE_CONTROL_CANCEL || kind == WIRE_CONTROL_FORGET)
            c.record = (struct fis_id){3, "r-1"};
        c.version = kind == WIRE_CONTROL_ROLLBACK || kind == WIRE_CONTROL_PROMOTE ? 4 : 0;
        GOOD(wire_control_encode(&c, b, &e));
        write('c', names[kind], b);
    }
}

static void examples(struct byte_buffer *b)
{
    Fis__V1__LabelledExample x = FIS__V1__LABELLED_EXAMPLE__INIT;
    Fis__V1__LabelledExample__SensitiveEntry sex = FIS__V1__LABELLED_EXAMPLE__SENSITIVE_ENTRY__INIT;
    Fis__V1__LabelledExample__SensitiveEntry race = sex, *entries[] = {&sex, &race};
    float values[] = {1, 2, 3, 4};
    struct fis_error e = {0};
    x.n_features = 4;
    x.features = values;
    x.class_name = (char *)(uintptr_t) "yes";
    GOOD(wire_protobuf_pack(&x, b, &e));
    write('i', "initial", b);
    sex.key = (char *)(uintptr_t) "sex";
    sex.value = (char *)(uintptr_t)FUZZ_MARKER;
    race.key = (char *)(uintptr_t) "race";
    race.value = (char *)(uintptr_t) "x";
    x.n_sensitive = 2;
    x.sensitive = entries;
    GOOD(wire_protobuf_pack(&x, b, &e));
    write('v', "validation", b);
    race.key = (char *)(uintptr_t) "rase";
    GOOD(wire_protobuf_pack(&x, b, &e));
    write('v', "validation-unknown", b);
    race.key = (char *)(uintptr_t) "race";
    race.value = (char *)(uintptr_t) "";
    GOOD(wire_protobuf_pack(&x, b, &e));
    write('v', "validation-missing", b);
}

static void raw(void)
{
    static const unsigned char four[] = {3, 'a',  'b', 'c', 0,    0,    0x80, 0x3f, 0,    0,
                                         0, 0x40, 0,   0,   0x40, 0x40, 0,    0,    0x80, 0x40};
    unsigned char bytes[sizeof four];
    memcpy(bytes, four, sizeof four);
    seed_write("raw", "four", bytes, sizeof four);
    seed_write("raw", "three", bytes, sizeof four - 4);
    bytes[18] = 0xc0;
    bytes[19] = 0x7f;
    seed_write("raw", "nan", bytes, sizeof four);
    bytes[0] = 0x83;
    seed_write("raw", "tombstone", bytes, 4);
}

void seeds_protobuf(void)
{
    struct byte_buffer b = {0};
    records(&b);
    offers(&b);
    labels(&b);
    requests(&b);
    shown_requests();
    controls(&b);
    examples(&b);
    raw();
    byte_buffer_done(&b);
}

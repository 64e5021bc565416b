/*
 * Messages in protobuf. The first byte says what the rest is: 'r' a record, 'o' an offer, 'l' a
 * label, 'q' a request, 'c' a command, 'i' an initial and 'v' a validation example; each a message
 * as in common.h. What is decoded is the same when it is encoded and decoded again.
 */
#include <math.h>
#include <stdlib.h>

#include "same.h"

#include "wire/framing.h"
#include "wire/protobuf_codec.h"
#include "wire/record_image.h"
#include "wire/protobuf_reader.h"

/* What was decoded of a message, and of its encoding. */
struct twice {
    struct byte_buffer bytes;
    struct wire_message message;
    struct fis_arena arena;
};

/* The message that `bytes` are, under the same key. */
static struct wire_message *again(struct twice *t, const struct fuzz_message *m)
{
    t->message = m->message;
    t->message.value =
        (struct wire_bytes){t->bytes.data ? t->bytes.data : (void *)"", t->bytes.length};
    t->arena = fuzz_arena(4 * t->bytes.length * sizeof(void *) + 65536);
    return &t->message;
}

static void twice_done(struct twice *t)
{
    byte_buffer_done(&t->bytes);
    free(t->arena.base);
}

static void must(int ok, const struct fis_error *e)
{
    if (!ok)
        FUZZ_FAIL("what was decoded does not go through once more: %s", e->text);
}

/* A list says the same as x. */
static void try_list(struct fuzz_message *m, enum wire_decoded expected, const float *x)
{
    struct wire_record record = {0};
    struct fis_error e = {0};
    uint32_t index[FUZZ_COLUMNS];
    float value[FUZZ_COLUMNS], spread[FUZZ_COLUMNS] = {0};
    struct wire_list list = {0, index, value};
    fis_arena_reset(&m->arena);
    FUZZ_HOLDS(wire_protobuf_record_or_list(&fuzz_schema, fuzz_plain_encoder(), &m->message,
                                            &m->arena, spread, &list, &record, &e) == expected);
    if (expected != WIRE_OK)
        return;
    for (uint32_t i = 0; list.n != WIRE_NO_LIST && i < list.n; i++)
        spread[index[i]] = value[i];
    FUZZ_HOLDS(same_floats(x, spread, FUZZ_COLUMNS));
}

/* x is what the values say; the values alone can be read too. */
static void try_record(struct fuzz_message *m)
{
    struct wire_record record = {0};
    struct fis_error e = {0};
    const struct fis_encoder *encoder = fuzz_plain_encoder();
    float x[FUZZ_COLUMNS], expected[FUZZ_COLUMNS];
    const float *values = NULL;
    struct wire_image image;
    enum wire_decoded d =
        wire_protobuf_record(&fuzz_schema, encoder, &m->message, &m->arena, x, &record, &e);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    try_list(m, d, x);
    if (d == WIRE_OK) {
        FUZZ_HOLDS(record.id.length > 0);
        fis_arena_reset(&m->arena);
        must(!wire_protobuf_values(m->message.value, FUZZ_COLUMNS, &m->arena, &values, &image, &e),
             &e);
        FUZZ_HOLDS(!image.data.data);
        must(!fis_encoder_encode_floats(encoder, values, FUZZ_COLUMNS, expected, &e), &e);
        FUZZ_HOLDS(same_floats(x, expected, FUZZ_COLUMNS));
    }
}

static enum wire_decoded try_offer(struct fuzz_message *m, struct twice *t, struct fis_error *e)
{
    struct wire_offer a = {0}, b = {0};
    enum wire_decoded d = wire_offer_decode(&m->message, &m->arena, &a, e);
    if (d != WIRE_OK)
        return d;
    must(!wire_offer_encode(&a, &t->bytes, e), e);
    must(wire_offer_decode(again(t, m), &t->arena, &b, e) == WIRE_OK, e);
    FUZZ_HOLDS(same_offer(&a, &b));
    return d;
}

static enum wire_decoded try_label(struct fuzz_message *m, struct twice *t, struct fis_error *e)
{
    struct wire_label a = {0}, b = {0};
    enum wire_decoded d = wire_protobuf_label(&fuzz_schema, &m->message, &m->arena, &a, e);
    if (d != WIRE_OK)
        return d;
    FUZZ_HOLDS(a.class_index < fuzz_schema.n_classes && a.id.length && a.annotator);
    must(!wire_protobuf_label_encode(&fuzz_schema, &a, &t->bytes, e), e);
    must(wire_protobuf_label(&fuzz_schema, again(t, m), &t->arena, &b, e) == WIRE_OK, e);
    FUZZ_HOLDS(same_label(&a, &b));
    return d;
}

static enum wire_decoded try_request(struct fuzz_message *m, struct twice *t, struct fis_error *e)
{
    struct wire_label_request a = {0}, b = {0};
    const char *const *classes = NULL;
    uint32_t n_classes = 0;
    enum wire_decoded d =
        wire_protobuf_request(&m->message, &m->arena, &a, &classes, &n_classes, e);
    if (d != WIRE_OK)
        return d;
    for (uint32_t i = 0; i < n_classes; i++)
        FUZZ_HOLDS(classes[i]);
    FUZZ_HOLDS(!a.cancelled || (n_classes == 0 && a.votes == 1));
    must(!wire_protobuf_request_encode(&fuzz_schema, &a, &t->bytes, e), e);
    must(wire_protobuf_request(again(t, m), &t->arena, &b, &classes, &n_classes, e) == WIRE_OK, e);
    FUZZ_HOLDS(same_request(&a, &b) && n_classes == (a.cancelled ? 0 : fuzz_schema.n_classes));
    return d;
}

static enum wire_decoded try_control(struct fuzz_message *m, struct twice *t, struct fis_error *e)
{
    struct wire_control a = {0}, b = {0};
    enum wire_decoded d = wire_control_decode(&m->message, &m->arena, &a, e);
    if (d != WIRE_OK)
        return d;
    must(!wire_control_encode(&a, &t->bytes, e), e);
    must(wire_control_decode(again(t, m), &t->arena, &b, e) == WIRE_OK, e);
    FUZZ_HOLDS(same_control(&a, &b));
    return d;
}

/* The marker once, and in an entry of the map of sensitive attributes. */
static int is_hidden(struct wire_bytes value)
{
    struct fis_error e;
    struct wire_field f;
    if (!value.data || fuzz_markers(value.data, value.length) != 1 ||
        wire_unframe_again(&value, &e))
        return 0;
    struct wire_reader r = wire_reader_of(value);
    while (wire_reader_next(&r, &f, &e) > 0)
        if (f.number == 6 && f.type == WIRE_LENGTH && fuzz_markers(f.data, f.length))
            return 1;
    return 0;
}

static enum wire_decoded try_example(struct fuzz_message *m, int sensitive, struct fis_error *e)
{
    struct wire_example x = {0};
    enum wire_decoded d =
        wire_protobuf_example(&fuzz_schema, FUZZ_COLUMNS, sensitive, &m->message, &m->arena, &x, e);
    if (d == WIRE_BAD && is_hidden(m->message.value) && fuzz_markers(e->text, strlen(e->text)))
        FUZZ_FAIL("a sensitive value is shown: %s", e->text);
    if (d != WIRE_OK)
        return d;
    FUZZ_HOLDS(x.id.length && x.class_index < fuzz_schema.n_classes);
    for (uint32_t i = 0; i < FUZZ_COLUMNS; i++)
        FUZZ_HOLDS(x.values[i].kind == FIS_VALUE_NUMBER && isfinite(x.values[i].number));
    FUZZ_HOLDS((x.sensitive != NULL) == sensitive);
    for (uint32_t i = 0; sensitive && i < fuzz_schema.n_sensitive; i++)
        FUZZ_HOLDS(x.sensitive[i].kind != FIS_VALUE_TEXT || x.sensitive[i].text);
    return d;
}

static void try(struct fuzz_message *m, uint8_t kind)
{
    struct twice t = {0};
    struct fis_error e = {0};
    enum wire_decoded d = WIRE_OK;
    if (kind == 'r')
        try_record(m);
    else if (kind == 'o')
        d = try_offer(m, &t, &e);
    else if (kind == 'l')
        d = try_label(m, &t, &e);
    else if (kind == 'q')
        d = try_request(m, &t, &e);
    else if (kind == 'c')
        d = try_control(m, &t, &e);
    else
        d = try_example(m, kind == 'v', &e);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    twice_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_message m;
    uint8_t kind = fuzz_byte(&in);
    if (!kind || !strchr("rolqciv", kind))
        return 0;
    fuzz_message_take(&m, in);
    try(&m, kind);
    fuzz_message_done(&m);
    return 0;
}

/*
 * The Confluent frame. The input is a value: the frame comes off whole or is refused, and a message
 * in a frame is taken exactly as the message without it. The first byte picks the decoder.
 */
#include <stdlib.h>

#include "same.h"

#include "wire/framing.h"
#include "wire/protobuf_codec.h"
#include "wire/protobuf_reader.h"

#define ARENA ((size_t)64 * 1024)

struct outcome {
    enum wire_decoded decoded;
    struct fis_error error;
    struct fis_arena arena;
    struct wire_record record;
    float x[FUZZ_COLUMNS];
    struct wire_label label;
    struct wire_label_request request;
    struct wire_example example;
};

static void decode(uint8_t kind, struct wire_bytes value, struct outcome *o)
{
    struct wire_message m = fuzz_message_of(value);
    m.key = (struct wire_bytes){"key", 3};
    *o = (struct outcome){.arena = fuzz_arena(ARENA)};
    if (kind % 4 == 0)
        o->decoded = wire_protobuf_record(&fuzz_schema, fuzz_plain_encoder(), &m, &o->arena, o->x,
                                          &o->record, &o->error);
    else if (kind % 4 == 1)
        o->decoded = wire_protobuf_label(&fuzz_schema, &m, &o->arena, &o->label, &o->error);
    else if (kind % 4 == 2)
        o->decoded = wire_protobuf_request(&m, &o->arena, &o->request, NULL, NULL, &o->error);
    else
        o->decoded = wire_protobuf_example(&fuzz_schema, FUZZ_COLUMNS, 0, &m, &o->arena,
                                           &o->example, &o->error);
    if (o->decoded == WIRE_BAD)
        fuzz_check_error(&o->error);
}

static void check_same(uint8_t kind, const struct outcome *a, const struct outcome *b)
{
    FUZZ_HOLDS(a->decoded == b->decoded);
    if (a->decoded != WIRE_OK)
        return;
    if (kind % 4 == 0)
        FUZZ_HOLDS(same_floats(a->x, b->x, FUZZ_COLUMNS) &&
                   fuzz_same_id(&a->record.id, &b->record.id));
    else if (kind % 4 == 1)
        FUZZ_HOLDS(same_label(&a->label, &b->label));
    else if (kind % 4 == 2)
        FUZZ_HOLDS(same_request(&a->request, &b->request));
    else
        FUZZ_HOLDS(a->example.class_index == b->example.class_index);
}

static void check_framed(uint8_t kind, struct wire_bytes value, struct wire_bytes inside)
{
    struct outcome framed, plain;
    decode(kind, value, &framed);
    decode(kind, inside, &plain);
    /* Within the frame a message may not begin as another frame does. */
    const unsigned char *first = inside.data;
    if (!inside.length || first[0] != 0)
        check_same(kind, &framed, &plain);
    else
        FUZZ_HOLDS(framed.decoded == WIRE_BAD);
    free(framed.arena.base);
    free(plain.arena.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fis_error e = {0};
    uint8_t kind = fuzz_byte(&in);
    struct wire_bytes value = {in.data, in.size}, inside = value;
    if (!value.data)
        return 0;
    int rc = wire_unframe_again(&inside, &e);
    fuzz_check_result(rc, &e);
    if (rc) {
        FUZZ_HOLDS(in.data[0] == 0 && inside.data == value.data && inside.length == value.length);
        return 0;
    }
    const unsigned char *from = value.data, *to = inside.data;
    FUZZ_HOLDS(to && to + inside.length == from + value.length);
    FUZZ_HOLDS((to > from) == (value.length > 0 && from[0] == 0));
    if (to > from)
        FUZZ_HOLDS(to - from >= 6);
    check_framed(kind, value, inside);
    return 0;
}

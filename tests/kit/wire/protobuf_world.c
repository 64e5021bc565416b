#include "kit/wire/protobuf_world.h"

const float protobuf_expected[PROTOBUF_D] = {.5f, -1, 0, 2};

const unsigned char protobuf_packed[22] = {0x0a, 2, 'r', '1', 0x12, 0x10, F1, F2, F3, F4};

int protobuf_world_up(void **state)
{
    struct protobuf_world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->schema = test_schema;
    w->enc = plain_encoder(PROTOBUF_D);
    w->arena = test_arena(1024);
    *state = w;
    return 0;
}

int protobuf_world_down(void **state)
{
    struct protobuf_world *w = *state;
    fis_encoder_free(w->enc);
    fis_free(w->arena.base);
    free(w);
    return 0;
}

enum wire_decoded protobuf_decode(struct protobuf_world *w, const struct wire_message *m)
{
    fis_arena_reset(&w->arena);
    memset(&w->record, 0, sizeof w->record);
    for (uint32_t i = 0; i < PROTOBUF_D; i++)
        w->x[i] = 99;
    w->e.text[0] = 0;
    return wire_protobuf_record(&w->schema, w->enc, m, &w->arena, w->x, &w->record, &w->e);
}

enum wire_decoded protobuf_decode_bytes(struct protobuf_world *w, const void *bytes, size_t length)
{
    struct wire_message m = message_of("key", 3, bytes, length);
    return protobuf_decode(w, &m);
}

void protobuf_assert_good(struct protobuf_world *w, const void *bytes, size_t length,
                          const char *id)
{
    if (protobuf_decode_bytes(w, bytes, length) != WIRE_OK)
        fail_msg("%s", w->e.text);
    assert_memory_equal(w->x, protobuf_expected, sizeof protobuf_expected);
    assert_id(&w->record.id, id);
    assert_int_equal(w->record.event_time_ms, 1700000000000);
}

void protobuf_assert_bad(struct protobuf_world *w, const void *bytes, size_t length,
                         const char *says)
{
    assert_int_equal(protobuf_decode_bytes(w, bytes, length), WIRE_BAD);
    assert_int_equal(w->e.kind, FIS_INPUT);
    assert_says(&w->e, says);
    assert_true(w->x[0] == 99); /* nothing written */
    assert_int_equal(w->record.id.length, 0);
}

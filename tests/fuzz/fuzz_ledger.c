/*
 * The ledger: a message as in common.h, of which the key says what it is. What is decoded is the
 * same when it is encoded and decoded again. Behind a first byte 'c': a checkpoint, whole.
 */
#include <stdlib.h>

#include "same.h"

#include "wire/ledger.h"

static void check_again(const struct wire_message *from, const struct wire_ledger_item *a,
                        const struct byte_buffer *bytes)
{
    struct wire_message m = *from;
    struct wire_ledger_item b = {0};
    struct fis_error e = {0};
    /* A few bytes may say a vector of many zeros. */
    size_t wide = a->kind == WIRE_LEDGER_ENTRY ? a->entry.d * sizeof(float) : 0;
    struct fis_arena arena = fuzz_arena(16 * bytes->length + wide + 65536);
    m.value = (struct wire_bytes){bytes->data, bytes->length};
    if (wire_ledger_decode(&m, &arena, &b, &e) != WIRE_OK)
        FUZZ_FAIL("what was decoded does not go through once more: %s", e.text);
    FUZZ_HOLDS(a->kind == b.kind);
    if (a->kind == WIRE_LEDGER_ENTRY)
        FUZZ_HOLDS(same_entry(&a->entry, &b.entry));
    else
        FUZZ_HOLDS(same_state(&a->state, &b.state));
    free(arena.base);
}

static void try_item(struct fuzz_message *m)
{
    struct wire_ledger_item item = {0};
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    enum wire_decoded d = wire_ledger_decode(&m->message, &m->arena, &item, &e);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    FUZZ_HOLDS(d == WIRE_BAD || (d == WIRE_TOMBSTONE) == !m->message.value.data);
    if (d != WIRE_OK)
        return;
    int rc = 0;
    if (item.kind == WIRE_LEDGER_ENTRY)
        rc = wire_ledger_entry_encode(&item.entry, &out, &e);
    else if (item.kind == WIRE_LEDGER_STATE)
        rc = wire_ledger_state_encode(&item.state, &out, &e);
    else
        FUZZ_HOLDS(item.chunk.data);
    if (rc)
        FUZZ_FAIL("what was decoded cannot be encoded: %s", e.text);
    if (item.kind != WIRE_LEDGER_CHECKPOINT)
        check_again(&m->message, &item, &out);
    byte_buffer_done(&out);
}

static void try_checkpoint(struct fuzz_input in)
{
    struct wire_checkpoint a = {0}, b = {0};
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    int rc = wire_checkpoint_decode((struct wire_bytes){in.data, in.size}, &a, &e);
    fuzz_check_result(rc, &e);
    if (rc)
        return;
    FUZZ_HOLDS(a.format != 0);
    if (wire_checkpoint_encode(&a, &out, &e) ||
        wire_checkpoint_decode((struct wire_bytes){out.data, out.length}, &b, &e))
        FUZZ_FAIL("a checkpoint that was decoded: %s", e.text);
    FUZZ_HOLDS(a.format == b.format && a.version == b.version &&
               fuzz_same_bytes(a.learner, b.learner) && fuzz_same_bytes(a.gate, b.gate));
    byte_buffer_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_message m;
    uint8_t kind = fuzz_byte(&in);
    if (kind == 'c') {
        try_checkpoint(in);
    } else if (kind == 'm') {
        fuzz_message_take(&m, in);
        try_item(&m);
        fuzz_message_done(&m);
    }
    return 0;
}

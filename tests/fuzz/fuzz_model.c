/*
 * Heads, model versions and the chunks that both go in. The first byte says what the rest is: 'h' a
 * head, 'm' a model version, 'c' chunks one after the other (two bytes of length, little-endian,
 * before each), 'p' anything, cut into chunks and put together again.
 */
#include <stdlib.h>

#include "same.h"

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/json_arena.h"
#include "wire/json_text.h"
#include "wire/model.h"

static struct wire_bytes bytes_of(const struct byte_buffer *b)
{
    return (struct wire_bytes){b->data ? b->data : (void *)"", b->length};
}

static void try_head(struct fuzz_input in)
{
    struct wire_head_owned a, b;
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    int rc = wire_head_decode((struct wire_bytes){in.data, in.size}, &a, &e);
    fuzz_check_result(rc, &e);
    if (rc)
        return;
    if (wire_head_encode(&a.head, &out, &e) || wire_head_decode(bytes_of(&out), &b, &e))
        FUZZ_FAIL("a head that was decoded: %s", e.text);
    FUZZ_HOLDS(same_head(&a.head, &b.head));
    wire_head_done(&a);
    wire_head_done(&b);
    byte_buffer_done(&out);
}

/* A version for people is JSON. */
static void check_shown(const struct wire_model *model, int weights)
{
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    if (wire_model_json(model, &out, weights, &e))
        FUZZ_FAIL("a version that was decoded, as JSON: %s", e.text);
    json_t *object = wire_json_parse(bytes_of(&out), &e);
    if (!object)
        FUZZ_FAIL("%s: %.*s", e.text, (int)out.length, (const char *)out.data);
    json_decref(object);
    byte_buffer_done(&out);
}

static void try_model(struct fuzz_input in)
{
    struct wire_model_owned a, b;
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    int rc = wire_model_decode((struct wire_bytes){in.data, in.size}, &a, &e);
    fuzz_check_result(rc, &e);
    if (rc)
        return;
    if (wire_model_encode(&a.model, &out, &e) || wire_model_decode(bytes_of(&out), &b, &e))
        FUZZ_FAIL("a version that was decoded: %s", e.text);
    FUZZ_HOLDS(same_model(&a.model, &b.model));
    check_shown(&a.model, 0);
    check_shown(&a.model, 1);
    wire_model_done(&a);
    wire_model_done(&b);
    byte_buffer_done(&out);
}

#define MOST_HELD 8192u

/* Chunks as they come; what is held stays within its limit. */
static void try_chunks(struct fuzz_input in)
{
    enum wire_assembly mode = fuzz_byte(&in) & 1u ? WIRE_ASSEMBLE_NEWEST : WIRE_ASSEMBLE_EACH;
    struct wire_assembler *a = wire_assembler_new(mode, 3, MOST_HELD);
    FUZZ_HOLDS(a);
    while (in.size >= 2) {
        struct wire_bytes payload = {0};
        struct fis_error e = {0};
        uint64_t version = 0;
        size_t length = fuzz_byte(&in);
        length |= (size_t)fuzz_byte(&in) << 8;
        length = length < in.size ? length : in.size;
        struct wire_bytes chunk = {in.data, length};
        int rc = wire_assembler_feed(a, chunk, &payload, &version, &e);
        fuzz_check_result(rc, &e);
        FUZZ_HOLDS((rc > 0) == (payload.data != NULL));
        FUZZ_HOLDS(payload.length <= MOST_HELD && wire_assembler_held(a) <= MOST_HELD);
        in.data += length;
        in.size -= length;
    }
    wire_assembler_free(a);
}

#define MOST_PIECES 64u

/* The chunks of `in`, fed in an order that its first bytes say: the last one completes it. */
static void try_cut(struct fuzz_input in)
{
    size_t max = 1u + fuzz_byte(&in), step = 1u + fuzz_byte(&in), n = 0;
    if (in.size / max >= MOST_PIECES)
        max = in.size / MOST_PIECES + 1;
    struct wire_bytes payload = {in.data, in.size}, whole = {0};
    struct wire_chunks chunks;
    struct byte_buffer piece[MOST_PIECES + 1] = {{0}};
    struct fis_error e = {0};
    uint64_t version = 0;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 0);
    FUZZ_HOLDS(a && wire_chunks_start(&chunks, 7, payload, max, &e) == 0);
    while (n <= MOST_PIECES && wire_chunks_next(&chunks, &piece[n], &e) > 0)
        n++;
    FUZZ_HOLDS(n == chunks.count && n <= MOST_PIECES);
    for (size_t i = 0, done = 0; done < n; i = (i + step) % n) {
        while (!piece[i].length)
            i = (i + 1) % n;
        int rc = wire_assembler_feed(a, bytes_of(&piece[i]), &whole, &version, &e);
        FUZZ_HOLDS(rc == (++done == n));
        piece[i].length = 0;
    }
    FUZZ_HOLDS(version == 7 && fuzz_same_bytes(payload, whole) && !wire_assembler_held(a));
    for (size_t i = 0; i < n; i++)
        byte_buffer_done(&piece[i]);
    wire_assembler_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    struct fuzz_input in = {data, size};
    if (!begun)
        wire_json_init();
    begun = 1;
    switch (fuzz_byte(&in)) {
    case 'h':
        try_head(in);
        break;
    case 'm':
        try_model(in);
        break;
    case 'c':
        try_chunks(in);
        break;
    case 'p':
        try_cut(in);
        break;
    default:
        break;
    }
    return 0;
}

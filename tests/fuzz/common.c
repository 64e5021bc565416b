#include "common.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

#define SMALL_ARENA 600u
#define LARGE_ARENA ((size_t)256 * 1024)

void fuzz_fail(const char *file, int line, const char *format, ...)
{
    va_list ap;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

void fuzz_check_error(const struct fis_error *e)
{
    size_t n = strnlen(e->text, sizeof e->text);
    FUZZ_HOLDS(e->kind != FIS_OK);
    FUZZ_HOLDS(n > 0 && n < sizeof e->text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)e->text[i] < 0x20 || e->text[i] == 0x7f)
            FUZZ_FAIL("byte %zu of the error is a control character: %s", i, e->text);
    if (utf8_prefix(e->text, n) < n)
        FUZZ_FAIL("the error is not UTF-8: %s", e->text);
}

void fuzz_check_result(int rc, const struct fis_error *e)
{
    if (rc >= 0)
        return;
    fuzz_check_error(e);
    FUZZ_HOLDS(rc == -(int)e->kind);
}

static const char *const classes[] = {"no", "yes"};
static const char *const sensitive[] = {"sex", "race"};
static const char *const passthrough[] = {"note"};
const struct wire_schema fuzz_schema = {
    .classes = classes,
    .n_classes = 2,
    .id_column = "id",
    .label_column = "hired",
    .sensitive = sensitive,
    .n_sensitive = 2,
    .max_bytes = 4096,
    .members.listed[WIRE_PASS] = {passthrough, 1},
};

const struct fis_column fuzz_mixed_columns[FUZZ_MIXED_COLUMNS] = {
    {"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"score", FIS_NUMERIC, FIS_SCALE_NONE},
    {"job", FIS_CATEGORICAL, FIS_SCALE_NONE},
};

static struct fis_encoder *made(const struct fis_encoder_column_state *states, uint32_t n)
{
    struct fis_error e = {0};
    struct fis_encoder *encoder = fis_encoder_from_states(states, n, &e);
    if (!encoder)
        FUZZ_FAIL("%s", e.text);
    return encoder;
}

/* Encoders are made once and live as long as the process. */
const struct fis_encoder *fuzz_plain_encoder(void)
{
    static struct fis_encoder *encoder;
    static const char *const names[FUZZ_COLUMNS] = {"f0", "f1", "f2", "f3"};
    struct fis_encoder_column_state states[FUZZ_COLUMNS];
    if (encoder)
        return encoder;
    for (uint32_t i = 0; i < FUZZ_COLUMNS; i++)
        states[i] = (struct fis_encoder_column_state){
            .column = {names[i], FIS_NUMERIC, FIS_SCALE_NONE}, .deviation = 1};
    return encoder = made(states, FUZZ_COLUMNS);
}

const struct fis_encoder *fuzz_mixed_encoder(void)
{
    static struct fis_encoder *encoder;
    static const char *const jobs[] = {"clerk", "driver", "n\xc3\xbcrse"};
    const struct fis_encoder_column_state states[FUZZ_MIXED_COLUMNS] = {
        {.column = fuzz_mixed_columns[0], .mean = 38.5, .deviation = 9.25, .missing_indicator = 1},
        {.column = fuzz_mixed_columns[1], .deviation = 1},
        {.column = fuzz_mixed_columns[2], .deviation = 1, .n_categories = 3, .categories = jobs},
    };
    if (encoder)
        return encoder;
    encoder = made(states, FUZZ_MIXED_COLUMNS);
    FUZZ_HOLDS(fis_encoder_dimension(encoder) == FUZZ_MIXED_D);
    return encoder;
}

unsigned fuzz_markers(const void *bytes, size_t length)
{
    const char *at = bytes;
    unsigned n = 0;
    for (size_t i = 0; i + sizeof FUZZ_MARKER - 1 <= length; i++)
        n += memcmp(at + i, FUZZ_MARKER, sizeof FUZZ_MARKER - 1) == 0;
    return n;
}

uint8_t fuzz_byte(struct fuzz_input *in)
{
    if (!in->size)
        return 0;
    in->size--;
    return *in->data++;
}

struct fis_arena fuzz_arena(size_t size)
{
    struct fis_arena a = {.base = malloc(size), .size = size};
    FUZZ_HOLDS(a.base);
    return a;
}

/* Made once: a large block costs the address sanitizer more than the decoder under test. */
static struct fis_arena large_arena(void)
{
    static struct fis_arena a;
    if (!a.base)
        a = fuzz_arena(LARGE_ARENA);
    return a;
}

struct wire_message fuzz_message_of(struct wire_bytes value)
{
    return (struct wire_message){.topic = "t.records",
                                 .partition = 3,
                                 .offset = 42,
                                 .timestamp_ms = 1700000000000,
                                 .value = value};
}

void fuzz_message_take(struct fuzz_message *m, struct fuzz_input in)
{
    uint8_t flags = fuzz_byte(&in);
    size_t key = flags & 63u;
    key = key < in.size ? key : in.size;
    m->message = fuzz_message_of((struct wire_bytes){in.data + key, in.size - key});
    if (key)
        m->message.key = (struct wire_bytes){in.data, key};
    if (flags & 128u)
        m->message.value = (struct wire_bytes){NULL, 0};
    m->arena = flags & 64u ? fuzz_arena(SMALL_ARENA) : large_arena();
}

void fuzz_message_done(struct fuzz_message *m)
{
    if (m->arena.size == SMALL_ARENA)
        free(m->arena.base);
}

int fuzz_same_id(const struct fis_id *a, const struct fis_id *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

int fuzz_same_bytes(struct wire_bytes a, struct wire_bytes b)
{
    return a.length == b.length && (!a.length || memcmp(a.data, b.data, a.length) == 0);
}

int fuzz_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

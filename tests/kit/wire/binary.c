#include "kit/wire/binary.h"

static const char *const test_classes[] = {"no", "yes"};
static const char *const test_sensitive[] = {"sex", "race"};
const struct wire_schema test_schema = {
    .classes = test_classes,
    .n_classes = 2,
    .id_column = "id",
    .label_column = "hired",
    .sensitive = test_sensitive,
    .n_sensitive = 2,
    .max_bytes = 4096,
};

struct fis_encoder *plain_encoder(uint32_t n)
{
    struct fis_encoder_column_state *states = calloc(n, sizeof *states);
    char(*names)[16] = calloc(n, sizeof *names);
    struct fis_error e = {0};
    assert_non_null(states);
    assert_non_null(names);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        states[i] = (struct fis_encoder_column_state){
            .column = {names[i], FIS_NUMERIC, FIS_SCALE_NONE}, .mean = 0, .deviation = 1};
    }
    struct fis_encoder *enc = fis_encoder_from_states(states, n, &e);
    free(states);
    free(names);
    if (!enc)
        fail_msg("%s", e.text);
    return enc;
}

struct fis_arena test_arena(size_t size)
{
    return (struct fis_arena){.base = fis_alloc(size, 1), .size = size};
}

int codec_up(void **state, size_t size, size_t arena)
{
    struct codec *c = calloc(1, size);
    assert_non_null(c);
    c->arena = test_arena(arena);
    *state = c;
    return 0;
}

int codec_down(void **state)
{
    struct codec *c = *state;
    fis_free(c->arena.base);
    byte_buffer_done(&c->out);
    free(c);
    return 0;
}

struct wire_message message_of(const void *key, size_t key_length, const void *value, size_t length)
{
    return (struct wire_message){.topic = "t.records",
                                 .partition = 3,
                                 .offset = 42,
                                 .timestamp_ms = 1700000000000,
                                 .key = {key, key_length},
                                 .value = {value, length}};
}

void assert_id(const struct fis_id *id, const char *text)
{
    assert_int_equal(id->length, strlen(text));
    assert_memory_equal(id->bytes, text, id->length);
}

void assert_says(const struct fis_error *e, const char *part)
{
    if (!strstr(e->text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, e->text);
}

float random_float(struct fis_rng *r)
{
    return (float)fis_rng_normal(r);
}

static void try_copy(try_fn *try, void *arg, const unsigned char *bytes, size_t length)
{
    unsigned char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    try(arg, copy, length);
    free(copy);
}

void spoil(const void *bytes, size_t length, uint32_t n, try_fn *try, void *arg)
{
    struct fis_rng rng;
    unsigned char *work = malloc(length + 4);
    assert_non_null(work);
    fis_rng_seed(&rng, 20240607, length);
    for (size_t cut = 0; cut < length; cut++)
        try_copy(try, arg, bytes, cut);
    for (uint32_t i = 0; i < n; i++) {
        size_t now = length;
        memcpy(work, bytes, length);
        for (uint32_t times = 1 + fis_rng_below(&rng, 4); times && now; times--) {
            size_t at = fis_rng_below(&rng, (uint32_t)now);
            unsigned char byte = (unsigned char)fis_rng_below(&rng, 256);
            switch (fis_rng_below(&rng, 4)) {
            case 0:
                memmove(work + at + 1, work + at, now - at);
                work[at] = byte;
                now++;
                break;
            case 1:
                memmove(work + at, work + at + 1, now - at - 1);
                now--;
                break;
            default:
                work[at] = byte;
            }
        }
        try_copy(try, arg, work, now);
    }
    free(work);
}

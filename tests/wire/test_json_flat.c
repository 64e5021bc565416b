/* The fast way through a JSON record, held to the way by a tree: the same features to the last bit,
 * the same id, and the same refusal, for records of every kind and for spoiled ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "wire/json_codec.h"
#include "wire/json_impl.h"

static const struct fis_column columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
    {.name = "x", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "job", .type = FIS_CATEGORICAL},
    {.name = "größe", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "age2", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
};
enum { COLUMNS = 5, D = 16 };
static const char *const classes[] = {"no", "yes"}, *const passthrough[] = {"photo", "note"};
static struct wire_schema schema = {.classes = classes,
                                    .n_classes = 2,
                                    .id_column = "id",
                                    .label_column = "label",
                                    .max_bytes = 4096,
                                    .members.listed[WIRE_PASS] = {passthrough, 2}};
static struct fis_encoder *encoder;
static _Alignas(64) unsigned char storage[1 << 16];
static struct fis_arena arena = {.base = storage, .size = sizeof storage};

static int set_up(void **state)
{
    (void)state;
    struct fis_error e;
    wire_json_init();
    encoder = fis_encoder_new(columns, COLUMNS, 10, &e);
    static const char *const jobs[] = {"clerk", "nürse", ""};
    for (int i = 0; i < 6; i++) {
        struct fis_value v[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            v[c] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = i * 1.7 + c};
        v[2] = (struct fis_value){
            .kind = FIS_VALUE_TEXT, .text = jobs[i % 3], .length = strlen(jobs[i % 3])};
        if (i == 4)
            v[0].kind = FIS_VALUE_MISSING;
        if (!encoder || fis_encoder_observe(encoder, v, &e))
            return -1;
    }
    return fis_encoder_finish(encoder, &e);
}

static int tear_down(void **state)
{
    (void)state;
    fis_encoder_free(encoder);
    return 0;
}

struct result {
    enum wire_decoded decoded;
    float x[D];
    struct wire_record record;
    struct fis_error e;
};

typedef enum wire_decoded decode_fn(const struct wire_schema *schema,
                                    const struct fis_encoder *encoder, const struct wire_message *m,
                                    struct fis_arena *arena, float *x, struct wire_record *record,
                                    struct fis_error *e);

/* The text is copied to a block of just its size, so that reading past it is seen. */
static void decode(decode_fn *by, const char *text, size_t length, struct result *r)
{
    unsigned char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    struct wire_message m = {
        .topic = "t", .partition = 1, .offset = 2, .timestamp_ms = 3, .value = {copy, length}};
    memset(r, 0, sizeof *r);
    fis_arena_reset(&arena);
    r->decoded = by(&schema, encoder, &m, &arena, r->x, &r->record, &r->e);
    free(copy);
}

/* 1: both took it. */
static int agree_now(const char *text, size_t length)
{
    struct result a, b;
    decode(wire_json_record, text, length, &a);
    decode(wire_json_record_by_tree, text, length, &b);
    if (a.decoded != b.decoded || strcmp(a.e.text, b.e.text) != 0 ||
        memcmp(a.x, b.x, sizeof a.x) != 0 ||
        memcmp(&a.record.id, &b.record.id, 1 + (size_t)b.record.id.length) != 0 ||
        a.record.unseen != b.record.unseen || a.record.event_time_ms != b.record.event_time_ms)
        fail_msg("%.*s\n%d %s\n%d %s", (int)length, text, a.decoded, a.e.text, b.decoded, b.e.text);
    return a.decoded == WIRE_OK;
}

/* The same, whatever is done with unknown members and with numbers in texts. */
static int agree(const char *text, size_t length)
{
    static const char *const named[] = {"elsewhere", "größer"};
    const struct wire_schema before = schema;
    for (int i = 1; i < 6; i++) {
        schema.members.others = (enum wire_unknown)(i % 3);
        schema.members.listed[i % 2] = (struct wire_names){named, 2};
        schema.numeric_text = i > 2;
        agree_now(text, length);
        schema = before;
    }
    return agree_now(text, length);
}

/* Whether the text is taken without a tree. */
static int is_flat(const char *text)
{
    struct fis_value *values;
    struct wire_bytes id;
    fis_arena_reset(&arena);
    return wire_json_flat(&schema, encoder, (struct wire_bytes){text, strlen(text)}, &arena,
                          &values, &id);
}

static void what_goes_the_fast_way(void **state)
{
    (void)state;
    static const char *const fast[] = {
        "{\"id\":\"r1\",\"age\":39,\"job\":\"clerk\",\"größe\":1.5e3,\"age2\":-0.25}",
        " {\r\n\t\"age\" : null , \"photo\" : \"http://x/y\" , \"note\":17 }\n",
        "{\"x\":0.1,\"job\":\"nürse\"}",
        "{\"id\":12345,\"age\":3.141592653589793238}",
        "{\"id\":null,\"age\":1e-30}",
        "{\"id\":0,\"age\":123456789012345678901234567890}",
        "{\"id\":-0,\"job\":1.0}",
        "{\"id\":327267367867168100000,\"x\":1}",
    };
    static const char *const slow[] = {
        "{}",
        "{\"age\":1,\"age\":2}",
        "{\"age\":1,\"elsewhere\":2}",
        "{\"job\":\"cl\\u0065rk\"}",
        "{\"photo\":{\"a\":[1]},\"age\":1}",
        "{\"age\":01}",
        "{\"age\":1.}",
        "{\"age\":+1}",
        "{\"age\":1e}",
        "{\"age\":1} x",
        "{\"age\":1,}",
        "{\"age\":true}",
        "{\"id\":\"\",\"age\":1}",
        "{\"id\":1.5,\"age\":1}",
        "{\"job\":\"\xff\"}",
        "{\"job\":\"a\x01\"}",
        "\xef\xbb\xbf{\"age\":1}",
        "[1]",
        "",
    };
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        assert_true(is_flat(fast[i]));
        assert_true(agree(fast[i], strlen(fast[i])));
    }
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        assert_false(is_flat(slow[i]));
        agree(slow[i], strlen(slow[i]));
    }
}

static size_t put_value(struct fis_rng *rng, char *p)
{
    static const char *const texts[] = {"null",
                                        "true",
                                        "\"clerk\"",
                                        "\"n\xc3\xbcrse\"",
                                        "\"\"",
                                        "\"other\"",
                                        "\"a\\nb\"",
                                        "-0",
                                        "0",
                                        "-0.0",
                                        "1e400",
                                        "1e39",
                                        "-1e-400",
                                        "0.1",
                                        "0e5",
                                        "1E+3",
                                        "12e-3",
                                        "9007199254740993",
                                        "4.9e-324",
                                        "[1,2]",
                                        "{\"a\":1}",
                                        "00",
                                        "1.5.",
                                        "--1",
                                        "NaN",
                                        "\"\\ud800\"",
                                        "\"1\"",
                                        "2.2250738585072011e-308",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "0.000000000000000000000000000001234567890123456789",
                                        "179769313486231580793e289"};
    uint32_t what = fis_rng_below(rng, 100);
    if (what < 30)
        return (size_t)sprintf(p, "%s", texts[fis_rng_below(rng, sizeof texts / sizeof *texts)]);
    if (what < 50)
        return (size_t)sprintf(p, "%d", (int)fis_rng_below(rng, 2001) - 1000);
    double v = fis_rng_normal(rng) * pow(10, (int)fis_rng_below(rng, 40) - 20);
    return (size_t)sprintf(p, what < 75 ? "%.*g" : "%.*e", 1 + (int)fis_rng_below(rng, 19), v);
}

static size_t put_record(struct fis_rng *rng, char *p)
{
    static const char *const keys[] = {"age", "x",     "job",  "größe", "age2",
                                       "id",  "photo", "note", "label", "ag"};
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", "\r\n"};
    char *begin = p;
    uint32_t n = fis_rng_below(rng, 7), at = fis_rng_below(rng, 5);
    p += sprintf(p, "{");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = fis_rng_below(rng, 10) < 7 ? (at + i) % 7 : fis_rng_below(rng, 10);
        p += sprintf(p, "%s%s\"%s\"%s:%s", i ? "," : "", spaces[fis_rng_below(rng, 7)], keys[key],
                     spaces[fis_rng_below(rng, 7)], spaces[fis_rng_below(rng, 7)]);
        p += put_value(rng, p);
        p += sprintf(p, "%s", spaces[fis_rng_below(rng, 7)]);
    }
    p += sprintf(p, "}");
    return (size_t)(p - begin);
}

static void any_record_means_the_same_both_ways(void **state)
{
    (void)state;
    struct fis_rng rng;
    char text[2048];
    int taken = 0, flat = 0;
    fis_rng_seed(&rng, 21, 0);
    for (int i = 0; i < 30000; i++) {
        size_t length = put_record(&rng, text);
        text[length] = 0;
        flat += is_flat(text);
        taken += agree(text, length);
        /* And with some bytes of it spoiled, or cut. */
        for (uint32_t k = fis_rng_below(&rng, 3); k > 0; k--)
            text[fis_rng_below(&rng, (uint32_t)length)] =
                "{}[]\",:.-+eE0123456789 \\\x80\xc3\n\0a"[fis_rng_below(&rng, 30)];
        agree(text, fis_rng_below(&rng, 4) ? length : fis_rng_below(&rng, (uint32_t)length + 1));
    }
    assert_true(taken > 3000 && flat > 3000);
}

static void a_small_arena_is_no_error(void **state)
{
    (void)state;
    const char *text = "{\"id\":\"r1\",\"age\":39,\"job\":\"clerk\"}";
    for (size_t size = 16; size < 4096; size += 16) {
        arena.size = size;
        struct result r;
        decode(wire_json_record, text, strlen(text), &r);
        assert_true(r.decoded == WIRE_OK || strstr(r.e.text, "to decode"));
        assert_true(r.decoded == WIRE_OK || size < 2048);
    }
    arena.size = sizeof storage;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_the_fast_way),
        cmocka_unit_test(any_record_means_the_same_both_ways),
        cmocka_unit_test(a_small_arena_is_no_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

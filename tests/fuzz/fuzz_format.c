/*
 * Schemas of a registry, and records by them. The input: a letter for the kind (a: Avro, p:
 * protobuf), texts of schemas, each with a byte 0x1e behind it, and the record without its frame.
 * What is taken is JSON within its limit, and the same again; of Avro, libavro takes it too.
 */
#include <avro.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#include "wire/format.h"

#define SEPARATOR 0x1e
#define TEXTS 4
#define MOST 2048
#define ARENA ((size_t)64 * 1024)

struct outcome {
    int rc;
    struct fis_error error;
    struct fis_arena arena;
    struct wire_bytes json;
};

static void rewrite(const struct wire_format *f, struct wire_bytes value, struct outcome *o)
{
    *o = (struct outcome){.arena = fuzz_arena(ARENA)};
    o->rc = wire_format_json(f, value, MOST, &o->arena, &o->json, &o->error);
    fuzz_check_result(o->rc, &o->error);
    FUZZ_HOLDS(o->rc || o->json.length <= MOST);
}

static void check_json(struct wire_bytes json)
{
    json_error_t error;
    json_t *v = json_loadb(json.data, json.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!v)
        FUZZ_FAIL("%s: %.*s", error.text, (int)json.length, (const char *)json.data);
    json_decref(v);
}

/* libavro on a datum that was taken: its lengths are right by then. */
static void check_twin(struct wire_bytes schema, struct wire_bytes datum)
{
    avro_schema_t parsed = NULL;
    avro_value_t value;
    FUZZ_HOLDS(!avro_schema_from_json_length(schema.data, schema.length, &parsed));
    avro_value_iface_t *class = avro_generic_class_from_schema(parsed);
    FUZZ_HOLDS(class && !avro_generic_value_new(class, &value));
    avro_reader_t reader = avro_reader_memory(datum.data, (int64_t)datum.length);
    if (avro_value_read(reader, &value))
        FUZZ_FAIL("libavro: %s", avro_strerror());
    avro_reader_free(reader);
    avro_value_decref(&value);
    avro_value_iface_decref(class);
    avro_schema_decref(parsed);
}

static void check_record(const struct wire_format *f, const uint8_t *data, size_t size,
                         const struct wire_format_text *alone)
{
    struct outcome a, b;
    uint8_t *framed = calloc(1, size + 5);
    struct wire_bytes value = {framed, size + 5};
    if (!framed)
        abort();
    if (size)
        memcpy(framed + 5, data, size);
    rewrite(f, value, &a);
    rewrite(f, value, &b);
    FUZZ_HOLDS(a.rc == b.rc);
    if (!a.rc) {
        FUZZ_HOLDS(a.json.length == b.json.length &&
                   !memcmp(a.json.data, b.json.data, a.json.length));
        check_json(a.json);
    }
    if (!a.rc && alone)
        check_twin(alone->text, (struct wire_bytes){framed + 5, size});
    free(a.arena.base);
    free(b.arena.base);
    free(framed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct wire_format_text texts[TEXTS];
    struct wire_format *f = NULL;
    struct fis_error e = {0};
    uint32_t n = 0;
    bool avro = fuzz_byte(&in) != 'p';
    static const char *const names[TEXTS] = {"a.proto", "b.proto", "c.proto", "d.proto"};
    for (const uint8_t *end; n < TEXTS && in.size && (end = memchr(in.data, SEPARATOR, in.size));
         n++) {
        texts[n] = (struct wire_format_text){names[n], {in.data, (size_t)(end - in.data)}};
        in.size -= (size_t)(end - in.data) + 1;
        in.data = end + 1;
    }
    if (!n)
        return 0;
    int rc = wire_format_new(&f, avro ? WIRE_FORMAT_AVRO : WIRE_FORMAT_PROTOBUF, texts, n, &e);
    fuzz_check_result(rc, &e);
    if (!rc)
        check_record(f, in.data, in.size, avro && n == 1 ? &texts[0] : NULL);
    wire_format_free(f);
    return 0;
}

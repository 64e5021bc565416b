#include "kit/wire/json_world.h"

const struct fis_column json_columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "hours", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "job", .type = FIS_CATEGORICAL},
    {.name = "score", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
};

const char *const json_classes[] = {"no", "yes"};

const char *const json_sensitive[] = {"group", "race"};

const char *const json_passthrough[] = {"photo"};

const struct wire_schema json_schema = {
    .classes = json_classes,
    .n_classes = 2,
    .id_column = "id",
    .label_column = "hired",
    .sensitive = json_sensitive,
    .n_sensitive = 2,
    .max_bytes = 1 << 20,
    .members.listed[WIRE_PASS] = {json_passthrough, 1},
};

struct fis_encoder *json_encoder;

_Alignas(64) unsigned char json_storage[1 << 16];

struct fis_arena json_arena = {.base = json_storage, .size = sizeof json_storage};

int json_set_up(void **state)
{
    (void)state;
    wire_json_init();
    struct fis_error e;
    json_encoder = fis_encoder_new(json_columns, JSON_COLUMNS, 10, &e);
    struct fis_value v[JSON_COLUMNS] = {{.kind = FIS_VALUE_NUMBER, .number = 1},
                                        {.kind = FIS_VALUE_NUMBER, .number = 1},
                                        {.kind = FIS_VALUE_TEXT, .text = "clerk", .length = 5},
                                        {.kind = FIS_VALUE_NUMBER, .number = 1}};
    if (!json_encoder || fis_encoder_observe(json_encoder, v, &e))
        return -1;
    v[2] = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5};
    return fis_encoder_observe(json_encoder, v, &e) || fis_encoder_finish(json_encoder, &e);
}

int json_tear_down(void **state)
{
    (void)state;
    fis_encoder_free(json_encoder);
    return 0;
}

struct wire_message json_message(const char *value, size_t length, const char *key)
{
    static unsigned char *copy;
    free(copy);
    copy = value ? malloc(length ? length : 1) : NULL;
    if (value && length)
        memcpy(copy, value, length);
    fis_arena_reset(&json_arena);
    return (struct wire_message){.topic = "t.records",
                                 .partition = 2,
                                 .offset = 71,
                                 .timestamp_ms = 1234,
                                 .key = {key, key ? strlen(key) : 0},
                                 .value = {copy, length}};
}

enum wire_decoded json_record(const char *json, float *x, struct wire_record *r,
                              struct fis_error *e)
{
    struct wire_message m = json_message(json, strlen(json), "k1");
    return wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, r, e);
}

void json_id_is(const struct fis_id *id, const char *text)
{
    assert_int_equal(id->length, strlen(text));
    assert_memory_equal(id->bytes, text, strlen(text));
}

enum wire_decoded json_label(const struct wire_schema *s, const char *json, struct wire_label *l,
                             struct fis_error *e)
{
    struct wire_message m = json_message(json, strlen(json), "k7");
    return wire_json_label(s, &m, &json_arena, l, e);
}

struct wire_label_request json_request(const char *record)
{
    struct wire_label_request r = {.round = 3,
                                   .criterion = "ekg",
                                   .head_version = 12,
                                   .requested_at_ms = 1700000000000,
                                   .encoding = WIRE_JSON,
                                   .record = {record, record ? strlen(record) : 0}};
    assert_int_equal(fis_id_set(&r.id, "r\"1", 3), 0);
    return r;
}

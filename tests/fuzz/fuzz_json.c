/*
 * Messages in JSON. The first byte says what the rest is: 'r' a record, 'l' a label, 'i' an initial
 * and 'v' a validation example (each a message as in common.h), 's' the state of a process, 'p' any
 * JSON.
 */
#include <math.h>
#include <stdlib.h>

#include "same.h"

#include "wire/json_codec.h"
#include "wire/json_text.h"
#include "wire/process.h"

/* The request that shows the record to a person is JSON, with the record's own bytes in it. */
static void check_request(const struct fuzz_message *m, const struct wire_record *record)
{
    struct wire_label_request request = {.id = record->id,
                                         .round = 3,
                                         .criterion = "ekg",
                                         .head_version = 7,
                                         .requested_at_ms = 1700000000000,
                                         .deadline_ms = 1700000003000,
                                         .encoding = WIRE_JSON,
                                         .votes = 2,
                                         .record = m->message.value};
    struct fis_arena arena = m->arena;
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    fis_arena_reset(&arena);
    if (wire_json_label_request(&fuzz_schema, &request, NULL, &arena, &out, &e)) {
        if (arena.size >= 65536)
            FUZZ_FAIL("the request for a good record: %s", e.text);
        byte_buffer_done(&out); /* the small arena is for that */
        return;
    }
    json_t *object = wire_json_parse((struct wire_bytes){out.data, out.length}, &e);
    if (!object)
        FUZZ_FAIL("a request: %s", e.text);
    FUZZ_HOLDS(json_is_object(json_object_get(object, "record")));
    json_decref(object);
    struct wire_bytes text = wire_json_skip_mark(request.record);
    FUZZ_HOLDS(out.length > text.length + 1 &&
               memcmp(out.data + out.length - 1 - text.length, text.data, text.length) == 0);
    byte_buffer_done(&out);
}

static void try_record(struct fuzz_message *m)
{
    struct wire_record record = {0};
    struct fis_error e = {0};
    float x[FUZZ_MIXED_D];
    enum wire_decoded d = wire_json_record(&fuzz_schema, fuzz_mixed_encoder(), &m->message,
                                           &m->arena, x, &record, &e);
    FUZZ_HOLDS((d == WIRE_TOMBSTONE) == !m->message.value.data);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    if (d != WIRE_OK)
        return;
    for (uint32_t i = 0; i < FUZZ_MIXED_D; i++)
        FUZZ_HOLDS(isfinite(x[i]));
    FUZZ_HOLDS(record.id.length > 0 && record.unseen <= 1);
    check_request(m, &record);
}

static void try_label(struct fuzz_message *m)
{
    struct wire_label label = {0}, again = {0};
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    enum wire_decoded d = wire_json_label(&fuzz_schema, &m->message, &m->arena, &label, &e);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    if (d != WIRE_OK)
        return;
    FUZZ_HOLDS(label.status != WIRE_LABELLED || label.class_index < fuzz_schema.n_classes);
    if (wire_json_label_encode(&fuzz_schema, &label, &out, &e))
        FUZZ_FAIL("a label that was read cannot be written: %s", e.text);
    struct wire_message written = fuzz_message_of((struct wire_bytes){out.data, out.length});
    struct fis_arena arena = fuzz_arena(16384);
    if (wire_json_label(&fuzz_schema, &written, &arena, &again, &e) != WIRE_OK)
        FUZZ_FAIL("%s: %.*s", e.text, (int)out.length, (const char *)out.data);
    FUZZ_HOLDS(same_label(&label, &again));
    free(arena.base);
    byte_buffer_done(&out);
}

/* The marker once, as the value of a member: no error on a validation example shows a value. */
static int is_hidden(struct wire_bytes text)
{
    static const char *const names[] = {"sex", "race", "hired", "age", "score", "job"};
    const char *at = text.data;
    if (!at || fuzz_markers(at, text.length) != 1)
        return 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char member[32] = "\"";
        strcat(strcat(member, names[k]), "\":\"" FUZZ_MARKER);
        for (size_t n = strlen(member), i = 0; i + n <= text.length; i++)
            if (memcmp(at + i, member, n) == 0)
                return 1;
    }
    return 0;
}

static void check_example(const struct wire_example *x, int with_sensitive)
{
    FUZZ_HOLDS(x->id.length > 0 && x->class_index < fuzz_schema.n_classes);
    for (uint32_t i = 0; i < FUZZ_MIXED_COLUMNS; i++)
        FUZZ_HOLDS(fis_column_check(&fuzz_mixed_columns[i], &x->values[i], NULL) == 0);
    FUZZ_HOLDS((x->sensitive != NULL) == with_sensitive);
    for (uint32_t i = 0; with_sensitive && i < fuzz_schema.n_sensitive; i++)
        FUZZ_HOLDS(x->sensitive[i].kind != FIS_VALUE_TEXT || x->sensitive[i].text);
}

static void try_example(struct fuzz_message *m, int with_sensitive)
{
    struct wire_example x = {0};
    struct fis_error e = {0};
    enum wire_decoded d = wire_json_example(&fuzz_schema, fuzz_mixed_columns, FUZZ_MIXED_COLUMNS,
                                            with_sensitive, &m->message, &m->arena, &x, &e);
    if (d == WIRE_OK)
        check_example(&x, with_sensitive);
    if (d != WIRE_BAD)
        return;
    fuzz_check_error(&e);
    if (with_sensitive && is_hidden(m->message.value) && fuzz_markers(e.text, strlen(e.text)))
        FUZZ_FAIL("a value of a validation example is shown: %s", e.text);
}

/* Texts and numbers that were read come back the same when they are written and read again. */
static void check_member(struct byte_buffer *out, const json_t *v)
{
    struct fis_error e = {0};
    out->length = 0;
    int rc = wire_json_append(out, "{\"v\":", &e);
    if (!rc && json_is_string(v))
        rc = wire_json_escape(out, json_string_value(v), json_string_length(v), &e);
    else if (!rc)
        rc = wire_json_number(out, json_number_value(v), &e);
    if (!rc)
        rc = wire_json_append(out, "}", &e);
    if (rc)
        FUZZ_FAIL("a member that was read cannot be written: %s", e.text);
    json_t *object = wire_json_parse((struct wire_bytes){out->data, out->length}, &e);
    if (!object)
        FUZZ_FAIL("%s: %.*s", e.text, (int)out->length, (const char *)out->data);
    const json_t *again = json_object_get(object, "v");
    if (json_is_string(v))
        FUZZ_HOLDS(json_is_string(again) && json_equal(v, again));
    else
        FUZZ_HOLDS(json_number_value(v) == json_number_value(again));
    json_decref(object);
}

#define MOST_NAMED 8u

/* A request with named values, as of a record that did not come as JSON: the same values in it. */
static void check_named(const json_t *members)
{
    const char *names[MOST_NAMED];
    struct fis_value values[MOST_NAMED];
    struct wire_named_values named = {names, values, 0, NULL};
    struct wire_label_request request = {
        .id = {1, "r"}, .criterion = "ekg", .encoding = WIRE_PROTOBUF, .votes = 1};
    struct fis_arena arena = {0};
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)members, key, v)
    {
        if (named.n == MOST_NAMED || wire_json_value(v, key, true, &values[named.n], &e))
            continue;
        names[named.n++] = key;
    }
    if (wire_json_label_request(&fuzz_schema, &request, &named, &arena, &out, &e))
        FUZZ_FAIL("a request with named values: %s", e.text);
    json_t *object = wire_json_parse((struct wire_bytes){out.data, out.length}, &e);
    if (!object)
        FUZZ_FAIL("%s: %.*s", e.text, (int)out.length, (const char *)out.data);
    const json_t *record = json_object_get(object, "record");
    for (uint32_t i = 0; i < named.n; i++) {
        const json_t *found = json_object_get(record, names[i]);
        if (values[i].kind == FIS_VALUE_TEXT)
            FUZZ_HOLDS(json_equal(found, json_object_get(members, names[i])));
        else
            FUZZ_HOLDS(values[i].kind == FIS_VALUE_NUMBER
                           ? json_number_value(found) == values[i].number /* true: 1 */
                           : !found);
    }
    json_decref(object);
    byte_buffer_done(&out);
}

static void try_any(struct fuzz_input in)
{
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    json_t *object = wire_json_parse((struct wire_bytes){in.data, in.size}, &e);
    if (!object) {
        fuzz_check_error(&e);
        return;
    }
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        char shown[WIRE_JSON_SHOWN], digits[64];
        wire_json_show(v, shown);
        FUZZ_HOLDS(strnlen(shown, sizeof shown) < sizeof shown && *shown);
        struct wire_bytes number = {0};
        if (json_is_number(v))
            number = wire_json_digits((struct wire_bytes){in.data, in.size}, key);
        if (number.length && number.length < sizeof digits) {
            snprintf(digits, sizeof digits, "%.*s", (int)number.length, (const char *)number.data);
            FUZZ_HOLDS(strtod(digits, NULL) == json_number_value(v));
        }
        if (json_is_string(v) || json_is_number(v))
            check_member(&out, v);
    }
    check_named(object);
    json_decref(object);
    byte_buffer_done(&out);
}

/* What was read is written so that it reads the same. */
static void try_process(struct fuzz_input in)
{
    struct wire_message m = {.value = {in.data, in.size}};
    struct wire_process a, b;
    struct byte_buffer first = {0}, second = {0};
    struct fis_error e = {0};
    if (wire_process_decode(&m, &a, &e) != WIRE_OK)
        return;
    FUZZ_HOLDS(wire_process_encode(&a, &first, &e) == 0);
    m.value = (struct wire_bytes){first.data, first.length};
    FUZZ_HOLDS(wire_process_decode(&m, &b, &e) == WIRE_OK &&
               wire_process_encode(&b, &second, &e) == 0);
    FUZZ_HOLDS(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    byte_buffer_done(&first);
    byte_buffer_done(&second);
}

static void try_message(struct fuzz_input in, uint8_t kind)
{
    struct fuzz_message m;
    fuzz_message_take(&m, in);
    if (kind == 'r')
        try_record(&m);
    else if (kind == 'l')
        try_label(&m);
    else
        try_example(&m, kind == 'v');
    fuzz_message_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    struct fuzz_input in = {data, size};
    uint8_t kind = fuzz_byte(&in);
    if (!begun)
        wire_json_init();
    begun = 1;
    if (kind == 'p')
        try_any(in);
    else if (kind == 's')
        try_process(in);
    else if (kind && strchr("rliv", kind))
        try_message(in, kind);
    return 0;
}

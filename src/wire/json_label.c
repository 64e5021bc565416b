#include "wire/framing.h"
#include "wire/json_codec.h"

#include <stdio.h>
#include <string.h>

#include "wire/json_impl.h"
#include "wire/json_put.h"
#include "wire/json_text.h"
#include "base/utf8.h"

static void wire_json_classes(const struct wire_schema *schema, char text[WIRE_JSON_CLASSES])
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t k = 0; k < schema->n_classes; k++) {
        size_t left = WIRE_JSON_CLASSES - used;
        int n = snprintf(text + used, left, "%s\"%s\"", k ? ", " : "", schema->classes[k]);
        /* Room is kept for the "…" of those that do not fit. */
        if (n < 0 || (size_t)n + 6 > left) {
            snprintf(text + used, left, "%s", k ? ", …" : "…");
            return;
        }
        used += (size_t)n;
    }
}

json_t *wire_json_open(const struct wire_schema *schema, const struct wire_message *m,
                       struct fis_error *e)
{
    if (m->value.length > schema->max_bytes) {
        fis_refuse(e, FIS_CODE_TOO_LONG, "a value of %zu bytes, at most %zu allowed",
                   m->value.length, schema->max_bytes);
        return NULL;
    }
    return wire_json_parse(m->value, e);
}

static bool is_integer(struct wire_bytes digits)
{
    const char *p = digits.data;
    for (size_t i = 0; i < digits.length; i++)
        if (p[i] != '-' && (p[i] < '0' || p[i] > '9'))
            return false;
    return true;
}

int wire_json_id(const struct wire_message *m, const json_t *own, const char *name, int by_place,
                 struct fis_id *id, struct fis_error *e)
{
    char shown[WIRE_JSON_SHOWN];
    struct wire_bytes bytes = {NULL, 0};
    if (json_is_string(own)) {
        bytes = (struct wire_bytes){json_string_value(own), json_string_length(own)};
        if (bytes.length == 0)
            return fis_refuse(e, FIS_CODE_BAD_ID, "%s: the id is empty", name);
    } else if (json_is_number(own) && is_integer(wire_json_digits(m->value, name))) {
        bytes = wire_json_digits(m->value, name);
    } else if (own && !json_is_null(own)) {
        wire_json_show(own, shown);
        return fis_refuse(e, FIS_CODE_BAD_ID, "%s: an id is a text or an integer, %s found", name,
                          shown);
    }
    return wire_message_id(m, bytes, by_place, id, e);
}

int wire_class_of_value(const struct wire_schema *schema, const struct fis_value *label, int secret,
                        uint32_t *class_index, struct fis_error *e)
{
    char allowed[WIRE_JSON_CLASSES], room[FIS_CATEGORY_ROOM];
    const char *text;
    size_t length;
    wire_json_classes(schema, allowed);
    if (label->kind == FIS_VALUE_MISSING)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "no label (allowed: %s)", allowed);
    fis_value_category(label, room, &text, &length);
    int k = wire_schema_class(schema, text, length);
    if (k >= 0) {
        *class_index = (uint32_t)k;
        return 0;
    }
    if (secret)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "not a class (allowed: %s)", allowed);
    size_t n = utf8_prefix(text, length < 40 ? length : 40);
    const char *quote = label->kind == FIS_VALUE_TEXT ? "\"" : "";
    return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "label %s%.*s%s%s: not a class (allowed: %s)",
                      quote, (int)n, text, n < length ? "…" : "", quote, allowed);
}

int wire_json_class(const struct wire_schema *schema, const struct wire_message *m,
                    const json_t *object, const char *column, int secret, uint32_t *class_index,
                    struct fis_error *e)
{
    const json_t *label = wire_json_member(object, column);
    char allowed[WIRE_JSON_CLASSES], shown[WIRE_JSON_SHOWN];
    struct fis_value v = {.kind = FIS_VALUE_MISSING};
    if (json_is_number(label))
        v = wire_json_number_value(label, m->value, column);
    else if (json_is_string(label))
        v = (struct fis_value){.kind = FIS_VALUE_TEXT,
                               .text = json_string_value(label),
                               .length = json_string_length(label)};
    if (!label || v.kind != FIS_VALUE_MISSING)
        return wire_class_of_value(schema, &v, secret, class_index, e);
    wire_json_classes(schema, allowed);
    if (secret)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "not a class (allowed: %s)", allowed);
    wire_json_show(label, shown);
    return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "label %s: not a class (allowed: %s)", shown,
                      allowed);
}

static int index_class(const struct wire_schema *schema, const json_t *index, uint32_t *class_index,
                       struct fis_error *e)
{
    int64_t k;
    if (wire_json_whole(index, &k) && k >= 0 && k < (int64_t)schema->n_classes) {
        *class_index = (uint32_t)k;
        return 0;
    }
    char allowed[WIRE_JSON_CLASSES], shown[WIRE_JSON_SHOWN];
    wire_json_classes(schema, allowed);
    wire_json_show(index, shown);
    return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "class_index %s: 0 to %u allowed (%s)", shown,
                      schema->n_classes - 1, allowed);
}

static bool given(const json_t *v)
{
    return v && !json_is_null(v);
}

static int read_class(const struct wire_schema *schema, const struct wire_message *m,
                      const json_t *object, uint32_t *class_index, struct fis_error *e)
{
    const json_t *label = json_object_get(object, "label");
    const json_t *index = json_object_get(object, "class_index");
    uint32_t by_index = 0, by_name = 0;
    int rc = given(index) ? index_class(schema, index, &by_index, e) : 0;
    if (!rc && (given(label) || !given(index)))
        rc = wire_json_class(schema, m, object, "label", 0, &by_name, e);
    if (rc)
        return rc;
    if (given(index) && given(label) && by_index != by_name)
        return fis_refuse(e, FIS_CODE_CONTRADICTION,
                          "label \"%.40s\" and class_index %u (\"%.40s\") disagree",
                          schema->classes[by_name], by_index, schema->classes[by_index]);
    *class_index = given(index) ? by_index : by_name;
    return 0;
}

static const char *const statuses[] = {"labelled", "skipped", "unsure"};

static int read_status(const json_t *v, enum wire_label_status *status, struct fis_error *e)
{
    *status = WIRE_LABELLED;
    if (!given(v))
        return 0;
    for (int i = 0; i < 3; i++)
        if (json_is_string(v) && strcmp(json_string_value(v), statuses[i]) == 0) {
            *status = (enum wire_label_status)i;
            return 0;
        }
    char shown[WIRE_JSON_SHOWN];
    wire_json_show(v, shown);
    return fis_refuse(e, FIS_CODE_BAD_FIELD,
                      "status %s: \"labelled\", \"skipped\" or \"unsure\" allowed", shown);
}

/* A text, or an integer as its digits; the text lives where jansson put it: in the arena. */
static int read_annotator(const json_t *v, struct wire_bytes text, struct fis_arena *arena,
                          const char **annotator, struct fis_error *e)
{
    struct wire_bytes number = {"", 0};
    char shown[WIRE_JSON_SHOWN];
    *annotator = "";
    if (!given(v))
        return 0;
    if (json_is_number(v) && is_integer(number = wire_json_digits(text, "annotator")) &&
        number.length <= WIRE_ANNOTATOR) {
        char *digits = fis_arena_alloc(arena, number.length + 1);
        if (!digits)
            return fis_refuse(e, FIS_CODE_TOO_LONG, "a label takes more than %zu bytes",
                              arena->size);
        memcpy(digits, number.data, number.length);
        digits[number.length] = 0;
        *annotator = digits;
        return 0;
    }
    if (json_string_length(v) > 0 && json_string_length(v) <= WIRE_ANNOTATOR) {
        *annotator = json_string_value(v);
        return 0;
    }
    wire_json_show(v, shown);
    return fis_refuse(e, FIS_CODE_BAD_FIELD, "annotator %s: a text of 1 to %d bytes allowed", shown,
                      WIRE_ANNOTATOR);
}

static int read_time(const json_t *v, int64_t *at_ms, struct fis_error *e)
{
    char shown[WIRE_JSON_SHOWN];
    *at_ms = 0;
    if (!given(v))
        return 0;
    int64_t ms;
    if (wire_json_whole(v, &ms) && ms >= 0) {
        *at_ms = ms;
        return 0;
    }
    wire_json_show(v, shown);
    return fis_refuse(e, FIS_CODE_BAD_FIELD, "labelled_at_ms %s: milliseconds since 1970 allowed",
                      shown);
}

static int read_label(const struct wire_schema *schema, const struct wire_message *m,
                      struct fis_arena *arena, struct wire_label *label, struct fis_error *e)
{
    struct wire_label out = {0};
    const json_t *object = wire_json_open(schema, m, e);
    if (!object)
        return -(int)FIS_INPUT;
    int rc = wire_json_id(m, json_object_get(object, "id"), "id", 0, &out.id, e);
    if (!rc)
        rc = read_status(json_object_get(object, "status"), &out.status, e);
    if (!rc && out.status == WIRE_LABELLED)
        rc = read_class(schema, m, object, &out.class_index, e);
    else if (!rc && (given(json_object_get(object, "label")) ||
                     given(json_object_get(object, "class_index"))))
        rc = fis_refuse(e, FIS_CODE_CONTRADICTION, "status %s, but with a label: one or the other",
                        out.status == WIRE_SKIPPED ? "skipped" : "unsure");
    if (!rc)
        rc = read_annotator(json_object_get(object, "annotator"), m->value, arena, &out.annotator,
                            e);
    if (!rc)
        rc = read_time(json_object_get(object, "labelled_at_ms"), &out.labelled_at_ms, e);
    if (!rc)
        *label = out;
    return rc;
}

enum wire_decoded wire_json_label(const struct wire_schema *schema, const struct wire_message *m,
                                  struct fis_arena *arena, struct wire_label *label,
                                  struct fis_error *e)
{
    struct wire_message inside = *m;
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    if (wire_unframe_json(&inside.value, &schema->label_framing, "labels", e))
        return WIRE_BAD;
    wire_json_arena_enter(arena);
    int rc = read_label(schema, &inside, arena, label, e);
    wire_json_arena_leave();
    return rc ? WIRE_BAD : WIRE_OK;
}

int wire_json_label_encode(const struct wire_schema *schema, const struct wire_label *label,
                           struct byte_buffer *out, struct fis_error *e)
{
    int rc = wire_frame(&schema->label_framing, false, out, e);
    if (rc)
        return rc;
    struct wire_json_put p = wire_put(out, e);
    wire_put_open(&p, NULL, '{');
    wire_put_bytes(&p, "id", label->id.bytes, label->id.length);
    wire_put_text(&p, "status", statuses[label->status]);
    if (label->status == WIRE_LABELLED)
        wire_put_text(&p, "label", schema->classes[label->class_index]);
    if (label->annotator && *label->annotator)
        wire_put_text(&p, "annotator", label->annotator);
    if (label->labelled_at_ms)
        wire_put_whole(&p, "labelled_at_ms", label->labelled_at_ms);
    wire_put_close(&p, '}');
    return wire_put_done(&p);
}

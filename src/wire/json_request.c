#include "wire/json_codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/json_text.h"

static int append_named(const struct wire_named_values *named, struct wire_buffer *out,
                        struct fis_error *e)
{
    int rc = wire_json_append(out, "{", e), first = 1;
    for (uint32_t i = 0; !rc && i < named->n; i++) {
        const struct fis_value *v = &named->values[i];
        if (v->kind == FIS_VALUE_MISSING)
            continue;
        if (!first)
            rc = wire_json_append(out, ",", e);
        first = 0;
        if (!rc)
            rc = wire_json_escape(out, named->names[i], strlen(named->names[i]), e);
        if (!rc)
            rc = wire_json_append(out, ":", e);
        if (!rc)
            rc = v->kind == FIS_VALUE_NUMBER ? wire_json_number(out, v->number, e)
                                             : wire_json_escape(out, v->text, v->length, e);
    }
    return rc ? rc : wire_json_append(out, "}", e);
}

int wire_json_check(struct wire_bytes text, struct fis_arena *arena, struct fis_error *e)
{
    wire_json_arena_enter(arena);
    int good = wire_json_parse(text, e) != NULL;
    wire_json_arena_leave();
    return good ? 0 : -(int)FIS_INPUT;
}

/* The record's own bytes, which the labelling tool gets untouched; but only if they are an object,
 * or the message around them would not be JSON. */
static int append_record(const struct wire_label_request *r, const struct wire_named_values *named,
                         struct fis_arena *arena, struct wire_buffer *out, struct fis_error *e)
{
    if (r->encoding != WIRE_JSON)
        return named ? append_named(named, out, e) : wire_json_append(out, "null", e);
    int rc = wire_json_check(r->record, arena, e);
    if (rc)
        return rc;
    struct wire_bytes text = wire_json_skip_mark(r->record);
    return wire_buffer_append(out, text.data, text.length, e);
}

static int append_classes(const struct wire_schema *schema, struct wire_buffer *out,
                          struct fis_error *e)
{
    int rc = wire_json_append(out, ",\"classes\":", e);
    for (uint32_t k = 0; !rc && k < schema->n_classes; k++) {
        rc = wire_json_append(out, k ? "," : "[", e);
        if (!rc)
            rc = wire_json_escape(out, schema->classes[k], strlen(schema->classes[k]), e);
    }
    return rc ? rc : wire_json_append(out, "]", e);
}

static int append_u64(struct wire_buffer *out, const char *name, uint64_t value,
                      struct fis_error *e)
{
    char text[80];
    snprintf(text, sizeof text, ",\"%s\":%" PRIu64, name, value);
    return wire_json_append(out, text, e);
}

static int append_text(struct wire_buffer *out, const char *name, const char *value,
                       struct fis_error *e)
{
    char text[80];
    snprintf(text, sizeof text, ",\"%s\":", name);
    int rc = wire_json_append(out, text, e);
    return rc ? rc : wire_json_escape(out, value, strlen(value), e);
}

static int append_time(struct wire_buffer *out, const char *name, int64_t at_ms,
                       struct fis_error *e)
{
    char text[80];
    snprintf(text, sizeof text, ",\"%s\":%" PRId64, name, at_ms);
    return wire_json_append(out, text, e);
}

static int append_request(const struct wire_schema *schema, const struct wire_label_request *r,
                          struct wire_buffer *out, struct fis_error *e)
{
    int rc = wire_json_append(out, "{\"id\":", e);
    if (!rc)
        rc = wire_json_escape(out, r->id.bytes, r->id.length, e);
    if (!rc)
        rc = append_u64(out, "round", r->round, e);
    if (!rc && !r->cancelled)
        rc = append_text(out, "criterion", r->criterion, e);
    if (!rc)
        rc = append_u64(out, "head", r->head_version, e);
    if (!rc && !r->cancelled)
        rc = append_classes(schema, out, e);
    if (!rc)
        rc = append_time(out, "requested_at", r->requested_at_ms, e);
    if (!rc && r->deadline_ms)
        rc = append_time(out, "deadline", r->deadline_ms, e);
    if (!rc && r->votes > 1 && !r->cancelled)
        rc = append_u64(out, "votes", r->votes, e);
    return rc;
}

static int append_attributes(const struct wire_named_values *attributes, struct wire_buffer *out,
                             struct fis_error *e)
{
    int rc = wire_json_append(out, ",\"attributes\":", e);
    return rc ? rc : append_named(attributes, out, e);
}

static int append_rest(const struct wire_label_request *r, const struct wire_named_values *named,
                       struct fis_arena *arena, struct wire_buffer *out, struct fis_error *e)
{
    int rc;
    if (r->cancelled) {
        rc = wire_json_append(out, ",\"cancelled\":true", e);
        if (!rc && r->reason && *r->reason)
            rc = append_text(out, "reason", r->reason, e);
    } else {
        rc = wire_json_append(out, ",\"record\":", e);
        if (!rc)
            rc = append_record(r, named, arena, out, e);
        if (!rc && named && named->attributes && named->attributes->n)
            rc = append_attributes(named->attributes, out, e);
    }
    return rc ? rc : wire_json_append(out, "}", e);
}

int wire_json_label_request(const struct wire_schema *schema, const struct wire_label_request *r,
                            const struct wire_named_values *named, struct fis_arena *arena,
                            struct wire_buffer *out, struct fis_error *e)
{
    size_t before = out->length;
    int rc = 0;
    if (r->votes > WIRE_VOTES)
        rc = fis_fail(e, FIS_INPUT, "a request for %u votes, at most %d allowed", r->votes,
                      WIRE_VOTES);
    if (!rc)
        rc = append_request(schema, r, out, e);
    if (!rc)
        rc = append_rest(r, named, arena, out, e);
    if (rc)
        out->length = before;
    return rc;
}

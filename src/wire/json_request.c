#include "wire/json_codec.h"

#include "wire/json_put.h"
#include "wire/json_text.h"

static void put_named(struct wire_json_put *p, const char *name,
                      const struct wire_named_values *named)
{
    wire_put_open(p, name, '{');
    for (uint32_t i = 0; i < named->n; i++) {
        const struct fis_value *v = &named->values[i];
        if (v->kind == FIS_VALUE_NUMBER)
            wire_put_number(p, named->names[i], v->number, 0);
        else if (v->kind != FIS_VALUE_MISSING)
            wire_put_bytes(p, named->names[i], v->text, v->length);
    }
    wire_put_close(p, '}');
}

int wire_json_check(struct wire_bytes text, struct fis_arena *arena, struct fis_error *e)
{
    wire_json_arena_enter(arena);
    bool good = wire_json_parse(text, e) != NULL;
    wire_json_arena_leave();
    return good ? 0 : -(int)FIS_INPUT;
}

/* The record's own bytes, which the labelling tool gets untouched; but only if they are an object,
 * or the message around them would not be JSON. */
static void put_record(struct wire_json_put *p, const struct wire_label_request *r,
                       const struct wire_named_values *named, struct fis_arena *arena)
{
    if (r->encoding != WIRE_JSON && named) {
        put_named(p, "record", named);
    } else if (r->encoding != WIRE_JSON) {
        wire_put_text(p, "record", NULL);
    } else if (p->rc || !(p->rc = wire_json_check(r->record, arena, p->e))) {
        struct wire_bytes text = wire_json_skip_mark(r->record);
        wire_put_json(p, "record", text.data, text.length);
    }
    if (named && named->attributes && named->attributes->n)
        put_named(p, "attributes", named->attributes);
}

static void put_classes(struct wire_json_put *p, const struct wire_schema *schema)
{
    wire_put_open(p, "classes", '[');
    for (uint32_t k = 0; k < schema->n_classes; k++)
        wire_put_text(p, NULL, schema->classes[k]);
    wire_put_close(p, ']');
}

static void put_request(struct wire_json_put *p, const struct wire_schema *schema,
                        const struct wire_label_request *r)
{
    wire_put_bytes(p, "id", r->id.bytes, r->id.length);
    wire_put_count(p, "round", r->round);
    if (!r->cancelled)
        wire_put_text(p, "criterion", r->criterion);
    wire_put_count(p, "head", r->head_version);
    if (!r->cancelled)
        put_classes(p, schema);
    wire_put_whole(p, "requested_at", r->requested_at_ms);
    if (r->deadline_ms)
        wire_put_whole(p, "deadline", r->deadline_ms);
    if (r->votes > 1 && !r->cancelled)
        wire_put_count(p, "votes", r->votes);
}

int wire_json_label_request(const struct wire_schema *schema, const struct wire_label_request *r,
                            const struct wire_named_values *named, struct fis_arena *arena,
                            struct byte_buffer *out, struct fis_error *e)
{
    struct wire_json_put p = wire_put(out, e);
    if (r->votes > WIRE_VOTES)
        return fis_fail(e, FIS_INPUT, "a request for %u votes, at most %d allowed", r->votes,
                        WIRE_VOTES);
    wire_put_open(&p, NULL, '{');
    put_request(&p, schema, r);
    if (!r->cancelled)
        put_record(&p, r, named, arena);
    else
        wire_put_bool(&p, "cancelled", true);
    if (r->cancelled && r->reason && *r->reason)
        wire_put_text(&p, "reason", r->reason);
    wire_put_close(&p, '}');
    return wire_put_done(&p);
}

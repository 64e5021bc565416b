/*
 * A message of protobuf, rewritten as JSON, its fields in the order of their numbers. Fields may
 * come in any order, and repeatedly: where each is lies in the arena first. What a message takes of
 * it is given back behind the message.
 */
#include <string.h>

#include "base/utf8.h"
#include "wire/framing.h"
#include "wire/proto_impl.h"
#include "wire/protobuf_reader.h"

struct found {
    struct wire_field field;
    struct found *next; /* of the same field */
};
/* Of a field of the message: in the order in which they came. */
struct place {
    struct found *first, *last;
    size_t length; /* of all, where they are bytes */
};

struct run {
    const struct proto_plan *plan;
    struct format_text *out;
    struct fis_arena *arena;
    size_t work; /* fields and values looked at */
    struct fis_error *e;
};

/* What takes few bytes may be many fields: a repeated empty message of a type with thousands. */
#define WORK_MAX ((size_t)1 << 24)
static int take_work(struct run *r, size_t n)
{
    r->work += n;
    return r->work <= WORK_MAX ? 0
                               : fis_refuse(r->e, FIS_CODE_TOO_LONG,
                                            "protobuf: more than %zu fields to look at", WORK_MAX);
}

static int no_room(const struct run *r)
{
    return fis_refuse(r->e, FIS_CODE_TOO_LONG, "protobuf: needs more than %zu bytes to decode",
                      r->arena->size);
}

static const struct proto_field *find_field(const struct run *r, const struct proto_type_of *t,
                                            uint32_t number)
{
    uint32_t from = t->first, to = t->first + t->n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (r->plan->fields[middle].number < number)
            from = middle + 1;
        else
            to = middle;
    }
    const struct proto_field *f = &r->plan->fields[from];
    return from < t->first + t->n && f->number == number ? f : NULL;
}

static unsigned wire_type_of(enum proto_type type)
{
    switch (type) {
    case PROTO_DOUBLE:
    case PROTO_FIXED64:
    case PROTO_SFIXED64:
        return WIRE_FIXED64;
    case PROTO_FLOAT:
    case PROTO_FIXED32:
    case PROTO_SFIXED32:
        return WIRE_FIXED32;
    case PROTO_STRING:
    case PROTO_BYTES:
    case PROTO_MESSAGE:
        return WIRE_LENGTH;
    default:
        return WIRE_VARINT;
    }
}

/* Another wire type than the field's is an unknown field, but for a packed one. */
static bool fits(const struct proto_field *f, unsigned type)
{
    return type == wire_type_of(f->type) || (f->repeated && type == WIRE_LENGTH);
}

static int find_places(struct run *r, const struct proto_type_of *t, struct wire_bytes bytes,
                       struct place *places)
{
    struct wire_reader reader = wire_reader_of(bytes);
    struct wire_field field;
    int rc;
    memset(places, 0, t->n * sizeof *places);
    while ((rc = wire_reader_next(&reader, &field, r->e)) > 0) {
        const struct proto_field *f = find_field(r, t, field.number);
        if (!f || !fits(f, field.type))
            continue;
        struct found *one = fis_arena_alloc(r->arena, sizeof *one);
        struct place *at = &places[f - &r->plan->fields[t->first]];
        if (!one)
            return no_room(r);
        *one = (struct found){.field = field};
        if (at->last)
            at->last->next = one;
        else
            at->first = one;
        at->last = one;
        at->length += field.length;
    }
    return rc;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static uint64_t fixed(const struct wire_field *f)
{
    uint64_t v = 0;
    for (size_t i = f->length; i-- > 0;)
        v = v << 8 | f->data[i];
    return v;
}

static int put_enum(struct run *r, const struct proto_type_of *t, int32_t number)
{
    int rc = take_work(r, t->n);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct proto_value *v = &r->plan->values[t->first + i];
        if (v->number == number) {
            format_put(r->out, r->plan->names.data + v->key, v->key_length);
            return 0;
        }
    }
    format_put_int(r->out, number);
    return 0;
}

static int put_text(struct run *r, const struct wire_field *f)
{
    if (utf8_prefix(f->data, f->length) != f->length)
        return fis_refuse(r->e, FIS_CODE_MALFORMED, "protobuf: a text that is not UTF-8");
    format_put_string(r->out, (const char *)f->data, f->length);
    return 0;
}

static void put_real(struct run *r, const struct wire_field *f)
{
    uint64_t bits = fixed(f);
    uint32_t half = (uint32_t)bits;
    double d;
    float s;
    memcpy(&d, &bits, sizeof d);
    memcpy(&s, &half, sizeof s);
    if (f->length == sizeof s)
        format_put_float(r->out, s);
    else
        format_put_double(r->out, d);
}

static int put_scalar(struct run *r, const struct proto_field *f, const struct wire_field *v)
{
    switch (f->type) {
    case PROTO_DOUBLE:
    case PROTO_FLOAT:
        put_real(r, v);
        return 0;
    case PROTO_UINT64:
        format_put_unsigned(r->out, v->value);
        return 0;
    case PROTO_UINT32:
        format_put_unsigned(r->out, (uint32_t)v->value);
        return 0;
    case PROTO_SINT64:
        format_put_int(r->out, (int64_t)(v->value >> 1) ^ -(int64_t)(v->value & 1));
        return 0;
    case PROTO_FIXED64:
    case PROTO_FIXED32:
        format_put_unsigned(r->out, fixed(v));
        return 0;
    case PROTO_SFIXED64:
        format_put_int(r->out, (int64_t)fixed(v));
        return 0;
    case PROTO_SFIXED32:
        format_put_int(r->out, (int32_t)fixed(v));
        return 0;
    case PROTO_BOOL:
        format_put(r->out, v->value ? "true" : "false", v->value ? 4 : 5);
        return 0;
    case PROTO_STRING:
        return put_text(r, v);
    case PROTO_BYTES:
        format_put_base64(r->out, v->data, v->length);
        return 0;
    case PROTO_ENUM:
        return put_enum(r, &r->plan->types[f->target], (int32_t)v->value);
    default:
        format_put_int(r->out, (int64_t)v->value);
        return 0;
    }
}

static int put_default(struct run *r, const struct proto_field *f)
{
    static const unsigned char zero[8];
    const struct proto_type_of *t = f->type == PROTO_ENUM ? &r->plan->types[f->target] : NULL;
    struct wire_field none = {.data = zero};
    unsigned type = wire_type_of(f->type);
    none.length = type == WIRE_FIXED64 ? 8 : type == WIRE_FIXED32 ? 4 : 0;
    if (t && t->n) /* an enum's first */
        none.value = (uint64_t)r->plan->values[t->first].number;
    return put_scalar(r, f, &none);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int put_message(struct run *r, uint32_t type, struct wire_bytes bytes, unsigned depth);

static int put_one(struct run *r, const struct proto_field *f, const struct wire_field *v,
                   unsigned depth)
{
    return f->type == PROTO_MESSAGE
               ? put_message(r, f->target, (struct wire_bytes){v->data, v->length}, depth + 1)
               : put_scalar(r, f, v);
}

/* A message that came in parts is their concatenation; of scalars the last counts. */
static int put_single(struct run *r, const struct proto_field *f, const struct place *at,
                      unsigned depth)
{
    if (f->type != PROTO_MESSAGE || at->first == at->last)
        return put_one(r, f, &at->last->field, depth);
    struct wire_field whole = {.length = at->length};
    unsigned char *bytes = fis_arena_alloc(r->arena, at->length);
    if (!bytes)
        return no_room(r);
    whole.data = bytes;
    for (const struct found *one = at->first; one; one = one->next) {
        memcpy(bytes, one->field.data, one->field.length);
        bytes += one->field.length;
    }
    return put_one(r, f, &whole, depth);
}

/* Scalars that are packed; *first: none is written yet. */
static int put_packed(struct run *r, const struct proto_field *f, const struct wire_field *packed,
                      bool *first)
{
    unsigned type = wire_type_of(f->type);
    size_t size = type == WIRE_FIXED64 ? 8 : 4;
    struct wire_reader in = wire_reader_of((struct wire_bytes){packed->data, packed->length});
    while (in.at < in.end && !r->out->full) {
        struct wire_field v = {.data = in.at, .length = size};
        if (type != WIRE_VARINT && (size_t)(in.end - in.at) < size)
            return fis_refuse(r->e, FIS_CODE_MALFORMED, "protobuf: a packed field is cut");
        int rc = 0;
        if (type == WIRE_VARINT)
            rc = wire_reader_varint(&in, &v.value, r->e);
        else
            in.at += size;
        if (rc)
            return rc;
        if (!*first)
            format_put_char(r->out, ',');
        *first = false;
        rc = put_scalar(r, f, &v);
        if (rc)
            return rc;
    }
    return 0;
}

static int put_array(struct run *r, const struct proto_field *f, const struct place *at,
                     unsigned depth)
{
    bool first = true;
    int rc = 0;
    format_put_char(r->out, '[');
    for (const struct found *one = at->first; !rc && one && !r->out->full; one = one->next) {
        if (one->field.type == WIRE_LENGTH && wire_type_of(f->type) != WIRE_LENGTH) {
            rc = put_packed(r, f, &one->field, &first);
            continue;
        }
        if (!first)
            format_put_char(r->out, ',');
        first = false;
        rc = put_one(r, f, &one->field, depth);
    }
    format_put_char(r->out, ']');
    return rc;
}

/* A text, whatever its type is. */
static int put_key(struct run *r, const struct proto_field *key, const struct found *found)
{
    format_put_char(r->out, '"');
    char *begin = r->out->at;
    int rc = found ? put_scalar(r, key, &found->field) : put_default(r, key);
    if (!rc && !r->out->full && *begin == '"') { /* it has its own quotes */
        r->out->at -= 2;
        memmove(begin, begin + 1, (size_t)(r->out->at - begin));
    }
    format_put_char(r->out, '"');
    return rc;
}

/* Absent parts of an entry are defaults. */
static int put_entry(struct run *r, const struct proto_type_of *t, const struct wire_field *entry,
                     unsigned depth)
{
    struct place parts[2];
    const struct proto_field *key = &r->plan->fields[t->first], *value = key + 1;
    size_t used = r->arena->used;
    int rc = find_places(r, t, (struct wire_bytes){entry->data, entry->length}, parts);
    if (rc)
        return rc;
    rc = put_key(r, key, parts[0].last);
    format_put_char(r->out, ':');
    if (!rc && parts[1].last)
        rc = put_single(r, value, &parts[1], depth);
    else if (!rc && value->type == PROTO_MESSAGE)
        rc = put_message(r, value->target, (struct wire_bytes){"", 0}, depth + 1);
    else if (!rc)
        rc = put_default(r, value);
    r->arena->used = used;
    return rc;
}

static int put_map(struct run *r, const struct proto_field *f, const struct place *at,
                   unsigned depth)
{
    int rc = 0;
    format_put_char(r->out, '{');
    for (const struct found *one = at->first; !rc && one && !r->out->full; one = one->next) {
        if (one != at->first)
            format_put_char(r->out, ',');
        rc = put_entry(r, &r->plan->types[f->target], &one->field, depth);
    }
    format_put_char(r->out, '}');
    return rc;
}

static int put_field(struct run *r, const struct proto_field *f, const struct place *at,
                     unsigned depth)
{
    if (f->map)
        return put_map(r, f, at, depth);
    if (f->repeated)
        return put_array(r, f, at, depth);
    return at->last ? put_single(r, f, at, depth) : put_default(r, f);
}

static int put_fields(struct run *r, const struct proto_type_of *t, const struct place *places,
                      unsigned depth)
{
    bool first = true;
    for (uint32_t i = 0; i < t->n && !r->out->full; i++) {
        const struct proto_field *f = &r->plan->fields[t->first + i];
        if (!places[i].last && (f->presence || f->repeated) && !t->wrapper)
            continue; /* absent */
        if (!first)
            format_put_char(r->out, ',');
        first = false;
        if (!t->wrapper) {
            format_put(r->out, r->plan->names.data + f->key, f->key_length);
            format_put_char(r->out, ':');
        }
        int rc = put_field(r, f, &places[i], depth);
        if (rc)
            return rc;
    }
    return 0;
}

static int put_message(struct run *r, uint32_t type, struct wire_bytes bytes, unsigned depth)
{
    const struct proto_type_of *t = &r->plan->types[type];
    size_t used = r->arena->used;
    if (depth > WIRE_FORMAT_DEPTH)
        return fis_refuse(r->e, FIS_CODE_MALFORMED, "protobuf: a record nested too deeply");
    struct place *places = fis_arena_alloc(r->arena, t->n * sizeof *places);
    if (!places)
        return no_room(r);
    int rc = take_work(r, t->n);
    if (!rc)
        rc = find_places(r, t, bytes, places);
    if (!rc && !t->wrapper)
        format_put_char(r->out, '{');
    if (!rc)
        rc = put_fields(r, t, places, depth);
    if (!rc && !t->wrapper)
        format_put_char(r->out, '}');
    r->arena->used = used;
    return rc;
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* The message of the path: i-th of the file, j-th in that, … */
static uint32_t message_at(const struct proto_plan *p, const uint64_t *path, uint32_t n)
{
    uint32_t at = PROTO_NONE;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = 0;
        while (i < p->n_types && (p->types[i].is_enum || p->types[i].file != p->own ||
                                  p->types[i].parent != at || p->types[i].place != path[k]))
            i++;
        if (i == p->n_types)
            return PROTO_NONE;
        at = i;
    }
    return at;
}

int proto_plan_json(const struct proto_plan *p, struct wire_bytes inside, struct fis_arena *arena,
                    struct format_text *t, struct fis_error *e)
{
    struct run r = {.plan = p, .out = t, .arena = arena, .e = e};
    struct wire_reader in = wire_reader_of(inside);
    uint64_t path[WIRE_PATH_MAX];
    uint32_t n;
    int rc = wire_read_path(&in, path, &n, e);
    if (rc)
        return rc;
    uint32_t type = message_at(p, path, n);
    if (type == PROTO_NONE)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "protobuf: the schema has no message of this frame's indexes");
    return put_message(&r, type, (struct wire_bytes){in.at, (size_t)(in.end - in.at)}, 0);
}

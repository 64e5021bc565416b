/* A schema of protobuf: its files parsed, names linked to types, fields in the order of their
 * numbers. Of google.protobuf's own types those that hold values are known without a file. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "fis/mem.h"
#include "wire/proto_impl.h"

static const char well_known[] =
    "syntax = \"proto3\"; package google.protobuf;"
    "message DoubleValue { double value = 1; } message FloatValue { float value = 1; }"
    "message Int64Value { int64 value = 1; } message UInt64Value { uint64 value = 1; }"
    "message Int32Value { int32 value = 1; } message UInt32Value { uint32 value = 1; }"
    "message BoolValue { bool value = 1; } message StringValue { string value = 1; }"
    "message BytesValue { bytes value = 1; } message Empty {}"
    "message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    "message Duration { int64 seconds = 1; int32 nanos = 2; }";

struct named {
    const char *name;
    uint32_t type;
    UT_hash_handle hh;
};

struct linking {
    struct proto_plan *plan;
    struct named *nodes, *table;
    struct fis_error *e;
};

/* The first of a name counts: a file of ours may come with the schema too. */
static int name_types(struct linking *l)
{
    struct proto_plan *p = l->plan;
    struct named *same;
    l->nodes = fis_calloc(p->n_types, sizeof *l->nodes);
    if (!l->nodes)
        return fis_fail(l->e, FIS_NOMEM, "no memory for a schema of protobuf");
    for (uint32_t i = 0; i < p->n_types; i++) {
        struct named *n = &l->nodes[i];
        n->name = proto_name(p, p->types[i].name);
        n->type = i;
        bool entry = !p->types[i].is_enum && p->types[i].place == PROTO_NONE; /* of a map */
        HASH_FIND_STR(l->table, n->name, same);
        if (!same && !entry)
            HASH_ADD_KEYPTR(hh, l->table, n->name, strlen(n->name), n);
    }
    return 0;
}

/* From the innermost scope outwards, as a name is written; with a dot before it as it is. */
static const struct named *find_type(const struct linking *l, const char *scope, const char *name)
{
    char full[1024];
    struct named *found = NULL;
    size_t length = *name == '.' ? 0 : strlen(scope);
    for (;;) {
        int n = snprintf(full, sizeof full, "%.*s%s%s", (int)length, scope, length ? "." : "",
                         *name == '.' ? name + 1 : name);
        if (n > 0 && (size_t)n < sizeof full)
            HASH_FIND_STR(l->table, full, found);
        if (found || length == 0)
            return found;
        while (length > 0 && scope[--length] != '.')
            ;
    }
}

static int link_field(struct linking *l, struct proto_field *f)
{
    const struct proto_plan *p = l->plan;
    if (f->type == PROTO_NAMED) {
        const char *name = proto_name(p, f->type_name);
        const struct named *found = find_type(l, proto_name(p, p->types[f->owner].name), name);
        if (!found)
            return fis_refuse(l->e, FIS_CODE_MALFORMED,
                              "protobuf: field %.*s: the type %.80s is in no file of the schema",
                              (int)f->key_length, proto_name(p, f->key), name);
        f->target = found->type;
        f->type = p->types[found->type].is_enum ? PROTO_ENUM : PROTO_MESSAGE;
    }
    f->presence |= f->type == PROTO_MESSAGE;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct proto_field *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_wrapper(const struct proto_plan *p, const struct proto_type_of *t)
{
    static const char scope[] = "google.protobuf.";
    const char *name = proto_name(p, t->name);
    size_t n = strlen(name);
    return t->n == 1 && !strncmp(name, scope, sizeof scope - 1) && n > 5 &&
           !strcmp(name + n - 5, "Value");
}

static int sort_fields(struct proto_plan *p, struct fis_error *e)
{
    qsort(p->fields, p->n_fields, sizeof *p->fields, by_number);
    for (uint32_t i = 0; i < p->n_fields; i++) {
        struct proto_type_of *t = &p->types[p->fields[i].owner];
        if (i && !by_number(&p->fields[i - 1], &p->fields[i]))
            return fis_refuse(e, FIS_CODE_MALFORMED, "protobuf: message %.80s has number %u twice",
                              proto_name(p, t->name), p->fields[i].number);
        if (t->n++ == 0)
            t->first = i;
    }
    for (uint32_t i = 0; i < p->n_types; i++)
        p->types[i].wrapper = !p->types[i].is_enum && is_wrapper(p, &p->types[i]);
    return 0;
}

static int link_all(struct proto_plan *p, struct fis_error *e)
{
    struct linking l = {.plan = p, .e = e};
    int rc = name_types(&l);
    for (uint32_t i = 0; !rc && i < p->n_fields; i++)
        rc = link_field(&l, &p->fields[i]);
    HASH_CLEAR(hh, l.table);
    fis_free(l.nodes);
    return rc ? rc : sort_fields(p, e);
}

int proto_plan_new(struct proto_plan **out, const struct wire_format_text *texts, uint32_t n,
                   struct fis_error *e)
{
    const struct wire_bytes known = {well_known, sizeof well_known - 1};
    struct proto_plan *p = fis_calloc(1, sizeof *p);
    if (!p)
        return fis_fail(e, FIS_NOMEM, "no memory for a schema of protobuf");
    int rc = 0;
    for (uint32_t i = 0; !rc && i < n; i++) {
        rc = proto_parse(p, i, texts[i].text, e);
        if (rc && i + 1 < n)
            fis_error_prefix(e, "%.80s", texts[i].name);
    }
    if (!rc)
        rc = proto_parse(p, n, known, e);
    if (!rc)
        rc = link_all(p, e);
    p->own = n - 1;
    if (rc)
        proto_plan_free(p);
    else
        *out = p;
    return rc;
}

void proto_plan_free(struct proto_plan *p)
{
    if (!p)
        return;
    fis_free(p->types);
    fis_free(p->fields);
    fis_free(p->values);
    byte_buffer_done(&p->names);
    fis_free(p);
}

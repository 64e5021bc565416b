/*
 * An Avro schema, compiled. libavro reads the text: it resolves names and namespaces and refuses
 * what is no schema. It drops logical types, so their place is found by walking its tree and the
 * JSON side by side. The schemas that it refers to are parsed with it, as the first branches of one
 * union.
 */
#include <avro.h>
#include <string.h>

#include "fis/mem.h"
#include "wire/avro_impl.h"
#include "wire/avro_pool.h"
#include "wire/json_text.h"

struct named {
    avro_schema_t schema;
    uint32_t node;
};

struct compiling {
    struct avro_plan *plan;
    struct named *named; /* records, enums, fixed: what links lead to */
    uint32_t n_named;
    struct fis_error *e;
};

static int no_memory(struct fis_error *e)
{
    return fis_fail(e, FIS_NOMEM, "no memory for a schema of Avro");
}

static uint32_t room_for(uint32_t n)
{
    uint32_t room = 16;
    while (room < n)
        room *= 2;
    return room;
}

/* As fis_grow, to n items or some more. */
static bool make_room(void *list, uint32_t had, uint32_t n, size_t size)
{
    return (had && room_for(had) == room_for(n)) || fis_grow(list, had, room_for(n), size);
}

/* A caller that recurses keeps indexes, no pointers. */
static int take_node(struct compiling *c, uint32_t *at)
{
    struct avro_plan *p = c->plan;
    if (p->n_nodes == WIRE_FORMAT_NODES)
        return fis_refuse(c->e, FIS_CODE_TOO_LONG, "a schema of more than %u types",
                          WIRE_FORMAT_NODES);
    if (!make_room(&p->nodes, p->n_nodes, p->n_nodes + 1, sizeof *p->nodes))
        return no_memory(c->e);
    p->nodes[ *at = p->n_nodes++] = (struct avro_node){.kind = AVRO_NODE_NULL};
    return 0;
}

static int take_parts(struct compiling *c, uint32_t node, size_t n)
{
    struct avro_plan *p = c->plan;
    if (n > WIRE_FORMAT_NODES || p->n_parts + n > 4 * WIRE_FORMAT_NODES)
        return fis_refuse(c->e, FIS_CODE_TOO_LONG, "a schema of more than %u fields and symbols",
                          4 * WIRE_FORMAT_NODES);
    uint32_t all = p->n_parts + (uint32_t)n;
    if (!make_room(&p->parts, p->n_parts, all, sizeof *p->parts))
        return no_memory(c->e);
    memset(p->parts + p->n_parts, 0, n * sizeof *p->parts);
    p->nodes[node].first = p->n_parts;
    p->nodes[node].n = (uint32_t)n;
    p->n_parts = all;
    return 0;
}

static int take_name(struct compiling *c, struct avro_part *part, const char *name)
{
    struct byte_buffer *names = &c->plan->names;
    part->name = (uint32_t)names->length;
    int rc = wire_json_escape(names, name ? name : "", name ? strlen(name) : 0, c->e);
    part->length = (uint32_t)(names->length - part->name);
    return rc;
}

static int remember(struct compiling *c, avro_schema_t schema, uint32_t node)
{
    if (!fis_more(&c->named, c->n_named, sizeof *c->named))
        return no_memory(c->e);
    c->named[c->n_named++] = (struct named){schema, node};
    return 0;
}

static int find_link(struct compiling *c, avro_schema_t link, uint32_t *node)
{
    avro_schema_t target = avro_schema_link_target(link);
    for (uint32_t i = 0; i < c->n_named; i++)
        if (c->named[i].schema == target) {
            *node = c->named[i].node;
            return 0;
        }
    return fis_refuse(c->e, FIS_CODE_MALFORMED, "Avro: a type is used before it is defined");
}

static int compile(struct compiling *c, avro_schema_t schema, const json_t *json, uint32_t *node);

static const json_t *member(const json_t *json, const char *name)
{
    return json_is_object(json) ? json_object_get(json, name) : NULL;
}

static int compile_part(struct compiling *c, uint32_t node, uint32_t i, avro_schema_t schema,
                        const json_t *json)
{
    uint32_t inner;
    int rc = compile(c, schema, json, &inner);
    if (!rc)
        c->plan->parts[c->plan->nodes[node].first + i].node = inner;
    return rc;
}

static int compile_record(struct compiling *c, uint32_t node, avro_schema_t schema,
                          const json_t *json)
{
    const json_t *fields = member(json, "fields");
    size_t n = avro_schema_record_size(schema);
    int rc = take_parts(c, node, n);
    for (uint32_t i = 0; !rc && i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        const char *name = avro_schema_record_field_name(schema, (int)i);
        rc = take_name(c, &c->plan->parts[c->plan->nodes[node].first + i], name);
        if (!rc)
            rc = compile_part(c, node, i, avro_schema_record_field_get_by_index(schema, (int)i),
                              member(field, "type"));
        if (rc)
            fis_error_prefix(c->e, "field %.60s", name ? name : "?");
    }
    return rc;
}

static int compile_enum(struct compiling *c, uint32_t node, avro_schema_t schema)
{
    int n = avro_schema_enum_number_of_symbols(schema);
    int rc = take_parts(c, node, (size_t)n);
    for (int i = 0; !rc && i < n; i++)
        rc = take_name(c, &c->plan->parts[c->plan->nodes[node].first + (uint32_t)i],
                       avro_schema_enum_get(schema, i));
    return rc;
}

static int compile_union(struct compiling *c, uint32_t node, avro_schema_t schema,
                         const json_t *json)
{
    size_t n = avro_schema_union_size(schema);
    int rc = take_parts(c, node, n);
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = compile_part(c, node, i, avro_schema_union_branch(schema, (int)i),
                          json_array_get(json, i));
    return rc;
}

/* Decimals are bytes whose meaning is in the JSON alone. */
static int note_logical(struct compiling *c, uint32_t node, const json_t *json)
{
    const char *logical = json_string_value(member(json, "logicalType"));
    json_int_t scale = json_integer_value(member(json, "scale"));
    if (!logical || strcmp(logical, "decimal") != 0)
        return 0;
    if (scale < 0 || scale > (json_int_t)FORMAT_SCALE_MAX)
        return fis_refuse(c->e, FIS_CODE_MALFORMED, "Avro: a decimal of scale %lld, 0..%u allowed",
                          (long long)scale, FORMAT_SCALE_MAX);
    c->plan->nodes[node].decimal = true;
    c->plan->nodes[node].scale = (uint32_t)scale;
    return 0;
}

static int compile_fixed(struct compiling *c, uint32_t node, avro_schema_t schema,
                         const json_t *json)
{
    int64_t size = avro_schema_fixed_size(schema);
    if (size < 0 || size > UINT32_MAX)
        return fis_refuse(c->e, FIS_CODE_MALFORMED, "Avro: fixed of %lld bytes", (long long)size);
    c->plan->nodes[node].n = (uint32_t)size;
    return note_logical(c, node, json);
}

static int compile_inside(struct compiling *c, uint32_t node, avro_schema_t schema,
                          const json_t *json)
{
    int rc;
    switch (c->plan->nodes[node].kind) {
    case AVRO_NODE_RECORD:
        return compile_record(c, node, schema, json);
    case AVRO_NODE_ENUM:
        return compile_enum(c, node, schema);
    case AVRO_NODE_FIXED:
        return compile_fixed(c, node, schema, json);
    case AVRO_NODE_UNION:
        return compile_union(c, node, schema, json);
    case AVRO_NODE_ARRAY:
        rc = take_parts(c, node, 1);
        return rc ? rc
                  : compile_part(c, node, 0, avro_schema_array_items(schema),
                                 member(json, "items"));
    case AVRO_NODE_MAP:
        rc = take_parts(c, node, 1);
        return rc ? rc
                  : compile_part(c, node, 0, avro_schema_map_values(schema),
                                 member(json, "values"));
    case AVRO_NODE_BYTES:
        return note_logical(c, node, json);
    default:
        return 0;
    }
}

static int kind_of(avro_schema_t schema, enum avro_node_kind *kind)
{
    static const struct {
        avro_type_t type;
        enum avro_node_kind kind;
    } kinds[] = {{AVRO_NULL, AVRO_NODE_NULL},   {AVRO_BOOLEAN, AVRO_NODE_BOOLEAN},
                 {AVRO_INT32, AVRO_NODE_INT},   {AVRO_INT64, AVRO_NODE_LONG},
                 {AVRO_FLOAT, AVRO_NODE_FLOAT}, {AVRO_DOUBLE, AVRO_NODE_DOUBLE},
                 {AVRO_BYTES, AVRO_NODE_BYTES}, {AVRO_STRING, AVRO_NODE_STRING},
                 {AVRO_FIXED, AVRO_NODE_FIXED}, {AVRO_ENUM, AVRO_NODE_ENUM},
                 {AVRO_ARRAY, AVRO_NODE_ARRAY}, {AVRO_MAP, AVRO_NODE_MAP},
                 {AVRO_UNION, AVRO_NODE_UNION}, {AVRO_RECORD, AVRO_NODE_RECORD}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == avro_typeof(schema)) {
            *kind = kinds[i].kind;
            return 0;
        }
    return -1;
}

/* {"type": {"type": …}} is its inner type, as libavro has it. */
static const json_t *unwrapped(const json_t *json)
{
    for (const json_t *type; json_is_object(json); json = type) {
        type = json_object_get(json, "type");
        if (!json_is_object(type) && !json_is_array(type))
            break;
    }
    return json;
}

static int compile(struct compiling *c, avro_schema_t schema, const json_t *json, uint32_t *node)
{
    enum avro_node_kind kind;
    uint32_t at;
    if (!schema)
        return fis_refuse(c->e, FIS_CODE_MALFORMED, "Avro: a type is missing");
    if (is_avro_link(schema))
        return find_link(c, schema, node);
    if (kind_of(schema, &kind))
        return fis_refuse(c->e, FIS_CODE_MALFORMED, "Avro: a type that is not supported");
    int rc = take_node(c, &at);
    if (rc)
        return rc;
    c->plan->nodes[at].kind = kind;
    if (kind == AVRO_NODE_RECORD || kind == AVRO_NODE_ENUM || kind == AVRO_NODE_FIXED)
        rc = remember(c, schema, at);
    if (!rc)
        rc = compile_inside(c, at, schema, unwrapped(json));
    if (!rc)
        *node = at;
    return rc;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* libavro recurses as deep as the text, and trusts its sizes. */
static bool is_shallow(const json_t *v, unsigned depth)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (depth > WIRE_FORMAT_DEPTH)
        return false;
    json_object_foreach((json_t *)v, key, inner) if (!is_shallow(inner, depth + 1)) return false;
    json_array_foreach(v, i, inner) if (!is_shallow(inner, depth + 1)) return false;
    return true;
}

static json_t *parse(const struct wire_format_text *text, struct fis_error *e)
{
    json_error_t error;
    json_t *v = json_loadb(text->text.data, text->text.length,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (v && is_shallow(v, 0))
        return v;
    if (v)
        fis_refuse(e, FIS_CODE_MALFORMED, "Avro: a schema nested more than %u deep",
                   WIRE_FORMAT_DEPTH);
    else
        fis_refuse(e, FIS_CODE_MALFORMED, "Avro: the schema is not JSON: %s (line %d, column %d)",
                   error.text, error.line, error.column);
    json_decref(v);
    return NULL;
}

/* All texts as branches of one union; *own is where those of the last begin, *is_union whether it
 * is one itself. */
static json_t *join(const struct wire_format_text *texts, uint32_t n, size_t *own, bool *is_union,
                    struct fis_error *e)
{
    json_t *all = json_array();
    for (uint32_t i = 0; all && i < n; i++) {
        json_t *one = parse(&texts[i], e);
        *own = json_array_size(all);
        *is_union = json_is_array(one);
        bool good = one && !(json_is_array(one) ? json_array_extend(all, one)
                                                : json_array_append(all, one));
        json_decref(one);
        if (!good) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static int compile_all(struct compiling *c, avro_schema_t whole, const json_t *all, size_t own,
                       bool is_union)
{
    size_t n = json_array_size(all);
    uint32_t root, node;
    int rc = take_node(c, &root);
    if (!rc)
        rc = take_parts(c, root, n - own);
    if (!rc)
        c->plan->nodes[root].kind = AVRO_NODE_UNION;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = compile(c, avro_schema_union_branch(whole, (int)i), json_array_get(all, i), &node);
        if (!rc && i >= own)
            c->plan->parts[c->plan->nodes[root].first + (i - own)].node = node;
        if (!rc)
            c->plan->root = is_union ? root : node;
    }
    return rc;
}

static int parse_all(struct avro_plan *p, json_t *all, size_t own, bool is_union,
                     struct fis_error *e)
{
    struct compiling c = {.plan = p, .e = e};
    avro_schema_t whole = NULL;
    char *text = json_dumps(all, JSON_COMPACT);
    if (!text)
        return no_memory(e);
    int rc = 0;
    struct avro_pool pool;
    avro_pool_begin(&pool);
    if (avro_schema_from_json_length(text, strlen(text), &whole))
        rc = fis_refuse(e, FIS_CODE_MALFORMED, "Avro: %.200s", avro_strerror());
    fis_free(text);
    if (!rc)
        rc = compile_all(&c, whole, all, own, is_union);
    avro_pool_end(&pool); /* and with it `whole` */
    fis_free(c.named);
    return rc;
}

int avro_plan_new(struct avro_plan **out, const struct wire_format_text *texts, uint32_t n,
                  struct fis_error *e)
{
    struct avro_plan *p = fis_calloc(1, sizeof *p);
    size_t own = 0;
    bool is_union = false;
    int rc = no_memory(e); /* unless there is another reason */
    if (!p)
        return rc;
    json_t *all = join(texts, n, &own, &is_union, e);
    rc = all ? parse_all(p, all, own, is_union, e) : -(int)e->kind;
    json_decref(all);
    if (rc)
        avro_plan_free(p);
    else
        *out = p;
    return rc;
}

void avro_plan_free(struct avro_plan *p)
{
    if (!p)
        return;
    fis_free(p->nodes);
    fis_free(p->parts);
    byte_buffer_done(&p->names);
    fis_free(p);
}

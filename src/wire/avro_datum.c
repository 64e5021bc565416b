/*
 * A datum of Avro, rewritten as JSON. Not by libavro: it takes memory for every text, of the length
 * that the datum states, recurses as deep as the datum has it, and notes errors in a global, while
 * records are decoded by several threads that allocate nothing. Here each value either takes a byte
 * or writes one, so a loop ends at the end of either; only nesting needs a limit.
 */
#include <string.h>

#include "base/utf8.h"
#include "wire/avro_impl.h"

struct run {
    const struct avro_plan *plan;
    const unsigned char *begin, *at, *end;
    struct format_text *out;
    struct fis_error *e;
};

static int malformed(struct run *r, const char *what)
{
    return fis_refuse(r->e, FIS_CODE_MALFORMED, "Avro: %s, at byte %zu of %zu", what,
                      (size_t)(r->at - r->begin), (size_t)(r->end - r->begin));
}

/* Zigzag, in 10 bytes at most. */
static int read_long(struct run *r, int64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        unsigned char b = *r->at++;
        if (shift == 63 && b > 1)
            return malformed(r, "an integer of more than 64 bits");
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return 0;
        }
    }
    return malformed(r, "an integer that does not end");
}

static int read_bytes(struct run *r, size_t n, const unsigned char **out)
{
    if (n > (size_t)(r->end - r->at))
        return malformed(r, "the record ends in the middle");
    *out = r->at;
    r->at += n;
    return 0;
}

static int read_sized(struct run *r, const unsigned char **out, size_t *n)
{
    int64_t length;
    int rc = read_long(r, &length);
    if (rc)
        return rc;
    if (length < 0 || length > r->end - r->at)
        return malformed(r, "a length beyond the end of the record");
    *n = (size_t)length;
    return read_bytes(r, *n, out);
}

static int put_string(struct run *r)
{
    const unsigned char *p = NULL;
    size_t n;
    int rc = read_sized(r, &p, &n);
    if (rc)
        return rc;
    if (utf8_prefix(p, n) != n)
        return malformed(r, "a text that is not UTF-8");
    format_put_string(r->out, (const char *)p, n);
    return 0;
}

static int put_bytes(struct run *r, const struct avro_node *node)
{
    const unsigned char *p = NULL;
    size_t n = node->n;
    int rc = node->kind == AVRO_NODE_FIXED ? read_bytes(r, n, &p) : read_sized(r, &p, &n);
    if (rc)
        return rc;
    if (!node->decimal)
        format_put_base64(r->out, p, n);
    else if (!format_put_decimal(r->out, p, n, node->scale))
        return malformed(r, "a decimal of more than 32 bytes");
    return 0;
}

static int put_integer(struct run *r, bool small)
{
    int64_t v;
    int rc = read_long(r, &v);
    if (rc)
        return rc;
    if (small && (v < INT32_MIN || v > INT32_MAX))
        return malformed(r, "an int of more than 32 bits");
    format_put_int(r->out, v);
    return 0;
}

static int put_real(struct run *r, size_t bytes)
{
    const unsigned char *p = NULL;
    int rc = read_bytes(r, bytes, &p);
    uint64_t bits = 0;
    if (rc)
        return rc;
    for (size_t i = bytes; i-- > 0;)
        bits = bits << 8 | p[i];
    uint32_t half = (uint32_t)bits;
    double d;
    float f;
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &half, sizeof f);
    if (bytes == sizeof f)
        format_put_float(r->out, f);
    else
        format_put_double(r->out, d);
    return 0;
}

static int put_boolean(struct run *r)
{
    const unsigned char *p = NULL;
    int rc = read_bytes(r, 1, &p);
    if (rc)
        return rc;
    if (*p > 1)
        return malformed(r, "a boolean that is neither 0 nor 1");
    format_put(r->out, *p ? "true" : "false", *p ? 4 : 5);
    return 0;
}

static void put_name(struct run *r, const struct avro_part *part)
{
    format_put(r->out, r->plan->names.data + part->name, part->length);
}

/* The index of a branch or symbol. */
static int read_index(struct run *r, const struct avro_node *node, const char *what,
                      const struct avro_part **part)
{
    int64_t i;
    int rc = read_long(r, &i);
    if (rc)
        return rc;
    if (i < 0 || i >= node->n)
        return fis_refuse(r->e, FIS_CODE_MALFORMED, "Avro: %s %lld of %u", what, (long long)i,
                          node->n);
    *part = &r->plan->parts[node->first + (uint32_t)i];
    return 0;
}

static int put_value(struct run *r, uint32_t at, unsigned depth);

/* Blocks of items, or of names with values; one of n < 0 states its bytes besides. */
static int put_blocks(struct run *r, const struct avro_node *node, unsigned depth)
{
    bool map = node->kind == AVRO_NODE_MAP, first = true;
    int64_t n, bytes;
    format_put_char(r->out, map ? '{' : '[');
    for (;;) {
        int rc = read_long(r, &n);
        if (!rc && n < 0 && n != INT64_MIN)
            rc = read_long(r, &bytes);
        if (rc || n == INT64_MIN)
            return rc ? rc : malformed(r, "a block of too many items");
        if (n == 0)
            break;
        for (int64_t left = n < 0 ? -n : n; left > 0 && !r->out->full; left--) {
            if (!first)
                format_put_char(r->out, ',');
            first = false;
            rc = map ? put_string(r) : 0;
            if (map)
                format_put_char(r->out, ':');
            if (!rc)
                rc = put_value(r, r->plan->parts[node->first].node, depth + 1);
            if (rc)
                return rc;
        }
        if (r->out->full)
            return 0;
    }
    format_put_char(r->out, map ? '}' : ']');
    return 0;
}

static int put_record(struct run *r, const struct avro_node *node, unsigned depth)
{
    format_put_char(r->out, '{');
    for (uint32_t i = 0; i < node->n && !r->out->full; i++) {
        const struct avro_part *field = &r->plan->parts[node->first + i];
        if (i)
            format_put_char(r->out, ',');
        put_name(r, field);
        format_put_char(r->out, ':');
        int rc = put_value(r, field->node, depth + 1);
        if (rc)
            return rc;
    }
    format_put_char(r->out, '}');
    return 0;
}

static int put_value(struct run *r, uint32_t at, unsigned depth)
{
    const struct avro_node *node = &r->plan->nodes[at];
    const struct avro_part *part;
    int rc;
    if (depth > WIRE_FORMAT_DEPTH)
        return malformed(r, "a record nested too deeply");
    switch (node->kind) {
    case AVRO_NODE_NULL:
        format_put(r->out, "null", 4);
        return 0;
    case AVRO_NODE_BOOLEAN:
        return put_boolean(r);
    case AVRO_NODE_INT:
    case AVRO_NODE_LONG:
        return put_integer(r, node->kind == AVRO_NODE_INT);
    case AVRO_NODE_FLOAT:
    case AVRO_NODE_DOUBLE:
        return put_real(r, node->kind == AVRO_NODE_FLOAT ? 4 : 8);
    case AVRO_NODE_STRING:
        return put_string(r);
    case AVRO_NODE_BYTES:
    case AVRO_NODE_FIXED:
        return put_bytes(r, node);
    case AVRO_NODE_ENUM:
        rc = read_index(r, node, "symbol", &part);
        if (!rc)
            put_name(r, part);
        return rc;
    case AVRO_NODE_UNION:
        rc = read_index(r, node, "branch", &part);
        return rc ? rc : put_value(r, part->node, depth + 1);
    case AVRO_NODE_ARRAY:
    case AVRO_NODE_MAP:
        return put_blocks(r, node, depth);
    case AVRO_NODE_RECORD:
        break;
    }
    return put_record(r, node, depth);
}

int avro_plan_json(const struct avro_plan *p, struct wire_bytes datum, struct format_text *t,
                   struct fis_error *e)
{
    const unsigned char *begin = datum.data;
    struct run r = {p, begin, begin, begin + datum.length, t, e};
    int rc = put_value(&r, p->root, 0);
    if (!rc && !t->full && r.at < r.end)
        return malformed(&r, "something follows the end of the record");
    return rc;
}

/* Inside protobuf schemas: what proto_parse.c reads of .proto files, proto_schema.c links, and
 * proto_datum.c decodes by. */
#ifndef WIRE_PROTO_IMPL_H
#define WIRE_PROTO_IMPL_H

#include "wire/format_impl.h"

enum proto_type {
    PROTO_NAMED, /* a message or enum by its name, before it is linked */
    PROTO_DOUBLE,
    PROTO_FLOAT,
    PROTO_INT64, /* and int32 */
    PROTO_UINT64,
    PROTO_UINT32,
    PROTO_SINT64, /* and sint32 */
    PROTO_FIXED64,
    PROTO_FIXED32,
    PROTO_SFIXED64,
    PROTO_SFIXED32,
    PROTO_BOOL,
    PROTO_STRING,
    PROTO_BYTES,
    PROTO_ENUM,
    PROTO_MESSAGE
};

/* Names are texts with a NUL, by their place in `names`. */
struct proto_field {
    uint32_t owner, number;
    enum proto_type type;
    uint32_t type_name; /* NAMED; as it is written */
    uint32_t target;    /* MESSAGE, ENUM: of types, once linked */
    bool repeated, map;
    bool presence;            /* absent is absent, and not the default */
    uint32_t key, key_length; /* the name as JSON, in its quotes: where in `names` */
};
struct proto_value { /* of an enum */
    int64_t number;
    uint32_t key, key_length;
};
struct proto_type_of {
    uint32_t name; /* full, without a leading dot */
    bool is_enum;
    bool wrapper;      /* google.protobuf.DoubleValue and the like: its field stands for it */
    uint32_t first, n; /* values in their order; fields by number */
    uint32_t place;    /* among the messages of what it is in: a part of a frame's path */
    uint32_t parent;   /* the message that it is in; PROTO_NONE: none */
    uint32_t file;     /* of the texts */
};
#define PROTO_NONE UINT32_MAX

struct proto_plan {
    struct proto_type_of *types;
    struct proto_field *fields;
    struct proto_value *values;
    uint32_t n_types, n_fields, n_values;
    struct byte_buffer names;
    uint32_t own; /* the file of the schema itself: paths lead into it */
};

static inline const char *proto_name(const struct proto_plan *p, uint32_t at)
{
    return (const char *)p->names.data + at;
}

/* Adds what one file has. `file`: its place among the texts. */
int proto_parse(struct proto_plan *p, uint32_t file, struct wire_bytes text,
                struct fis_error *e) FIS_MUST_CHECK;

#endif

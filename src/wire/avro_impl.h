/* Inside Avro: a schema, compiled by avro_schema.c for avro_datum.c. */
#ifndef WIRE_AVRO_IMPL_H
#define WIRE_AVRO_IMPL_H

#include "wire/format_impl.h"

enum avro_node_kind {
    AVRO_NODE_NULL,
    AVRO_NODE_BOOLEAN,
    AVRO_NODE_INT,
    AVRO_NODE_LONG,
    AVRO_NODE_FLOAT,
    AVRO_NODE_DOUBLE,
    AVRO_NODE_BYTES,
    AVRO_NODE_STRING,
    AVRO_NODE_FIXED,
    AVRO_NODE_ENUM,
    AVRO_NODE_ARRAY,
    AVRO_NODE_MAP,
    AVRO_NODE_UNION,
    AVRO_NODE_RECORD
};

struct avro_node {
    enum avro_node_kind kind;
    uint32_t n;     /* fields, branches, symbols (ARRAY, MAP: 1); bytes of FIXED */
    uint32_t first; /* of `parts` */
    bool decimal;   /* BYTES, FIXED */
    uint32_t scale;
};
/* A field, branch, item or symbol. */
struct avro_part {
    uint32_t node;
    uint32_t name, length; /* of a field or symbol, as JSON in its quotes: where in `names` */
};
struct avro_plan {
    struct avro_node *nodes;
    struct avro_part *parts;
    struct byte_buffer names;
    uint32_t n_nodes, n_parts, root;
};

#endif

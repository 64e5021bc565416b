/*
 * An ONNX graph in the making: operators, constants, inputs and outputs, by name. What could not be
 * allocated is remembered (`failed`), so that a caller looks once, at the end; every function takes
 * what another one could not make.
 *
 * Names of values are "_fisd/…", which no column has to fear. Thread: one owner. Owns: all memory
 * behind the graph, copies of texts and arrays too, but for the bytes of onnx_tensor.
 */
#ifndef WIRE_ONNX_GRAPH_H
#define WIRE_ONNX_GRAPH_H

#include "onnx.pb-c.h"
#include "wire/types.h"

#define ONNX_NAME(name) "_fisd/" name

struct onnx_block;
struct onnx_graph {
    struct onnx_block *blocks;
    bool failed;
    Onnx__GraphProto graph;
    size_t node_room, initializer_room, input_room;
};

void onnx_graph_init(struct onnx_graph *g);
void onnx_graph_done(struct onnx_graph *g);

/* Zeroed memory that lives as long as the graph; NULL: there is none, or count is 0. */
void *onnx_take(struct onnx_graph *g, size_t count, size_t size);
char *onnx_text(struct onnx_graph *g, const char *format, ...) FIS_PRINTF(2, 3);

/* op "Add", or "ai.onnx.ml:LabelEncoder". output is a new name; inputs are names [n], kept. */
typedef Onnx__NodeProto onnx_node;
onnx_node *onnx_apply_list(struct onnx_graph *g, const char *op, const char *output,
                           const char *const *inputs, size_t n);
#define onnx_apply(g, op, output, ...)                                                             \
    onnx_apply_list(g, op, output, (const char *const[]){__VA_ARGS__},                             \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
/* Attributes. Arrays and texts are borrowed: they must live as long as the graph. */
void onnx_set_int(struct onnx_graph *g, onnx_node *node, const char *name, int64_t value);
void onnx_set_float(struct onnx_graph *g, onnx_node *node, const char *name, float value);
void onnx_set_ints(struct onnx_graph *g, onnx_node *node, const char *name, int64_t *values,
                   size_t n);
void onnx_set_floats(struct onnx_graph *g, onnx_node *node, const char *name, float *values,
                     size_t n);
void onnx_set_texts(struct onnx_graph *g, onnx_node *node, const char *name,
                    ProtobufCBinaryData *values, size_t n);
ProtobufCBinaryData onnx_bytes(const char *text);

/* A constant of shape [rows][columns], or [columns] where rows is 0, or a scalar where both are;
 * borrowed. Returns its name. */
const char *onnx_tensor(struct onnx_graph *g, const char *name, Onnx__TensorProto__DataType type,
                        size_t rows, size_t columns, const void *values);

/* An input or output of shape [N][columns], or [N] where columns is 0. */
Onnx__ValueInfoProto *onnx_value(struct onnx_graph *g, const char *name,
                                 Onnx__TensorProto__DataType type, size_t columns,
                                 const char *meaning);
/* The same of shape [N][height][width][channels]. */
Onnx__ValueInfoProto *onnx_image(struct onnx_graph *g, const char *name,
                                 Onnx__TensorProto__DataType type, const uint32_t size[3],
                                 const char *meaning);
void onnx_input(struct onnx_graph *g, Onnx__ValueInfoProto *value);

#endif

#include "wire/onnx_graph.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 * 1024)

struct onnx_block {
    struct onnx_block *next;
    size_t size, used;
    alignas(max_align_t) unsigned char bytes[];
};

void onnx_graph_init(struct onnx_graph *g)
{
    *g = (struct onnx_graph){0};
    onnx__graph_proto__init(&g->graph);
}

void onnx_graph_done(struct onnx_graph *g)
{
    for (struct onnx_block *b = g->blocks, *next; b; b = next) {
        next = b->next;
        fis_free(b);
    }
    g->blocks = NULL;
}

static struct onnx_block *add_block(struct onnx_graph *g, size_t bytes)
{
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    struct onnx_block *b = fis_calloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    b->size = size;
    b->next = g->blocks;
    g->blocks = b;
    return b;
}

void *onnx_take(struct onnx_graph *g, size_t count, size_t size)
{
    size_t bytes =
        (count * size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct onnx_block *b = g->blocks;
    if (!count || g->failed)
        return NULL;
    if (count > SIZE_MAX / 2 / size ||
        ((!b || b->size - b->used < bytes) && !(b = add_block(g, bytes)))) {
        g->failed = true;
        return NULL;
    }
    b->used += bytes;
    return b->bytes + b->used - bytes;
}

char *onnx_text(struct onnx_graph *g, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, list);
    char *text = n < 0 ? NULL : onnx_take(g, (size_t)n + 1, 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(list);
    return text;
}

static char *borrowed(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* Puts a pointer at the end of a list that doubles. */
static void push(struct onnx_graph *g, void *list, size_t *n, size_t *room, void *item)
{
    void **items;
    memcpy(&items, list, sizeof items);
    if (item && *n == *room) {
        size_t more = *room ? 2 * *room : 16;
        void **grown = onnx_take(g, more, sizeof *grown);
        if (!grown)
            return;
        if (*n)
            memcpy(grown, items, *n * sizeof *items);
        items = grown;
        *room = more;
        memcpy(list, &items, sizeof items);
    }
    if (item)
        items[(*n)++] = item;
}

onnx_node *onnx_apply_list(struct onnx_graph *g, const char *op, const char *output,
                           const char *const *inputs, size_t n)
{
    const char *colon = strchr(op, ':');
    enum { ATTRIBUTES = 16 };
    onnx_node *node = onnx_take(g, 1, sizeof *node);
    char **names = onnx_take(g, n + 1, sizeof *names);
    Onnx__AttributeProto **attributes = onnx_take(g, ATTRIBUTES, sizeof(void *));
    if (!node || !names || !attributes)
        return NULL;
    onnx__node_proto__init(node);
    for (size_t i = 0; i < n; i++)
        names[i] = borrowed(inputs[i]);
    names[n] = borrowed(output);
    node->name = borrowed(output);
    node->op_type = borrowed(colon ? colon + 1 : op);
    node->domain = colon ? onnx_text(g, "%.*s", (int)(colon - op), op) : NULL;
    node->n_input = n;
    node->input = names;
    node->n_output = 1;
    node->output = names + n;
    node->attribute = attributes;
    push(g, &g->graph.node, &g->graph.n_node, &g->node_room, node);
    return node;
}

/* `value` has what is set, its type too. */
static void set(struct onnx_graph *g, onnx_node *node, const char *name, Onnx__AttributeProto value)
{
    Onnx__AttributeProto *a = node ? onnx_take(g, 1, sizeof *a) : NULL;
    if (!a)
        return;
    onnx__attribute_proto__init(a);
    value.base = a->base;
    value.name = borrowed(name);
    *a = value;
    node->attribute[node->n_attribute++] = a;
}

#define SET(g, node, name, type_, ...)                                                             \
    set(g, node, name,                                                                             \
        (Onnx__AttributeProto){.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##type_,             \
                               __VA_ARGS__})

void onnx_set_int(struct onnx_graph *g, onnx_node *node, const char *name, int64_t value)
{
    SET(g, node, name, INT, .has_i = true, .i = value);
}

void onnx_set_float(struct onnx_graph *g, onnx_node *node, const char *name, float value)
{
    SET(g, node, name, FLOAT, .has_f = true, .f = value);
}

void onnx_set_ints(struct onnx_graph *g, onnx_node *node, const char *name, int64_t *values,
                   size_t n)
{
    SET(g, values ? node : NULL, name, INTS, .ints = values, .n_ints = n);
}

void onnx_set_floats(struct onnx_graph *g, onnx_node *node, const char *name, float *values,
                     size_t n)
{
    SET(g, values ? node : NULL, name, FLOATS, .floats = values, .n_floats = n);
}

void onnx_set_texts(struct onnx_graph *g, onnx_node *node, const char *name,
                    ProtobufCBinaryData *values, size_t n)
{
    SET(g, values ? node : NULL, name, STRINGS, .strings = values, .n_strings = n);
}

ProtobufCBinaryData onnx_bytes(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
}

static size_t width_of(Onnx__TensorProto__DataType type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT ? sizeof(float) : sizeof(double);
}

const char *onnx_tensor(struct onnx_graph *g, const char *name, Onnx__TensorProto__DataType type,
                        size_t rows, size_t columns, const void *values)
{
    Onnx__TensorProto *t = onnx_take(g, 1, sizeof *t);
    int64_t *dims = onnx_take(g, 2, sizeof *dims);
    if (!t || !dims)
        return name;
    onnx__tensor_proto__init(t);
    t->name = borrowed(name);
    t->data_type = type;
    if (rows)
        dims[t->n_dims++] = (int64_t)rows;
    if (columns)
        dims[t->n_dims++] = (int64_t)columns;
    t->dims = dims;
    t->raw_data.data = (uint8_t *)(uintptr_t)values;
    t->raw_data.len = (rows ? rows : 1) * (columns ? columns : 1) * width_of(type);
    push(g, &g->graph.initializer, &g->graph.n_initializer, &g->initializer_room, t);
    return name;
}

enum { DIMENSIONS = 4 };
struct value_parts {
    Onnx__ValueInfoProto value;
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor;
    Onnx__TypeProto__Shape shape;
    Onnx__TypeProto__Dimension dimension[DIMENSIONS], *list[DIMENSIONS];
};

/* Of shape [N] and behind it `size` [n]. */
static Onnx__ValueInfoProto *value_of(struct onnx_graph *g, const char *name,
                                      Onnx__TensorProto__DataType type, const uint32_t *size,
                                      size_t n, const char *meaning)
{
    struct value_parts *p = onnx_take(g, 1, sizeof *p);
    if (!p)
        return NULL;
    onnx__value_info_proto__init(&p->value);
    onnx__type_proto__init(&p->type);
    onnx__type_proto__tensor__init(&p->tensor);
    onnx__type_proto__shape__init(&p->shape);
    for (size_t i = 0; i <= n; i++) {
        onnx__type_proto__dimension__init(&p->dimension[i]);
        p->dimension[i].has_dim_value = i > 0;
        p->dimension[i].dim_value = i ? size[i - 1] : 0;
        p->list[i] = &p->dimension[i];
    }
    p->dimension[0].dim_param = borrowed("N");
    p->shape.dim = p->list;
    p->shape.n_dim = n + 1;
    p->tensor.elem_type = type;
    p->tensor.shape = &p->shape;
    p->type.tensor_type = &p->tensor;
    p->value.name = borrowed(name);
    p->value.type = &p->type;
    p->value.doc_string = borrowed(meaning);
    return &p->value;
}

Onnx__ValueInfoProto *onnx_value(struct onnx_graph *g, const char *name,
                                 Onnx__TensorProto__DataType type, size_t columns,
                                 const char *meaning)
{
    const uint32_t size = (uint32_t)columns;
    return value_of(g, name, type, &size, columns != 0, meaning);
}

Onnx__ValueInfoProto *onnx_image(struct onnx_graph *g, const char *name,
                                 Onnx__TensorProto__DataType type, const uint32_t size[3],
                                 const char *meaning)
{
    return value_of(g, name, type, size, 3, meaning);
}

void onnx_input(struct onnx_graph *g, Onnx__ValueInfoProto *value)
{
    push(g, &g->graph.input, &g->graph.n_input, &g->input_room, value);
}

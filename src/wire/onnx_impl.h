/* Inside the export to ONNX: the encoder's part of the graph (onnx_encoder.c), the trees'
 * (onnx_trees.c), the transformer's (onnx_vit.c), the dense layers and the whole (onnx.c). */
#ifndef WIRE_ONNX_IMPL_H
#define WIRE_ONNX_IMPL_H

#include "wire/onnx_graph.h"

#define ONNX_FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define ONNX_DOUBLE ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE
#define ONNX_INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64
#define ONNX_STRING ONNX__TENSOR_PROTO__DATA_TYPE__STRING

struct onnx_making {
    struct onnx_graph g;
    const struct wire_model *model;
    const struct fis_encoder *encoder;
    uint32_t d, margins; /* features, and how many of them are a base's, the last */
    uint32_t *place;     /* [d - margins] where a feature of the encoder stands in the graph */
    const char **parts;  /* [n_parts] of the features, one behind the other */
    size_t n_parts;
    uint32_t n_hot; /* categorical columns so far */
};

/* Makes the inputs and their features; returns the name of [N][d - margins], NULL: none. */
const char *onnx_encode_columns(struct onnx_making *x);
/* Of a base: the name of [N][margins], which are scaled; NULL: there is no base. */
const char *onnx_margins(struct onnx_making *x, const char *features);
/* By which a number is multiplied, once it is centred. */
double onnx_factor(const struct fis_encoder_column_state *s);
/* The input of images, and the name of what a transformer makes of them, [N][dim]. */
const char *onnx_transformer(struct onnx_making *x);
/* The margins of trees [N][margins], before they are scaled. */
const char *onnx_trees(struct onnx_making *x, const struct fis_trees *trees, const char *features);

#endif

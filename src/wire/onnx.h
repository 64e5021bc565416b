/*
 * A model version as an ONNX model, for programs that know nothing of fisd: the encoder is in the
 * graph, so that it takes columns as they are and gives class and probabilities.
 *
 * Operators of ONNX 17 and ai.onnx.ml 3 (IR version 8), which onnxruntime has since 1.12. Inputs
 * are the columns, by name, each of shape [N, 1]: numeric      double; NaN: missing categorical
 * string, in UTF-8; "": missing ("(missing)", where "" is a category that was seen). What was not
 * seen is unseen, as in fisd. A whole number may be written 1 or 1.0, and a category have one space
 * before and behind it; other spellings are other categories base's       double; NaN, which fisd
 * refuses, gives NaN or, where the columns are f0, f1, … (dimension), "features", float [N, d], in
 * place of them. Images (a transformer's): "image", float [N, height, width, channels], bytes of 0
 * to 255. Outputs: "class", string [N], and "probabilities", float [N, K] in the order of
 * the classes; with
 * "_" behind it, where a column has such a name. Metadata: pipeline, version, classes, positive.
 *
 * Probabilities are those of fisd but for the order of float sums. What an encoder refuses (text in
 * a numeric column, numbers beyond a float) has no meaning here.
 */
#ifndef WIRE_ONNX_H
#define WIRE_ONNX_H

#include "wire/types.h"

/* Appends to *out. INPUT: the version has no weights, or more than 2 GB of them. NOMEM. */
int wire_onnx_encode(const struct wire_model *model, struct byte_buffer *out,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif

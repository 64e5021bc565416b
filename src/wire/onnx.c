#include "wire/onnx.h"

#include <inttypes.h>
#include <string.h>

#include "fis/version.h"
#include "wire/onnx_impl.h"
#include "wire/protobuf_unpack.h"

enum { IR_VERSION = 8, OPERATORS = 17, ML_OPERATORS = 3 };

/* ---- the network ----------------------------------------------------------------------------- */

/* The first layer's weights, in the order of the graph's features. */
static const float *placed_weights(struct onnx_making *x)
{
    const struct fis_shape *s = &x->model->shape;
    uint32_t out = s->width[1];
    const float *from = x->model->params + fis_shape_offset(s, 0);
    float *to = onnx_take(&x->g, x->d, out * sizeof *to);
    for (uint32_t j = 0; to && j < x->d; j++)
        memcpy(to + (size_t)(j < x->d - x->margins ? x->place[j] : j) * out, from + (size_t)j * out,
               out * sizeof *to);
    return to;
}

static const char *add_layer(struct onnx_making *x, uint32_t l, const char *in)
{
    struct onnx_graph *g = &x->g;
    const struct fis_shape *s = &x->model->shape;
    uint32_t rows = s->width[l], columns = s->width[l + 1];
    const float *w = x->model->params + fis_shape_offset(s, l);
    const float *bias = w + (size_t)rows * columns;
    const char *weights = onnx_text(g, ONNX_NAME("weights_%u"), l);
    const char *biases = onnx_text(g, ONNX_NAME("biases_%u"), l);
    const char *sum = onnx_text(g, ONNX_NAME("sum_%u"), l);
    onnx_tensor(g, weights, ONNX_FLOAT, rows, columns, l || s->vit.height ? w : placed_weights(x));
    onnx_tensor(g, biases, ONNX_FLOAT, 0, columns, bias);
    onnx_apply(g, "Gemm", sum, in, weights, biases);
    if (l + 1 == s->n_layers)
        return sum;
    const char *active = onnx_text(g, ONNX_NAME("active_%u"), l);
    onnx_apply(g, "Relu", active, sum);
    return active;
}

/* logits + base, whose margins stand for the last classes. */
static const char *add_base(struct onnx_making *x, const char *base, const char *logits)
{
    uint32_t classes = x->model->n_classes, m = x->margins;
    float *spread = onnx_take(&x->g, m, classes * sizeof *spread);
    for (uint32_t k = 0; spread && k < m; k++)
        spread[(size_t)k * classes + classes - m + k] = FIS_MARGIN_SCALE;
    onnx_tensor(&x->g, ONNX_NAME("spread"), ONNX_FLOAT, m, classes, spread);
    onnx_apply(&x->g, "Gemm", ONNX_NAME("logits"), base, ONNX_NAME("spread"), logits);
    return ONNX_NAME("logits");
}

static const char *add_logits(struct onnx_making *x)
{
    const bool images = x->model->shape.vit.height != 0;
    const char *at = images ? onnx_transformer(x) : onnx_encode_columns(x);
    const char *base = onnx_margins(x, at);
    if (base && at) {
        onnx_set_int(&x->g, onnx_apply(&x->g, "Concat", ONNX_NAME("all"), at, base), "axis", 1);
        at = ONNX_NAME("all");
    } else if (base) {
        at = base;
    }
    for (uint32_t l = 0; at && l < x->model->shape.n_layers; l++)
        at = add_layer(x, l, at);
    return base && at ? add_base(x, base, at) : at;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A name of an output that no input has. */
static const char *free_name(struct onnx_making *x, const char *name)
{
    for (size_t i = 0; name && i < x->g.graph.n_input;)
        if (strcmp(x->g.graph.input[i]->name, name)) {
            i++;
        } else {
            name = onnx_text(&x->g, "%s_", name);
            i = 0;
        }
    return name;
}

static void add_outputs(struct onnx_making *x, const char *logits)
{
    struct onnx_graph *g = &x->g;
    const struct wire_model *m = x->model;
    const char *class = free_name(x, "class"), *probabilities = free_name(x, "probabilities");
    onnx_set_int(g, onnx_apply(g, "Softmax", probabilities, logits), "axis", 1);
    onnx_node *best = onnx_apply(g, "ArgMax", ONNX_NAME("best"), logits);
    onnx_set_int(g, best, "axis", 1);
    onnx_set_int(g, best, "keepdims", 0);
    onnx_node *name = onnx_apply(g, "ai.onnx.ml:LabelEncoder", class, ONNX_NAME("best"));
    int64_t *keys = onnx_take(g, m->n_classes, sizeof *keys);
    ProtobufCBinaryData *names = onnx_take(g, m->n_classes, sizeof *names);
    for (uint32_t k = 0; keys && names && k < m->n_classes; k++) {
        keys[k] = k;
        names[k] = onnx_bytes(m->classes[k]);
    }
    onnx_set_ints(g, name, "keys_int64s", keys, m->n_classes);
    onnx_set_texts(g, name, "values_strings", names, m->n_classes);
    Onnx__ValueInfoProto **outputs = onnx_take(g, 2, sizeof *outputs);
    if (!outputs)
        return;
    outputs[0] = onnx_value(g, class, ONNX_STRING, 0, "the class with the highest probability");
    outputs[1] = onnx_value(g, probabilities, ONNX_FLOAT, m->n_classes, "of each class");
    g->graph.output = outputs;
    g->graph.n_output = 2;
}

static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* Names of the classes, in their order, a line each: none has a line's end in it. */
static char *class_list(struct onnx_making *x)
{
    char *list = onnx_text(&x->g, "%s", x->model->classes[0]);
    for (uint32_t k = 1; list && k < x->model->n_classes; k++)
        list = onnx_text(&x->g, "%s\n%s", list, x->model->classes[k]);
    return list;
}

static int pack(struct onnx_making *x, struct byte_buffer *out, struct fis_error *e)
{
    const struct wire_model *m = x->model;
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto sets[2] = {ONNX__OPERATOR_SET_ID_PROTO__INIT,
                                        ONNX__OPERATOR_SET_ID_PROTO__INIT};
    Onnx__OperatorSetIdProto *set_list[2] = {&sets[0], &sets[1]};
    Onnx__StringStringEntryProto facts[4], *fact_list[4];
    const char *const keys[] = {"pipeline", "version", "classes", "positive"};
    char *const values[] = {text(m->pipeline), onnx_text(&x->g, "%" PRIu64, m->version),
                            class_list(x), text(m->classes[m->positive])};
    if (x->g.failed)
        return fis_fail(e, FIS_NOMEM, "no memory for version %" PRIu64 " as ONNX", m->version);
    for (size_t i = 0; i < 4; i++) {
        onnx__string_string_entry_proto__init(&facts[i]);
        facts[i].key = text(keys[i]);
        facts[i].value = values[i];
        fact_list[i] = &facts[i];
    }
    sets[0].version = OPERATORS;
    sets[1].version = ML_OPERATORS;
    sets[1].domain = text("ai.onnx.ml");
    x->g.graph.name = text(m->pipeline);
    model.ir_version = IR_VERSION;
    model.producer_name = text("fisd");
    model.producer_version = text(FIS_VERSION);
    model.model_version = (int64_t)m->version;
    model.graph = &x->g.graph;
    model.n_opset_import = 2;
    model.opset_import = set_list;
    model.n_metadata_props = 4;
    model.metadata_props = fact_list;
    if (onnx__model_proto__get_packed_size(&model) > INT32_MAX)
        return fis_fail(e, FIS_INPUT, "version %" PRIu64 " is over 2 GB: ONNX allows no more",
                        m->version);
    return wire_protobuf_pack(&model, out, e);
}

int wire_onnx_encode(const struct wire_model *model, struct byte_buffer *out, struct fis_error *e)
{
    if (!model->params || !model->encoder ||
        (fis_encoder_has_trees(model->encoder) && !model->trees &&
         !fis_encoder_trees(model->encoder)))
        return fis_fail(e, FIS_INPUT, "version %" PRIu64 " has no weights: it was rejected",
                        model->version);
    struct onnx_making x = {.model = model,
                            .encoder = model->encoder,
                            .d = fis_shape_inputs(&model->shape),
                            .margins = model->shape.margins};
    onnx_graph_init(&x.g);
    uint32_t plain = x.d - x.margins;
    x.place = onnx_take(&x.g, plain ? plain : 1, sizeof *x.place);
    if (x.place)
        add_outputs(&x, add_logits(&x));
    int rc = pack(&x, out, e);
    onnx_graph_done(&x.g);
    return rc;
}

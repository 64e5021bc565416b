/* Images to a transformer's features, as core/vit.h has it. */
#include "wire/onnx_impl.h"

#include <math.h>
#include <string.h>

#include "core/vit.h"

struct maker {
    struct onnx_graph *g;
    const struct fis_vit *v;
    struct vit_layout l;
    const float *p;   /* parameters of the transformer, or of a block */
    const char *of;   /* in names: "image", "block_0", … */
    const char *name; /* of the value made last */
};

static char *named(struct maker *m, const char *what)
{
    return onnx_text(m->g, ONNX_NAME("%s_%s"), m->of, what);
}

static int64_t *kept(struct maker *m, const int64_t *values, size_t n)
{
    int64_t *to = onnx_take(m->g, n, sizeof *to);
    if (to)
        memcpy(to, values, n * sizeof *to);
    return to;
}

#define INTS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8

static const char *integers(struct maker *m, const char *what, const int64_t *values, size_t n)
{
    return onnx_tensor(m->g, named(m, what), ONNX_INT64, 0, n, kept(m, values, n));
}

static const char *scalar(struct maker *m, const char *what, double value)
{
    float *v = onnx_take(m->g, 1, sizeof *v);
    if (v)
        *v = (float)value;
    return onnx_tensor(m->g, named(m, what), ONNX_FLOAT, 0, 0, v);
}

/* The first dimension stays as it is. */
static void reshape(struct maker *m, const char *what, const int64_t *dims, size_t n)
{
    const char *shape = integers(m, onnx_text(m->g, "%s_shape", what), dims, n);
    const char *out = named(m, what);
    onnx_apply(m->g, "Reshape", out, m->name, shape);
    m->name = out;
}

static void transpose(struct maker *m, const char *what, const int64_t *order, size_t n)
{
    const char *out = named(m, what);
    onnx_node *node = onnx_apply(m->g, "Transpose", out, m->name);
    onnx_set_ints(m->g, node, "perm", kept(m, order, n), n);
    m->name = out;
}

static void with(struct maker *m, const char *op, const char *what, const char *other)
{
    const char *out = named(m, what);
    onnx_apply(m->g, op, out, m->name, other);
    m->name = out;
}

/* W [in][out] at the parameter `at`, the biases behind it. */
static void dense(struct maker *m, const char *what, size_t at, size_t in, size_t out)
{
    const float *w = m->p + at;
    const char *weights = named(m, onnx_text(m->g, "%s_weights", what));
    const char *biases = named(m, onnx_text(m->g, "%s_biases", what));
    with(m, "MatMul", onnx_text(m->g, "%s_product", what),
         onnx_tensor(m->g, weights, ONNX_FLOAT, in, out, w));
    with(m, "Add", what, onnx_tensor(m->g, biases, ONNX_FLOAT, 0, out, w + in * out));
}

static void norm(struct maker *m, const char *what, size_t at)
{
    const uint32_t d = m->v->dim;
    const char *scale = named(m, onnx_text(m->g, "%s_scale", what));
    const char *shift = named(m, onnx_text(m->g, "%s_shift", what));
    const char *out = named(m, what);
    onnx_tensor(m->g, scale, ONNX_FLOAT, 0, d, m->p + at);
    onnx_tensor(m->g, shift, ONNX_FLOAT, 0, d, m->p + at + d);
    onnx_node *node = onnx_apply(m->g, "LayerNormalization", out, m->name, scale, shift);
    onnx_set_int(m->g, node, "axis", -1);
    onnx_set_float(m->g, node, "epsilon", VIT_EPSILON);
    m->name = out;
}

/* Of `from`, the part at this place of an axis, which then is no more. */
static const char *part(struct maker *m, const char *what, const char *from, int64_t axis,
                        int64_t at)
{
    const char *out = named(m, what), *index = named(m, onnx_text(m->g, "%s_at", what));
    onnx_tensor(m->g, index, ONNX_INT64, 0, 0, kept(m, &at, 1));
    onnx_set_int(m->g, onnx_apply(m->g, "Gather", out, from, index), "axis", axis);
    return out;
}

/* ---- from images to tokens ------------------------------------------------------------------- */

/* [N][T][D] of the positions; where the first token is the class token, that is in it. */
static const char *positions(struct maker *m)
{
    const size_t d = m->v->dim, t = vit_tokens(m->v);
    float *to = onnx_take(m->g, t * d, sizeof *to);
    if (to)
        memcpy(to, m->p + m->l.position, t * d * sizeof *to);
    for (size_t i = 0; to && m->v->token && i < d; i++)
        to[i] += m->p[m->l.token + i];
    return onnx_tensor(m->g, named(m, "positions"), ONNX_FLOAT, t, d, to);
}

/* As the encoder does: the pixels of a channel have one mean and one deviation. */
static void standardise(struct maker *m, const struct fis_encoder *encoder)
{
    const uint32_t channels = m->v->channels;
    float *mean = onnx_take(m->g, channels, sizeof *mean);
    float *factor = onnx_take(m->g, channels, sizeof *factor);
    for (uint32_t i = 0; mean && factor && i < channels; i++) {
        struct fis_encoder_column_state s;
        fis_encoder_state(encoder, i, &s);
        mean[i] = s.column.scale == FIS_SCALE_STANDARD ? (float)s.mean : 0;
        factor[i] = (float)onnx_factor(&s);
    }
    with(m, "Sub", "centred", onnx_tensor(m->g, named(m, "mean"), ONNX_FLOAT, 0, channels, mean));
    with(m, "Mul", "scaled",
         onnx_tensor(m->g, named(m, "factor"), ONNX_FLOAT, 0, channels, factor));
    with(m, "Max", "from_below", scalar(m, "least", -FIS_ENCODER_CLIP));
    with(m, "Min", "clipped", scalar(m, "most", FIS_ENCODER_CLIP));
}

static void add_tokens(struct maker *m, const struct fis_encoder *encoder)
{
    const struct fis_vit *v = m->v;
    const int64_t rows = v->height / v->patch, columns = v->width / v->patch;
    const int64_t p = v->patch, c = v->channels, size = p * p * c;
    const uint32_t shape[] = {v->height, v->width, v->channels};
    m->name = "image";
    onnx_input(m->g, onnx_image(m->g, m->name, ONNX_FLOAT, shape, "bytes of pixels, 0 to 255"));
    with(m, "Div", "halves", scalar(m, "half", 127.5));
    with(m, "Sub", "pixels", scalar(m, "one", 1));
    standardise(m, encoder);
    reshape(m, "cut", INTS(-1, rows, p, columns, p, c));
    transpose(m, "patches", INTS(0, 1, 3, 2, 4, 5));
    reshape(m, "flat", INTS(-1, rows * columns, size));
    dense(m, "embedded", m->l.patch, (size_t)size, v->dim);
    if (v->token) /* a row of zeros before the patches */
        with(m, "Pad", "padded", integers(m, "pads", INTS(0, 1, 0, 0, 0, 0)));
    with(m, "Add", "tokens", positions(m));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void attend(struct maker *m)
{
    const int64_t t = vit_tokens(m->v), d = m->v->dim, heads = m->v->heads;
    dense(m, "qkv", m->l.qkv, m->v->dim, 3 * (size_t)m->v->dim);
    reshape(m, "by_head", INTS(-1, t, 3, heads, d / heads));
    transpose(m, "heads", INTS(2, 0, 3, 1, 4));
    const char *all = m->name;
    m->name = part(m, "k", all, 0, 1);
    transpose(m, "k_turned", INTS(0, 1, 3, 2));
    const char *k = m->name;
    m->name = part(m, "q", all, 0, 0);
    with(m, "MatMul", "product", k);
    with(m, "Mul", "scaled", scalar(m, "scale", 1 / sqrt((double)(d / heads))));
    const char *share = named(m, "share");
    onnx_set_int(m->g, onnx_apply(m->g, "Softmax", share, m->name), "axis", -1);
    m->name = share;
    with(m, "MatMul", "mixed", part(m, "v", all, 0, 2));
    transpose(m, "by_token", INTS(0, 2, 1, 3));
    reshape(m, "attended", INTS(-1, t, d));
    dense(m, "out", m->l.out, m->v->dim, m->v->dim);
}

/* x sigmoid(c (x + .044715 x^3)) with c = 2 sqrt(2 / pi), which is the one by tanh. */
static void gelu(struct maker *m)
{
    const double c = 1.5957691216057308;
    const char *x = m->name, *sigmoid = named(m, "sigmoid");
    with(m, "Mul", "square", x);
    with(m, "Mul", "cube", scalar(m, "gelu_cube", .044715 * c));
    with(m, "Add", "slope", scalar(m, "gelu_slope", c));
    with(m, "Mul", "gelu_in", x);
    onnx_apply(m->g, "Sigmoid", sigmoid, m->name);
    m->name = sigmoid;
    with(m, "Mul", "gelu", x);
}

static void add_block(struct maker *m)
{
    const char *x = m->name;
    norm(m, "norm1", m->l.norm1);
    attend(m);
    with(m, "Add", "between", x);
    x = m->name;
    norm(m, "norm2", m->l.norm2);
    dense(m, "up", m->l.up, m->v->dim, m->v->mlp);
    gelu(m);
    dense(m, "down", m->l.down, m->v->mlp, m->v->dim);
    with(m, "Add", "after", x);
}

/* [N][T][D] to [N][D]. */
static const char *pool(struct maker *m)
{
    if (m->v->token)
        return part(m, "pooled", m->name, 1, 0);
    const char *out = named(m, "pooled");
    onnx_node *node = onnx_apply(m->g, "ReduceMean", out, m->name);
    onnx_set_ints(m->g, node, "axes", kept(m, (const int64_t[]){1}, 1), 1);
    onnx_set_int(m->g, node, "keepdims", 0);
    return out;
}

const char *onnx_transformer(struct onnx_making *x)
{
    const struct fis_vit *v = &x->model->shape.vit;
    struct maker m = {.g = &x->g, .v = v, .l = vit_layout(v), .p = x->model->params, .of = "image"};
    add_tokens(&m, x->encoder);
    for (uint32_t i = 0; i < v->depth; i++) {
        m.p = x->model->params + m.l.block + i * m.l.block_total;
        m.of = onnx_text(m.g, "block_%u", i);
        add_block(&m);
    }
    m.p = x->model->params;
    m.of = "image";
    norm(&m, "norm", m.l.norm);
    return pool(&m);
}

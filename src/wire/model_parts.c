#include "wire/model_parts.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>

_Static_assert((int)FIS_NUMERIC == (int)FIS__V1__ENCODER__COLUMN__TYPE__NUMERIC &&
                   (int)FIS_CATEGORICAL == (int)FIS__V1__ENCODER__COLUMN__TYPE__CATEGORICAL &&
                   (int)FIS_SCALE_STANDARD == (int)FIS__V1__ENCODER__COLUMN__SCALE__STANDARD &&
                   (int)FIS_SCALE_NONE == (int)FIS__V1__ENCODER__COLUMN__SCALE__NONE &&
                   (int)FIS_SCALE_LOGIT == (int)FIS__V1__ENCODER__COLUMN__SCALE__LOGIT &&
                   (int)FIS_SCALE_PROBABILITY == (int)FIS__V1__ENCODER__COLUMN__SCALE__PROBABILITY,
               "columns have one numbering, here and on the wire");

int wire_scratch_init(struct fis_arena *a, size_t bytes, struct fis_error *e)
{
    *a = (struct fis_arena){.base = fis_alloc(bytes, 1), .size = bytes};
    return a->base ? 0 : fis_fail(e, FIS_NOMEM, "no memory for %zu bytes", bytes);
}

int wire_scratch_full(const struct fis_arena *a, struct fis_error *e)
{
    return fis_fail(e, FIS_NOMEM, "%zu bytes are too few to encode this", a->size);
}

int wire_check_finite(const float *x, size_t n, const char *what, struct fis_error *e)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return fis_fail(e, FIS_INPUT, "%s %zu is not finite", what, i);
    return 0;
}

void wire_network_fill(struct wire_network *to, const struct fis_shape *shape, const float *params)
{
    const struct fis_vit *v = &shape->vit;
    Fis__V1__Network *out = &to->message;
    Fis__V1__Network__Transformer *t = &to->transformer;
    fis__v1__network__init(out);
    out->n_width = shape->n_layers + 1;
    out->width = (uint32_t *)(uintptr_t)shape->width;
    out->n_parameters = params ? fis_shape_params(shape) : 0;
    out->parameters = (float *)(uintptr_t)params;
    if (!v->height)
        return;
    fis__v1__network__transformer__init(t);
    t->height = v->height;
    t->width = v->width;
    t->channels = v->channels;
    t->patch = v->patch;
    t->dim = v->dim;
    t->depth = v->depth;
    t->heads = v->heads;
    t->mlp = v->mlp;
    t->token = v->token;
    out->transformer = t;
}

static int read_transformer(const Fis__V1__Network__Transformer *t, struct fis_shape *shape,
                            struct fis_error *e)
{
    if (!t)
        return 0;
    const struct fis_vit v = {.height = t->height,
                              .width = t->width,
                              .channels = t->channels,
                              .patch = t->patch,
                              .dim = t->dim,
                              .depth = t->depth,
                              .heads = t->heads,
                              .mlp = t->mlp,
                              .token = t->token};
    return fis_shape_set_vit(shape, &v, e);
}

int wire_network_read(const Fis__V1__Network *n, struct fis_shape *shape, const float **params,
                      struct fis_error *e)
{
    if (!n || n->n_width < 2 || n->n_width > FIS_MAX_LAYERS + 1)
        return fis_fail(e, FIS_INPUT, "network: %zu widths, 2..%d expected", n ? n->n_width : 0,
                        FIS_MAX_LAYERS + 1);
    uint32_t layers = (uint32_t)n->n_width - 1;
    int rc = fis_shape_init(shape, n->width[0], n->width + 1, layers - 1, n->width[layers], e);
    if (!rc)
        rc = read_transformer(n->transformer, shape, e);
    if (rc)
        return rc;
    *params = NULL;
    if (!n->n_parameters)
        return 0;
    if (n->n_parameters != fis_shape_params(shape))
        return fis_fail(e, FIS_INPUT, "network: %zu parameters, %zu expected", n->n_parameters,
                        fis_shape_params(shape));
    *params = n->parameters;
    return wire_check_finite(n->parameters, n->n_parameters, "parameter", e);
}

size_t wire_encoder_scratch(const struct fis_encoder *enc)
{
    return fis_encoder_columns(enc) *
               (sizeof(Fis__V1__Encoder__Column) + sizeof(Fis__V1__Encoder__Column *)) +
           sizeof(Fis__V1__Encoder__Trees) + sizeof(Fis__V1__Encoder__Image) +
           2 * FIS_IMAGE_CHANNELS * sizeof(double) + 128;
}

/* In place of columns, which would be thousands and alike. */
static int fill_image(Fis__V1__Encoder *out, const struct fis_encoder *enc, struct fis_arena *a,
                      struct fis_error *e)
{
    const struct fis_encoder_image *image = fis_encoder_image(enc);
    Fis__V1__Encoder__Image *to = out->image = fis_arena_alloc(a, sizeof *to);
    double *numbers = fis_arena_alloc(a, 2 * image->channels * sizeof *numbers);
    if (!to || !numbers)
        return wire_scratch_full(a, e);
    fis__v1__encoder__image__init(to);
    to->height = image->height;
    to->width = image->width;
    to->channels = image->channels;
    to->n_mean = to->n_deviation = image->channels;
    to->mean = numbers;
    to->deviation = numbers + image->channels;
    for (uint32_t c = 0; c < image->channels; c++) {
        struct fis_encoder_column_state s;
        fis_encoder_state(enc, c, &s);
        to->mean[c] = s.mean;
        to->deviation[c] = s.deviation;
    }
    return 0;
}

static int fill_trees(Fis__V1__Encoder *out, const struct fis_trees *trees, struct fis_arena *a,
                      struct fis_error *e)
{
    if (!trees)
        return fis_fail(e, FIS_INPUT, "encoder: its trees are missing");
    const struct fis_trees_shape *s = fis_trees_shape(trees);
    Fis__V1__Encoder__Trees *t = out->trees = fis_arena_alloc(a, sizeof *t);
    if (!t)
        return wire_scratch_full(a, e);
    fis__v1__encoder__trees__init(t);
    t->margins = s->margins;
    t->depth = s->depth;
    t->n_feature = t->n_threshold = fis_trees_nodes(s);
    t->n_leaf = fis_trees_leaf_count(s);
    t->feature = (uint32_t *)(uintptr_t)fis_trees_features(trees);
    t->threshold = (float *)(uintptr_t)fis_trees_thresholds(trees);
    t->leaf = (float *)(uintptr_t)fis_trees_leaves(trees);
    return 0;
}

int wire_encoder_fill(Fis__V1__Encoder *out, const struct fis_encoder *enc,
                      const struct fis_trees *trees, struct fis_arena *a, struct fis_error *e)
{
    uint32_t n = fis_encoder_columns(enc);
    fis__v1__encoder__init(out);
    if (fis_encoder_image(enc))
        return fill_image(out, enc, a, e);
    Fis__V1__Encoder__Column *columns = fis_arena_alloc(a, n * sizeof *columns);
    Fis__V1__Encoder__Column **list = fis_arena_alloc(a, n * sizeof *list);
    if (!columns || !list)
        return wire_scratch_full(a, e);
    for (uint32_t i = 0; i < n; i++) {
        struct fis_encoder_column_state s;
        Fis__V1__Encoder__Column *c = list[i] = &columns[i];
        fis_encoder_state(enc, i, &s);
        fis__v1__encoder__column__init(c);
        c->name = (char *)(uintptr_t)s.column.name;
        c->type = (Fis__V1__Encoder__Column__Type)s.column.type;
        if (s.column.type == FIS_NUMERIC) {
            c->scale = (Fis__V1__Encoder__Column__Scale)s.column.scale;
            c->mean = s.mean;
            c->deviation = s.deviation;
        }
        c->missing_indicator = s.missing_indicator;
        c->n_categories = s.n_categories;
        c->categories = (char **)(uintptr_t)s.categories;
    }
    out->n_columns = n;
    out->columns = list;
    return fis_encoder_has_trees(enc)
               ? fill_trees(out, trees ? trees : fis_encoder_trees(enc), a, e)
               : 0;
}

static int read_columns(const Fis__V1__Encoder *from, struct fis_encoder_column_state *states,
                        struct fis_error *e)
{
    for (size_t i = 0; i < from->n_columns; i++) {
        const Fis__V1__Encoder__Column *c = from->columns[i];
        if (!c->type)
            return fis_fail(e, FIS_INPUT, "encoder: column %zu has no type", i);
        if (c->type == FIS__V1__ENCODER__COLUMN__TYPE__NUMERIC && !c->scale)
            return fis_fail(e, FIS_INPUT, "encoder: column %zu is numeric and has no scale", i);
        states[i] = (struct fis_encoder_column_state){
            .column = {c->name, (enum fis_column_type)c->type, (enum fis_column_scale)c->scale},
            .mean = c->mean,
            .deviation = c->deviation,
            .missing_indicator = c->missing_indicator,
            .n_categories = (uint32_t)c->n_categories,
            .categories = (const char *const *)c->categories,
        };
        if (!c->scale)
            states[i].column.scale = FIS_SCALE_NONE;
    }
    return 0;
}

static int read_trees(const Fis__V1__Encoder__Trees *t, struct fis_encoder *enc,
                      struct fis_error *e)
{
    struct fis_trees_shape s = {
        .d = fis_encoder_dimension(enc) - t->margins, .margins = t->margins, .depth = t->depth};
    if (t->depth == 0 || t->depth > FIS_TREES_DEPTH_MAX || t->n_leaf >> t->depth > FIS_TREES_MAX)
        return fis_fail(e, FIS_INPUT, "trees: %zu leaves at depth %u", t->n_leaf, t->depth);
    s.n = (uint32_t)(t->n_leaf >> t->depth);
    if (t->n_leaf != fis_trees_leaf_count(&s) || t->n_feature != fis_trees_nodes(&s) ||
        t->n_threshold != t->n_feature)
        return fis_fail(e, FIS_INPUT, "trees: %zu leaves, %zu features and %zu thresholds",
                        t->n_leaf, t->n_feature, t->n_threshold);
    struct fis_trees *trees = fis_trees_new(&s, t->feature, t->threshold, t->leaf, e);
    int rc = trees ? fis_encoder_set_trees(enc, trees, e) : -(int)FIS_INPUT;
    fis_trees_unref(trees);
    return rc;
}

/* The columns that an image stands for. */
static struct fis_encoder *read_image(const Fis__V1__Encoder *from, struct fis_error *e)
{
    enum { NAME = 8 }; /* f65535 and its NUL */
    const Fis__V1__Encoder__Image *i = from->image;
    const struct fis_encoder_image image = {i->height, i->width, i->channels};
    if (from->n_columns || from->trees || !i->channels || i->channels > FIS_IMAGE_CHANNELS ||
        i->n_mean != i->channels || i->n_deviation != i->channels || !i->height || !i->width ||
        (uint64_t)i->height * i->width * i->channels > FIS_IMAGE_NUMBERS) {
        fis_fail(e, FIS_INPUT,
                 "encoder: an image of %u x %u x %u with %zu means and %zu deviations, %zu columns",
                 i->height, i->width, i->channels, i->n_mean, i->n_deviation, from->n_columns);
        return NULL;
    }
    const uint32_t n = i->height * i->width * i->channels;
    struct fis_encoder_column_state *states = fis_calloc(n, sizeof *states);
    char(*names)[NAME] = fis_alloc(n, NAME);
    struct fis_encoder *enc = NULL;
    if (!states || !names)
        fis_fail(e, FIS_NOMEM, "no memory for %u columns", n);
    for (uint32_t k = 0; states && names && k < n; k++) {
        snprintf(names[k], NAME, "f%u", k % 100000);
        states[k] =
            (struct fis_encoder_column_state){.column = {names[k], FIS_NUMERIC, FIS_SCALE_STANDARD},
                                              .mean = i->mean[k % i->channels],
                                              .deviation = i->deviation[k % i->channels]};
    }
    if (states && names)
        enc = fis_encoder_from_states(states, n, e);
    if (enc && fis_encoder_expect_image(enc, &image, e)) {
        fis_encoder_free(enc);
        enc = NULL;
    }
    fis_free(states);
    fis_free(names);
    return enc;
}

static struct fis_encoder *read_encoder(const Fis__V1__Encoder *from, struct fis_error *e)
{
    if (from->image)
        return read_image(from, e);
    struct fis_encoder_column_state *states = fis_calloc(from->n_columns, sizeof *states);
    struct fis_encoder *enc = NULL;
    if (!states)
        fis_fail(e, FIS_NOMEM, "no memory for %zu columns", from->n_columns);
    else if (!read_columns(from, states, e))
        enc = fis_encoder_over_trees(states, (uint32_t)from->n_columns,
                                     from->trees ? from->trees->margins : 0, e);
    fis_free(states);
    return enc;
}

int wire_encoder_read(const Fis__V1__Encoder *from, struct fis_shape *shape,
                      struct fis_encoder **out, struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(shape);
    struct fis_error own;
    e = e ? e : &own;
    struct fis_encoder *enc = read_encoder(from, e);
    int rc = enc ? 0 : -(int)e->kind;
    if (!rc && from->trees)
        rc = read_trees(from->trees, enc, e);
    if (!rc && fis_encoder_dimension(enc) != d)
        rc = fis_fail(e, FIS_INPUT, "encoder: %s, the network requires %u",
                      DECIMAL_COUNT(fis_encoder_dimension(enc), "feature"), d);
    if (!rc)
        rc = fis_shape_set_margins(shape, fis_encoder_margins(enc), e);
    if (!rc)
        *out = enc;
    else
        fis_encoder_free(enc);
    return rc;
}

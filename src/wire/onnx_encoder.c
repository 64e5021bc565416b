/* Columns to features, as fis/encoder.h has it; in the graph the numeric features come first, then
 * the indicators of missing ones, then the categories. */
#include "wire/onnx_impl.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

struct numbers { /* the numeric columns without a base's */
    uint32_t n, n_indicators;
    const char **inputs;
    double *mean, *factor, *high, *low;
    int64_t *indicator; /* which columns have one */
    uint32_t *indicator_feature;
};

static bool is_base(const struct fis_column *c)
{
    return c->type == FIS_NUMERIC &&
           (c->scale == FIS_SCALE_LOGIT || c->scale == FIS_SCALE_PROBABILITY);
}

static const char *input(struct onnx_making *x, const char *name, Onnx__TensorProto__DataType type,
                         const char *meaning)
{
    char *own = onnx_text(&x->g, "%s", name);
    onnx_input(&x->g, onnx_value(&x->g, own, type, 1, onnx_text(&x->g, "%s", meaning)));
    return own;
}

/* ---- numbers --------------------------------------------------------------------------------- */

double onnx_factor(const struct fis_encoder_column_state *s)
{
    const double factor = 1 / s->deviation;
    if (s->column.scale != FIS_SCALE_STANDARD)
        return 1;
    return s->deviation == DBL_MAX ? 0 : factor <= DBL_MAX ? factor : DBL_MAX;
}

static void add_number(struct onnx_making *x, struct numbers *v,
                       const struct fis_encoder_column_state *s, uint32_t first, bool flat)
{
    bool scaled = s->column.scale == FIS_SCALE_STANDARD;
    uint32_t i = v->n++;
    if (!flat)
        v->inputs[i] = input(x, s->column.name, ONNX_DOUBLE, "number; missing: NaN");
    v->mean[i] = scaled ? s->mean : 0;
    v->factor[i] = onnx_factor(s);
    v->high[i] = scaled ? (double)FIS_ENCODER_CLIP : (double)FLT_MAX;
    v->low[i] = -v->high[i];
    x->place[first] = i;
    if (s->missing_indicator) {
        v->indicator[v->n_indicators] = i;
        v->indicator_feature[v->n_indicators++] = first + 1;
    }
}

static onnx_node *cast(struct onnx_graph *g, const char *output, const char *from,
                       Onnx__TensorProto__DataType to)
{
    onnx_node *node = onnx_apply(g, "Cast", output, from);
    onnx_set_int(g, node, "to", to);
    return node;
}

static const char *joined(struct onnx_graph *g, const char *output, const char *const *parts,
                          size_t n)
{
    if (n == 1)
        return parts[0];
    onnx_set_int(g, onnx_apply_list(g, "Concat", output, parts, n), "axis", 1);
    return output;
}

static void finish_numbers(struct onnx_making *x, const struct numbers *v, bool flat)
{
    struct onnx_graph *g = &x->g;
    const char *in = ONNX_NAME("numbers");
    if (flat)
        cast(g, in, "features", ONNX_DOUBLE);
    else
        in = joined(g, in, v->inputs, v->n);
    onnx_apply(g, "IsNaN", ONNX_NAME("missing"), in);
    onnx_apply(g, "Where", ONNX_NAME("filled"), ONNX_NAME("missing"),
               onnx_tensor(g, ONNX_NAME("mean"), ONNX_DOUBLE, 0, v->n, v->mean), in);
    onnx_apply(g, "Sub", ONNX_NAME("centred"), ONNX_NAME("filled"), ONNX_NAME("mean"));
    onnx_apply(g, "Mul", ONNX_NAME("scaled"), ONNX_NAME("centred"),
               onnx_tensor(g, ONNX_NAME("factor"), ONNX_DOUBLE, 0, v->n, v->factor));
    onnx_apply(g, "Max", ONNX_NAME("from_below"), ONNX_NAME("scaled"),
               onnx_tensor(g, ONNX_NAME("least"), ONNX_DOUBLE, 0, v->n, v->low));
    onnx_apply(g, "Min", ONNX_NAME("clipped"), ONNX_NAME("from_below"),
               onnx_tensor(g, ONNX_NAME("most"), ONNX_DOUBLE, 0, v->n, v->high));
    cast(g, ONNX_NAME("numeric"), ONNX_NAME("clipped"), ONNX_FLOAT);
    x->parts[x->n_parts++] = ONNX_NAME("numeric");
    if (!v->n_indicators)
        return;
    for (uint32_t i = 0; i < v->n_indicators; i++)
        x->place[v->indicator_feature[i]] = v->n + i;
    onnx_set_int(g,
                 onnx_apply(g, "Gather", ONNX_NAME("indicated"), ONNX_NAME("missing"),
                            onnx_tensor(g, ONNX_NAME("indicator"), ONNX_INT64, 0, v->n_indicators,
                                        v->indicator)),
                 "axis", 1);
    cast(g, ONNX_NAME("indicators"), ONNX_NAME("indicated"), ONNX_FLOAT);
    x->parts[x->n_parts++] = ONNX_NAME("indicators");
}

/* ---- categories ------------------------------------------------------------------------------ */

/* The name of a category that is a whole number: it may come as 1.0 too. */
static bool is_whole(const char *text)
{
    const char *first = text + (*text == '-');
    size_t n = strspn(first, "0123456789");
    return n && !first[n] && (first[0] != '0' || (n == 1 && first == text));
}

struct spelling {
    ProtobufCBinaryData *keys;
    int64_t *values;
    size_t n;
};

static void spell(struct onnx_making *x, struct spelling *s, const char *text, int64_t value)
{
    static const char *const spaces[] = {"", " "};
    for (int i = 0; i < 8; i++) {
        if (i >= 4 && !is_whole(text))
            break;
        char *key = onnx_text(&x->g, "%s%s%s%s", spaces[i & 1], text, i >= 4 ? ".0" : "",
                              spaces[i >> 1 & 1]);
        if (!key)
            return;
        s->keys[s->n] = onnx_bytes(key);
        s->values[s->n++] = value;
    }
}

static void add_categories(struct onnx_making *x, uint32_t column,
                           const struct fis_encoder_column_state *s)
{
    static const float off_on[] = {0, 1};
    struct onnx_graph *g = &x->g;
    size_t room = 8 * (size_t)s->n_categories + 2;
    const char *missing = "";
    struct spelling to = {.keys = onnx_take(g, room, sizeof *to.keys),
                          .values = onnx_take(g, room, sizeof *to.values)};
    int64_t *width = onnx_take(g, 1, sizeof *width);
    if (!to.keys || !to.values || !width)
        return;
    for (uint32_t k = 0; k < s->n_categories; k++) {
        spell(x, &to, s->categories[k], k);
        if (!*s->categories[k])
            missing = "(missing)";
    }
    for (int i = 0; i < (*missing ? 1 : 2); i++) {
        to.keys[to.n] = onnx_bytes(i ? " " : missing);
        to.values[to.n++] = s->n_categories + 1;
    }
    *width = s->n_categories + 2;
    char meaning[64];
    snprintf(meaning, sizeof meaning, "category; missing: \"%s\"", missing);
    const char *in = input(x, s->column.name, ONNX_STRING, meaning);
    char *code = onnx_text(g, ONNX_NAME("code_%u"), column);
    onnx_node *node = onnx_apply(g, "ai.onnx.ml:LabelEncoder", code, in);
    onnx_set_texts(g, node, "keys_strings", to.keys, to.n);
    onnx_set_ints(g, node, "values_int64s", to.values, to.n);
    onnx_set_int(g, node, "default_int64", s->n_categories);
    char *depth = onnx_text(g, ONNX_NAME("width_%u"), column);
    char *hot = onnx_text(g, ONNX_NAME("hot_%u"), column);
    onnx_apply(g, "OneHot", hot, code, onnx_tensor(g, depth, ONNX_INT64, 0, 1, width),
               ONNX_NAME("off_on"));
    if (!x->n_hot++)
        onnx_tensor(g, ONNX_NAME("off_on"), ONNX_FLOAT, 0, 2, off_on);
    char *flat = onnx_text(g, ONNX_NAME("category_%u"), column);
    onnx_apply(g, "Flatten", flat, hot);
    x->parts[x->n_parts++] = flat;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Columns that the configuration's `dimension` has named: f0, f1, … */
static bool is_flat(const struct fis_encoder *enc, uint32_t n)
{
    char name[16];
    for (uint32_t i = 0; i < n; i++) {
        const struct fis_column *c = fis_encoder_column(enc, i);
        snprintf(name, sizeof name, "f%u", i);
        if (c->type != FIS_NUMERIC || strcmp(c->name, name))
            return false;
    }
    return n > 1;
}

static bool make_room(struct onnx_making *x, struct numbers *v, uint32_t n)
{
    struct onnx_graph *g = &x->g;
    *v = (struct numbers){.inputs = onnx_take(g, n, sizeof *v->inputs),
                          .mean = onnx_take(g, n, sizeof *v->mean),
                          .factor = onnx_take(g, n, sizeof *v->factor),
                          .high = onnx_take(g, n, sizeof *v->high),
                          .low = onnx_take(g, n, sizeof *v->low),
                          .indicator = onnx_take(g, n, sizeof *v->indicator),
                          .indicator_feature = onnx_take(g, n, sizeof *v->indicator_feature)};
    x->parts = onnx_take(g, (size_t)n + 2, sizeof *x->parts);
    return x->parts && v->indicator_feature && v->indicator && v->low && v->high && v->factor &&
           v->mean && v->inputs;
}

static void place_categories(struct onnx_making *x, uint32_t n, uint32_t at)
{
    struct fis_encoder_column_state s;
    for (uint32_t i = 0, first = 0; i < n; i++) {
        fis_encoder_state(x->encoder, i, &s);
        uint32_t width =
            s.column.type == FIS_NUMERIC ? 1u + (s.missing_indicator != 0) : s.n_categories + 2;
        for (uint32_t k = 0; s.column.type == FIS_CATEGORICAL && k < width; k++)
            x->place[first + k] = at++;
        first += width;
    }
}

const char *onnx_encode_columns(struct onnx_making *x)
{
    const struct fis_encoder *enc = x->encoder;
    uint32_t n = fis_encoder_columns(enc), first = 0;
    struct fis_encoder_column_state s;
    struct numbers v;
    while (n && is_base(fis_encoder_column(enc, n - 1)))
        n--;
    if (!n || !make_room(x, &v, n))
        return NULL;
    bool flat = is_flat(enc, n);
    if (flat)
        onnx_input(&x->g, onnx_value(&x->g, "features", ONNX_FLOAT, n, "numbers; missing: NaN"));
    for (uint32_t i = 0; i < n; i++) {
        fis_encoder_state(enc, i, &s);
        if (s.column.type == FIS_NUMERIC) {
            add_number(x, &v, &s, first, flat);
            first += 1u + (s.missing_indicator != 0);
        } else {
            first += s.n_categories + 2;
        }
    }
    if (v.n)
        finish_numbers(x, &v, flat);
    place_categories(x, n, v.n + v.n_indicators);
    for (uint32_t i = 0; i < n; i++) {
        fis_encoder_state(enc, i, &s);
        if (s.column.type == FIS_CATEGORICAL)
            add_categories(x, i, &s);
    }
    return joined(&x->g, ONNX_NAME("features"), x->parts, x->n_parts);
}

/* ---- the base -------------------------------------------------------------------------------- */

/* The margins that a probability stands for. */
static const char *of_probability(struct onnx_making *x, const char *in)
{
    static const double least = FIS_PROBABILITY_MIN, most = 1 - FIS_PROBABILITY_MIN, one = 1;
    struct onnx_graph *g = &x->g;
    onnx_apply(g, "Max", ONNX_NAME("base_above_0"), in,
               onnx_tensor(g, ONNX_NAME("base_least"), ONNX_DOUBLE, 0, 0, &least));
    onnx_apply(g, "Min", ONNX_NAME("base_p"), ONNX_NAME("base_above_0"),
               onnx_tensor(g, ONNX_NAME("base_most"), ONNX_DOUBLE, 0, 0, &most));
    const char *p = ONNX_NAME("base_p");
    if (x->margins == 1) {
        onnx_apply(g, "Sub", ONNX_NAME("base_q"),
                   onnx_tensor(g, ONNX_NAME("base_one"), ONNX_DOUBLE, 0, 0, &one), p);
        onnx_apply(g, "Div", ONNX_NAME("base_odds"), p, ONNX_NAME("base_q"));
        p = ONNX_NAME("base_odds");
    }
    onnx_apply(g, "Log", ONNX_NAME("base_log"), p);
    return ONNX_NAME("base_log");
}

static const char *of_columns(struct onnx_making *x)
{
    const char **inputs = onnx_take(&x->g, x->margins, sizeof *inputs);
    uint32_t first = fis_encoder_columns(x->encoder) - x->margins;
    for (uint32_t k = 0; inputs && k < x->margins; k++)
        inputs[k] = input(x, fis_encoder_column(x->encoder, first + k)->name, ONNX_DOUBLE,
                          "score of the base; required");
    if (!inputs)
        return NULL;
    const char *in = joined(&x->g, ONNX_NAME("base_scores"), inputs, x->margins);
    return fis_encoder_column(x->encoder, first)->scale == FIS_SCALE_PROBABILITY
               ? of_probability(x, in)
               : in;
}

const char *onnx_margins(struct onnx_making *x, const char *features)
{
    static const double high = FIS_MARGIN_MAX, low = -FIS_MARGIN_MAX;
    static const float scale = 1 / FIS_MARGIN_SCALE;
    struct onnx_graph *g = &x->g;
    if (!x->margins)
        return NULL;
    const char *in;
    const struct fis_trees *trees =
        x->model->trees ? x->model->trees : fis_encoder_trees(x->encoder);
    if (fis_encoder_has_trees(x->encoder)) {
        in = ONNX_NAME("base_raw");
        cast(g, in, onnx_trees(x, trees, features), ONNX_DOUBLE);
    } else {
        in = of_columns(x);
    }
    if (x->margins > 1) {
        onnx_node *largest = onnx_apply(g, "ReduceMax", ONNX_NAME("base_largest"), in);
        int64_t *axis = onnx_take(g, 1, sizeof *axis);
        if (axis)
            *axis = 1;
        onnx_set_ints(g, largest, "axes", axis, 1);
        onnx_apply(g, "Sub", ONNX_NAME("base_below"), in, ONNX_NAME("base_largest"));
        in = ONNX_NAME("base_below");
    }
    onnx_apply(g, "Max", ONNX_NAME("base_from"), in,
               onnx_tensor(g, ONNX_NAME("margin_low"), ONNX_DOUBLE, 0, 0, &low));
    onnx_apply(g, "Min", ONNX_NAME("base_to"), ONNX_NAME("base_from"),
               onnx_tensor(g, ONNX_NAME("margin_high"), ONNX_DOUBLE, 0, 0, &high));
    cast(g, ONNX_NAME("base_margins"), ONNX_NAME("base_to"), ONNX_FLOAT);
    onnx_apply(g, "Mul", ONNX_NAME("base"), ONNX_NAME("base_margins"),
               onnx_tensor(g, ONNX_NAME("margin_scale"), ONNX_FLOAT, 0, 0, &scale));
    return ONNX_NAME("base");
}

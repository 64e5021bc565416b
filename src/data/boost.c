#include "data/boost.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "base/decimal.h"
#include "fis/mem.h"

struct fitting {
    const struct fis_trees_rows *rows;
    const struct fis_trees_options *o;
    DMatrixHandle data, held; /* held: NULL without patience */
    BoosterHandle booster;
};

static int refused(struct fis_error *e)
{
    return fis_fail(e, FIS_INPUT, "trees: XGBoost: %s", XGBGetLastError());
}

static int set(struct fitting *f, const char *name, const char *format, double value,
               struct fis_error *e)
{
    char text[40];
    snprintf(text, sizeof text, format, value);
    return XGBoosterSetParam(f->booster, name, text) ? refused(e) : 0;
}

static int set_parameters(struct fitting *f, struct fis_error *e)
{
    const struct fis_trees_options *o = f->o;
    uint32_t k = f->rows->classes;
    const char *objective = k == 2 ? "binary:logistic" : "multi:softprob";
    if (XGBoosterSetParam(f->booster, "objective", objective) ||
        XGBoosterSetParam(f->booster, "tree_method", "hist"))
        return refused(e);
    int rc = k > 2 ? set(f, "num_class", "%.0f", k, e) : 0;
    rc = rc ? rc : set(f, "verbosity", "%.0f", 0, e);
    rc = rc ? rc : set(f, "nthread", "%.0f", 1, e);
    rc = rc ? rc : set(f, "seed", "%.0f", (double)(o->seed & INT32_MAX), e);
    rc = rc ? rc : set(f, "base_score", "%.1f", .5, e);
    rc = rc ? rc : set(f, "max_depth", "%.0f", o->depth, e);
    rc = rc ? rc : set(f, "eta", "%.17g", o->rate, e);
    rc = rc ? rc : set(f, "subsample", "%.17g", o->rows, e);
    return rc ? rc : set(f, "colsample_bytree", "%.17g", o->columns, e);
}

/* The rows of the index, and their labels, as XGBoost's own matrix. */
static int take_rows(const struct fitting *f, const uint32_t *index, uint32_t n,
                     DMatrixHandle *data, struct fis_error *e)
{
    uint32_t d = f->rows->d;
    float *x = fis_alloc((size_t)n * d, sizeof *x), *y = fis_alloc(n, sizeof *y);
    int rc = x && y ? 0 : fis_fail(e, FIS_NOMEM, "trees: no memory for %u rows", n);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        memcpy(x + (size_t)i * d, f->rows->x + (size_t)index[i] * f->rows->stride, d * sizeof *x);
        y[i] = (float)f->rows->y[index[i]];
    }
    if (rc == 0 && (XGDMatrixCreateFromMat_omp(x, n, d, NAN, data, 1) ||
                    XGDMatrixSetFloatInfo(*data, "label", y, n)))
        rc = refused(e);
    fis_free(x);
    fis_free(y);
    return rc;
}

/* ---- XGBoost's trees to ours ---------------------------------------------------------------- */

struct filling {
    const json_t *left, *right, *feature, *condition;
    uint32_t depth, leaves;
    uint32_t *to_feature;
    float *to_threshold, *to_leaf;
};

static double number_at(const json_t *array, json_int_t i)
{
    return json_number_value(json_array_get(array, (size_t)i));
}

/* Node `from` of XGBoost's, and what is below it, at `at` of level `level`. Below a leaf all that
 * can be reached is its value. */
static void fill(const struct filling *f, json_int_t from, uint32_t at, uint32_t level)
{
    json_int_t left = json_integer_value(json_array_get(f->left, (size_t)from));
    json_int_t right = json_integer_value(json_array_get(f->right, (size_t)from));
    if (level == f->depth) {
        f->to_leaf[at - (f->leaves - 1)] = (float)number_at(f->condition, from);
        return;
    }
    f->to_feature[at] =
        left < 0 ? 0 : (uint32_t)json_integer_value(json_array_get(f->feature, (size_t)from));
    f->to_threshold[at] = left < 0 ? FLT_MAX : (float)number_at(f->condition, from);
    fill(f, left < 0 ? from : left, 2 * at + 1, level + 1);
    fill(f, left < 0 ? from : right, 2 * at + 2, level + 1);
}

static int take_trees(const struct fitting *f, const json_t *trees, struct fis_trees **out,
                      struct fis_error *e)
{
    uint32_t leaves = 1u << f->o->depth;
    struct fis_trees_shape shape = {.d = f->rows->d,
                                    .margins = f->rows->classes == 2 ? 1 : f->rows->classes,
                                    .n = (uint32_t)json_array_size(trees),
                                    .depth = f->o->depth};
    uint32_t *feature = fis_alloc(fis_trees_nodes(&shape) + 1, sizeof *feature);
    float *threshold = fis_alloc(fis_trees_nodes(&shape) + 1, sizeof *threshold);
    float *leaf = fis_alloc(fis_trees_leaf_count(&shape) + 1, sizeof *leaf);
    int rc = feature && threshold && leaf
                 ? 0
                 : fis_fail(e, FIS_NOMEM, "trees: no memory for %u", shape.n);
    for (uint32_t t = 0; rc == 0 && t < shape.n; t++) {
        const json_t *tree = json_array_get(trees, t);
        struct filling to = {.left = json_object_get(tree, "left_children"),
                             .right = json_object_get(tree, "right_children"),
                             .feature = json_object_get(tree, "split_indices"),
                             .condition = json_object_get(tree, "split_conditions"),
                             .depth = shape.depth,
                             .leaves = leaves,
                             .to_feature = feature + (size_t)t * (leaves - 1),
                             .to_threshold = threshold + (size_t)t * (leaves - 1),
                             .to_leaf = leaf + (size_t)t * leaves};
        fill(&to, 0, 0, 0);
    }
    if (rc == 0) {
        *out = fis_trees_new(&shape, feature, threshold, leaf, e);
        rc = *out ? 0 : -(int)FIS_INPUT;
    }
    fis_free(feature);
    fis_free(threshold);
    fis_free(leaf);
    return rc;
}

static int read_model(const struct fitting *f, struct fis_trees **out, struct fis_error *e)
{
    bst_ulong length;
    const char *text;
    if (XGBoosterSaveModelToBuffer(f->booster, "{\"format\": \"json\"}", &length, &text))
        return refused(e);
    json_t *model = json_loadb(text, length, 0, NULL);
    json_t *trees = NULL;
    if (model)
        json_unpack(model, "{s:{s:{s:{s:o}}}}", "learner", "gradient_booster", "model", "trees",
                    &trees);
    int rc = trees ? take_trees(f, trees, out, e)
                   : fis_fail(e, FIS_INPUT, "trees: XGBoost's model cannot be read");
    json_decref(model);
    return rc;
}

/* The loss of the held-out rows, which is what follows the last colon. */
static int loss_of_held(struct fitting *f, int round, double *loss, struct fis_error *e)
{
    const char *name = "held", *text, *colon;
    if (XGBoosterEvalOneIter(f->booster, round, &f->held, &name, 1, &text))
        return refused(e);
    colon = strrchr(text, ':');
    if (!colon || decimal_read(colon + 1, strlen(colon + 1), loss) < 0)
        return fis_fail(e, FIS_INPUT, "trees: XGBoost: found '%s', a loss is expected", text);
    return 0;
}

static int grow(struct fitting *f, struct fis_error *e)
{
    double least = INFINITY, loss;
    uint32_t best = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < f->o->n; i++) {
        if (XGBoosterUpdateOneIter(f->booster, (int)i, f->data))
            return refused(e);
        if (!f->held)
            continue;
        rc = loss_of_held(f, (int)i, &loss, e);
        if (rc == 0 && loss < least) {
            least = loss;
            best = i;
        }
        if (i - best >= f->o->patience)
            break;
    }
    return rc;
}

int data_boost(const struct fis_trees_rows *rows, const uint32_t *index, uint32_t n,
               uint32_t n_held, const struct fis_trees_options *o, struct fis_trees **out,
               struct fis_error *e)
{
    struct fis_error local;
    struct fitting f = {.rows = rows, .o = o};
    e = e ? e : &local;
    int rc = n ? take_rows(&f, index, n, &f.data, e)
               : fis_fail(e, FIS_INPUT, "trees: no rows to fit to");
    if (rc == 0 && n_held && o->patience)
        rc = take_rows(&f, index + n, n_held, &f.held, e);
    if (rc == 0 && XGBoosterCreate((DMatrixHandle[]){f.data, f.held}, f.held ? 2 : 1, &f.booster))
        rc = refused(e);
    rc = rc ? rc : set_parameters(&f, e);
    rc = rc ? rc : grow(&f, e);
    rc = rc ? rc : read_model(&f, out, e);
    if (f.booster)
        XGBoosterFree(f.booster);
    if (f.held)
        XGDMatrixFree(f.held);
    if (f.data)
        XGDMatrixFree(f.data);
    return rc;
}

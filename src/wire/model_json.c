#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "wire/json_text.h"
#include "wire/model.h"
#include "wire/model_json_impl.h"
#include "wire/model_parts.h"

/* Every json_…_new function here takes what it is given, NULL (no memory) too: a failure ends as a
 * member that could not be set, and `failed` says so at the end. */
struct making {
    bool failed;
};

static void put(struct making *m, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        m->failed = 1;
}

static void push(struct making *m, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        m->failed = 1;
}

static json_t *text(const char *s)
{
    return s ? json_string(s) : json_null();
}

/* JSON's integers end where jansson's do; a larger one (a seed) goes as text. */
static json_t *count(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_sprintf("%" PRIu64, n);
}

static void put_numbers(struct making *m, json_t *object, const struct wire_number *table,
                        const void *from)
{
    for (const struct wire_number *t = table; t->name; t++)
        put(m, object, t->name, wire_json_real(wire_number_at(from, t->at)));
}

static json_t *intervals(struct making *m, const struct fis_metrics_intervals *from)
{
    json_t *all = json_object();
    put(m, all, "level", wire_json_real(from->level));
    for (enum wire_metric k = 0; k < WIRE_METRICS; k++) {
        const struct fis_interval *i = wire_interval_of(from, k);
        if (!wire_metric_numbers[k].interval)
            continue;
        json_t *one = json_object();
        put(m, one, "low", wire_json_real(i->low));
        put(m, one, "high", wire_json_real(i->high));
        put(m, one, "standard_error", wire_json_real(i->se));
        put(m, all, wire_metric_numbers[k].name, one);
    }
    return all;
}

static json_t *metrics(struct making *m, const struct fis_metrics *from,
                       const struct fis_metrics_intervals *with)
{
    json_t *all = json_object(), *groups = json_array(), *recall = json_array();
    put(m, all, "n", count(from->n));
    put(m, all, "predicted_classes", count(from->predicted_classes));
    put_numbers(m, all, wire_metric_numbers, from);
    for (uint32_t g = 0; g < from->n_groups; g++) {
        json_t *one = json_object();
        put(m, one, "n", count(from->group[g].n));
        put_numbers(m, one, wire_group_numbers, &from->group[g]);
        push(m, groups, one);
    }
    for (uint32_t k = 0; k < from->classes; k++)
        push(m, recall, wire_json_real(from->recall[k]));
    put(m, all, "groups", groups);
    put(m, all, "recall", recall);
    if (with)
        put(m, all, "intervals", intervals(m, with));
    return all;
}

static json_t *gate(struct making *m, const struct wire_model *from)
{
    json_t *all = json_object();
    put(m, all, "verdict", text(from->verdict));
    put(m, all, "reason", text(from->reason));
    put(m, all, "text", text(from->reason_text));
    put(m, all, "metric", text(from->metric));
    put_numbers(m, all, wire_gate_numbers, from);
    put(m, all, "looks", count(from->looks));
    put(m, all, "smallest_cell", count(from->smallest_cell));
    put(m, all, "smallest_cell_warned", json_boolean(from->warn_cell));
    put(m, all, "undetectable", json_boolean(from->undetectable));
    return all;
}

static json_t *changes(struct making *m, const struct wire_model *from)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < from->n_changes; i++) {
        json_t *one = json_object();
        put(m, one, "version", count(from->changes[i].version));
        put(m, one, "name", text(from->changes[i].name));
        put(m, one, "from", text(from->changes[i].from));
        put(m, one, "to", text(from->changes[i].to));
        push(m, all, one);
    }
    return all;
}

static json_t *lineage(struct making *m, const struct wire_model *from)
{
    json_t *all = json_object();
    put(m, all, "algorithm", text(from->algorithm));
    put(m, all, "round", count(from->round));
    put(m, all, "labels_bought", count(from->labels_bought));
    put(m, all, "labels_kept", count(from->labels_kept));
    put(m, all, "head_version", count(from->head_version));
    put(m, all, "seed", count(from->seed));
    if (from->n_changes)
        put(m, all, "changes", changes(m, from));
    return all;
}

static json_t *column(struct making *m, const struct fis_encoder *encoder, uint32_t i)
{
    static const char *const scales[] = {[FIS_SCALE_STANDARD] = "standard",
                                         [FIS_SCALE_NONE] = "none",
                                         [FIS_SCALE_LOGIT] = "logit",
                                         [FIS_SCALE_PROBABILITY] = "probability"};
    struct fis_encoder_column_state s;
    json_t *one = json_object();
    fis_encoder_state(encoder, i, &s);
    put(m, one, "name", text(s.column.name));
    if (s.column.type == FIS_NUMERIC) {
        put(m, one, "type", text("numeric"));
        put(m, one, "scale", text(scales[s.column.scale]));
        put(m, one, "mean", wire_json_real(s.mean));
        put(m, one, "deviation", wire_json_real(s.deviation));
        put(m, one, "missing_indicator", json_boolean(s.missing_indicator));
        return one;
    }
    json_t *categories = json_array();
    for (uint32_t k = 0; k < s.n_categories; k++)
        push(m, categories, text(s.categories[k]));
    put(m, one, "type", text("categorical"));
    put(m, one, "categories", categories);
    return one;
}

static json_t *json_of_trees(struct making *m, const struct fis_trees *trees, int with_weights)
{
    const struct fis_trees_shape *s = fis_trees_shape(trees);
    json_t *all = json_object(), *feature = json_array(), *threshold = json_array();
    json_t *leaf = json_array();
    put(m, all, "n", count(s->n));
    put(m, all, "depth", count(s->depth));
    put(m, all, "margins", count(s->margins));
    for (size_t i = 0; with_weights && i < fis_trees_nodes(s); i++) {
        push(m, feature, count(fis_trees_features(trees)[i]));
        push(m, threshold, wire_json_real((double)fis_trees_thresholds(trees)[i]));
    }
    for (size_t i = 0; with_weights && i < fis_trees_leaf_count(s); i++)
        push(m, leaf, wire_json_real((double)fis_trees_leaves(trees)[i]));
    put(m, all, "feature", feature);
    put(m, all, "threshold", threshold);
    put(m, all, "leaf", leaf);
    return all;
}

static json_t *transformer(struct making *m, const struct fis_vit *v)
{
    json_t *all = json_object(), *image = json_array();
    push(m, image, count(v->height));
    push(m, image, count(v->width));
    push(m, image, count(v->channels));
    put(m, all, "image", image);
    put(m, all, "patch", count(v->patch));
    put(m, all, "width", count(v->dim));
    put(m, all, "depth", count(v->depth));
    put(m, all, "heads", count(v->heads));
    put(m, all, "mlp", count(v->mlp));
    put(m, all, "pool", text(v->token ? "token" : "mean"));
    return all;
}

static void put_network(struct making *m, json_t *all, const struct wire_model *from,
                        int with_weights)
{
    json_t *widths = json_array(), *columns = json_array();
    for (uint32_t l = 0; l <= from->shape.n_layers; l++)
        push(m, widths, count(from->shape.width[l]));
    put(m, all, "network", widths);
    if (from->shape.vit.height)
        put(m, all, "transformer", transformer(m, &from->shape.vit));
    for (uint32_t i = 0; from->encoder && i < fis_encoder_columns(from->encoder); i++)
        push(m, columns, column(m, from->encoder, i));
    put(m, all, "columns", columns);
    const struct fis_trees *trees = from->trees;
    if (!trees && from->encoder)
        trees = fis_encoder_trees(from->encoder);
    if (trees)
        put(m, all, "trees", json_of_trees(m, trees, with_weights));
    if (!with_weights || !from->params)
        return;
    json_t *parameters = json_array();
    for (size_t i = 0; i < fis_shape_params(&from->shape); i++)
        push(m, parameters, wire_json_real((double)from->params[i]));
    put(m, all, "parameters", parameters);
}

static json_t *whole(struct making *m, const struct wire_model *from, int with_weights)
{
    json_t *all = json_object(), *classes = json_array();
    put(m, all, "pipeline", text(from->pipeline));
    put(m, all, "version", count(from->version));
    put(m, all, "parent", from->parent ? count(from->parent) : json_null());
    put(m, all, "created_at_ms", json_integer(from->created_at_ms));
    put(m, all, "served", json_boolean(from->served));
    for (uint32_t k = 0; k < from->n_classes; k++)
        push(m, classes, text(from->classes[k]));
    put(m, all, "classes", classes);
    put(m, all, "positive", text(from->classes[from->positive]));
    put(m, all, "gate", gate(m, from));
    put(m, all, "metrics", metrics(m, &from->metrics, &from->intervals));
    put(m, all, "anchor", metrics(m, &from->anchor, NULL));
    put(m, all, "lineage", lineage(m, from));
    if (from->privacy.refreshes || from->privacy.exact)
        put(m, all, "privacy", wire_json_privacy(&from->privacy));
    put_network(m, all, from, with_weights);
    return all;
}

int wire_model_json_with(const struct wire_model *model, const char *name, json_t *add,
                         bool with_weights, struct byte_buffer *out, struct fis_error *e)
{
    struct making m = {0};
    if (!model->n_classes || model->positive >= model->n_classes) {
        json_decref(add);
        return fis_fail(e, FIS_INPUT, "positive is class %u of %u", model->positive,
                        model->n_classes);
    }
    json_t *all = whole(&m, model, with_weights);
    if (name)
        put(&m, all, name, add);
    if (m.failed) {
        json_decref(all);
        all = NULL;
    }
    return wire_json_dump(all, JSON_COMPACT | JSON_REAL_PRECISION(9), out, e);
}

int wire_model_json(const struct wire_model *model, struct byte_buffer *out, int with_weights,
                    struct fis_error *e)
{
    return wire_model_json_with(model, NULL, NULL, with_weights, out, e);
}

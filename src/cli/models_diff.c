/*
 * What has changed from one version to another: what models_compare shows of the gate's measures,
 * then labels, configuration, weights, and the predictions on rows of a file.
 */
#include <math.h>
#include <string.h>

#include "cli/models.h"
#include "cli/predictor.h"
#include "cli/screen.h"
#include "fis/mem.h"

/* For people, or members of an object. */
struct writing {
    struct wire_json_put *json; /* or NULL */
    const struct wire_model *a, *b;
};

static void put_text(const char *text)
{
    char clean[512];
    snprintf(clean, sizeof clean, "%s", text ? text : "");
    screen_clean(clean);
    printf("%s", clean);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void put_labels(const struct writing *w)
{
    const struct wire_model *a = w->a, *b = w->b;
    long long bought = (long long)(b->labels_bought - a->labels_bought);
    long long kept = (long long)(b->labels_kept - a->labels_kept);
    if (w->json) {
        wire_put_open(w->json, "labels", '{');
        wire_put_whole(w->json, "bought", bought);
        wire_put_whole(w->json, "kept", kept);
        wire_put_whole(w->json, "rounds", (int64_t)b->round - (int64_t)a->round);
        wire_put_close(w->json, '}');
    } else {
        printf("\nlabels between them: %lld bought (%llu to %llu), %+lld kept; round %u to %u\n",
               bought, (unsigned long long)a->labels_bought, (unsigned long long)b->labels_bought,
               kept, a->round, b->round);
    }
}

/* ---- configuration --------------------------------------------------------------------------- */

struct change {
    struct wire_json_put *json;
    uint32_t n;
};

static void put_change(struct change *c, const char *name, const char *from, const char *to)
{
    if (c->json) {
        wire_put_open(c->json, NULL, '{');
        wire_put_text(c->json, "name", name ? name : "");
        wire_put_text(c->json, "from", from ? from : "");
        wire_put_text(c->json, "to", to ? to : "");
        wire_put_close(c->json, '}');
        return;
    }
    printf("%s  ", c->n++ ? "" : "configuration:\n");
    put_text(name);
    printf(": ");
    put_text(from);
    printf(" -> ");
    put_text(to);
    printf("\n");
}

static void compare_texts(struct change *c, const char *name, const char *from, const char *to)
{
    if (strcmp(from ? from : "", to ? to : ""))
        put_change(c, name, from, to);
}

/* Columns that only one of them has. */
static void compare_columns(struct change *c, const struct wire_model *a,
                            const struct wire_model *b, bool added)
{
    for (uint32_t i = 0; b->encoder && a->encoder && i < fis_encoder_columns(b->encoder); i++) {
        const char *name = fis_encoder_column(b->encoder, i)->name;
        if (fis_encoder_find(a->encoder, name, strlen(name)) < 0)
            put_change(c, "column", added ? "" : name, added ? name : "");
    }
}

static bool is_between(const struct wire_model *a, const struct wire_model *b, uint64_t version)
{
    uint64_t low = a->version < b->version ? a->version : b->version;
    uint64_t high = a->version < b->version ? b->version : a->version;
    return version > low && version <= high;
}

static void put_configuration(const struct writing *w)
{
    const struct wire_model *a = w->a, *b = w->b;
    const struct wire_model *newer = a->version < b->version ? b : a;
    struct change c = {.json = w->json};
    char from[FIS_SHAPE_TEXT], to[FIS_SHAPE_TEXT];
    if (w->json)
        wire_put_open(w->json, "configuration", '[');
    for (uint32_t i = 0; i < newer->n_changes; i++)
        if (is_between(a, b, newer->changes[i].version))
            put_change(&c, newer->changes[i].name,
                       newer == b ? newer->changes[i].from : newer->changes[i].to,
                       newer == b ? newer->changes[i].to : newer->changes[i].from);
    compare_texts(&c, "algorithm", a->algorithm, b->algorithm);
    compare_texts(&c, "metric", a->metric, b->metric);
    snprintf(from, sizeof from, "%g", a->epsilon);
    snprintf(to, sizeof to, "%g", b->epsilon);
    compare_texts(&c, "epsilon", from, to);
    compare_texts(&c, "network", fis_shape_text(&a->shape, from), fis_shape_text(&b->shape, to));
    compare_columns(&c, a, b, true);
    compare_columns(&c, b, a, false);
    if (w->json)
        wire_put_close(w->json, ']');
    else if (!c.n)
        printf("configuration: nothing that versions carry has changed\n");
}

/* ---- weights --------------------------------------------------------------------------------- */

static void put_weights(const struct writing *w)
{
    const struct wire_model *a = w->a, *b = w->b;
    double distance = NAN, length = NAN, relative = NAN;
    bool comparable = a->params && b->params && a->shape.margins == b->shape.margins &&
                      fis_shape_equal(&a->shape, &b->shape);
    if (comparable) {
        distance = length = 0;
        for (size_t i = 0; i < fis_shape_params(&a->shape); i++) {
            double x = (double)a->params[i], y = (double)b->params[i];
            distance += (y - x) * (y - x);
            length += x * x;
        }
        distance = sqrt(distance);
        length = sqrt(length);
        relative = length > 0 ? distance / length : (double)NAN;
    }
    if (w->json) {
        wire_put_open(w->json, "weights", '{');
        wire_put_number(w->json, "distance", distance, 6);
        wire_put_number(w->json, "relative", relative, 6);
        wire_put_close(w->json, '}');
    } else if (comparable) {
        printf("weights: distance %.4g, %.1f %% of the length of version %llu's\n", distance,
               100 * relative, (unsigned long long)a->version);
    } else {
        printf("weights: not comparable: %s\n",
               a->params && b->params ? "the networks have other shapes" : "one has none");
    }
}

/* ---- predictions ----------------------------------------------------------------------------- */

struct counts {
    uint64_t rows, changed;
    double moved;                                       /* sum of |p - p| of the positive class */
    uint64_t from_to[FIS_MAX_CLASSES][FIS_MAX_CLASSES]; /* class by a, by b */
};

static int count_rows(struct predictor p[2], struct counts *n, struct fis_error *e)
{
    uint32_t positive = p[1].model->positive;
    for (;;) {
        int rc = predictor_next(&p[0], e);
        int other = rc < 0 ? rc : predictor_next(&p[1], e);
        if (rc <= 0 || other <= 0)
            return rc < 0 ? rc : other < 0 ? other : 0;
        n->rows++;
        n->changed += p[0].best != p[1].best;
        n->from_to[p[0].best][p[1].best]++;
        n->moved += fabs((double)p[1].probability[positive] - (double)p[0].probability[positive]);
    }
}

static void put_class_change(const struct writing *w, uint32_t from, uint32_t to, uint64_t rows)
{
    if (w->json) {
        wire_put_open(w->json, NULL, '{');
        wire_put_text(w->json, "from", w->a->classes[from]);
        wire_put_text(w->json, "to", w->b->classes[to]);
        wire_put_count(w->json, "rows", rows);
        wire_put_close(w->json, '}');
        return;
    }
    printf("  ");
    put_text(w->a->classes[from]);
    printf(" -> ");
    put_text(w->b->classes[to]);
    printf(": %llu\n", (unsigned long long)rows);
}

static void put_counts(const struct writing *w, const char *path, const struct counts *n)
{
    double share = n->rows ? (double)n->changed / (double)n->rows : (double)NAN;
    double moved = n->rows ? n->moved / (double)n->rows : (double)NAN;
    if (w->json) {
        wire_put_open(w->json, "predictions", '{');
        wire_put_count(w->json, "rows", n->rows);
        wire_put_count(w->json, "changed", n->changed);
        wire_put_number(w->json, "share", share, 6);
        wire_put_number(w->json, "mean_move_of_positive", moved, 6);
        wire_put_open(w->json, "classes", '[');
    } else {
        printf("predictions on %s: %llu of %llu rows change (%.2f %%); the probability of the "
               "positive class moves by %.4f on average\n",
               path, (unsigned long long)n->changed, (unsigned long long)n->rows, 100 * share,
               moved);
    }
    for (uint32_t i = 0; i < w->a->n_classes; i++)
        for (uint32_t k = 0; k < w->b->n_classes; k++)
            if (i != k && n->from_to[i][k])
                put_class_change(w, i, k, n->from_to[i][k]);
    if (w->json) {
        wire_put_close(w->json, ']');
        wire_put_close(w->json, '}');
    }
}

static int count(const struct models_evaluation *v, const struct wire_model *a,
                 const struct wire_model *b, struct counts *n, struct fis_error *e)
{
    struct predictor p[2] = {0};
    const struct wire_model *side[2] = {a, b};
    int rc = 0;
    if (a->n_classes != b->n_classes)
        rc = fis_fail(e, FIS_INPUT, "version %llu has %u classes, version %llu %u",
                      (unsigned long long)a->version, a->n_classes, (unsigned long long)b->version,
                      b->n_classes);
    for (int s = 0; s < 2 && !rc; s++)
        rc = predictor_open(&p[s], v->cli, side[s], v->on, &v->read, e);
    if (!rc)
        rc = count_rows(p, n, e);
    for (int s = 0; s < 2; s++)
        predictor_close(&p[s]);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

struct diff {
    struct models_evaluation gate; /* first: what put_more is given */
    struct counts counts;
};

static void put_more(const struct models_evaluation *v, const struct wire_model *a,
                     const struct wire_model *b, struct wire_json_put *json)
{
    const struct diff *d = (const struct diff *)(const void *)v;
    const struct writing w = {.json = json, .a = a, .b = b};
    put_labels(&w);
    put_configuration(&w);
    put_weights(&w);
    if (v->on)
        put_counts(&w, v->on, &d->counts);
}

int models_diff(const struct models_evaluation *v, const struct wire_model *a,
                const struct wire_model *b, struct fis_error *e)
{
    struct diff *d = fis_calloc(1, sizeof *d);
    if (!d)
        return fis_fail(e, FIS_NOMEM, "no memory for a comparison");
    d->gate = *v;
    d->gate.test = NULL;
    d->gate.more = put_more;
    int rc = v->on ? count(v, a, b, &d->counts, e) : 0;
    if (!rc)
        rc = models_compare(&d->gate, a, b, e);
    fis_free(d);
    return rc;
}

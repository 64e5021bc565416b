#include "lab/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/defaults.h"
#include "fis/mem.h"

/* Validation rows that a cell of a summary must have. */
#define ENOUGH_ROWS FIS_DEFAULT_ROWS_FOR_AUTO

/* What a cell is of: the first record of its kind, and the metric asked for. */
struct kind {
    const struct lab_key *key;
    enum fis_metric metric;
};

struct maker {
    const struct lab_record *records;
    uint32_t n;
    const char *reference;
    double *a, *b; /* [n] work */
};

static bool is_of(const struct kind *k, const char *method, const char *variant,
                  const struct lab_key *key)
{
    return (key->metric == 0 || key->metric == k->metric) && key->regime == k->key->regime &&
           strcmp(key->task, k->key->task) == 0 && strcmp(key->method, method) == 0 &&
           strcmp(key->variant, variant) == 0;
}

static double violation_of(const struct kind *k, const struct lab_result *r)
{
    return fis_metrics_of(&r->test, k->metric);
}

/* ---- one cell ------------------------------------------------------------------------------- */

typedef double field_fn(const struct kind *k, const struct lab_result *r);

static double accuracy(const struct kind *k, const struct lab_result *r)
{
    (void)k;
    return r->test.accuracy;
}

static double labels(const struct kind *k, const struct lab_result *r)
{
    (void)k;
    return r->bought;
}

static double kept(const struct kind *k, const struct lab_result *r)
{
    (void)k;
    return r->kept;
}

static double seconds(const struct kind *k, const struct lab_result *r)
{
    (void)k;
    return r->seconds;
}

static void over_seeds(struct maker *m, const struct kind *k, field_fn *field, struct lab_stat *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (is_of(k, k->key->method, k->key->variant, &m->records[i].key))
            m->a[n++] = field(k, &m->records[i].result);
    lab_stat_of(m->a, n, out);
}

/* The reference's run on the same seed: of the same variant, else of none. */
static const struct lab_record *twin(const struct maker *m, const struct kind *k, uint64_t seed)
{
    const struct lab_record *plain = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct lab_record *r = &m->records[i];
        if (r->key.seed != seed)
            continue;
        if (is_of(k, m->reference, k->key->variant, &r->key))
            return r;
        if (is_of(k, m->reference, "", &r->key))
            plain = r;
    }
    return plain;
}

static void compare(struct maker *m, const struct kind *k, struct lab_cell *c)
{
    double own = 0, other = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct lab_record *r = &m->records[i], *t;
        if (!is_of(k, k->key->method, k->key->variant, &r->key) || !(t = twin(m, k, r->key.seed)))
            continue;
        double v = violation_of(k, &r->result), w = violation_of(k, &t->result);
        m->a[n] = r->result.test.accuracy - t->result.test.accuracy;
        m->b[n++] = v - w;
        c->fairer += v < w;
        own += v;
        other += w;
    }
    lab_stat_of(m->a, n, &c->accuracy_difference);
    lab_stat_of(m->b, n, &c->violation_difference);
    c->violation_ratio = n && other > 0 ? own / other : NAN;
}

/* The mean path, when all seeds have one of the same length. */
static void mean_path(struct maker *m, const struct kind *k, struct lab_cell *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct lab_result *r = &m->records[i].result;
        if (!is_of(k, k->key->method, k->key->variant, &m->records[i].key))
            continue;
        c->n_path = n && c->n_path != r->n_path ? 0 : r->n_path;
        const double share = 1.0 / ++n;
        for (uint32_t j = 0; j < c->n_path; j++) {
            struct lab_point *to = &c->path[j];
            const struct lab_point *p = &r->path[j];
            to->labels = n == 1 ? p->labels : to->labels;
            to->accuracy += share * (p->accuracy - to->accuracy);
            to->violation += share * (p->violation - to->violation);
            to->anchor_accuracy += share * (p->anchor_accuracy - to->anchor_accuracy);
            to->anchor_violation += share * (p->anchor_violation - to->anchor_violation);
        }
    }
}

#define MATERIAL .03
#define MATERIAL_ERRORS 2.0

/* By random's violation; without its runs, by the reference's. */
static bool is_material(struct maker *m, const struct kind *k)
{
    struct lab_key like = *k->key;
    struct lab_stat v;
    const struct kind random = {&like, k->metric};
    snprintf(like.method, sizeof like.method, "random");
    over_seeds(m, &random, violation_of, &v);
    if (v.n == 0) {
        memcpy(like.variant, "", 1);
        over_seeds(m, &random, violation_of, &v);
    }
    if (v.n == 0) {
        snprintf(like.method, sizeof like.method, "%s", m->reference);
        over_seeds(m, &random, violation_of, &v);
    }
    return v.n > 1 && v.mean >= MATERIAL && v.mean >= MATERIAL_ERRORS * v.std / sqrt(v.n);
}

static void fill_cell(struct maker *m, const struct kind *k, const struct lab_result *first,
                      struct lab_cell *c)
{
    *c = (struct lab_cell){
        .metric = k->metric, .regime = k->key->regime, .n_validation = first->n_validation};
    memcpy(c->task, k->key->task, sizeof c->task);
    memcpy(c->method, k->key->method, sizeof c->method);
    memcpy(c->variant, k->key->variant, sizeof c->variant);
    over_seeds(m, k, accuracy, &c->accuracy);
    over_seeds(m, k, violation_of, &c->violation);
    over_seeds(m, k, labels, &c->labels);
    over_seeds(m, k, kept, &c->kept);
    over_seeds(m, k, seconds, &c->seconds);
    c->seeds = c->accuracy.n;
    c->material = is_material(m, k);
    compare(m, k, c);
    mean_path(m, k, c);
}

/* ---- all cells ------------------------------------------------------------------------------ */

static bool have_cell(const struct lab_report *out, const struct kind *k)
{
    for (uint32_t i = 0; i < out->n_cells; i++) {
        const struct lab_cell *c = &out->cells[i];
        if (c->metric == k->metric && c->regime == k->key->regime &&
            strcmp(c->task, k->key->task) == 0 && strcmp(c->method, k->key->method) == 0 &&
            strcmp(c->variant, k->key->variant) == 0)
            return true;
    }
    return false;
}

/* Cells of one task, regime and metric, in the order of the records. */
static void add_cells(struct maker *m, const struct lab_key *like, enum fis_metric metric,
                      struct lab_report *out)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct lab_record *r = &m->records[i];
        const struct kind k = {&r->key, metric};
        if (r->key.regime != like->regime || strcmp(r->key.task, like->task) != 0 ||
            (r->key.metric != 0 && r->key.metric != metric) || have_cell(out, &k))
            continue;
        fill_cell(m, &k, &r->result, &out->cells[out->n_cells++]);
    }
}

static bool is_first_of_task(const struct lab_record *records, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (records[i].key.regime == records[at].key.regime &&
            strcmp(records[i].key.task, records[at].key.task) == 0)
            return false;
    return true;
}

/* ---- summaries ------------------------------------------------------------------------------ */

static bool in_summary(const struct lab_cell *c, const struct lab_summary *s)
{
    return c->regime == s->regime && strcmp(c->method, s->method) == 0 &&
           strcmp(c->variant, s->variant) == 0 && c->n_validation >= ENOUGH_ROWS &&
           c->accuracy_difference.n > 0;
}

/* Differences of one seed over all cells of the summary; NaN when there are none. */
static double of_seed(const struct maker *m, const struct lab_report *out,
                      const struct lab_summary *s, uint64_t seed)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->n_cells; i++) {
        const struct lab_cell *c = &out->cells[i];
        if (!in_summary(c, s))
            continue;
        for (uint32_t j = 0; j < m->n; j++) {
            const struct lab_record *r = &m->records[j];
            struct lab_key like = r->key;
            memcpy(like.task, c->task, sizeof like.task);
            const struct kind k = {&like, c->metric};
            if (r->key.seed != seed || strcmp(r->key.task, c->task) != 0 ||
                !is_of(&k, s->method, s->variant, &r->key) || r->key.regime != c->regime)
                continue;
            const struct lab_record *t = twin(m, &k, seed);
            if (!t)
                continue;
            sum += r->result.test.accuracy - t->result.test.accuracy;
            n++;
        }
    }
    return n ? sum / n : NAN;
}

static bool seed_seen(const struct lab_record *records, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (records[i].key.seed == records[at].key.seed)
            return true;
    return false;
}

static void fill_means(const struct lab_report *out, const struct lab_summary *s,
                       enum lab_cells which, struct lab_means *to)
{
    double log_ratio = 0;
    uint32_t fairer = 0, all = 0;
    *to = (struct lab_means){0};
    for (uint32_t i = 0; i < out->n_cells; i++) {
        const struct lab_cell *c = &out->cells[i];
        if (!in_summary(c, s) ||
            (which != LAB_CELLS_ALL && c->material != (which == LAB_CELLS_MATERIAL)))
            continue;
        to->cells++;
        to->accuracy_difference += c->accuracy_difference.mean;
        to->violation_difference += c->violation_difference.mean;
        log_ratio += log(c->violation_ratio);
        fairer += c->fairer;
        all += c->violation_difference.n;
    }
    const double cells = to->cells ? to->cells : (double)NAN;
    to->accuracy_difference /= cells;
    to->violation_difference /= cells;
    to->violation_ratio = exp(log_ratio / cells);
    to->cells_fairer = all ? (double)fairer / all : (double)NAN;
}

static void fill_summary(struct maker *m, const struct lab_report *out, struct lab_summary *s)
{
    uint32_t n = 0;
    for (int which = 0; which < LAB_CELLS; which++)
        fill_means(out, s, (enum lab_cells)which, &s->over[which]);
    for (uint32_t i = 0; i < m->n; i++) {
        double d = seed_seen(m->records, i) ? NAN : of_seed(m, out, s, m->records[i].key.seed);
        if (!isnan(d))
            m->b[n++] = d;
    }
    lab_stat_of(m->b, n, &s->accuracy_over_seeds);
}

static void add_summary(struct maker *m, const struct lab_cell *c, struct lab_report *out)
{
    for (uint32_t i = 0; i < out->n_summaries; i++) {
        const struct lab_summary *s = &out->summaries[i];
        if (s->regime == c->regime && strcmp(s->method, c->method) == 0 &&
            strcmp(s->variant, c->variant) == 0)
            return;
    }
    struct lab_summary *s = &out->summaries[out->n_summaries++];
    *s = (struct lab_summary){.regime = c->regime};
    memcpy(s->method, c->method, sizeof s->method);
    memcpy(s->variant, c->variant, sizeof s->variant);
    fill_summary(m, out, s);
}

/* ---- anchors -------------------------------------------------------------------------------- */

static bool publishes_its_anchor(const struct lab_record *r)
{
    return memcmp(&r->result.test, &r->result.anchor, sizeof r->result.test) == 0 &&
           isnan(r->result.interpolation);
}

int lab_report_anchors(const struct lab_record *records, uint32_t n, struct lab_record **out,
                       uint32_t *n_out, struct fis_error *e)
{
    struct lab_record *all = fis_alloc(2 * (size_t)n + 1, sizeof *all);
    uint32_t at = 0;
    if (!all)
        return fis_fail(e, FIS_NOMEM, "report: no memory for %u results", n);
    for (uint32_t i = 0; i < n; i++) {
        all[at++] = records[i];
        if (publishes_its_anchor(&records[i]))
            continue;
        all[at] = records[i];
        all[at].result.test = records[i].result.anchor;
        snprintf(all[at++].key.method, sizeof all->key.method, "%.40s anchor",
                 records[i].key.method);
    }
    *out = all;
    *n_out = at;
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

int lab_report_make(const struct lab_record *records, uint32_t n, const enum fis_metric *metrics,
                    uint32_t n_metrics, const char *reference, struct lab_report *out,
                    struct fis_error *e)
{
    struct maker m = {.records = records, .n = n, .reference = reference};
    const size_t most = (size_t)n * n_metrics + 1;
    *out = (struct lab_report){.reference = reference};
    m.a = fis_alloc(n + 1u, sizeof *m.a);
    m.b = fis_alloc(n + 1u, sizeof *m.b);
    out->cells = fis_alloc(most, sizeof *out->cells);
    out->summaries = fis_alloc(most, sizeof *out->summaries);
    int rc = m.a && m.b && out->cells && out->summaries
                 ? 0
                 : fis_fail(e, FIS_NOMEM, "report: no memory for %u results", n);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        for (uint32_t j = 0; j < n_metrics && is_first_of_task(records, i); j++)
            add_cells(&m, &records[i].key, metrics[j], out);
    for (uint32_t i = 0; rc == 0 && i < out->n_cells; i++)
        add_summary(&m, &out->cells[i], out);
    fis_free(m.a);
    fis_free(m.b);
    if (rc < 0)
        lab_report_done(out);
    return rc;
}

void lab_report_done(struct lab_report *r)
{
    fis_free(r->cells);
    fis_free(r->summaries);
    *r = (struct lab_report){0};
}

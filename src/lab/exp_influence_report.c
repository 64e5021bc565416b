#include "lab/exp_influence_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fis/mem.h"
#include "lab/gnuplot.h"
#include "wire/json_text.h"

/* ---- cells ---------------------------------------------------------------------------------- */

static bool same(const struct lab_influence_record *a, const struct lab_influence_record *b)
{
    return a->metric == b->metric && a->regime == b->regime && strcmp(a->task, b->task) == 0;
}

static bool is_first(const struct lab_influence_record *records, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (same(&records[i], &records[at]))
            return false;
    return true;
}

typedef double field_fn(const struct lab_influence *in);

static double step_accuracy(const struct lab_influence *in)
{
    return in->step.accuracy;
}
static double step_fairness(const struct lab_influence *in)
{
    return in->step.fairness;
}
static double retrain_accuracy(const struct lab_influence *in)
{
    return in->retrain.accuracy;
}
static double retrain_fairness(const struct lab_influence *in)
{
    return in->retrain.fairness;
}
static double curvature_accuracy(const struct lab_influence *in)
{
    return in->curvature.accuracy;
}
static double curvature_fairness(const struct lab_influence *in)
{
    return in->curvature.fairness;
}

static void over_seeds(const struct lab_influence_record *records, uint32_t n, uint32_t first,
                       field_fn *field, double *work, struct lab_stat *out)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < n; i++)
        if (same(&records[i], &records[first]))
            work[count++] = field(&records[i].result);
    lab_stat_of(work, count, out);
}

static void fill(const struct lab_influence_record *records, uint32_t n, uint32_t at, double *work,
                 struct lab_influence_cell *c)
{
    const struct lab_influence_record *r = &records[at];
    *c = (struct lab_influence_cell){.task = r->task,
                                     .metric = r->metric,
                                     .regime = r->regime,
                                     .examples = r->result.n,
                                     .retrained = r->result.n_retrained};
    over_seeds(records, n, at, step_accuracy, work, &c->step_accuracy);
    over_seeds(records, n, at, step_fairness, work, &c->step_fairness);
    over_seeds(records, n, at, retrain_accuracy, work, &c->retrain_accuracy);
    over_seeds(records, n, at, retrain_fairness, work, &c->retrain_fairness);
    over_seeds(records, n, at, curvature_accuracy, work, &c->curvature_accuracy);
    over_seeds(records, n, at, curvature_fairness, work, &c->curvature_fairness);
}

int lab_influence_cells(const struct lab_influence_record *records, uint32_t n_records,
                        struct lab_influence_cell **cells, uint32_t *n, struct fis_error *e)
{
    struct lab_influence_cell *all = fis_calloc(n_records + 1u, sizeof *all);
    double *work = fis_alloc(n_records + 1u, sizeof *work);
    if (!all || !work) {
        fis_free(all);
        fis_free(work);
        return fis_fail(e, FIS_NOMEM, "influence: no memory for %u checks", n_records);
    }
    *n = 0;
    for (uint32_t i = 0; i < n_records; i++)
        if (is_first(records, i))
            fill(records, n_records, i, work, &all[(*n)++]);
    fis_free(work);
    *cells = all;
    return 0;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void rho(const struct lab_stat *s, char text[32])
{
    snprintf(text, 32, isnan(s->std) ? "%.2f" : "%.2f ± %.2f", s->mean, s->std);
}

int lab_influence_markdown(const struct lab_influence_cell *cells, uint32_t n,
                           struct byte_buffer *out, struct fis_error *e)
{
    static const char head[] =
        "Spearman's rank correlation of the first-order estimate with what really happens, mean ± "
        "deviation over seeds.\n\n"
        "| task | metric | seeds | one step: accuracy | one step: fairness | retraining: accuracy "
        "| retraining: fairness | with curvature: accuracy | with curvature: fairness |\n"
        "|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    int rc = byte_buffer_append(out, head, sizeof head - 1, e);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct lab_influence_cell *c = &cells[i];
        char r[6][32];
        rho(&c->step_accuracy, r[0]);
        rho(&c->step_fairness, r[1]);
        rho(&c->retrain_accuracy, r[2]);
        rho(&c->retrain_fairness, r[3]);
        rho(&c->curvature_accuracy, r[4]);
        rho(&c->curvature_fairness, r[5]);
        rc = byte_buffer_printf(out, e, "| %s | %s | %u | %s | %s | %s | %s | %s | %s |\n", c->task,
                                lab_metric_short(c->metric), c->step_accuracy.n, r[0], r[1], r[2],
                                r[3], r[4], r[5]);
    }
    return rc;
}

static json_t *both(const struct lab_stat *accuracy, const struct lab_stat *fairness)
{
    return json_pack("{s:{s:o, s:o}, s:{s:o, s:o}}", "accuracy", "mean",
                     wire_json_real(accuracy->mean), "std", wire_json_real(accuracy->std),
                     "fairness", "mean", wire_json_real(fairness->mean), "std",
                     wire_json_real(fairness->std));
}

int lab_influence_json(const struct lab_influence_cell *cells, uint32_t n, struct byte_buffer *out,
                       struct fis_error *e)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        const struct lab_influence_cell *c = &cells[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "task", c->task, "metric",
                      lab_metric_short(c->metric), "regime", lab_regime_name(c->regime), "seeds",
                      (json_int_t)c->step_accuracy.n, "examples", (json_int_t)c->examples,
                      "retrained", (json_int_t)c->retrained, "step",
                      both(&c->step_accuracy, &c->step_fairness), "retrain",
                      both(&c->retrain_accuracy, &c->retrain_fairness), "curvature",
                      both(&c->curvature_accuracy, &c->curvature_fairness)));
    }
    json_t *j = json_pack("{s:o}", "cells", list);
    int rc = wire_json_dump(j, JSON_INDENT(1) | JSON_REAL_PRECISION(17), out, e);
    return rc ? rc : byte_buffer_append(out, "\n", 1, e);
}

/* ---- plots ---------------------------------------------------------------------------------- */

#define PATH_BYTES 4096

static int write_points(const struct lab_influence *in, const char *path, struct fis_error *e)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    fprintf(f, "# of accuracy: estimate, step, retraining, with curvature; the same of fairness\n");
    for (uint32_t i = 0; i < in->n; i++) {
        const struct lab_influence_point *p = &in->points[i];
        fprintf(f, "%.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", p->estimate.accuracy,
                p->step.accuracy, p->retrain.accuracy, p->curvature.accuracy, p->estimate.fairness,
                p->step.fairness, p->retrain.fairness, p->curvature.fairness);
    }
    return fclose(f) ? fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno)) : 0;
}

static void write_panels(FILE *f, const struct lab_influence *in, const char *data)
{
    const struct {
        const char *title;
        double correlation;
        int x, y;
    } panels[] = {{"accuracy, one step", in->step.accuracy, 2, 1},
                  {"fairness, one step", in->step.fairness, 6, 5},
                  {"accuracy, retraining", in->retrain.accuracy, 3, 1},
                  {"fairness, retraining", in->retrain.fairness, 7, 5},
                  {"accuracy, retraining, curvature", in->curvature.accuracy, 3, 4},
                  {"fairness, retraining, curvature", in->curvature.fairness, 7, 8}};
    for (int i = 0; i < 6; i++)
        fprintf(f, "set title '%s: Spearman %.2f'\nplot '%s' using %d:%d with points pt 7 ps .4\n",
                panels[i].title, panels[i].correlation, data, panels[i].x, panels[i].y);
}

static int write_script(const struct lab_influence_record *r, const char *stem, FILE *f)
{
    static const char *const terminals[][2] = {{"svg", "svg size 900,1100 background '#ffffff'"},
                                               {"png", "png size 1200,1500"}};
    char data[PATH_BYTES + 8];
    snprintf(data, sizeof data, "%s.dat", stem);
    fprintf(f, "set grid\nunset key\nset datafile missing 'nan'\nset format '%%.0e'\n"
               "set xtics rotate by -30\nset ylabel 'estimate'\nset xlabel 'real'\n");
    for (int i = 0; i < 2; i++) {
        fprintf(f, "set terminal %s\nset output '%s.%s'\n", terminals[i][1], stem, terminals[i][0]);
        fprintf(f, "set multiplot layout 3,2 title \"%s, %s\" noenhanced\n", r->task,
                lab_metric_short(r->metric));
        write_panels(f, &r->result, data);
        fprintf(f, "unset multiplot\n");
    }
    return fclose(f);
}

static int plot_one(const struct lab_influence_record *r, const char *folder, struct fis_error *e)
{
    char stem[PATH_BYTES], path[PATH_BYTES + 8];
    if (snprintf(stem, sizeof stem, "%s/influence-%s-%s", folder, r->task,
                 lab_metric_short(r->metric)) >= (int)sizeof stem)
        return fis_fail(e, FIS_INPUT, "plots: the folder's name is too long");
    snprintf(path, sizeof path, "%s.dat", stem);
    int rc = write_points(&r->result, path, e);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s.gp", stem);
    FILE *f = fopen(path, "w");
    if (!f || write_script(r, stem, f))
        return fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    return lab_gnuplot(path, e);
}

int lab_influence_plots(const struct lab_influence_record *records, uint32_t n, const char *folder,
                        struct fis_error *e)
{
    int rc = 0;
    if (strpbrk(folder, "'\n\\"))
        return fis_fail(e, FIS_INPUT, "plots: a folder's name without ' and \\ is expected");
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return fis_fail(e, FIS_INPUT, "%s: %s", folder, strerror(errno));
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (is_first(records, i))
            rc = plot_one(&records[i], folder, e);
    return rc;
}

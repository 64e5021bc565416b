/* A report as JSON and as Markdown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report.h"
#include "wire/json_text.h"

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *stat(const struct lab_stat *s)
{
    return json_pack("{s:o, s:o}", "mean", wire_json_real(s->mean), "std", wire_json_real(s->std));
}

static json_t *cell(const struct lab_cell *c)
{
    json_t *j = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:I, s:o}", "task", c->task,
                          "metric", lab_metric_short(c->metric), "method", c->method, "seeds",
                          (json_int_t)c->seeds, "labels_bought", wire_json_real(c->labels.mean),
                          "test_accuracy", stat(&c->accuracy), "violation", stat(&c->violation),
                          "regime", lab_regime_name(c->regime), "n_validation",
                          (json_int_t)c->n_validation, "seconds", wire_json_real(c->seconds.mean));
    if (j && c->variant[0])
        json_object_set_new(j, "variant", json_string(c->variant));
    return j;
}

static json_t *means(const struct lab_means *m)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "cells", (json_int_t)m->cells,
                     "delta_accuracy_vs_random", wire_json_real(m->accuracy_difference),
                     "violation_ratio_vs_random", wire_json_real(m->violation_ratio),
                     "violation_difference_vs_random", wire_json_real(m->violation_difference),
                     "cells_fairer", wire_json_real(m->cells_fairer));
}

static json_t *summary(const struct lab_summary *s)
{
    json_t *j = means(&s->over[LAB_CELLS_ALL]);
    if (j) {
        json_object_set_new(j, "material", means(&s->over[LAB_CELLS_MATERIAL]));
        json_object_set_new(j, "others", means(&s->over[LAB_CELLS_OTHER]));
    }
    return j;
}

/* "fis+", with the variant and the regime where one report has several. */
static void summary_name(const struct lab_report *r, const struct lab_summary *s, char *name,
                         size_t size)
{
    bool both = false;
    for (uint32_t i = 0; i < r->n_summaries; i++)
        both |= r->summaries[i].regime != s->regime;
    snprintf(name, size, "%s%s%s%s%s", s->method, s->variant[0] ? " " : "", s->variant,
             both ? " " : "", both ? lab_regime_name(s->regime) : "");
}

int lab_report_json(const struct lab_report *r, struct byte_buffer *out, struct fis_error *e)
{
    json_t *cells = json_array(), *summaries = json_object();
    for (uint32_t i = 0; i < r->n_cells; i++)
        json_array_append_new(cells, cell(&r->cells[i]));
    for (uint32_t i = 0; i < r->n_summaries; i++) {
        char name[160];
        summary_name(r, &r->summaries[i], name, sizeof name);
        json_object_set_new(summaries, name, summary(&r->summaries[i]));
    }
    json_t *j = json_pack("{s:o, s:o}", "cells", cells, "summary", summaries);
    int rc = wire_json_dump(j, JSON_INDENT(1) | JSON_REAL_PRECISION(17), out, e);
    return rc ? rc : byte_buffer_append(out, "\n", 1, e);
}

/* ---- Markdown ------------------------------------------------------------------------------- */

static void plus_minus(const struct lab_stat *s, char *text, size_t size)
{
    if (isnan(s->std))
        snprintf(text, size, "%.4f", s->mean);
    else
        snprintf(text, size, "%.4f ± %.4f", s->mean, s->std);
}

/* A difference in points or as it is, with its interval. */
static void difference(const struct lab_stat *s, double unit, int digits, char *text, size_t size)
{
    if (s->n == 0)
        snprintf(text, size, "–");
    else if (isnan(s->low))
        snprintf(text, size, "%+.*f", digits, unit * s->mean);
    else
        snprintf(text, size, "%+.*f [%+.*f, %+.*f]", digits, unit * s->mean, digits, unit * s->low,
                 digits, unit * s->high);
}

static int markdown_cell(const struct lab_cell *c, struct byte_buffer *out, struct fis_error *e)
{
    char accuracy[64], violation[64], da[96], dv[96], ratio[16] = "–";
    plus_minus(&c->accuracy, accuracy, sizeof accuracy);
    plus_minus(&c->violation, violation, sizeof violation);
    difference(&c->accuracy_difference, 100, 2, da, sizeof da);
    difference(&c->violation_difference, 1, 3, dv, sizeof dv);
    if (isfinite(c->violation_ratio))
        snprintf(ratio, sizeof ratio, "%.2f", c->violation_ratio);
    return byte_buffer_printf(
        out, e, "| %s | %s | %s%s%s | %u | %.0f | %s | %s | %s | %s | %s | %.2f |\n", c->task,
        lab_metric_short(c->metric), c->method, c->variant[0] ? " " : "", c->variant, c->seeds,
        c->labels.mean, accuracy, violation, da, dv, ratio, c->seconds.mean);
}

static int markdown_summary(const struct lab_report *r, const struct lab_summary *s,
                            struct byte_buffer *out, struct fis_error *e)
{
    const struct lab_means *all = &s->over[LAB_CELLS_ALL];
    char name[160], points[96];
    if (all->cells == 0)
        return 0;
    summary_name(r, s, name, sizeof name);
    difference(&s->accuracy_over_seeds, 100, 2, points, sizeof points);
    int rc = byte_buffer_printf(out, e, "| %s | %u | %s | x %.2f, %+.3f | %.0f %% |", name,
                                all->cells, points, all->violation_ratio, all->violation_difference,
                                100 * all->cells_fairer);
    for (int which = LAB_CELLS_MATERIAL; rc == 0 && which < LAB_CELLS; which++) {
        const struct lab_means *m = &s->over[which];
        rc = m->cells
                 ? byte_buffer_printf(out, e, " %u | %+.2f | x %.2f, %+.3f | %.0f %% |", m->cells,
                                      100 * m->accuracy_difference, m->violation_ratio,
                                      m->violation_difference, 100 * m->cells_fairer)
                 : byte_buffer_printf(out, e, " 0 | – | – | – |");
    }
    return rc ? rc : byte_buffer_printf(out, e, "\n");
}

int lab_report_markdown(const struct lab_report *r, struct byte_buffer *out, struct fis_error *e)
{
    int rc = byte_buffer_printf(
        out, e,
        "| task | metric | method | seeds | labels | test accuracy | violation | accuracy "
        "against %s, points | violation | ratio | seconds |\n"
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        r->reference);
    for (uint32_t i = 0; rc == 0 && i < r->n_cells; i++)
        rc = markdown_cell(&r->cells[i], out, e);
    if (rc == 0)
        rc = byte_buffer_printf(
            out, e,
            "\nMeans ± standard deviations over seeds; differences are paired by seed, with "
            "95 %% intervals.\n\nOver the cells with at least 1,000 validation rows, against "
            "%s: violation as a ratio (geometric mean) and a difference. Material: under "
            "random it is .03 or more, and two standard errors.\n\n"
            "| method | all cells | accuracy, points | violation | fairer | material | accuracy "
            "| violation | fairer | others | accuracy | violation | fairer |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            r->reference);
    for (uint32_t i = 0; rc == 0 && i < r->n_summaries; i++)
        rc = markdown_summary(r, &r->summaries[i], out, e);
    return rc;
}

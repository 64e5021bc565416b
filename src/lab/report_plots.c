/* Plots by gnuplot: the plane of accuracy and violation with each method's path, and curves over
 * labels; a file of numbers and a script per plot, SVG and PNG from each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lab/gnuplot.h"
#include "lab/report.h"

#define PATH_BYTES 4096

/* One plot's cells: those of one task, metric and regime. */
struct plot {
    const struct lab_report *report;
    const struct lab_cell *first;
    const char *folder;
    char stem[256]; /* without folder and ending */
};

static bool same_plot(const struct lab_cell *a, const struct lab_cell *b)
{
    return a->metric == b->metric && a->regime == b->regime && strcmp(a->task, b->task) == 0;
}

static FILE *create(const struct plot *p, const char *ending, struct fis_error *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s%s", p->folder, p->stem, ending);
    FILE *f = fopen(path, "w");
    if (!f)
        fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    return f;
}

/* A block of lines per cell; a blank pair of lines ends it, as gnuplot's index needs. */
static int write_data(const struct plot *p, struct fis_error *e)
{
    FILE *f = create(p, ".dat", e);
    if (!f)
        return -FIS_INPUT;
    fprintf(f, "# labels accuracy violation, per method; the last line is what was published\n");
    for (uint32_t i = 0; i < p->report->n_cells; i++) {
        const struct lab_cell *c = &p->report->cells[i];
        if (!same_plot(c, p->first))
            continue;
        fprintf(f, "# %s %s\n", c->method, c->variant);
        for (uint32_t j = 0; j + 1 < c->n_path; j++)
            fprintf(f, "%u %.6f %.6f\n", c->path[j].labels, c->path[j].accuracy,
                    c->path[j].violation);
        fprintf(f, "%.0f %.6f %.6f\n\n\n", c->labels.mean, c->accuracy.mean, c->violation.mean);
    }
    return fclose(f) ? fis_fail(e, FIS_INPUT, "%s: %s", p->folder, strerror(errno)) : 0;
}

/* Names as gnuplot's labels take them: an underscore would lower what follows it. */
static void write_series(const struct plot *p, FILE *f, const char *columns)
{
    unsigned index = 0;
    fprintf(f, "plot ");
    for (uint32_t i = 0; i < p->report->n_cells; i++) {
        const struct lab_cell *c = &p->report->cells[i];
        if (!same_plot(c, p->first))
            continue;
        fprintf(f,
                "%s'%s/%s.dat' index %u using %s with linespoints lt %u title \"%s %s\" noenhanced",
                index ? ", \\\n     " : "", p->folder, p->stem, index, columns, index + 1,
                c->method, c->variant);
        index++;
    }
    fputc('\n', f);
}

static void write_output(const struct plot *p, FILE *f, const char *what, const char *x,
                         const char *y, const char *columns)
{
    static const struct {
        const char *ending, *terminal;
    } kinds[] = {{"svg", "svg size 800,560 background '#ffffff'"}, {"png", "png size 1200,840"}};
    for (int i = 0; i < 2; i++) {
        fprintf(f, "set terminal %s\nset output '%s/%s-%s.%s'\n", kinds[i].terminal, p->folder,
                p->stem, what, kinds[i].ending);
        fprintf(f, "set title \"%s, %s, %s\" noenhanced\nset xlabel '%s'\nset ylabel '%s'\n",
                p->first->task, lab_metric_short(p->first->metric),
                lab_regime_name(p->first->regime), x, y);
        write_series(p, f, columns);
    }
}

static int write_script(const struct plot *p, struct fis_error *e)
{
    FILE *f = create(p, ".gp", e);
    if (!f)
        return -FIS_INPUT;
    fprintf(f, "set key outside right\nset grid\nset offsets graph .03, graph .03, graph .03, "
               "graph .03\n");
    write_output(p, f, "plane", "test accuracy", "violation", "2:3");
    if (p->first->n_path) {
        write_output(p, f, "violation", "labels bought", "violation", "1:3");
        write_output(p, f, "accuracy", "labels bought", "test accuracy", "1:2");
    }
    return fclose(f) ? fis_fail(e, FIS_INPUT, "%s: %s", p->folder, strerror(errno)) : 0;
}

static int run_gnuplot(const struct plot *p, struct fis_error *e)
{
    char script[PATH_BYTES];
    snprintf(script, sizeof script, "%s/%s.gp", p->folder, p->stem);
    return lab_gnuplot(script, e);
}

int lab_report_plots(const struct lab_report *r, const char *folder, struct fis_error *e)
{
    int rc = 0;
    if (strpbrk(folder, "'\n\\"))
        return fis_fail(e, FIS_INPUT, "plots: a folder's name without ' and \\ is expected");
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return fis_fail(e, FIS_INPUT, "%s: %s", folder, strerror(errno));
    for (uint32_t i = 0; rc == 0 && i < r->n_cells; i++) {
        struct plot p = {.report = r, .first = &r->cells[i], .folder = folder};
        bool seen = false;
        for (uint32_t j = 0; j < i; j++)
            seen |= same_plot(&r->cells[j], p.first);
        if (seen)
            continue;
        snprintf(p.stem, sizeof p.stem, "%s-%s-%s", p.first->task,
                 lab_metric_short(p.first->metric), lab_regime_name(p.first->regime));
        rc = write_data(&p, e);
        if (rc == 0)
            rc = write_script(&p, e);
        if (rc == 0)
            rc = run_gnuplot(&p, e);
    }
    return rc;
}

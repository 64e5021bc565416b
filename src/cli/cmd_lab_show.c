/* Running a batch before a person's eyes, and what came of it. */
#include "cli/cmd_lab.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/screen.h"

/* ---- progress ------------------------------------------------------------------------------- */

enum { BAR = 30 };

static void time_left(double seconds, char out[32])
{
    if (seconds < 90)
        snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.1f h", seconds / 3600);
}

static void show_progress(struct screen_progress *p, int64_t since, int64_t now, uint32_t done,
                          uint32_t all)
{
    char bar[BAR + 1], left[32] = "?";
    memset(bar, '.', BAR);
    bar[BAR] = 0;
    memset(bar, '#', (size_t)BAR * done / (all ? all : 1));
    if (done)
        time_left((double)(now - since) / 1e3 * (all - done) / done, left);
    screen_progress_show(p, now, "[%s] %u of %u runs, %s left", bar, done, all, left);
}

int cmd_lab_run_batch(struct cli *c, struct lab_batch *b, const struct cmd_lab_options *o,
                      struct fis_error *e)
{
    const uint32_t all = lab_batch_left(b);
    const int64_t since = cli_now_ms();
    struct screen_progress p;
    bool stopped = false;
    if (all < lab_batch_jobs(b))
        cli_say("%u of %u runs are in %s already", lab_batch_jobs(b) - all, lab_batch_jobs(b),
                o->resume);
    int rc = lab_batch_start(b, (uint32_t)o->threads, e);
    if (rc < 0)
        return rc;
    screen_progress_init(&p, stderr, since);
    while (!lab_batch_idle(b)) {
        cli_wait(c, -1, 20);
        int64_t now = cli_now_ms();
        if (cli_stopping(c) && !stopped) {
            stopped = true;
            lab_batch_stop(b);
            screen_progress_end(&p, false);
            cli_say("stopping when the runs under way have ended; once more to stop at once");
        }
        if (!stopped && screen_progress_due(&p, now))
            show_progress(&p, since, now, lab_batch_ended(b), all);
    }
    screen_progress_end(&p, false);
    rc = lab_batch_join(b, e);
    return rc < 0 ? rc : stopped && lab_batch_left(b) > 0;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void put_stat(struct screen_table *t, uint32_t column, const struct lab_stat *s, double unit,
                     int digits)
{
    if (isnan(s->std))
        screen_table_cell(t, column, "%.*f", digits, unit * s->mean);
    else
        screen_table_cell(t, column, "%.*f ± %.*f", digits, unit * s->mean, digits, unit * s->std);
}

static void put_difference(struct screen_table *t, uint32_t column, const struct lab_stat *s,
                           double unit, int digits)
{
    if (s->n == 0)
        screen_table_cell(t, column, "-");
    else if (isnan(s->low))
        screen_table_cell(t, column, "%+.*f", digits, unit * s->mean);
    else
        screen_table_cell(t, column, "%+.*f [%+.*f, %+.*f]", digits, unit * s->mean, digits,
                          unit * s->low, digits, unit * s->high);
}

static void put_cell(struct screen_table *t, const struct lab_cell *c)
{
    screen_table_row(t);
    screen_table_cell(t, 0, "%s", c->task);
    screen_table_cell(t, 1, "%s", lab_metric_short(c->metric));
    screen_table_cell(t, 2, "%s%s%s", c->method, c->variant[0] ? " " : "", c->variant);
    screen_table_cell(t, 3, "%u", c->seeds);
    screen_table_cell(t, 4, "%.0f", c->labels.mean);
    put_stat(t, 5, &c->accuracy, 100, 2);
    put_stat(t, 6, &c->violation, 1, 3);
    put_difference(t, 7, &c->accuracy_difference, 100, 2);
    put_difference(t, 8, &c->violation_difference, 1, 3);
    screen_table_cell(t, 9, isfinite(c->violation_ratio) ? "%.2f" : "-", c->violation_ratio);
    screen_table_cell(t, 10, "%.2f", c->seconds.mean);
}

static int show_cells(const struct lab_report *r, FILE *out, struct fis_error *e)
{
    char accuracy[80], violation[80];
    const char *const headings[] = {"TASK",    "METRIC",      "METHOD",     ">SEEDS",
                                    ">LABELS", ">ACCURACY %", ">VIOLATION", accuracy,
                                    violation, ">RATIO",      ">SECONDS"};
    struct screen_table t;
    snprintf(accuracy, sizeof accuracy, ">ACCURACY vs %.48s", r->reference);
    snprintf(violation, sizeof violation, ">VIOLATION vs %.48s", r->reference);
    screen_table_init(&t, headings, sizeof headings / sizeof *headings);
    for (uint32_t i = 0; i < r->n_cells; i++)
        put_cell(&t, &r->cells[i]);
    return screen_table_print(&t, out) < 0 ? fis_fail(e, FIS_NOMEM, "no memory for a table") : 0;
}

static void put_summary(struct screen_table *t, const struct lab_summary *s, enum lab_cells which)
{
    const struct lab_means *m = &s->over[which];
    if (m->cells == 0)
        return;
    screen_table_row(t);
    screen_table_cell(t, 0, "%s%s%s", s->method, s->variant[0] ? " " : "", s->variant);
    screen_table_cell(t, 1, "%u", m->cells);
    if (which == LAB_CELLS_ALL)
        put_difference(t, 2, &s->accuracy_over_seeds, 100, 2);
    else
        screen_table_cell(t, 2, "%+.2f", 100 * m->accuracy_difference);
    screen_table_cell(t, 3, "%.2f", m->violation_ratio);
    screen_table_cell(t, 4, "%+.3f", m->violation_difference);
    screen_table_cell(t, 5, "%.0f %%", 100 * m->cells_fairer);
}

static int show_summaries(const struct lab_report *r, FILE *out, struct fis_error *e)
{
    static const char *const headings[] = {"METHOD",       ">CELLS",      ">ACCURACY, points",
                                           ">VIOLATION x", ">difference", ">FAIRER"};
    static const char *const cells[LAB_CELLS] = {
        "the cells with at least 1,000 validation rows",
        "those whose violation under random is material (.03 and two standard errors)",
        "the others"};
    struct screen_table t;
    int rc = 0;
    for (int which = 0; rc == 0 && which < LAB_CELLS; which++) {
        screen_table_init(&t, headings, sizeof headings / sizeof *headings);
        for (uint32_t i = 0; i < r->n_summaries; i++)
            put_summary(&t, &r->summaries[i], (enum lab_cells)which);
        if (t.rows > 0)
            fprintf(out, "\nover %s, against %s:\n", cells[which], r->reference);
        if (t.rows > 0 && screen_table_print(&t, out) < 0)
            rc = fis_fail(e, FIS_NOMEM, "no memory for a table");
    }
    return rc;
}

/* Where the gate judges nothing, the figures say little of the method. */
static void show_notes(const struct lab_report *r, FILE *out)
{
    for (uint32_t i = 0; i < r->n_cells; i++) {
        const struct lab_cell *c = &r->cells[i];
        int seen = c->n_validation >= 500;
        for (uint32_t j = 0; j < i; j++)
            seen |= strcmp(r->cells[j].task, c->task) == 0;
        if (!seen)
            fprintf(out,
                    "\n%s: %u validation rows. Under 500 the gate refuses to judge and the anchor "
                    "stands.\n",
                    c->task, c->n_validation);
    }
}

int cmd_lab_show(const struct lab_report *r, FILE *out, struct fis_error *e)
{
    int rc = show_cells(r, out, e);
    if (rc == 0)
        fprintf(out,
                "\nmean ± deviation over seeds; differences paired by seed, 95 %% intervals\n");
    if (rc == 0)
        rc = show_summaries(r, out, e);
    if (rc == 0)
        show_notes(r, out);
    return rc;
}

/* ---- files ---------------------------------------------------------------------------------- */

int cmd_lab_write_file(const char *path, const struct byte_buffer *text, struct fis_error *e)
{
    char partial[4096];
    if (snprintf(partial, sizeof partial, "%s.%ld", path, (long)getpid()) >= (int)sizeof partial)
        return fis_fail(e, FIS_INPUT, "%s: the name is too long", path);
    FILE *f = fopen(partial, "wb");
    int bad = !f || fwrite(text->data, 1, text->length, f) != text->length;
    if (f && fclose(f))
        bad = 1;
    if (!bad && rename(partial, path) == 0)
        return 0;
    int reason = errno;
    remove(partial);
    return fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(reason));
}

int cmd_lab_write_as(const struct lab_report *r, const char *path, cmd_lab_render_fn *render,
                     struct fis_error *e)
{
    struct byte_buffer text = {0};
    int rc = render(r, &text, e);
    if (rc == 0)
        rc = cmd_lab_write_file(path, &text, e);
    byte_buffer_done(&text);
    return rc;
}

int cmd_lab_write(const struct lab_report *r, const struct cmd_lab_options *o, struct fis_error *e)
{
    int rc = 0;
    if (o->json)
        rc = cmd_lab_write_as(r, o->json, lab_report_json, e);
    if (rc == 0 && o->markdown)
        rc = cmd_lab_write_as(r, o->markdown, lab_report_markdown, e);
    if (rc == 0 && o->plots)
        rc = lab_report_plots(r, o->plots, e);
    if (rc == -FIS_RETRY) { /* no gnuplot: the numbers and scripts are there all the same */
        cli_say("%s; %s has the numbers and scripts", e->text, o->plots);
        rc = 0;
    }
    return rc;
}

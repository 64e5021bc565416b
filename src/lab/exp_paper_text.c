/* The paper's tables and ours as Markdown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/exp_paper.h"

/* ".848 ± .025 / .084 ± .055"; without deviations where there are none. */
static void pair(double a, double a_std, double v, double v_std, char *text, size_t size)
{
    char left[40], right[40];
    snprintf(left, sizeof left, isnan(a_std) ? "%.3f" : "%.3f ± %.3f", a, a_std);
    snprintf(right, sizeof right, isnan(v_std) ? "%.3f" : "%.3f ± %.3f", v, v_std);
    snprintf(text, size, "%s / %s", left, right);
}

static int put_line(const struct lab_paper_line *l, struct byte_buffer *out, struct fis_error *e)
{
    char theirs[96] = "–", ours[96] = "–", difference[48] = "–";
    const struct lab_paper_value *p = l->paper;
    if (p)
        pair(p->accuracy, p->accuracy_std, p->violation, p->violation_std, theirs, sizeof theirs);
    if (l->accuracy.n)
        pair(l->accuracy.mean, l->accuracy.std, l->violation.mean, l->violation.std, ours,
             sizeof ours);
    if (p && l->accuracy.n)
        snprintf(difference, sizeof difference, "%+.3f / %+.3f", l->accuracy.mean - p->accuracy,
                 l->violation.mean - p->violation);
    int rc = byte_buffer_printf(out, e, "| %s | %s | %s", l->task, lab_metric_short(l->metric),
                                l->method);
    if (rc == 0 && l->table == LAB_PAPER_VALIDATION_SIZE)
        rc = byte_buffer_printf(out, e, " | %g", l->validation);
    return rc < 0 ? rc
                  : byte_buffer_printf(out, e, " | %s | %s | %s |\n", theirs, ours, difference);
}

static int put_table(enum lab_paper_table table, const struct lab_report *r,
                     struct byte_buffer *out, struct fis_error *e)
{
    struct lab_paper_line *lines;
    uint32_t n;
    const int sizes = table == LAB_PAPER_VALIDATION_SIZE;
    int rc = lab_paper_compare(table, r, &lines, &n, e);
    if (rc < 0)
        return rc;
    if (n)
        rc = byte_buffer_printf(
            out, e,
            "### %s\n\nTest accuracy / violation, means ± deviations over seeds.\n\n"
            "| task | metric | method%s | paper | here | difference |\n"
            "|---|---|---%s|--:|--:|--:|\n",
            lab_paper_title(table), sizes ? " | validation" : "", sizes ? "|--:" : "");
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = put_line(&lines[i], out, e);
    fis_free(lines);
    return rc == 0 && n ? byte_buffer_printf(out, e, "\n") : rc;
}

/* A path at every fourth round. */
static int put_budget(const struct lab_cell *c, struct byte_buffer *out, struct fis_error *e)
{
    int rc = byte_buffer_printf(out, e, "| %s | %s |", c->task, c->method);
    for (uint32_t i = 3; rc == 0 && i < c->n_path; i += 4)
        rc =
            byte_buffer_printf(out, e, " %.3f / %.3f |", c->path[i].accuracy, c->path[i].violation);
    return rc < 0 ? rc : byte_buffer_printf(out, e, "\n");
}

static int put_budgets(const struct lab_report *r, struct byte_buffer *out, struct fis_error *e)
{
    int rc = 0, any = 0;
    for (uint32_t i = 0; rc == 0 && i < r->n_cells; i++) {
        const struct lab_cell *c = &r->cells[i];
        if (strncmp(c->variant, "rounds", 6) != 0 || c->n_path < 20)
            continue;
        if (!any)
            rc = byte_buffer_printf(
                out, e,
                "### Label budgets\n\nTest accuracy / DP after so many rounds. The paper "
                "shows these as figures, without numbers.\n\n"
                "| task | method | 4 | 8 | 12 | 16 | 20 |\n|---|---|--:|--:|--:|--:|--:|\n");
        any = 1;
        if (rc == 0)
            rc = put_budget(c, out, e);
    }
    return rc == 0 && any ? byte_buffer_printf(out, e, "\n") : rc;
}

int lab_paper_markdown(const struct lab_report *r, struct byte_buffer *out, struct fis_error *e)
{
    const char *note = lab_paper_note(), *differences = lab_paper_differences();
    int rc = put_table(LAB_PAPER_MAIN, r, out, e);
    if (rc == 0)
        rc = put_budgets(r, out, e);
    if (rc == 0)
        rc = put_table(LAB_PAPER_VALIDATION_SIZE, r, out, e);
    if (rc == 0)
        rc = put_table(LAB_PAPER_RANDOM_VAL, r, out, e);
    if (rc == 0)
        rc = byte_buffer_printf(out, e, "%s\n", differences);
    return rc < 0 ? rc : byte_buffer_append(out, note, strlen(note), e);
}

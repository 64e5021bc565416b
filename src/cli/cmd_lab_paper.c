/* fisctl lab paper: the paper's protocol, its tables beside ours. */
#include "cli/cmd_lab_exp.h"

#include <math.h>

#include "cli/screen.h"
#include "fis/mem.h"
#include "lab/exp_paper.h"

struct options {
    struct cmd_lab_exp_options exp;
    bool balance;
};

/* The table of a terminal: as in Markdown, aligned. */
static void put_pair(struct screen_table *t, uint32_t column, double a, double a_std, double v,
                     double v_std)
{
    if (isnan(a_std))
        screen_table_cell(t, column, "%.3f / %.3f", a, v);
    else
        screen_table_cell(t, column, "%.3f±%.3f / %.3f±%.3f", a, a_std, v, v_std);
}

static void put_line(struct screen_table *t, const struct lab_paper_line *l)
{
    const struct lab_paper_value *p = l->paper;
    screen_table_row(t);
    screen_table_cell(t, 0, "%s", l->task);
    screen_table_cell(t, 1, "%s", lab_metric_short(l->metric));
    screen_table_cell(t, 2, "%s", l->method);
    screen_table_cell(t, 3, "%g", l->validation);
    for (uint32_t i = 4; i < 7; i++)
        screen_table_cell(t, i, "-");
    if (p)
        put_pair(t, 4, p->accuracy, p->accuracy_std, p->violation, p->violation_std);
    if (l->accuracy.n)
        put_pair(t, 5, l->accuracy.mean, l->accuracy.std, l->violation.mean, l->violation.std);
    if (p && l->accuracy.n)
        screen_table_cell(t, 6, "%+.3f / %+.3f", l->accuracy.mean - p->accuracy,
                          l->violation.mean - p->violation);
}

static int show_table(enum lab_paper_table table, const struct lab_report *r, struct fis_error *e)
{
    static const char *const headings[] = {"TASK",   "METRIC", "METHOD",     ">VALIDATION",
                                           ">PAPER", ">HERE",  ">DIFFERENCE"};
    struct lab_paper_line *lines;
    struct screen_table t;
    uint32_t n;
    int rc = lab_paper_compare(table, r, &lines, &n, e);
    if (rc < 0)
        return rc;
    screen_table_init(&t, headings, sizeof headings / sizeof *headings);
    for (uint32_t i = 0; i < n; i++)
        put_line(&t, &lines[i]);
    fis_free(lines);
    printf("%s (test accuracy / violation)\n\n", lab_paper_title(table));
    if (screen_table_print(&t, stdout) < 0)
        return fis_fail(e, FIS_NOMEM, "no memory for a table");
    putchar('\n');
    return 0;
}

static int finish(const struct lab_report *r, const struct cmd_lab_options *o, struct fis_error *e)
{
    struct cmd_lab_options rest = *o;
    int rc = show_table(LAB_PAPER_MAIN, r, e);
    if (rc == 0)
        rc = show_table(LAB_PAPER_VALIDATION_SIZE, r, e);
    if (rc == 0)
        rc = show_table(LAB_PAPER_RANDOM_VAL, r, e);
    if (rc == 0)
        printf("%s\n%s", lab_paper_differences(), lab_paper_note());
    if (rc == 0 && o->markdown)
        rc = cmd_lab_write_as(r, o->markdown, lab_paper_markdown, e);
    rest.markdown = NULL;
    return rc < 0 ? rc : cmd_lab_write(r, &rest, e);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.balance = false};
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    char settings[512];
    if (o.balance) {
        if (snprintf(settings, sizeof settings, "balance=1 %s",
                     o.exp.settings ? o.exp.settings : "") >= (int)sizeof settings)
            return cli_usage(self, "--set: too long");
        o.exp.settings = settings;
    }
    o.exp.lab.regime = "rich";
    o.exp.lab.seeds = o.exp.lab.seeds ? o.exp.lab.seeds : 3;
    return cmd_lab_experiment(c, &lab_exp_paper, &o.exp, finish);
}

static const struct command_option options[] = {
    CMD_LAB_CHOICES,
    {"balance", 0, CLI_FLAG, offsetof(struct options, balance), NULL,
     "resample the training rows so that classes and groups are balanced, as the paper does on "
     "Adult and COMPAS"},
    CMD_LAB_SEEDS,
    CMD_LAB_FILES,
    {.name = NULL},
};

const struct cli_command cmd_lab_paper = {
    .name = "lab paper",
    .arguments = "[options]",
    .summary = "the paper's protocol; its tables beside ours",
    .text =
        "Runs the paper's protocol (its budgets, epochs, learning rates, shares, epsilon .05) on\n"
        "adult-sex, adult-age, compas and four CelebA tasks, three seeds each, and shows the\n"
        "paper's number, ours and the difference for its tables: main results, validation\n"
        "size, Random+Val; and label budgets, which the paper has as figures (--markdown,\n"
        "--plots). On CelebA ours see the attributes, not the images. Below the tables stands\n"
        "why the paper's tabular numbers are no target.",
    .options = options,
    .run = run,
};

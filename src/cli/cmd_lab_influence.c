/* fisctl lab influence-check: the first-order estimate against what really happens. */

#include "cli/cmd_lab_exp.h"
#include "cli/screen.h"
#include "fis/mem.h"
#include "lab/exp_influence_report.h"
#include "lab/pool.h"

struct options {
    struct cmd_lab_options lab;
    uint64_t examples, retrained, steps;
};

struct checks {
    const struct options *o;
    const struct cmd_lab_plan *plan;
    struct lab_influence_record *records; /* by job */
    uint32_t n;
};

/* Job by job: task, then metric, then seed. */
static int check(void *arg, uint32_t job, uint32_t worker, struct fis_error *e)
{
    struct checks *c = arg;
    const struct cmd_lab_plan *p = c->plan;
    const uint32_t seeds = (uint32_t)c->o->lab.seeds;
    const struct lab_task *task = p->tasks.tasks[job / seeds / p->n_metrics];
    struct lab_influence_record *r = &c->records[job];
    struct lab_influence_options o;
    (void)worker;
    lab_influence_default(task->spec, p->regime, &o);
    o.run.metric = r->metric = p->metrics[job / seeds % p->n_metrics];
    o.run.seed = r->seed = c->o->lab.first_seed + job % seeds;
    o.examples = c->o->examples ? (uint32_t)c->o->examples : o.examples;
    o.retrained = c->o->retrained ? (uint32_t)c->o->retrained : o.retrained;
    o.steps = c->o->steps ? (uint32_t)c->o->steps : o.steps;
    r->regime = p->regime;
    snprintf(r->task, sizeof r->task, "%s", task->spec->name);
    struct lab_split *split = lab_split_new(task, &o.run.protocol, o.run.seed, e);
    if (!split)
        return -(int)e->kind;
    int rc = lab_influence_check(split, &o, &r->result, e);
    lab_split_free(split);
    return rc;
}

/* 1: interrupted. */
static int run_checks(struct cli *c, struct checks *k, struct fis_error *e)
{
    struct screen_progress p;
    bool stopped = false;
    struct lab_pool *pool = lab_pool_start((uint32_t)k->o->lab.threads, k->n, check, k, e);
    if (!pool)
        return -FIS_RETRY;
    screen_progress_init(&p, stderr, cli_now_ms());
    while (!lab_pool_idle(pool)) {
        cli_wait(c, -1, 20);
        int64_t now = cli_now_ms();
        if (cli_stopping(c) && !stopped) {
            stopped = true;
            lab_pool_stop(pool);
        }
        if (screen_progress_due(&p, now))
            screen_progress_show(&p, now, "%u of %u checks", lab_pool_done(pool), k->n);
    }
    screen_progress_end(&p, false);
    int rc = lab_pool_join(pool, e);
    return rc < 0 ? rc : stopped;
}

static int show(const struct lab_influence_cell *cells, uint32_t n, struct fis_error *e)
{
    static const char *const headings[] = {
        "TASK",           "METRIC",          ">SEEDS",
        ">STEP accuracy", ">fairness",       ">RETRAINING accuracy",
        ">fairness",      ">with CURVATURE", ">fairness"};
    struct screen_table t;
    screen_table_init(&t, headings, sizeof headings / sizeof *headings);
    for (uint32_t i = 0; i < n; i++) {
        const struct lab_influence_cell *c = &cells[i];
        const struct lab_stat *const stats[] = {&c->step_accuracy,      &c->step_fairness,
                                                &c->retrain_accuracy,   &c->retrain_fairness,
                                                &c->curvature_accuracy, &c->curvature_fairness};
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%s", c->task);
        screen_table_cell(&t, 1, "%s", lab_metric_short(c->metric));
        screen_table_cell(&t, 2, "%u", c->step_accuracy.n);
        for (uint32_t j = 0; j < 6; j++)
            if (stats[j]->n > 1)
                screen_table_cell(&t, 3 + j, "%.2f ± %.2f", stats[j]->mean, stats[j]->std);
            else
                screen_table_cell(&t, 3 + j, "%.2f", stats[j]->mean);
    }
    if (screen_table_print(&t, stdout) < 0)
        return fis_fail(e, FIS_NOMEM, "no memory for a table");
    puts(
        "\nSpearman's rank correlation of the estimate with the change of validation loss and phi");
    return 0;
}

typedef int render_fn(const struct lab_influence_cell *cells, uint32_t n, struct byte_buffer *out,
                      struct fis_error *e);

static int write_as(const struct lab_influence_cell *cells, uint32_t n, const char *path,
                    render_fn *render, struct fis_error *e)
{
    struct byte_buffer text = {0};
    int rc = path ? render(cells, n, &text, e) : 0;
    if (rc == 0 && path)
        rc = cmd_lab_write_file(path, &text, e);
    byte_buffer_done(&text);
    return rc;
}

static int finish(const struct checks *k, struct fis_error *e)
{
    const struct cmd_lab_options *o = &k->o->lab;
    struct lab_influence_cell *cells;
    uint32_t n;
    int rc = lab_influence_cells(k->records, k->n, &cells, &n, e);
    if (rc < 0)
        return rc;
    rc = show(cells, n, e);
    if (rc == 0)
        rc = write_as(cells, n, o->json, lab_influence_json, e);
    if (rc == 0)
        rc = write_as(cells, n, o->markdown, lab_influence_markdown, e);
    fis_free(cells);
    if (rc == 0 && o->plots)
        rc = lab_influence_plots(k->records, k->n, o->plots, e);
    if (rc == -FIS_RETRY) {
        cli_say("%s; %s has the numbers and scripts", e->text, o->plots);
        rc = 0;
    }
    return rc;
}

static int experiment(struct cli *c, struct options *o, struct fis_error *e)
{
    struct cmd_lab_plan plan;
    int rc = cmd_lab_plan_make(&o->lab, &plan, e);
    if (rc < 0)
        return rc;
    struct checks k = {.o = o, .plan = &plan};
    k.n = plan.tasks.n * plan.n_metrics * (uint32_t)o->lab.seeds;
    k.records = fis_calloc(k.n, sizeof *k.records);
    rc = k.records ? run_checks(c, &k, e) : fis_fail(e, FIS_NOMEM, "no memory for %u checks", k.n);
    if (rc == 0)
        rc = finish(&k, e);
    for (uint32_t i = 0; k.records && i < k.n; i++)
        lab_influence_done(&k.records[i].result);
    fis_free(k.records);
    cmd_lab_plan_done(&plan);
    return rc;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.examples = 0};
    struct fis_error e;
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (o.examples > 100000 || o.retrained > 100000 || o.steps > 100000)
        return cli_usage(self, "--examples, --retrained, --steps: allowed 1 to 100000");
    o.lab.tasks = o.lab.tasks ? o.lab.tasks : "adult-sex,compas,celeba-big-nose";
    o.lab.metrics = o.lab.metrics ? o.lab.metrics : "dp,eod";
    o.lab.seeds = o.lab.seeds ? o.lab.seeds : 3;
    int rc = experiment(c, &o, &e);
    if (rc > 0)
        cli_say("interrupted");
    return rc < 0 ? cli_fail(&e) : rc > 0 ? CLI_FAILED : CLI_DONE;
}

static const struct command_option options[] = {
    {"tasks", 't', CLI_TEXT, CMD_LAB_AT(tasks), "LIST",
     "with commas, or all; default adult-sex,compas,celeba-big-nose"},
    {"metrics", 'm', CLI_TEXT, CMD_LAB_AT(metrics), "LIST",
     "of dp, eop, eod, risk; default dp,eod"},
    {"regime", 0, CLI_TEXT, CMD_LAB_AT(regime), "rich|scarce", "default scarce"},
    {"examples", 0, CLI_COUNT, offsetof(struct options, examples), "N",
     "random rows of the pool; default 400"},
    {"retrained", 0, CLI_COUNT, offsetof(struct options, retrained), "N",
     "so many of them are retrained on; default 200"},
    {"steps", 0, CLI_COUNT, offsetof(struct options, steps), "N",
     "of retraining; default those of a round"},
    CMD_LAB_SEEDS,
    {"json", 0, CLI_TEXT, CMD_LAB_AT(json), "FILE", "correlations, for programs"},
    {"markdown", 0, CLI_TEXT, CMD_LAB_AT(markdown), "FILE", "the table"},
    {"plots", 0, CLI_TEXT, CMD_LAB_AT(plots), "DIR", "scatter plots, SVG and PNG, by gnuplot"},
    {"cache", 0, CLI_TEXT, CMD_LAB_AT(cache), "DIR",
     "where fetched data stay; default $FISD_CACHE, else ~/.cache/fisd"},
    {.name = NULL},
};

const struct cli_command cmd_lab_influence = {
    .name = "lab influence-check",
    .arguments = "[options]",
    .summary = "first-order influence against one real step and retraining",
    .text =
        "At the warm-up model, for random rows of the pool: what the estimate from one forward\n"
        "pass says a row would do to validation loss and to unfairness, against one real step\n"
        "of training on it, and against an epoch of further training with the row in every\n"
        "batch, less the same epoch without. Also for directions with curvature (the last\n"
        "layer's Gauss-Newton matrix). Spearman's rank correlations.",
    .options = options,
    .run = run,
};

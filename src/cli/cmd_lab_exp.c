#include "cli/cmd_lab_exp.h"

#include <string.h>

#include "fis/mem.h"

int cmd_lab_finish(const struct lab_report *r, const struct cmd_lab_options *o, struct fis_error *e)
{
    int rc = cmd_lab_show(r, stdout, e);
    return rc < 0 ? rc : cmd_lab_write(r, o, e);
}

int cmd_lab_exit(int r, const struct cmd_lab_options *o, const struct fis_error *e)
{
    if (r < 0)
        return cli_fail(e);
    if (r == 0)
        return CLI_DONE;
    if (o->resume)
        cli_say("interrupted; the same command goes on from %s", o->resume);
    else
        cli_say("interrupted; with --resume FILE the same command would go on");
    return CLI_FAILED;
}

static int report(struct lab_batch *b, const struct cmd_lab_plan *p,
                  const struct cmd_lab_options *o, cmd_lab_finish_fn *finish, struct fis_error *e)
{
    struct lab_report report;
    struct lab_record *with_anchors = NULL;
    uint32_t n;
    int rc = 0;
    const struct lab_record *records = lab_batch_records(b, &n);
    if (!records)
        return fis_fail(e, FIS_NOMEM, "no memory for the results");
    if (o->anchors)
        rc = lab_report_anchors(records, n, &with_anchors, &n, e);
    if (rc == 0)
        rc = lab_report_make(with_anchors ? with_anchors : records, n, p->metrics, p->n_metrics,
                             o->against ? o->against : "random", &report, e);
    fis_free(with_anchors);
    if (rc < 0)
        return rc;
    rc = finish(&report, o, e);
    lab_report_done(&report);
    return rc;
}

int cmd_lab_run_and_report(struct cli *c, struct lab_batch *b, const struct cmd_lab_plan *p,
                           const struct cmd_lab_options *o, cmd_lab_finish_fn *finish,
                           struct fis_error *e)
{
    int rc = o->resume ? lab_batch_resume(b, o->resume, e) : 0;
    if (rc == 0)
        rc = cmd_lab_run_batch(c, b, o, e);
    return rc ? rc : report(b, p, o, finish, e);
}

static int with_batch(struct cli *c, const struct lab_experiment *x, const struct cmd_lab_plan *p,
                      const struct cmd_lab_options *o, const char *settings, struct lab_batch *b,
                      cmd_lab_finish_fn *finish, struct fis_error *e)
{
    struct lab_plan plan = {0};
    const struct lab_plan_request q = {
        .tasks = (const struct lab_task *const *)p->tasks.tasks,
        .n_tasks = p->tasks.n,
        .metrics = p->metrics,
        .n_metrics = p->n_metrics,
        .methods = o->methods,
        .settings = settings,
        .regime = p->regime,
        .first_seed = o->first_seed,
        .seeds = (uint32_t)o->seeds,
    };
    int rc = lab_plan_make(x, &q, &plan, b, e);
    if (rc == 0)
        rc = cmd_lab_run_and_report(c, b, p, o, finish, e);
    lab_plan_done(&plan);
    return rc;
}

int cmd_lab_list_settings(void)
{
    const char *name, *help;
    for (uint32_t i = 0; (name = lab_variant_setting(i, &help)); i++)
        printf("%-16s %s\n", name, help);
    return CLI_DONE;
}

int cmd_lab_experiment(struct cli *c, const struct lab_experiment *x,
                       struct cmd_lab_exp_options *options, cmd_lab_finish_fn *finish)
{
    struct cmd_lab_options *o = &options->lab;
    struct cmd_lab_plan p;
    struct fis_error e;
    if (options->settings && !strcmp(options->settings, "help"))
        return cmd_lab_list_settings();
    o->tasks = o->tasks ? o->tasks : x->tasks;
    o->metrics = o->metrics ? o->metrics : x->metrics;
    int rc = cmd_lab_plan_make(o, &p, &e);
    if (rc < 0)
        return cmd_lab_exit(rc, o, &e);
    struct lab_batch *b = lab_batch_new(&e);
    rc = b ? with_batch(c, x, &p, o, options->settings, b, finish, &e) : -FIS_NOMEM;
    lab_batch_free(b);
    cmd_lab_plan_done(&p);
    return cmd_lab_exit(rc, o, &e);
}

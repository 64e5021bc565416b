#include "lab/exp_plan.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

/* ---- lists ---------------------------------------------------------------------------------- */

bool lab_list_next(const char **at, char separator, char *item, size_t size)
{
    const char *from = *at, *end;
    if (!from)
        return false;
    end = strchr(from, separator);
    *at = end ? end + 1 : NULL;
    size_t n = end ? (size_t)(end - from) : strlen(from);
    for (; n && *from == ' '; from++)
        n--;
    while (n && from[n - 1] == ' ')
        n--;
    snprintf(item, size, "%.*s", (int)n, from);
    return true;
}

bool lab_list_has(const char *list, const char *word)
{
    char item[96];
    if (!list)
        return true;
    while (lab_list_next(&list, ',', item, sizeof item))
        if (strcmp(item, word) == 0)
            return true;
    return false;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

struct planner {
    const struct lab_experiment *x;
    const struct lab_plan_request *q;
    struct lab_plan *plan;
    struct lab_batch *batch;
};

static struct lab_variant *new_variant(struct lab_plan *plan, struct fis_error *e)
{
    bool room = fis_more(&plan->variants, plan->n, sizeof *plan->variants);
    struct lab_variant *v = room ? fis_calloc(1, sizeof *v) : NULL;
    if (!v)
        fis_fail(e, FIS_NOMEM, "plan: no memory");
    else
        plan->variants[plan->n++] = v;
    return v;
}

static int metrics_of(const struct planner *p, const struct lab_exp_group *g,
                      enum fis_metric *metrics, uint32_t *n, struct fis_error *e)
{
    const char *at = g->metrics;
    char item[32];
    *n = 0;
    for (uint32_t i = 0; !at && i < p->q->n_metrics; i++)
        metrics[(*n)++] = p->q->metrics[i];
    while (*n < FIS_RISK_DISPARITY && lab_list_next(&at, ',', item, sizeof item)) {
        int rc = lab_metric_find(item, &metrics[*n], e);
        if (rc < 0)
            return rc;
        ++*n;
    }
    return 0;
}

/* One variant of one method on one task and seed, for all metrics. */
static int add_job(const struct planner *p, const struct lab_exp_group *g,
                   const struct lab_task *task, const char *method, const char *variant,
                   uint64_t seed, struct fis_error *e)
{
    struct lab_job job = {.task = task};
    struct lab_options base, common;
    struct lab_variant settings, *v = new_variant(p->plan, e);
    enum fis_metric metrics[FIS_RISK_DISPARITY];
    uint32_t n = 0;
    if (!v)
        return -FIS_NOMEM;
    (p->x->base ? p->x->base : lab_options_default)(task->spec, p->q->regime, &base);
    int rc = lab_variant_make(p->q->settings ? p->q->settings : "", &base, task, &settings, e);
    if (rc == 0 && lab_variant_hooks(&settings))
        rc = fis_fail(e, FIS_INPUT, "settings for all runs: noise and validation are a variant's");
    common = settings.options;
    common.seed = seed;
    common.path = g->path;
    if (rc == 0)
        rc = lab_variant_make(variant, &common, task, v, e);
    if (rc == 0)
        rc = lab_method_find(method, &job.method, e);
    if (rc == 0)
        rc = metrics_of(p, g, metrics, &n, e);
    if (rc < 0)
        return rc;
    job.options = v->options;
    job.hooks = lab_variant_hooks(v);
    job.key.regime = p->q->regime;
    snprintf(job.key.variant, sizeof job.key.variant, "%s", variant);
    return lab_batch_add_metrics(p->batch, job, metrics, n, e);
}

static int add_group(const struct planner *p, const struct lab_exp_group *g, const char *methods,
                     const struct lab_task *task, uint64_t seed, struct fis_error *e)
{
    char method[48], variant[96];
    int rc = 0;
    while (rc == 0 && lab_list_next(&methods, ',', method, sizeof method)) {
        const char *variants = g->variants;
        while (rc == 0 && lab_list_next(&variants, ';', variant, sizeof variant))
            if (!p->x->included || p->x->included(task->spec->name, method, variant))
                rc = add_job(p, g, task, method, variant, seed, e);
    }
    return rc;
}

int lab_plan_make(const struct lab_experiment *x, const struct lab_plan_request *q,
                  struct lab_plan *plan, struct lab_batch *b, struct fis_error *e)
{
    const struct planner p = {x, q, plan, b};
    int rc = 0;
    for (uint32_t t = 0; rc == 0 && t < q->n_tasks; t++)
        for (uint32_t s = 0; rc == 0 && s < q->seeds; s++)
            for (uint32_t i = 0; rc == 0 && i < LAB_EXP_GROUPS && x->groups[i].methods; i++) {
                const struct lab_exp_group *g = &x->groups[i];
                const char *methods = i == 0 && q->methods ? q->methods : g->methods;
                if (lab_list_has(g->tasks, q->tasks[t]->spec->name))
                    rc = add_group(&p, g, methods, q->tasks[t], q->first_seed + s, e);
            }
    return rc;
}

void lab_plan_done(struct lab_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++)
        fis_free(plan->variants[i]);
    fis_free(plan->variants);
    *plan = (struct lab_plan){0};
}

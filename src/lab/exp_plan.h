/*
 * Experiments as tables: groups of methods and variants, which become the jobs of a batch for every
 * task, metric and seed. What is reported is lab/report.h's: differences are paired with `random`,
 * of the same variant where there is one, else of none.
 *
 * Thread: one. A plan owns the variants that the jobs' hooks borrow: it outlives the batch's runs.
 */
#ifndef LAB_EXP_PLAN_H
#define LAB_EXP_PLAN_H

#include <stdbool.h>

#include "lab/batch.h"
#include "lab/exp_variant.h"

/* Lists are texts: methods, tasks and metrics by commas, variants by semicolons ("" is one). */
struct lab_exp_group {
    const char *methods; /* NULL ends the groups of an experiment */
    const char *variants;
    const char *tasks, *metrics; /* NULL: those that are asked for */
    bool path;                   /* every round's figures too */
};

#define LAB_EXP_GROUPS 5

struct lab_experiment {
    const char *name;            /* "delay", "epsilon" (of ablate) … */
    const char *summary;         /* one line */
    const char *tasks, *metrics; /* when none are asked for */
    struct lab_exp_group groups[LAB_EXP_GROUPS];
    /* Options that the variants change; NULL: lab_options_default. */
    void (*base)(const struct lab_task_spec *spec, enum lab_regime regime, struct lab_options *o);
    /* Whether a job is needed; NULL: all are. */
    bool (*included)(const char *task, const char *method, const char *variant);
};

/* ablate's: budget, validation, strategy, epsilon, mix, window; NULL: no such, says what there is.
 * The others have names of their own. */
const struct lab_experiment *lab_ablation_find(const char *name, struct fis_error *e);
const struct lab_experiment *lab_ablation(uint32_t i); /* NULL ends */
extern const struct lab_experiment lab_exp_noise, lab_exp_delay, lab_exp_stream, lab_exp_paper;

struct lab_plan_request {
    const struct lab_task *const *tasks; /* all that the plan may need */
    uint32_t n_tasks;
    const enum fis_metric *metrics;
    uint32_t n_metrics;
    const char *methods;  /* instead of the first group's; NULL: its own */
    const char *settings; /* for every run, before the variant's; NULL: none */
    enum lab_regime regime;
    uint64_t first_seed;
    uint32_t seeds;
};

struct lab_plan {
    struct lab_variant **variants; /* owned */
    uint32_t n;
};
/* Adds the jobs of all groups to the batch. */
int lab_plan_make(const struct lab_experiment *x, const struct lab_plan_request *q,
                  struct lab_plan *plan, struct lab_batch *b, struct fis_error *e) FIS_MUST_CHECK;
void lab_plan_done(struct lab_plan *plan); /* fine when zeroed */

/* Whether a list with commas has this word; NULL has all. */
bool lab_list_has(const char *list, const char *word);
/* The next item of a list (from *at on) with `separator`, without blanks around it, into item; 0 at
 * the end. An empty list has one empty item. */
bool lab_list_next(const char **at, char separator, char *item, size_t size);

#endif

/* What the special experiments of `fisctl lab` share: a plan of variants, run and reported. */
#ifndef CLI_CMD_LAB_EXP_H
#define CLI_CMD_LAB_EXP_H

#include "cli/cmd_lab.h"
#include "lab/exp_plan.h"

struct cmd_lab_exp_options {
    struct cmd_lab_options lab;
    const char *settings;
};
/* The options that all of them have, for a table of such a struct. */
#define CMD_LAB_CHOICES                                                                            \
    {"tasks", 't', CLI_TEXT, CMD_LAB_AT(tasks), "LIST", "with commas, or all"},                    \
        {"metrics", 'm', CLI_TEXT, CMD_LAB_AT(metrics), "LIST", "of dp, eop, eod, risk"},          \
        {"methods",           0,      CLI_TEXT,                                                    \
         CMD_LAB_AT(methods), "LIST", "instead of those of the first group"},                      \
    {                                                                                              \
        "set", 0, CLI_TEXT, offsetof(struct cmd_lab_exp_options, settings), "\"NAME=VALUE …\"",    \
            "for every run, before what is varied: rounds=20 standardise=1; --set help lists them" \
    }

/* Shows the report and writes the files. */
typedef int cmd_lab_finish_fn(const struct lab_report *r, const struct cmd_lab_options *o,
                              struct fis_error *e);

/* Goes on from --resume, runs what is left of the batch, and gives the report to `finish`. 1: it
 * was interrupted. */
int cmd_lab_run_and_report(struct cli *c, struct lab_batch *b, const struct cmd_lab_plan *p,
                           const struct cmd_lab_options *o, cmd_lab_finish_fn *finish,
                           struct fis_error *e) FIS_MUST_CHECK;
/* Says why, or that it was interrupted; the exit code of r < 0, > 0, 0. */
int cmd_lab_exit(int r, const struct cmd_lab_options *o, const struct fis_error *e);

/* Runs an experiment; the exit code. */
int cmd_lab_experiment(struct cli *c, const struct lab_experiment *x, struct cmd_lab_exp_options *o,
                       cmd_lab_finish_fn *finish);
int cmd_lab_finish(const struct lab_report *r, const struct cmd_lab_options *o,
                   struct fis_error *e) FIS_MUST_CHECK;

extern const struct cli_command cmd_lab_paper, cmd_lab_ablate, cmd_lab_noise, cmd_lab_delay,
    cmd_lab_stream, cmd_lab_influence;

/* What --set takes, one a line, on standard output; CLI_DONE. */
int cmd_lab_list_settings(void);

#endif

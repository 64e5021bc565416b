/*
 * What the commands of `fisctl lab` share: options, tasks and methods by name, running a batch
 * with a progress line, showing what came of it.
 *
 * Thread: one. The runs have threads of their own (lab/batch.h).
 */
#ifndef CLI_CMD_LAB_H
#define CLI_CMD_LAB_H

#include "cli/command_table.h"
#include "lab/batch.h"
#include "lab/report.h"

#define CMD_LAB_TASKS_MAX 32
#define CMD_LAB_METHODS_MAX 64
#define CMD_LAB_METRICS_MAX 4

/* Values of options; NULL where not given. A command offers those that it needs. */
struct cmd_lab_options {
    const char *tasks, *metrics, *methods, *regime;
    uint64_t seeds, first_seed, threads;
    const char *json, *markdown, *plots, *cache, *resume;
    struct data_reading read; /* of csv */
    const char *data, *groups;
    const char *csv, *label, *sensitive, *positive, *leave_out;
    const char *epsilon, *publish, *predictions, *files, *set, *against;
    bool path, one_pass, anchors;
};
/* Rows of a table of options, for a struct that has a cmd_lab_options at its beginning. */
#define CMD_LAB_AT(field) offsetof(struct cmd_lab_options, field)
#define CMD_LAB_SEEDS                                                                              \
    {"seeds", 0, CLI_COUNT, CMD_LAB_AT(seeds), "N", "splits and trainings; default 4"},            \
        {"first-seed", 0, CLI_COUNT, CMD_LAB_AT(first_seed), "K", "the first of them; default 1"}, \
    {                                                                                              \
        "threads", 0, CLI_COUNT, CMD_LAB_AT(threads), "N",                                         \
            "runs at a time; default one a core. The results do not depend on it"                  \
    }
#define CMD_LAB_FILES                                                                              \
    {"json", 0, CLI_TEXT, CMD_LAB_AT(json), "FILE", "cells and summary, for programs"},            \
        {"markdown", 0, CLI_TEXT, CMD_LAB_AT(markdown), "FILE", "the tables"},                     \
        {"plots",  0,                                                                              \
         CLI_TEXT, CMD_LAB_AT(plots),                                                              \
         "DIR",    "SVG and PNG by gnuplot: accuracy against violation, curves over labels"},      \
        {"cache",  0,                                                                              \
         CLI_TEXT, CMD_LAB_AT(cache),                                                              \
         "DIR",    "where fetched data stay; default $FISD_CACHE, else ~/.cache/fisd"},            \
    {                                                                                              \
        "resume", 0, CLI_TEXT, CMD_LAB_AT(resume), "FILE",                                         \
            "results go to it one by one; the same command goes on from there"                     \
    }

/* What the options mean. */
struct cmd_lab_plan {
    struct lab_tasks tasks;
    struct lab_method methods[CMD_LAB_METHODS_MAX];
    uint32_t n_methods;
    enum fis_metric metrics[CMD_LAB_METRICS_MAX];
    uint32_t n_metrics;
    bool regime_given; /* else each task's own */
    enum lab_regime regime;
    enum lab_publish publish;
    double epsilon;
    struct lab_hooks hooks;   /* of --predictions */
    struct lab_task_spec csv; /* of --csv, or a .npz of --data */
    char *csv_name, *csv_sensitive;
};
/* Fills in defaults for what is NULL or 0, then loads. INPUT says which option is wrong. */
int cmd_lab_plan_make(struct cmd_lab_options *o, struct cmd_lab_plan *p,
                      struct fis_error *e) FIS_MUST_CHECK;
void cmd_lab_plan_done(struct cmd_lab_plan *p);
/* Seed by seed, task by task: every method for every metric. */
int cmd_lab_plan_jobs(const struct cmd_lab_plan *p, const struct cmd_lab_options *o,
                      struct lab_batch *b, struct fis_error *e) FIS_MUST_CHECK;

/* Runs what is left of the batch, with progress on standard error; 1 when it was interrupted. */
int cmd_lab_run_batch(struct cli *c, struct lab_batch *b, const struct cmd_lab_options *o,
                      struct fis_error *e) FIS_MUST_CHECK;
/* The tables on standard output, and the files that are needed. */
int cmd_lab_show(const struct lab_report *r, FILE *out, struct fis_error *e) FIS_MUST_CHECK;
int cmd_lab_write(const struct lab_report *r, const struct cmd_lab_options *o,
                  struct fis_error *e) FIS_MUST_CHECK;
typedef int cmd_lab_render_fn(const struct lab_report *r, struct byte_buffer *out,
                              struct fis_error *e);
int cmd_lab_write_as(const struct lab_report *r, const char *path, cmd_lab_render_fn *render,
                     struct fis_error *e) FIS_MUST_CHECK;
/* A whole text to a file, by a partial one that is renamed. */
int cmd_lab_write_file(const char *path, const struct byte_buffer *text,
                       struct fis_error *e) FIS_MUST_CHECK;

/* The commands, one a file (cmd_lab_NAME.c), listed in cmd_lab.c. */
extern const struct cli_command cmd_lab_run;

#endif

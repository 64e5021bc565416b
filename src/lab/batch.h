/*
 * Many runs: jobs on threads, results kept in the order of the jobs, and a file of results that an
 * interrupted batch goes on from.
 *
 * Thread: the functions are the starting thread's; runs are on threads of their own, each on one,
 * with OpenBLAS at one. Results depend on the jobs alone. Owns: copies of jobs; tasks, methods'
 * tables and hooks are borrowed.
 */
#ifndef LAB_BATCH_H
#define LAB_BATCH_H

#include <stdbool.h>

#include "lab/result.h"

/* ---- tasks by name -------------------------------------------------------------------------- */

/* What tasks are on; read once, however many they are. */
struct lab_source {
    const struct lab_task_spec *spec; /* the first of them */
    struct data_table *table;
    struct lab_images *images; /* NULL: none */
};
struct lab_tasks {
    struct lab_task **tasks;
    struct lab_source *sources;
    uint32_t n, n_sources;
};
/* Where files are: what is fetched, in `cache`, where it is prepared when missing; of layouts of
 * images `data`, a folder or file, and `groups` (lab/images.h). */
struct lab_places {
    const char *cache, *data, *groups;
};
/* specs are borrowed. */
int lab_tasks_load(const struct lab_task_spec *const *specs, uint32_t n,
                   const struct lab_places *places, struct lab_tasks *out,
                   struct fis_error *e) FIS_MUST_CHECK;
void lab_tasks_done(struct lab_tasks *t); /* fine when zeroed */

/* ---- jobs ----------------------------------------------------------------------------------- */

struct lab_job {
    struct lab_key key; /* options: filled by lab_batch_add_metrics */
    const struct lab_task *task;
    struct lab_method method;
    struct lab_options options;
    const struct lab_hooks *hooks; /* its arg must stand several threads */
};

struct lab_batch;
struct lab_batch *lab_batch_new(struct fis_error *e) FIS_MUST_CHECK;
void lab_batch_free(struct lab_batch *b);
/* Runs of one split (task, seed, protocol) should be neighbours: a thread keeps its last split.
 * For each metric a job, or one for all where results do not depend on it (and no path is needed).
 * The key's task, regime, seed and method are filled in from the rest. */
int lab_batch_add_metrics(struct lab_batch *b, struct lab_job job, const enum fis_metric *metrics,
                          uint32_t n, struct fis_error *e) FIS_MUST_CHECK;

/* Results are read from the file, if it is there, and those to come appended to it. A last line
 * that is not whole is dropped; one that is no result is INPUT (with its number). */
int lab_batch_resume(struct lab_batch *b, const char *path, struct fis_error *e) FIS_MUST_CHECK;

uint32_t lab_batch_jobs(const struct lab_batch *b);
uint32_t lab_batch_left(const struct lab_batch *b); /* without result; not while it runs */
int lab_batch_start(struct lab_batch *b, uint32_t threads, struct fis_error *e) FIS_MUST_CHECK;
uint32_t lab_batch_ended(const struct lab_batch *b); /* since start */
bool lab_batch_idle(const struct lab_batch *b);
void lab_batch_stop(struct lab_batch *b); /* runs under way go on to their end */
int lab_batch_join(struct lab_batch *b, struct fis_error *e) FIS_MUST_CHECK;
/* The results, in the order of the jobs, without those that are missing. Borrowed. */
const struct lab_record *lab_batch_records(struct lab_batch *b, uint32_t *n);

#endif

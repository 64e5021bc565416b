#include "lab/batch.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/pool.h"

/* What a thread keeps between its jobs. */
struct worker {
    struct lab_split *split;
    const struct lab_task *task;
    struct lab_protocol protocol;
    uint64_t seed;
};

struct lab_batch {
    struct lab_job *jobs;
    struct lab_record *records; /* [n] by job; method "" while there is none */
    uint32_t n;
    struct lab_record *compact; /* what lab_batch_records gives */
    uint32_t *todo, n_todo;
    struct worker *workers;
    uint32_t n_workers;
    struct lab_pool *pool;
    pthread_mutex_t lock; /* of the file */
    FILE *file;
    char *path;
};

struct lab_batch *lab_batch_new(struct fis_error *e)
{
    struct lab_batch *b = fis_calloc(1, sizeof *b);
    if (!b)
        fis_fail(e, FIS_NOMEM, "batch: no memory");
    else
        pthread_mutex_init(&b->lock, NULL);
    return b;
}

static void free_workers(struct lab_batch *b)
{
    for (uint32_t i = 0; i < b->n_workers; i++)
        lab_split_free(b->workers[i].split);
    fis_free(b->workers);
    b->workers = NULL;
    b->n_workers = 0;
}

void lab_batch_free(struct lab_batch *b)
{
    if (!b)
        return;
    if (b->file)
        fclose(b->file);
    free_workers(b);
    pthread_mutex_destroy(&b->lock);
    fis_free(b->path);
    fis_free(b->todo);
    fis_free(b->compact);
    fis_free(b->records);
    fis_free(b->jobs);
    fis_free(b);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* A number that tells options apart: of their values in text, so that padding has no say. */
static uint64_t fingerprint(const struct lab_job *job)
{
    const struct lab_options *o = &job->options;
    const struct lab_protocol *p = &o->protocol;
    char privacy[48] = ""; /* nothing when off: results of before stay the same runs */
    char trees[96] = "";   /* likewise */
    char text[512];
    if (p->trees)
        snprintf(trees, sizeof trees, " %u %u %u %.9g %.9g %.9g %.9g", o->trees.n,
                 o->trees.patience, o->trees.depth, o->trees.rate, o->trees.rows, o->trees.columns,
                 o->trees.growth);
    char images[96] = ""; /* likewise */
    if (p->vit.height)
        snprintf(images, sizeof images, " %u %u %u %u %u %d %d %u %u", p->vit.patch, p->vit.dim,
                 p->vit.depth, p->vit.heads, p->vit.mlp, p->adamw, p->flip, p->rise, p->shift);
    if (o->privacy > 0)
        snprintf(privacy, sizeof privacy, " %.9g %.9g", o->privacy, o->clip);
    int n = snprintf(
        text, sizeof text,
        "%u %.9g %.9g %.9g %u %u %u %u %u %u %u %.9g %.9g %.9g %d %d %.9g %.9g %.9g %d %u %d "
        "%.9g %u %d %d %d %u %d %u %d%s%s%s",
        job->task->n, p->test, p->validation, p->initial, p->rounds, p->labels_per_round,
        p->warm_up_epochs, p->steps_per_round, p->scored_per_round, p->hidden, p->batch,
        (double)p->learning_rate, (double)p->momentum, (double)p->weight_decay, p->balance,
        (int)o->publish, o->epsilon, o->standard_errors, (double)o->mix, o->strategy, o->refreshes,
        o->precondition, o->damping, o->delay, o->one_pass, o->path, o->whole, o->validation_rows,
        p->standardise, o->fresh_steps, o->learn_validation, privacy, trees, images);
    return XXH3_64bits(text, (size_t)n) >> 12; /* fits a JSON number exactly */
}

static int lab_batch_add(struct lab_batch *b, const struct lab_job *job, struct fis_error *e)
{
    if (!fis_more(&b->jobs, b->n, sizeof *b->jobs) ||
        !fis_more(&b->records, b->n, sizeof *b->records))
        return fis_fail(e, FIS_NOMEM, "batch: no memory for %u runs", b->n + 1);
    b->jobs[b->n] = *job;
    b->jobs[b->n].key.options = fingerprint(job);
    b->records[b->n++].key.method[0] = 0;
    return 0;
}

static uint32_t at_most(uint32_t v, uint32_t most)
{
    return v < most ? v : most;
}

/* Protocols are those of a network alone. */
static void settle_base(struct lab_job *job)
{
    struct lab_protocol *p = &job->options.protocol;
    if (job->method.trees >= 0)
        p->trees = job->method.trees;
    if (!p->trees)
        return;
    p->warm_up_epochs = at_most(p->warm_up_epochs, FIS_DEFAULT_WARM_UP_EPOCHS_OVER_BASE);
    p->steps_per_round = at_most(p->steps_per_round, FIS_DEFAULT_STEPS_OVER_BASE);
}

int lab_batch_add_metrics(struct lab_batch *b, struct lab_job job, const enum fis_metric *metrics,
                          uint32_t n, struct fis_error *e)
{
    const bool shared = lab_method_metric_free(&job.method) && !job.options.path && !job.hooks;
    int r = 0;
    settle_base(&job);
    snprintf(job.key.task, sizeof job.key.task, "%s", job.task->spec->name);
    snprintf(job.key.method, sizeof job.key.method, "%s", job.method.name);
    job.key.seed = job.options.seed;
    for (uint32_t i = 0; r == 0 && i < (shared ? 1 : n); i++) {
        job.options.metric = metrics[i];
        job.key.metric = shared ? 0 : metrics[i];
        r = lab_batch_add(b, &job, e);
    }
    return r;
}

uint32_t lab_batch_jobs(const struct lab_batch *b)
{
    return b->n;
}

uint32_t lab_batch_left(const struct lab_batch *b)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < b->n; i++)
        left += b->records[i].key.method[0] == 0;
    return left;
}

/* ---- the file ------------------------------------------------------------------------------- */

static void take_record(struct lab_batch *b, const struct lab_record *r)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (lab_key_equal(&b->jobs[i].key, &r->key))
            b->records[i] = *r;
}

/* Reads whole lines; *end is where the last one ends. */
static int read_lines(struct lab_batch *b, FILE *f, long *end, struct fis_error *e)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int rc = 0;
    *end = 0;
    for (unsigned number = 1; rc == 0 && (length = getline(&line, &size, f)) > 0; number++) {
        struct lab_record r;
        if (line[length - 1] != '\n')
            break;
        rc = lab_record_read(line, (size_t)length - 1, &r, e);
        if (rc < 0)
            fis_error_prefix(e, "%s: line %u", b->path, number);
        else
            take_record(b, &r);
        *end += length;
    }
    free(line);
    return rc;
}

int lab_batch_resume(struct lab_batch *b, const char *path, struct fis_error *e)
{
    long end;
    FILE *f = fopen(path, "a+b");
    b->path = fis_strdup(path);
    if (!f || !b->path) {
        if (f)
            fclose(f);
        return fis_fail(e, FIS_INPUT, "%s: %s", path, f ? "no memory" : strerror(errno));
    }
    rewind(f);
    int rc = read_lines(b, f, &end, e);
    if (rc == 0 && ftruncate(fileno(f), end) < 0)
        rc = fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    if (rc < 0) {
        fclose(f);
        return rc;
    }
    fseek(f, 0, SEEK_END);
    b->file = f;
    return 0;
}

/* One write and a flush, so that an interrupted program leaves whole lines. */
static int write_record(struct lab_batch *b, const struct lab_record *r, struct fis_error *e)
{
    struct byte_buffer line = {0};
    int rc = lab_record_write(r, &line, e);
    pthread_mutex_lock(&b->lock);
    if (rc == 0 && (fwrite(line.data, 1, line.length, b->file) != line.length || fflush(b->file)))
        rc = fis_fail(e, FIS_INPUT, "%s: %s", b->path, strerror(errno));
    pthread_mutex_unlock(&b->lock);
    byte_buffer_done(&line);
    return rc;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool same_protocol(const struct lab_protocol *a, const struct lab_protocol *b)
{
    return a->test == b->test && a->validation == b->validation && a->initial == b->initial &&
           a->balance == b->balance && a->trees == b->trees && a->standardise == b->standardise;
}

static int have_split(struct worker *w, const struct lab_job *job, struct fis_error *e)
{
    const struct lab_options *o = &job->options;
    if (w->split && w->task == job->task && w->seed == o->seed &&
        same_protocol(&w->protocol, &o->protocol))
        return 0;
    lab_split_free(w->split);
    w->split = lab_split_new(job->task, &o->protocol, o->seed, e);
    w->task = job->task;
    w->seed = o->seed;
    w->protocol = o->protocol;
    return w->split ? 0 : -(int)e->kind;
}

static int run_job(void *arg, uint32_t number, uint32_t worker, struct fis_error *e)
{
    struct lab_batch *b = arg;
    const uint32_t at = b->todo[number];
    const struct lab_job *job = &b->jobs[at];
    struct lab_record r = {.key = job->key};
    int rc = have_split(&b->workers[worker], job, e);
    if (rc == 0)
        rc = lab_run(b->workers[worker].split, &job->method, &job->options, job->hooks, &r.result,
                     e);
    if (rc == 0 && b->file)
        rc = write_record(b, &r, e);
    if (rc == 0)
        b->records[at] = r; /* this job's place is this thread's alone */
    return rc;
}

int lab_batch_start(struct lab_batch *b, uint32_t threads, struct fis_error *e)
{
    b->todo = fis_alloc(b->n ? b->n : 1, sizeof *b->todo);
    b->workers = fis_calloc(threads, sizeof *b->workers);
    if (!b->todo || !b->workers)
        return fis_fail(e, FIS_NOMEM, "batch: no memory");
    b->n_workers = threads;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->records[i].key.method[0] == 0)
            b->todo[b->n_todo++] = i;
    openblas_set_num_threads(1);
    b->pool = lab_pool_start(threads, b->n_todo, run_job, b, e);
    return b->pool ? 0 : -(int)(e ? e->kind : FIS_RETRY);
}

uint32_t lab_batch_ended(const struct lab_batch *b)
{
    return lab_pool_done(b->pool);
}

bool lab_batch_idle(const struct lab_batch *b)
{
    return lab_pool_idle(b->pool);
}

void lab_batch_stop(struct lab_batch *b)
{
    lab_pool_stop(b->pool);
}

int lab_batch_join(struct lab_batch *b, struct fis_error *e)
{
    int rc = lab_pool_join(b->pool, e);
    b->pool = NULL;
    free_workers(b);
    return rc;
}

const struct lab_record *lab_batch_records(struct lab_batch *b, uint32_t *n)
{
    fis_free(b->compact);
    b->compact = fis_alloc(b->n ? b->n : 1, sizeof *b->compact);
    *n = 0;
    for (uint32_t i = 0; b->compact && i < b->n; i++)
        if (b->records[i].key.method[0])
            b->compact[(*n)++] = b->records[i];
    return b->compact;
}

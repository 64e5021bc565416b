#include "lab/pool.h"

#include <pthread.h>
#include <signal.h>

#include "fis/mem.h"
#include "fis/network.h"

struct lab_pool {
    pthread_mutex_t lock;
    lab_job_fn *fn;
    void *arg;
    uint32_t jobs, next, done, running, n_threads;
    int stopped;
    uint32_t failed_job; /* the least number; UINT32_MAX: none */
    int failed;
    struct fis_error error;
    struct worker {
        struct lab_pool *pool;
        pthread_t thread;
        uint32_t number;
    } * workers;
};

/* Takes the next job's number; 0 when there is none. */
static int take(struct lab_pool *p, uint32_t *job)
{
    pthread_mutex_lock(&p->lock);
    int got = !p->stopped && p->next < p->jobs;
    if (got)
        *job = p->next++;
    pthread_mutex_unlock(&p->lock);
    return got;
}

static void put(struct lab_pool *p, uint32_t job, int result, const struct fis_error *e)
{
    pthread_mutex_lock(&p->lock);
    p->done++;
    if (result < 0 && job < p->failed_job) {
        p->failed_job = job;
        p->failed = result;
        p->error = *e;
        p->stopped = 1;
    }
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    const struct worker *w = arg;
    struct lab_pool *p = w->pool;
    uint32_t job;
    fis_flush_denormals();
    while (take(p, &job)) {
        struct fis_error e = {.kind = FIS_OK};
        put(p, job, p->fn(p->arg, job, w->number, &e), &e);
    }
    pthread_mutex_lock(&p->lock);
    p->running--;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Signals are the starting thread's. */
static int start_one(struct worker *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct lab_pool *lab_pool_start(uint32_t threads, uint32_t jobs, lab_job_fn *fn, void *arg,
                                struct fis_error *e)
{
    struct lab_pool *p = fis_calloc(1, sizeof *p);
    if (p)
        p->workers = fis_calloc(threads, sizeof *p->workers);
    if (!p || !p->workers) {
        fis_free(p);
        fis_fail(e, FIS_NOMEM, "threads: no memory for %u", threads);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->fn = fn;
    p->arg = arg;
    p->jobs = jobs;
    p->failed_job = UINT32_MAX;
    p->running = threads; /* before they run */
    for (; p->n_threads < threads; p->n_threads++) {
        struct worker *w = &p->workers[p->n_threads];
        *w = (struct worker){.pool = p, .number = p->n_threads};
        if (start_one(w) == 0)
            continue;
        lab_pool_stop(p);
        int rc = lab_pool_join(p, NULL);
        (void)rc;
        fis_fail(e, FIS_RETRY, "threads: the system does not give %u; fewer may do", threads);
        return NULL;
    }
    return p;
}

uint32_t lab_pool_done(struct lab_pool *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t done = p->done;
    pthread_mutex_unlock(&p->lock);
    return done;
}

int lab_pool_idle(struct lab_pool *p)
{
    pthread_mutex_lock(&p->lock);
    int idle = p->running == 0;
    pthread_mutex_unlock(&p->lock);
    return idle;
}

void lab_pool_stop(struct lab_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stopped = 1;
    pthread_mutex_unlock(&p->lock);
}

int lab_pool_join(struct lab_pool *p, struct fis_error *e)
{
    for (uint32_t i = 0; i < p->n_threads; i++)
        pthread_join(p->workers[i].thread, NULL);
    int failed = p->failed;
    if (failed && e)
        *e = p->error;
    pthread_mutex_destroy(&p->lock);
    fis_free(p->workers);
    fis_free(p);
    return failed;
}

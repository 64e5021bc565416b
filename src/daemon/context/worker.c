#include "daemon/context/worker.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "fis/mem.h"
#include "fis/network.h"

struct queue {
    struct job *first, **last;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct queue todo, ran;
    bool stopping;
    uint32_t busy, threads;
    void (*wake)(void *);
    void *wake_arg;
    pthread_t thread[];
};

static void push(struct queue *q, struct job *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
}

static struct job *pop(struct queue *q)
{
    struct job *job = q->first;
    if (job && !(q->first = job->next))
        q->last = &q->first;
    return job;
}

/* Work is long and the loop's turns are short: where both want a processor the loop, and
 * librdkafka's threads, go first. On Linux a nice value is the thread's own. */
#define WORKERS_NICE 5

static void *work(void *arg)
{
    struct workers *w = arg;
    fis_flush_denormals();
#ifdef __linux__
    (void)!nice(WORKERS_NICE);
#endif
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct job *job;
        while (!w->stopping && !w->todo.first)
            pthread_cond_wait(&w->some, &w->lock);
        if (w->stopping)
            break;
        job = pop(&w->todo);
        pthread_mutex_unlock(&w->lock);
        job->run(job->arg);
        pthread_mutex_lock(&w->lock);
        push(&w->ran, job);
        w->wake(w->wake_arg);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_start(struct workers **out, uint32_t threads, void (*wake)(void *), void *wake_arg,
                  struct fis_error *e)
{
    struct workers *w = fis_calloc(1, sizeof *w + threads * sizeof(pthread_t));
    if (!w)
        return fis_fail(e, FIS_NOMEM, "no memory for %u workers", threads);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some, NULL);
    w->todo.last = &w->todo.first;
    w->ran.last = &w->ran.first;
    w->wake = wake;
    w->wake_arg = wake_arg;
    /* Signals are the loop's. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (w->threads < threads && pthread_create(&w->thread[w->threads], NULL, work, w) == 0)
        w->threads++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (w->threads < threads) {
        workers_stop(w);
        return fis_fail(e, FIS_FATAL, "worker threads cannot be started");
    }
    *out = w;
    return 0;
}

void workers_submit(struct workers *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    push(&w->todo, job);
    w->busy++;
    pthread_cond_signal(&w->some);
    pthread_mutex_unlock(&w->lock);
}

void workers_collect(struct workers *w)
{
    for (;;) {
        pthread_mutex_lock(&w->lock);
        struct job *job = pop(&w->ran);
        if (job)
            w->busy--;
        pthread_mutex_unlock(&w->lock);
        if (!job)
            return;
        job->done(job->arg);
    }
}

uint32_t workers_busy(const struct workers *w)
{
    return w->busy;
}

void workers_stop(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->some);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 0; i < w->threads; i++)
        pthread_join(w->thread[i], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->some);
    fis_free(w);
}

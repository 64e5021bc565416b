#include "stream/ending.h"

#include <pthread.h>
#include <time.h>

#include "fis/mem.h"
#include "stream/client.h"

struct stream_ending {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*end)(void *arg, struct stream_ending *e);
    void *arg;
    bool over, go; /* under lock, as the next */
    bool left;     /* the owner has gone: the thread frees it */
};

static void release(struct stream_ending *e)
{
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    fis_free(e);
}

void stream_ending_go(struct stream_ending *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->go = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void *run(void *arg)
{
    struct stream_ending *e = arg;
    e->end(e->arg, e);
    pthread_mutex_lock(&e->lock);
    e->over = true;
    pthread_cond_signal(&e->changed);
    bool left = e->left;
    pthread_mutex_unlock(&e->lock);
    if (left)
        release(e);
    return NULL;
}

static struct stream_ending *start(void (*end)(void *arg, struct stream_ending *e), void *arg)
{
    pthread_t thread;
    pthread_condattr_t attr;
    struct stream_ending *e = fis_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->end = end;
    e->arg = arg;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&thread, NULL, run, e) == 0) {
        pthread_detach(thread);
        return e;
    }
    release(e);
    return NULL;
}

void stream_end(void (*end)(void *arg, struct stream_ending *e), void *arg, int ms)
{
    struct stream_ending *e = start(end, arg);
    if (!e) { /* no memory or no thread now: it takes the time that it takes */
        end(arg, NULL);
        return;
    }
    int64_t until_ms = stream_now_ms() + ms;
    const struct timespec until = {(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};
    pthread_mutex_lock(&e->lock);
    while (!e->over && !e->go && pthread_cond_timedwait(&e->changed, &e->lock, &until) == 0) {
    }
    bool over = e->over;
    e->left = !over;
    pthread_mutex_unlock(&e->lock);
    if (over)
        release(e);
}

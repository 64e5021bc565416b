#include "stream/helper.h"

#define PAUSE_NS (200 * 1000 * 1000)
#define SAY_AGAIN_S 10

bool stream_helper_init(struct stream_helper *h, const struct stream_link *link)
{
    pthread_condattr_t attr;
    h->link = link;
    if (pthread_mutex_init(&h->lock, NULL) != 0)
        return false;
    bool ok = pthread_condattr_init(&attr) == 0;
    if (ok) {
        ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
             pthread_cond_init(&h->stopped, &attr) == 0;
        pthread_condattr_destroy(&attr);
    }
    if (!ok)
        pthread_mutex_destroy(&h->lock);
    return ok;
}

void stream_helper_done(struct stream_helper *h)
{
    pthread_cond_destroy(&h->stopped);
    pthread_mutex_destroy(&h->lock);
}

bool stream_helper_start(struct stream_helper *h, void *(*job)(void *), void *arg)
{
    h->done = false; /* no thread runs: no lock is needed */
    h->running = pthread_create(&h->thread, NULL, job, arg) == 0;
    return h->running;
}

bool stream_helper_over(struct stream_helper *h, struct stream_errors *errors)
{
    if (!h->running)
        return false;
    struct fis_error e;
    pthread_mutex_lock(&h->lock);
    while (stream_errors_pop(&h->errors, &e))
        stream_errors_push(errors, e.kind, e.text);
    bool done = h->done;
    pthread_mutex_unlock(&h->lock);
    if (done) {
        pthread_join(h->thread, NULL); /* it has nothing left to do but return */
        h->running = false;
    }
    return done;
}

void stream_helper_stop(struct stream_helper *h)
{
    if (h->running) {
        pthread_mutex_lock(&h->lock);
        h->stop = true;
        pthread_cond_signal(&h->stopped);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
        h->running = false;
    }
}

bool stream_helper_pause(struct stream_helper *h)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PAUSE_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&h->lock);
    while (!h->stop && pthread_cond_timedwait(&h->stopped, &h->lock, &until) == 0) {
    }
    bool stop = h->stop;
    pthread_mutex_unlock(&h->lock);
    return stop;
}

static void wake(const struct stream_helper *h)
{
    if (h->link->wake)
        h->link->wake(h->link->wake_arg);
}

void stream_helper_say(struct stream_helper *h, uint64_t what, const char *text)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (h->reported_at && h->reported == what && now.tv_sec - h->reported_at < SAY_AGAIN_S)
        return;
    h->reported = what;
    h->reported_at = now.tv_sec ? now.tv_sec : 1;
    pthread_mutex_lock(&h->lock);
    stream_errors_push(&h->errors, FIS_RETRY, text);
    pthread_mutex_unlock(&h->lock);
    wake(h);
}

void stream_helper_finish(struct stream_helper *h)
{
    pthread_mutex_lock(&h->lock);
    h->done = true;
    pthread_mutex_unlock(&h->lock);
    wake(h);
}

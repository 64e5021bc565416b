/*
 * Inside stream/: a thread that asks the brokers what librdkafka tells only by blocking calls, on
 * behalf of an owner who must not wait. It is started for a job, may complain and retry, and ends;
 * the owner looks after a wake whether it has.
 */
#ifndef STREAM_HELPER_H
#define STREAM_HELPER_H

#include <pthread.h>
#include <time.h>

#include "stream/client.h"

#define STREAM_HELPER_ASK_MS 1000 /* how long one question may block, and so a stop */

struct stream_helper {
    const struct stream_link *link;
    pthread_t thread;
    bool running; /* owner's */

    /* The thread's: what it reported last, so that it does not say it five times a second. */
    uint64_t reported;
    time_t reported_at;

    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop, done;             /* under lock */
    struct stream_errors errors; /* under lock */
};

bool stream_helper_init(struct stream_helper *h, const struct stream_link *link);
void stream_helper_done(struct stream_helper *h); /* after stop */

/* ---- the owner's ---- */

/* False when there can be no thread now. */
bool stream_helper_start(struct stream_helper *h, void *(*job)(void *), void *arg);
/* Takes the complaints; true once when the job has ended: what it left can be read. */
bool stream_helper_over(struct stream_helper *h, struct stream_errors *errors);
/* Ends the job in the middle; none can be started after. */
void stream_helper_stop(struct stream_helper *h);

/* ---- the job's ---- */

/* Waits a little before the next try; true when it is time to stop. */
bool stream_helper_pause(struct stream_helper *h);
/* A RETRY error for the owner, when `what` (a number for its meaning) is news or long ago. */
void stream_helper_say(struct stream_helper *h, uint64_t what, const char *text);
/* The last thing a job does. */
void stream_helper_finish(struct stream_helper *h);

#endif

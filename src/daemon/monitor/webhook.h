/*
 * The webhook: each published version is posted to webhook.url, by the trainer that leads, from a
 * thread of its own; the loop never waits for it.
 *
 * What was delivered is an offset: the thread reads the models topic as a member of a consumer
 * group and commits behind a version once the server has answered 2xx (or the version needs no
 * delivery). So each version is delivered at least once, in order, across restarts and take-overs.
 * A group without an offset begins with the version that is served then, not with all before it.
 *
 * What fails (no answer in time, another status, a redirect, a certificate that does not verify) is
 * tried again after 1 s, 2 s, … 5 minutes, for as long as it takes.
 *
 * Thread: the loop's, which starts and ends it. Owns: the thread and what it uses.
 */
#ifndef DAEMON_WEBHOOK_H
#define DAEMON_WEBHOOK_H

#include "daemon/context/context.h"

#define WEBHOOK_WHY 200
struct webhook_status {
    bool on;                    /* webhook.url is set, and this process trains */
    uint64_t delivered, failed; /* attempts, by outcome */
    uint64_t version;           /* delivered last; 0: none yet */
    uint64_t waiting;           /* the version that is being tried again; 0: none */
    char why[WEBHOOK_WHY];      /* its last attempt failed */
};

struct webhook;
/* *out is NULL when the configuration has none. */
int webhook_open(struct webhook **out, struct context *ctx, struct fis_error *e) FIS_MUST_CHECK;
/* Whether this process leads now: only then anything is sent. NULL is fine, here and below. */
void webhook_lead(struct webhook *w, bool leads);
struct webhook_status webhook_status(struct webhook *w);
void webhook_close(struct webhook *w); /* breaks off what is being sent */

#endif

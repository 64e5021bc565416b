/*
 * Worker threads for what takes long: scoring, training, blocking calls at the start. (libuv's own
 * pool is left to libuv: DNS and files.) Jobs are small structs of the submitter's, linked in
 * place; nothing is allocated per job.
 *
 * Thread: submit and collect by the loop; run on a worker; `wake` from a worker.
 */
#ifndef DAEMON_WORKER_H
#define DAEMON_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"

struct job {
    void (*run)(void *arg);  /* on a worker */
    void (*done)(void *arg); /* on the loop, from worker_collect */
    void *arg;
    struct job *next;
};

struct workers;
int workers_start(struct workers **out, uint32_t threads, void (*wake)(void *), void *wake_arg,
                  struct fis_error *e) FIS_MUST_CHECK;
void workers_submit(struct workers *w, struct job *job);
/* Calls done() of every job that has run. */
void workers_collect(struct workers *w);
/* Jobs that were submitted and not collected. */
uint32_t workers_busy(const struct workers *w);
/* Waits for the jobs that run; those in the queue are dropped. NULL is fine. */
void workers_stop(struct workers *w);

#endif

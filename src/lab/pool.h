/*
 * Jobs on threads: numbered, taken in order, each run by one thread from beginning to end.
 * Results depend on the jobs alone. Thread: the functions below are the starting thread's.
 */
#ifndef LAB_POOL_H
#define LAB_POOL_H

#include <stdint.h>

#include "fis/error.h"

/* One job. worker: 0 .. threads-1, for what a thread keeps between its jobs. */
typedef int lab_job_fn(void *arg, uint32_t job, uint32_t worker, struct fis_error *e);

struct lab_pool;
struct lab_pool *lab_pool_start(uint32_t threads, uint32_t jobs, lab_job_fn *fn, void *arg,
                                struct fis_error *e) FIS_MUST_CHECK;
uint32_t lab_pool_done(struct lab_pool *p); /* jobs that have ended */
int lab_pool_idle(struct lab_pool *p);      /* all threads have ended */
void lab_pool_stop(struct lab_pool *p);     /* no further job begins */
/* Waits for the threads and frees. The first job's error by number, if any failed. */
int lab_pool_join(struct lab_pool *p, struct fis_error *e) FIS_MUST_CHECK;

#endif

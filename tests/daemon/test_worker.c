/* Workers: jobs run elsewhere and are done here; a stop drops what has not begun. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "daemon/context/worker.h"

#define JOBS 200

struct counted {
    struct job job;
    atomic_int ran;
    int done;
    pthread_t runner, finisher;
    atomic_bool *gate; /* run waits for it; NULL: does not */
};

static atomic_int wakes;

static void on_wake(void *arg)
{
    (void)arg;
    atomic_fetch_add(&wakes, 1);
}

static void nap(void)
{
    const struct timespec t = {0, 1000 * 1000};
    nanosleep(&t, NULL);
}

static void run(void *arg)
{
    struct counted *c = arg;
    c->runner = pthread_self();
    atomic_fetch_add(&c->ran, 1);
    while (c->gate && !atomic_load(c->gate))
        nap();
}

static void done(void *arg)
{
    struct counted *c = arg;
    c->done++;
    c->finisher = pthread_self();
}

static void submit(struct workers *w, struct counted *c, atomic_bool *gate)
{
    c->gate = gate;
    c->job = (struct job){.run = run, .done = done, .arg = c};
    workers_submit(w, &c->job);
}

static struct workers *start(uint32_t threads)
{
    struct workers *w = NULL;
    struct fis_error e;
    atomic_store(&wakes, 0);
    assert_int_equal(workers_start(&w, threads, on_wake, NULL, &e), 0);
    return w;
}

static void jobs_run_there_and_are_done_here(void **state)
{
    (void)state;
    static struct counted jobs[JOBS];
    struct workers *w = start(3);
    for (int i = 0; i < JOBS; i++)
        submit(w, &jobs[i], NULL);
    for (int i = 0; i < 10000 && workers_busy(w); i++) {
        workers_collect(w);
        nap();
    }
    assert_int_equal(workers_busy(w), 0);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(atomic_load(&jobs[i].ran), 1);
        assert_int_equal(jobs[i].done, 1);
        assert_false(pthread_equal(jobs[i].runner, pthread_self()));
        assert_true(pthread_equal(jobs[i].finisher, pthread_self()));
    }
    assert_true(atomic_load(&wakes) >= 1);
    workers_stop(w);
}

static void nothing_is_done_before_it_is_collected(void **state)
{
    (void)state;
    static struct counted one;
    struct workers *w = start(1);
    submit(w, &one, NULL);
    for (int i = 0; i < 10000 && !atomic_load(&wakes); i++)
        nap();
    assert_int_equal(atomic_load(&one.ran), 1);
    assert_int_equal(one.done, 0);
    assert_int_equal(workers_busy(w), 1);
    workers_collect(w);
    assert_int_equal(one.done, 1);
    assert_int_equal(workers_busy(w), 0);
    workers_stop(w);
}

static void *open_soon(void *gate)
{
    for (int i = 0; i < 20; i++)
        nap();
    atomic_store((atomic_bool *)gate, true);
    return NULL;
}

/* The job that runs is waited for; those behind it never begin, and none is reported as done. */
static void a_stop_drops_the_queue(void **state)
{
    (void)state;
    static struct counted first, behind[5];
    static atomic_bool gate;
    pthread_t opener;
    struct workers *w = start(1);
    submit(w, &first, &gate);
    for (int i = 0; i < 10000 && !atomic_load(&first.ran); i++)
        nap();
    for (int i = 0; i < 5; i++)
        submit(w, &behind[i], NULL);
    assert_int_equal(pthread_create(&opener, NULL, open_soon, &gate), 0);
    workers_stop(w);
    pthread_join(opener, NULL);
    assert_int_equal(atomic_load(&first.ran), 1);
    assert_true(atomic_load(&gate));
    assert_int_equal(first.done, 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(atomic_load(&behind[i].ran) + behind[i].done, 0);
}

/* A job may be submitted again from its own done, as a batch that is scored twice is. */
static struct workers *again_workers;
static void submit_again(void *arg)
{
    struct counted *c = arg;
    if (++c->done < 3)
        workers_submit(again_workers, &c->job);
}

static void a_job_can_be_submitted_again(void **state)
{
    (void)state;
    static struct counted c;
    again_workers = start(2);
    c.job = (struct job){.run = run, .done = submit_again, .arg = &c};
    workers_submit(again_workers, &c.job);
    for (int i = 0; i < 10000 && workers_busy(again_workers); i++) {
        workers_collect(again_workers);
        nap();
    }
    assert_int_equal(c.done, 3);
    assert_int_equal(atomic_load(&c.ran), 3);
    workers_stop(again_workers);
    workers_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_there_and_are_done_here),
        cmocka_unit_test(nothing_is_done_before_it_is_collected),
        cmocka_unit_test(a_stop_drops_the_queue),
        cmocka_unit_test(a_job_can_be_submitted_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

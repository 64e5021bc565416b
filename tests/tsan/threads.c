/*
 * For the thread sanitizer only. librdkafka uses C11's threads, mutexes and conditions, which gcc
 * 12's sanitizer does not know: it crashes in a thread that it never saw begin, and sees no order
 * where a mutex made one. These stand in front of the C library's and go through pthread, which
 * it does know.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

struct start {
    thrd_start_t run;
    void *arg;
};

static void *begin(void *p)
{
    struct start s = *(struct start *)p;
    free(p);
    return (void *)(long)s.run(s.arg);
}

static int result(int rc)
{
    return rc == 0           ? thrd_success
           : rc == ETIMEDOUT ? thrd_timedout
           : rc == EBUSY     ? thrd_busy
           : rc == ENOMEM    ? thrd_nomem
                             : thrd_error;
}

int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    struct start *s = malloc(sizeof *s);
    pthread_t made;
    if (!s)
        return thrd_nomem;
    *s = (struct start){run, arg};
    int rc = pthread_create(&made, NULL, begin, s);
    if (rc == 0)
        *thread = made;
    else
        free(s);
    return result(rc);
}

int thrd_join(thrd_t thread, int *status)
{
    void *out;
    int rc = pthread_join(thread, &out);
    if (rc == 0 && status)
        *status = (int)(long)out;
    return result(rc);
}

int thrd_detach(thrd_t thread)
{
    return result(pthread_detach(thread));
}

/* glibc lays mtx_t and cnd_t out as the pthread types. */
_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "mtx_t holds a pthread mutex");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "cnd_t holds a pthread condition");

int mtx_init(mtx_t *m, int type)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    if (type & mtx_recursive)
        pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    int rc = pthread_mutex_init((pthread_mutex_t *)m, &attr);
    pthread_mutexattr_destroy(&attr);
    return result(rc);
}

void mtx_destroy(mtx_t *m)
{
    pthread_mutex_destroy((pthread_mutex_t *)m);
}

int mtx_lock(mtx_t *m)
{
    return result(pthread_mutex_lock((pthread_mutex_t *)m));
}

int mtx_trylock(mtx_t *m)
{
    return result(pthread_mutex_trylock((pthread_mutex_t *)m));
}

int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
    return result(pthread_mutex_timedlock((pthread_mutex_t *)m, until));
}

int mtx_unlock(mtx_t *m)
{
    return result(pthread_mutex_unlock((pthread_mutex_t *)m));
}

int cnd_init(cnd_t *c)
{
    return result(pthread_cond_init((pthread_cond_t *)c, NULL));
}

void cnd_destroy(cnd_t *c)
{
    pthread_cond_destroy((pthread_cond_t *)c);
}

int cnd_signal(cnd_t *c)
{
    return result(pthread_cond_signal((pthread_cond_t *)c));
}

int cnd_broadcast(cnd_t *c)
{
    return result(pthread_cond_broadcast((pthread_cond_t *)c));
}

int cnd_wait(cnd_t *c, mtx_t *m)
{
    return result(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
    return result(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, until));
}

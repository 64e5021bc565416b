#include "stream/txn_thread.h"

#include <pthread.h>
#include <time.h>

#include "fis/mem.h"
#include "stream/producer_impl.h"

/* Blocking calls are made in slices, so that a stop waits for one slice at most; librdkafka
 * resumes the same operation when the same call is recreated after a timeout. */
#define SLICE_MS 1000
/* Sending offsets starts again each time, so it gets longer. */
#define OFFSETS_SLICE_MS 5000

struct work {
    enum stream_txn_job job;
    int timeout_ms;
    rd_kafka_topic_partition_list_t *offsets; /* NULL: none, or sent already */
    rd_kafka_consumer_group_metadata_t *member;
    const char *const *topics; /* of a sweep */
    size_t topic_count, swept; /* swept: topics that have their messages */
    bool begun;
};

struct stream_txn_thread {
    struct stream_producer *producer;
    stream_wake_fn *wake;
    void *wake_arg;
    struct stream_txn machine; /* owner's */
    bool busy;                 /* owner's: a job was submitted and its result not yet pulled */
    struct work work;          /* the owner's until submitted, then the thread's until done */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, submitted, done;    /* under lock */
    struct fis_error error;        /* the result … */
    enum stream_txn_event outcome; /* … and what it is to the machine; under lock */
};

/* ---- in the thread ---------------------------------------------------------------------- */

static bool stopping(struct stream_txn_thread *t)
{
    pthread_mutex_lock(&t->lock);
    bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

static void drop_offsets(struct work *w)
{
    if (w->offsets) {
        rd_kafka_topic_partition_list_destroy(w->offsets);
        w->offsets = NULL;
    }
    if (w->member) {
        rd_kafka_consumer_group_metadata_destroy(w->member);
        w->member = NULL;
    }
}

/* A message to each partition, marked as none of the owner's. */
static rd_kafka_error_t *sweep_topic(rd_kafka_t *rk, const char *topic, int ms)
{
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    rd_kafka_resp_err_t err = rkt ? rd_kafka_metadata(rk, 0, rkt, &m, ms) : rd_kafka_last_error();
    int n = !err && m->topic_cnt == 1 ? m->topics[0].partition_cnt : 0;
    for (int i = 0; !err && i < n; i++)
        err = rd_kafka_producev(rk, RD_KAFKA_V_RKT(rkt),
                                RD_KAFKA_V_PARTITION(m->topics[0].partitions[i].id),
                                RD_KAFKA_V_KEY("swept", 5), RD_KAFKA_V_VALUE(NULL, 0),
                                RD_KAFKA_V_OPAQUE(rk), RD_KAFKA_V_END);
    if (m)
        rd_kafka_metadata_destroy(m);
    if (rkt)
        rd_kafka_topic_destroy(rkt);
    return err ? rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "topic %s: %s", topic,
                                    rd_kafka_err2str(err))
               : NULL;
}

/* Everything but the abort; on errors it is gone on with by the next call, or aborted as it is. */
static rd_kafka_error_t *sweep(rd_kafka_t *rk, struct work *w, int ms)
{
    rd_kafka_error_t *error = w->begun ? NULL : rd_kafka_begin_transaction(rk);
    if (error)
        return error;
    w->begun = true;
    for (; w->swept < w->topic_count; w->swept++)
        if ((error = sweep_topic(rk, w->topics[w->swept], ms)) != NULL)
            return error;
    if (rd_kafka_flush(rk, ms) != 0)
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "messages are under way");
    return NULL;
}

/* One call of at most `ms`. */
static rd_kafka_error_t *call(rd_kafka_t *rk, struct work *w, int ms)
{
    const int soon = ms < SLICE_MS ? ms : SLICE_MS;
    if (w->job == STREAM_TXN_JOB_INIT)
        return rd_kafka_init_transactions(rk, ms);
    if (w->job == STREAM_TXN_JOB_ABORT)
        return rd_kafka_abort_transaction(rk, ms);
    rd_kafka_error_t *error = w->job == STREAM_TXN_JOB_SWEEP ? sweep(rk, w, soon) : NULL;
    if (!error && w->offsets) {
        error = rd_kafka_send_offsets_to_transaction(rk, w->offsets, w->member, ms);
        if (!error)
            drop_offsets(w);
    }
    if (error)
        return error;
    return w->job == STREAM_TXN_JOB_SWEEP ? rd_kafka_abort_transaction(rk, soon)
                                          : rd_kafka_commit_transaction(rk, soon);
}

/* The flags decide; codes only tell who is fenced from other fatal ends, and an id that the
 * coordinator has forgotten: librdkafka calls for an abort then, but when it was the offsets that
 * met it, the transaction after the abort meets it again, for ever. */
static enum stream_txn_event classify(const rd_kafka_error_t *error)
{
    switch (rd_kafka_error_code(error)) {
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
        return STREAM_TXN_GOT_EXPIRED;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
        if (rd_kafka_error_is_fatal(error))
            return STREAM_TXN_GOT_FENCED;
        break;
    default:
        break;
    }
    if (rd_kafka_error_is_fatal(error))
        return STREAM_TXN_GOT_FATAL;
    if (rd_kafka_error_txn_requires_abort(error))
        return STREAM_TXN_GOT_ABORT;
    return rd_kafka_error_is_retriable(error) ||
                   rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__TIMED_OUT
               ? STREAM_TXN_GOT_RETRY
               : STREAM_TXN_GOT_FATAL;
}

static enum fis_error_kind class_of(enum stream_txn_event outcome)
{
    switch (outcome) {
    case STREAM_TXN_GOT_OK:
        return FIS_OK;
    case STREAM_TXN_GOT_RETRY:
        return FIS_RETRY;
    case STREAM_TXN_GOT_ABORT:
    case STREAM_TXN_GOT_EXPIRED:
        return FIS_ABORT_TXN;
    default:
        return FIS_FATAL;
    }
}

/* Does not spin on a retriable error that comes at once. */
static void nap(struct stream_txn_thread *t)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&t->lock);
    if (!t->stop)
        pthread_cond_timedwait(&t->changed, &t->lock, &until);
    pthread_mutex_unlock(&t->lock);
}

static enum stream_txn_event run(struct stream_txn_thread *t, struct work *w, struct fis_error *out)
{
    static const char *const names[] = {"none", "initialise", "commit", "abort", "sweep"};
    int64_t deadline = stream_now_ms() + w->timeout_ms;
    for (;;) {
        *out = (struct fis_error){0};
        int64_t left = deadline - stream_now_ms();
        int most = w->offsets ? OFFSETS_SLICE_MS : SLICE_MS;
        int slice = left > most ? most : left > 1 ? (int)left : 1;
        rd_kafka_error_t *error = call(t->producer->rk, w, slice);
        if (!error)
            return STREAM_TXN_GOT_OK;
        enum stream_txn_event outcome = classify(error);
        (void)fis_fail(out, class_of(outcome), "kafka transaction: %s: %s (%s)", names[w->job],
                       rd_kafka_error_string(error), rd_kafka_error_name(error));
        rd_kafka_error_destroy(error);
        if (outcome != STREAM_TXN_GOT_RETRY || stream_now_ms() >= deadline || stopping(t))
            return outcome;
        nap(t);
    }
}

static void *thread_main(void *arg)
{
    struct stream_txn_thread *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        if (!t->submitted) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        t->submitted = false;
        pthread_mutex_unlock(&t->lock);
        struct fis_error error;
        enum stream_txn_event outcome = run(t, &t->work, &error);
        pthread_mutex_lock(&t->lock);
        t->error = error;
        t->outcome = outcome;
        t->done = true;
        if (t->wake && !t->stop)
            t->wake(t->wake_arg);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the owner's ------------------------------------------------------------------------ */

int stream_txn_thread_new(struct stream_txn_thread **out, struct stream_producer *p,
                          stream_wake_fn *wake, void *wake_arg, struct fis_error *e)
{
    if (!p->transactional)
        return fis_fail(e, FIS_FATAL, "kafka transaction: the producer has no transactional id");
    struct stream_txn_thread *t = fis_calloc(1, sizeof *t);
    if (!t)
        return fis_fail(e, FIS_NOMEM, "kafka transaction: out of memory");
    t->producer = p;
    t->wake = wake;
    t->wake_arg = wake_arg;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0) {
        pthread_cond_destroy(&t->changed);
        pthread_mutex_destroy(&t->lock);
        fis_free(t);
        return fis_fail(e, FIS_FATAL, "kafka transaction: a thread cannot be started");
    }
    *out = t;
    return 0;
}

enum stream_txn_state stream_txn_thread_state(const struct stream_txn_thread *t)
{
    return t->machine.state;
}

/* Moves the machine and hands the job to the thread. */
static int submit(struct stream_txn_thread *t, enum stream_txn_job job, enum stream_txn_event ev,
                  int timeout_ms, struct fis_error *e)
{
    if (t->busy) {
        return fis_fail(e, FIS_INPUT, "kafka transaction: %s while another call is running",
                        stream_txn_event_name(ev));
    }
    int rc = stream_txn_step(&t->machine, ev, e);
    if (rc)
        return rc;
    t->work.job = job;
    t->work.timeout_ms = timeout_ms;
    t->busy = true;
    pthread_mutex_lock(&t->lock);
    t->submitted = true;
    t->done = false;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

int stream_txn_init(struct stream_txn_thread *t, int timeout_ms, struct fis_error *e)
{
    return submit(t, STREAM_TXN_JOB_INIT, STREAM_TXN_DO_INIT, timeout_ms, e);
}

int stream_txn_begin(struct stream_txn_thread *t, struct fis_error *e)
{
    struct stream_txn next = t->machine;
    int rc = stream_txn_step(&next, STREAM_TXN_DO_BEGIN, e);
    if (rc)
        return rc;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(t->producer->rk);
    if (error) {
        enum stream_txn_event outcome = classify(error);
        rc = fis_fail(e, class_of(outcome), "kafka transaction: begin: %s",
                      rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        if (outcome != STREAM_TXN_GOT_RETRY)
            (void)!stream_txn_step(&t->machine, outcome, NULL);
        return rc;
    }
    t->machine = next;
    return 0;
}

static int copy_offsets(struct work *w, const struct stream_offset *offsets, size_t count,
                        const char *group_id, struct fis_error *e)
{
    if (!group_id)
        return fis_fail(e, FIS_INPUT, "kafka transaction: offsets, but no group");
    w->member = rd_kafka_consumer_group_metadata_new(group_id);
    w->offsets = stream_offsets_list(offsets, count);
    return 0;
}

int stream_txn_commit(struct stream_txn_thread *t, const struct stream_offset *offsets,
                      size_t count, const char *group_id, int timeout_ms, struct fis_error *e)
{
    /* After a RETRY the offsets are those of the first call, which may be in the transaction. */
    if (!t->busy && t->machine.state == STREAM_TXN_OPEN && count > 0) {
        int rc = copy_offsets(&t->work, offsets, count, group_id, e);
        if (rc)
            return rc;
    }
    return submit(t, STREAM_TXN_JOB_COMMIT, STREAM_TXN_DO_COMMIT, timeout_ms, e);
}

int stream_txn_abort(struct stream_txn_thread *t, int timeout_ms, struct fis_error *e)
{
    if (!t->busy)
        drop_offsets(&t->work);
    return submit(t, STREAM_TXN_JOB_ABORT, STREAM_TXN_DO_ABORT, timeout_ms, e);
}

int stream_txn_sweep(struct stream_txn_thread *t, const char *const *topics, size_t count,
                     const char *group_id, int timeout_ms, struct fis_error *e)
{
    if (!t->busy && t->machine.state == STREAM_TXN_READY) {
        const struct stream_offset any = {.topic = topics[0]};
        t->work.topics = topics;
        t->work.topic_count = count;
        t->work.swept = 0;
        t->work.begun = false;
        int rc = copy_offsets(&t->work, &any, 1, group_id, e);
        if (rc)
            return rc;
    }
    return submit(t, STREAM_TXN_JOB_SWEEP, STREAM_TXN_DO_SWEEP, timeout_ms, e);
}

void stream_txn_send_failed(struct stream_txn_thread *t, enum fis_error_kind kind)
{
    /* While a commit runs, its own result says the same. */
    if (!t->busy && (kind == FIS_ABORT_TXN || kind == FIS_FATAL)) {
        (void)!stream_txn_step(
            &t->machine, kind == FIS_FATAL ? STREAM_TXN_GOT_FATAL : STREAM_TXN_GOT_ABORT, NULL);
    }
}

bool stream_txn_thread_poll(struct stream_txn_thread *t, struct stream_txn_result *r)
{
    pthread_mutex_lock(&t->lock);
    bool done = t->busy && t->done;
    if (done) {
        t->done = false;
        r->error = t->error;
    }
    enum stream_txn_event outcome = t->outcome;
    pthread_mutex_unlock(&t->lock);
    if (!done)
        return false;
    t->busy = false;
    r->job = t->work.job;
    if (r->error.kind != FIS_RETRY)
        drop_offsets(&t->work);
    if (stream_txn_step(&t->machine, outcome, NULL) != 0) {
        /* init that "must be aborted": librdkafka cannot go on from there. */
        (void)!stream_txn_step(&t->machine, STREAM_TXN_GOT_FATAL, NULL);
        r->error.kind = FIS_FATAL;
    }
    r->state = t->machine.state;
    return true;
}

/* What has arrived counts as reported, or librdkafka's abort waits for it. A commit that has begun it
 * refuses to abort. */
static void abort_open(struct stream_txn_thread *t, int ms)
{
    const enum stream_txn_state s = t->machine.state;
    if (s != STREAM_TXN_OPEN && s != STREAM_TXN_COMMITTING && s != STREAM_TXN_BROKEN &&
        s != STREAM_TXN_ABORTING)
        return;
    int64_t deadline = stream_now_ms() + ms;
    if (ms <= 0 || stream_producer_flush(t->producer, ms / 2, NULL, NULL, NULL) < 0)
        return;
    rd_kafka_error_t *error =
        rd_kafka_abort_transaction(t->producer->rk, (int)(deadline - stream_now_ms()));
    if (error)
        rd_kafka_error_destroy(error);
}

void stream_txn_thread_free(struct stream_txn_thread *t, int abort_ms)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    abort_open(t, abort_ms);
    drop_offsets(&t->work);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    fis_free(t);
}

#include "daemon/trainer/outbox.h"

#include <string.h>

#include "daemon/context/dead_letter.h"
#include "fis/mem.h"

#define TXN_TIMEOUT_MS 10000
#define ABORT_MS 1000

struct outbox {
    struct stream_producer *producer;
    size_t dead_letter_bytes;
    struct stream_txn_thread *txn;  /* NULL: at_least_once */
    struct stream_consumer *member; /* of the commit that runs */
    bool initialised, open, committing, sweeping;
    bool submitted;    /* of a commit: the transaction's thread has it */
    bool cut, cut_new; /* a topic has lost its end */
    struct stream_backwards backwards;
    const char *loose;
    const char *const *swept; /* [n_swept] topics, and the group, of the sweep that runs */
    size_t n_swept;
    const char *group;
    struct stream_offset *offsets; /* [count] of the commit that runs */
    size_t count;
    struct fis_error failed; /* kind FIS_OK: no */
};

int outbox_open(struct outbox **out, const struct outbox_options *o, struct fis_error *e)
{
    struct outbox *b = fis_calloc(1, sizeof *b);
    if (!b)
        return fis_fail(e, FIS_NOMEM, "no memory for the outbox");
    b->dead_letter_bytes = o->dead_letter_bytes;
    b->loose = o->loose ? o->loose : "";
    struct stream_producer_options p = {.client = o->client,
                                        .transactional_id = o->transactional_id,
                                        .patient = !o->transactional_id,
                                        .batch_bytes = o->batch_bytes};
    int rc = stream_producer_open(&b->producer, &p, e);
    if (rc == 0 && o->transactional_id) {
        rc = stream_txn_thread_new(&b->txn, b->producer, o->client.wake, o->client.wake_arg, e);
        if (rc == 0)
            rc = stream_txn_init(b->txn, TXN_TIMEOUT_MS, e);
    }
    if (rc < 0) {
        outbox_close(b);
        return rc;
    }
    b->initialised = !b->txn;
    stream_producer_need(b->producer, o->topics, o->n_topics);
    *out = b;
    return 0;
}

void outbox_close(struct outbox *b)
{
    if (!b)
        return;
    stream_txn_thread_free(b->txn, ABORT_MS);
    stream_producer_close(b->producer);
    fis_free(b->offsets);
    fis_free(b);
}

bool outbox_ready(const struct outbox *b)
{
    return b->initialised && !b->committing && !b->sweeping && b->failed.kind == FIS_OK &&
           stream_producer_has_needed(b->producer);
}

bool outbox_backwards(struct outbox *b, struct stream_backwards *out)
{
    *out = b->backwards;
    bool found = b->cut_new;
    b->cut_new = false;
    return found;
}

int64_t outbox_delivered(const struct outbox *b, const char *topic)
{
    return stream_producer_delivered(b->producer, topic, 0);
}

void outbox_expect(struct outbox *b, const char *topic, int64_t next)
{
    stream_producer_expect(b->producer, topic, 0, next);
}

uint64_t outbox_outstanding(const struct outbox *b)
{
    return stream_producer_outstanding(b->producer);
}

static int begin(struct outbox *b, struct fis_error *e)
{
    if (b->open)
        return 0;
    if (b->txn && stream_txn_begin(b->txn, e) < 0)
        return -1;
    b->open = true;
    return 0;
}

static int sent(struct outbox *b, int rc, const struct fis_error *e)
{
    if (rc < 0 && b->txn && e && (e->kind == FIS_ABORT_TXN || e->kind == FIS_FATAL))
        stream_txn_send_failed(b->txn, e->kind);
    return rc;
}

int outbox_send(struct outbox *b, const char *topic, int32_t partition, struct wire_bytes key,
                struct wire_bytes value, struct fis_error *e)
{
    if (begin(b, e) < 0)
        return -1;
    return sent(b,
                stream_producer_send(b->producer, topic, partition, key.data, key.length, value.data,
                                     value.length, 0, e),
                e);
}

int outbox_dead_letter(struct outbox *b, const char *topic, const struct wire_message *m,
                       const struct fis_error *why, struct fis_error *e)
{
    if (begin(b, e) < 0)
        return -1;
    return sent(b, dead_letter_send(b->producer, topic, m, why, b->dead_letter_bytes, 0, e), e);
}

bool outbox_fenced(const struct outbox *b)
{
    return b->txn && (stream_txn_thread_state(b->txn) == STREAM_TXN_FENCED ||
                      stream_producer_ended(b->producer) == STREAM_PRODUCER_FENCED);
}

/* Not before all is acknowledged: where a topic was cut the unit must not count. */
static int submit(struct outbox *b, struct fis_error *e)
{
    if (b->cut || stream_producer_outstanding(b->producer) > 0)
        return 0;
    b->submitted = true;
    return stream_txn_commit(b->txn, b->offsets, b->count,
                             b->count ? stream_consumer_group(b->member) : NULL, TXN_TIMEOUT_MS, e);
}

int outbox_commit(struct outbox *b, struct stream_consumer *member,
                  const struct stream_offset *offsets, size_t n, struct fis_error *e)
{
    if (begin(b, e) < 0)
        return -1;
    void *copy = n ? fis_memdup(offsets, n * sizeof *offsets) : NULL;
    if (n && !copy)
        return fis_fail(e, FIS_NOMEM, "no memory for offsets");
    fis_free(b->offsets);
    b->offsets = copy;
    b->count = n;
    b->committing = true;
    b->member = member;
    b->submitted = false;
    return b->txn ? submit(b, e) : 0; /* outbox_turn ends it */
}

static int sweep(struct outbox *b, struct fis_error *e)
{
    return stream_txn_sweep(b->txn, b->swept, b->n_swept, b->group, TXN_TIMEOUT_MS, e);
}

int outbox_sweep(struct outbox *b, const char *const *topics, size_t n, const char *group,
                 struct fis_error *e)
{
    b->swept = topics;
    b->n_swept = n;
    b->group = group;
    b->sweeping = b->txn != NULL;
    return b->txn ? sweep(b, e) : 0;
}

static void committed(struct outbox *b)
{
    b->committing = b->open = false;
    b->count = 0;
}

static int end_at_least_once(struct outbox *b, struct fis_error *e, bool *trouble)
{
    if (!b->committing || b->cut || stream_producer_outstanding(b->producer) > 0)
        return 0;
    int rc = b->count ? stream_consumer_commit(b->member, b->offsets, b->count, e) : 0;
    committed(b);
    *trouble = rc == -FIS_RETRY; /* the next unit commits further on */
    return *trouble ? 0 : rc;
}

static int txn_result(struct outbox *b, const struct stream_txn_result *r, struct fis_error *e,
                      bool *trouble)
{
    if (r->error.kind == FIS_OK) {
        if (r->job == STREAM_TXN_JOB_INIT)
            b->initialised = true;
        else if (r->job == STREAM_TXN_JOB_COMMIT)
            committed(b);
        b->sweeping = false;
        return 0;
    }
    *e = r->error;
    if (r->error.kind != FIS_RETRY)
        return -1;
    *trouble = true;
    struct fis_error again;
    int rc = r->job == STREAM_TXN_JOB_INIT    ? stream_txn_init(b->txn, TXN_TIMEOUT_MS, &again)
             : r->job == STREAM_TXN_JOB_SWEEP ? sweep(b, &again)
                                              : submit(b, &again);
    if (rc < 0)
        *e = again;
    return rc;
}

static void on_report(void *arg, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct outbox *b = arg;
    (void)token;
    if (kind == FIS_OK || b->failed.kind != FIS_OK)
        return;
    /* What was given up may get through the next time; what is refused never will. */
    bool given_up = kind == FIS_RETRY || kind == FIS_ABORT_TXN;
    fis_fail(&b->failed, given_up ? FIS_ABORT_TXN : FIS_FATAL, "a message was not delivered: %s",
             text);
}

static void look_for_cuts(struct outbox *b)
{
    struct stream_backwards w;
    if (!stream_producer_backwards(b->producer, &w) || strcmp(w.topic, b->loose) == 0)
        return;
    b->backwards = w;
    b->cut = b->cut_new = true;
}

static int serve(struct outbox *b, struct fis_error *e, bool *trouble)
{
    struct stream_txn_result r;
    *trouble = false;
    stream_producer_poll(b->producer, on_report, b);
    look_for_cuts(b);
    if (stream_producer_error(b->producer, e)) {
        if (e->kind == FIS_FATAL)
            return -1;
        *trouble = true;
    }
    if (b->txn) {
        if (stream_txn_thread_poll(b->txn, &r) && txn_result(b, &r, e, trouble) < 0)
            return -1;
        if (b->committing && !b->submitted && submit(b, e) < 0)
            return -1;
    } else if (end_at_least_once(b, e, trouble) < 0) {
        return -1;
    }
    /* The result of a commit that is under way says why its messages were given up. */
    bool reported_soon = b->txn && b->committing && b->failed.kind == FIS_ABORT_TXN;
    if (b->failed.kind != FIS_OK && !reported_soon) {
        *e = b->failed;
        return -1;
    }
    return 0;
}

int outbox_turn(struct outbox *b, struct fis_error *e, bool *trouble)
{
    int rc = serve(b, e, trouble);
    /* The id was forgotten in a quiet week: a new producer goes on, whatever met it first. */
    if (rc < 0 && b->txn && stream_producer_ended(b->producer) == STREAM_PRODUCER_EXPIRED)
        e->kind = FIS_ABORT_TXN;
    return rc;
}

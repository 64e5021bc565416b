#include "cli/topic_reader.h"

enum { BATCH = 500, CLOSE_MS = 1000, SILENCE_MS = 15000, REACH_MS = 2000 };

static int open_at(struct topic_reader *r, struct cli *c, const char *const *topics, uint32_t count,
                   bool latest, struct fis_error *e)
{
    *r = (struct topic_reader){.cli = c, .batch = stream_batch_new(BATCH)};
    if (!r->batch)
        return fis_fail(e, FIS_NOMEM, "no memory for a batch of messages");
    const struct stream_consumer_options o = {
        .client = c->client, .topics = topics, .topic_count = count, .latest = latest};
    int rc = stream_consumer_open(&r->consumer, &o, e);
    if (rc)
        topic_reader_close(r);
    return rc;
}

int topic_reader_open(struct topic_reader *r, struct cli *c, const char *const *topics,
                      uint32_t count, struct fis_error *e)
{
    return open_at(r, c, topics, count, false, e);
}

int topic_reader_open_latest(struct topic_reader *r, struct cli *c, const char *const *topics,
                             uint32_t count, struct fis_error *e)
{
    return open_at(r, c, topics, count, true, e);
}

/* True when `ended` was found, or a fatal error (*rc). */
static bool take_events(struct topic_reader *r, int *rc, struct fis_error *e)
{
    struct stream_consumer_event ev;
    bool ended = false;
    while (stream_consumer_event(r->consumer, &ev)) {
        if (ev.kind == STREAM_END) {
            r->ended = ended = true;
        } else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL) {
            *rc = fis_fail(e, FIS_FATAL, "%s", ev.error.text);
            return true;
        } else if (ev.kind == STREAM_ERROR) {
            r->last = ev.error;
            *rc = cli_broker_gone(r->cli, e);
            if (*rc)
                return true;
        } else if (ev.kind == STREAM_BLOCKED) {
            r->last = ev.error;
        }
    }
    return ended;
}

int topic_reader_next(struct topic_reader *r, int timeout_ms, struct stream_message *m,
                      struct fis_error *e)
{
    int64_t until = cli_now_ms() + timeout_ms;
    int rc = 0;
    for (;;) {
        if (r->at < r->batch->count) {
            *m = r->batch->messages[r->at++];
            r->last.kind = FIS_OK;
            return 1;
        }
        stream_batch_release(r->batch);
        r->at = 0;
        if (stream_consumer_read(r->consumer, r->batch, BATCH))
            continue;
        if (take_events(r, &rc, e))
            return rc;
        int64_t left = until - cli_now_ms();
        if (left <= 0 || cli_stopping(r->cli))
            return 0;
        cli_wait(r->cli, -1, left > 100 ? 100 : (int)left);
    }
}

void topic_reader_close(struct topic_reader *r)
{
    if (r->batch)
        stream_batch_free(r->batch);
    stream_consumer_close(r->consumer, CLOSE_MS);
    *r = (struct topic_reader){0};
}

/* Nothing came since then: -1, and why. What is reported (no such topic, an open transaction) is why,
 * where the broker answers; one that does not is waited for. */
static int wait_on(const struct topic_reader *r, const char *what, int64_t since, int64_t *asked,
                   struct fis_error *e)
{
    const int64_t now = cli_now_ms();
    const bool over = now - since >= cli_answer_ms(r->cli);
    const bool reported = r->last.kind != FIS_OK;
    char why[300];
    if (!over && (!reported || now - *asked < SILENCE_MS))
        return 0;
    *asked = now;
    if (reported && stream_reachable(&r->cli->client, REACH_MS))
        return fis_fail(e, FIS_RETRY, "%s: %s", what, r->last.text);
    return over ? fis_fail(e, FIS_RETRY, "%s: no answer in time from the broker at %s%s", what,
                           r->cli->broker, cli_trouble(r->cli, why))
                : 0;
}

int topic_reader_to_end(struct topic_reader *r, const char *what, topic_take_fn *take, void *arg,
                        struct fis_error *e)
{
    struct stream_message m;
    int64_t since = cli_now_ms(), asked = since;
    int rc = 0;
    while (!rc && !r->ended) {
        if (cli_stopping(r->cli))
            return fis_fail(e, FIS_RETRY, "interrupted");
        if (wait_on(r, what, since, &asked, e))
            return -FIS_RETRY;
        rc = topic_reader_next(r, 200, &m, e);
        if (rc > 0) {
            rc = take(arg, &m, e);
            since = asked = cli_now_ms(); /* it is long, and goes on */
        }
    }
    return rc;
}

int topic_reader_all(struct cli *c, const char *topic, topic_take_fn *take, void *arg,
                     struct fis_error *e)
{
    struct topic_reader r;
    int rc = topic_reader_open(&r, c, &topic, 1, e);
    if (!rc)
        rc = topic_reader_to_end(&r, topic, take, arg, e);
    topic_reader_close(&r);
    return rc;
}

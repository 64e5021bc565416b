#include "cli/sender.h"

#include "base/decimal.h"

enum { FULL_MS = 30000, FLUSH_MS = 10000 };

int sender_open(struct sender *s, struct cli *c, struct fis_error *e)
{
    *s = (struct sender){.cli = c};
    const struct stream_producer_options o = {.client = c->client};
    return stream_producer_open(&s->producer, &o, e);
}

static void report(void *arg, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct sender *s = arg;
    (void)token;
    if (kind == FIS_OK) {
        s->arrived++;
    } else if (!s->refused++) {
        fis_fail(&s->first, kind, "%s", text);
    }
}

void sender_poll(struct sender *s)
{
    while (stream_producer_poll(s->producer, report, s))
        ;
    struct fis_error trouble;
    while (stream_producer_error(s->producer, &trouble))
        s->trouble = trouble;
}

int sender_send(struct sender *s, const char *topic, const void *key, size_t key_length,
                const void *value, size_t value_length, struct fis_error *e)
{
    int64_t until = cli_now_ms() + FULL_MS;
    for (;;) {
        int rc = stream_producer_send(s->producer, topic, -1, key, key_length, value, value_length,
                                      s->sent, e);
        if (!rc) {
            s->sent++;
            /* Often enough that reports do not heap up. */
            if (s->sent % 256 == 0)
                sender_poll(s);
            return 0;
        }
        if (rc != -FIS_RETRY || cli_now_ms() >= until || cli_stopping(s->cli))
            return rc;
        sender_poll(s);
        cli_wait(s->cli, -1, 20);
    }
}

int sender_flush(struct sender *s, struct fis_error *e)
{
    const bool waits = s->cli->answered && !s->late;
    const int64_t until = cli_now_ms() + (waits ? cli_answer_ms(s->cli) : 0);
    int rc;
    do
        rc = stream_producer_flush(s->producer, FLUSH_MS, report, s, e);
    while (rc == -FIS_RETRY && cli_now_ms() < until && !cli_stopping(s->cli));
    s->late = rc != 0;
    sender_poll(s);
    if (rc && s->trouble.kind != FIS_OK)
        fis_error_prefix(e, "%s", s->trouble.text);
    if (s->refused)
        return fis_fail(e, s->first.kind, "did not arrive: %llu of %s; the first: %s",
                        (unsigned long long)s->refused, DECIMAL_COUNT(s->sent, "message"),
                        s->first.text);
    return rc;
}

int sender_close(struct sender *s, struct fis_error *e)
{
    if (!s->producer)
        return 0;
    int rc = sender_flush(s, e);
    stream_producer_close(s->producer);
    s->producer = NULL;
    return rc;
}

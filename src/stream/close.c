/*
 * The end of a consumer. librdkafka may not come to an end with a member of a group: before 2.4.0
 * when an assignment comes while it leaves, before 2.6.1 when a topic was deleted that it consumed,
 * and with any version while no broker answers. The owner waits for none of it.
 */
#include "fis/mem.h"
#include "stream/consumer_impl.h"
#include "stream/ending.h"

#define SLICE_MS 20

/* What librdkafka needs served while it leaves the group. */
static void serve_leaving(struct stream_consumer *c, int ms)
{
    rd_kafka_message_t *m = rd_kafka_consume_queue(c->leaving, ms);
    if (m)
        rd_kafka_message_destroy(m);
}

/* Asks for leaving the group, and gives up in time; false: it goes on. A rebalance that was called
 * out is answered before: once the leaving has begun librdkafka before 2.4.0 takes an assignment
 * for none, and waits for it for ever (its issue 4527). */
static bool leave(struct stream_consumer *c, int timeout_ms)
{
    int64_t deadline = stream_now_ms() + timeout_ms;
    stream_consumer_serve(c);
    c->closing = true;
    c->leaving = rd_kafka_queue_new(c->rk);
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(c->rk, c->leaving);
    if (error) {
        rd_kafka_error_destroy(error); /* fatal, or closed already: nothing to leave */
        return true;
    }
    while (!rd_kafka_consumer_closed(c->rk) && stream_now_ms() < deadline)
        serve_leaving(c, SLICE_MS);
    return rd_kafka_consumer_closed(c->rk);
}

/* Before 2.3.0 the process is aborted when a member is destroyed between the group's word that it
 * has joined, by a cooperative strategy, and the first assignment (librdkafka's issue 4312). */
static bool may_destroy(const struct stream_consumer *c)
{
    return c->placed || !c->sticky || rd_kafka_version() >= 0x02030000;
}

/* What is still in the data queue holds partitions, which hold the client. */
static void destroy(struct stream_consumer *c)
{
    rd_kafka_queue_destroy(c->events);
    rd_kafka_queue_destroy(c->data);
    if (c->leaving)
        rd_kafka_queue_destroy(c->leaving);
    if (c->reader)
        stream_reader_free(c->reader);
    rd_kafka_destroy_flags(c->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    stream_probes_done(&c->probes);
    stream_ends_done(&c->ends);
    stream_refill_done(&c->refill);
}

static void release(struct stream_consumer *c)
{
    for (uint32_t i = 0; i < c->topic_count; i++)
        fis_free(c->topics[i]);
    fis_free(c->topics);
    fis_free(c->group);
    fis_free(c->owned);
    fis_free(c->positions);
    fis_free(c);
}

/* Destroying a client that has not left keeps a processor busy until it has. */
static void end(void *arg, struct stream_ending *e)
{
    struct stream_consumer *c = arg;
    if (c->reader)
        stream_reader_stop(c->reader, c);
    else if (c->patience_ms > 0 && !leave(c, c->patience_ms)) {
        c->link.log = NULL;
        stream_ending_go(e);
        while (c->leaving && !rd_kafka_consumer_closed(c->rk))
            serve_leaving(c, 1000);
    }
    if (may_destroy(c)) {
        destroy(c);
        release(c);
    }
}

void stream_consumer_close(struct stream_consumer *c, int timeout_ms)
{
    if (!c)
        return;
    if (!c->rk) {
        release(c);
        return;
    }
    c->link.stats = NULL; /* its receiver is the owner's thread, which may be another */
    c->on_revoke = NULL;
    c->patience_ms = timeout_ms > 0 ? timeout_ms : 0;
    rd_kafka_queue_cb_event_enable(c->events, NULL, NULL);
    rd_kafka_queue_cb_event_enable(c->data, NULL, NULL);
    stream_ends_stop(&c->ends);
    stream_probes_stop(&c->probes);
    stream_refill_stop(&c->refill);
    if (c->reader)
        stream_reader_quiet(c->reader);
    stream_end(end, c, timeout_ms < 0 ? 0 : timeout_ms + STREAM_DESTROY_MS);
}

#include "stream/refill.h"

#include "stream/consumer_impl.h"

#define FORGET 65536

bool stream_refill_init(struct stream_refill *s, rd_kafka_t *rk, const struct stream_link *link,
                        size_t queue_bytes, size_t queue_messages)
{
    s->rk = rk;
    if (rd_kafka_version() < 0x02020000) {
        s->queue_bytes = queue_bytes;
        s->queue_messages = queue_messages;
    }
    return stream_helper_init(&s->helper, link);
}

void stream_refill_stop(struct stream_refill *s)
{
    stream_helper_stop(&s->helper);
}

static void forget_question(struct stream_refill *s)
{
    if (s->list) {
        rd_kafka_topic_partition_list_destroy(s->list);
        s->list = NULL;
    }
}

void stream_refill_done(struct stream_refill *s)
{
    forget_question(s);
    stream_helper_done(&s->helper);
}

/* Nobody needs the answer. */
static void *ask(void *arg)
{
    struct stream_refill *s = arg;
    (void)rd_kafka_offsets_for_times(s->rk, s->list, STREAM_HELPER_ASK_MS);
    stream_helper_finish(&s->helper);
    return NULL;
}

/* Whether it was at least half full, of messages or by the size of what was read recently, and is
 * now less so. */
static bool fallen(const struct stream_refill *s, size_t length)
{
    uint64_t mean = s->bytes / (s->seen ? s->seen : 1);
    bool was_full = s->most >= s->queue_messages / 2 || s->most * mean >= s->queue_bytes / 2;
    return was_full && length < s->most / 4 * 3;
}

void stream_refill_serve(struct stream_consumer *c)
{
    struct stream_refill *s = &c->refill;
    if (!s->queue_bytes)
        return;
    if (stream_helper_over(&s->helper, &c->errors))
        forget_question(s);
    size_t length = rd_kafka_queue_length(c->data);
    s->most = length > s->most ? length : s->most;
    if (s->seen > FORGET) {
        s->seen /= 2;
        s->bytes /= 2;
    }
    if (s->helper.running || !fallen(s, length))
        return;
    s->most = length;
    s->list = rd_kafka_topic_partition_list_new((int)c->owned_count);
    for (uint32_t i = 0; i < c->owned_count; i++) {
        const struct stream_partition *p = &c->owned[i];
        rd_kafka_topic_partition_list_add(s->list, c->topics[p->topic], p->partition)->offset =
            RD_KAFKA_OFFSET_END;
    }
    if (!stream_helper_start(&s->helper, ask, s))
        forget_question(s); /* no thread now: it is only slower */
}

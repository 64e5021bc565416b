#include "stream/probe.h"

#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "stream/consumer_impl.h"

#define PATIENCE_MS 10000

int64_t stream_refresh_interval(rd_kafka_t *rk)
{
    char text[32];
    size_t size = sizeof text;
    if (rd_kafka_conf_get(rd_kafka_conf(rk), "topic.metadata.refresh.interval.ms", text, &size) !=
        RD_KAFKA_CONF_OK)
        return 0;
    int64_t ms = strtoll(text, NULL, 10);
    return ms > 0 ? ms : 0;
}

struct stream_mark stream_mark_of(const rd_kafka_message_t *m)
{
    return (struct stream_mark){m->offset, rd_kafka_message_timestamp(m, NULL),
                                m->key ? m->key_len : 0, m->payload ? m->len : 0};
}

bool stream_probes_init(struct stream_consumer *c)
{
    struct stream_probes *a = &c->probes;
    a->conf = c->ends.conf;
    a->topics = c->topics;
    a->interval_ms = stream_refresh_interval(c->rk);
    a->again_ms = stream_now_ms() + a->interval_ms;
    return stream_helper_init(&a->helper, &c->link);
}

void stream_probes_stop(struct stream_probes *a)
{
    stream_helper_stop(&a->helper);
}

void stream_probes_done(struct stream_probes *a)
{
    stream_helper_done(&a->helper);
    fis_free(a->list);
}

/* ---- the job's --------------------------------------------------------------------------- */

struct fetch {
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t **topics; /* beside the list; NULL: not started */
};

static rd_kafka_t *start_client(const struct stream_probes *a)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(a->conf);
    (void)rd_kafka_conf_set(conf, "queued.min.messages", "1", NULL, 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (!rk)
        rd_kafka_conf_destroy(conf);
    return rk;
}

static void start(const struct stream_probes *a, struct fetch *l)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct stream_probe *one = &a->list[i];
        l->topics[i] = rd_kafka_topic_new(l->rk, a->topics[one->topic], NULL);
        if (l->topics[i] && rd_kafka_consume_start_queue(l->topics[i], one->partition,
                                                         one->mark.offset, l->queue) != 0) {
            rd_kafka_topic_destroy(l->topics[i]);
            l->topics[i] = NULL;
        }
    }
}

static void take(struct stream_probes *a, const rd_kafka_message_t *m)
{
    const char *topic = m->rkt ? rd_kafka_topic_name(m->rkt) : "";
    for (uint32_t i = 0; i < a->count; i++) {
        struct stream_probe *one = &a->list[i];
        if (one->answered || one->partition != m->partition ||
            strcmp(a->topics[one->topic], topic) != 0)
            continue;
        struct stream_mark found = stream_mark_of(m);
        one->answered = true;
        one->other = !m->err && found.offset == one->mark.offset &&
                     (found.timestamp_ms != one->mark.timestamp_ms ||
                      found.key_length != one->mark.key_length ||
                      found.length != one->mark.length);
    }
}

static bool all_answered(const struct stream_probes *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!a->list[i].answered)
            return false;
    return true;
}

/* True when it is to stop. What has no answer in time is looked at the next time. */
static bool wait(struct stream_probes *a, const struct fetch *l)
{
    int64_t until = stream_now_ms() + PATIENCE_MS;
    for (;;) {
        rd_kafka_message_t *m;
        while ((m = rd_kafka_consume_queue(l->queue, 0)) != NULL) {
            take(a, m);
            rd_kafka_message_destroy(m);
        }
        if (all_answered(a) || stream_now_ms() >= until)
            return false;
        if (stream_helper_pause(&a->helper))
            return true;
    }
}

static void finish(const struct stream_probes *a, struct fetch *l)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (l->topics[i])
            rd_kafka_consume_stop(l->topics[i], a->list[i].partition);
    for (uint32_t i = 0; i < a->count; i++)
        if (l->topics[i])
            rd_kafka_topic_destroy(l->topics[i]);
    rd_kafka_queue_destroy(l->queue);
    rd_kafka_destroy(l->rk);
}

static void *look(void *arg)
{
    struct stream_probes *a = arg;
    struct fetch l = {.topics = fis_calloc(a->count, sizeof(rd_kafka_topic_t *))};
    bool stop = false;
    l.rk = l.topics ? start_client(a) : NULL;
    if (l.rk) {
        l.queue = rd_kafka_queue_new(l.rk);
        start(a, &l);
        stop = wait(a, &l);
        finish(a, &l);
    }
    fis_free(l.topics);
    if (!stop)
        stream_helper_finish(&a->helper);
    return NULL;
}

/* ---- the owner's ------------------------------------------------------------------------- */

static void take_answers(struct stream_consumer *c)
{
    for (uint32_t k = 0; k < c->probes.count; k++) {
        const struct stream_probe *a = &c->probes.list[k];
        uint32_t i = stream_consumer_find(c, a->topic, a->partition);
        struct stream_position *p = i < c->owned_count ? &c->positions[i] : NULL;
        if (!p || p->gone || p->probe.offset != a->mark.offset)
            continue; /* given up, or started again, in the meantime */
        if (a->other)
            stream_reset_recreated(c, i);
        else
            p->probe = p->last;
    }
}

/* False: no memory now. */
static bool list_probes(struct stream_consumer *c)
{
    struct stream_probes *a = &c->probes;
    if (c->owned_count > a->room) {
        if (!fis_grow(&a->list, 0, c->owned_count, sizeof *a->list))
            return false;
        a->room = c->owned_count;
    }
    a->count = 0;
    for (uint32_t i = 0; i < c->owned_count; i++) {
        const struct stream_mark mark = c->positions[i].probe;
        if (mark.offset >= 0)
            a->list[a->count++] =
                (struct stream_probe){c->owned[i].topic, c->owned[i].partition, mark, false, false};
    }
    return true;
}

void stream_probes_serve(struct stream_consumer *c)
{
    struct stream_probes *a = &c->probes;
    if (stream_helper_over(&a->helper, &c->errors))
        take_answers(c);
    if (a->helper.running || !a->interval_ms || stream_now_ms() < a->again_ms)
        return;
    a->again_ms = stream_now_ms() + a->interval_ms;
    if (list_probes(c) && a->count > 0)
        (void)stream_helper_start(&a->helper, look, a); /* else the next time */
}

#include "stream/consumer.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "stream/consumer_impl.h"

#define DEFAULT_QUEUE_BYTES ((size_t)16 << 20)
/* The queue is bounded in messages too, since each takes as much again in librdkafka. Not by
 * librdkafka's 100,000: it stops fetching at either bound, for up to a second, and that must not be
 * sooner than need be. */
#define MESSAGE_BYTES 256

static void on_error(rd_kafka_t *rk, int err, const char *text, void *opaque)
{
    (void)rk;
    stream_consumer_failed(opaque, (rd_kafka_resp_err_t)err, "client", text);
}

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets, void *opaque)
{
    (void)rk;
    for (int i = 0; offsets && !err && i < offsets->cnt; i++)
        err = offsets->elems[i].err;
    if (err && err != RD_KAFKA_RESP_ERR__NO_OFFSET)
        stream_consumer_failed(opaque, err, "commit", rd_kafka_err2str(err));
}

static int on_stats(rd_kafka_t *rk, char *json, size_t length, void *opaque)
{
    (void)rk;
    stream_client_stats(opaque, json, length);
    return 0; /* librdkafka frees the text */
}

/* ---- life ------------------------------------------------------------------------------- */

static int copy_options(struct stream_consumer *c, const struct stream_consumer_options *o,
                        struct fis_error *e)
{
    c->on_revoke = o->on_revoke;
    c->revoke_arg = o->revoke_arg;
    c->stored = o->stored;
    c->election = o->election;
    c->rewind = o->rewind;
    c->latest = o->latest;
    c->eofs = o->eofs;
    if ((o->stored || o->election || o->rewind) &&
        (!o->group_id || o->stored + o->election + o->rewind > 1)) {
        return fis_fail(e, FIS_INPUT,
                        "kafka consumer: stored, election and rewind exclude each other and need "
                        "a group");
    }
    if (o->topic_count == 0)
        return fis_fail(e, FIS_INPUT, "kafka consumer: no topic is named");
    c->topics = fis_calloc(o->topic_count, sizeof(char *));
    if (!c->topics)
        return fis_fail(e, FIS_NOMEM, "kafka consumer: out of memory");
    for (; c->topic_count < o->topic_count; c->topic_count++) {
        c->topics[c->topic_count] = fis_strdup(o->topics[c->topic_count]);
        if (!c->topics[c->topic_count])
            return fis_fail(e, FIS_NOMEM, "kafka consumer: out of memory");
    }
    c->group = o->group_id ? fis_strdup(o->group_id) : NULL;
    return c->group || !o->group_id ? 0 : fis_fail(e, FIS_NOMEM, "kafka consumer: out of memory");
}

/* "latest" would leave records out without a word; "error" is what is done anyway, and handled. */
static int check_reset(const struct stream_client *client, struct fis_error *e)
{
    const char *v =
        stream_property_find(client->properties, client->property_count, "auto.offset.reset");
    if (v && strcmp(v, "earliest") != 0 && strcmp(v, "smallest") != 0 &&
        strcmp(v, "beginning") != 0) {
        return fis_fail(e, FIS_INPUT,
                        "kafka property \"auto.offset.reset\" is \"%s\", but only \"earliest\" is "
                        "allowed: anything else leaves messages out",
                        v);
    }
    return 0;
}

static size_t queue_bytes(const struct stream_consumer_options *o)
{
    return o->queue_bytes ? o->queue_bytes : DEFAULT_QUEUE_BYTES;
}

static size_t queue_messages(const struct stream_consumer_options *o)
{
    return 1 + queue_bytes(o) / MESSAGE_BYTES;
}

static int make_conf(rd_kafka_conf_t **conf, struct stream_consumer *c,
                     const struct stream_consumer_options *o, struct fis_error *e)
{
    char kbytes[32], messages[32];
    size_t bytes = queue_bytes(o);
    int rc = check_reset(&o->client, e);
    if (rc)
        return rc;
    snprintf(kbytes, sizeof kbytes, "%zu", bytes < 1024 ? 1 : bytes / 1024);
    snprintf(messages, sizeof messages, "%zu", queue_messages(o));
    bool member = c->group && !c->stored;
    const char *strategy = stream_property_find(o->client.properties, o->client.property_count,
                                                "partition.assignment.strategy");
    c->sticky = member && (c->election || (strategy && strstr(strategy, "cooperative")));
    const struct stream_property defaults[] = {
        {"queued.max.messages.kbytes", kbytes},
        {"queued.min.messages", messages},
        {"fetch.queue.backoff.ms", rd_kafka_version() >= 0x02020000 ? "10" : NULL},
        {"session.timeout.ms", member ? "10000" : NULL},
        {"heartbeat.interval.ms", member ? "1000" : NULL},
    };
    const struct stream_property fixed[] = {
        {"group.id", c->group},           {"isolation.level", "read_committed"},
        {"enable.auto.commit", "false"},  {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"},
    };
    const struct stream_property forced[] = {
        {"auto.offset.reset", "error"}, /* what is gone is reported, and then handled: reset.c */
        {"partition.assignment.strategy", c->election ? "cooperative-sticky" : NULL},
    };
    const struct stream_layers layers = {defaults, sizeof defaults / sizeof *defaults,
                                         fixed,    sizeof fixed / sizeof *fixed,
                                         forced,   sizeof forced / sizeof *forced};
    return stream_client_conf(conf, &o->client, &layers, &c->link, e);
}

static int no_lock(struct fis_error *e)
{
    return fis_fail(e, FIS_FATAL, "kafka consumer: the system provides no lock");
}

/* What has a lock: all of it, or nothing. */
static bool init_locked(struct stream_consumer *c, const struct stream_consumer_options *o)
{
    if (!stream_refill_init(&c->refill, c->rk, &c->link, queue_bytes(o), queue_messages(o)))
        return false;
    if (stream_probes_init(c))
        return true;
    stream_refill_done(&c->refill);
    return false;
}

static int make_client(struct stream_consumer *c, const struct stream_consumer_options *o,
                       struct fis_error *e)
{
    rd_kafka_conf_t *conf;
    int rc = make_conf(&conf, c, o, e);
    if (rc)
        return rc;
    bool member = c->group && !c->stored;
    if (!stream_ends_init(&c->ends, conf, &c->link, c->topics)) {
        rd_kafka_conf_destroy(conf);
        return no_lock(e);
    }
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_stats_cb(conf, on_stats);
    if (member)
        rd_kafka_conf_set_rebalance_cb(conf, stream_consumer_rebalance);
    if (c->group)
        rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
    rc = stream_client_new(&c->rk, RD_KAFKA_CONSUMER, conf, e);
    if (!rc && !init_locked(c, o)) {
        rd_kafka_destroy(c->rk);
        c->rk = NULL;
        rc = no_lock(e);
    }
    if (rc) {
        stream_ends_done(&c->ends);
        return rc;
    }
    if (member) {
        rd_kafka_poll_set_consumer(c->rk);
        c->events = rd_kafka_queue_get_consumer(c->rk);
    } else {
        c->events = rd_kafka_queue_get_main(c->rk);
    }
    c->data = rd_kafka_queue_new(c->rk);
    stream_client_watch(c->events, &c->link);
    stream_client_watch(c->data, &c->link);
    return 0;
}

static int subscribe(struct stream_consumer *c, struct fis_error *e)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)c->topic_count);
    for (uint32_t i = 0; i < c->topic_count; i++)
        rd_kafka_topic_partition_list_add(list, c->topics[i], RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t err = rd_kafka_subscribe(c->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (err) {
        return fis_fail(e, FIS_INPUT, "kafka consumer: topic \"%s\"…: cannot subscribe: %s",
                        c->topics[0], rd_kafka_err2str(err));
    }
    return 0;
}

int stream_consumer_open(struct stream_consumer **out, const struct stream_consumer_options *o,
                         struct fis_error *e)
{
    struct stream_consumer *c = fis_calloc(1, sizeof *c);
    if (!c)
        return fis_fail(e, FIS_NOMEM, "kafka consumer: out of memory");
    int rc = copy_options(c, o, e);
    if (!rc)
        rc = make_client(c, o, e);
    if (!rc)
        rc = c->group && !c->stored ? subscribe(c, e) : stream_reader_new(&c->reader, c, e);
    if (rc) {
        stream_consumer_close(c, 0);
        return rc;
    }
    *out = c;
    return 0;
}

int stream_consumer_check(const struct stream_consumer_options *o, struct fis_error *e)
{
    struct stream_consumer *c = fis_calloc(1, sizeof *c);
    rd_kafka_conf_t *conf;
    rd_kafka_t *rk = NULL;
    if (!c)
        return fis_fail(e, FIS_NOMEM, "kafka consumer: out of memory");
    int rc = copy_options(c, o, e);
    if (!rc)
        rc = make_conf(&conf, c, o, e);
    if (!rc)
        rc = stream_client_new(&rk, RD_KAFKA_CONSUMER, conf, e);
    if (rk)
        rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    stream_consumer_close(c, 0);
    return rc;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Errors that come as messages, from either queue. */
static void take_error(struct stream_consumer *c, const rd_kafka_message_t *m)
{
    char where[280];
    if (m->rkt && m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        uint32_t topic = stream_consumer_topic(c, rd_kafka_topic_name(m->rkt));
        uint32_t i = stream_consumer_find(c, topic, m->partition);
        if (i < c->owned_count)
            stream_reset_noticed(c, i, m->offset);
        return;
    }
    if (m->rkt) {
        snprintf(where, sizeof where, "topic \"%s\" partition %d", rd_kafka_topic_name(m->rkt),
                 (int)m->partition);
    } else {
        snprintf(where, sizeof where, "group");
    }
    stream_consumer_failed(c, m->err, where, rd_kafka_message_errstr(m));
}

/* See stream_consumer_forward. */
static void settle(struct stream_consumer *c)
{
    bool left = false;
    for (uint32_t i = 0; i < c->owned_count; i++) {
        if (c->positions[i].unsettled) {
            const struct stream_partition *p = &c->owned[i];
            stream_consumer_forward(c, c->topics[p->topic], p->partition);
            left = true;
        }
    }
    c->unsettled = left;
}

void stream_consumer_serve(struct stream_consumer *c)
{
    if (c->reader) {
        rd_kafka_poll(c->rk, 0);
        stream_reader_serve(c->reader, c);
        return;
    }
    if (c->unsettled && !c->election)
        settle(c);
    rd_kafka_message_t *m;
    while ((m = rd_kafka_consumer_poll(c->rk, 0)) != NULL) {
        if (m->err) {
            take_error(c, m);
        } else {
            /* Cannot be: fetch queues are forwarded before they are started. Never lose one
             * silently. */
            stream_errors_push(&c->errors, FIS_FATAL,
                               "kafka consumer: a message arrived on the wrong queue");
        }
        rd_kafka_message_destroy(m);
    }
}

static void take_end(struct stream_consumer *c, uint32_t i, int64_t offset)
{
    struct stream_position *p = &c->positions[i];
    p->next = offset > p->next ? offset : p->next;
    p->unsettled = false;
    p->ended = p->ended || (p->goal >= 0 && p->next >= p->goal);
    p->stable_end = true;
    if (c->eofs) {
        p->eof = c->news = true;
        p->eof_offset = offset;
    }
    stream_consumer_check_end(c);
}

/* The message is handed out: what is known of its partition moves behind it. */
static void advance(struct stream_consumer *c, struct stream_position *p,
                    const rd_kafka_message_t *m)
{
    p->next = m->offset + 1;
    p->last = stream_mark_of(m);
    if (p->probe.offset < 0)
        p->probe = p->last;
    p->unsettled = p->stable_end = false;
    c->refill.seen++;
    c->refill.bytes += m->len;
    if (p->goal >= 0 && p->next >= p->goal && !p->ended) {
        p->ended = true;
        stream_consumer_check_end(c);
    }
}

/* True when the message belongs to the batch. */
static bool take_message(struct stream_consumer *c, rd_kafka_message_t *m,
                         struct stream_message *out)
{
    if (!m->rkt) {
        take_error(c, m);
        return false;
    }
    if (m->rkt != c->last_rkt) {
        c->last_topic = stream_consumer_topic(c, rd_kafka_topic_name(m->rkt));
        c->last_rkt = m->rkt;
    }
    uint32_t topic = c->last_topic, i = stream_consumer_find(c, topic, m->partition);
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (i < c->owned_count)
            take_end(c, i, m->offset);
        return false;
    }
    if (m->err) {
        take_error(c, m);
        return false;
    }
    if (i == c->owned_count)
        return false; /* revoked in the meantime: its new owner reads it */
    struct stream_position *p = &c->positions[i];
    if (p->gone || m->offset < p->next)
        return false; /* to be started again, or it was: what is there was or will be handed out */
    advance(c, p, m);
    *out = (struct stream_message){
        .topic = topic,
        .partition = m->partition,
        .offset = m->offset,
        .timestamp_ms = rd_kafka_message_timestamp(m, NULL),
        .key = m->key,
        .key_length = m->key ? m->key_len : 0,
        .value = m->payload,
        .value_length = m->payload ? m->len : 0,
    };
    return true;
}

/* From 2.1.0 on librdkafka takes an end that it returns in a batch for a message: a partition that
 * is resumed, by its owner or in a cooperative rebalance, would skip the record that comes next.
 * One by one it does not. */
static ssize_t fetch(const struct stream_consumer *c, rd_kafka_message_t **out, uint32_t most)
{
    if (rd_kafka_version() < 0x02010000)
        return rd_kafka_consume_batch_queue(c->data, 0, out, most);
    *out = rd_kafka_consume_queue(c->data, 0);
    return *out != NULL;
}

uint32_t stream_consumer_read(struct stream_consumer *c, struct stream_batch *b, uint32_t max)
{
    stream_consumer_serve(c);
    bool resets = stream_reset_serve(c);
    stream_refill_serve(c);
    stream_probes_serve(c);
    c->last_rkt = NULL; /* what a rebalance frees may come back as another topic */
    if (!b || resets)
        return 0;
    uint32_t room = b->capacity - b->count, added = 0;
    max = max < room ? max : room;
    while (added < max) {
        rd_kafka_message_t **fresh = (rd_kafka_message_t **)&b->handles[b->count];
        ssize_t n = fetch(c, fresh, max - added);
        if (n <= 0)
            break;
        for (ssize_t k = 0; k < n; k++) {
            if (take_message(c, fresh[k], &b->messages[b->count])) {
                b->handles[b->count++] = fresh[k];
                added++;
            } else {
                rd_kafka_message_destroy(fresh[k]);
            }
        }
    }
    return added;
}

/* Of the partitions. */
static bool tell_news(struct stream_consumer *c, struct stream_consumer_event *ev)
{
    for (uint32_t i = 0; c->news && i < c->owned_count; i++) {
        struct stream_position *p = &c->positions[i];
        ev->topic = c->owned[i].topic;
        ev->partition = c->owned[i].partition;
        if (p->reset) {
            ev->kind = STREAM_RESET;
            ev->expected = p->expected;
            ev->first = p->first;
            ev->lost_messages = p->lost;
            ev->recreated = p->recreated;
            p->reset = p->recreated = false;
            p->lost = 0;
            return true;
        }
        if (p->blocked) {
            ev->kind = STREAM_BLOCKED;
            ev->offset = p->blocked_at;
            (void)fis_fail(&ev->error, FIS_RETRY,
                           "waiting for an open transaction on %s[%d] at offset %lld",
                           c->topics[ev->topic], (int)ev->partition, (long long)ev->offset);
            p->blocked = false;
            return true;
        }
        if (p->eof) {
            ev->kind = STREAM_EOF;
            ev->offset = p->eof_offset;
            p->eof = false;
            return true;
        }
    }
    c->news = false;
    return false;
}

bool stream_consumer_event(struct stream_consumer *c, struct stream_consumer_event *ev)
{
    memset(ev, 0, sizeof *ev);
    ev->owned = c->owned_count;
    if (c->revoked) {
        ev->kind = STREAM_REVOKED;
        ev->lost = c->lost;
        c->revoked = c->lost = false;
    } else if (c->assigned) {
        ev->kind = STREAM_ASSIGNED;
        c->assigned = false;
    } else if (stream_errors_pop(&c->errors, &ev->error)) {
        ev->kind = STREAM_ERROR;
    } else if (tell_news(c, ev)) {
        return true;
    } else if (c->end && !c->end_reported) {
        ev->kind = STREAM_END;
        ev->begin = c->positions[0].begin; /* a reader's come in the order of its topics */
        c->end_reported = true;
    } else {
        return false;
    }
    return true;
}

/*
 * Delivery reports are taken as events, not by librdkafka's callback: while a transaction
 * commits, the callback would run on the transaction's thread.
 */
#include "stream/producer.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "fis/mem.h"
#include "stream/ending.h"
#include "stream/producer_impl.h"

#define FLUSH_SLICE_MS 20
#define PURGE_MS 500
#define USUAL_BATCH 1000000 /* librdkafka's */
#define MOST "2147483647"

/* What one broker alone has acknowledged is gone with it. */
static int check_acks(const struct stream_client *client, struct fis_error *e)
{
    static const char *const names[] = {"acks", "request.required.acks"};
    for (int i = 0; i < 2; i++) {
        const char *v = stream_property_find(client->properties, client->property_count, names[i]);
        if (v && strcmp(v, "all") != 0 && strcmp(v, "-1") != 0)
            return fis_fail(
                e, FIS_INPUT,
                "kafka property \"%s\" is \"%s\", but only \"all\" is allowed: anything "
                "else loses messages",
                names[i], v);
    }
    return 0;
}

static int make_rk(struct stream_producer *p, const struct stream_producer_options *o,
                   struct fis_error *e)
{
    char batch[32];
    snprintf(batch, sizeof batch, "%zu", o->batch_bytes);
    bool small = o->batch_bytes && o->batch_bytes < USUAL_BATCH;
    const struct stream_property defaults[] = {
        {"acks", "all"},
        {"linger.ms", o->patient ? "2" : NULL},
        {"compression.type", "lz4"},
        {"batch.size", small ? batch : NULL},
        {"partitioner", "murmur2_random"},
        /* What a topic takes is for the broker to say; librdkafka's own 1 MB is in the way. */
        {"message.max.bytes", "1000000000"},
        /* What is sent again after a timeout is there twice without idempotence. */
        {"socket.timeout.ms", o->transactional_id ? NULL : "60000"},
    };
    /* What is sent to a partition keeps its order. Idempotence would see to that too, but while
     * more than four messages are on their way librdkafka then sends no others, and asks for the
     * answer without a pause (its issue 2565). */
    const struct stream_property idempotent = {"enable.idempotence", "true"};
    const struct stream_property one_by_one = {"max.in.flight.requests.per.connection", "1"};
    /* What a role sends is bounded by its batches and units, which a full queue would end, and what
     * a patient one sends is never given up. */
    const struct stream_property fixed[] = {{"transactional.id", o->transactional_id},
                                            o->transactional_id ? idempotent : one_by_one,
                                            {"queue.buffering.max.messages", MOST},
                                            {"queue.buffering.max.kbytes", MOST},
                                            {"message.timeout.ms", "0"},
                                            {"delivery.timeout.ms", "0"}};
    size_t all = sizeof fixed / sizeof *fixed;
    const struct stream_layers layers = {.defaults = defaults,
                                         .default_count = sizeof defaults / sizeof *defaults,
                                         .fixed = fixed,
                                         .fixed_count = o->patient            ? all
                                                        : o->transactional_id ? all - 2
                                                                              : 2};
    rd_kafka_conf_t *conf;
    int rc = check_acks(&o->client, e);
    if (!rc)
        rc = stream_client_conf(&conf, &o->client, &layers, &p->link, e);
    if (rc)
        return rc;
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS);
    return stream_client_new(&p->rk, RD_KAFKA_PRODUCER, conf, e);
}

int stream_producer_check(const struct stream_producer_options *o, struct fis_error *e)
{
    struct stream_producer p = {0};
    int rc = make_rk(&p, o, e);
    if (p.rk)
        rd_kafka_destroy(p.rk);
    return rc;
}

static int make_client(struct stream_producer *p, const struct stream_producer_options *o,
                       struct fis_error *e)
{
    int rc = make_rk(p, o, e);
    if (rc)
        return rc;
    p->patient = o->patient;
    if (!stream_hold_init(&p->hold, p->rk, &p->link)) {
        rd_kafka_destroy(p->rk);
        return fis_fail(e, FIS_FATAL, "kafka producer: the system provides no lock");
    }
    p->events = rd_kafka_queue_get_main(p->rk);
    stream_client_watch(p->events, &p->link);
    return 0;
}

int stream_producer_open(struct stream_producer **out, const struct stream_producer_options *o,
                         struct fis_error *e)
{
    struct stream_producer *p = fis_calloc(1, sizeof *p);
    if (!p)
        return fis_fail(e, FIS_NOMEM, "kafka producer: out of memory");
    p->transactional = o->transactional_id != NULL;
    int rc = make_client(p, o, e);
    if (rc) {
        fis_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

/* ---- sending ---------------------------------------------------------------------------- */

static enum fis_error_kind send_class(const struct stream_producer *p, rd_kafka_resp_err_t err)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        return FIS_RETRY;
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        /* It was deleted: the unit is done again when it is back. */
        return p->transactional ? FIS_ABORT_TXN : FIS_INPUT;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
        return FIS_INPUT;
    case RD_KAFKA_RESP_ERR__STATE:
        /* Not (or no longer) inside a transaction that can take messages. */
        return p->transactional ? FIS_ABORT_TXN : FIS_FATAL;
    default:
        return FIS_FATAL;
    }
}

rd_kafka_headers_t *stream_headers(const struct stream_header *headers, size_t count)
{
    rd_kafka_headers_t *h = rd_kafka_headers_new(count);
    for (size_t i = 0; i < count; i++)
        rd_kafka_header_add(h, headers[i].name, -1, headers[i].value, (ssize_t)headers[i].length);
    return h;
}

/* Behind those of its topic that wait. */
static int hold(struct stream_producer *p, const char *topic, const rd_kafka_message_t *m,
                const struct stream_header *headers, size_t header_count, struct fis_error *e)
{
    if (!stream_hold_take(&p->hold, m, topic, headers, header_count, false))
        return fis_fail(e, FIS_NOMEM, "kafka topic \"%s\": no memory for a message", topic);
    p->outstanding++;
    return 0;
}

int stream_producer_send_headers(struct stream_producer *p, const char *topic, int32_t partition,
                                 const void *key, size_t key_length, const void *value,
                                 size_t value_length, const struct stream_header *headers,
                                 size_t header_count, uint64_t token, struct fis_error *e)
{
    const rd_kafka_message_t message = {.partition = partition,
                                        .payload = (void *)(uintptr_t)value,
                                        .len = value_length,
                                        .key = (void *)(uintptr_t)key,
                                        .key_len = key_length,
                                        ._private = (void *)(uintptr_t)token};
    if (stream_hold_waits(&p->hold, topic))
        return hold(p, topic, &message, headers, header_count, e);
    /* On success the headers are librdkafka's. */
    rd_kafka_headers_t *h = header_count ? stream_headers(headers, header_count) : NULL;
    rd_kafka_resp_err_t err = rd_kafka_producev(
        p->rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key ? key_length : 0),
        RD_KAFKA_V_VALUE((void *)(uintptr_t)value, value ? value_length : 0), RD_KAFKA_V_HEADERS(h),
        RD_KAFKA_V_OPAQUE((void *)(uintptr_t)token), RD_KAFKA_V_END);
    if (err) {
        if (h)
            rd_kafka_headers_destroy(h);
        if (p->patient && stream_hold_takes(err))
            return hold(p, topic, &message, headers, header_count, e);
        return fis_fail(e, send_class(p, err), "kafka topic \"%s\": send of %zu bytes: %s", topic,
                        key_length + value_length, rd_kafka_err2str(err));
    }
    p->outstanding++;
    return 0;
}

int stream_producer_send(struct stream_producer *p, const char *topic, int32_t partition,
                         const void *key, size_t key_length, const void *value, size_t value_length,
                         uint64_t token, struct fis_error *e)
{
    return stream_producer_send_headers(p, topic, partition, key, key_length, value, value_length,
                                        NULL, 0, token, e);
}

/* ---- reports ---------------------------------------------------------------------------- */

static enum fis_error_kind report_class(const struct stream_producer *p, rd_kafka_resp_err_t err)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return FIS_OK;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
        return FIS_INPUT;
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        return p->transactional ? FIS_ABORT_TXN : FIS_INPUT;
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
        return p->transactional ? FIS_ABORT_TXN : FIS_RETRY;
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        return FIS_FATAL;
    default:
        return FIS_RETRY;
    }
}

static struct stream_delivered *find(const struct stream_producer *p, const char *topic,
                                     int32_t partition)
{
    for (uint32_t i = 0; i < p->n_delivered; i++)
        if (p->delivered[i].partition == partition && !strcmp(p->delivered[i].topic, topic))
            return &p->delivered[i];
    return NULL;
}

static struct stream_delivered *delivered_to(struct stream_producer *p, const char *topic,
                                             int32_t partition)
{
    struct stream_delivered *d = find(p, topic, partition);
    if (d)
        return d;
    if (!fis_more(&p->delivered, p->n_delivered, sizeof *p->delivered))
        return NULL; /* the next one tries again */
    d = &p->delivered[p->n_delivered++];
    *d = (struct stream_delivered){.partition = partition, .offset = -1};
    snprintf(d->topic, sizeof d->topic, "%s", topic);
    return d;
}

/* Offsets are not known of a message that a broker had already (an answer was lost). */
static void watch_offset(struct stream_producer *p, const rd_kafka_message_t *m)
{
    const char *topic = rd_kafka_topic_name(m->rkt);
    struct stream_delivered *d =
        m->err || m->offset < 0 ? NULL : delivered_to(p, topic, m->partition);
    if (!d)
        return;
    if (m->offset <= d->offset) {
        p->backwards = (struct stream_backwards){
            .partition = m->partition, .last = d->offset, .now = m->offset};
        snprintf(p->backwards.topic, sizeof p->backwards.topic, "%s", topic);
    }
    d->offset = m->offset;
}

void stream_producer_expect(struct stream_producer *p, const char *topic, int32_t partition,
                            int64_t next)
{
    struct stream_delivered *d = delivered_to(p, topic, partition);
    if (d && next - 1 > d->offset)
        d->offset = next - 1;
}

int64_t stream_producer_delivered(const struct stream_producer *p, const char *topic,
                                  int32_t partition)
{
    const struct stream_delivered *d = find(p, topic, partition);
    return d ? d->offset + 1 : 0;
}

bool stream_producer_backwards(struct stream_producer *p, struct stream_backwards *out)
{
    *out = p->backwards;
    p->backwards.topic[0] = 0;
    return out->topic[0] != 0;
}

static size_t take_reports(struct stream_producer *p, rd_kafka_event_t *ev,
                           stream_report_fn *report, void *arg)
{
    size_t n = 0;
    const rd_kafka_message_t *m;
    while ((m = rd_kafka_event_message_next(ev)) != NULL) {
        if (m->_private == p->rk)
            continue; /* the transaction thread's, which counts on nothing */
        watch_offset(p, m);
        if (p->patient && stream_hold_takes(m->err) &&
            stream_hold_take(&p->hold, m, rd_kafka_topic_name(m->rkt), NULL, 0, true))
            continue;
        n++;
        p->outstanding--;
        if (report) {
            report(arg, (uint64_t)(uintptr_t)m->_private, report_class(p, m->err),
                   m->err ? rd_kafka_err2str(m->err) : "");
        }
    }
    return n;
}

static void take_error(struct stream_producer *p, rd_kafka_event_t *ev)
{
    char line[FIS_ERROR_TEXT], fatal[256];
    rd_kafka_resp_err_t err = rd_kafka_event_error(ev);
    const char *text = rd_kafka_event_error_string(ev);
    bool stop = err == RD_KAFKA_RESP_ERR__FATAL;
    if (stop && rd_kafka_fatal_error(p->rk, fatal, sizeof fatal))
        text = fatal;
    const char *about = stream_client_about(&p->link, err);
    snprintf(line, sizeof line, "kafka producer: %s%s%s (%s)", about, *about ? ": " : "", text,
             rd_kafka_err2name(err));
    stream_errors_push(&p->errors, stop ? FIS_FATAL : FIS_RETRY, line);
}

enum stream_producer_end stream_producer_ended(const struct stream_producer *p)
{
    char text[256];
    switch (rd_kafka_fatal_error(p->rk, text, sizeof text)) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return STREAM_PRODUCER_ALIVE;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
        return STREAM_PRODUCER_FENCED;
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
        return STREAM_PRODUCER_EXPIRED;
    default:
        return STREAM_PRODUCER_BROKEN;
    }
}

/* Serves events until there is none; waits `wait_ms` for the first. */
static size_t serve(struct stream_producer *p, int wait_ms, stream_report_fn *report, void *arg)
{
    size_t n = 0;
    rd_kafka_event_t *ev;
    while ((ev = rd_kafka_queue_poll(p->events, wait_ms)) != NULL) {
        wait_ms = 0;
        if (rd_kafka_event_type(ev) == RD_KAFKA_EVENT_DR) {
            n += take_reports(p, ev, report, arg);
        } else if (rd_kafka_event_type(ev) == RD_KAFKA_EVENT_ERROR) {
            take_error(p, ev);
        } else if (rd_kafka_event_type(ev) == RD_KAFKA_EVENT_STATS) {
            const char *json = rd_kafka_event_stats(ev);
            stream_client_stats(&p->link, json, strlen(json));
        }
        rd_kafka_event_destroy(ev);
    }
    return n;
}

size_t stream_producer_poll(struct stream_producer *p, stream_report_fn *report, void *arg)
{
    size_t n = serve(p, 0, report, arg);
    if (stream_hold_busy(&p->hold))
        stream_hold_serve(&p->hold, &p->errors);
    return n;
}

void stream_producer_need(struct stream_producer *p, const char *const *topics, uint32_t n)
{
    p->hold.needed = topics;
    p->hold.n_needed = n;
    p->hold.found = 0;
}

bool stream_producer_has_needed(const struct stream_producer *p)
{
    return p->hold.found == p->hold.n_needed;
}

const char *stream_producer_waits_for(const struct stream_producer *p)
{
    return p->hold.count ? p->hold.asked : NULL;
}

bool stream_producer_error(struct stream_producer *p, struct fis_error *error)
{
    return stream_errors_pop(&p->errors, error);
}

uint64_t stream_producer_outstanding(const struct stream_producer *p)
{
    return p->outstanding;
}

/* ---- ending ----------------------------------------------------------------------------- */

int stream_producer_flush(struct stream_producer *p, int timeout_ms, stream_report_fn *report,
                          void *arg, struct fis_error *e)
{
    int64_t deadline = stream_now_ms() + timeout_ms;
    (void)serve(p, 0, report, arg);
    while (p->outstanding > 0 && stream_now_ms() < deadline)
        (void)serve(p, FLUSH_SLICE_MS, report, arg);
    if (p->outstanding > 0) {
        return fis_fail(e, FIS_RETRY, "kafka producer: %s not acknowledged in time",
                        DECIMAL_COUNT(p->outstanding, "message"));
    }
    return 0;
}

static void end(void *arg, struct stream_ending *e)
{
    struct stream_producer *p = arg;
    (void)e;
    if (p->outstanding > 0) {
        /* Purged messages come back as reports; served here, so that none keeps rk alive. */
        rd_kafka_purge(p->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        (void)!stream_producer_flush(p, PURGE_MS, NULL, NULL, NULL);
    }
    rd_kafka_queue_destroy(p->events);
    rd_kafka_destroy(p->rk);
    fis_free(p->delivered);
    fis_free(p);
}

void stream_producer_close(struct stream_producer *p)
{
    if (!p)
        return;
    p->link.stats = NULL; /* its receiver is the owner's thread, which may be another */
    rd_kafka_queue_cb_event_enable(p->events, NULL, NULL);
    p->outstanding -= p->hold.count;
    stream_hold_done(&p->hold);
    p->patient = false;
    stream_end(end, p, PURGE_MS + STREAM_DESTROY_MS);
}

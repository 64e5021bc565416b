#include "stream/admin.h"

#include <string.h>
#include <time.h>

#include "stream/topics.h"

#define PAUSE_MS 100

static int open_as(struct stream_admin *a, const struct stream_client *client,
                   const char *isolation, int timeout_ms, struct fis_error *e)
{
    /* A producer that asks for a topic makes it, where the broker has auto.create.topics.enable,
     * and with the broker's own cleanup policy. */
    const struct stream_property forced[] = {{"allow.auto.create.topics", "false"},
                                             {"isolation.level", isolation}};
    /* One that was away is found soon: librdkafka's own pause grows to 10 s. */
    const bool own =
        stream_property_find(client->properties, client->property_count, "reconnect.backoff.ms");
    const struct stream_property defaults[] = {{"reconnect.backoff.max.ms", own ? NULL : "1000"}};
    const struct stream_layers layers = {
        .defaults = defaults, .default_count = 1, .forced = forced, .forced_count = 2};
    struct stream_client quiet = *client;
    quiet.wake = NULL;
    rd_kafka_conf_t *conf;
    int rc = stream_client_conf(&conf, &quiet, &layers, &a->link, e);
    if (!rc)
        rc = stream_client_new(&a->rk, RD_KAFKA_CONSUMER, conf, e);
    if (rc)
        return rc;
    a->queue = rd_kafka_queue_new(a->rk);
    a->moved = false;
    a->timeout_ms = timeout_ms;
    stream_admin_answered(a);
    return 0;
}

int stream_admin_open(struct stream_admin *a, const struct stream_client *client, int timeout_ms,
                      struct fis_error *e)
{
    return open_as(a, client, "read_committed", timeout_ms, e);
}

int stream_admin_open_uncommitted(struct stream_admin *a, const struct stream_client *client,
                                  int timeout_ms, struct fis_error *e)
{
    return open_as(a, client, "read_uncommitted", timeout_ms, e);
}

void stream_admin_close(struct stream_admin *a)
{
    rd_kafka_queue_destroy(a->queue);
    rd_kafka_destroy(a->rk);
}

/* librdkafka gives a request up after socket.timeout.ms, or with its connection. */
int stream_admin_metadata(struct stream_admin *a, rd_kafka_topic_t *topic, const char *what,
                          const struct rd_kafka_metadata **out, struct fis_error *e)
{
    rd_kafka_resp_err_t err;
    do {
        err = rd_kafka_metadata(a->rk, 0, topic, out, stream_admin_left(a));
        if (!err) {
            stream_admin_answered(a);
            return 0;
        }
    } while (stream_admin_pause(a));
    return fis_fail(e, FIS_RETRY, "%s: no broker answers at %s: %s", what, a->link.brokers,
                    rd_kafka_err2str(err));
}

/* librdkafka's mock cluster, which names no controller. */
static bool is_embedded(struct stream_admin *a)
{
    static const char mock[] = "mockCluster";
    char *id = rd_kafka_clusterid(a->rk, 0);
    bool same = id && !strncmp(id, mock, sizeof mock - 1);
    if (id)
        rd_kafka_mem_free(a->rk, id);
    return same;
}

static int find_controller(struct stream_admin *a, bool *there, struct fis_error *e)
{
    const struct rd_kafka_metadata *m;
    int rc = stream_admin_metadata(a, NULL, "kafka", &m, e);
    if (rc)
        return rc;
    int32_t controller = rd_kafka_controllerid(a->rk, 0);
    *there = false;
    for (int i = 0; i < m->broker_cnt; i++)
        *there = *there || m->brokers[i].id == controller;
    rd_kafka_metadata_destroy(m);
    return 0;
}

int stream_admin_ready(struct stream_admin *a, struct fis_error *e)
{
    const int64_t until = a->deadline;
    bool there;
    int rc;
    while ((rc = find_controller(a, &there, e)) == 0 && !there) {
        if (is_embedded(a)) {
            (void)fis_fail(e, FIS_INPUT,
                           "kafka: an embedded broker: topics cannot be created or described here");
            return STREAM_TOPICS_UNSUPPORTED;
        }
        if (stream_now_ms() >= until || !stream_admin_pause(a))
            return fis_fail(e, FIS_RETRY, "kafka: %s answers, but names no controller",
                            a->link.brokers);
    }
    return rc;
}

bool stream_reachable(const struct stream_client *client, int timeout_ms)
{
    const struct rd_kafka_metadata *m = NULL;
    struct stream_admin a;
    struct fis_error e;
    if (stream_admin_open(&a, client, timeout_ms, &e) < 0)
        return false;
    bool there = rd_kafka_metadata(a.rk, 0, NULL, &m, timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (there)
        rd_kafka_metadata_destroy(m);
    stream_admin_close(&a);
    return there;
}

int stream_admin_left(const struct stream_admin *a)
{
    int64_t left = a->deadline - stream_now_ms();
    return left > 1 ? (int)left : 1;
}

void stream_admin_answered(struct stream_admin *a)
{
    a->deadline = stream_now_ms() + a->timeout_ms;
}

bool stream_admin_pause(const struct stream_admin *a)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    if (stream_admin_left(a) <= PAUSE_MS)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

rd_kafka_AdminOptions_t *stream_admin_options(const struct stream_admin *a, rd_kafka_admin_op_t op)
{
    char text[128];
    rd_kafka_AdminOptions_t *o = rd_kafka_AdminOptions_new(a->rk, op);
    int left = stream_admin_left(a);
    (void)rd_kafka_AdminOptions_set_request_timeout(o, left, text, sizeof text);
    if (op == RD_KAFKA_ADMIN_OP_CREATETOPICS || op == RD_KAFKA_ADMIN_OP_DELETETOPICS)
        (void)rd_kafka_AdminOptions_set_operation_timeout(o, left, text, sizeof text);
    return o;
}

bool stream_admin_passes(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT || err == RD_KAFKA_RESP_ERR_NOT_CONTROLLER;
}

int stream_admin_wait(struct stream_admin *a, const char *what, rd_kafka_event_t **out,
                      struct fis_error *e)
{
    /* The request times out by itself; the second more is for its answer to get here. */
    rd_kafka_event_t *ev = rd_kafka_queue_poll(a->queue, stream_admin_left(a) + 1000);
    if (!ev)
        return fis_fail(e, FIS_RETRY, "kafka: %s: no answer in time", what);
    rd_kafka_resp_err_t err = rd_kafka_event_error(ev);
    if (!err) {
        stream_admin_answered(a);
        *out = ev;
        return 0;
    }
    int rc;
    switch (err) {
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
        (void)fis_fail(e, FIS_INPUT, "kafka: %s: the broker cannot do this", what);
        rc = STREAM_TOPICS_UNSUPPORTED;
        break;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
        rc = fis_fail(e, FIS_RETRY, "kafka: %s: no broker answers at %s: %s", what, a->link.brokers,
                      rd_kafka_event_error_string(ev));
        break;
    default:
        rc = fis_fail(e, FIS_FATAL, "kafka: %s: %s", what, rd_kafka_event_error_string(ev));
    }
    rd_kafka_event_destroy(ev);
    return rc;
}

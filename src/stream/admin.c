#include "stream/admin.h"

#include <time.h>

#include "stream/topics.h"

/* A real broker names its controller in its first answer. */
#define CONTROLLER_MS 1000

static int open_as(struct stream_admin *a, const struct stream_client *client,
                   const char *isolation, int timeout_ms, struct fis_error *e)
{
    /* A producer that asks for a topic makes it, where the broker has auto.create.topics.enable,
     * and with the broker's own cleanup policy. */
    const struct stream_property forced[] = {{"allow.auto.create.topics", "false"},
                                             {"isolation.level", isolation}};
    const struct stream_layers layers = {.forced = forced, .forced_count = 2};
    struct stream_client quiet = *client;
    quiet.wake = NULL;
    rd_kafka_conf_t *conf;
    int rc = stream_client_conf(&conf, &quiet, &layers, &a->link, e);
    if (!rc)
        rc = stream_client_new(&a->rk, RD_KAFKA_CONSUMER, conf, e);
    if (rc)
        return rc;
    a->queue = rd_kafka_queue_new(a->rk);
    a->deadline = stream_now_ms() + timeout_ms;
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

int stream_admin_ready(struct stream_admin *a, struct fis_error *e)
{
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(a->rk, 0, NULL, &m, stream_admin_left(a));
    if (err)
        return fis_fail(e, FIS_RETRY, "kafka: no broker answers at %s: %s", a->link.brokers,
                        rd_kafka_err2str(err));
    int left = stream_admin_left(a);
    int32_t controller = rd_kafka_controllerid(a->rk, left < CONTROLLER_MS ? left : CONTROLLER_MS);
    bool there = false;
    for (int i = 0; i < m->broker_cnt; i++)
        there = there || m->brokers[i].id == controller;
    rd_kafka_metadata_destroy(m);
    if (!there) {
        (void)fis_fail(e, FIS_INPUT,
                       "kafka: no broker is the controller: topics cannot be created or described "
                       "here");
        return STREAM_TOPICS_UNSUPPORTED;
    }
    return 0;
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

int stream_admin_wait(struct stream_admin *a, const char *what, rd_kafka_event_t **out,
                      struct fis_error *e)
{
    /* The request times out by itself; the second more is for its answer to get here. */
    rd_kafka_event_t *ev = rd_kafka_queue_poll(a->queue, stream_admin_left(a) + 1000);
    if (!ev)
        return fis_fail(e, FIS_RETRY, "kafka: %s: no answer in time", what);
    rd_kafka_resp_err_t err = rd_kafka_event_error(ev);
    if (!err) {
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
        rc = fis_fail(e, FIS_RETRY, "kafka: %s: no broker answers at %s: %s", what,
                      a->link.brokers, rd_kafka_event_error_string(ev));
        break;
    default:
        rc = fis_fail(e, FIS_FATAL, "kafka: %s: %s", what, rd_kafka_event_error_string(ev));
    }
    rd_kafka_event_destroy(ev);
    return rc;
}

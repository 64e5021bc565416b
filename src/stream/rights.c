#include "stream/rights.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "stream/client.h"
#include "stream/topics.h"

/* A client whose properties give way to `forced`. */
static int open_client(rd_kafka_t **out, struct stream_link *link, rd_kafka_type_t type,
                       const struct stream_client *client, const struct stream_property *forced,
                       size_t count, struct fis_error *e)
{
    const struct stream_layers layers = {.forced = forced, .forced_count = count};
    struct stream_client quiet = *client;
    rd_kafka_conf_t *conf;
    quiet.wake = NULL;
    int rc = stream_client_conf(&conf, &quiet, &layers, link, e);
    if (rc)
        return rc;
    if (type == RD_KAFKA_PRODUCER)
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    return stream_client_new(out, type, conf, e);
}

/* `refused`: how a broker answers who may. */
static enum stream_may judge(rd_kafka_resp_err_t err, rd_kafka_resp_err_t refused)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return STREAM_MAY_NOT;
    default:
        return !err || err == refused ? STREAM_MAY : STREAM_MAY_UNKNOWN;
    }
}

static void note_topic(struct stream_rights *topics, size_t count, const char *name, bool write,
                       rd_kafka_resp_err_t err, enum stream_may may)
{
    for (size_t i = 0; i < count; i++) {
        struct stream_rights *t = &topics[i];
        if (strcmp(t->topic, name) != 0 || (write ? t->write : t->read))
            continue;
        *(write ? &t->write : &t->read) = may;
        if (!may)
            snprintf(t->why, sizeof t->why, "%s", rd_kafka_err2str(err));
    }
}

static bool all_known(const struct stream_rights *topics, size_t count, bool write)
{
    for (size_t i = 0; i < count; i++)
        if (write ? topics[i].writing && !topics[i].write : topics[i].reading && !topics[i].read)
            return false;
    return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* An end that is reached, or a message, shows that a fetch was allowed. */
static void take_fetch(const rd_kafka_message_t *m, struct stream_rights *topics, size_t count)
{
    rd_kafka_resp_err_t err = m->err;
    if (m->rkt)
        note_topic(topics, count, rd_kafka_topic_name(m->rkt), false, err,
                   judge(err, RD_KAFKA_RESP_ERR__PARTITION_EOF));
}

static int ask_reading(const struct stream_client *client, struct stream_rights *topics,
                       size_t count, int64_t until, struct fis_error *e)
{
    /* librdkafka assigns nothing without the name of a group, which no broker is sent. */
    static const struct stream_property forced[] = {{"group.id", "none"},
                                                    {"group.instance.id", ""},
                                                    {"enable.partition.eof", "true"},
                                                    {"enable.auto.commit", "false"},
                                                    {"isolation.level", "read_uncommitted"},
                                                    {"fetch.wait.max.ms", "10"},
                                                    {"allow.auto.create.topics", "false"}};
    struct stream_link link;
    rd_kafka_t *rk;
    int rc = open_client(&rk, &link, RD_KAFKA_CONSUMER, client, forced,
                         sizeof forced / sizeof *forced, e);
    if (rc)
        return rc;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++)
        if (topics[i].reading)
            rd_kafka_topic_partition_list_add(list, topics[i].topic, 0)->offset =
                RD_KAFKA_OFFSET_END;
    rd_kafka_poll_set_consumer(rk);
    (void)rd_kafka_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    while (!all_known(topics, count, false) && stream_now_ms() < until) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
        if (m) {
            take_fetch(m, topics, count);
            rd_kafka_message_destroy(m);
        }
    }
    rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void take_reports(rd_kafka_event_t *ev, struct stream_rights *topics, size_t count)
{
    const rd_kafka_message_t *m;
    while ((m = rd_kafka_event_message_next(ev)))
        note_topic(topics, count, rd_kafka_topic_name(m->rkt), true, m->err,
                   judge(m->err, RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS));
}

static int ask_writing(const struct stream_client *client, struct stream_rights *topics,
                       size_t count, int64_t until, struct fis_error *e)
{
    static const struct stream_property forced[] = {
        {"enable.idempotence", "false"}, {"acks", "2"}, {"retries", "0"}, {"linger.ms", "0"}};
    struct stream_link link;
    rd_kafka_t *rk;
    int rc = open_client(&rk, &link, RD_KAFKA_PRODUCER, client, forced,
                         sizeof forced / sizeof *forced, e);
    if (rc)
        return rc;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(rk);
    for (size_t i = 0; i < count; i++)
        if (topics[i].writing)
            (void)rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topics[i].topic), RD_KAFKA_V_PARTITION(0),
                                    RD_KAFKA_V_KEY("?", 1), RD_KAFKA_V_VALUE("?", 1),
                                    RD_KAFKA_V_END);
    while (!all_known(topics, count, true) && stream_now_ms() < until) {
        rd_kafka_event_t *ev = rd_kafka_queue_poll(queue, 100);
        if (ev && rd_kafka_event_type(ev) == RD_KAFKA_EVENT_DR)
            take_reports(ev, topics, count);
        if (ev)
            rd_kafka_event_destroy(ev);
    }
    rd_kafka_queue_destroy(queue);
    (void)rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(rk);
    return 0;
}

int stream_rights_topics(const struct stream_client *client, struct stream_rights *topics,
                         size_t count, int timeout_ms, struct fis_error *e)
{
    int rc = ask_reading(client, topics, count, stream_now_ms() + timeout_ms, e);
    return rc ? rc : ask_writing(client, topics, count, stream_now_ms() + timeout_ms, e);
}

/* ---- groups and transactions --------------------------------------------------------------- */

/* Kafka keeps 4096 bytes (offset.metadata.max.bytes) of metadata with an offset. */
#define TOO_LONG 32000

/* The group's coordinator is not known yet, or moves. */
static bool is_passing(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
           err == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
           err == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
           err == RD_KAFKA_RESP_ERR__WAIT_COORD;
}

/* Behind the check of the group: the topic's, the members', and the one that is meant. */
static enum stream_may judge_commit(rd_kafka_resp_err_t err)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        return STREAM_MAY;
    default:
        return judge(err, RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE);
    }
}

/* A commit of what is committed, so that even a group that kept it would be where it was. */
static rd_kafka_resp_err_t try_commit(rd_kafka_t *rk, const char *topic, int timeout_ms)
{
    const int64_t until = stream_now_ms() + timeout_ms;
    const struct timespec pause = {0, 200000000L};
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, topic, 0);
    rd_kafka_resp_err_t err = rd_kafka_committed(rk, list, timeout_ms);
    p->offset = p->offset < 0 ? 0 : p->offset;
    if (p->metadata)
        rd_kafka_mem_free(rk, p->metadata);
    p->metadata = rd_kafka_mem_calloc(rk, 1, TOO_LONG + 1);
    memset(p->metadata, '?', TOO_LONG);
    p->metadata_size = TOO_LONG;
    if (!err)
        err = rd_kafka_commit(rk, list, 0);
    while (is_passing(err) && stream_now_ms() < until) {
        nanosleep(&pause, NULL);
        err = rd_kafka_commit(rk, list, 0);
    }
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

int stream_right_group(const struct stream_client *client, const char *group, const char *topic,
                       int timeout_ms, enum stream_may *may, struct fis_error *e)
{
    const struct stream_property forced[] = {
        {"group.id", group}, {"enable.auto.commit", "false"}, {"group.instance.id", ""}};
    struct stream_link link;
    rd_kafka_t *rk;
    uint32_t members;
    /* A consumer whose group may not be described looks for its coordinator without an end. */
    if (stream_group_members(client, group, timeout_ms, &members, e) == -FIS_FATAL) {
        *may = STREAM_MAY_NOT;
        return 0;
    }
    int rc = open_client(&rk, &link, RD_KAFKA_CONSUMER, client, forced,
                         sizeof forced / sizeof *forced, e);
    if (rc)
        return rc;
    rd_kafka_resp_err_t err = try_commit(rk, topic, timeout_ms);
    *may = judge_commit(err);
    if (!*may)
        (void)fis_fail(e, FIS_RETRY, "%s", rd_kafka_err2str(err));
    rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return 0;
}

int stream_right_transactions(const struct stream_client *client, const char *id, int timeout_ms,
                              enum stream_may *may, struct fis_error *e)
{
    static const char longest[] = "2147483547"; /* librdkafka adds 100 */
    const struct stream_property forced[] = {{"transactional.id", id},
                                             {"enable.idempotence", "true"},
                                             {"acks", "all"},
                                             {"transaction.timeout.ms", longest}};
    struct stream_link link;
    rd_kafka_t *rk;
    int rc = open_client(&rk, &link, RD_KAFKA_PRODUCER, client, forced,
                         sizeof forced / sizeof *forced, e);
    if (rc)
        return rc;
    rd_kafka_error_t *error = rd_kafka_init_transactions(rk, timeout_ms);
    rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
    *may = judge(err, RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT);
    if (!*may)
        (void)fis_fail(e, FIS_RETRY, "%s", rd_kafka_error_string(error));
    if (error)
        rd_kafka_error_destroy(error);
    rd_kafka_destroy(rk);
    return 0;
}

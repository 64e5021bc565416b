/* Where a topic ends, and how far a consumer group is behind, asked of the broker. */
#include <time.h>

#include "fis/mem.h"
#include "stream/admin.h"
#include "stream/ends.h"
#include "stream/topics.h"

/* A leader or coordinator moves, as when a broker has just started, or was taken for dead. */
static bool has_moved(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           err == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
           err == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
           err == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
}

typedef int question_fn(struct stream_admin *a, void *arg, struct fis_error *e);

/* Asks again, by a client of its own, while something moves: one client keeps that a partition had
 * no leader (ends.c). */
static int ask(const struct stream_client *client, int timeout_ms, question_fn *question, void *arg,
               struct fis_error *e)
{
    const struct timespec pause = {0, 200000000L};
    const int64_t until = stream_now_ms() + timeout_ms;
    for (;;) {
        struct stream_admin a;
        int rc = stream_admin_open(&a, client, timeout_ms, e);
        if (rc)
            return rc;
        rc = question(&a, arg, e);
        const bool again = a.moved && stream_now_ms() < until;
        stream_admin_close(&a);
        if (!again)
            return rc;
        nanosleep(&pause, NULL);
    }
}

/* [list->cnt], the caller's to free. */
static int ask_ends(struct stream_admin *a, const rd_kafka_topic_partition_list_t *list,
                    struct stream_range **out, struct fis_error *e)
{
    const char *topic = list->cnt ? list->elems[0].topic : "";
    struct stream_range *found = fis_calloc((size_t)list->cnt, sizeof *found);
    if (!found)
        return fis_fail(e, FIS_NOMEM, "kafka topic \"%s\": out of memory", topic);
    rd_kafka_resp_err_t err = stream_ends_find(a->rk, list, stream_admin_left(a), found);
    if (err) {
        fis_free(found);
        a->moved = has_moved(err);
        return fis_fail(e, FIS_RETRY, "kafka topic \"%s\": end offsets: %s", topic,
                        rd_kafka_err2str(err));
    }
    stream_admin_answered(a);
    *out = found;
    return 0;
}

static int add_up(struct stream_admin *a, const rd_kafka_topic_partition_list_t *list, int64_t *sum,
                  struct fis_error *e)
{
    struct stream_range *found;
    int rc = ask_ends(a, list, &found, e);
    if (rc)
        return rc;
    for (int i = 0; i < list->cnt; i++) {
        int64_t committed = list->elems[i].offset;
        int64_t from = committed >= found[i].low ? committed : found[i].low;
        *sum += found[i].high > from ? found[i].high - from : 0;
    }
    fis_free(found);
    return 0;
}

static int list_partitions(struct stream_admin *a, const char *topic,
                           rd_kafka_topic_partition_list_t **out, struct fis_error *e)
{
    const struct rd_kafka_metadata *m;
    char what[300];
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(a->rk, topic, NULL);
    if (!rkt)
        return fis_fail(e, FIS_INPUT, "kafka topic \"%s\": not a name", topic);
    snprintf(what, sizeof what, "kafka topic \"%s\"", topic);
    int rc = stream_admin_metadata(a, rkt, what, &m, e);
    rd_kafka_topic_destroy(rkt);
    if (rc)
        return rc;
    rd_kafka_resp_err_t err =
        m->topic_cnt == 1 ? m->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (err) {
        a->moved = has_moved(err);
        rc = fis_fail(e, FIS_RETRY, "kafka topic \"%s\": %s", topic, rd_kafka_err2str(err));
    } else {
        int n = m->topics[0].partition_cnt;
        *out = rd_kafka_topic_partition_list_new(n);
        for (int i = 0; i < n; i++)
            rd_kafka_topic_partition_list_add(*out, topic, m->topics[0].partitions[i].id);
    }
    rd_kafka_metadata_destroy(m);
    return rc;
}

/* Committed offsets are asked through a client that is a member in name only. */
static int committed(struct stream_admin *a, const struct stream_client *client, const char *group,
                     rd_kafka_topic_partition_list_t *list, struct fis_error *e)
{
    const struct stream_property fixed[] = {{"group.id", group}, {"enable.auto.commit", "false"}};
    const struct stream_layers layers = {.fixed = fixed, .fixed_count = 2};
    struct stream_client quiet = *client;
    struct stream_link link;
    quiet.wake = NULL;
    rd_kafka_conf_t *conf;
    rd_kafka_t *rk;
    int rc = stream_client_conf(&conf, &quiet, &layers, &link, e);
    if (!rc)
        rc = stream_client_new(&rk, RD_KAFKA_CONSUMER, conf, e);
    if (rc)
        return rc;
    rd_kafka_resp_err_t err = rd_kafka_committed(rk, list, stream_admin_left(a));
    if (err) {
        a->moved = has_moved(err);
        rc = fis_fail(e, FIS_RETRY, "kafka group \"%s\": committed offsets: %s", group,
                      rd_kafka_err2str(err));
    }
    rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return rc;
}

struct lag_question {
    const struct stream_client *client;
    const char *group, *topic;
    int64_t *lag;
};

static int ask_lag(struct stream_admin *a, void *arg, struct fis_error *e)
{
    const struct lag_question *q = arg;
    rd_kafka_topic_partition_list_t *list = NULL;
    int64_t sum = 0;
    int rc = list_partitions(a, q->topic, &list, e);
    if (!rc)
        rc = committed(a, q->client, q->group, list, e);
    if (!rc)
        rc = add_up(a, list, &sum, e);
    if (list)
        rd_kafka_topic_partition_list_destroy(list);
    if (!rc)
        *q->lag = sum;
    return rc;
}

int stream_group_lag(const struct stream_client *client, const char *group, const char *topic,
                     int timeout_ms, int64_t *lag, struct fis_error *e)
{
    struct lag_question q = {client, group, topic, lag};
    return ask(client, timeout_ms, ask_lag, &q, e);
}

struct ends_question {
    const char *topic;
    struct stream_end **ends;
    uint32_t *count;
};

static int fill_ends(struct stream_admin *a, const rd_kafka_topic_partition_list_t *list,
                     struct stream_end *ends, struct fis_error *e)
{
    struct stream_range *found;
    int rc = ask_ends(a, list, &found, e);
    if (rc)
        return rc;
    for (int i = 0; i < list->cnt; i++)
        ends[i] = (struct stream_end){list->elems[i].partition, found[i].low, found[i].high};
    fis_free(found);
    return 0;
}

static int list_ends(struct stream_admin *a, void *arg, struct fis_error *e)
{
    const struct ends_question *q = arg;
    rd_kafka_topic_partition_list_t *list;
    int rc = list_partitions(a, q->topic, &list, e);
    if (rc)
        return rc;
    rd_kafka_topic_partition_list_sort(list, NULL, NULL);
    struct stream_end *all = fis_alloc((size_t)list->cnt, sizeof *all);
    rc = all ? fill_ends(a, list, all, e)
             : fis_fail(e, FIS_NOMEM, "kafka topic \"%s\": out of memory", q->topic);
    if (rc) {
        fis_free(all);
    } else {
        *q->ends = all;
        *q->count = (uint32_t)list->cnt;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return rc;
}

int stream_topic_ends(const struct stream_client *client, const char *topic, int timeout_ms,
                      struct stream_end **ends, uint32_t *count, struct fis_error *e)
{
    struct ends_question q = {topic, ends, count};
    return ask(client, timeout_ms, list_ends, &q, e);
}

/* ---- what open transactions hide ---------------------------------------------------------- */

/* The sum of the ends of each topic, as this client sees them. */
static int sum_ends(struct stream_admin *a, const char *const *topics, size_t count, int64_t *sums,
                    struct fis_error *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        rd_kafka_topic_partition_list_t *list = NULL;
        struct stream_range *found;
        rc = list_partitions(a, topics[i], &list, e);
        if (!rc)
            rc = ask_ends(a, list, &found, e);
        sums[i] = 0;
        for (int k = 0; !rc && k < list->cnt; k++)
            sums[i] += found[k].high;
        if (!rc)
            fis_free(found);
        if (list)
            rd_kafka_topic_partition_list_destroy(list);
    }
    return rc;
}

struct hidden_question {
    const struct stream_client *client;
    const char *const *topics;
    size_t count;
    int timeout_ms;
    int64_t *sums; /* [2][count] of all messages, of those that readers of committed ones get */
};

static int ask_hidden(struct stream_admin *a, void *arg, struct fis_error *e)
{
    const struct hidden_question *q = arg;
    struct stream_admin all;
    int rc = stream_admin_open_uncommitted(&all, q->client, q->timeout_ms, e);
    if (rc)
        return rc;
    /* The high one first: what is committed in between must not look hidden. */
    rc = sum_ends(&all, q->topics, q->count, q->sums, e);
    if (!rc)
        rc = sum_ends(a, q->topics, q->count, q->sums + q->count, e);
    a->moved |= all.moved;
    stream_admin_close(&all);
    return rc;
}

int stream_topics_hidden(const struct stream_client *client, const char *const *topics,
                         size_t count, int timeout_ms, struct stream_hidden *out,
                         struct fis_error *e)
{
    int64_t *sums = fis_calloc(2 * count + 1, sizeof *sums);
    if (!sums)
        return fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    struct hidden_question q = {client, topics, count, timeout_ms, sums};
    int rc = ask(client, timeout_ms, ask_hidden, &q, e);
    for (size_t i = 0; !rc && i < count; i++) {
        int64_t more = sums[i] - sums[count + i];
        out[i] = (struct stream_hidden){.stable = sums[count + i], .hidden = more > 0 ? more : 0};
    }
    fis_free(sums);
    return rc;
}

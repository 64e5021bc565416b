#include "stream/topics.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "stream/admin.h"

static const char *policy_name(enum stream_cleanup c)
{
    return c == STREAM_CLEANUP_COMPACT ? "compact" : "delete";
}

/* Adds a line's part; the parts are separated by "; ". */
static void note(struct stream_topic_report *r, const char *text)
{
    size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s%s", n ? "; " : "", text);
}

static void clear(struct stream_topic_report *reports, size_t count)
{
    memset(reports, 0, count * sizeof *reports);
}

/* ---- create ----------------------------------------------------------------------------- */

static int new_topic(const struct stream_topic *t, rd_kafka_NewTopic_t **out, struct fis_error *e)
{
    char text[128];
    rd_kafka_NewTopic_t *n =
        rd_kafka_NewTopic_new(t->name, t->partitions, t->replication, text, sizeof text);
    if (!n)
        return fis_fail(e, FIS_INPUT, "kafka topic \"%s\": %s", t->name, text);
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (t->cleanup != STREAM_CLEANUP_ANY)
        err = rd_kafka_NewTopic_set_config(n, "cleanup.policy", policy_name(t->cleanup));
    if (t->broker_time && !err)
        err = rd_kafka_NewTopic_set_config(n, "message.timestamp.type", "LogAppendTime");
    if (t->max_message_bytes && !err) {
        snprintf(text, sizeof text, "%lld", (long long)t->max_message_bytes);
        err = rd_kafka_NewTopic_set_config(n, "max.message.bytes", text);
    }
    for (size_t i = 0; i < t->config_count && !err; i++)
        err = rd_kafka_NewTopic_set_config(n, t->config[i].key, t->config[i].value);
    if (err) {
        rd_kafka_NewTopic_destroy(n);
        return fis_fail(e, FIS_INPUT, "kafka topic \"%s\": %s", t->name, rd_kafka_err2str(err));
    }
    *out = n;
    return 0;
}

/* One topic's answer. */
static int created(const rd_kafka_topic_result_t *result, struct stream_topic_report *r,
                   struct fis_error *e)
{
    rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result);
    r->created = err == RD_KAFKA_RESP_ERR_NO_ERROR;
    r->exists = r->created || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
    if (r->exists)
        return 0;
    const char *text = rd_kafka_topic_result_error_string(result);
    note(r, text ? text : rd_kafka_err2str(err));
    enum fis_error_kind kind =
        err == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT || err == RD_KAFKA_RESP_ERR_NOT_CONTROLLER
            ? FIS_RETRY
            : FIS_FATAL;
    return fis_fail(e, kind, "kafka topic \"%s\" cannot be created: %s",
                    rd_kafka_topic_result_name(result), r->text);
}

static int take_created(const rd_kafka_event_t *ev, const struct stream_topic *topics, size_t count,
                        struct stream_topic_report *reports, struct fis_error *e)
{
    size_t n;
    const rd_kafka_CreateTopics_result_t *result =
        rd_kafka_event_CreateTopics_result((rd_kafka_event_t *)(uintptr_t)ev);
    const rd_kafka_topic_result_t **list = rd_kafka_CreateTopics_result_topics(result, &n);
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < count; k++) {
            if (strcmp(topics[k].name, rd_kafka_topic_result_name(list[i])) == 0) {
                int one = created(list[i], &reports[k], rc ? NULL : e);
                rc = rc ? rc : one;
            }
        }
    }
    return rc;
}

int stream_topics_create(const struct stream_client *client, const struct stream_topic *topics,
                         size_t count, int timeout_ms, struct stream_topic_report *reports,
                         struct fis_error *e)
{
    clear(reports, count);
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    size_t made = 0;
    rd_kafka_NewTopic_t **list = fis_calloc(count ? count : 1, sizeof(rd_kafka_NewTopic_t *));
    if (list)
        rc = stream_admin_ready(&a, e);
    else
        rc = fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    while (!rc && made < count) {
        rc = new_topic(&topics[made], &list[made], e);
        made += rc ? 0 : 1;
    }
    if (!rc && count > 0) {
        rd_kafka_AdminOptions_t *o = stream_admin_options(&a, RD_KAFKA_ADMIN_OP_CREATETOPICS);
        rd_kafka_event_t *ev;
        rd_kafka_CreateTopics(a.rk, list, count, o, a.queue);
        rd_kafka_AdminOptions_destroy(o);
        rc = stream_admin_wait(&a, "create topics", &ev, e);
        if (!rc) {
            rc = take_created(ev, topics, count, reports, e);
            rd_kafka_event_destroy(ev);
        }
    }
    if (list)
        rd_kafka_NewTopic_destroy_array(list, made);
    fis_free(list);
    stream_admin_close(&a);
    return rc;
}

/* ---- check ------------------------------------------------------------------------------ */

static int check_partitions(struct stream_admin *a, const struct stream_topic *t,
                            struct stream_topic_report *r, struct fis_error *e)
{
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(a->rk, t->name, NULL);
    if (!rkt) {
        return fis_fail(e, FIS_INPUT, "kafka topic \"%s\": %s", t->name,
                        rd_kafka_err2str(rd_kafka_last_error()));
    }
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(a->rk, 0, rkt, &m, stream_admin_left(a));
    rd_kafka_topic_destroy(rkt);
    if (err) {
        return fis_fail(e, FIS_RETRY, "kafka topic \"%s\": no broker answers: %s", t->name,
                        rd_kafka_err2str(err));
    }
    const struct rd_kafka_metadata_topic *topic = m->topic_cnt ? &m->topics[0] : NULL;
    char text[96];
    if (!topic || topic->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        r->differs = true;
        note(r, "does not exist");
    } else if (topic->err) {
        r->differs = true;
        note(r, rd_kafka_err2str(topic->err));
    } else {
        r->exists = true;
        r->partitions = topic->partition_cnt;
        if (t->partitions > 0 && t->partitions != topic->partition_cnt) {
            r->differs = true;
            snprintf(text, sizeof text, "has %d partitions, expected %d", topic->partition_cnt,
                     (int)t->partitions);
            note(r, text);
        }
    }
    rd_kafka_metadata_destroy(m);
    return 0;
}

static void compare_policy(const rd_kafka_ConfigResource_t *resource, const struct stream_topic *t,
                           struct stream_topic_report *r)
{
    size_t n;
    char text[128];
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &n);
    if (rd_kafka_ConfigResource_error(resource)) {
        snprintf(text, sizeof text, "cleanup.policy cannot be read: %s",
                 rd_kafka_err2str(rd_kafka_ConfigResource_error(resource)));
        note(r, text);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), "cleanup.policy") == 0 &&
            strcmp(value ? value : "", policy_name(t->cleanup)) != 0) {
            r->differs = true;
            snprintf(text, sizeof text, "cleanup.policy is %s, expected "
                                        "%s", value ? value : "unset",
                     policy_name(t->cleanup));
            note(r, text);
        }
    }
}

static int check_policy(struct stream_admin *a, const struct stream_topic *t,
                        struct stream_topic_report *r, struct fis_error *e)
{
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, t->name);
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(a->rk, &resource, 1, o, a->queue);
    rd_kafka_AdminOptions_destroy(o);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_event_t *ev;
    int rc = stream_admin_wait(a, "describe topics", &ev, e);
    if (rc)
        return rc;
    size_t n;
    const rd_kafka_ConfigResource_t **list =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(ev), &n);
    if (n == 1)
        compare_policy(list[0], t, r);
    rd_kafka_event_destroy(ev);
    return 0;
}

int stream_topics_check(const struct stream_client *client, const struct stream_topic *topics,
                        size_t count, int timeout_ms, struct stream_topic_report *reports,
                        struct fis_error *e)
{
    clear(reports, count);
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < count; i++)
        rc = check_partitions(&a, &topics[i], &reports[i], e);
    if (!rc)
        rc = stream_admin_ready(&a, e);
    for (size_t i = 0; !rc && i < count; i++)
        if (reports[i].exists && topics[i].cleanup != STREAM_CLEANUP_ANY)
            rc = check_policy(&a, &topics[i], &reports[i], e);
    stream_admin_close(&a);
    return rc;
}

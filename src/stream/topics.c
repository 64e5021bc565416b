#include "stream/topics.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "fis/mem.h"
#include "stream/admin.h"

#define SETTINGS_MS 2000

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
    if (t->brief && !err)
        err = rd_kafka_NewTopic_set_config(n, "retention.ms", "600000");
    if (t->brief && !err)
        err = rd_kafka_NewTopic_set_config(n, "segment.ms", "300000");
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
    r->created = r->created || err == RD_KAFKA_RESP_ERR_NO_ERROR;
    r->exists = r->created || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
    r->text[0] = 0;
    if (r->exists)
        return 0;
    const char *text = rd_kafka_topic_result_error_string(result);
    note(r, text ? text : rd_kafka_err2str(err));
    return fis_fail(e, stream_admin_passes(err) ? FIS_RETRY : FIS_FATAL,
                    "kafka topic \"%s\" cannot be created: %s", rd_kafka_topic_result_name(result),
                    r->text);
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

static int ask_creation(struct stream_admin *a, rd_kafka_NewTopic_t **list,
                        const struct stream_topic *topics, size_t count,
                        struct stream_topic_report *reports, struct fis_error *e)
{
    rd_kafka_event_t *ev;
    int rc = stream_admin_ready(a, e);
    if (rc)
        return rc;
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(a->rk, list, count, o, a->queue);
    rd_kafka_AdminOptions_destroy(o);
    rc = stream_admin_wait(a, "create topics", &ev, e);
    if (rc)
        return rc;
    rc = take_created(ev, topics, count, reports, e);
    rd_kafka_event_destroy(ev);
    return rc;
}

int stream_topics_create(const struct stream_client *client, const struct stream_topic *topics,
                         size_t count, int timeout_ms, struct stream_topic_report *reports,
                         struct fis_error *e)
{
    const int64_t until = stream_now_ms() + timeout_ms;
    clear(reports, count);
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    size_t made = 0;
    rd_kafka_NewTopic_t **list = fis_calloc(count ? count : 1, sizeof(rd_kafka_NewTopic_t *));
    if (!list)
        rc = fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    while (!rc && made < count) {
        rc = new_topic(&topics[made], &list[made], e);
        made += rc ? 0 : 1;
    }
    if (!rc && count > 0)
        do
            rc = ask_creation(&a, list, topics, count, reports, e);
        while (rc == -FIS_RETRY && stream_now_ms() < until && stream_admin_pause(&a));
    if (list)
        rd_kafka_NewTopic_destroy_array(list, made);
    fis_free(list);
    stream_admin_close(&a);
    return rc;
}

/* ---- check ------------------------------------------------------------------------------ */

static void count_replicas(const struct rd_kafka_metadata_topic *topic,
                           struct stream_topic_report *r)
{
    r->partitions = topic->partition_cnt;
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *p = &topic->partitions[i];
        r->replicas = i && r->replicas < p->replica_cnt ? r->replicas : p->replica_cnt;
        r->in_sync = i && r->in_sync < p->isr_cnt ? r->in_sync : p->isr_cnt;
        r->leaderless += p->leader < 0;
    }
}

static int check_partitions(struct stream_admin *a, const struct stream_topic *t,
                            struct stream_topic_report *r, struct fis_error *e)
{
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(a->rk, t->name, NULL);
    if (!rkt) {
        return fis_fail(e, FIS_INPUT, "kafka topic \"%s\": %s", t->name,
                        rd_kafka_err2str(rd_kafka_last_error()));
    }
    const struct rd_kafka_metadata *m;
    char text[300];
    snprintf(text, sizeof text, "kafka topic \"%s\"", t->name);
    int rc = stream_admin_metadata(a, rkt, text, &m, e);
    rd_kafka_topic_destroy(rkt);
    if (rc)
        return rc;
    const struct rd_kafka_metadata_topic *topic = m->topic_cnt ? &m->topics[0] : NULL;
    if (!topic || topic->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        r->differs = r->missing = true;
        note(r, "does not exist");
    } else if (topic->err) {
        r->differs = true;
        r->denied = topic->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        note(r, rd_kafka_err2str(topic->err));
    } else {
        r->exists = true;
        count_replicas(topic, r);
        if (t->partitions > 0 && t->partitions != topic->partition_cnt) {
            r->differs = true;
            snprintf(text, sizeof text, "has %s, expected %d",
                     DECIMAL_COUNT((uint64_t)topic->partition_cnt, "partition"),
                     (int)t->partitions);
            note(r, text);
        }
    }
    rd_kafka_metadata_destroy(m);
    return 0;
}

/* It exists with another cleanup.policy than it should. */
static bool stream_topic_kept_otherwise(const struct stream_topic *t,
                                        const struct stream_topic_report *r)
{
    return r->exists && r->kept.known && t->cleanup != STREAM_CLEANUP_ANY &&
           strcmp(r->kept.cleanup, policy_name(t->cleanup)) != 0;
}

static bool other_limit(const struct stream_topic *t, const struct stream_topic_settings *kept)
{
    return kept->max_message_bytes > 0 && kept->max_message_bytes < t->max_message_bytes;
}

/* Compaction keeps the newest of each key for ever; "compact,delete" does not. */
static void compare(const struct stream_topic *t, struct stream_topic_report *r)
{
    char text[128];
    const struct stream_topic_settings *kept = &r->kept;
    if (!kept->known) {
        note(r, "its settings cannot be read");
        note(r, kept->why);
        return;
    }
    if (stream_topic_kept_otherwise(t, r)) {
        r->differs = true;
        r->loses = t->cleanup == STREAM_CLEANUP_COMPACT && (t->state || stream_topic_deletes(kept));
        snprintf(text, sizeof text, "cleanup.policy is %s, expected %s", kept->cleanup,
                 policy_name(t->cleanup));
        note(r, text);
    }
    if (other_limit(t, kept)) {
        r->differs = true;
        snprintf(text, sizeof text, "max.message.bytes is %lld, expected %lld",
                 (long long)kept->max_message_bytes, (long long)t->max_message_bytes);
        note(r, text);
    }
}

static int check_settings(struct stream_admin *a, const struct stream_topic *topics, size_t count,
                          struct stream_topic_report *reports, struct fis_error *e)
{
    const char **names = fis_calloc(count ? count : 1, sizeof *names);
    struct stream_topic_settings *kept = fis_calloc(count ? count : 1, sizeof *kept);
    int rc = names && kept ? 0 : fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    for (size_t i = 0; !rc && i < count; i++)
        names[i] = topics[i].name;
    if (!rc)
        rc = stream_topics_describe(a, names, count, kept, e);
    for (size_t i = 0; !rc && i < count; i++) {
        reports[i].kept = kept[i];
        if (reports[i].exists)
            compare(&topics[i], &reports[i]);
    }
    fis_free(names);
    fis_free(kept);
    return rc;
}

static int check_all(struct stream_admin *a, const struct stream_topic *topics, size_t count,
                     struct stream_topic_report *reports, struct fis_error *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        reports[i] = (struct stream_topic_report){.created = reports[i].created,
                                                  .seen = reports[i].seen || reports[i].exists};
        rc = check_partitions(a, &topics[i], &reports[i], e);
    }
    if (!rc)
        rc = stream_admin_ready(a, e);
    return rc ? rc : check_settings(a, topics, count, reports, e);
}

/* A topic that was just made, by this call or another, may be unknown to the broker that is asked,
 * for seconds when it is busy; whether its settings are known soon may be a matter of rights. How
 * long to wait for it. */
static int wait_for_made(const struct stream_topic_report *reports, size_t count, int timeout_ms)
{
    int ms = 0;
    for (size_t i = 0; i < count; i++)
        if (reports[i].seen && !reports[i].exists)
            return timeout_ms;
        else if (reports[i].created && !reports[i].kept.known)
            ms = SETTINGS_MS;
    return ms;
}

int stream_topics_check(const struct stream_client *client, const struct stream_topic *topics,
                        size_t count, int timeout_ms, struct stream_topic_report *reports,
                        struct fis_error *e)
{
    int64_t began = stream_now_ms();
    struct stream_admin a;
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc)
        return rc;
    int wait_ms;
    do {
        rc = check_all(&a, topics, count, reports, e);
        wait_ms = rc == -FIS_RETRY ? timeout_ms
                  : rc             ? 0
                                   : wait_for_made(reports, count, timeout_ms);
    } while (stream_now_ms() - began < wait_ms && stream_admin_pause(&a));
    stream_admin_close(&a);
    return rc;
}

enum stream_topic_fault stream_topic_judge(const struct stream_topic *t,
                                           const struct stream_topic_report *r)
{
    bool compacts = r->kept.known && strstr(r->kept.cleanup, "compact") != NULL;
    return r->loses                                  ? STREAM_TOPIC_LOSES
           : t->keyless && compacts                  ? STREAM_TOPIC_KEYED
           : r->partitions > 1 && t->ordered         ? STREAM_TOPIC_UNORDERED
           : stream_topic_kept_otherwise(t, r)       ? STREAM_TOPIC_POLICY
           : t->state && r->exists && !r->kept.known ? STREAM_TOPIC_UNKNOWN
                                                     : STREAM_TOPIC_WELL;
}

void stream_topic_command(const struct stream_topic *t, const struct stream_topic_report *r,
                          const char *where, char *text, size_t size)
{
    bool policy = stream_topic_kept_otherwise(t, r), limit = other_limit(t, &r->kept);
    size_t n = 0;
    text[0] = 0;
    if (!r->exists || (!policy && !limit))
        return;
    n += (size_t)snprintf(text, size,
                          "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics "
                          "--entity-name %s --add-config %s%s%s",
                          where, t->name, policy ? "cleanup.policy=" : "",
                          policy ? policy_name(t->cleanup) : "", policy && limit ? "," : "");
    if (limit && n < size)
        snprintf(text + n, size - n, "max.message.bytes=%lld", (long long)t->max_message_bytes);
}

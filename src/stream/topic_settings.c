/* How each topic is kept, as the broker describes it. */
#include "stream/topics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "stream/admin.h"

static void take_entry(const rd_kafka_ConfigEntry_t *entry, struct stream_topic_settings *s)
{
    const char *name = rd_kafka_ConfigEntry_name(entry), *value = rd_kafka_ConfigEntry_value(entry);
    if (!value)
        return;
    if (strcmp(name, "cleanup.policy") == 0)
        snprintf(s->cleanup, sizeof s->cleanup, "%s", value);
    else if (strcmp(name, "retention.ms") == 0)
        s->retention_ms = strtoll(value, NULL, 10);
    else if (strcmp(name, "retention.bytes") == 0)
        s->retention_bytes = strtoll(value, NULL, 10);
    else if (strcmp(name, "max.message.bytes") == 0)
        s->max_message_bytes = strtoll(value, NULL, 10);
    else if (strcmp(name, "message.timestamp.type") == 0)
        s->broker_time = !strcmp(value, "LogAppendTime");
    else if (strcmp(name, "min.insync.replicas") == 0)
        s->min_insync = (int32_t)strtol(value, NULL, 10);
}

static void take_resource(const rd_kafka_ConfigResource_t *resource,
                          struct stream_topic_settings *s)
{
    size_t n;
    rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(resource);
    if (err) {
        snprintf(s->why, sizeof s->why, "%s", rd_kafka_err2str(err));
        return;
    }
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &n);
    for (size_t i = 0; i < n; i++)
        take_entry(entries[i], s);
    s->known = s->cleanup[0] != 0;
}

static void take_all(const rd_kafka_event_t *ev, const char *const *names, size_t count,
                     struct stream_topic_settings *out)
{
    size_t n;
    const rd_kafka_ConfigResource_t **list = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result((rd_kafka_event_t *)(uintptr_t)ev), &n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(names[k], rd_kafka_ConfigResource_name(list[i])) == 0)
                take_resource(list[i], &out[k]);
}

int stream_topics_describe(struct stream_admin *a, const char *const *names, size_t count,
                           struct stream_topic_settings *out, struct fis_error *e)
{
    rd_kafka_event_t *ev;
    for (size_t i = 0; i < count; i++)
        out[i] = (struct stream_topic_settings){.retention_ms = -1, .retention_bytes = -1};
    rd_kafka_ConfigResource_t **list = fis_calloc(count ? count : 1, sizeof(void *));
    if (!list)
        return fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    for (size_t i = 0; i < count; i++)
        list[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, names[i]);
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(a->rk, list, count, o, a->queue);
    rd_kafka_AdminOptions_destroy(o);
    rd_kafka_ConfigResource_destroy_array(list, count);
    fis_free(list);
    struct fis_error why;
    int rc = stream_admin_wait(a, "describe topics", &ev, &why);
    if (rc == 0) {
        take_all(ev, names, count, out);
        rd_kafka_event_destroy(ev);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        snprintf(out[i].why, sizeof out[i].why, "%s", why.text);
    if (e)
        *e = why;
    /* A broker that does not answer for its settings is no reason to stop. */
    return rc == -FIS_RETRY || rc > 0 ? rc : 0;
}

bool stream_topic_deletes(const struct stream_topic_settings *s)
{
    return s->known && strstr(s->cleanup, "delete") &&
           (s->retention_ms >= 0 || s->retention_bytes >= 0);
}

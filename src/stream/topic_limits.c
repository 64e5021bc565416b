/* How large a message each topic takes, as the broker says. */
#include "stream/topics.h"

#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "stream/admin.h"

static int64_t limit_of(const rd_kafka_ConfigResource_t *resource)
{
    size_t n;
    if (rd_kafka_ConfigResource_error(resource))
        return 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &n);
    for (size_t i = 0; i < n; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (value && strcmp(rd_kafka_ConfigEntry_name(entries[i]), "max.message.bytes") == 0)
            return strtoll(value, NULL, 10);
    }
    return 0;
}

static void take_limits(const rd_kafka_event_t *ev, const char *const *names, size_t count,
                        int64_t *limits)
{
    size_t n;
    const rd_kafka_ConfigResource_t **list = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result((rd_kafka_event_t *)(uintptr_t)ev), &n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(names[k], rd_kafka_ConfigResource_name(list[i])) == 0)
                limits[k] = limit_of(list[i]);
}

static int ask(struct stream_admin *a, rd_kafka_ConfigResource_t **list, const char *const *names,
               size_t count, int64_t *limits, struct fis_error *e)
{
    rd_kafka_event_t *ev;
    rd_kafka_AdminOptions_t *o = stream_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(a->rk, list, count, o, a->queue);
    rd_kafka_AdminOptions_destroy(o);
    int rc = stream_admin_wait(a, "describe topics", &ev, e);
    if (rc == 0) {
        take_limits(ev, names, count, limits);
        rd_kafka_event_destroy(ev);
    }
    /* A broker that does not say is no reason to stop. */
    return rc == -FIS_RETRY ? rc : 0;
}

int stream_topics_limits(const struct stream_client *client, const char *const *names, size_t count,
                         int timeout_ms, int64_t *limits, struct fis_error *e)
{
    struct stream_admin a;
    memset(limits, 0, count * sizeof *limits);
    rd_kafka_ConfigResource_t **list = fis_calloc(count ? count : 1, sizeof(void *));
    if (!list)
        return fis_fail(e, FIS_NOMEM, "kafka topics: out of memory");
    int rc = stream_admin_open(&a, client, timeout_ms, e);
    if (rc == 0) {
        for (size_t i = 0; i < count; i++)
            list[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, names[i]);
        rc = ask(&a, list, names, count, limits, e);
        rd_kafka_ConfigResource_destroy_array(list, count);
        stream_admin_close(&a);
    }
    fis_free(list);
    return rc;
}

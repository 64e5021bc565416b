#include "stream/client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/secret.h"

const char *stream_property_find(const struct stream_property *properties, size_t count,
                                 const char *key)
{
    const char *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(properties[i].key, key) == 0)
            found = properties[i].value;
    return found;
}

static int set(rd_kafka_conf_t *conf, const struct stream_property *p, struct fis_error *e)
{
    char text[256];
    switch (rd_kafka_conf_set(conf, p->key, p->value, text, sizeof text)) {
    case RD_KAFKA_CONF_OK:
        return 0;
    case RD_KAFKA_CONF_UNKNOWN:
        return fis_fail(e, FIS_INPUT, "kafka property \"%s\" is not known to librdkafka %s", p->key,
                        rd_kafka_version_str());
    default:
        if (secret_name(p->key)) {
            return fis_fail(e, FIS_INPUT,
                            "kafka property \"%s\": librdkafka refuses the value (not shown here)",
                            p->key);
        }
        return fis_fail(e, FIS_INPUT, "kafka property \"%s\": %s", p->key, text);
    }
}

static bool names_brokers(const char *key)
{
    return !strcmp(key, "bootstrap.servers") || !strcmp(key, "metadata.broker.list");
}

int stream_property_check(const struct stream_property *p, struct fis_error *e)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    int rc = set(conf, p, e);
    rd_kafka_conf_destroy(conf);
    return rc || !names_brokers(p->key) ? rc : stream_brokers_check(p->value, NULL, e);
}

static int set_all(rd_kafka_conf_t *conf, const struct stream_property *list, size_t count,
                   struct fis_error *e)
{
    for (size_t i = 0; i < count; i++) {
        int rc = list[i].value ? set(conf, &list[i], e) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

static int set_operators(rd_kafka_conf_t *conf, const struct stream_client *client,
                         const struct stream_layers *l, struct fis_error *e)
{
    for (size_t i = 0; i < client->property_count; i++) {
        const struct stream_property *p = &client->properties[i];
        for (size_t k = 0; k < l->fixed_count; k++) {
            const struct stream_property *f = &l->fixed[k];
            if (strcmp(p->key, f->key) == 0 && (!f->value || strcmp(p->value, f->value) != 0)) {
                return fis_fail(e, FIS_INPUT,
                                "kafka property \"%s\" is set by fisd itself and may not be given",
                                p->key);
            }
        }
        int rc = set(conf, p, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* librdkafka would start without a broker and wait for ever. */
int stream_brokers_find(const struct stream_property *properties, size_t count, const char **out,
                        struct fis_error *e)
{
    const char *b = stream_property_find(properties, count, "bootstrap.servers");
    const char *protocol = stream_property_find(properties, count, "security.protocol");
    if (!b)
        b = stream_property_find(properties, count, "metadata.broker.list");
    if (!b || !*b)
        return fis_fail(e, FIS_INPUT,
                        "kafka property \"bootstrap.servers\" is missing: host:port[,host:port]");
    *out = b;
    return stream_brokers_check(b, protocol ? protocol : "plaintext", e);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    const struct stream_link *link = rd_kafka_opaque(rk);
    (void)facility;
    if (link && link->log)
        link->log(link->log_arg, level, text);
}

const char *stream_client_about(const struct stream_link *link, rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ? link->brokers : "";
}

void stream_client_stats(const struct stream_link *link, const char *json, size_t length)
{
    if (link->stats && link->name)
        link->stats(link->stats_arg, link->name, json, length);
}

static long number(const struct stream_client *client, const char *key)
{
    const char *v = stream_property_find(client->properties, client->property_count, key);
    return v ? strtol(v, NULL, 10) : 0;
}

/* How long a broker that hangs holds a request, and with it a takeover, before the request goes to
 * who leads by then. librdkafka's 60 s is also the longest transaction. Not below what a cluster
 * needs to notice such a broker (broker.session.timeout.ms, 9 s): until then the others wait for
 * its acknowledgements, and must not be given up too. NULL where the operator's own times leave no
 * room for it: librdkafka then fits its default to a short transaction. */
static const char *request_timeout(const struct stream_client *client)
{
    static const char usual[] = "15000";
    const long ms = strtol(usual, NULL, 10), transaction = number(client, "transaction.timeout.ms");
    bool fits = transaction == 0 || (transaction >= ms && transaction <= INT_MAX - 100);
    return fits && number(client, "fetch.wait.max.ms") + 1000 <= ms ? usual : NULL;
}

int stream_client_conf(rd_kafka_conf_t **out, const struct stream_client *client,
                       const struct stream_layers *layers, struct stream_link *link,
                       struct fis_error *e)
{
    const char *brokers = NULL;
    int rc = stream_brokers_find(client->properties, client->property_count, &brokers, e);
    if (rc)
        return rc;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const struct stream_property common[] = {
        {"client.id", "fisd"},
        {"socket.timeout.ms", request_timeout(client)},
        {"statistics.interval.ms", client->name ? "5000" : NULL},
    };
    rc = set_all(conf, common, sizeof common / sizeof *common, e);
    if (!rc)
        rc = set_all(conf, layers->defaults, layers->default_count, e);
    if (!rc)
        rc = set_operators(conf, client, layers, e);
    if (!rc)
        rc = set_all(conf, layers->fixed, layers->fixed_count, e);
    if (!rc)
        rc = set_all(conf, layers->forced, layers->forced_count, e);
    if (rc) {
        rd_kafka_conf_destroy(conf);
        return rc;
    }
    *link = (struct stream_link){
        .wake = client->wake,
        .wake_arg = client->wake_arg,
        .log = client->log,
        .log_arg = client->log_arg,
        .stats = client->stats,
        .stats_arg = client->stats_arg,
        .name = client->name,
    };
    snprintf(link->brokers, sizeof link->brokers, "%s", brokers);
    rd_kafka_conf_set_opaque(conf, link);
    rd_kafka_conf_set_log_cb(conf, on_log);
    *out = conf;
    return 0;
}

int stream_client_new(rd_kafka_t **out, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                      struct fis_error *e)
{
    char text[256];
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof text);
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        return fis_fail(e, FIS_INPUT, "kafka %s cannot start: %s",
                        type == RD_KAFKA_CONSUMER ? "consumer" : "producer", text);
    }
    *out = rk;
    return 0;
}

static void on_queue(rd_kafka_t *rk, void *arg)
{
    const struct stream_link *link = arg;
    (void)rk;
    link->wake(link->wake_arg);
}

void stream_client_watch(rd_kafka_queue_t *queue, struct stream_link *link)
{
    if (link->wake)
        rd_kafka_queue_cb_event_enable(queue, on_queue, link);
}

int64_t stream_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void stream_errors_push(struct stream_errors *q, enum fis_error_kind kind, const char *text)
{
    struct fis_error e;
    (void)fis_fail(&e, kind, "%s", text);
    for (uint32_t i = 0; i < q->count; i++)
        if (q->items[i].kind == kind && strcmp(q->items[i].text, e.text) == 0)
            return;
    if (q->count < STREAM_ERRORS)
        q->items[q->count++] = e;
    else if (kind != FIS_RETRY)
        q->items[STREAM_ERRORS - 1] = e;
}

bool stream_errors_pop(struct stream_errors *q, struct fis_error *e)
{
    if (q->count == 0)
        return false;
    *e = q->items[0];
    q->count--;
    memmove(&q->items[0], &q->items[1], q->count * sizeof q->items[0]);
    return true;
}

/* librdkafka frees the metadata; without memory the mark is left out. */
rd_kafka_topic_partition_list_t *stream_offsets_list(const struct stream_offset *offsets,
                                                     size_t count)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        const struct stream_offset *o = &offsets[i];
        rd_kafka_topic_partition_t *p =
            rd_kafka_topic_partition_list_add(list, o->topic, o->partition);
        char text[32];
        p->offset = o->offset;
        int n = snprintf(text, sizeof text, STREAM_MARK "%llu", (unsigned long long)o->mark);
        p->metadata = o->mark ? strdup(text) : NULL;
        p->metadata_size = p->metadata ? (size_t)n : 0;
    }
    return list;
}

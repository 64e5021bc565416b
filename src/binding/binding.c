#include "binding/binding.h"

#include <stdlib.h>

uint32_t binding_properties(const struct config *cfg, struct stream_property *out)
{
    const struct config_properties *p = &cfg->kafka;
    for (uint32_t i = 0; i < p->count; i++)
        out[i] = (struct stream_property){p->items[i].name, p->items[i].value};
    return p->count;
}

struct stream_topic binding_topic(const struct config_topic *t)
{
    return (struct stream_topic){
        .name = t->name,
        .partitions = (int32_t)t->partitions,
        .replication = (int16_t)t->replication,
        .cleanup = t->compact ? STREAM_CLEANUP_COMPACT : STREAM_CLEANUP_DELETE,
        .state = t->compact && !t->yours,
        .ordered = t->ordered,
        .keyless = t->keyless,
        /* Kafka refuses what is stamped an hour ahead, and a clock may be wrong by more. */
        .broker_time = !t->yours,
        .max_message_bytes = (int64_t)t->max_message_bytes,
        .brief = t->brief,
    };
}

size_t binding_message_limit(const struct config *cfg, const struct stream_topic_report *topic,
                             size_t otherwise)
{
    const char *own = config_kafka(cfg, "message.max.bytes");
    const int64_t there = topic->kept.max_message_bytes;
    const size_t limit = there > 0 ? (size_t)there : otherwise;
    const size_t mine = own ? strtoull(own, NULL, 10) : SIZE_MAX;
    return mine < limit ? mine : limit;
}

struct registry_options binding_registry(const struct config *cfg, bool (*stopped)(void *arg),
                                         void *arg)
{
    const struct config_registry *r = &cfg->records.registry;
    return (struct registry_options){.url = r->url,
                                     .ca_file = r->ca_file,
                                     .certificate = r->tls_cert,
                                     .key = r->tls_key,
                                     .user = r->user,
                                     .password = r->password,
                                     .timeout_ms = (uint32_t)r->timeout,
                                     .stopped = stopped,
                                     .arg = arg};
}

struct wire_message binding_message(const struct stream_message *m, const char *topic)
{
    return (struct wire_message){
        .topic = topic,
        .partition = m->partition,
        .offset = m->offset,
        .timestamp_ms = m->timestamp_ms,
        .key = {m->key, m->key_length},
        .value = {m->value, m->value_length},
    };
}

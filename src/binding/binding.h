/*
 * The configuration as stream and registry take it, for fisd and fisctl alike.
 * Thread: no state. Owns: nothing; names and texts are the configuration's, bytes the message's.
 */
#ifndef BINDING_BINDING_H
#define BINDING_BINDING_H

#include "config/topic_list.h"
#include "registry/registry.h"
#include "stream/consumer.h"
#include "stream/topics.h"
#include "wire/types.h"

/* Properties of every Kafka client: out[cfg->kafka.count]; returns how many. */
uint32_t binding_properties(const struct config *cfg, struct stream_property *out);

/* How a topic is created, and checked by fisd. */
struct stream_topic binding_topic(const struct config_topic *t);

/* The longest message that a topic takes and producers send, which may have a limit of their own;
 * `otherwise`: of a topic of which the broker reported none. */
size_t binding_message_limit(const struct config *cfg, const struct stream_topic_report *topic,
                             size_t otherwise);

/* `stopped` breaks off a request; asked by the thread that waits. */
struct registry_options binding_registry(const struct config *cfg, bool (*stopped)(void *arg),
                                         void *arg);

struct wire_message binding_message(const struct stream_message *m, const char *topic);

#endif

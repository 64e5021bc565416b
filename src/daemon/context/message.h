/* A message of Kafka's in the words of src/wire. Borrows its bytes. */
#ifndef DAEMON_MESSAGE_H
#define DAEMON_MESSAGE_H

#include "stream/consumer.h"
#include "wire/types.h"

static inline struct wire_message message_of(const struct stream_message *m, const char *topic)
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

#endif

#include "daemon/dead_letter.h"

#include <stdio.h>
#include <string.h>

/* What Kafka's framing and our headers take besides key and value, generously. */
#define OVERHEAD ((size_t)2048)
#define NUMBER 32

static size_t cut(size_t length, size_t room)
{
    return length < room ? length : room;
}

static struct stream_header number(const char *name, char text[NUMBER], long long value)
{
    int n = snprintf(text, NUMBER, "%lld", value);
    return (struct stream_header){name, text, (size_t)n};
}

int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const char *reason, size_t limit, uint64_t token, struct fis_error *e)
{
    char partition[NUMBER], offset[NUMBER], length[NUMBER], key_length[NUMBER];
    size_t room = limit == 0 ? SIZE_MAX : limit > OVERHEAD ? limit - OVERHEAD : 0;
    size_t key = cut(m->key.length, room), value = cut(m->value.length, room - key);
    struct stream_header headers[6] = {
        {"fis.error.topic", m->topic, strlen(m->topic)},
        number("fis.error.partition", partition, m->partition),
        number("fis.error.offset", offset, m->offset),
        {"fis.error.reason", reason, strlen(reason)},
    };
    size_t n = 4;
    if (value < m->value.length)
        headers[n++] = number("fis.error.length", length, (long long)m->value.length);
    if (key < m->key.length)
        headers[n++] = number("fis.error.key_length", key_length, (long long)m->key.length);
    return stream_producer_send_headers(p, topic, -1, m->key.data, key, m->value.data, value,
                                        headers, n, token, e);
}

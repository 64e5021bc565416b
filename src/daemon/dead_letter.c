#include "daemon/dead_letter.h"

#include <stdio.h>
#include <string.h>

int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const char *reason, uint64_t token, struct fis_error *e)
{
    char partition[16], offset[32];
    snprintf(partition, sizeof partition, "%d", (int)m->partition);
    snprintf(offset, sizeof offset, "%lld", (long long)m->offset);
    const struct stream_header headers[] = {
        {"fis.error.topic", m->topic, strlen(m->topic)},
        {"fis.error.partition", partition, strlen(partition)},
        {"fis.error.offset", offset, strlen(offset)},
        {"fis.error.reason", reason, strlen(reason)},
    };
    return stream_producer_send_headers(p, topic, -1, m->key.data, m->key.length, m->value.data,
                                        m->value.length, headers,
                                        sizeof headers / sizeof *headers, token, e);
}

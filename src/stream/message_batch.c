#include <assert.h>

#include <librdkafka/rdkafka.h>

#include "fis/mem.h"
#include "stream/consumer.h"

struct stream_batch *stream_batch_new(uint32_t capacity)
{
    assert(capacity > 0);
    struct stream_batch *b = fis_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->messages = fis_alloc(capacity, sizeof *b->messages);
    b->handles = fis_alloc(capacity, sizeof *b->handles);
    b->capacity = capacity;
    if (!b->messages || !b->handles) {
        stream_batch_free(b);
        return NULL;
    }
    return b;
}

void stream_batch_release(struct stream_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        rd_kafka_message_destroy(b->handles[i]);
    b->count = 0;
}

void stream_batch_free(struct stream_batch *b)
{
    if (!b)
        return;
    stream_batch_release(b);
    fis_free(b->messages);
    fis_free(b->handles);
    fis_free(b);
}

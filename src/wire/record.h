/* How a decoded record is written, private to the decoders. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <string.h>

#include "wire/types.h"

/* Most ids are short: to copy 8 bytes at a time is quicker than to ask memcpy. */
static inline void wire_record_copy(char *to, const char *from, size_t n)
{
    size_t at = 0;
    for (; n - at >= 8; at += 8)
        memcpy(to + at, from + at, 8);
    for (; at < n; at++)
        to[at] = from[at];
}

/* Only the bytes that the id has are touched: records are many, and their ids have room for 255.
 * `id` has been checked, and may lie in the record's message. */
static inline void wire_record_set(struct wire_record *r, struct wire_bytes id,
                                   int64_t event_time_ms, uint32_t unseen)
{
    r->id.length = (uint8_t)id.length;
    wire_record_copy(r->id.bytes, id.data, id.length);
    r->event_time_ms = event_time_ms;
    r->unseen = unseen;
}

#endif

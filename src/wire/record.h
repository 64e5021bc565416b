/* How a decoded record is written, private to the decoders. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <string.h>

#include "wire/types.h"

/* Only the bytes that the id has are touched: records are many, and their ids have room for 255.
 * `id` has been checked, and may lie in the record's message. */
static inline void wire_record_set(struct wire_record *r, struct wire_bytes id,
                                   int64_t event_time_ms, uint32_t unseen)
{
    r->id.length = (uint8_t)id.length;
    memcpy(r->id.bytes, id.data, id.length);
    r->event_time_ms = event_time_ms;
    r->unseen = unseen;
}

#endif

/* How a decoded record is written, private to the decoders. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <string.h>

#include "wire/types.h"
#include "base/utf8.h"

/* As wire_message_find_id, by place too: nearly all ids are a plain key, which takes no call. */
static inline int wire_record_find_id(const struct wire_message *m, struct wire_bytes own,
                                      char place[FIS_ID_MAX], struct wire_bytes *id,
                                      struct fis_error *e)
{
    if (own.length || !m->key.length || m->key.length > FIS_ID_MAX ||
        !utf8_plain(m->key.data, m->key.length))
        return wire_message_find_id(m, own, 1, place, id, e);
    *id = m->key;
    return 0;
}

/* Most ids are short: to copy 8 bytes at a time, the last of which may be among those before, is
 * quicker than to ask memcpy. */
static inline void wire_record_copy(char *to, const char *from, size_t n)
{
    if (n >= 8) {
        for (size_t at = 0; at < n - 8; at += 8)
            memcpy(to + at, from + at, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        uint32_t front, back;
        memcpy(&front, from, 4);
        memcpy(&back, from + n - 4, 4);
        memcpy(to, &front, 4);
        memcpy(to + n - 4, &back, 4);
    } else {
        for (size_t at = 0; at < n; at++)
            to[at] = from[at];
    }
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

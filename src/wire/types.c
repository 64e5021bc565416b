#include "wire/types.h"

#include <string.h>

#include "base/category.h"
#include "base/utf8.h"
#include "wire/source.h"

const char *wire_encoding_name(enum wire_encoding e)
{
    switch (e) {
    case WIRE_JSON:
        return "json";
    case WIRE_PROTOBUF:
        return "protobuf";
    case WIRE_RAW:
        return "raw";
    case WIRE_REGISTRY:
        return "registry";
    }
    return "unknown";
}

/* Whether the list has the name; below: a member of an object of this name. */
static bool has_name(const struct wire_names *list, const char *name, size_t length, bool below)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (strncmp(list->names[i], name, length) == 0 &&
            list->names[i][length] == (below ? '.' : 0))
            return true;
    return false;
}

enum wire_unknown wire_schema_unknown(const struct wire_schema *s, const char *name, size_t length)
{
    const struct wire_members *m = &s->members;
    for (int k = WIRE_REFUSE; k <= WIRE_PASS; k++)
        if (has_name(&m->listed[k], name, length, false))
            return (enum wire_unknown)k;
    return m->others == WIRE_PASS && has_name(&m->sensitive, name, length, false) ? WIRE_REFUSE
                                                                                  : m->others;
}

bool wire_schema_inside(const struct wire_schema *s, const char *name, size_t length)
{
    const struct wire_members *m = &s->members;
    bool found = has_name(&m->sensitive, name, length, true);
    for (int k = WIRE_REFUSE; k <= WIRE_PASS; k++) {
        if (has_name(&m->listed[k], name, length, false))
            return false;
        found |= has_name(&m->listed[k], name, length, true);
    }
    return found;
}

int wire_schema_class(const struct wire_schema *s, const char *text, size_t length)
{
    for (uint32_t k = 0; k < s->n_classes; k++)
        if (category_same(s->classes[k], strlen(s->classes[k]), text, length))
            return (int)k;
    return -1;
}

static int check_id(struct wire_bytes from, const char *where, struct fis_error *e)
{
    if (from.length > FIS_ID_MAX)
        return fis_refuse(e, FIS_CODE_BAD_ID, "%s: an id of %zu bytes, at most %d allowed", where,
                          from.length, FIS_ID_MAX);
    if (utf8_plain(from.data, from.length))
        return 0;
    size_t valid = utf8_prefix(from.data, from.length);
    if (valid < from.length)
        return fis_refuse(e, FIS_CODE_BAD_ID, "%s: the id is not UTF-8 at byte %zu", where, valid);
    /* The trainer's own keys begin with one, and JSON has no id that holds one. */
    if (from.length && memchr(from.data, 0, from.length))
        return fis_refuse(e, FIS_CODE_BAD_ID, "%s: the id holds a NUL, which is not allowed",
                          where);
    return 0;
}

/* Writes "/number" so that it ends at `end`; returns where it begins. */
static char *put_number(char *end, int64_t number)
{
    uint64_t n = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--end = (char)('0' + n % 10);
    while (n /= 10);
    if (number < 0)
        *--end = '-';
    *--end = '/';
    return end;
}

int wire_message_find_id(const struct wire_message *m, struct wire_bytes own, int by_place,
                         char place[FIS_ID_MAX], struct wire_bytes *id, struct fis_error *e)
{
    int rc = 0;
    if (own.length) {
        *id = own;
        rc = check_id(own, "id", e);
    } else if (m->key.length) {
        *id = m->key;
        rc = check_id(m->key, "key", e);
    } else if (by_place) {
        /* A topic's name may have 249 bytes; of the longest, the front gives way. */
        char *end = place + FIS_ID_MAX,
             *at = put_number(put_number(end, m->offset), wire_source_partition(m->partition));
        const char *topic = m->topic ? m->topic : "";
        size_t room = (size_t)(at - place), length = strlen(topic),
               n = length < room ? length : room;
        at -= n;
        memcpy(at, topic + length - n, n);
        *id = (struct wire_bytes){at, (size_t)(end - at)};
        rc = check_id(*id, "topic/partition/offset", e);
    } else {
        rc = fis_refuse(e, FIS_CODE_BAD_ID, "no id: neither a field nor the message's key has one");
    }
    return rc;
}

int wire_message_id(const struct wire_message *m, struct wire_bytes own, int by_place,
                    struct fis_id *id, struct fis_error *e)
{
    char place[FIS_ID_MAX];
    struct wire_bytes found;
    int rc = wire_message_find_id(m, own, by_place, place, &found, e);
    if (!rc && fis_id_set(id, found.data, found.length))
        rc = fis_refuse(e, FIS_CODE_BAD_ID, "the id is empty"); /* cannot be: it was looked at */
    return rc;
}

const char *wire_key_text(struct wire_bytes key, char out[WIRE_KEY_TEXT])
{
    const unsigned char *bytes = key.data;
    size_t n = key.length < WIRE_KEY_TEXT - 1 ? key.length : WIRE_KEY_TEXT - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '"' ? bytes[i] : '?');
    out[n] = 0;
    return out;
}

/*
 * What a new configuration changes: some options at once, the others with a restart.
 */
#include "config/option.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_names(const struct config_names *a, const struct config_names *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = same_text(a->items[i], b->items[i]);
    return same;
}

static bool same_layers(const struct config_layers *a, const struct config_layers *b)
{
    return a->count == b->count && !memcmp(a->items, b->items, a->count * sizeof *a->items);
}

/* In the order of the file: another order is no difference that anybody would call one, but it is
 * not worth more than a line in the log. */
static bool same_properties(const struct config_properties *a, const struct config_properties *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = same_text(a->items[i].name, b->items[i].name) &&
               same_text(a->items[i].value, b->items[i].value);
    return same;
}

/* Of what is copied as it is; 0 for what owns memory. */
static size_t plain_size(enum kind kind)
{
    switch (kind) {
    case KIND_BOOL:
        return sizeof(bool);
    case KIND_COUNT:
        return sizeof(uint32_t);
    case KIND_BIG:
    case KIND_DURATION:
    case KIND_SIZE:
        return sizeof(uint64_t);
    case KIND_REAL:
        return sizeof(double);
    case KIND_CHOICE:
        return sizeof(int);
    case KIND_FLAGS:
        return sizeof(unsigned);
    default:
        return 0;
    }
}

static bool same_value(const struct option *o, const void *a, const void *b);

static bool same_items(const struct option *o, const struct config_items *a,
                       const struct config_items *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const char *x = (const char *)a->items + i * o->item_size,
                   *y = (const char *)b->items + i * o->item_size;
        for (const struct option *part = o->items; same && part->key; part++)
            same = same_value(part, x + part->offset, y + part->offset);
    }
    return same;
}

static bool same_value(const struct option *o, const void *a, const void *b)
{
    switch (o->kind) {
    case KIND_STRING:
        return same_text(*(char *const *)a, *(char *const *)b);
    case KIND_NAMES:
        return same_names(a, b);
    case KIND_LAYERS:
        return same_layers(a, b);
    case KIND_ITEMS:
        return same_items(o, a, b);
    case KIND_PROPERTIES:
        return same_properties(a, b);
    default:
        return !memcmp(a, b, plain_size(o->kind));
    }
}

static void add_key(char keys[CONFIG_KEYS_TEXT], const char *key)
{
    static const char more[] = ", …";
    size_t used = strlen(keys), need = strlen(key) + 2;
    if (used >= sizeof more && !strcmp(keys + used + 1 - sizeof more, more))
        return;
    bool room = used + need + sizeof more < CONFIG_KEYS_TEXT;
    snprintf(keys + used, CONFIG_KEYS_TEXT - used, "%s%s", used && room ? ", " : "",
             room ? key : more);
}

void config_adopt(struct config *cfg, const struct config *next, struct config_changes *out)
{
    *out = (struct config_changes){0};
    for (const struct option *o = config_options; o->key; o++) {
        void *now = (char *)cfg + o->offset;
        const void *then = (const char *)next + o->offset;
        size_t size = plain_size(o->kind);
        if (same_value(o, now, then) &&
            (!o->also || same_names((void *)((char *)cfg + o->also),
                                    (const void *)((const char *)next + o->also))))
            continue;
        if (o->live && size) {
            memcpy(now, then, size);
            out->taken++;
            add_key(out->taken_keys, o->key);
        } else {
            out->kept++;
            add_key(out->kept_keys, o->key);
        }
    }
}

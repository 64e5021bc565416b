/*
 * What an option allows, in words; and the known key nearest to an unknown one.
 */
#include "config/option.h"

#include <inttypes.h>
#include <string.h>

#include "base/likeness.h"

static void join(const char *const *words, const char *last, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; words[i] && used < size; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : last;
        int n = snprintf(out + used, size - used, "%s%s", between, words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void allowed_range(const struct option *o, char *out, size_t size)
{
    char least[32], most[32];
    if (o->kind == KIND_DURATION) {
        config_format_duration(o->min, least, sizeof least);
        config_format_duration(o->max, most, sizeof most);
        snprintf(out, size, "a duration from %s to %s (250ms, 10s, 5m, 2h, 1d)", least, most);
    } else if (o->kind == KIND_SIZE) {
        config_format_size(o->min, least, sizeof least);
        config_format_size(o->max, most, sizeof most);
        snprintf(out, size, "a size from %s to %s (65536, 64KiB, 1MB)", least, most);
    } else {
        snprintf(out, size, "a whole number from %" PRIu64 " to %" PRIu64, o->min, o->max);
    }
}

static void allowed_string(const struct option *o, char *out, size_t size)
{
    if (o->charset == CHARS_TOPIC)
        snprintf(out, size, "1 to %" PRIu64 " of the characters A-Z a-z 0-9 . _ -", o->max);
    else
        snprintf(out, size, "a text of %" PRIu64 " to %" PRIu64 " bytes without control characters",
                 o->min, o->max);
}

static void allowed_items(const struct option *o, char *out, size_t size)
{
    int n =
        snprintf(out, size, "a list of %" PRIu64 " to %" PRIu64 " columns, each {", o->min, o->max);
    for (const struct option *part = o->items; part->key && n > 0 && (size_t)n < size; part++)
        n += snprintf(out + n, size - (size_t)n, "%s%s", config_leaf(part->key),
                      part[1].key ? ", " : "}");
}

static void allowed_list(const struct option *o, char *out, size_t size)
{
    char words[128];
    switch (o->kind) {
    case KIND_FLAGS:
        join(o->choices, " or ", words, sizeof words);
        snprintf(out, size, "a list of %s, each at most once", words);
        break;
    case KIND_NAMES:
        snprintf(out, size,
                 "a list of %" PRIu64 " to %" PRIu64 " different names of 1 to 255 bytes", o->min,
                 o->max);
        break;
    case KIND_LAYERS:
        snprintf(out, size,
                 "a list of %" PRIu64 " to %" PRIu64 " whole numbers from %" PRIu32 " to %" PRIu32,
                 o->min, o->max, o->item_min, o->item_max);
        break;
    case KIND_ITEMS:
        allowed_items(o, out, size);
        break;
    default:
        snprintf(out, size, "a mapping of librdkafka properties to their values");
    }
}

void config_allowed(const struct option *o, char *out, size_t size)
{
    switch (o->kind) {
    case KIND_STRING:
        allowed_string(o, out, size);
        break;
    case KIND_BOOL:
        snprintf(out, size, "true or false");
        break;
    case KIND_COUNT:
    case KIND_BIG:
    case KIND_DURATION:
    case KIND_SIZE:
        allowed_range(o, out, size);
        break;
    case KIND_REAL:
        snprintf(out, size, "a number %s %g %s %g", o->above ? "above" : "from", o->low,
                 o->below ? "to below" : "to", o->high);
        break;
    case KIND_CHOICE:
        join(o->choices, " or ", out, size);
        break;
    default:
        allowed_list(o, out, size);
    }
}

/* As edits, over keys that differ in their section too: the right name in the wrong place is
 * nearer than any other. */
static size_t distance(const char *key, const char *known)
{
    const char *leaf = config_leaf(key), *known_leaf = config_leaf(known);
    size_t whole = likeness_edits(key, known), part = likeness_edits(leaf, known_leaf) + 1;
    return whole < part ? whole : part;
}

struct nearest {
    const char *key;
    size_t length, distance;
};

static void consider(struct nearest *best, const char *key, const char *known, size_t length)
{
    char name[LIKENESS_MAX + 1];
    if (length > LIKENESS_MAX)
        return;
    memcpy(name, known, length);
    name[length] = 0;
    size_t d = distance(key, name);
    if (d < best->distance)
        *best = (struct nearest){known, length, d};
}

bool config_nearest(const char *key, char *out, size_t size)
{
    if (strlen(key) > LIKENESS_MAX)
        return false;
    struct nearest best = {NULL, 0, likeness_limit(config_leaf(key))};
    const struct option *table = config_table_of(key);
    for (const struct option *o = table; o->key; o++) {
        if (table == config_options && config_section_length(o->key))
            consider(&best, key, o->key, config_section_length(o->key));
        consider(&best, key, o->key, strlen(o->key));
    }
    if (best.key)
        snprintf(out, size, "%.*s", (int)best.length, best.key);
    return best.key != NULL;
}

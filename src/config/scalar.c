/*
 * Values from text and back. All numbers are read strictly: every character counts, and what
 * does not fit is refused, never cut.
 */
#include "config/option.h"
#include "base/decimal.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                        {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const struct unit sizes[] = {{"", 1},
                                    {"B", 1},
                                    {"kB", 1000},
                                    {"KB", 1000},
                                    {"MB", 1000000},
                                    {"GB", 1000000000},
                                    {"KiB", UINT64_C(1) << 10},
                                    {"MiB", UINT64_C(1) << 20},
                                    {"GiB", UINT64_C(1) << 30},
                                    {NULL, 0}};

/* Reads the digits at *text and moves it behind them. A leading zero is refused: to YAML 1.1 it
 * means octal, to YAML 1.2 it does not. */
static int read_digits(const char **text, uint64_t *out)
{
    const char *s = *text;
    size_t n = strspn(s, "0123456789");
    *text = s + n;
    return n > 1 && *s == '0' ? -1 : decimal_whole(s, n, UINT64_MAX, out);
}

/* A whole number in plain digits. */
static int config_parse_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t v;
    if (read_digits(&text, &v) || *text || v < min || v > max)
        return -1;
    *out = v;
    return 0;
}

static int parse_united(const struct option *o, const struct unit *units, const char *text,
                        uint64_t *out)
{
    uint64_t v;
    if (read_digits(&text, &v))
        return -1;
    const struct unit *u = units;
    while (u->name && strcmp(u->name, text) != 0)
        u++;
    uint64_t factor = u->factor;
    if (!u->name) {
        /* Nothing is nothing in any unit. */
        if (v != 0 || *text)
            return -1;
        factor = 1;
    }
    if (v > UINT64_MAX / factor || v * factor < o->min || v * factor > o->max)
        return -1;
    *out = v * factor;
    return 0;
}

static int parse_real(const struct option *o, const char *text, double *out)
{
    double v;
    if (decimal_read(text, strlen(text), &v))
        return -1;
    if (v < o->low || v > o->high || (o->above && v <= o->low) || (o->below && v >= o->high))
        return -1;
    *out = v;
    return 0;
}

static int parse_choice(const struct option *o, const char *text, int *out)
{
    for (int i = 0; o->choices[i]; i++)
        if (!strcmp(text, o->choices[i])) {
            *out = i;
            return 0;
        }
    return -1;
}

static int parse_bool(const char *text, bool *out)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return -1;
    *out = *text == 't';
    return 0;
}

static int parse_count(const struct option *o, const char *text, uint32_t *out)
{
    uint64_t v;
    if (config_parse_whole(text, o->min, o->max, &v))
        return -1;
    *out = (uint32_t)v;
    return 0;
}

int config_parse(const struct option *o, const char *text, void *field)
{
    switch (o->kind) {
    case KIND_BOOL:
        return parse_bool(text, field);
    case KIND_COUNT:
        return parse_count(o, text, field);
    case KIND_BIG:
        return config_parse_whole(text, o->min, o->max, field);
    case KIND_REAL:
        return parse_real(o, text, field);
    case KIND_DURATION:
        return parse_united(o, durations, text, field);
    case KIND_SIZE:
        return parse_united(o, sizes, text, field);
    case KIND_CHOICE:
        return parse_choice(o, text, field);
    default:
        return -1;
    }
}

bool config_string_ok(const struct option *o, const char *text)
{
    size_t length = strlen(text);
    bool many = o->kind == KIND_NAMES;
    if (length < (many ? 1 : o->min) || length > (many ? 255 : o->max))
        return false;
    if (config_bad_byte(text, length) != length || strpbrk(text, "\t\r\n"))
        return false;
    if (o->charset == CHARS_TOPIC)
        return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789._-") == length &&
               strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
    return true;
}

size_t config_bad_byte(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t valid = utf8_prefix(text, length);
    size_t i = 0;
    while (i < valid && s[i] != 0x7f &&
           (s[i] >= 0x20 || s[i] == '\t' || s[i] == '\n' || s[i] == '\r'))
        i++;
    return i;
}

static void format_united(const struct unit *units, uint64_t v, char *out, size_t size)
{
    const struct unit *best = units;
    for (const struct unit *u = units; u->name; u++)
        if (v && v % u->factor == 0 && u->factor > best->factor)
            best = u;
    if (v == 0)
        snprintf(out, size, "0");
    else
        snprintf(out, size, "%" PRIu64 "%s", v / best->factor, best->name);
}

void config_format_duration(uint64_t ms, char *out, size_t size)
{
    format_united(durations, ms, out, size);
}

void config_format_size(uint64_t bytes, char *out, size_t size)
{
    format_united(sizes, bytes, out, size);
}

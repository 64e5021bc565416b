/*
 * Every option there is. Parser, checks, defaults, `fisd --print-config` and the manual read this
 * table; an option that is not here does not exist. The entries are
 * in options_input.inc, options_method.inc and options_process.inc.
 */
#include "config/option.h"

#include <string.h>

#include "fis/defaults.h"
#include "wire/types.h"

#define AT(field) offsetof(struct config, field)

#define NAMES_OF(...) ((const char *const[]){__VA_ARGS__, NULL})

#define TEXT(longest) .kind = KIND_STRING, .min = 1, .max = (longest)
#define TOPIC_NAME(field, dashed, what)                                                            \
    {                                                                                              \
        .key = "topics." #field, .kind = KIND_STRING, .charset = CHARS_TOPIC, .min = 1,            \
        .max = 249, .offset = AT(topics.field), .example = "credit." dashed,                       \
        .otherwise = "<prefix>." dashed, .meaning = what                                           \
    }
#define COUNT(least, most) .kind = KIND_COUNT, .min = (least), .max = (most)
#define BIG(least, most) .kind = KIND_BIG, .min = (least), .max = (most)
#define SIZE(least, most) .kind = KIND_SIZE, .min = (least), .max = (most)
#define DURATION(least, most) .kind = KIND_DURATION, .min = (least), .max = (most)
#define CHOICE(...) .kind = KIND_CHOICE, .choices = NAMES_OF(__VA_ARGS__)
/* A default that lab and daemon share. */
#define STANDARD(name) .standard = FIS_DEFAULT_TEXT(FIS_DEFAULT_##name)
#define ROWS_FOR_AUTO FIS_DEFAULT_TEXT(FIS_DEFAULT_ROWS_FOR_AUTO)
#define REAL(least, most) .kind = KIND_REAL, .low = (least), .high = (most)

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define MINUTE UINT64_C(60000)
#define YEAR (365 * 24 * 60 * MINUTE)

/* clang-format off */
const struct option config_options[] = {
#include "config/options_input.inc"
#include "config/options_method.inc"
#include "config/options_process.inc"
    {.key = NULL},
};
_Static_assert(sizeof config_options / sizeof *config_options <= OPTIONS_MAX, "raise OPTIONS_MAX");

const struct option config_column_options[] = {
    {.key = "columns[].name", TEXT(255), .offset = offsetof(struct config_column, name),
     .need = NEED_ALWAYS, .example = "age", .meaning = "Name of the column."},
    {.key = "columns[].type", CHOICE("numeric", "categorical"),
     .offset = offsetof(struct config_column, type), .standard = "numeric",
     .meaning = "categorical: one input per category of the initial set, and one for unseen "
                "categories."},
    {.key = "columns[].scale", CHOICE("standard", "none"),
     .offset = offsetof(struct config_column, scale), .standard = "standard",
     .meaning = "standard: minus the mean, divided by the standard deviation, of the initial set; "
                "numeric columns only."},
    {.key = NULL},
};

const struct option config_show_options[] = {
    {.key = "labels.show[].column", TEXT(255), .offset = offsetof(struct config_show, column),
     .need = NEED_ALWAYS, .example = "income",
     .meaning = "A column of the record, one of records.passthrough, or an attribute."},
    {.key = "labels.show[].name", TEXT(255), .offset = offsetof(struct config_show, name),
     .example = "Yearly income", .otherwise = "the column's",
     .meaning = "What people read in its place."},
    {.key = "labels.show[].help", TEXT(1000), .offset = offsetof(struct config_show, help),
     .example = "before tax", .otherwise = "none", .meaning = "A sentence beside the name."},
    {.key = "labels.show[].as", CHOICE("text", "image", "link"),
     .offset = offsetof(struct config_show, as), .standard = "text",
     .meaning = "image: the picture at an http or https address, in a data: URL or in base64; link: an http "
                "or https address; a value that is none is shown as text."},
    {.key = "labels.show[].template", TEXT(1000), .offset = offsetof(struct config_show, template),
     .example = "https://scans.example/{scan}.jpg", .otherwise = "the value as it is",
     .meaning = "Text with {column} in places: the value of that column, as part of an address with "
                "what is special there escaped. An address begins with http:// or https:// and a "
                "host without {column}."},
    {.key = NULL},
};
/* clang-format on */

const struct option *config_table_of(const char *key)
{
    const char *item = strstr(key, "[].");
    for (const struct option *o = config_options; item && o->key; o++)
        if (o->items && !strncmp(o->key, key, (size_t)(item - key)) && !o->key[item - key])
            return o->items;
    return config_options;
}

const struct option *config_find_option(const char *key)
{
    for (const struct option *o = config_table_of(key); o->key; o++)
        if (!strcmp(o->key, key))
            return o;
    return NULL;
}

const char *config_choice(const char *key, int value)
{
    const struct option *o = config_find_option(key);
    if (!o || !o->choices || value < 0)
        return NULL;
    for (int i = 0; o->choices[i]; i++)
        if (i == value)
            return o->choices[i];
    return NULL;
}

size_t config_section_length(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? (size_t)(dot - key) : 0;
}

const char *config_leaf(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

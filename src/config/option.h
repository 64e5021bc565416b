/*
 * The option table and what is made of it; for the files of this layer only.
 */
#ifndef CONFIG_OPTION_H
#define CONFIG_OPTION_H

#include "config/config.h"

enum kind {
    KIND_STRING,     /* char * */
    KIND_BOOL,       /* bool */
    KIND_COUNT,      /* uint32_t */
    KIND_BIG,        /* uint64_t */
    KIND_REAL,       /* double */
    KIND_DURATION,   /* uint64_t, ms */
    KIND_SIZE,       /* uint64_t, bytes */
    KIND_CHOICE,     /* int, index into choices */
    KIND_FLAGS,      /* unsigned, one bit a choice */
    KIND_NAMES,      /* struct config_names */
    KIND_LAYERS,     /* struct config_layers */
    KIND_ITEMS,      /* a list of mappings: struct config_items, or one that begins like it */
    KIND_PROPERTIES, /* struct config_properties */
};

/* What every list of items begins with. */
/* Read and written as the typed one that it stands for. */
struct __attribute__((may_alias)) config_items {
    uint32_t count;
    void *items; /* [count] of the option's item_size */
};

enum charset { CHARS_TEXT, CHARS_TOPIC }; /* of KIND_STRING */

/* What an option without a default asks of the file. */
enum need {
    NEED_NONE,     /* may be absent: `otherwise` says what happens then */
    NEED_ALWAYS,   /* refused when absent */
    NEED_SOMETIMES /* check.c knows when; shown as to be filled in */
};

struct option {
    const char *key; /* "section.name" (a section may have a dot too), or "name" at the top */
    enum kind kind;
    size_t offset;         /* in struct config (or struct config_column) */
    const char *standard;  /* the default as YAML, or NULL */
    const char *example;   /* shown where there is no default */
    const char *otherwise; /* in words, what holds when absent; NULL with a default */
    enum need need;
    enum charset charset;
    uint64_t min, max;           /* numbers; length of a text; items of a list */
    double low, high;            /* KIND_REAL */
    bool above, below;           /* KIND_REAL: low, high themselves are not allowed */
    uint32_t item_min, item_max; /* numbers in KIND_LAYERS */
    const char *const *choices;  /* NULL at the end */
    const struct option *items;  /* KIND_ITEMS: what an item may have; the first is its name */
    size_t item_size;            /* KIND_ITEMS: of its struct */
    bool live;   /* may change while fisd runs; numbers, durations, sizes, choices and bools only */
    size_t also; /* KIND_STRING: of the names behind the first, when it is a list; 0: no list */
    bool secret; /* KIND_STRING: never shown; the text may stand elsewhere (secret_file.c) */
    const char *meaning;
};

extern const struct option config_options[]; /* by section; key NULL at the end */
extern const struct option config_column_options[], config_show_options[];
#define OPTIONS_MAX 200

const struct option *config_find_option(const char *key);
/* The table that a key is of: config_options, or the one of the items that it is in
 * ("columns[].name"). */
const struct option *config_table_of(const char *key);

/* The part of the key before the last dot: its length, 0 at the top. */
size_t config_section_length(const char *key);
/* The part after it. */
const char *config_leaf(const char *key);

/* "a number from 0 to 1", for messages and manuals. */
void config_allowed(const struct option *o, char *out, size_t size);

/* Parses the text of one scalar (never KIND_STRING, lists or maps) into `field`. -1: not allowed.
 */
int config_parse(const struct option *o, const char *text, void *field);
/* Whether a string may be the value of `o` (or an item of its list). */
bool config_string_ok(const struct option *o, const char *text);

/* How a number of milliseconds or bytes is written: "250ms", "1MiB". */
void config_format_duration(uint64_t ms, char *out, size_t size);
void config_format_size(uint64_t bytes, char *out, size_t size);

/* Writes the known key (or section) nearest to one that is not known; false when none is near. */
bool config_nearest(const char *key, char *out, size_t size);

/* Where text that is no UTF-8, or holds control characters that no configuration needs, begins:
 * its index, or `length` when all is well. */
size_t config_bad_byte(const char *text, size_t length);

#endif

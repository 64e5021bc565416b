/*
 * Giving back what a configuration owns.
 */
#include "config/option.h"
#include "fis/mem.h"

#include <string.h>

static void free_names(struct config_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        fis_free(names->items[i]);
    fis_free(names->items);
}

static void free_columns(struct config_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++)
        fis_free(columns->items[i].name);
    fis_free(columns->items);
}

void config_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    fis_free(text);
}

/* Values may be passwords: they do not stay behind in freed memory. */
static void free_properties(struct config_properties *properties)
{
    for (uint32_t i = 0; i < properties->count; i++) {
        struct config_property *p = &properties->items[i];
        config_free_secret(p->value);
        fis_free(p->from);
        fis_free(p->name);
    }
    fis_free(properties->items);
}

void config_done(struct config *cfg)
{
    for (const struct option *o = config_options; o->key; o++) {
        void *field = (char *)cfg + o->offset;
        if (o->kind == KIND_STRING)
            config_free_secret(*(char **)field);
        else if (o->kind == KIND_NAMES)
            free_names(field);
        else if (o->kind == KIND_COLUMNS)
            free_columns(field);
        else if (o->kind == KIND_PROPERTIES)
            free_properties(field);
    }
    *cfg = (struct config){0};
}

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

static void free_items(const struct option *o, struct config_items *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (const struct option *part = o->items; part->key; part++)
            if (part->kind == KIND_STRING)
                fis_free(*(char **)(void *)((char *)list->items + i * o->item_size + part->offset));
    fis_free(list->items);
}

void config_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    fis_free(text);
}

/* Values may be passwords: they do not stay behind in freed memory. */
void config_properties_done(struct config_properties *properties)
{
    for (uint32_t i = 0; i < properties->count; i++) {
        struct config_property *p = &properties->items[i];
        config_free_secret(p->value);
        fis_free(p->from);
        fis_free(p->name);
    }
    fis_free(properties->items);
    *properties = (struct config_properties){0};
}

void config_done(struct config *cfg)
{
    for (const struct option *o = config_options; o->key; o++) {
        void *field = (char *)cfg + o->offset;
        if (o->also)
            free_names((void *)((char *)cfg + o->also));
        if (o->kind == KIND_STRING)
            config_free_secret(*(char **)field);
        else if (o->kind == KIND_NAMES)
            free_names(field);
        else if (o->kind == KIND_ITEMS)
            free_items(o, field);
        else if (o->kind == KIND_PROPERTIES)
            config_properties_done(field);
    }
    *cfg = (struct config){0};
}

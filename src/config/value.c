/*
 * One option's value, from the document into the structure.
 */
#include "config/load.h"
#include "fis/mem.h"

#include <stdlib.h>
#include <string.h>

#define VARIABLE_MAX 128

static bool name_character(char c, bool first)
{
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (!first && c >= '0' && c <= '9');
}

/* The value of the variable in "${NAME}" at text, and the length of that in *used. NULL when the
 * name is no name or has no value; `name` then holds what was looked for. */
static const char *variable(const char *text, size_t left, size_t *used, char *name)
{
    size_t n = 0;
    while (2 + n < left && n < VARIABLE_MAX - 1 && name_character(text[2 + n], n == 0)) {
        name[n] = text[2 + n];
        n++;
    }
    name[n] = 0;
    *used = n + 3;
    if (n == 0 || 2 + n >= left || text[2 + n] != '}')
        return NULL;
    return getenv(name);
}

/* Copies text to out with its variables replaced; only counts when out is NULL. -1 when there is
 * a variable that has no value. */
static int expand(const char *text, size_t length, char *out, size_t *size, char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < length;) {
        const char *from = text + i;
        size_t step = 1, count = 1;
        if (length - i >= 3 && !memcmp(from, "$${", 3)) {
            from++;
            step = 3;
            count = 2;
        } else if (length - i >= 2 && !memcmp(from, "${", 2)) {
            from = variable(from, length - i, &step, name);
            if (!from)
                return -1;
            count = strlen(from);
        }
        if (out)
            memcpy(out + n, from, count);
        n += count;
        i += step;
    }
    *size = n;
    return 0;
}

static bool tag_ok(struct fy_node *node)
{
    size_t length;
    const char *tag = fy_node_get_tag(node, &length);
    static const char text[] = "tag:yaml.org,2002:str";
    return !tag || (length == sizeof text - 1 && !memcmp(tag, text, length));
}

static char *expanded(struct load *l, const struct spot *at, const char *raw, size_t length)
{
    char name[VARIABLE_MAX] = "", found[VARIABLE_MAX + 64];
    size_t size;
    if (expand(raw, length, NULL, &size, name)) {
        snprintf(found, sizeof found, "${%s}", name);
        load_problem(l, at, found, "a variable that is set in the environment, as ${NAME}");
        return NULL;
    }
    char *text = fis_alloc(size + 1, 1);
    if (!text) {
        l->no_memory = true;
        return NULL;
    }
    /* The environment cannot have changed: nothing runs in between. */
    int again = expand(raw, length, text, &size, name);
    (void)again;
    text[size] = 0;
    return text;
}

char *load_text(struct load *l, const struct spot *at)
{
    struct fy_node *node = load_target(at->node);
    size_t length = 0;
    const char *raw = node && fy_node_is_scalar(node) ? fy_node_get_scalar(node, &length) : NULL;
    if (!raw || (length == 0 && fy_node_get_style(node) == FYNS_PLAIN)) {
        load_refuse_node(l, at);
        return NULL;
    }
    if (!tag_ok(node)) {
        load_refuse(l, at, "a tag");
        return NULL;
    }
    if (memchr(raw, 0, length)) {
        load_refuse(l, at, "a text with a zero byte");
        return NULL;
    }
    return expanded(l, at, raw, length);
}

static void take_string(struct load *l, const struct spot *at, char **field)
{
    char *text = load_text(l, at);
    if (text && at->option->secret && load_is_reference(text)) {
        char *reference = text;
        text = load_reference(l, at, reference);
        fis_free(reference);
    }
    if (!text)
        return;
    if (!config_string_ok(at->option, text)) {
        if (at->option->secret)
            load_refuse(l, at, "a text of another length or kind");
        else
            load_refuse_node(l, at);
        config_free_secret(text);
        return;
    }
    fis_free(*field);
    *field = load_path(l, at->path, text);
}

static void take_scalar(struct load *l, const struct spot *at, void *field)
{
    char *text = load_text(l, at);
    if (text && config_parse(at->option, text, field))
        load_refuse_node(l, at);
    fis_free(text);
}

/* The number of items of the list at the place, when it is one and within the option's range. */
static int list_length(struct load *l, const struct spot *at)
{
    struct fy_node *node = load_target(at->node);
    if (!node || !fy_node_is_sequence(node)) {
        load_refuse_node(l, at);
        return -1;
    }
    int n = fy_node_sequence_item_count(node);
    if (n < 0 || (uint64_t)n < at->option->min || (uint64_t)n > at->option->max) {
        char found[48];
        snprintf(found, sizeof found, "a list of %d", n);
        load_refuse(l, at, found);
        return -1;
    }
    return n;
}

static struct spot item_spot(const struct spot *list, int i)
{
    struct spot at = {.option = list->option, .near = list->node};
    snprintf(at.path, sizeof at.path, "%.200s[%d]", list->path, i);
    at.node = fy_node_sequence_get_by_index(load_target(list->node), i);
    return at;
}

static void take_names(struct load *l, const struct spot *at, struct config_names *out)
{
    int n = list_length(l, at);
    if (n < 0)
        return;
    for (uint32_t i = 0; i < out->count; i++) /* the default's */
        fis_free(out->items[i]);
    fis_free(out->items);
    out->count = 0;
    out->items = fis_calloc((size_t)n + 1, sizeof *out->items);
    if (!out->items) {
        l->no_memory = true;
        return;
    }
    for (int i = 0; i < n; i++) {
        struct spot item = item_spot(at, i);
        char *name = NULL;
        take_string(l, &item, &name);
        for (uint32_t k = 0; name && k < out->count; k++)
            if (!strcmp(out->items[k], name)) {
                load_refuse_twice(l, &item);
                fis_free(name);
                name = NULL;
            }
        if (name)
            out->items[out->count++] = name;
    }
}

/* One text, or a list whose first item is the field. */
static void take_several(struct load *l, const struct spot *at, char **field,
                         struct config_names *rest)
{
    struct option names = *at->option;
    struct spot list = *at;
    struct config_names all = {0};
    names.kind = KIND_NAMES;
    names.max = CONFIG_RECORDS_MAX;
    list.option = &names;
    take_names(l, &list, &all);
    if (!all.count) {
        fis_free(all.items);
        return;
    }
    fis_free(*field);
    *field = all.items[0];
    memmove(all.items, all.items + 1, --all.count * sizeof *all.items);
    *rest = all;
}

static void take_flags(struct load *l, const struct spot *at, unsigned *out)
{
    int n = list_length(l, at);
    unsigned flags = 0;
    struct option one = *at->option;
    one.kind = KIND_CHOICE;
    for (int i = 0; i < n; i++) {
        struct spot item = item_spot(at, i);
        int choice = -1;
        item.option = &one;
        take_scalar(l, &item, &choice);
        if (choice >= 0 && flags & 1u << choice)
            load_refuse_twice(l, &item);
        if (choice >= 0)
            flags |= 1u << choice;
    }
    if (n > 0)
        *out = flags;
}

static void take_layers(struct load *l, const struct spot *at, struct config_layers *out)
{
    int n = list_length(l, at);
    struct config_layers layers = {0};
    struct option one = *at->option;
    one.kind = KIND_COUNT;
    one.min = one.item_min;
    one.max = one.item_max;
    for (int i = 0; i < n; i++) {
        struct spot item = item_spot(at, i);
        item.option = &one;
        take_scalar(l, &item, &layers.items[layers.count++]);
    }
    if (n >= 0)
        *out = layers;
}

void load_value(struct load *l, const struct spot *at, void *base)
{
    void *field = (char *)base + at->option->offset;
    switch (at->option->kind) {
    case KIND_STRING:
        if (at->option->also && fy_node_is_sequence(load_target(at->node)))
            take_several(l, at, field, (void *)((char *)base + at->option->also));
        else
            take_string(l, at, field);
        break;
    case KIND_NAMES:
        take_names(l, at, field);
        break;
    case KIND_FLAGS:
        take_flags(l, at, field);
        break;
    case KIND_LAYERS:
        take_layers(l, at, field);
        break;
    case KIND_ITEMS:
        if (list_length(l, at) > 0)
            load_items(l, at, field);
        break;
    case KIND_PROPERTIES:
        load_properties(l, at, field);
        break;
    default:
        take_scalar(l, at, field);
    }
}

/*
 * The open parts of a configuration: lists of items (columns), and the properties of librdkafka.
 */
#include "config/load.h"
#include "fis/mem.h"

#include <string.h>

static void key_twice(struct load *l, const struct spot *at)
{
    load_problem(l, at, "it a second time", "once");
}

/* Takes one key of an item of a list. `given` has a node for each of the item's options. */
static void take_part(struct load *l, const struct option *list, const char *prefix,
                      struct fy_node_pair *pair, void *item, struct fy_node **given)
{
    struct spot at;
    if (!load_key(l, prefix, fy_node_pair_key(pair), &at))
        return;
    char general[sizeof at.path];
    snprintf(general, sizeof general, "%s[].%s", list->key, at.path + strlen(prefix));
    const struct option *o = config_find_option(general);
    if (!o) {
        load_unknown(l, &at, general);
        return;
    }
    struct fy_node **seen = &given[o - list->items];
    if (*seen) {
        key_twice(l, &at);
        return;
    }
    at.option = o;
    at.near = at.node;
    at.node = *seen = fy_node_pair_value(pair);
    load_value(l, &at, item);
}

static void check_scale(struct load *l, const struct spot *at, const char *prefix,
                        const struct config_column *column, struct fy_node *scale)
{
    struct spot part = *at;
    if (!scale || column->type != CONFIG_CATEGORICAL)
        return;
    snprintf(part.path, sizeof part.path, "%sscale", prefix);
    part.node = scale;
    load_problem(l, &part, "a scale for a categorical column", "on numeric columns only");
}

static void take_item(struct load *l, const struct option *list, const struct spot *at, void *item)
{
    struct fy_node *node = load_target(at->node), *given[8] = {0};
    if (!node || !fy_node_is_mapping(node)) {
        load_refuse_node(l, at);
        return;
    }
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%.60s.", at->path);
    void *position = NULL;
    struct fy_node_pair *pair;
    while ((pair = fy_node_mapping_iterate(node, &position)))
        take_part(l, list, prefix, pair, item, given);
    struct spot part = *at;
    if (!given[0]) {
        snprintf(part.path, sizeof part.path, "%s%s", prefix, config_leaf(list->items->key));
        part.option = list->items;
        load_refuse(l, &part, "nothing");
    }
    if (list->items == config_column_options)
        check_scale(l, at, prefix, item, given[2]);
}

static const char *name_of(const struct option *list, const struct config_items *out, uint32_t i)
{
    const char *item = (const char *)out->items + i * list->item_size;
    return *(char *const *)(const void *)(item + list->items->offset);
}

void load_items(struct load *l, const struct spot *at, struct config_items *out)
{
    const struct option *o = at->option;
    struct fy_node *list = load_target(at->node), *node;
    int n = fy_node_sequence_item_count(list);
    out->items = fis_calloc((size_t)n, o->item_size);
    if (!out->items) {
        l->no_memory = true;
        return;
    }
    void *position = NULL;
    while ((node = fy_node_sequence_iterate(list, &position))) {
        struct spot item = {.option = o, .node = node, .near = at->near};
        uint32_t k = out->count++;
        snprintf(item.path, sizeof item.path, "%s[%u]", o->key, (unsigned)k);
        take_item(l, o, &item, (char *)out->items + k * o->item_size);
        const char *name = name_of(o, out, k);
        for (uint32_t i = 0; name && i < k; i++)
            if (name_of(o, out, i) && !strcmp(name_of(o, out, i), name)) {
                load_problem(l, &item, "a name that an earlier column has", "different names");
                break;
            }
    }
}

static bool known_property(const struct config_properties *p, const char *name)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            return true;
    return false;
}

/* A value is librdkafka's to judge; only what no property can hold is refused here. */
static void take_property(struct load *l, struct fy_node_pair *pair, struct config_properties *out)
{
    struct spot at;
    if (!load_key(l, "kafka.", fy_node_pair_key(pair), &at))
        return;
    const char *name = at.path + strlen("kafka.");
    if (known_property(out, name)) {
        key_twice(l, &at);
        return;
    }
    at.near = at.node;
    at.node = fy_node_pair_value(pair);
    at.secret = true;
    at.option = config_find_option("kafka");
    char *value = load_text(l, &at), *from = NULL;
    if (value)
        value = load_path(l, name, value);
    if (value && load_is_reference(value)) {
        from = value;
        value = load_reference(l, &at, from);
    }
    if (!value) {
        fis_free(from);
        return;
    }
    if (config_bad_byte(value, strlen(value)) != strlen(value)) {
        load_refuse(l, &at, "a value with control characters or invalid UTF-8");
        config_free_secret(value);
        fis_free(from);
        return;
    }
    char *copy = fis_strdup(name);
    if (!copy) {
        l->no_memory = true;
        config_free_secret(value);
        fis_free(from);
        return;
    }
    out->items[out->count++] = (struct config_property){copy, value, from};
}

void load_properties(struct load *l, const struct spot *at, struct config_properties *out)
{
    struct fy_node *map = load_target(at->node);
    struct spot hidden = *at;
    hidden.secret = true;
    if (!map || !fy_node_is_mapping(map)) {
        load_refuse_node(l, &hidden);
        return;
    }
    int n = fy_node_mapping_item_count(map);
    if (n < 0 || (uint64_t)n > at->option->max) {
        char found[48], allowed[48];
        snprintf(found, sizeof found, "%d properties", n);
        snprintf(allowed, sizeof allowed, "up to %u", (unsigned)at->option->max);
        load_problem(l, at, found, allowed);
        return;
    }
    out->items = fis_calloc((size_t)n + 1, sizeof *out->items);
    if (!out->items) {
        l->no_memory = true;
        return;
    }
    void *position = NULL;
    struct fy_node_pair *pair;
    while ((pair = fy_node_mapping_iterate(map, &position)))
        take_property(l, pair, out);
}

/* The place of a property that is there, or of one more; NULL without memory. */
static struct config_property *property_place(struct config_properties *p, const char *name)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            return &p->items[i];
    if (!fis_grow(&p->items, p->count, (size_t)p->count + 1, sizeof *p->items))
        return NULL;
    p->items[p->count] = (struct config_property){.name = fis_strdup(name)};
    return p->items[p->count].name ? &p->items[p->count++] : NULL;
}

int config_property_set(struct config_properties *p, const char *property, const char *value,
                        struct fis_error *e)
{
    char *text = NULL, *from = NULL;
    int rc = 0;
    if (load_is_reference(value))
        rc = secret_read("", property, value, &text, e);
    else if (config_bad_byte(value, strlen(value)) != strlen(value))
        rc = fis_fail(e, FIS_INPUT, "found a value with control characters or invalid UTF-8");
    if (rc)
        return fis_error_prefix(e, "%s", property);
    if (text)
        from = fis_strdup(value);
    else
        text = fis_strdup(value);
    bool whole = text && (from || !load_is_reference(value));
    struct config_property *place = whole ? property_place(p, property) : NULL;
    if (!place) {
        config_free_secret(text);
        fis_free(from);
        return fis_fail(e, FIS_NOMEM, "no memory for the property %s", property);
    }
    config_free_secret(place->value);
    fis_free(place->from);
    place->value = text;
    place->from = from;
    return 0;
}

const char *config_kafka(const struct config *cfg, const char *property)
{
    for (uint32_t i = 0; i < cfg->kafka.count; i++)
        if (!strcmp(cfg->kafka.items[i].name, property))
            return cfg->kafka.items[i].value;
    return NULL;
}

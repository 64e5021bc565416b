/*
 * The two open parts of a configuration: the list of columns, and the properties of librdkafka.
 */
#include "config/load.h"
#include "fis/mem.h"

#include <string.h>

static void key_twice(struct load *l, const struct spot *at)
{
    load_problem(l, at, "it a second time", "once");
}

/* Takes one key of a column. `given` has a node for each of the column's options. */
static void take_part(struct load *l, const char *prefix, struct fy_node_pair *pair,
                      struct config_column *column, struct fy_node **given)
{
    struct spot at;
    if (!load_key(l, prefix, fy_node_pair_key(pair), &at))
        return;
    char general[sizeof at.path];
    snprintf(general, sizeof general, "columns[].%s", at.path + strlen(prefix));
    const struct option *o = config_find_option(general);
    if (!o) {
        load_unknown(l, &at, general);
        return;
    }
    struct fy_node **seen = &given[o - config_column_options];
    if (*seen) {
        key_twice(l, &at);
        return;
    }
    at.option = o;
    at.near = at.node;
    at.node = *seen = fy_node_pair_value(pair);
    load_value(l, &at, column);
}

static void take_column(struct load *l, const struct spot *at, struct config_column *column)
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
        take_part(l, prefix, pair, column, given);
    struct spot part = *at;
    if (!given[0]) {
        snprintf(part.path, sizeof part.path, "%sname", prefix);
        part.option = &config_column_options[0];
        load_refuse(l, &part, "nothing");
    }
    if (given[2] && column->type == CONFIG_CATEGORICAL) {
        snprintf(part.path, sizeof part.path, "%sscale", prefix);
        part.node = given[2];
        load_problem(l, &part, "a scale for a categorical column", "on numeric columns only");
    }
}

void load_columns(struct load *l, const struct spot *at, struct config_columns *out)
{
    struct fy_node *list = load_target(at->node), *node;
    int n = fy_node_sequence_item_count(list);
    out->items = fis_calloc((size_t)n, sizeof *out->items);
    if (!out->items) {
        l->no_memory = true;
        return;
    }
    void *position = NULL;
    while ((node = fy_node_sequence_iterate(list, &position))) {
        struct spot item = {.option = at->option, .node = node, .near = at->near};
        struct config_column *column = &out->items[out->count];
        snprintf(item.path, sizeof item.path, "%s[%u]", at->option->key, (unsigned)out->count++);
        take_column(l, &item, column);
        for (uint32_t i = 0; column->name && &out->items[i] < column; i++)
            if (out->items[i].name && !strcmp(out->items[i].name, column->name)) {
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

const char *config_kafka(const struct config *cfg, const char *property)
{
    for (uint32_t i = 0; i < cfg->kafka.count; i++)
        if (!strcmp(cfg->kafka.items[i].name, property))
            return cfg->kafka.items[i].value;
    return NULL;
}

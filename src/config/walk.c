/*
 * The walk over the document: each key is found in the table, once, or refused.
 */
#include "config/load.h"

#include <string.h>

bool load_key(struct load *l, const char *prefix, struct fy_node *key, struct spot *out)
{
    size_t length = 0;
    struct fy_node *node = load_target(key);
    const char *text = node && fy_node_is_scalar(node) ? fy_node_get_scalar(node, &length) : NULL;
    *out = (struct spot){.node = key};
    if (text && length && length <= 250 && !memchr(text, 0, length)) {
        snprintf(out->path, sizeof out->path, "%s%.*s", prefix, (int)length, text);
        return true;
    }
    snprintf(out->path, sizeof out->path, "%s?", prefix);
    load_problem(l, out, "a key that is no name", "a text of 1 to 250 bytes");
    return false;
}

/* The keys of a section (or of the top), for one who guessed wrong. */
static void list_keys(const char *key, char *out, size_t size)
{
    size_t section = config_section_length(key), used = 0;
    const struct option *table = config_table_of(key);
    out[0] = 0;
    for (const struct option *o = table; o->key; o++) {
        size_t length = config_section_length(o->key);
        const char *name = length == section ? config_leaf(o->key) : o->key;
        bool again = o != table && !section && length && !strncmp(o[-1].key, o->key, length + 1);
        if (again || (section && strncmp(o->key, key, section + 1) != 0) || used >= size)
            continue;
        int shown = length == section ? (int)strlen(name) : (int)length;
        int n = snprintf(out + used, size - used, "%s%.*s", used ? ", " : "", shown, name);
        used += n > 0 ? (size_t)n : 0;
    }
}

void load_unknown(struct load *l, const struct spot *at, const char *key)
{
    char allowed[400], near[64];
    if (l->problems.count >= CONFIG_PROBLEMS_MAX) {
        l->problems.count++; /* the search for a like name is not free */
        return;
    }
    if (config_nearest(key, near, sizeof near)) {
        bool same = !strcmp(near, key);
        snprintf(allowed, sizeof allowed, same ? "'%s' as a section and a key in it" : "'%s'?",
                 near);
        load_problem(l, at, "an unknown key", allowed);
        return;
    }
    list_keys(key, allowed, sizeof allowed);
    load_problem(l, at, "an unknown key", allowed);
}

static void take_option(struct load *l, struct spot *at, size_t i, struct fy_node *value)
{
    if (l->value[i]) {
        load_problem(l, at, "it a second time", "once");
        return;
    }
    l->key[i] = at->node;
    l->value[i] = value;
    at->option = &config_options[i];
    at->near = at->node;
    at->node = value;
    load_value(l, at, l->cfg);
}

static bool find_index(const char *key, size_t *out)
{
    for (size_t i = 0; config_options[i].key; i++)
        if (!strcmp(config_options[i].key, key)) {
            *out = i;
            return true;
        }
    return false;
}

static bool find_section(const char *name, size_t *first)
{
    size_t length = strlen(name);
    for (size_t i = 0; config_options[i].key; i++)
        if (config_section_length(config_options[i].key) == length &&
            !strncmp(config_options[i].key, name, length)) {
            *first = i;
            return true;
        }
    return false;
}

static bool is_empty(struct fy_node *node)
{
    size_t length = 0;
    return node && fy_node_is_scalar(node) && fy_node_get_style(node) == FYNS_PLAIN &&
           (!fy_node_get_scalar(node, &length) || !length);
}

static bool is_group(const char *name)
{
    size_t length = strlen(name);
    for (const struct option *o = config_options; o->key; o++)
        if (!strncmp(o->key, name, length) && o->key[length] == '.')
            return true;
    return false;
}

/* Takes what stands in a section (its first option), or in a group of sections (GROUP). One in
 * which everything is commented out is no error. */
#define GROUP OPTIONS_MAX
static void take_section(struct load *l, const struct spot *at, size_t first, struct fy_node *value)
{
    struct fy_node *map = load_target(value);
    if (first != GROUP && l->section[first]) {
        load_problem(l, at, "it a second time", "once");
        return;
    }
    if (first != GROUP)
        l->section[first] = at->node;
    if (is_empty(map))
        return;
    if (!map || !fy_node_is_mapping(map)) {
        struct spot wrong = *at;
        char found[FOUND_MAX];
        wrong.near = at->node;
        wrong.node = value;
        load_describe(&wrong, found, sizeof found);
        load_problem(l, &wrong, found, "a mapping with the keys of this section");
        return;
    }
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%.60s.", at->path);
    void *position = NULL;
    struct fy_node_pair *pair;
    while ((pair = fy_node_mapping_iterate(map, &position))) {
        struct spot key;
        size_t i;
        if (!load_key(l, prefix, fy_node_pair_key(pair), &key))
            continue;
        if (find_index(key.path, &i))
            take_option(l, &key, i, fy_node_pair_value(pair));
        else if (find_section(key.path, &i))
            take_section(l, &key, i, fy_node_pair_value(pair));
        else
            load_unknown(l, &key, key.path);
    }
}

void load_root(struct load *l, struct fy_node *root)
{
    struct fy_node *map = load_target(root);
    if (!map || is_empty(map))
        return;
    if (!fy_node_is_mapping(map)) {
        struct spot at = {.node = root};
        load_problem(l, &at, fy_node_is_sequence(map) ? "a list" : "a text",
                     "a mapping of keys to values");
        return;
    }
    void *position = NULL;
    struct fy_node_pair *pair;
    while ((pair = fy_node_mapping_iterate(map, &position))) {
        struct spot key;
        size_t i;
        if (!load_key(l, "", fy_node_pair_key(pair), &key))
            continue;
        if (!strchr(key.path, '.') && find_index(key.path, &i))
            take_option(l, &key, i, fy_node_pair_value(pair));
        else if (find_section(key.path, &i))
            take_section(l, &key, i, fy_node_pair_value(pair));
        else if (is_group(key.path))
            take_section(l, &key, GROUP, fy_node_pair_value(pair));
        else
            load_unknown(l, &key, key.path);
    }
}

/*
 * What is wrong, and where: problems are collected, so that a file is corrected in one go.
 */
#include "config/load.h"

#include <string.h>

/* The tail of a long file name says more than its head. */
#define NAME_SHOWN 100
#define VALUE_SHOWN 60

struct fy_node *load_target(struct fy_node *node)
{
    if (node && fy_node_is_alias(node))
        node = fy_node_resolve_alias(node);
    return node && fy_node_is_alias(node) ? NULL : node;
}

void load_note(struct load *l, int line, int column, const char *text)
{
    uint32_t at = l->problems.count++;
    if (at >= CONFIG_PROBLEMS_MAX)
        return;
    size_t length = strlen(l->name);
    const char *tail = length > NAME_SHOWN ? l->name + length - NAME_SHOWN : l->name;
    struct fis_error e;
    (void)fis_fail(&e, FIS_INPUT, "%s%s:%d:%d: %s", tail == l->name ? "" : "...", tail, line,
                   column, text);
    memcpy(l->problems.text[at], e.text, sizeof e.text);
}

/* Line and column of a node, from 1. Only scalars carry a mark that the library hands out; for
 * the rest it is asked to complain about the node, and the complaint is read. */
static bool place_of(struct load *l, struct fy_node *node, int *line, int *column)
{
    struct fy_token *token = fy_node_is_scalar(node) ? fy_node_get_scalar_token(node) : NULL;
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark) {
        /* The mark stands behind the quote or the '*' that opens the scalar. */
        enum fy_node_style style = fy_node_get_style(node);
        bool behind =
            style == FYNS_ALIAS || style == FYNS_SINGLE_QUOTED || style == FYNS_DOUBLE_QUOTED;
        *line = mark->line + 1;
        *column = mark->column + (behind && mark->column > 0 ? 0 : 1);
        return true;
    }
    fy_diag_node_report(l->diag, node, FYET_ERROR, "here");
    const struct fy_diag_error *reported, *last = NULL;
    void *position = NULL;
    while ((reported = fy_diag_errors_iterate(l->diag, &position)))
        last = reported;
    if (!last || last->line < 1 || strcmp(last->msg, "here") != 0)
        return false;
    *line = last->line;
    *column = last->column;
    return true;
}

/* Whether the rest of the configuration, with this option's default, can be checked all the same.
 */
static bool is_apart(const char *path)
{
    static const char *const sections[] = {"kafka",     "privacy", "http",     "log",
                                           "alarms",    "runtime", "scorer",   "gate",
                                           "selection", "labels",  "training", "fairness"};
    size_t n = strcspn(path, ".[");
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strlen(sections[i]) == n && !strncmp(sections[i], path, n))
            return true;
    return false;
}

void load_say(struct load *l, const struct spot *at, const char *reported)
{
    l->apart += is_apart(at->path);
    if (l->problems.count >= CONFIG_PROBLEMS_MAX) {
        l->problems.count++;
        return;
    }
    int line = 1, column = 1;
    if (!at->node || !place_of(l, at->node, &line, &column))
        if (at->near)
            (void)place_of(l, at->near, &line, &column);
    char text[FIS_ERROR_TEXT];
    int n = at->path[0] ? snprintf(text, sizeof text, "key '%s': %s", at->path, reported)
                        : snprintf(text, sizeof text, "%s", reported);
    (void)n; /* what does not fit is cut at the end, behind what was found */
    load_note(l, line, column, text);
}

void load_problem(struct load *l, const struct spot *at, const char *found, const char *allowed)
{
    char text[FIS_ERROR_TEXT];
    snprintf(text, sizeof text, "found %s, allowed %s", found, allowed);
    load_say(l, at, text);
}

void load_refuse(struct load *l, const struct spot *at, const char *found)
{
    char allowed[256];
    config_allowed(at->option, allowed, sizeof allowed);
    load_problem(l, at, found, allowed);
}

static void describe_scalar(struct fy_node *node, char *out, size_t size)
{
    size_t length = 0;
    const char *text = fy_node_get_scalar(node, &length);
    if (!text || (length == 0 && fy_node_get_style(node) == FYNS_PLAIN)) {
        snprintf(out, size, "nothing");
        return;
    }
    size_t shown = length;
    if (shown > VALUE_SHOWN)
        for (shown = VALUE_SHOWN; shown && ((unsigned char)text[shown] & 0xc0) == 0x80; shown--)
            ;
    snprintf(out, size, "'%.*s%s'", (int)shown, text, shown < length ? "..." : "");
}

void load_describe(const struct spot *at, char *out, size_t size)
{
    struct fy_node *node = load_target(at->node);
    if (!node)
        snprintf(out, size, "%s", at->node ? "an alias without its anchor" : "nothing");
    else if (fy_node_is_sequence(node))
        snprintf(out, size, "a list");
    else if (fy_node_is_mapping(node))
        snprintf(out, size, "a mapping");
    else if (at->secret)
        snprintf(out, size, "a text that is not shown");
    else
        describe_scalar(node, out, size);
}

void load_refuse_node(struct load *l, const struct spot *at)
{
    char found[FOUND_MAX];
    load_describe(at, found, sizeof found);
    load_refuse(l, at, found);
}

void load_refuse_twice(struct load *l, const struct spot *at)
{
    char what[FOUND_MAX], found[FOUND_MAX + 16];
    load_describe(at, what, sizeof what);
    snprintf(found, sizeof found, "%s a second time", what);
    load_refuse(l, at, found);
}

static size_t index_of(const char *key)
{
    size_t i = 0;
    while (config_options[i].key && strcmp(config_options[i].key, key) != 0)
        i++;
    return i;
}

static struct fy_node *section_of(const struct load *l, const char *key)
{
    size_t length = config_section_length(key);
    for (size_t i = 0; length && config_options[i].key; i++)
        if (l->section[i] && !strncmp(config_options[i].key, key, length + 1))
            return l->section[i];
    return NULL;
}

struct spot load_spot(const struct load *l, const char *key, int item)
{
    size_t i = index_of(key);
    struct spot at = {.option = &config_options[i], .node = l->value[i], .near = l->key[i]};
    snprintf(at.path, sizeof at.path, item < 0 ? "%s" : "%s[%d]", key, item);
    struct fy_node *list = load_target(at.node);
    if (item >= 0 && list && fy_node_is_sequence(list))
        at.node = fy_node_sequence_get_by_index(list, item);
    if (!at.near)
        at.near = section_of(l, key);
    return at;
}

bool load_given(const struct load *l, const char *key)
{
    return l->value[index_of(key)] != NULL;
}

/*
 * What a column is: a feature, a base's score, a label, a sensitive one, or one of the lists of
 * records. Each is one of these.
 */
#include <stdio.h>
#include <string.h>

#include "config/load.h"
#include "fis/trees.h"

static bool is_column(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->columns.count; i++)
        if (!strcmp(c->columns.items[i].name, name))
            return true;
    return false;
}

static void refuse_base(struct load *l, const char *key, const char *found, const char *allowed)
{
    struct spot at = load_spot(l, key, -1);
    load_problem(l, &at, found, allowed);
}

/* More are not sent. */
static void check_trees(struct load *l)
{
    const struct config *c = l->cfg;
    uint32_t k = c->classes.count;
    char found[32], allowed[64];
    if (c->base.type != CONFIG_BASE_TREES || k <= 2 || c->base.trees <= FIS_TREES_MAX / k)
        return;
    snprintf(found, sizeof found, "%u", c->base.trees);
    snprintf(allowed, sizeof allowed, "at most %u of each of %u classes", FIS_TREES_MAX / k, k);
    refuse_base(l, "model.base.trees", found, allowed);
}

static void check_base(struct load *l)
{
    const struct config *c = l->cfg;
    const struct config_base_model *b = &c->base;
    uint32_t k = c->classes.count, n = b->names.count;
    if (b->type != CONFIG_BASE_COLUMN) {
        if (b->name || n)
            refuse_base(l, b->name ? "model.base.name" : "model.base.names", "a column",
                        "none without model.base.type: column");
        return;
    }
    if (k == 2 ? !b->name || n : b->name || n != k)
        refuse_base(l, "model.base.type", "column",
                    k == 2 ? "it with model.base.name, and no names, for two classes"
                           : "it with model.base.names, one per class, and no name");
    if (k == 2 && c->positive_class != 1)
        refuse_base(l, "positive", "the first of classes",
                    "the second with model.base.type: column, whose score is of that class");
    for (uint32_t i = 0; i < c->columns.count; i++)
        for (uint32_t j = i + 1; j < c->columns.count; j++)
            if (c->columns.items[j].scale > CONFIG_SCALE_NONE &&
                !strcmp(c->columns.items[i].name, c->columns.items[j].name)) {
                refuse_base(l, b->name ? "model.base.name" : "model.base.names", "one of columns",
                            "another column: a base's score is no feature");
                return;
            }
}

static void check_label(struct load *l, const char *key, const char *label)
{
    struct spot at = load_spot(l, key, -1);
    if (is_column(l->cfg, label))
        load_problem(l, &at, "one of columns", "another column: the label is never a feature");
}

/* Itself, or as a member of an object that is. */
static bool is_passthrough(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->records.passthrough.count; i++) {
        const char *passed = c->records.passthrough.items[i];
        size_t n = strlen(passed);
        if (!strncmp(passed, name, n) && (!name[n] || name[n] == '.'))
            return true;
    }
    return false;
}

/* What else has the column of this list, or NULL. */
static const char *has_too(const struct config *c, const char *name, int list)
{
    static const char *const keys[] = {"records.passthrough", "records.ignore"};
    const struct config_names *lists[] = {&c->records.passthrough, &c->records.ignore};
    for (int k = 0; k < list; k++)
        for (uint32_t i = 0; i < lists[k]->count; i++)
            if (!strcmp(lists[k]->items[i], name))
                return keys[k];
    return is_column(c, name) ? "columns" : strcmp(name, c->records.id) ? NULL : "records.id";
}

/* A column that is read is neither ignored nor refused. */
static void check_members(struct load *l, const char *key, const struct config_names *names,
                          int list)
{
    for (uint32_t i = 0; i < names->count; i++) {
        struct spot at = load_spot(l, key, (int)i);
        char what[FOUND_MAX], found[FOUND_MAX + 48];
        const char *other = has_too(l->cfg, names->items[i], list);
        if (!other)
            continue;
        load_describe(&at, what, sizeof what);
        snprintf(found, sizeof found, "%s, which %s has too", what, other);
        load_problem(l, &at, found, "other columns");
    }
}

static void check_sensitive(struct load *l)
{
    const struct config *c = l->cfg;
    for (uint32_t i = 0; i < c->validation.sensitive.count; i++) {
        const char *name = c->validation.sensitive.items[i];
        struct spot at = load_spot(l, "validation.sensitive", (int)i);
        char what[FOUND_MAX], found[FOUND_MAX + 48];
        load_describe(&at, what, sizeof what);
        if (is_column(c, name)) {
            snprintf(found, sizeof found, "%s, which is one of columns", what);
            load_problem(l, &at, found, "other columns: a sensitive column is never a feature");
        } else if (!strcmp(name, c->validation.label)) {
            snprintf(found, sizeof found, "%s, which is validation.label", what);
            load_problem(l, &at, found, "other columns: a sensitive column is not the label");
        } else if (is_passthrough(c, name)) {
            snprintf(found, sizeof found, "%s, which is in records.passthrough", what);
            load_problem(l, &at, found, "other columns: a sensitive column is not on the stream");
        }
    }
}

void load_check_columns(struct load *l)
{
    check_base(l);
    check_trees(l);
    check_label(l, "initial.label", l->cfg->initial.label);
    check_label(l, "validation.label", l->cfg->validation.label);
    check_members(l, "records.ignore", &l->cfg->records.ignore, 1);
    check_members(l, "records.refuse", &l->cfg->records.refuse, 2);
    check_sensitive(l);
}

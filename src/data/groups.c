#include "data/groups.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/category.h"

/* Between the values of one group's name. */
#define SEPARATOR '\x1f'

static bool listed(const char *const *list, uint32_t n, const char *text, size_t length)
{
    for (uint32_t i = 0; i < n; i++)
        if (category_same(list[i], strlen(list[i]), text, length))
            return true;
    return false;
}

/* The value in "column=value", when it is one of this column; else NULL. */
static const char *declared_value(const struct wire_schema *s, uint32_t i, const char *column)
{
    size_t n = strlen(column);
    return !strncmp(s->declared[i], column, n) && s->declared[i][n] == '=' ? s->declared[i] + n + 1
                                                                           : NULL;
}

/* *any: the column has declared values. */
static bool is_declared(const struct wire_schema *s, const char *column, const char *text,
                        size_t length, bool *any)
{
    *any = false;
    for (uint32_t i = 0; i < s->n_declared; i++) {
        const char *value = declared_value(s, i, column);
        *any |= value != NULL;
        if (value && category_same(value, strlen(value), text, length))
            return true;
    }
    return false;
}

/* What is declared is a value, whatever it looks like. */
static bool is_missing(const struct wire_schema *s, const char *column, const char *text,
                       size_t length)
{
    bool any;
    return length == 0 || (listed(s->missing, s->n_missing, text, length) &&
                           !is_declared(s, column, text, length, &any));
}

static int check_value(const struct wire_schema *s, const char *column, const char *text,
                       size_t length, size_t room, struct fis_error *e)
{
    if (memchr(text, SEPARATOR, length) || memchr(text, 0, length))
        return fis_fail(e, FIS_INPUT, "column %s: a control character in it", column);
    if (length + 2 > room)
        return fis_fail(e, FIS_INPUT, "column %s: %zu bytes are too long for a group's name",
                        column, length);
    bool any;
    if (!is_declared(s, column, text, length, &any) && any)
        return fis_fail(e, FIS_INPUT, "column %s: a value that validation.groups does not have",
                        column);
    return 0;
}

/* The name of the group, or 1. */
static int join(const struct wire_schema *s, const struct fis_value *sensitive,
                char name[DATA_GROUP_NAME_MAX], struct fis_error *e)
{
    size_t used = 0;
    for (uint32_t i = 0; i < s->n_sensitive; i++) {
        const char *text;
        char room[FIS_CATEGORY_ROOM];
        size_t length = 0;
        if (sensitive[i].kind != FIS_VALUE_MISSING)
            fis_value_category(&sensitive[i], room, &text, &length);
        if (is_missing(s, s->sensitive[i], text, length))
            return 1;
        int rc = check_value(s, s->sensitive[i], text, length, DATA_GROUP_NAME_MAX - used, e);
        if (rc)
            return rc;
        if (i)
            name[used++] = SEPARATOR;
        memcpy(name + used, text, length);
        used += length;
    }
    name[used] = 0;
    return 0;
}

int data_groups_check(const struct wire_schema *schema, const struct fis_value *sensitive,
                      struct fis_error *e)
{
    char name[DATA_GROUP_NAME_MAX];
    return join(schema, sensitive, name, e);
}

int data_groups_add(struct data_groups *g, const struct wire_schema *schema,
                    const struct fis_value *sensitive, uint32_t *index, struct fis_error *e)
{
    char name[DATA_GROUP_NAME_MAX];
    int rc = join(schema, sensitive, name, e);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < g->n; i++)
        if (strcmp(g->names[i], name) == 0) {
            *index = i;
            return 0;
        }
    if (g->n == FIS_MAX_GROUPS)
        return fis_fail(e, FIS_INPUT, "column %s: more than %d groups of people",
                        schema->sensitive[0], FIS_MAX_GROUPS);
    if (!g->names && !(g->names = fis_calloc(FIS_MAX_GROUPS, sizeof *g->names)))
        return fis_fail(e, FIS_NOMEM, "no memory for the groups");
    if (!(g->names[g->n] = fis_strdup(name)))
        return fis_fail(e, FIS_NOMEM, "no memory for the groups");
    *index = g->n++;
    return 0;
}

/* ---- what was declared ------------------------------------------------------------------------ */

/* One choice of declared values, a column each; NULL: any. */
struct combination {
    const struct wire_schema *schema;
    const char *values[WIRE_SENSITIVE_MAX];
};

static bool group_has(const char *name, const struct combination *c)
{
    for (uint32_t i = 0; i < c->schema->n_sensitive; i++) {
        size_t n = strcspn(name, (char[]){SEPARATOR, 0});
        if (c->values[i] && !category_same(c->values[i], strlen(c->values[i]), name, n))
            return false;
        name += n + (name[n] != 0);
    }
    return true;
}

static bool is_empty(const struct data_groups *g, const struct combination *c, data_empty_fn *empty,
                     void *ctx)
{
    char text[DATA_GROUP_NAME_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < g->n; i++)
        if (group_has(g->names[i], c))
            return false;
    for (uint32_t i = 0; i < c->schema->n_sensitive; i++)
        if (c->values[i] && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=%s", n ? ", " : "",
                                  c->schema->sensitive[i], c->values[i]);
    empty(ctx, text);
    return true;
}

static void each_combination(const struct data_groups *g, struct combination *c, uint32_t column,
                             data_empty_fn *empty, void *ctx)
{
    if (column == c->schema->n_sensitive) {
        is_empty(g, c, empty, ctx);
        return;
    }
    for (uint32_t i = 0; i < c->schema->n_declared; i++)
        if ((c->values[column] = declared_value(c->schema, i, c->schema->sensitive[column])))
            each_combination(g, c, column + 1, empty, ctx);
}

void data_groups_empty(const struct data_groups *g, const struct wire_schema *schema,
                       data_empty_fn *empty, void *ctx)
{
    struct combination c = {.schema = schema};
    bool all = true, gone = false;
    for (uint32_t k = 0; k < schema->n_sensitive; k++) {
        bool any = false;
        for (uint32_t i = 0; i < schema->n_declared; i++)
            if ((c.values[k] = declared_value(schema, i, schema->sensitive[k]))) {
                any = true;
                gone |= is_empty(g, &c, empty, ctx);
            }
        c.values[k] = NULL;
        all &= any;
    }
    if (all && !gone && schema->n_sensitive > 1)
        each_combination(g, &c, 0, empty, ctx);
}

void data_groups_sort(struct data_groups *g, uint32_t *rows, uint32_t n)
{
    uint32_t from[FIS_MAX_GROUPS], to[FIS_MAX_GROUPS];
    for (uint32_t i = 0; i < g->n; i++) {
        char *name = g->names[i];
        uint32_t at = i;
        for (; at > 0 && strcmp(g->names[at - 1], name) > 0; at--) {
            g->names[at] = g->names[at - 1];
            from[at] = from[at - 1];
        }
        g->names[at] = name;
        from[at] = i;
    }
    for (uint32_t i = 0; i < g->n; i++)
        to[from[i]] = i;
    for (uint32_t i = 0; i < n; i++) {
        assert(rows[i] < g->n);
        rows[i] = to[rows[i]];
    }
}

void data_groups_done(struct data_groups *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        fis_free(g->names[i]);
    fis_free(g->names);
    *g = (struct data_groups){0};
}

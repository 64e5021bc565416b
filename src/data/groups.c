#include "data/groups.h"

#include <assert.h>
#include <string.h>

/* Between the values of one group's name. */
#define SEPARATOR '\x1f'

static int join(const char *const *columns, const struct fis_value *sensitive, uint32_t n,
                char name[DATA_GROUP_NAME_MAX], struct fis_error *e)
{
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *text;
        char room[FIS_CATEGORY_ROOM];
        size_t length = 0;
        if (sensitive[i].kind != FIS_VALUE_MISSING)
            fis_value_category(&sensitive[i], room, &text, &length);
        if (length == 0)
            return fis_fail(e, FIS_INPUT, "column %s: missing; a validation example needs it",
                            columns[i]);
        if (memchr(text, SEPARATOR, length) || memchr(text, 0, length))
            return fis_fail(e, FIS_INPUT, "column %s: a control character in it", columns[i]);
        if (length + 2 > DATA_GROUP_NAME_MAX - used)
            return fis_fail(e, FIS_INPUT, "column %s: %zu bytes are too long for a group's name",
                            columns[i], length);
        if (i)
            name[used++] = SEPARATOR;
        memcpy(name + used, text, length);
        used += length;
    }
    name[used] = 0;
    return 0;
}

int data_groups_check(const char *const *columns, const struct fis_value *sensitive,
                      uint32_t n_sensitive, struct fis_error *e)
{
    char name[DATA_GROUP_NAME_MAX];
    return join(columns, sensitive, n_sensitive, name, e);
}

int data_groups_add(struct data_groups *g, const char *const *columns,
                    const struct fis_value *sensitive, uint32_t n_sensitive, uint32_t *index,
                    struct fis_error *e)
{
    char name[DATA_GROUP_NAME_MAX];
    int rc = join(columns, sensitive, n_sensitive, name, e);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < g->n; i++)
        if (strcmp(g->names[i], name) == 0) {
            *index = i;
            return 0;
        }
    if (g->n == FIS_MAX_GROUPS)
        return fis_fail(e, FIS_INPUT, "column %s: more than %d groups of people", columns[0],
                        FIS_MAX_GROUPS);
    if (!g->names && !(g->names = fis_calloc(FIS_MAX_GROUPS, sizeof *g->names)))
        return fis_fail(e, FIS_NOMEM, "no memory for the groups");
    if (!(g->names[g->n] = fis_strdup(name)))
        return fis_fail(e, FIS_NOMEM, "no memory for the groups");
    *index = g->n++;
    return 0;
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

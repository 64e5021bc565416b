#include "init/survey_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "fis/fairness.h"
#include "fis/mem.h"

const char *init_text(const struct data_table *t, int column, uint32_t row, size_t *length)
{
    const struct data_table_column *c = &t->columns[column];
    uint32_t code = c->codes[row];
    *length = code == DATA_MISSING ? 0 : c->values[code].length;
    return code == DATA_MISSING ? "" : c->values[code].text;
}

enum init_role init_role(const struct init_survey *s, const char *column)
{
    int i = data_table_find(s->t, column, NULL);
    return i < 0 ? INIT_UNKNOWN : s->columns[i].role;
}

const char *init_class(const struct init_survey *s, uint32_t k)
{
    return s->t->columns[s->label].values[s->classes[k]].text;
}

/* ---- the roles of columns -------------------------------------------------------------------- */

static const char *role_name(enum init_role role)
{
    return role == INIT_LABEL ? "label" : role == INIT_SENSITIVE ? "sensitive column" : "id";
}

static int take_column(struct init_survey *s, const char *name, enum init_role role, int *column,
                       struct fis_error *e)
{
    int i = data_table_find(s->t, name, e);
    if (i < 0)
        return -FIS_INPUT;
    if (s->columns[i].role != INIT_FEATURE)
        return fis_fail(e, FIS_INPUT, "column \"%s\" cannot be the %s and the %s at once", name,
                        role_name(s->columns[i].role), role_name(role));
    s->columns[i].role = role;
    *column = i;
    return 0;
}

static int take_choice(struct init_survey *s, const struct init_choice *c, struct fis_error *e)
{
    int rc = take_column(s, c->label, INIT_LABEL, &s->label, e);
    for (uint32_t i = 0; !rc && i < c->n_sensitive; i++)
        rc = take_column(s, c->sensitive[i], INIT_SENSITIVE, &s->sensitive[i], e);
    s->n_sensitive = c->n_sensitive;
    s->id = -1;
    if (!rc && c->id)
        return take_column(s, c->id, INIT_ID, &s->id, e);
    for (uint32_t i = 0; !rc && s->id < 0 && i < s->t->n_columns; i++)
        if (!strcasecmp(s->t->columns[i].name, "id"))
            rc = take_column(s, s->t->columns[i].name, INIT_ID, &s->id, e);
    return rc;
}

/* ---- classes and groups ---------------------------------------------------------------------- */

struct sorted {
    const struct data_table_column *c;
    uint32_t code;
};

static int by_value(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const struct fis_value *v = &x->c->values[x->code], *w = &y->c->values[y->code];
    if (x->c->type == FIS_NUMERIC && v->number != w->number)
        return v->number < w->number ? -1 : 1;
    return strcmp(v->text, w->text);
}

static int take_classes(struct init_survey *s, const struct init_choice *choice,
                        struct fis_error *e)
{
    const struct data_table_column *c = &s->t->columns[s->label];
    struct sorted order[FIS_MAX_CLASSES];
    uint32_t place[FIS_MAX_CLASSES];
    if (c->n_values < 2 || c->n_values > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "label column \"%s\" has %s, allowed 2 to %d classes",
                        c->name, DECIMAL_COUNT(c->n_values, "value"), FIS_MAX_CLASSES);
    for (uint32_t k = 0; k < c->n_values; k++)
        order[k] = (struct sorted){c, k};
    qsort(order, c->n_values, sizeof *order, by_value);
    s->n_classes = c->n_values;
    s->positive = c->n_values;
    for (uint32_t k = 0; k < c->n_values; k++) {
        s->classes[k] = order[k].code;
        place[order[k].code] = k;
        if (choice->positive && !strcmp(choice->positive, c->values[order[k].code].text))
            s->positive = k;
    }
    if (choice->positive && s->positive == s->n_classes)
        return fis_fail(e, FIS_INPUT, "there is no class \"%s\" in column \"%s\"", choice->positive,
                        c->name);
    if (!choice->positive)
        s->positive = s->n_classes - 1;
    for (uint32_t r = 0; r < s->t->n; r++)
        s->y[r] = c->codes[r] == DATA_MISSING ? DATA_MISSING : place[c->codes[r]];
    return 0;
}

static bool same_group(const struct init_survey *s, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < s->n_sensitive; i++) {
        const uint32_t *codes = s->t->columns[s->sensitive[i]].codes;
        if (codes[a] != codes[b])
            return false;
    }
    return true;
}

static bool lacks_group(const struct init_survey *s, uint32_t row)
{
    for (uint32_t i = 0; i < s->n_sensitive; i++)
        if (s->t->columns[s->sensitive[i]].codes[row] == DATA_MISSING)
            return true;
    return false;
}

/* Groups in the order in which they come; first[g]: a row of group g. */
static int take_groups(struct init_survey *s, struct fis_error *e)
{
    uint32_t first[FIS_MAX_GROUPS];
    for (uint32_t r = 0; r < s->t->n; r++) {
        uint32_t g = 0;
        s->group[r] = DATA_MISSING;
        if (lacks_group(s, r))
            continue;
        while (g < s->n_groups && !same_group(s, first[g], r))
            g++;
        if (g == FIS_MAX_GROUPS)
            return fis_fail(e, FIS_INPUT,
                            "the sensitive columns have more than %d combinations of values: an "
                            "age or an income has to be put in bands first",
                            FIS_MAX_GROUPS);
        if (g == s->n_groups)
            first[s->n_groups++] = r;
        s->group[r] = g;
    }
    return 0;
}

static void count_cells(struct init_survey *s)
{
    for (uint32_t r = 0; r < s->t->n; r++)
        if (s->y[r] != DATA_MISSING && s->group[r] != DATA_MISSING) {
            s->cells[s->group[r] * s->n_classes + s->y[r]]++;
            s->usable++;
        }
}

const char *init_group(const struct init_survey *s, uint32_t g, char *text, size_t size)
{
    uint32_t row = 0;
    size_t at = 0, length;
    while (row < s->t->n && s->group[row] != g)
        row++;
    text[0] = 0;
    for (uint32_t i = 0; i < s->n_sensitive && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s=%s", i ? ", " : "",
                               s->t->columns[s->sensitive[i]].name,
                               init_text(s->t, s->sensitive[i], row, &length));
    return text;
}

/* Of rows with one id the first is used: a file in which an id comes twice is refused. */
static int leave_out_same_ids(struct init_survey *s, struct fis_error *e)
{
    const struct data_table_column *c = s->id < 0 ? NULL : &s->t->columns[s->id];
    bool *seen = c ? fis_calloc((size_t)c->n_values + 1, sizeof *seen) : NULL;
    if (c && !seen)
        return fis_fail(e, FIS_NOMEM, "no memory to compare %u ids", c->n_values);
    for (uint32_t r = 0; c && r < s->t->n; r++) {
        if (c->codes[r] == DATA_MISSING)
            continue;
        if (seen[c->codes[r]]) {
            s->same_id++;
            s->y[r] = DATA_MISSING;
        }
        seen[c->codes[r]] = true;
    }
    fis_free(seen);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int survey(struct init_survey *s, const struct init_choice *choice, struct fis_error *e)
{
    const struct data_table *t = s->t;
    s->columns = fis_calloc(t->n_columns, sizeof *s->columns);
    s->classes = fis_calloc(FIS_MAX_CLASSES, sizeof *s->classes);
    s->y = fis_alloc(t->n, sizeof *s->y);
    s->group = fis_alloc(t->n, sizeof *s->group);
    s->cells = fis_calloc(FIS_MAX_GROUPS * FIS_MAX_CLASSES, sizeof *s->cells);
    if (!s->columns || !s->classes || !s->y || !s->group || !s->cells)
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", t->n);
    int rc = take_choice(s, choice, e);
    if (!rc)
        rc = take_classes(s, choice, e);
    if (!rc)
        rc = take_groups(s, e);
    if (!rc)
        rc = leave_out_same_ids(s, e);
    if (rc)
        return rc;
    count_cells(s);
    for (uint32_t i = 0; !rc && i < t->n_columns; i++)
        rc = survey_column(s, i, e);
    return rc ? rc : survey_count_duplicates(s, e);
}

int init_survey(struct init_survey *s, const struct data_table *t, const struct init_choice *choice,
                struct fis_error *e)
{
    *s = (struct init_survey){.t = t};
    int rc = survey(s, choice, e);
    if (rc)
        init_survey_done(s);
    return rc;
}

void init_survey_done(struct init_survey *s)
{
    fis_free(s->columns);
    fis_free(s->classes);
    fis_free(s->y);
    fis_free(s->group);
    fis_free(s->cells);
    *s = (struct init_survey){0};
}

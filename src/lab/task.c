#include "lab/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "data/groups.h"
#include "fis/mem.h"

const char *lab_regime_name(enum lab_regime r)
{
    return r == LAB_RICH ? "rich" : "scarce";
}

int lab_regime_find(const char *name, enum lab_regime *out, struct fis_error *e)
{
    for (int r = 0; r < LAB_REGIMES; r++)
        if (strcmp(name, lab_regime_name((enum lab_regime)r)) == 0) {
            *out = (enum lab_regime)r;
            return 0;
        }
    return fis_fail(e, FIS_INPUT, "regime: found '%s', allowed rich, scarce", name);
}

void lab_task_free(struct lab_task *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->classes && i < t->n_classes; i++)
        fis_free(t->classes[i]);
    fis_free(t->classes);
    fis_free(t->y);
    fis_free(t->group);
    fis_free(t->features);
    fis_free(t->biased);
    fis_free(t);
}

/* ---- classes -------------------------------------------------------------------------------- */

struct class_at {
    const struct fis_value *value;
    uint32_t code;
};

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const struct class_at *)a)->value->text,
                  ((const struct class_at *)b)->value->text);
}

static int check_label(const struct lab_task *t, const struct data_table_column *c,
                       struct fis_error *e)
{
    if (c->n_values < 2 || c->n_values > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "label \"%s\": %s; 2 to %d are possible as classes", c->name,
                        DECIMAL_COUNT(c->n_values, "value"), FIS_MAX_CLASSES);
    for (uint32_t i = 0; i < t->n; i++)
        if (c->codes[i] == DATA_MISSING)
            return fis_fail(e, FIS_INPUT, "label \"%s\": row %u has none", c->name, i + 1);
    return 0;
}

static int take_classes(struct lab_task *t, const struct data_table_column *c, struct fis_error *e)
{
    struct class_at order[FIS_MAX_CLASSES];
    uint32_t index[FIS_MAX_CLASSES];
    int r = check_label(t, c, e);
    if (r < 0)
        return r;
    t->classes = fis_calloc(c->n_values, sizeof *t->classes);
    if (!t->classes)
        return fis_fail(e, FIS_NOMEM, "no memory for classes");
    t->n_classes = c->n_values;
    for (uint32_t i = 0; i < c->n_values; i++)
        order[i] = (struct class_at){&c->values[i], i};
    qsort(order, c->n_values, sizeof *order, by_bytes);
    t->positive = t->n_classes - 1;
    for (uint32_t i = 0; i < c->n_values; i++) {
        index[order[i].code] = i;
        if (!(t->classes[i] = fis_strdup(order[i].value->text)))
            return fis_fail(e, FIS_NOMEM, "no memory for classes");
    }
    for (uint32_t i = 0; i < t->n; i++)
        t->y[i] = index[c->codes[i]];
    return 0;
}

static int take_positive(struct lab_task *t, struct fis_error *e)
{
    if (!t->spec->positive)
        return 0;
    for (uint32_t i = 0; i < t->n_classes; i++)
        if (strcmp(t->classes[i], t->spec->positive) == 0) {
            t->positive = i;
            return 0;
        }
    return fis_fail(e, FIS_INPUT, "positive class: found '%s', allowed are %s, %s%s",
                    t->spec->positive, t->classes[0], t->classes[1], t->n_classes > 2 ? " …" : "");
}

/* ---- groups --------------------------------------------------------------------------------- */

static int take_groups(struct lab_task *t, const uint32_t *columns, uint32_t n, struct fis_error *e)
{
    struct data_groups groups = {0};
    struct fis_value values[4];
    const struct wire_schema schema = {.sensitive = t->spec->sensitive, .n_sensitive = n};
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < t->n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            const struct data_table_column *c = &t->table->columns[columns[j]];
            values[j] = (struct fis_value){.kind = FIS_VALUE_MISSING};
            if (c->codes[i] != DATA_MISSING) {
                values[j] = c->values[c->codes[i]];
                values[j].kind = FIS_VALUE_TEXT;
            }
        }
        r = data_groups_add(&groups, &schema, values, &t->group[i], e);
        if (r > 0)
            r = fis_fail(e, FIS_INPUT, "a sensitive value is missing");
        if (r < 0)
            fis_error_prefix(e, "row %u", i + 1);
    }
    if (r == 0 && groups.n < 2)
        r = fis_fail(e, FIS_INPUT, "sensitive columns: %u group; at least 2 are needed", groups.n);
    if (r == 0) {
        data_groups_sort(&groups, t->group, t->n);
        t->n_groups = groups.n;
    }
    data_groups_done(&groups);
    return r;
}

/* ---- columns -------------------------------------------------------------------------------- */

static bool is_feature(const struct lab_task_spec *s, const char *name)
{
    if (strcmp(name, s->label) == 0 || data_listed(s->leave_out, name))
        return false;
    for (int i = 0; i < 4 && s->sensitive[i]; i++)
        if (strcmp(name, s->sensitive[i]) == 0)
            return false;
    return true;
}

static int take_biased(struct lab_task *t, struct fis_error *e)
{
    if (!t->spec->biased)
        return 0;
    int at = data_table_find(t->table, t->spec->biased, e);
    if (at < 0)
        return -FIS_INPUT;
    if (!(t->biased = fis_calloc(t->n, sizeof *t->biased)))
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", t->n);
    const struct data_table_column *c = &t->table->columns[at];
    for (uint32_t i = 0; i < t->n; i++)
        t->biased[i] = c->codes[i] != DATA_MISSING && strcmp(c->values[c->codes[i]].text, "0") != 0;
    return 0;
}

static int take_columns(struct lab_task *t, struct fis_error *e)
{
    const struct lab_task_spec *s = t->spec;
    uint32_t sensitive[4], n = 0;
    int label = data_table_find(t->table, s->label, e), at;
    if (label < 0)
        return -FIS_INPUT;
    for (; n < 4 && s->sensitive[n]; n++) {
        if ((at = data_table_find(t->table, s->sensitive[n], e)) < 0)
            return -FIS_INPUT;
        sensitive[n] = (uint32_t)at;
    }
    for (uint32_t i = 0; !t->images && i < t->table->n_columns; i++)
        if (is_feature(s, t->table->columns[i].name) && t->table->columns[i].n_values)
            t->features[t->n_features++] = i;
    if (t->n_features == 0 && !t->images)
        return fis_fail(e, FIS_INPUT, "no column is left for a feature");
    int r = take_classes(t, &t->table->columns[label], e);
    if (r == 0)
        r = take_biased(t, e);
    if (r == 0)
        r = take_positive(t, e);
    return r < 0 ? r : take_groups(t, sensitive, n, e);
}

struct lab_task *lab_task_open(const struct lab_task_spec *spec, const struct data_table *table,
                               const struct lab_images *images, struct fis_error *e)
{
    struct lab_task *t = fis_calloc(1, sizeof *t);
    int r = 0;
    if (!t) {
        fis_fail(e, FIS_NOMEM, "%s: no memory", spec->name);
        return NULL;
    }
    *t = (struct lab_task){.spec = spec, .table = table, .images = images, .n = table->n};
    t->y = fis_calloc(t->n, sizeof *t->y);
    t->group = fis_calloc(t->n, sizeof *t->group);
    t->features = fis_calloc(table->n_columns, sizeof *t->features);
    r = t->y && t->group && t->features ? take_columns(t, e)
                                        : fis_fail(e, FIS_NOMEM, "no memory for %u rows", t->n);
    if (r < 0) {
        fis_error_prefix(e, "%s", spec->name);
        lab_task_free(t);
        return NULL;
    }
    return t;
}

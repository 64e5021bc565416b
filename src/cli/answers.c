#include "cli/answers.h"

#include <string.h>

#include "data/rows.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int bad_label(const struct cli *c, const struct fis_value *label, struct fis_error *e)
{
    char classes[200] = "";
    for (uint32_t k = 0; k < c->schema.n_classes; k++) {
        size_t n = strlen(classes);
        snprintf(classes + n, sizeof classes - n, "%s'%s'", k ? ", " : "", c->schema.classes[k]);
    }
    if (label->kind != FIS_VALUE_TEXT)
        return fis_fail(e, FIS_INPUT, "no label, allowed %s", classes);
    return fis_fail(e, FIS_INPUT, "label: found '%.*s', allowed %s",
                    (int)(label->length < 64 ? label->length : 64), label->text, classes);
}

/* values: id, label. */
static int take(const struct cli *c, const struct fis_value *values, struct id_map *out,
                struct fis_error *e)
{
    struct fis_id id;
    uint32_t before;
    if (values[0].kind != FIS_VALUE_TEXT || fis_id_set(&id, values[0].text, values[0].length))
        return fis_fail(e, FIS_INPUT, "no id, or one of more than 255 bytes, in column '%s'",
                        c->schema.id_column);
    int k = values[1].kind == FIS_VALUE_TEXT
                ? wire_schema_class(&c->schema, values[1].text, values[1].length)
                : -1;
    if (k < 0)
        return bad_label(c, &values[1], e);
    int rc = id_map_add(out, &id, (uint32_t)k, &before, e);
    if (rc < 0)
        return rc;
    if (!rc && before != (uint32_t)k)
        return fis_fail(e, FIS_INPUT, "id '%.*s' stands here a second time with another label",
                        (int)id.length, id.bytes);
    return 0;
}

static struct data_rows *open_rows(const struct cli *c, const char *path, const char *label,
                                   struct data_column columns[2], struct data_options *o,
                                   struct fis_error *e)
{
    columns[0] = (struct data_column){.name = c->schema.id_column, .cell = DATA_TEXT};
    columns[1] = (struct data_column){.name = label, .cell = DATA_TEXT};
    *o = (struct data_options){.columns = columns, .n_columns = 2};
    return data_rows_open(path, o, e);
}

int answers_load(const struct cli *c, const char *path, const char *label, struct id_map *out,
                 struct fis_error *e)
{
    struct data_column columns[2];
    struct data_options o;
    struct fis_value values[2];
    struct fis_error other;
    struct data_rows *rows =
        open_rows(c, path, label ? label : c->cfg.initial.label, columns, &o, e);
    if (!rows && !label)
        rows = open_rows(c, path, "label", columns, &o, &other);
    if (!rows)
        return -(int)e->class;
    int rc;
    while ((rc = data_rows_next(rows, values, e)) > 0) {
        rc = take(c, values, out, e);
        if (rc) {
            rc = fis_error_prefix(e, "%s: line %llu", base_name(path),
                                  (unsigned long long)data_rows_line(rows));
            break;
        }
    }
    data_rows_close(rows);
    return rc;
}

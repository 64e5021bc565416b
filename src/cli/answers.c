#include "cli/answers.h"

#include <string.h>

#include "cli/options.h"
#include "data/rows.h"
#include "wire/json_codec.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The columns of an answer: the id, and the label by one of two names. */
enum { ID, LABEL, OTHER, COLUMNS };

static int bad_label(const struct cli *c, const struct data_column *columns,
                     const struct fis_value *label, struct fis_error *e)
{
    char known[200] = "";
    for (uint32_t k = 0; k < c->schema.n_classes; k++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s'%s'", k ? ", " : "", c->schema.classes[k]);
    }
    if (label->kind == FIS_VALUE_MISSING)
        return fis_fail(e, FIS_INPUT, "no label in column '%s'%s%s, allowed %s",
                        columns[LABEL].name,
                        columns[OTHER].name == columns[LABEL].name ? "" : " or ",
                        columns[OTHER].name == columns[LABEL].name ? "" : "'label'", known);
    return fis_fail(e, FIS_INPUT, "label: found '%.*s', allowed %s",
                    (int)(label->length < 64 ? label->length : 64), label->text, known);
}

static int take(const struct cli *c, const struct data_column *columns,
                const struct fis_value *values, struct id_map *out, struct fis_error *e)
{
    struct fis_id id;
    uint32_t before;
    const struct fis_value *label =
        values[LABEL].kind != FIS_VALUE_MISSING ? &values[LABEL] : &values[OTHER];
    if (values[ID].kind != FIS_VALUE_TEXT || fis_id_set(&id, values[ID].text, values[ID].length))
        return fis_fail(e, FIS_INPUT, "no id, or one of more than 255 bytes, in column '%s'",
                        c->schema.id_column);
    uint32_t k;
    struct fis_error none;
    if (wire_class_of_value(&c->schema, label, 0, &k, &none))
        return bad_label(c, columns, label, e);
    int rc = id_map_add(out, &id, k, &before, e);
    if (rc < 0)
        return rc;
    if (!rc && before != k)
        return fis_fail(e, FIS_INPUT, "id '%.*s' stands here a second time with another label",
                        (int)id.length, id.bytes);
    return 0;
}

int answers_load(const struct cli *c, const char *path, const struct data_reading *read,
                 const char *label, struct id_map *out, struct fis_error *e)
{
    const char *name = label ? label : c->cfg.initial.label;
    bool one = label || !strcmp(name, "label");
    const struct data_column columns[COLUMNS] = {
        [ID] = {.name = c->schema.id_column, .cell = DATA_TEXT},
        [LABEL] = {.name = name, .cell = DATA_STRING, .optional = !one},
        [OTHER] = {.name = one ? name : "label", .cell = DATA_STRING, .optional = 1},
    };
    const struct data_options o = {
        .how = cli_reading(c, read), .columns = columns, .n_columns = one ? 2 : 3};
    struct fis_value values[COLUMNS] = {0};
    struct data_rows *rows = data_rows_open(path, &o, e);
    if (!rows)
        return -(int)e->kind;
    int rc;
    while ((rc = data_rows_next(rows, values, e)) > 0) {
        rc = take(c, columns, values, out, e);
        if (rc) {
            rc = fis_error_prefix(e, "%s: line %llu", base_name(path),
                                  (unsigned long long)data_rows_line(rows));
            break;
        }
    }
    data_rows_close(rows);
    return rc;
}

#include "data/examples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json_codec.h"

/* Where the columns of one row lie: features first, then label, id, sensitive. */
struct layout {
    struct data_column *columns;
    struct fis_value *values; /* the row at hand */
    struct data_options options;
    uint32_t label, id, sensitive; /* id: UINT32_MAX when none is named */
};

static void layout_done(struct layout *l)
{
    fis_free(l->columns);
    fis_free(l->values);
}

static int layout_init(struct layout *l, const struct data_source *s, int features_only,
                       struct fis_error *e)
{
    const struct wire_schema *schema = s->schema;
    size_t most = (size_t)s->n_columns + schema->n_sensitive + 2;
    *l = (struct layout){.columns = fis_calloc(most, sizeof *l->columns),
                         .values = fis_calloc(most, sizeof *l->values),
                         .id = UINT32_MAX};
    if (!l->columns || !l->values)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", s->n_columns);
    uint32_t n = 0;
    for (; n < s->n_columns; n++)
        l->columns[n] = (struct data_column){
            .name = s->columns[n].name,
            .cell = s->columns[n].type == FIS_NUMERIC ? DATA_NUMBER : DATA_STRING,
            .secret = s->with_sensitive}; /* of a row that is shifted by a column */
    if (!features_only) {
        l->label = n;
        l->columns[n++] = (struct data_column){.name = schema->label_column, .cell = DATA_STRING};
        if (schema->id_column) {
            l->id = n;
            l->columns[n++] =
                (struct data_column){.name = schema->id_column, .cell = DATA_TEXT, .optional = 1};
        }
        l->sensitive = n;
        for (uint32_t i = 0; s->with_sensitive && i < schema->n_sensitive; i++)
            l->columns[n++] = (struct data_column){
                .name = schema->sensitive[i], .cell = DATA_STRING, .secret = 1};
    }
    l->options = (struct data_options){.format = s->format,
                                       .delimiter = s->delimiter,
                                       .standard_delimiter = s->standard_delimiter,
                                       .regular = 1,
                                       .columns = l->columns,
                                       .n_columns = n};
    return 0;
}

static int at_line(const struct data_source *s, const struct data_rows *rows, struct fis_error *e)
{
    return fis_error_prefix(e, "%s: line %" PRIu64, s->path, data_rows_line(rows));
}

static int observe_all(const struct data_source *s, struct data_rows *rows, struct layout *l,
                       struct fis_encoder *enc, struct fis_error *e)
{
    int rc;
    while ((rc = data_rows_next(rows, l->values, e)) == 1)
        if (fis_encoder_observe(enc, l->values, e))
            return at_line(s, rows, e);
    if (!rc && (rc = fis_encoder_finish(enc, e)))
        fis_error_prefix(e, "%s", s->path);
    return rc;
}

struct fis_encoder *data_fit_encoder(const struct data_source *s, uint32_t max_categories,
                                     struct fis_error *e)
{
    struct fis_error local;
    struct layout l;
    struct data_rows *rows = NULL;
    e = e ? e : &local;
    struct fis_encoder *enc = fis_encoder_new(s->columns, s->n_columns, max_categories, e);
    int rc = enc ? layout_init(&l, s, 1, e) : -1;
    if (enc && !rc)
        rc =
            (rows = data_rows_open(s->path, &l.options, e)) ? observe_all(s, rows, &l, enc, e) : -1;
    data_rows_close(rows);
    if (enc)
        layout_done(&l);
    if (rc) {
        fis_encoder_free(enc);
        return NULL;
    }
    return enc;
}

/* The examples while they are read; lines are for the error about an id that comes twice. */
struct reading {
    struct data_examples out;
    uint64_t *lines;
    uint32_t capacity;
};

static int grow(struct reading *g, int with_groups, struct fis_error *e)
{
    struct data_examples *x = &g->out;
    if (x->n < g->capacity)
        return 0;
    if (g->capacity > UINT32_MAX / 2)
        return fis_fail(e, FIS_INPUT, "more than %u rows", g->capacity);
    uint32_t more = g->capacity ? 2 * g->capacity : 256;
    float *rows = fis_grow(x->x, (size_t)x->n * x->d, (size_t)more * x->d, sizeof *rows);
    x->x = rows ? rows : x->x;
    uint32_t *labels = fis_grow(x->labels, x->n, more, sizeof *labels);
    x->labels = labels ? labels : x->labels;
    uint32_t *groups = with_groups ? fis_grow(x->groups, x->n, more, sizeof *groups) : NULL;
    x->groups = groups ? groups : x->groups;
    struct fis_id *ids = fis_grow(x->ids, x->n, more, sizeof *ids);
    x->ids = ids ? ids : x->ids;
    uint64_t *lines = fis_grow(g->lines, x->n, more, sizeof *lines);
    g->lines = lines ? lines : g->lines;
    if (!rows || !labels || !ids || !lines || (with_groups && !groups))
        return fis_fail(e, FIS_NOMEM, "no memory for %u examples of %u features", more, x->d);
    g->capacity = more;
    return 0;
}

static int read_id(const struct data_source *s, const struct layout *l, uint64_t line,
                   struct fis_id *id, struct fis_error *e)
{
    char place[FIS_ID_MAX + 1];
    if (l->id != UINT32_MAX && l->values[l->id].kind == FIS_VALUE_TEXT) {
        const struct fis_value *v = &l->values[l->id];
        struct wire_message none = {0};
        int rc = wire_message_id(&none, (struct wire_bytes){v->text, v->length}, 0, id, e);
        if (rc)
            return rc;
        return 0;
    }
    const char *base = strrchr(s->path, '/');
    int n = snprintf(place, sizeof place, "%.200s:%" PRIu64, base ? base + 1 : s->path, line);
    struct wire_message none = {0};
    return wire_message_id(&none, (struct wire_bytes){place, (size_t)n}, 0, id, e);
}

static int read_example(const struct data_source *s, const struct layout *l,
                        const struct fis_encoder *enc, uint64_t line, struct reading *g,
                        struct fis_error *e)
{
    struct data_examples *x = &g->out;
    uint32_t unseen = 0, n = x->n;
    int rc = grow(g, s->with_sensitive, e);
    if (!rc)
        rc = fis_encoder_encode(enc, l->values, x->x + (size_t)n * x->d, &unseen, e);
    if (!rc && (rc = wire_class_of_value(s->schema, &l->values[l->label], s->with_sensitive,
                                         &x->labels[n], e)))
        fis_error_prefix(e, "column %s", s->schema->label_column);
    if (!rc && s->with_sensitive)
        rc = data_groups_add(&x->names, s->schema->sensitive, l->values + l->sensitive,
                             s->schema->n_sensitive, &x->groups[n], e);
    if (!rc)
        rc = read_id(s, l, line, &x->ids[n], e);
    if (rc)
        return rc;
    g->lines[n] = line;
    x->unseen += unseen;
    x->n++;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return fis_id_compare(*(const struct fis_id *const *)a, *(const struct fis_id *const *)b);
}

static int check_ids(const struct reading *g, struct fis_error *e)
{
    const struct fis_id *ids = g->out.ids;
    const struct fis_id **sorted = fis_calloc(g->out.n, sizeof *sorted);
    if (!sorted)
        return fis_fail(e, FIS_NOMEM, "no memory to compare %u ids", g->out.n);
    for (uint32_t i = 0; i < g->out.n; i++)
        sorted[i] = &ids[i];
    qsort(sorted, g->out.n, sizeof *sorted, by_id);
    int rc = 0;
    for (uint32_t i = 1; i < g->out.n && !rc; i++) {
        if (fis_id_compare(sorted[i - 1], sorted[i]) != 0)
            continue;
        uint64_t a = g->lines[sorted[i - 1] - ids], b = g->lines[sorted[i] - ids];
        rc = fis_fail(e, FIS_INPUT, "id \"%.*s\" is on line %" PRIu64 " and again on line %" PRIu64,
                      (int)sorted[i]->length, sorted[i]->bytes, a < b ? a : b, a < b ? b : a);
    }
    fis_free(sorted);
    return rc;
}

static int read_all(const struct data_source *s, struct data_rows *rows, const struct layout *l,
                    const struct fis_encoder *enc, struct reading *g, struct fis_error *e)
{
    int rc;
    while ((rc = data_rows_next(rows, l->values, e)) == 1)
        if (read_example(s, l, enc, data_rows_line(rows), g, e))
            return at_line(s, rows, e);
    if (rc)
        return rc;
    rc = g->out.n ? check_ids(g, e) : fis_fail(e, FIS_INPUT, "a header, but no row");
    if (rc)
        return fis_error_prefix(e, "%s", s->path);
    if (s->with_sensitive)
        data_groups_sort(&g->out.names, g->out.groups, g->out.n);
    return 0;
}

int data_examples_load(const struct data_source *s, const struct fis_encoder *encoder,
                       struct data_examples *out, struct fis_error *e)
{
    struct fis_error local;
    struct layout l;
    struct reading g = {.out = {.d = fis_encoder_dimension(encoder)}};
    e = e ? e : &local;
    int rc = layout_init(&l, s, 0, e);
    struct data_rows *rows = rc ? NULL : data_rows_open(s->path, &l.options, e);
    if (!rc)
        rc = rows ? read_all(s, rows, &l, encoder, &g, e) : -(int)e->kind;
    data_rows_close(rows);
    layout_done(&l);
    fis_free(g.lines);
    if (rc) {
        data_examples_done(&g.out);
        return rc;
    }
    *out = g.out;
    return 0;
}

void data_examples_done(struct data_examples *x)
{
    fis_free(x->x);
    fis_free(x->labels);
    fis_free(x->groups);
    fis_free(x->ids);
    data_groups_done(&x->names);
    *x = (struct data_examples){0};
}

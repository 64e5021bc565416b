#include "data/examples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "data/table.h"
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
            .any = true};
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
    l->options = (struct data_options){.how = s->how,
                                       .regular = 1,
                                       .columns = l->columns,
                                       .n_columns = n,
                                       .images = schema->image.height ? schema : NULL};
    return 0;
}

static int at_line(const struct data_source *s, const struct data_rows *rows, struct fis_error *e)
{
    return fis_error_prefix(e, "%s: line %" PRIu64, s->path, data_rows_line(rows));
}

static bool can_be(const struct data_source *s, const struct fis_value *values)
{
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (fis_column_check(&s->columns[i], &values[i], NULL))
            return false;
    return true;
}

static int observe_all(const struct data_source *s, struct data_rows *rows, struct layout *l,
                       struct fis_encoder *enc, struct fis_error *e)
{
    int rc;
    while ((rc = data_rows_next(rows, l->values, e)) == 1)
        if (can_be(s, l->values) && fis_encoder_observe(enc, l->values, e))
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
        rc = fis_encoder_expect_trees(enc, s->tree_margins, e);
    if (enc && !rc)
        rc = wire_schema_fit_image(s->schema, enc, e);
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
    uint64_t rows;
    struct data_faults faults, notes;
};

/* Kinds of what is noticed: the number of a column of the layout, and these. */
#define SPELT (UINT32_MAX - 4)
#define MISSING (UINT32_MAX - 3)
#define GROUP (UINT32_MAX - 2)
#define TYPE (UINT32_MAX - 1)
#define FORM UINT32_MAX

static int grow(struct reading *g, int with_groups, struct fis_error *e)
{
    struct data_examples *x = &g->out;
    if (x->n < g->capacity)
        return 0;
    if (g->capacity > UINT32_MAX / 2)
        return fis_fail(e, FIS_INPUT, "more than %u rows", g->capacity);
    uint32_t more = g->capacity ? 2 * g->capacity : 256;
    if (!fis_grow(&x->x, (size_t)x->n * x->d, (size_t)more * x->d, sizeof *x->x) ||
        !fis_grow(&x->labels, x->n, more, sizeof *x->labels) ||
        (with_groups && !fis_grow(&x->groups, x->n, more, sizeof *x->groups)) ||
        !fis_grow(&x->ids, x->n, more, sizeof *x->ids) ||
        !fis_grow(&g->lines, x->n, more, sizeof *g->lines))
        return fis_fail(e, FIS_NOMEM, "no memory for %u examples of %u features", more, x->d);
    g->capacity = more;
    return 0;
}

static int read_id(const struct data_source *s, const struct layout *l, uint64_t line,
                   struct fis_id *id, struct fis_error *e)
{
    char place[FIS_ID_MAX + 1];
    struct wire_message none = {0};
    if (l->id != UINT32_MAX && l->values[l->id].kind == FIS_VALUE_TEXT) {
        const struct fis_value *v = &l->values[l->id];
        return wire_message_id(&none, (struct wire_bytes){v->text, v->length}, 0, id, e);
    }
    const char *base = strrchr(s->path, '/');
    int n = snprintf(place, sizeof place, "%.200s:%" PRIu64, base ? base + 1 : s->path, line);
    return wire_message_id(&none, (struct wire_bytes){place, (size_t)n}, 0, id, e);
}

/* "1,041", "$41", "41.0 %": a number for people. Whether the text is one, and what it would be. */
static bool plain_number(const struct fis_value *v, char plain[FIS_CATEGORY_ROOM])
{
    size_t n = 0;
    double number;
    for (size_t i = 0; i < v->length; i++)
        if (!strchr(",$% '_", v->text[i]) || !v->text[i]) {
            if (n + 1 == FIS_CATEGORY_ROOM)
                return false;
            plain[n++] = v->text[i];
        }
    plain[n] = 0;
    return n < v->length && decimal_read(plain, n, &number) == 0;
}

/* Of a validation row, which may be shifted by a column, no text is shown. 1: there is a fault. */
static int check_feature(const struct data_source *s, const struct layout *l, uint32_t i,
                         uint64_t line, struct reading *g, struct fis_error *e)
{
    struct fis_error why;
    char plain[FIS_CATEGORY_ROOM], text[FIS_ERROR_TEXT];
    const struct fis_value *v = &l->values[i];
    if (!fis_column_check(&s->columns[i], v, &why))
        return 0;
    if (v->kind == FIS_VALUE_TEXT && s->with_sensitive)
        snprintf(text, sizeof text, "column %s: a decimal number expected", s->columns[i].name);
    else if (v->kind == FIS_VALUE_TEXT && plain_number(v, plain))
        snprintf(text, sizeof text, "%.300s (is it %s?)", why.text, plain);
    else
        memcpy(text, why.text, sizeof text);
    int rc = data_faults_add(&g->faults, i, line, text, e);
    return rc ? rc : 1;
}

static int check_features(const struct data_source *s, const struct layout *l, uint64_t line,
                          struct reading *g, struct fis_error *e)
{
    int any = 0;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        int rc = check_feature(s, l, i, line, g, e);
        if (rc < 0)
            return rc;
        any |= rc;
    }
    return any;
}

/* What rc says is wrong with a row is a fault of this kind: 1; other errors are final. */
static int fault(struct reading *g, uint32_t kind, uint64_t line, int rc, struct fis_error *e)
{
    if (rc != -(int)FIS_INPUT)
        return rc;
    rc = data_faults_add(&g->faults, kind, line, e->text, e);
    return rc ? rc : 1;
}

static int read_label(const struct data_source *s, const struct layout *l, uint64_t line,
                      struct reading *g, struct fis_error *e)
{
    const struct fis_value *v = &l->values[l->label];
    uint32_t *label = &g->out.labels[g->out.n];
    int rc = wire_class_of_value(s->schema, v, s->with_sensitive, label, e);
    if (rc)
        return fault(g, l->label, line, fis_error_prefix(e, "column %s", s->schema->label_column),
                     e);
    const char *name = s->schema->classes[*label];
    if (v->length == strlen(name) && !memcmp(v->text, name, v->length))
        return 0;
    char text[FIS_ERROR_TEXT];
    snprintf(text, sizeof text,
             "column %.80s: a label of class \"%.80s\" is written otherwise; it is taken as that "
             "class",
             s->schema->label_column, name);
    return data_faults_add(&g->notes, SPELT, line, text, e);
}

/* 1: the row is left out. */
static int read_group(const struct data_source *s, const struct layout *l, uint64_t line,
                      struct reading *g, struct fis_error *e)
{
    if (!s->with_sensitive)
        return 0;
    int rc = data_groups_add(&g->out.names, s->schema, l->values + l->sensitive,
                             &g->out.groups[g->out.n], e);
    if (rc <= 0)
        return fault(g, GROUP, line, rc, e);
    g->out.left_out++;
    rc = data_faults_add(&g->notes, MISSING, line,
                         "left out, since a sensitive value is missing (validation.missing)", e);
    return rc ? rc : 1;
}

static int read_own_id(const struct data_source *s, const struct layout *l, uint64_t line,
                       struct reading *g, struct fis_error *e)
{
    return fault(g, l->id, line, read_id(s, l, line, &g->out.ids[g->out.n], e), e);
}

/* Rows with a fault are passed over, for the sake of what is wrong with others. */
static int read_example(const struct data_source *s, const struct layout *l,
                        const struct fis_encoder *enc, uint64_t line, struct reading *g,
                        struct fis_error *e)
{
    static int (*const steps[])(const struct data_source *, const struct layout *, uint64_t,
                                struct reading *, struct fis_error *) = {check_features, read_label,
                                                                         read_group, read_own_id};
    struct data_examples *x = &g->out;
    int bad = 0, rc = grow(g, s->with_sensitive, e);
    for (size_t i = 0; rc >= 0 && i < sizeof steps / sizeof *steps; i++) {
        rc = steps[i](s, l, line, g, e);
        bad |= rc > 0;
    }
    if (rc < 0 || bad)
        return rc < 0 ? rc : 0;
    float *row = x->x + (size_t)x->n * x->d;
    rc = fault(g, FORM, line, fis_encoder_encode(enc, l->values, row, NULL, e), e);
    if (rc)
        return rc < 0 ? rc : 0;
    fis_encoder_unseen(enc, row, x->unseen);
    g->lines[x->n++] = line;
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

/* A numeric column whose cells are mostly texts is one that was declared wrongly. */
static int check_types(const struct data_source *s, struct reading *g, struct fis_error *e)
{
    char text[FIS_ERROR_TEXT];
    for (uint32_t i = 0; i < s->n_columns; i++) {
        uint64_t odd = data_faults_count(&g->faults, i);
        if (!odd || data_mostly_numbers(odd, g->rows) || s->columns[i].type != FIS_NUMERIC)
            continue;
        snprintf(text, sizeof text,
                 "column %.200s: %" PRIu64 " of %" PRIu64
                 " cells %s no number: is it type: categorical?",
                 s->columns[i].name, odd, g->rows, decimal_agree(odd, "is", "are"));
        return data_faults_add(&g->faults, TYPE, 0, text, e);
    }
    return 0;
}

static void tell_empty(void *source, const char *what)
{
    const struct data_source *s = source;
    char text[FIS_ERROR_TEXT];
    snprintf(text, sizeof text, "%.200s: validation.groups has %.100s, and no row is in it",
             s->path, what);
    s->note(s->note_ctx, false, text);
}

/* The end of the rows, or what ended them. */
static int conclude(const struct data_source *s, struct reading *g, int rc, struct fis_error *e)
{
    int bad = check_types(s, g, e);
    if (bad)
        return bad;
    if (rc && rc != -(int)FIS_INPUT)
        return rc;
    data_faults_tell(&g->notes, s->path, false, s->note, s->note_ctx);
    data_faults_tell(&g->faults, s->path, true, s->note, s->note_ctx);
    if (rc && s->note)
        s->note(s->note_ctx, true, e->text);
    if (g->faults.n)
        return data_faults_error(&g->faults, s->path, e);
    if (rc || !s->with_sensitive)
        return rc;
    if (s->note)
        data_groups_empty(&g->out.names, s->schema, tell_empty, (void *)(uintptr_t)s);
    data_groups_sort(&g->out.names, g->out.groups, g->out.n);
    return 0;
}

static int read_all(const struct data_source *s, struct data_rows *rows, const struct layout *l,
                    const struct fis_encoder *enc, struct reading *g, struct fis_error *e)
{
    int rc;
    while ((rc = data_rows_next(rows, l->values, e)) == 1) {
        g->rows++;
        rc = read_example(s, l, enc, data_rows_line(rows), g, e);
        if (rc)
            return at_line(s, rows, e);
    }
    if (!rc && !g->faults.n) {
        rc = g->out.n          ? check_ids(g, e)
             : g->out.left_out ? fis_fail(e, FIS_INPUT, "no row with all sensitive values")
                               : fis_fail(e, FIS_INPUT, "a header, but no row");
        if (rc)
            fis_error_prefix(e, "%s", s->path);
    }
    return conclude(s, g, rc, e);
}

static void reading_done(struct reading *g, bool all)
{
    fis_free(g->lines);
    data_faults_done(&g->faults);
    data_faults_done(&g->notes);
    if (all)
        data_examples_done(&g->out);
}

int data_examples_load(const struct data_source *s, const struct fis_encoder *encoder,
                       struct data_examples *out, struct fis_error *e)
{
    struct fis_error local;
    struct layout l;
    struct reading g = {.out = {.d = fis_encoder_dimension(encoder)}};
    e = e ? e : &local;
    int rc = layout_init(&l, s, 0, e);
    g.out.unseen = fis_calloc(s->n_columns, sizeof *g.out.unseen);
    if (!rc && !g.out.unseen)
        rc = fis_fail(e, FIS_NOMEM, "no memory for %u columns", s->n_columns);
    struct data_rows *rows = rc ? NULL : data_rows_open(s->path, &l.options, e);
    if (!rc) {
        rc = rows ? read_all(s, rows, &l, encoder, &g, e) : -(int)e->kind;
        if (!rows && s->note && rc == -(int)FIS_INPUT)
            s->note(s->note_ctx, true, e->text);
    }
    data_rows_close(rows);
    layout_done(&l);
    if (!rc)
        *out = g.out;
    reading_done(&g, rc != 0);
    return rc;
}

void data_examples_done(struct data_examples *x)
{
    fis_free(x->x);
    fis_free(x->labels);
    fis_free(x->groups);
    fis_free(x->ids);
    fis_free(x->unseen);
    data_groups_done(&x->names);
    *x = (struct data_examples){0};
}

#include "data/table.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "fis/mem.h"
#include "base/decimal.h"
#include "wire/csv.h"

/* Open addressing over a column's values, while it is read. */
struct dictionary {
    uint32_t *slots; /* code + 1, or 0 */
    uint32_t size;   /* a power of two, at least twice the values */
};

struct data_table_builder {
    struct data_table *t;
    struct dictionary *dictionaries; /* [columns] */
    uint32_t n;                      /* columns */
    uint32_t expected;               /* column of the next cell: they mostly come in one order */
};

void data_table_free(struct data_table *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->columns && i < t->n_columns; i++) {
        struct data_table_column *c = &t->columns[i];
        for (uint32_t j = 0; j < c->n_values; j++)
            fis_free((void *)(uintptr_t)c->values[j].text);
        fis_free(c->values);
        fis_free(c->codes);
        fis_free(c->name);
    }
    fis_free(t->columns);
    fis_free(t);
}

int data_table_find(const struct data_table *t, const char *name, struct fis_error *e)
{
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
    if (!e)
        return -1;
    const char **names = fis_alloc(t->n_columns, sizeof *names);
    for (uint32_t i = 0; names && i < t->n_columns; i++)
        names[i] = t->columns[i].name;
    data_no_column(name, names, names ? t->n_columns : 0, e);
    fis_free(names);
    return -1;
}

/* ---- values and their codes ----------------------------------------------------------------- */

static uint32_t *slot_of(const struct data_table_column *c, const struct dictionary *d,
                         const char *text, size_t length)
{
    uint32_t at = (uint32_t)XXH3_64bits(text, length) & (d->size - 1);
    for (;; at = (at + 1) & (d->size - 1)) {
        uint32_t code = d->slots[at];
        if (code == 0)
            return &d->slots[at];
        const struct fis_value *v = &c->values[code - 1];
        if (v->length == length && memcmp(v->text, text, length) == 0)
            return &d->slots[at];
    }
}

static int grow_dictionary(struct data_table_column *c, struct dictionary *d)
{
    uint32_t size = d->size ? 2 * d->size : 64;
    uint32_t *slots = fis_calloc(size, sizeof *slots);
    if (!slots || !fis_grow(&c->values, c->n_values, size / 2, sizeof *c->values)) {
        fis_free(slots);
        return -1;
    }
    c->capacity = size / 2;
    fis_free(d->slots);
    *d = (struct dictionary){slots, size};
    for (uint32_t i = 0; i < c->n_values; i++)
        *slot_of(c, d, c->values[i].text, c->values[i].length) = i + 1;
    return 0;
}

static int code_of(struct data_table_column *c, struct dictionary *d, const struct fis_value *v,
                   uint32_t *code)
{
    char room[FIS_CATEGORY_ROOM];
    const char *name;
    size_t length;
    fis_value_category(v, room, &name, &length);
    if (length == 0)
        return 0;
    if (2 * c->n_values >= d->size && grow_dictionary(c, d) < 0)
        return -1;
    uint32_t *slot = slot_of(c, d, name, length);
    if (*slot == 0) {
        char *text = fis_memdup(name, length);
        if (!text)
            return -1;
        c->values[c->n_values++] =
            (struct fis_value){.kind = FIS_VALUE_TEXT, .text = text, .length = length};
        *slot = c->n_values;
    }
    *code = *slot - 1;
    return 0;
}

/* A column is taken as numeric although one in NUMBERS of its cells, or fewer, are no numbers. */
#define NUMBERS 10

bool data_mostly_numbers(uint64_t odd, uint64_t n)
{
    return n && odd <= n / NUMBERS;
}

static uint32_t first_row(const struct data_table *t, const struct data_table_column *c,
                          uint32_t code)
{
    uint32_t row = 0;
    while (row < t->n && c->codes[row] != code)
        row++;
    return row;
}

/* They become missing, and are named. */
static void drop_odd(const struct data_table *t, struct data_table_column *c, const bool *odd,
                     uint32_t n)
{
    uint32_t first = 0;
    while (!odd[first])
        first++;
    snprintf(c->odd, sizeof c->odd,
             "column %.80s: %u of %u cells %s no number and taken as missing, the first in row %u: "
             "\"%.40s\"",
             c->name, n, t->n, decimal_agree(n, "is", "are"), first_row(t, c, first) + 1,
             c->values[first].text);
    for (uint32_t i = 0; i < t->n; i++)
        if (c->codes[i] != DATA_MISSING && odd[c->codes[i]])
            c->codes[i] = DATA_MISSING;
}

/* The bulk of the cells decides: where nearly all are numbers the column is numeric. */
static int infer_type(const struct data_table *t, struct data_table_column *c)
{
    bool *odd = fis_calloc((size_t)c->n_values + 1, sizeof *odd);
    uint32_t n_odd = 0, n = 0;
    if (!odd)
        return -1;
    for (uint32_t i = 0; i < c->n_values; i++)
        odd[i] = decimal_read(c->values[i].text, c->values[i].length, &c->values[i].number) < 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (c->codes[i] != DATA_MISSING) {
            n++;
            n_odd += odd[c->codes[i]];
        }
    c->type = data_mostly_numbers(n_odd, n) ? FIS_NUMERIC : FIS_CATEGORICAL;
    if (c->type == FIS_NUMERIC && n_odd)
        drop_odd(t, c, odd, n_odd);
    fis_free(odd);
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct data_table_builder *data_table_begin(struct fis_error *e)
{
    struct data_table_builder *b = fis_calloc(1, sizeof *b);
    if (b && (b->t = fis_calloc(1, sizeof *b->t)))
        return b;
    fis_free(b);
    fis_fail(e, FIS_NOMEM, "no memory for a table");
    return NULL;
}

static int no_memory(const struct data_table *t, struct fis_error *e)
{
    return fis_fail(e, FIS_NOMEM, "no memory for %u rows of %u columns", t->n + 1, t->n_columns);
}

static int grow_rows(struct data_table *t, struct fis_error *e)
{
    uint32_t capacity = t->capacity ? 2 * t->capacity : 1024;
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (!fis_grow(&t->columns[i].codes, t->n, capacity, sizeof(uint32_t)))
            return no_memory(t, e);
    t->capacity = capacity;
    return 0;
}

/* A column that has not been there: in the rows before it is missing. */
static int add_column(struct data_table_builder *b, const char *name, struct fis_error *e)
{
    struct data_table *t = b->t;
    if (t->n_columns == WIRE_CSV_FIELDS_MAX)
        return fis_fail(e, FIS_INPUT, "more than %u columns", WIRE_CSV_FIELDS_MAX);
    if (!fis_more(&t->columns, t->n_columns, sizeof *t->columns) ||
        !fis_more(&b->dictionaries, t->n_columns, sizeof *b->dictionaries))
        return no_memory(t, e);
    struct data_table_column *c = &t->columns[t->n_columns];
    *c = (struct data_table_column){.name = fis_strdup(name),
                                    .codes = fis_alloc(t->capacity, sizeof *c->codes)};
    b->dictionaries[t->n_columns++] = (struct dictionary){0};
    b->n = t->n_columns;
    if (!c->name || !c->codes)
        return no_memory(t, e);
    for (uint32_t i = 0; i <= t->n; i++)
        c->codes[i] = DATA_MISSING;
    return 0;
}

static uint32_t place_of(const struct data_table_builder *b, const char *name)
{
    const struct data_table *t = b->t;
    uint32_t i = b->expected;
    if (i < t->n_columns && strcmp(t->columns[i].name, name) == 0)
        return i;
    for (i = 0; i < t->n_columns && strcmp(t->columns[i].name, name) != 0;)
        i++;
    return i;
}

static int take_cell(void *builder, const char *name, const struct fis_value *v,
                     struct fis_error *e)
{
    struct data_table_builder *b = builder;
    uint32_t i = place_of(b, name);
    int rc = i == b->t->n_columns ? add_column(b, name, e) : 0;
    if (rc)
        return rc;
    struct data_table_column *c = &b->t->columns[i];
    b->expected = i + 1;
    c->unfit += v->kind == 0;
    c->quoted += v->kind == FIS_VALUE_TEXT;
    if (v->kind && code_of(c, &b->dictionaries[i], v, &c->codes[b->t->n]) < 0)
        return no_memory(b->t, e);
    return 0;
}

/* Room for a row, all of it missing. */
static int begin_row(struct data_table_builder *b, struct fis_error *e)
{
    struct data_table *t = b->t;
    int rc = t->n + 1 >= t->capacity ? grow_rows(t, e) : 0;
    for (uint32_t i = 0; !rc && i < t->n_columns; i++)
        t->columns[i].codes[t->n] = DATA_MISSING;
    b->expected = 0;
    return rc;
}

int data_table_add(struct data_table_builder *b, struct wire_bytes object, struct fis_error *e)
{
    int rc = begin_row(b, e);
    b->t->json = true;
    if (!rc)
        rc = data_object_cells(object, take_cell, b, e);
    b->t->n += !rc;
    return rc;
}

static void note_unfit(const struct data_table *t, struct data_table_column *c)
{
    size_t n = strlen(c->odd);
    if (c->unfit && n < sizeof c->odd)
        snprintf(c->odd + n, sizeof c->odd - n,
                 "%scolumn %.80s: %u of %u cells are neither a number nor a text", n ? "; " : "",
                 c->name, c->unfit, t->n);
}

void data_table_discard(struct data_table_builder *b)
{
    for (uint32_t i = 0; b && i < b->n; i++)
        fis_free(b->dictionaries[i].slots);
    if (b) {
        fis_free(b->dictionaries);
        data_table_free(b->t);
    }
    fis_free(b);
}

struct data_table *data_table_end(struct data_table_builder *b, struct fis_error *e)
{
    struct data_table *t = b->t;
    int rc = t->n ? 0 : fis_fail(e, FIS_INPUT, "there are no rows");
    for (uint32_t i = 0; !rc && i < t->n_columns; i++) {
        if (infer_type(t, &t->columns[i]) < 0)
            rc = no_memory(t, e);
        note_unfit(t, &t->columns[i]);
    }
    if (!rc)
        b->t = NULL;
    data_table_discard(b);
    return rc ? NULL : t;
}

/* Columns of a CSV file are there even where all their cells are empty. */
static int take_header(struct data_table_builder *b, const struct data_rows *rows,
                       struct fis_error *e)
{
    uint32_t n;
    const char *const *names = data_rows_names(rows, &n);
    int rc = begin_row(b, e);
    b->t->json = n == 0;
    for (uint32_t i = 0; !rc && i < n; i++)
        if (!data_rows_dropped(rows, i))
            rc = add_column(b, names[i], e);
    return rc;
}

struct data_table *data_table_read(const char *path, const struct data_options *options,
                                   struct fis_error *e)
{
    struct data_table_builder *b = data_table_begin(e);
    struct data_rows *rows = b ? data_rows_open(path, options, e) : NULL;
    int rc = rows ? take_header(b, rows, e) : -1;
    while (!rc && !(rc = begin_row(b, e)) &&
           (rc = data_rows_next_cells(rows, take_cell, b, e)) == 1) {
        b->t->n++;
        rc = 0;
    }
    data_rows_close(rows);
    if (rc) {
        data_table_discard(b);
        return NULL;
    }
    struct data_table *t = data_table_end(b, e);
    if (!t)
        fis_error_prefix(e, "%s", path);
    return t;
}

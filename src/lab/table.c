#include "lab/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "fis/mem.h"
#include "base/category.h"
#include "base/decimal.h"
#include "wire/csv.h"

#define CHUNK 65536u
#define NAMES_SHOWN 200

/* Open addressing over a column's values, while it is read. */
struct dictionary {
    uint32_t *slots; /* code + 1, or 0 */
    uint32_t size;   /* a power of two, at least twice the values */
};

struct reader {
    const char *path;
    struct lab_table *t;
    struct dictionary *dictionaries; /* [n_columns] */
};

void lab_table_free(struct lab_table *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->columns && i < t->n_columns; i++) {
        struct lab_column *c = &t->columns[i];
        for (uint32_t j = 0; j < c->n_values; j++)
            fis_free((void *)(uintptr_t)c->values[j].text);
        fis_free(c->values);
        fis_free(c->codes);
        fis_free(c->name);
    }
    fis_free(t->columns);
    fis_free(t);
}

int lab_table_find(const struct lab_table *t, const char *name, struct fis_error *e)
{
    char names[NAMES_SHOWN] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
        if (at < sizeof names)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                                   t->columns[i].name);
    }
    fis_fail(e, FIS_INPUT, "no column \"%s\"; there are %s%s", name, names,
             at >= sizeof names ? "…" : "");
    return -1;
}

/* ---- values and their codes ----------------------------------------------------------------- */

static uint32_t *slot_of(const struct lab_column *c, const struct dictionary *d, const char *text,
                         size_t length)
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

static int grow_dictionary(struct lab_column *c, struct dictionary *d)
{
    uint32_t size = d->size ? 2 * d->size : 64;
    uint32_t *slots = fis_calloc(size, sizeof *slots);
    struct fis_value *values = fis_grow(c->values, c->n_values, size / 2, sizeof *values);
    if (values) {
        c->values = values;
        c->capacity = size / 2;
    }
    if (!slots || !values) {
        fis_free(slots);
        return -1;
    }
    fis_free(d->slots);
    *d = (struct dictionary){slots, size};
    for (uint32_t i = 0; i < c->n_values; i++)
        *slot_of(c, d, c->values[i].text, c->values[i].length) = i + 1;
    return 0;
}

static int code_of(struct lab_column *c, struct dictionary *d, const struct wire_bytes *field,
                   uint32_t *code)
{
    const char *name = field->data;
    size_t length = field->length;
    *code = LAB_MISSING;
    category_trim(&name, &length);
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

/* Cells of a column that is taken as numeric although they are no numbers, one in NUMBERS or fewer.
 */
#define NUMBERS 10

static uint32_t first_row(const struct lab_table *t, const struct lab_column *c, uint32_t code)
{
    uint32_t row = 0;
    while (row < t->n && c->codes[row] != code)
        row++;
    return row;
}

/* They become missing, and are named. */
static void drop_odd(const struct lab_table *t, struct lab_column *c, const bool *odd, uint32_t n)
{
    uint32_t first = 0;
    while (!odd[first])
        first++;
    snprintf(
        c->odd, sizeof c->odd,
        "column %.80s: %u of %u cells are no numbers and are taken as missing, the first in row "
        "%u: \"%.40s\"",
        c->name, n, t->n, first_row(t, c, first) + 1, c->values[first].text);
    for (uint32_t i = 0; i < t->n; i++)
        if (c->codes[i] != LAB_MISSING && odd[c->codes[i]])
            c->codes[i] = LAB_MISSING;
}

/* The bulk of the cells decides: where nearly all are numbers the column is numeric. */
static int infer_type(const struct lab_table *t, struct lab_column *c)
{
    bool *odd = fis_calloc((size_t)c->n_values + 1, sizeof *odd);
    uint32_t n_odd = 0, n = 0;
    if (!odd)
        return -1;
    for (uint32_t i = 0; i < c->n_values; i++)
        odd[i] = decimal_read(c->values[i].text, c->values[i].length, &c->values[i].number) < 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (c->codes[i] != LAB_MISSING) {
            n++;
            n_odd += odd[c->codes[i]];
        }
    c->type = n && n_odd <= n / NUMBERS ? FIS_NUMERIC : FIS_CATEGORICAL;
    if (c->type == FIS_NUMERIC && n_odd)
        drop_odd(t, c, odd, n_odd);
    fis_free(odd);
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int take_header(struct reader *r, const struct wire_csv_row *row, struct fis_error *e)
{
    struct lab_table *t = r->t;
    t->columns = fis_calloc(row->n, sizeof *t->columns);
    r->dictionaries = fis_calloc(row->n, sizeof *r->dictionaries);
    if (!t->columns || !r->dictionaries)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for %u columns", r->path, row->n);
    t->n_columns = row->n;
    for (uint32_t i = 0; i < row->n; i++)
        if (!(t->columns[i].name = fis_memdup(row->fields[i].data, row->fields[i].length)))
            return fis_fail(e, FIS_NOMEM, "%s: no memory for %u columns", r->path, row->n);
    return 0;
}

static int grow_rows(struct lab_table *t)
{
    uint32_t capacity = t->capacity ? 2 * t->capacity : 1024;
    for (uint32_t i = 0; i < t->n_columns; i++) {
        uint32_t *codes = fis_grow(t->columns[i].codes, t->n, capacity, sizeof *codes);
        if (!codes)
            return -1;
        t->columns[i].codes = codes;
    }
    t->capacity = capacity;
    return 0;
}

static int take_row(struct reader *r, const struct wire_csv_row *row, struct fis_error *e)
{
    struct lab_table *t = r->t;
    if (t->n_columns == 0)
        return take_header(r, row, e);
    int bad = t->n == t->capacity && grow_rows(t) < 0;
    for (uint32_t i = 0; !bad && i < t->n_columns; i++)
        bad = code_of(&t->columns[i], &r->dictionaries[i], &row->fields[i],
                      &t->columns[i].codes[t->n]) < 0;
    if (bad)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for %u rows", r->path, t->n + 1);
    t->n++;
    return 0;
}

static int read_file(struct reader *r, char delimiter, FILE *f, struct fis_error *e)
{
    static const size_t chunk = CHUNK;
    struct wire_csv *csv = wire_csv_new(delimiter, e);
    char *buffer = fis_alloc(chunk, 1);
    struct wire_csv_row row;
    int rc = csv ? 0 : -FIS_NOMEM, more = 1;
    if (csv && !buffer)
        rc = fis_fail(e, FIS_NOMEM, "%s: no memory", r->path);
    while (rc == 0 && more) {
        size_t n = fread(buffer, 1, chunk, f);
        more = n > 0;
        if (more)
            wire_csv_feed(csv, buffer, n);
        else
            wire_csv_end(csv);
        while (rc == 0 && (rc = wire_csv_next(csv, &row, e)) == 1)
            rc = take_row(r, &row, e);
        if (rc == -FIS_INPUT)
            fis_error_prefix(e, "%s", r->path);
    }
    if (rc == 0 && ferror(f))
        rc = fis_fail(e, FIS_INPUT, "%s: %s", r->path, strerror(errno));
    wire_csv_free(csv);
    fis_free(buffer);
    return rc;
}

struct lab_table *lab_table_read(const char *path, char delimiter, struct fis_error *e)
{
    struct reader r = {.path = path, .t = fis_calloc(1, sizeof *r.t)};
    FILE *f = r.t ? fopen(path, "rb") : NULL;
    int rc = 0;
    if (!r.t)
        rc = fis_fail(e, FIS_NOMEM, "%s: no memory", path);
    else if (!f)
        rc = fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    else
        rc = read_file(&r, delimiter, f, e);
    if (rc == 0 && r.t->n == 0)
        rc = fis_fail(e, FIS_INPUT, "%s: there are no rows", path);
    if (f)
        fclose(f);
    for (uint32_t i = 0; r.dictionaries && i < r.t->n_columns; i++) {
        if (rc == 0 && infer_type(r.t, &r.t->columns[i]) < 0)
            rc = fis_fail(e, FIS_NOMEM, "%s: no memory", path);
        fis_free(r.dictionaries[i].slots);
    }
    fis_free(r.dictionaries);
    if (rc < 0) {
        lab_table_free(r.t);
        return NULL;
    }
    return r.t;
}

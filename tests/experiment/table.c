#include "table.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"

#define N_COLUMNS 13u
#define MAX_CELLS 32u

static const struct fis_column columns[N_COLUMNS] = {
    {"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"workclass", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"fnlwgt", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"education", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"education-num", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"marital-status", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"occupation", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"relationship", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"race", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"capital-gain", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"capital-loss", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"hours-per-week", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"native-country", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
};

/* The whole file, cut in place: Adult has neither quotes nor empty cells. */
struct csv {
    char *text, *line, *cell[MAX_CELLS];
    uint32_t n_cells, at[N_COLUMNS];
    int id, sex, income;
};

static int next_line(struct csv *c)
{
    if (!c->line || !*c->line)
        return 0;
    char *end = strchr(c->line, '\n'), *cell = c->line;
    if (end)
        *end = 0;
    c->n_cells = 0;
    while (cell && c->n_cells < MAX_CELLS) {
        c->cell[c->n_cells++] = cell;
        cell = strchr(cell, ',');
        if (cell)
            *cell++ = 0;
    }
    c->line = end ? end + 1 : NULL;
    return 1;
}

static int find_cell(const struct csv *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_cells; i++)
        if (strcmp(c->cell[i], name) == 0)
            return (int)i;
    return -1;
}

static void csv_open(struct csv *c, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        err(1, "%s", path);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    c->text = malloc(size + 1);
    if (!c->text || fread(c->text, 1, size, f) != size)
        err(1, "%s", path);
    c->text[size] = 0;
    fclose(f);
    c->line = c->text;
    next_line(c);
    c->id = find_cell(c, "id");
    c->sex = find_cell(c, "sex");
    c->income = find_cell(c, "income");
    for (uint32_t i = 0; i < N_COLUMNS; i++)
        c->at[i] = (uint32_t)find_cell(c, columns[i].name);
}

static void fill_values(const struct csv *c, struct fis_value *v)
{
    for (uint32_t i = 0; i < N_COLUMNS; i++) {
        if (c->at[i] >= c->n_cells)
            errx(1, "a row without the column %s", columns[i].name);
        const char *text = c->cell[c->at[i]];
        v[i] = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = text, .length = strlen(text)};
        if (columns[i].type == FIS_NUMERIC) {
            v[i].kind = FIS_VALUE_NUMBER;
            v[i].number = strtod(text, NULL);
        }
    }
}

static struct fis_encoder *fit(const char *folder)
{
    struct fis_error e;
    struct fis_value v[N_COLUMNS];
    struct csv c;
    struct fis_encoder *enc = fis_encoder_new(columns, N_COLUMNS, 1000, &e);
    csv_open(&c, folder, "initial.csv");
    while (enc && next_line(&c)) {
        fill_values(&c, v);
        if (fis_encoder_observe(enc, v, &e) < 0)
            errx(1, "%s", e.text);
    }
    if (!enc || fis_encoder_finish(enc, &e) < 0)
        errx(1, "%s", e.text);
    free(c.text);
    return enc;
}

static void *more(void *p, size_t bytes)
{
    if (!(p = realloc(p, bytes ? bytes : 1)))
        errx(1, "no memory");
    return p;
}

static void add_row(struct table *t, const struct csv *c, const struct fis_encoder *enc)
{
    struct fis_value v[N_COLUMNS];
    struct fis_error e;
    size_t n = t->n + 1;
    if ((t->n & (t->n - 1)) == 0) { /* capacities are the powers of two */
        size_t capacity = t->n ? 2 * (size_t)t->n : 1;
        t->x = more(t->x, capacity * t->d * sizeof *t->x);
        t->y = more(t->y, capacity * sizeof *t->y);
        t->group = more(t->group, capacity * sizeof *t->group);
        t->ids = more(t->ids, capacity * sizeof *t->ids);
    }
    if (enc) {
        fill_values(c, v);
        if (fis_encoder_encode(enc, v, t->x + (n - 1) * t->d, NULL, &e) < 0)
            errx(1, "%s", e.text);
    }
    t->y[n - 1] = c->income >= 0 && strcmp(c->cell[c->income], ">50K") == 0;
    t->group[n - 1] = c->sex >= 0 && strcmp(c->cell[c->sex], "Female") == 0;
    if (fis_id_set(&t->ids[n - 1], c->cell[c->id], strlen(c->cell[c->id])) < 0)
        errx(1, "a bad id");
    t->n++;
}

static void load(struct table *t, const char *folder, const char *name,
                 const struct fis_encoder *enc)
{
    struct csv c;
    *t = (struct table){.d = enc ? fis_encoder_dimension(enc) : 0};
    csv_open(&c, folder, name);
    while (next_line(&c))
        add_row(t, &c, enc);
    free(c.text);
}

static void table_free(struct table *t)
{
    free(t->x);
    free(t->y);
    free(t->group);
    free(t->ids);
}

static void standardise(const struct table *by, struct table *t, uint32_t column)
{
    double mean = 0, square = 0;
    for (uint32_t i = 0; i < by->n; i++) {
        double v = (double)by->x[(size_t)i * by->d + column];
        mean += v / by->n;
        square += v * v / by->n;
    }
    double deviation = sqrt(square - mean * mean);
    for (uint32_t i = 0; i < t->n && deviation > 1e-9; i++) {
        float *v = &t->x[(size_t)i * t->d + column];
        *v = (float)(((double)*v - mean) / deviation);
    }
}

void adult_load(const char *folder, int standardise_all, struct adult *a)
{
    struct table answers;
    a->encoder = fit(folder);
    load(&a->initial, folder, "initial.csv", a->encoder);
    load(&a->pool, folder, "pool.csv", a->encoder);
    load(&a->validation, folder, "validation.csv", a->encoder);
    load(&a->test, folder, "test.csv", a->encoder);
    load(&answers, folder, "answers.csv", NULL);
    for (uint32_t i = 0; i < a->pool.n; i++) {
        if (i >= answers.n || fis_id_compare(&answers.ids[i], &a->pool.ids[i]) != 0)
            errx(1, "answers.csv does not match pool.csv at row %u", i);
        a->pool.y[i] = answers.y[i];
    }
    table_free(&answers);
    for (uint32_t j = 0; standardise_all && j < a->initial.d; j++) {
        standardise(&a->initial, &a->pool, j);
        standardise(&a->initial, &a->validation, j);
        standardise(&a->initial, &a->test, j);
        standardise(&a->initial, &a->initial, j);
    }
}

void adult_free(struct adult *a)
{
    fis_encoder_free(a->encoder);
    table_free(&a->initial);
    table_free(&a->pool);
    table_free(&a->validation);
    table_free(&a->test);
}

struct fis_rows table_rows(const struct table *t)
{
    return (struct fis_rows){.n = t->n, .d = t->d, .x = t->x, .y = t->y, .group = t->group};
}

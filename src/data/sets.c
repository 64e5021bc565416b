#include "data/sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/decimal.h"
#include "fis/mem.h"

struct notes {
    data_note_fn *note;
    void *ctx;
};

static void note_absent(const struct data_examples *x, const char *name,
                        const struct wire_schema *schema, const struct notes *to)
{
    char text[FIS_ERROR_TEXT];
    for (uint32_t k = 0; k < schema->n_classes; k++) {
        uint32_t rows = 0;
        for (uint32_t i = 0; i < x->n; i++)
            rows += x->labels[i] == k;
        if (rows)
            continue;
        snprintf(text, sizeof text, "%.160s: no row of class \"%.80s\"", name, schema->classes[k]);
        to->note(to->ctx, false, text);
    }
}

/* ---- what the gate asks for -------------------------------------------------------------------
 */

/* Whether the metric compares a rate over the rows of this class in each group. */
static bool is_cell(const struct data_sets *s, uint32_t k)
{
    return s->metric == FIS_EQUALIZED_ODDS ||
           (s->metric == FIS_EQUAL_OPPORTUNITY && (s->schema->n_classes > 2 || k == s->positive));
}

static void note_gate(const struct data_sets *s, const struct notes *to)
{
    const struct data_examples *v = s->validation;
    uint32_t cells[FIS_MAX_GROUPS][FIS_MAX_CLASSES] = {{0}}, smallest = UINT32_MAX;
    char text[FIS_ERROR_TEXT];
    if (v->n < s->min_rows) {
        snprintf(text, sizeof text,
                 "%.160s: %s, and below %u (gate.min_rows) only the first version is published",
                 s->validation_name, DECIMAL_COUNT(v->n, "row"), s->min_rows);
        to->note(to->ctx, false, text);
    }
    for (uint32_t i = 0; i < v->n; i++)
        cells[v->groups[i]][v->labels[i]]++;
    for (uint32_t g = 0; g < v->names.n; g++) {
        uint32_t all = 0;
        for (uint32_t k = 0; k < s->schema->n_classes; k++) {
            all += cells[g][k];
            if (is_cell(s, k) && cells[g][k] < smallest)
                smallest = cells[g][k];
        }
        smallest = all < smallest ? all : smallest;
    }
    if (smallest >= s->min_cell)
        return;
    snprintf(text, sizeof text,
             "%.160s: the smallest group that %s compares has %s, and below %u "
             "(gate.min_cell) only the first version is published: merge groups, or collect more",
             s->validation_name, fis_metric_name(s->metric), DECIMAL_COUNT(smallest, "row"),
             s->min_cell);
    to->note(to->ctx, false, text);
}

/* ---- rows in both ------------------------------------------------------------------------------
 */

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t hash_row(const struct data_examples *x, uint32_t i, bool ids)
{
    return ids ? XXH3_64bits(x->ids[i].bytes, x->ids[i].length)
               : XXH3_64bits_withSeed(x->x + (size_t)i * x->d, x->d * sizeof *x->x, x->labels[i]);
}

/* Rows of the validation set that are in the initial one, by id or by features and label; of the
 * initial rows, those that repeat another one of them. */
static int count_shared(const struct data_sets *s, bool ids, uint32_t *shared, uint32_t *repeated,
                        struct fis_error *e)
{
    const struct data_examples *a = s->initial, *b = s->validation;
    uint64_t *h = fis_alloc(a->n, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory to compare %u rows", a->n);
    for (uint32_t i = 0; i < a->n; i++)
        h[i] = hash_row(a, i, ids);
    qsort(h, a->n, sizeof *h, by_hash);
    *shared = *repeated = 0;
    for (uint32_t i = 0; i < a->n; i++)
        *repeated += (i && h[i] == h[i - 1]) || (i + 1 < a->n && h[i] == h[i + 1]);
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t one = hash_row(b, i, ids);
        *shared += bsearch(&one, h, a->n, sizeof *h, by_hash) != NULL;
    }
    fis_free(h);
    return 0;
}

static int note_shared(const struct data_sets *s, const struct notes *to, struct fis_error *e)
{
    uint32_t by_id, by_row, repeated, none;
    char text[FIS_ERROR_TEXT];
    int rc = count_shared(s, true, &by_id, &none, e);
    if (!rc)
        rc = count_shared(s, false, &by_row, &repeated, e);
    if (rc)
        return rc;
    /* Few columns make rows equal by chance: about as many as in one set. */
    double share = (double)by_row / s->validation->n, chance = (double)repeated / s->initial->n;
    if (by_id)
        snprintf(text, sizeof text, "%.100s: %s with the id of a row of %.100s", s->validation_name,
                 DECIMAL_COUNT(by_id, "row"), s->initial_name);
    else if (by_row && share > 1.5 * chance + .005)
        snprintf(text, sizeof text,
                 "%.100s: %u of %u rows %s features and label of a row of %.100s; is it judged by "
                 "what it was trained on?",
                 s->validation_name, by_row, s->validation->n, decimal_agree(by_row, "has", "have"),
                 s->initial_name);
    else
        return 0;
    to->note(to->ctx, false, text);
    return 0;
}

int data_sets_look(const struct data_sets *s, data_note_fn *note, void *ctx, struct fis_error *e)
{
    const struct notes to = {note, ctx};
    if (s->initial)
        note_absent(s->initial, s->initial_name, s->schema, &to);
    if (!s->validation)
        return 0;
    note_absent(s->validation, s->validation_name, s->schema, &to);
    note_gate(s, &to);
    return s->initial && s->initial->d == s->validation->d ? note_shared(s, &to, e) : 0;
}

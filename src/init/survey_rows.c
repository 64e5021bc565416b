/* Rows that repeat, in a table and between two. */
#include "init/survey_impl.h"

#include <stdlib.h>
#include <xxhash.h>

#include "fis/mem.h"

static uint64_t hash_row(const struct data_table *t, const int *columns, uint32_t n, uint32_t row)
{
    uint64_t h = 0;
    size_t length;
    for (uint32_t i = 0; i < n; i++) {
        const char *text = init_text(t, columns[i], row, &length);
        h = XXH3_64bits_withSeed(text, length, h + length + 1);
    }
    return h;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The rows' hashes, sorted; NULL without memory. */
static uint64_t *hash_rows(const struct data_table *t, const int *columns, uint32_t n)
{
    uint64_t *h = fis_alloc(t->n, sizeof *h);
    for (uint32_t r = 0; h && r < t->n; r++)
        h[r] = hash_row(t, columns, n, r);
    if (h)
        qsort(h, t->n, sizeof *h, by_hash);
    return h;
}

/* Features that `other` has too: their columns in both tables. Their number. */
static uint32_t common(const struct init_survey *s, const struct data_table *other, int *mine,
                       int *theirs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++) {
        int j = s->columns[i].role == INIT_FEATURE
                    ? data_table_find(other, s->t->columns[i].name, NULL)
                    : -1;
        if (j < 0)
            continue;
        mine[n] = (int)i;
        theirs[n++] = j;
    }
    return n;
}

int init_shared_rows(const struct init_survey *s, const struct data_table *other, uint32_t *shared,
                     struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, other, mine, mine + s->t->n_columns) : 0;
    uint64_t *a = mine ? hash_rows(s->t, mine, n) : NULL;
    bool enough = a != NULL;
    *shared = 0;
    for (uint32_t r = 0; enough && n && r < other->n; r++) {
        uint64_t h = hash_row(other, mine + s->t->n_columns, n, r);
        *shared += bsearch(&h, a, s->t->n, sizeof *a, by_hash) != NULL;
    }
    fis_free(a);
    fis_free(mine);
    return enough ? 0 : fis_fail(e, FIS_NOMEM, "no memory to compare rows");
}

int init_repeated_rows(const struct init_survey *s, const uint8_t *part, uint8_t a, uint8_t b,
                       uint32_t *repeated, struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, s->t, mine, mine + s->t->n_columns) : 0, n_a = 0;
    uint64_t *h = fis_alloc(s->t->n, sizeof *h);
    *repeated = 0;
    for (uint32_t r = 0; mine && h && r < s->t->n; r++)
        if (part[r] == a)
            h[n_a++] = hash_row(s->t, mine, n, r);
    if (h)
        qsort(h, n_a, sizeof *h, by_hash);
    for (uint32_t r = 0; mine && h && n && r < s->t->n; r++)
        if (part[r] == b) {
            uint64_t one = hash_row(s->t, mine, n, r);
            *repeated += bsearch(&one, h, n_a, sizeof *h, by_hash) != NULL;
        }
    bool enough = mine && h;
    fis_free(h);
    fis_free(mine);
    return enough ? 0 : fis_fail(e, FIS_NOMEM, "no memory to compare rows");
}

int survey_count_duplicates(struct init_survey *s, struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, s->t, mine, mine + s->t->n_columns) : 0;
    uint64_t *h = mine ? hash_rows(s->t, mine, n) : NULL;
    for (uint32_t r = 1; h && n && r < s->t->n; r++)
        s->duplicates += h[r] == h[r - 1];
    fis_free(mine);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory to compare rows");
    fis_free(h);
    return 0;
}

#include <string.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "init/init_files.h"

/* `total` things over cells in proportion to their rows: how many of them the cells up to here have
 * when they have `rows` of `all` rows. */
static uint32_t due(uint32_t total, uint64_t rows, uint32_t all)
{
    return (uint32_t)((total * rows + all / 2) / all);
}

struct dealing {
    uint8_t *part;
    uint64_t rows;                /* of the cells that were dealt */
    uint32_t initial, validation; /* dealt so far */
};

static void deal(struct dealing *d, const uint32_t *rows, uint32_t n, uint32_t initial,
                 uint32_t validation)
{
    for (uint32_t i = 0; i < n; i++) {
        enum init_part p = d->initial < initial         ? INIT_INITIAL
                           : d->validation < validation ? INIT_VALIDATION
                                                        : INIT_STREAM;
        d->part[rows[i]] = (uint8_t)p;
        d->initial += p == INIT_INITIAL;
        d->validation += p == INIT_VALIDATION;
    }
}

int init_split(const struct init_survey *s, uint32_t initial, uint32_t validation, uint64_t seed,
               uint8_t *part, struct fis_error *e)
{
    struct dealing d = {.part = part};
    struct fis_rng rng;
    uint32_t *rows = fis_alloc(s->t->n, sizeof *rows);
    if (!rows)
        return fis_fail(e, FIS_NOMEM, "no memory to divide %u rows", s->t->n);
    fis_rng_seed(&rng, seed, 0);
    memset(part, INIT_UNUSED, s->t->n);
    for (uint32_t cell = 0; cell < s->n_groups * s->n_classes; cell++) {
        uint32_t n = 0;
        for (uint32_t r = 0; r < s->t->n; r++)
            if (s->group[r] == cell / s->n_classes && s->y[r] == cell % s->n_classes)
                rows[n++] = r;
        fis_rng_shuffle(&rng, rows, n);
        d.rows += n;
        deal(&d, rows, n, due(initial, d.rows, s->usable), due(validation, d.rows, s->usable));
    }
    fis_free(rows);
    return 0;
}

/* Drift: how recent records are distributed, held against the initial set. */
#include <stdlib.h>
#include <string.h>

#include "daemon/scorer/scorer_host_impl.h"

/* Sampled rows that are remembered: the counts are halved when there are more. */
#define ROWS_MOST 20000u
/* How many rows more before the figures are worked out again. */
#define ROWS_MORE 64u

static bool same_counts(const struct fis_profile *a, const struct fis_profile *b)
{
    uint32_t n, m;
    const uint32_t *p = fis_profile_counts(a, &n), *q = fis_profile_counts(b, &m);
    return n == m && memcmp(p, q, n * sizeof *p) == 0;
}

/* The names in the figures are the encoder's: of an old head, they would dangle. */
static void forget(struct scorer_host *h)
{
    h->n_drift = h->above = h->profiled = 0;
}

void scorer_drift_head(struct scorer_host *h, const struct scoring_head *old)
{
    bool same = old && old->initial && h->head->initial && h->profile &&
                same_counts(old->initial, h->head->initial);
    forget(h);
    if (same)
        return;
    fis_profile_free(h->profile);
    h->profile = NULL;
    if (h->head->initial && fis_profile_rows(h->head->initial) > 0)
        h->profile = fis_profile_new(h->head->encoder, NULL); /* without memory: no figures */
}

void scorer_drift_batch(struct scorer_host *h, const struct scoring_batch *b)
{
    if (h->profile && b->sample && b->head == h->head)
        fis_profile_merge(h->profile, b->sample, ROWS_MOST);
}

static int larger_first(const void *a, const void *b)
{
    const struct drift_column *p = a, *q = b;
    return (p->psi < q->psi) - (p->psi > q->psi);
}

/* The STATUS_DRIFT largest, in order. */
static void work_out(struct scorer_host *h)
{
    uint32_t columns = fis_encoder_columns(h->head->encoder);
    double limit = h->ctx->cfg->alarms.drift;
    forget(h);
    for (uint32_t i = 0; i < columns; i++) {
        struct drift_column one = {fis_encoder_column(h->head->encoder, i)->name,
                                   fis_profile_psi(h->head->initial, h->profile, i)};
        h->above += limit > 0 && one.psi > limit;
        if (h->n_drift < STATUS_DRIFT)
            h->drift[h->n_drift++] = one;
        else if (one.psi > h->drift[STATUS_DRIFT - 1].psi)
            h->drift[STATUS_DRIFT - 1] = one;
        else
            continue;
        if (h->n_drift == STATUS_DRIFT)
            qsort(h->drift, h->n_drift, sizeof *h->drift, larger_first);
    }
    qsort(h->drift, h->n_drift, sizeof *h->drift, larger_first);
    h->profiled = fis_profile_rows(h->profile);
}

void scorer_drift_show(struct scorer_host *h, struct scorer_drift *out)
{
    uint32_t rows = h->profile ? fis_profile_rows(h->profile) : 0;
    if (!h->profile)
        return;
    if (rows >= STATUS_DRIFT_ROWS &&
        (!h->n_drift || rows < h->profiled || rows - h->profiled >= ROWS_MORE))
        work_out(h);
    *out = (struct scorer_drift){
        .rows = rows,
        .initial_rows = fis_profile_rows(h->head->initial),
        .all = fis_encoder_columns(h->head->encoder),
        .above = h->above,
        .n = h->n_drift,
        .columns = h->drift,
    };
}

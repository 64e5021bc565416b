/* Records with equal features: a heap holds the best of them alone, and one is asked for in a
 * round. Groups of them are known as long as one is held, or the round goes on. */

#include <xxhash.h>

#include "core/selector_impl.h"

#define CHUNK 64u

uint64_t fis_features_hash(const float *x, uint32_t d)
{
    float chunk[CHUNK];
    uint64_t hash = d;
    for (uint32_t from = 0; from < d; from += CHUNK) {
        uint32_t n = d - from < CHUNK ? d - from : CHUNK;
        for (uint32_t i = 0; i < n; i++)
            chunk[i] = x[from + i] + 0.0f; /* -0 is 0 */
        hash = XXH3_64bits_withSeed(chunk, n * sizeof *chunk, hash);
    }
    return hash ? hash : 1;
}

struct alike *alike_find(const struct fis_selector *s, uint64_t features)
{
    struct alike *a = NULL;
    if (features)
        HASH_FIND(hh, s->alike, &features, sizeof features, a);
    return a;
}

struct alike *alike_make(struct fis_selector *s, uint64_t features)
{
    struct alike *a = alike_find(s, features);
    if (a || !features || !(a = fis_calloc(1, sizeof *a)))
        return a;
    a->features = features;
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        a->slot[i] = NO_SLOT;
    HASH_ADD(hh, s->alike, features, sizeof a->features, a);
    if (a->hh.tbl)
        return a;
    fis_free(a); /* how uthash says that it had no memory */
    return NULL;
}

static bool is_asked(const struct fis_selector *s, const struct alike *a)
{
    return a->asked == (uint64_t)s->round + 1;
}

bool alike_waits(const struct fis_selector *s, const struct entry *entry)
{
    const struct alike *a = s->waiting ? alike_find(s, entry->features) : NULL;
    return a && is_asked(s, a);
}

static void drop(struct fis_selector *s, struct alike *a)
{
    HASH_DEL(s->alike, a);
    fis_free(a);
}

void alike_hold(struct fis_selector *s, const struct entry *entry, bool held)
{
    struct alike *a = alike_find(s, entry->features);
    if (!a)
        return;
    a->held += held ? 1 : UINT32_MAX;
    if (is_asked(s, a))
        s->waiting += held ? 1 : UINT32_MAX;
    else if (a->held == 0)
        drop(s, a);
}

void alike_ask(struct fis_selector *s, const struct entry *entry, uint32_t round)
{
    /* Without memory for it another one may be asked for; what else is done will fail. */
    struct alike *a = round == s->round ? alike_make(s, entry->features) : NULL;
    if (!a || is_asked(s, a))
        return;
    a->asked = (uint64_t)round + 1;
    s->waiting += a->held;
}

void alike_round(struct fis_selector *s)
{
    struct alike *a, *next;
    s->waiting = 0;
    HASH_ITER (hh, s->alike, a, next)
        if (a->held == 0 && !is_asked(s, a))
            drop(s, a);
}

void alike_clear(struct fis_selector *s, uint32_t heap)
{
    for (struct alike *a = s->alike; a; a = a->hh.next)
        a->slot[heap] = NO_SLOT;
}

void alike_done(struct fis_selector *s)
{
    struct alike *a, *next;
    HASH_ITER (hh, s->alike, a, next)
        drop(s, a);
}

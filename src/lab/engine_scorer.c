/* The lab's scorer: the daemon's scorer role over the records of the pool. */
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/engine_impl.h"
#include "wire/head.h"

#define BATCH 4096u
#define IMAGE_BYTES ((size_t)64 << 20) /* of a batch of them */
#define LEDGER_BYTES ((size_t)64 << 20)

int lab_engine_head(struct lab_engine *g, struct wire_bytes chunk, struct fis_error *e)
{
    struct wire_head_owned owned;
    struct wire_bytes payload;
    uint64_t version;
    int rc = wire_assembler_feed(g->assembler, chunk, &payload, &version, e);
    if (rc == 0 && wire_assembler_floors(g->assembler))
        scorer_floors(g->scorer, wire_assembler_floors(g->assembler));
    if (rc <= 0)
        return rc;
    if ((rc = wire_head_decode(payload, &owned, e)) < 0)
        return rc;
    struct scoring_head *head = scoring_head_take(&owned);
    if (!head)
        rc = fis_fail(e, FIS_NOMEM, "run: no memory for a head");
    if (rc == 0) {
        scoring_head_unref(g->head);
        g->head = head;
        rc = scorer_head(g->scorer, &owned.head, e);
    }
    wire_head_done(&owned);
    return rc;
}

/* ---- what the scorer asks for --------------------------------------------------------------- */

static void out_score(void *ctx, uint32_t slot, const float *floors)
{
    struct lab_engine *g = ctx;
    struct fis_error e;
    int rc = scoring_batch_prepare(&g->batch, g->head, floors, &e);
    lab_engine_note_failure(g, rc, &e);
    if (rc < 0)
        return;
    scoring_run(&g->batch);
    scorer_scored(g->scorer, slot, &g->batch);
}

static void out_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct lab_engine *g = ctx;
    const struct wire_candidate c = scoring_candidate(&g->batch, i);
    lab_engine_offer(g, &(struct wire_offer){.candidates = &c, .n_candidates = 1});
    scorer_acked(g->scorer, slot, 1);
}

static void out_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct lab_engine *g = ctx;
    lab_engine_note_failure(g, -1, &g->batch.errors[i]);
    scorer_acked(g->scorer, slot, 1);
}

static void out_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct lab_engine *g = ctx;
    lab_engine_offer(g, &(struct wire_offer){.progress = p});
    scorer_acked(g->scorer, slot, 1);
}

static void out_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    (void)ctx;
    (void)slot;
    (void)places;
    (void)n;
}

/* A scan begins; of a sampled pool, over another sample. */
static void out_rewind(void *ctx)
{
    struct lab_engine *g = ctx;
    const uint32_t n = g->r->split->n_pool, scored = g->r->o->protocol.scored_per_round;
    g->next = 0;
    g->enough = false;
    if (!g->in_scan)
        return;
    memset(g->in_scan, 0, n);
    for (uint32_t i = 0; i < scored; i++) {
        uint32_t j = i + fis_rng_below(&g->r->rng, n - i), t = g->order[i];
        g->order[i] = g->order[j];
        g->order[j] = t;
        g->in_scan[g->order[i]] = 1;
    }
}

static void out_enough(void *ctx, int32_t partition)
{
    struct lab_engine *g = ctx;
    (void)partition;
    g->enough = true;
}

/* ---- records -------------------------------------------------------------------------------- */

/* The place of record `offset`: in one pass, windows may leave out what follows their records. */
static uint32_t place_at(const struct lab_engine *g, uint32_t offset)
{
    return g->r->o->one_pass ? offset / g->window * g->window_all + offset % g->window : offset;
}

static void add_record(struct lab_engine *g, uint32_t offset)
{
    struct scoring_batch *b = &g->batch;
    const struct lab_split *s = g->r->split;
    const uint32_t place = place_at(g, offset);
    const size_t at = (size_t)b->n * s->d;
    const float *x = lab_split_see(s, s->pool[place], g->images ? g->images + at : NULL);
    b->messages[b->n++] = (struct wire_message){.topic = "records",
                                                .offset = offset,
                                                .timestamp_ms = -1,
                                                .key = {g->ids[place], strlen(g->ids[place])},
                                                .value = {x, (s->d - s->margins) * sizeof(float)}};
}

bool lab_engine_read_batch(struct lab_engine *g)
{
    const int slot = scorer_free_slot(g->scorer);
    uint32_t most = g->most;
    if (slot < 0 || g->enough)
        return false;
    g->offers.length = g->offers_read = 0;
    if (g->r->o->one_pass) {
        const uint64_t seen = trainer_role_counts(session_role(g->session)).window;
        most = seen < g->window && g->window - seen < most ? (uint32_t)(g->window - seen) : most;
    }
    g->batch.n = 0;
    for (; g->next < g->end && g->batch.n < most; g->next++)
        if (!g->in_scan || g->in_scan[g->next])
            add_record(g, g->next);
    if (g->batch.n) {
        scorer_batch(g->scorer, (uint32_t)slot, &g->batch);
        while (scorer_send(g->scorer, g->most) == g->most)
            ;
    }
    if (g->next == g->end && !g->r->o->one_pass)
        scorer_end(g->scorer, 0, g->end);
    return g->batch.n > 0;
}

/* ---- life ----------------------------------------------------------------------------------- */

int lab_engine_pool(struct lab_engine *g, struct fis_error *e)
{
    const uint32_t n = g->r->split->n_pool, scored = g->r->o->protocol.scored_per_round;
    const uint32_t rounds = g->r->o->protocol.rounds;
    g->end = n;
    g->ids = fis_alloc(n, sizeof *g->ids);
    if (!g->ids)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u records", n);
    for (uint32_t i = 0; i < n; i++)
        snprintf(g->ids[i], sizeof g->ids[i], "%u", i);
    if (g->r->o->one_pass) {
        g->window_all = rounds && n >= rounds ? n / rounds : n;
        g->window = scored && scored < g->window_all ? scored : g->window_all;
        g->end = rounds ? g->window * rounds : g->window;
        return 0;
    }
    if (!scored || scored >= n)
        return 0;
    g->in_scan = fis_calloc(n, 1);
    g->order = fis_alloc(n, sizeof *g->order);
    if (!g->in_scan || !g->order)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u records", n);
    for (uint32_t i = 0; i < n; i++)
        g->order[i] = i;
    return 0;
}

int lab_engine_scorer(struct lab_engine *g, struct fis_error *e)
{
    const struct scorer_out out = {g,           out_score,  out_offer, out_refuse, out_progress,
                                   out_release, out_rewind, out_enough};
    const uint32_t d = g->r->split->d, fit = (uint32_t)(IMAGE_BYTES / (d * sizeof(float)));
    g->most = g->r->split->x || fit > BATCH ? BATCH : fit;
    if (!g->r->split->x && !(g->images = fis_alloc((size_t)g->most * d, sizeof *g->images)))
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u images", g->most);
    const struct scorer_options s = {.criteria = g->criteria,
                                     .slots = 1,
                                     .batch = g->most,
                                     .name = "lab",
                                     .pool = !g->r->o->one_pass,
                                     .ledger_bytes = LEDGER_BYTES};
    g->scoring = (struct scoring_options){
        .schema = &g->schema, .encoding = WIRE_RAW, .criteria = g->criteria, .capacity = g->most};
    g->scorer = scorer_new(&s, &out, e);
    g->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    if (!g->scorer || !g->assembler)
        return fis_fail(e, FIS_NOMEM, "run: no memory for a scorer");
    return scoring_batch_init(&g->batch, &g->scoring, e);
}

void lab_engine_scorer_done(struct lab_engine *g)
{
    scorer_free(g->scorer);
    scoring_batch_done(&g->batch);
    scoring_head_unref(g->head);
    wire_assembler_free(g->assembler);
    fis_free(g->images);
    fis_free(g->in_scan);
    fis_free(g->order);
}

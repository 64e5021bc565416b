/* A round of a run: rows of the pool are scored and offered, labels bought, the copies trained. */
#include <stdio.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/run_impl.h"

static int uses_directions(const struct lab_run *r)
{
    return r->method->acquisition->by_influence ||
           r->method->publication->copies != FIS_COPIES_PLAIN;
}

int lab_refresh(struct lab_run *r, struct fis_error *e)
{
    int rc = 0;
    if (uses_directions(r)) {
        rc = fis_learner_refresh(r->learner, &r->directions, NULL, e);
        r->panel = fis_learner_panel(r->learner);
        /* The published algorithm looks at a label once. */
        if (rc == 0 && r->method->publication->copies == FIS_COPIES_BOOSTED)
            fis_learner_review(r->learner);
    }
    if (rc == 0 && r->hooks && r->hooks->refreshed)
        rc = r->hooks->refreshed(r->hooks->arg, r, e);
    if (rc == 0 && r->method->acquisition->refreshed)
        rc = r->method->acquisition->refreshed(r, e);
    return rc;
}

/* ---- scores --------------------------------------------------------------------------------- */

static void by_criteria(struct lab_run *r, const float *x, const struct fis_id *const *ids,
                        uint32_t n, float *scores)
{
    const size_t k = r->classes;
    if (r->method->acquisition->by_influence)
        fis_influence_batch(r->panel, x, n, r->scratch, r->p, r->infl_acc, r->infl_fair);
    else if (r->criteria.acquisition != &fis_acquisition_random) {
        fis_network_forward(&r->shape, fis_learner_anchor(r->learner), x, n, r->scratch, r->p);
        fis_softmax(r->p, n, r->classes, r->p);
    }
    for (uint32_t i = 0; i < n; i++)
        fis_criteria_score(&r->criteria, ids[i], r->p + i * k, r->infl_acc + i * k,
                           r->infl_fair + i * k, r->classes, scores + (size_t)i * FIS_MAX_CRITERIA);
}

/* rows: of the task. */
static int score_rows(struct lab_run *r, const float *x, const struct fis_id *const *ids,
                      const uint32_t *rows, uint32_t n, float *scores, struct fis_error *e)
{
    float own[LAB_SCORE_ROWS];
    if (!r->method->acquisition->score) {
        by_criteria(r, x, ids, n, scores);
        return 0;
    }
    int rc = r->method->acquisition->score(r, x, rows, n, own, e);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < FIS_MAX_CRITERIA; j++)
            scores[(size_t)i * FIS_MAX_CRITERIA + j] =
                rc == 0 && j == 0 ? own[i] : FIS_NOT_A_CANDIDATE;
    return rc;
}

/* Ids are places in the pool, in decimal. */
static void make_id(uint32_t place, struct fis_id *id)
{
    id->length = (uint8_t)snprintf(id->bytes, sizeof id->bytes, "%u", place);
}

static uint32_t place_of(const struct fis_id *id)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < id->length; i++)
        place = 10 * place + (uint32_t)(id->bytes[i] - '0');
    return place;
}

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    struct lab_run *r = arg;
    for (uint32_t from = 0; from < n; from += LAB_SCORE_ROWS) {
        uint32_t rows[LAB_SCORE_ROWS], m = n - from < LAB_SCORE_ROWS ? n - from : LAB_SCORE_ROWS;
        for (uint32_t i = 0; i < m; i++)
            rows[i] = r->split->pool[place_of(ids[from + i])];
        int rc = score_rows(r, x + (size_t)from * r->split->d, ids + from, rows, m,
                            scores + (size_t)from * FIS_MAX_CRITERIA, r->score_error);
        if (rc < 0 && r->score_result == 0)
            r->score_result = rc;
    }
}

static int rescore_held(struct lab_run *r, struct fis_error *e)
{
    r->score_error = e;
    r->score_result = 0;
    int rc = fis_selector_rescore(r->selector, rescore, r, e);
    return r->score_result < 0 ? r->score_result : rc;
}

/* ---- the pool ------------------------------------------------------------------------------- */

struct chunk {
    uint32_t n;
    float *x;
    uint32_t places[LAB_SCORE_ROWS], rows[LAB_SCORE_ROWS];
    struct fis_id ids[LAB_SCORE_ROWS];
    const struct fis_id *at[LAB_SCORE_ROWS];
    float scores[LAB_SCORE_ROWS * FIS_MAX_CRITERIA];
};

static void add_to_chunk(const struct lab_run *r, struct chunk *c, uint32_t place)
{
    const struct lab_split *s = r->split;
    c->places[c->n] = place;
    c->rows[c->n] = s->pool[place];
    make_id(place, &c->ids[c->n]);
    c->at[c->n] = &c->ids[c->n];
    memcpy(c->x + (size_t)c->n * s->d, lab_split_row(s, s->pool[place]), s->d * sizeof *c->x);
    c->n++;
}

static int offer_chunk(struct lab_run *r, struct chunk *c, struct fis_error *e)
{
    int rc = score_rows(r, c->x, c->at, c->rows, c->n, c->scores, e);
    for (uint32_t i = 0; rc >= 0 && i < c->n; i++) {
        struct fis_candidate candidate = {.id = c->ids[i], .x = c->x + (size_t)i * r->split->d};
        memcpy(candidate.scores, c->scores + (size_t)i * FIS_MAX_CRITERIA, sizeof candidate.scores);
        rc = fis_selector_offer(r->selector, &candidate, e);
    }
    c->n = 0;
    return rc < 0 ? rc : 0;
}

/* The first `want` places of a fresh shuffle. */
static void draw(struct lab_run *r, uint32_t want)
{
    for (uint32_t i = 0; i < want; i++) {
        uint32_t j = i + fis_rng_below(&r->rng, r->split->n_pool - i), t = r->order[i];
        r->order[i] = r->order[j];
        r->order[j] = t;
    }
}

/* Which places are looked at this round: a window of one pass, a sample, or all. */
static void choose(struct lab_run *r, uint32_t *from, uint32_t *to)
{
    const uint64_t n = r->split->n_pool;
    const uint32_t scored = r->o->protocol.scored_per_round, rounds = r->o->protocol.rounds;
    *from = 0;
    *to = (uint32_t)n;
    if (r->o->one_pass) {
        *from = (uint32_t)(n * r->round / rounds);
        *to = (uint32_t)(n * (r->round + 1) / rounds);
        if (scored && *to - *from > scored)
            *to = *from + scored;
    } else if (scored && scored < n) {
        draw(r, scored);
        *to = scored;
    }
}

static int offer_pool(struct lab_run *r, struct fis_error *e)
{
    uint32_t from, to;
    int rc = 0;
    struct chunk *c = fis_alloc(1, sizeof *c);
    float *x = fis_alloc((size_t)LAB_SCORE_ROWS * r->split->d, sizeof *x);
    if (!c || !x) {
        fis_free(c);
        fis_free(x);
        return fis_fail(e, FIS_NOMEM, "run: no memory");
    }
    c->n = 0;
    c->x = x;
    choose(r, &from, &to);
    for (; rc == 0 && from < to; from++) {
        if (!r->seen[r->order[from]])
            add_to_chunk(r, c, r->order[from]);
        if (c->n == LAB_SCORE_ROWS)
            rc = offer_chunk(r, c, e);
    }
    if (rc == 0 && c->n)
        rc = offer_chunk(r, c, e);
    fis_free(c);
    fis_free(x);
    return rc;
}

/* ---- labels --------------------------------------------------------------------------------- */

static int remember(struct lab_run *r, struct lab_bought b, struct fis_error *e)
{
    if (r->n_bought == r->bought_capacity) {
        uint32_t capacity = r->bought_capacity ? 2 * r->bought_capacity : 1024;
        struct lab_bought *grown = fis_grow(r->bought, r->n_bought, capacity, sizeof *grown);
        if (!grown)
            return fis_fail(e, FIS_NOMEM, "run: no memory for %u labels", capacity);
        r->bought = grown;
        r->bought_capacity = capacity;
    }
    r->bought[r->n_bought++] = b;
    return 0;
}

static int predicted_right(struct lab_run *r, const float *x, uint32_t y)
{
    uint32_t predicted;
    fis_network_forward(&r->shape, fis_learner_anchor(r->learner), x, 1, r->scratch, r->p);
    fis_predict(r->p, 1, r->classes, &predicted);
    return predicted == y;
}

static int deliver(struct lab_run *r, const struct fis_id *id, struct lab_bought b,
                   struct fis_error *e)
{
    struct fis_candidate c;
    const uint32_t y = r->split->task->y[b.row];
    if (fis_selector_answer(r->selector, id, y, &c, &b.criterion) != FIS_ANSWER_ACCEPTED)
        return fis_fail(e, FIS_FATAL, "run: an answer was not accepted");
    int rc = fis_learner_add_bought(r->learner, c.x, y, &b.index, e);
    if (rc == 0) {
        int kept = fis_learner_check(r->learner, b.index, NULL, NULL) > 0;
        r->result->kept_at_once += (uint32_t)kept;
        if (r->method->publication->copies == FIS_COPIES_MIXED)
            r->result->kept_right += (uint32_t)(kept == predicted_right(r, c.x, y));
        rc = remember(r, b, e);
    }
    fis_selector_release(r->selector, id);
    return rc;
}

static int await_label(struct lab_run *r, uint32_t place, struct fis_error *e)
{
    if (r->n_waiting == r->waiting_capacity) {
        uint32_t capacity = r->waiting_capacity ? 2 * r->waiting_capacity : 1024;
        struct lab_waiting *grown = fis_grow(r->waiting, r->n_waiting, capacity, sizeof *grown);
        if (!grown)
            return fis_fail(e, FIS_NOMEM, "run: no memory for %u requests", capacity);
        r->waiting = grown;
        r->waiting_capacity = capacity;
    }
    r->waiting[r->n_waiting++] = (struct lab_waiting){place, r->round};
    return 0;
}

/* Up to `want` requests. Labels come at once, or are waited for. */
static int buy(struct lab_run *r, uint32_t want, struct fis_error *e)
{
    struct fis_candidate c;
    uint32_t criterion;
    int rc = 0;
    for (; rc == 0 && want > 0 && fis_selector_ask(r->selector, &c, &criterion); want--) {
        uint32_t place = place_of(&c.id);
        struct lab_bought b = {.row = r->split->pool[place], .round = r->round};
        struct fis_id id = c.id;
        r->seen[place] = 1;
        if (r->o->delay == 0)
            rc = deliver(r, &id, b, e);
        else
            rc = await_label(r, place, e);
    }
    return rc;
}

/* What was asked for `delay` rounds ago. */
static int deliver_late(struct lab_run *r, struct fis_error *e)
{
    int rc = 0;
    for (; rc == 0 && r->waiting_at < r->n_waiting; r->waiting_at++) {
        const struct lab_waiting *w = &r->waiting[r->waiting_at];
        struct fis_id id;
        if (w->round + r->o->delay > r->round)
            break;
        make_id(w->place, &id);
        rc = deliver(r, &id,
                     (struct lab_bought){.row = r->split->pool[w->place], .round = w->round}, e);
    }
    return rc;
}

/* ---- the round ------------------------------------------------------------------------------ */

static uint32_t part(uint32_t whole, uint32_t i, uint32_t n)
{
    return (uint32_t)((uint64_t)whole * (i + 1) / n - (uint64_t)whole * i / n);
}

static int train(struct lab_run *r, uint32_t steps, struct fis_error *e)
{
    if (r->method->publication->train)
        return r->method->publication->train(r, steps, e);
    return fis_learner_train(r->learner, steps, e);
}

int lab_round(struct lab_run *r, struct fis_error *e)
{
    const struct lab_protocol *p = &r->o->protocol;
    int rc = 0, buys = r->selector != NULL;
    fis_learner_round_begin(r->learner);
    if (buys) {
        rc = rescore_held(r, e);
        if (rc == 0)
            rc = offer_pool(r, e);
        if (rc == 0)
            rc = deliver_late(r, e);
        fis_selector_round_begin(r->selector); /* late labels take no place of what it asks for */
    }
    for (uint32_t i = 0; rc == 0 && i < r->o->refreshes; i++) {
        if (buys)
            rc = buy(r, part(p->labels_per_round, i, r->o->refreshes), e);
        if (rc == 0)
            rc = train(r, part(p->steps_per_round, i, r->o->refreshes), e);
        if (rc == 0)
            rc = lab_refresh(r, e);
        if (rc == 0 && buys)
            rc = rescore_held(r, e);
    }
    return rc;
}

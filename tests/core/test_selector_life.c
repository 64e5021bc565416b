/*
 * The life of requests, against a model that keeps everything in plain arrays and works out the
 * heaps anew each time by counting who is better: random sequences of all that can happen, with a
 * copy kept by what fis_selector_changes tells, and restarts from that copy in between.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "core/request_table.h"
#include "fis/selector.h"
#include "kit/core/requests.h"

#define D 2u
#define N 70u
#define LABELS 4u /* a round's */
#define HEAP 9u
#define FLIGHT 3u

enum mine { NOWHERE, HELD, OPEN, ANSWERED, WITHDRAWN };

struct record {
    enum mine state;
    int bare;             /* withdrawn, and the features are not known any more */
    bool kept, restored;  /* restored: its payload is not known */
    int refunded, placed; /* placed: has a place in the current round */
    int answered_now;     /* in the current round */
    uint32_t criterion, label;
    int copied; /* the copy says that it is held */
    float x[D];
};

struct model {
    struct record r[N];
    uint32_t head; /* scores are a function of record and head */
    uint64_t budget, allowance;
    struct fis_selector *s;
    struct fis_rng rng;
    uint32_t round;
    uint32_t last_told; /* 0: nothing yet; 1: a `gone`; 2: a `held` */
};

static struct fis_id id_of(uint32_t i)
{
    char name[16];
    struct fis_id id;
    int n = snprintf(name, sizeof name, "rec-%u", i);
    assert_int_equal(fis_id_set(&id, name, (size_t)n), 0);
    return id;
}

static uint32_t record_of(const struct fis_id *id)
{
    unsigned n;
    char name[16] = {0};
    memcpy(name, id->bytes, id->length);
    assert_int_equal(sscanf(name, "rec-%u", &n), 1);
    return n;
}

/* Few values, so that there are ties; a third is no candidate of criterion 0. */
static float score(uint32_t head, uint32_t record, uint32_t criterion)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, head, record * 2 + criterion);
    if (fis_rng_below(&rng, 3) == 0)
        return FIS_NOT_A_CANDIDATE;
    return (float)fis_rng_below(&rng, 12);
}

static void candidate(const struct model *m, uint32_t i, struct fis_candidate *c)
{
    static const char *const payload = "what people see";
    *c = (struct fis_candidate){.id = id_of(i), .x = m->r[i].x, .payload = payload};
    c->payload_length = strlen(payload);
    for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
        c->scores[k] = score(m->head, i, k);
}

static struct fis_selector *fresh(const struct model *m)
{
    struct fis_error e;
    struct fis_selector_options o = {
        .criteria = {.acquisition = &fis_acquisition_fis_plus, .strategy = 2},
        .d = D,
        .labels_per_round = LABELS,
        .heap = HEAP,
        .in_flight = FLIGHT,
        .budget = m->budget,
        .rounds_of_kept = true,
    };
    struct fis_selector *s = fis_selector_new(&o, &e);
    assert_non_null(s);
    fis_selector_set_allowance(s, m->allowance);
    fis_selector_round_begin(s, m->round);
    return s;
}

/* ---- the model ------------------------------------------------------------------------------ */

static int better(const struct model *m, uint32_t a, uint32_t b, uint32_t criterion)
{
    float x = score(m->head, a, criterion), y = score(m->head, b, criterion);
    struct fis_id ia = id_of(a), ib = id_of(b);
    return x > y || (x == y && fis_id_compare(&ia, &ib) < 0);
}

/* How many of those held come before record i; UINT32_MAX: it is no candidate. */
static uint32_t rank(const struct model *m, uint32_t i, uint32_t criterion)
{
    uint32_t n = 0;
    if (score(m->head, i, criterion) <= FIS_NOT_A_CANDIDATE)
        return UINT32_MAX;
    for (uint32_t j = 0; j < N; j++)
        n += m->r[j].state == HELD && j != i && better(m, j, i, criterion);
    return n;
}

static int in_heap(const struct model *m, uint32_t i, uint32_t criterion)
{
    return m->r[i].state == HELD && rank(m, i, criterion) < HEAP;
}

static void let_go_of_the_worst(struct model *m)
{
    int out[N];
    for (uint32_t i = 0; i < N; i++)
        out[i] = m->r[i].state == HELD && !in_heap(m, i, 0) && !in_heap(m, i, 1);
    for (uint32_t i = 0; i < N; i++)
        if (out[i])
            m->r[i].state = NOWHERE;
}

static uint32_t count(const struct model *m, enum mine state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        n += m->r[i].state == state;
    return n;
}

static uint32_t placed(const struct model *m, uint32_t criterion)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        n += m->r[i].placed && m->r[i].criterion == criterion;
    return n;
}

static uint64_t charged(const struct model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        n += m->r[i].state == ANSWERED || (m->r[i].state == WITHDRAWN && !m->r[i].refunded);
    return n;
}

static uint64_t budget_left(const struct model *m)
{
    uint64_t used = charged(m) + count(m, OPEN);
    return used < m->budget ? m->budget - used : 0;
}

/* Which record is next, and by which criterion; N: none. */
static uint32_t next_of(const struct model *m, uint32_t *criterion)
{
    uint32_t best[2] = {N, N};
    if (budget_left(m) == 0 || m->allowance == 0 || count(m, OPEN) >= FLIGHT ||
        placed(m, 0) + placed(m, 1) >= LABELS)
        return N;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < N; i++)
            if (in_heap(m, i, k) && (best[k] == N || better(m, i, best[k], k)))
                best[k] = i;
    *criterion = best[0] == N || (best[1] != N && placed(m, 1) < placed(m, 0));
    return best[*criterion];
}

static void compare(const struct model *m)
{
    static const enum request_count shown[] = {
        [NOWHERE] = COUNT_NONE,      [HELD] = COUNT_HELD,          [OPEN] = COUNT_OPEN,
        [ANSWERED] = COUNT_ANSWERED, [WITHDRAWN] = COUNT_GIVEN_UP,
    };
    struct fis_selector_counts n = fis_selector_counts(m->s);
    uint32_t answered_now = 0;
    for (uint32_t i = 0; i < N; i++) {
        struct fis_id id = id_of(i);
        struct fis_candidate c;
        const struct record *r = &m->r[i];
        assert_int_equal(request_traits(state_of(m->s, &id))->count, shown[r->state]);
        answered_now += (uint32_t)r->answered_now;
        int whole = r->state == OPEN || (r->state == WITHDRAWN && !r->bare);
        assert_int_equal(peek(m->s, &id, &c), whole);
        if (!whole)
            continue;
        assert_int_equal(fis_selector_find(m->s, &id)->criterion, r->criterion);
        assert_memory_equal(c.x, r->x, sizeof r->x);
        assert_int_equal(c.payload_length > 0, r->state == OPEN && !r->restored);
    }
    assert_int_equal(n.held, count(m, HELD));
    assert_int_equal(n.open, count(m, OPEN));
    assert_int_equal(n.answered, count(m, ANSWERED));
    assert_int_equal(n.given_up, count(m, WITHDRAWN));
    assert_int_equal(n.asked, n.open + n.answered + n.given_up);
    assert_int_equal(n.charged, charged(m));
    assert_int_equal(n.budget_left, budget_left(m));
    assert_int_equal(n.round_asked, placed(m, 0) + placed(m, 1));
    assert_int_equal(n.round_answered, answered_now);
}

/* ---- what can happen ------------------------------------------------------------------------ */

static void offer(struct model *m)
{
    struct fis_error e;
    struct fis_candidate c;
    uint32_t i = fis_rng_below(&m->rng, N);
    enum mine before = m->r[i].state;
    if (before == NOWHERE) /* the record may have been changed since it was last seen */
        for (uint32_t j = 0; j < D; j++)
            m->r[i].x[j] = (float)fis_rng_below(&m->rng, 100);
    candidate(m, i, &c);
    int kept = fis_selector_offer(m->s, &c, &e);
    if (before == NOWHERE) {
        m->r[i].state = HELD;
        let_go_of_the_worst(m);
    }
    assert_int_equal(kept, before == NOWHERE && m->r[i].state == HELD);
}

static void ask(struct model *m)
{
    struct fis_candidate c;
    uint32_t criterion, wanted_by = 0, want = next_of(m, &wanted_by);
    int asked = fis_selector_ask(m->s, &c, &criterion);
    assert_int_equal(asked, want != N);
    assert_int_equal(fis_selector_limit(m->s) == FIS_LIMIT_NONE && !asked, 0);
    if (!asked)
        return;
    struct record *r = &m->r[want];
    assert_int_equal(record_of(&c.id), want);
    assert_int_equal(criterion, wanted_by);
    assert_memory_equal(c.x, r->x, sizeof r->x);
    r->state = OPEN;
    r->criterion = criterion;
    r->placed = 1;
    r->copied = 0; /* its request stands under the same key */
    if (m->allowance != UINT64_MAX)
        m->allowance--;
}

static void answer(struct model *m)
{
    struct fis_candidate c;
    uint32_t i = fis_rng_below(&m->rng, N), y = fis_rng_below(&m->rng, 2);
    struct fis_id id = id_of(i);
    struct record *r = &m->r[i];
    if (r->state == ANSWERED)
        assert_int_equal(fis_selector_find(m->s, &id)->class_index, r->label);
    if (r->state != OPEN && (r->state != WITHDRAWN || r->bare))
        return;
    assert_true(peek(m->s, &id, &c));
    assert_memory_equal(c.x, r->x, sizeof r->x);
    r->state = ANSWERED;
    r->label = y;
    r->answered_now = 1;
    r->placed = r->kept = fis_rng_below(&m->rng, 4) != 0;
    fis_selector_answer(m->s, fis_selector_find(m->s, &id), y, r->kept);
}

static void expire(struct model *m)
{
    uint32_t i = fis_rng_below(&m->rng, N);
    struct fis_id id = id_of(i);
    struct record *r = &m->r[i];
    bool refund = fis_rng_below(&m->rng, 2) == 0;
    enum fis_request_state how =
        (enum fis_request_state)(FIS_EXPIRED + fis_rng_below(&m->rng, FIS_TIED - FIS_EXPIRED + 1));
    if (r->state != OPEN)
        return;
    fis_selector_give_up(m->s, fis_selector_find(m->s, &id), how, refund);
    assert_int_equal(state_of(m->s, &id), how);
    r->state = WITHDRAWN;
    r->bare = 0;
    r->refunded = refund;
    r->placed = 0;
}

static void rescore_by_model(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                             float *scores)
{
    const struct model *m = arg;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t record = record_of(ids[i]);
        assert_memory_equal(x + i * D, m->r[record].x, sizeof m->r[record].x);
        for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
            scores[i * FIS_MAX_CRITERIA + k] = score(m->head, record, k);
    }
}

static void new_head(struct model *m)
{
    struct fis_error e;
    m->head++;
    assert_int_equal(fis_selector_rescore(m->s, rescore_by_model, m, &e), 0);
    let_go_of_the_worst(m);
}

static void new_round(struct model *m)
{
    fis_selector_round_begin(m->s, ++m->round);
    for (uint32_t i = 0; i < N; i++)
        m->r[i].placed = m->r[i].answered_now = 0;
}

static void allow(struct model *m)
{
    m->allowance = fis_rng_below(&m->rng, 3) ? UINT64_MAX : fis_rng_below(&m->rng, 4);
    fis_selector_set_allowance(m->s, m->allowance);
}

/* ---- the copy ------------------------------------------------------------------------------- */

static void copy_gone(void *arg, const struct fis_id *id)
{
    struct model *m = arg;
    struct record *r = &m->r[record_of(id)];
    assert_true(m->last_told < 2); /* gone first */
    assert_true(r->copied);        /* nothing is taken away that was not told */
    m->last_told = 1;
    r->copied = 0;
}

static void copy_held(void *arg, const struct fis_candidate *c)
{
    struct model *m = arg;
    struct record *r = &m->r[record_of(&c->id)];
    assert_memory_equal(c->x, r->x, sizeof r->x);
    assert_true(c->payload_length > 0);
    m->last_told = 2;
    r->copied = 1;
}

static void flush(struct model *m)
{
    int said = fis_selector_changed(m->s);
    m->last_told = 0;
    fis_selector_changes(m->s, copy_gone, copy_held, m);
    assert_int_equal(m->last_told > 0, said);
    assert_false(fis_selector_changed(m->s));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(m->r[i].copied, m->r[i].state == HELD);
}

static void restore_one(struct model *m, struct fis_selector *s, uint32_t i)
{
    struct fis_error e;
    struct fis_candidate c;
    struct record *r = &m->r[i];
    candidate(m, i, &c);
    c.scores[0] = c.scores[1] = FIS_NOT_A_CANDIDATE;
    uint32_t round = m->round - !(r->state == OPEN ? r->placed : r->answered_now);
    enum fis_request_state ends[] = {[OPEN] = FIS_OPEN,
                                     [ANSWERED] = r->kept ? FIS_ACCEPTED : FIS_SET_ASIDE,
                                     [WITHDRAWN] = FIS_EXPIRED};
    if (r->state == HELD)
        assert_int_equal(fis_selector_restore_held(s, &c, &e), 0);
    if (r->state == NOWHERE || r->state == HELD)
        return;
    c.x = r->bare && r->state == WITHDRAWN ? NULL : c.x;
    r->restored = true;
    assert_int_equal(
        restore_as(s, &c, r->criterion, ends[r->state], round, r->label, r->refunded != 0, &e), 0);
}

/* What was not copied is lost, as it is for a process that dies: so it copies first. */
static void restart(struct model *m)
{
    struct fis_error e;
    uint32_t order[N];
    flush(m);
    struct fis_selector *s = fresh(m);
    for (uint32_t i = 0; i < N; i++)
        order[i] = i;
    fis_rng_shuffle(&m->rng, order, N);
    for (uint32_t i = 0; i < N; i++) {
        m->r[order[i]].bare |= fis_rng_below(&m->rng, 4) == 0;
        restore_one(m, s, order[i]);
        if (i % 3 == 0)
            restore_one(m, s, order[i]); /* told twice is told once */
    }
    fis_selector_free(m->s);
    m->s = s;
    assert_false(fis_selector_changed(s));
    assert_int_equal(fis_selector_counts(s).held, count(m, HELD));
    assert_int_equal(fis_selector_rescore(s, rescore_by_model, m, &e), 0);
    assert_false(fis_selector_changed(s)); /* all that was held is good enough still */
}

static void step(struct model *m)
{
    uint32_t n = fis_rng_below(&m->rng, 100);
    if (n < 45)
        offer(m);
    else if (n < 60)
        ask(m);
    else if (n < 75)
        answer(m);
    else if (n < 82)
        expire(m);
    else if (n < 86)
        new_head(m);
    else if (n < 90)
        new_round(m);
    else if (n < 92)
        allow(m);
    else if (n < 97)
        flush(m);
    else
        restart(m);
}

static void everything_follows_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct model m = {
            .budget = 10 + seed, .allowance = UINT64_MAX, .head = (uint32_t)seed, .round = 1};
        fis_rng_seed(&m.rng, seed, 3);
        m.s = fresh(&m);
        for (uint32_t i = 0; i < 600; i++) {
            step(&m);
            compare(&m);
        }
        fis_selector_free(m.s);
    }
}

/* ---- cases by hand -------------------------------------------------------------------------- */

static void make_held(struct model *m, uint64_t budget, uint32_t n)
{
    struct fis_error e;
    *m = (struct model){.budget = budget, .allowance = UINT64_MAX};
    m->s = fresh(m);
    for (uint32_t i = 0; i < n; i++) {
        struct fis_candidate c;
        candidate(m, i, &c);
        c.scores[0] = c.scores[1] = 1;
        assert_int_equal(fis_selector_offer(m->s, &c, &e), 1);
    }
}

static struct fis_id ask_one(struct fis_selector *s)
{
    struct fis_candidate c;
    uint32_t criterion;
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    return c.id;
}

static void late_answers_are_charged_once(void **state)
{
    (void)state;
    struct model m;
    struct fis_candidate c;
    make_held(&m, 2, 8);
    struct fis_id refunded = ask_one(m.s), charged_id = ask_one(m.s);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_BUDGET);
    give_up_id(m.s, &refunded, true);
    give_up_id(m.s, &charged_id, false);
    assert_int_equal(fis_selector_counts(m.s).budget_left, 1);
    assert_int_equal(fis_selector_counts(m.s).charged, 1);
    struct fis_id other = ask_one(m.s);
    assert_int_equal(fis_selector_counts(m.s).budget_left, 0);
    /* The late answers: one is paid for already, the other goes over the budget. */
    assert_true(peek(m.s, &charged_id, &c));
    assert_null(c.payload);
    answer_id(m.s, &charged_id, 1);
    assert_int_equal(fis_selector_counts(m.s).charged, 1);
    answer_id(m.s, &refunded, 1);
    answer_id(m.s, &other, 1);
    struct fis_selector_counts n = fis_selector_counts(m.s);
    assert_int_equal(n.charged, 3);
    assert_int_equal(n.answered, 3);
    assert_int_equal(n.given_up, 0);
    assert_int_equal(n.budget_left, 0);
    fis_selector_free(m.s);
}

static void the_allowance_limits_what_is_asked_from_now_on(void **state)
{
    (void)state;
    struct model m;
    struct fis_candidate c;
    uint32_t criterion;
    make_held(&m, 100, 8);
    fis_selector_set_allowance(m.s, 1);
    struct fis_id id = ask_one(m.s);
    give_up_id(m.s, &id, true); /* an allowance does not come back */
    assert_int_equal(fis_selector_ask(m.s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_ALLOWANCE);
    fis_selector_set_allowance(m.s, UINT64_MAX);
    (void)ask_one(m.s);
    fis_selector_free(m.s);
}

static void nothing_restored_is_asked_before_it_is_scored(void **state)
{
    (void)state;
    struct model m = {.budget = 9, .allowance = UINT64_MAX};
    struct fis_error e;
    struct fis_candidate c;
    uint32_t criterion;
    m.s = fresh(&m);
    candidate(&m, 0, &c);
    assert_int_equal(fis_selector_restore_held(m.s, &c, &e), 0);
    assert_int_equal(fis_selector_counts(m.s).held, 1);
    assert_int_equal(fis_selector_ask(m.s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_EMPTY);
    candidate(&m, 0, &c);
    assert_int_equal(restore_as(m.s, &c, 5, FIS_OPEN, 0, 0, false, &e), -FIS_INPUT);
    assert_int_equal(restore_as(m.s, &c, 5, FIS_CANCELLED, 0, 0, true, &e), -FIS_INPUT);
    assert_int_equal(fis_selector_counts(m.s).held, 1);
    fis_selector_free(m.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_follows_the_model),
        cmocka_unit_test(late_answers_are_charged_once),
        cmocka_unit_test(the_allowance_limits_what_is_asked_from_now_on),
        cmocka_unit_test(nothing_restored_is_asked_before_it_is_scored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

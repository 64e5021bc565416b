/*
 * The life of requests, against a model that keeps everything in plain arrays and works out the
 * heaps from the start each time by counting who is better: random sequences of all that can
 * happen, with a copy kept by what fis_selector_changes tells, and restarts from that copy in
 * between.
 */
#include "kit/core/selector_model.h"

static uint32_t model_record(const struct fis_id *id)
{
    unsigned n;
    char name[16] = {0};
    memcpy(name, id->bytes, id->length);
    assert_int_equal(sscanf(name, "rec-%u", &n), 1);
    return n;
}

/* ---- the model ------------------------------------------------------------------------------ */
static int better(const struct selector_model *m, uint32_t a, uint32_t b, uint32_t criterion)
{
    float x = model_score(m->head, a, criterion), y = model_score(m->head, b, criterion);
    struct fis_id ia = model_id(a), ib = model_id(b);
    return x > y || (x == y && fis_id_compare(&ia, &ib) < 0);
}

/* How many of those held come before record i; UINT32_MAX: it is no candidate. */
static uint32_t rank(const struct selector_model *m, uint32_t i, uint32_t criterion)
{
    uint32_t n = 0;
    if (model_score(m->head, i, criterion) <= FIS_NOT_A_CANDIDATE)
        return UINT32_MAX;
    for (uint32_t j = 0; j < MODEL_RECORDS; j++)
        n += m->r[j].state == HELD && j != i && better(m, j, i, criterion);
    return n;
}

static int in_heap(const struct selector_model *m, uint32_t i, uint32_t criterion)
{
    return m->r[i].state == HELD && rank(m, i, criterion) < MODEL_HEAP;
}

static void let_go_of_the_worst(struct selector_model *m)
{
    int out[MODEL_RECORDS];
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        out[i] = m->r[i].state == HELD && !in_heap(m, i, 0) && !in_heap(m, i, 1);
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        if (out[i])
            m->r[i].state = NOWHERE;
}

static uint32_t count(const struct selector_model *m, enum model_state state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        n += m->r[i].state == state;
    return n;
}

static uint64_t charged(const struct selector_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        n += m->r[i].state == ANSWERED || (m->r[i].state == WITHDRAWN && !m->r[i].refunded);
    return n;
}

static uint64_t budget_left(const struct selector_model *m)
{
    uint64_t used = charged(m) + count(m, OPEN);
    return used < m->budget ? m->budget - used : 0;
}

/* Which record is next, and by which criterion; N: none. */
static uint32_t next_of(const struct selector_model *m, uint32_t *criterion)
{
    uint32_t best[2] = {MODEL_RECORDS, MODEL_RECORDS};
    if (budget_left(m) == 0 || m->allowance == 0 || count(m, OPEN) >= MODEL_FLIGHT ||
        model_placed(m, 0) + model_placed(m, 1) >= MODEL_LABELS)
        return MODEL_RECORDS;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < MODEL_RECORDS; i++)
            if (in_heap(m, i, k) && (best[k] == MODEL_RECORDS || better(m, i, best[k], k)))
                best[k] = i;
    *criterion = best[0] == MODEL_RECORDS ||
                 (best[1] != MODEL_RECORDS && model_placed(m, 1) < model_placed(m, 0));
    return best[*criterion];
}

static void compare(const struct selector_model *m)
{
    static const enum request_count shown[] = {
        [NOWHERE] = COUNT_NONE,      [HELD] = COUNT_HELD,          [OPEN] = COUNT_OPEN,
        [ANSWERED] = COUNT_ANSWERED, [WITHDRAWN] = COUNT_GIVEN_UP,
    };
    struct fis_selector_counts n = fis_selector_counts(m->s);
    uint32_t answered_now = 0;
    for (uint32_t i = 0; i < MODEL_RECORDS; i++) {
        struct fis_id id = model_id(i);
        struct fis_candidate c;
        const struct model_record *r = &m->r[i];
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
    assert_int_equal(n.round_asked, model_placed(m, 0) + model_placed(m, 1));
    assert_int_equal(n.round_answered, answered_now);
}

/* ---- what can happen ------------------------------------------------------------------------ */
static void offer(struct selector_model *m)
{
    struct fis_error e;
    struct fis_candidate c;
    uint32_t i = fis_rng_below(&m->rng, MODEL_RECORDS);
    enum model_state before = m->r[i].state;
    if (before == NOWHERE) /* the record may have been changed since it was last seen */
        for (uint32_t j = 0; j < MODEL_D; j++)
            m->r[i].x[j] = (float)fis_rng_below(&m->rng, 100);
    model_candidate(m, i, &c);
    int kept = fis_selector_offer(m->s, &c, &e);
    if (before == NOWHERE) {
        m->r[i].state = HELD;
        let_go_of_the_worst(m);
    }
    assert_int_equal(kept, before == NOWHERE && m->r[i].state == HELD);
}

static void ask(struct selector_model *m)
{
    struct fis_candidate c;
    uint32_t criterion, next_by = 0, want = next_of(m, &next_by);
    int asked = fis_selector_ask(m->s, &c, &criterion);
    assert_int_equal(asked, want != MODEL_RECORDS);
    assert_int_equal(fis_selector_limit(m->s) == FIS_LIMIT_NONE && !asked, 0);
    if (!asked)
        return;
    struct model_record *r = &m->r[want];
    assert_int_equal(model_record(&c.id), want);
    assert_int_equal(criterion, next_by);
    assert_memory_equal(c.x, r->x, sizeof r->x);
    r->state = OPEN;
    r->criterion = criterion;
    r->placed = 1;
    r->copied = 0; /* its request stands under the same key */
    if (m->allowance != UINT64_MAX)
        m->allowance--;
}

static void answer(struct selector_model *m)
{
    struct fis_candidate c;
    uint32_t i = fis_rng_below(&m->rng, MODEL_RECORDS), y = fis_rng_below(&m->rng, 2);
    struct fis_id id = model_id(i);
    struct model_record *r = &m->r[i];
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

static void expire(struct selector_model *m)
{
    uint32_t i = fis_rng_below(&m->rng, MODEL_RECORDS);
    struct fis_id id = model_id(i);
    struct model_record *r = &m->r[i];
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
    const struct selector_model *m = arg;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t record = model_record(ids[i]);
        assert_memory_equal(x + i * MODEL_D, m->r[record].x, sizeof m->r[record].x);
        for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
            scores[i * FIS_MAX_CRITERIA + k] = model_score(m->head, record, k);
    }
}

static void new_head(struct selector_model *m)
{
    struct fis_error e;
    m->head++;
    assert_int_equal(fis_selector_rescore(m->s, rescore_by_model, m, &e), 0);
    let_go_of_the_worst(m);
}

static void new_round(struct selector_model *m)
{
    fis_selector_round_begin(m->s, ++m->round);
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        m->r[i].placed = m->r[i].answered_now = 0;
}

static void allow(struct selector_model *m)
{
    m->allowance = fis_rng_below(&m->rng, 3) ? UINT64_MAX : fis_rng_below(&m->rng, 4);
    fis_selector_set_allowance(m->s, m->allowance);
}

/* ---- the copy ------------------------------------------------------------------------------- */
static void copy_gone(void *arg, const struct fis_id *id)
{
    struct selector_model *m = arg;
    struct model_record *r = &m->r[model_record(id)];
    assert_true(m->last_reported < 2); /* gone first */
    assert_true(r->copied);            /* nothing is taken away that was not reported */
    m->last_reported = 1;
    r->copied = 0;
}

static void copy_held(void *arg, const struct fis_candidate *c)
{
    struct selector_model *m = arg;
    struct model_record *r = &m->r[model_record(&c->id)];
    assert_memory_equal(c->x, r->x, sizeof r->x);
    assert_true(c->payload_length > 0);
    m->last_reported = 2;
    r->copied = 1;
}

static void flush(struct selector_model *m)
{
    int changed = fis_selector_changed(m->s);
    m->last_reported = 0;
    fis_selector_changes(m->s, copy_gone, copy_held, m);
    assert_int_equal(m->last_reported > 0, changed);
    assert_false(fis_selector_changed(m->s));
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        assert_int_equal(m->r[i].copied, m->r[i].state == HELD);
}

static void restore_one(struct selector_model *m, struct fis_selector *s, uint32_t i)
{
    struct fis_error e;
    struct fis_candidate c;
    struct model_record *r = &m->r[i];
    model_candidate(m, i, &c);
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
static void restart(struct selector_model *m)
{
    struct fis_error e;
    uint32_t order[MODEL_RECORDS];
    flush(m);
    struct fis_selector *s = model_selector(m);
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        order[i] = i;
    fis_rng_shuffle(&m->rng, order, MODEL_RECORDS);
    for (uint32_t i = 0; i < MODEL_RECORDS; i++) {
        m->r[order[i]].bare |= fis_rng_below(&m->rng, 4) == 0;
        restore_one(m, s, order[i]);
        if (i % 3 == 0)
            restore_one(m, s, order[i]); /* reported twice is as once */
    }
    fis_selector_free(m->s);
    m->s = s;
    assert_false(fis_selector_changed(s));
    assert_int_equal(fis_selector_counts(s).held, count(m, HELD));
    assert_int_equal(fis_selector_rescore(s, rescore_by_model, m, &e), 0);
    assert_false(fis_selector_changed(s)); /* all that was held is good enough still */
}

static void step(struct selector_model *m)
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
        struct selector_model m = {
            .budget = 10 + seed, .allowance = UINT64_MAX, .head = (uint32_t)seed, .round = 1};
        fis_rng_seed(&m.rng, seed, 3);
        m.s = model_selector(&m);
        for (uint32_t i = 0; i < 600; i++) {
            step(&m);
            compare(&m);
        }
        fis_selector_free(m.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_follows_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

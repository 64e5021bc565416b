/* The scorer machine: what it offers, and when it lets offsets be committed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "role/scorer.h"

#define RECORDS 2000
#define R 20

struct fake {
    struct scorer *machine;
    struct scoring_batch *batch[SCORER_MAX_SLOTS];
    uint64_t scoring; /* bit per slot that was asked to be scored */
    unsigned char offered[RECORDS];
    uint32_t sent[SCORER_MAX_SLOTS]; /* not acknowledged */
    uint32_t progress_records, refused;
    int released[64], committed[64], n_released;
};

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static void on_score(void *ctx, uint32_t slot)
{
    ((struct fake *)ctx)->scoring |= 1u << slot;
}

static void on_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct fake *f = ctx;
    f->offered[number_of(&f->batch[slot]->records[i].id)] = 1;
    f->sent[slot]++;
}

static void on_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct fake *f = ctx;
    (void)i;
    f->refused++;
    f->sent[slot]++;
}

static void on_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct fake *f = ctx;
    f->progress_records += (uint32_t)p->records;
    f->sent[slot]++;
}

static void on_release(void *ctx, uint32_t slot, int commit)
{
    struct fake *f = ctx;
    f->released[f->n_released] = (int)slot;
    f->committed[f->n_released++] = commit;
}

static void open_fake(struct fake *f, enum fis_algorithm a, uint32_t slots)
{
    struct scorer_options o = {
        .criteria = {.algorithm = a}, .heap = R, .slots = slots, .name = "t"};
    struct scorer_out out = {f, on_score, on_offer, on_refuse, on_progress, on_release};
    memset(f, 0, sizeof *f);
    f->machine = scorer_new(&o, &out, NULL);
    assert_non_null(f->machine);
}

static void close_fake(struct fake *f)
{
    scorer_free(f->machine);
}

/* A batch as scoring_run leaves it, with storage of its own. */
struct made {
    struct scoring_batch b;
    enum wire_decoded status[RECORDS];
    struct wire_record records[RECORDS];
    struct fis_error errors[RECORDS];
    uint32_t row[RECORDS];
    float scores[RECORDS][FIS_MAX_CRITERIA];
};

static void make_batch(struct made *m, uint64_t head)
{
    memset(m, 0, sizeof *m);
    m->b.status = m->status;
    m->b.records = m->records;
    m->b.errors = m->errors;
    m->b.row = m->row;
    m->b.scores = &m->scores[0][0];
    m->b.head_version = head;
}

static void add(struct made *m, uint32_t number, float a, float b)
{
    char text[16];
    int n = snprintf(text, sizeof text, "r%u", number);
    uint32_t i = m->b.n++;
    assert_int_equal(fis_id_set(&m->records[i].id, text, (size_t)n), 0);
    m->status[i] = WIRE_OK;
    m->row[i] = m->b.rows++;
    m->scores[i][0] = a;
    m->scores[i][1] = b;
}

static void add_bad(struct made *m, enum wire_decoded status)
{
    m->status[m->b.n++] = status;
}

static void ack_all(struct fake *f, uint32_t slot)
{
    while (f->sent[slot]) {
        f->sent[slot]--;
        scorer_acked(f->machine, slot);
    }
}

static void run_batch(struct fake *f, struct made *m)
{
    int slot = scorer_free_slot(f->machine);
    assert_true(slot >= 0);
    f->batch[slot] = &m->b;
    scorer_batch(f->machine, (uint32_t)slot);
    scorer_scored(f->machine, (uint32_t)slot, &m->b);
    ack_all(f, (uint32_t)slot);
}

/* Scores of the whole population; every fifth is no EKG candidate, and ties are many. */
static float population[RECORDS][2];

static void make_population(uint64_t seed)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    for (int i = 0; i < RECORDS; i++) {
        population[i][0] = i % 5 ? (float)fis_rng_below(&rng, 40) : FIS_NOT_A_CANDIDATE;
        population[i][1] = (float)fis_rng_below(&rng, 300);
    }
}

static int in_best(uint32_t number, int criterion)
{
    char text[16];
    struct fis_id id, other;
    uint32_t better = 0;
    fis_id_set(&id, text, (size_t)snprintf(text, sizeof text, "r%u", number));
    if (population[number][criterion] == FIS_NOT_A_CANDIDATE)
        return 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        fis_id_set(&other, text, (size_t)snprintf(text, sizeof text, "r%u", i));
        if (population[i][criterion] > population[number][criterion] ||
            (population[i][criterion] == population[number][criterion] &&
             fis_id_compare(&other, &id) < 0))
            better++;
    }
    return better < R;
}

static void test_offers_hold_the_best_of_all(void **state)
{
    (void)state;
    static struct made m;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint32_t n_scorers = (uint32_t)(1 + seed % 3), order[RECORDS];
        struct fake fakes[3];
        struct fis_rng rng;
        make_population(seed);
        fis_rng_seed(&rng, seed, 1);
        for (uint32_t i = 0; i < RECORDS; i++)
            order[i] = i;
        fis_rng_shuffle(&rng, order, RECORDS);
        for (uint32_t s = 0; s < n_scorers; s++) {
            open_fake(&fakes[s], FIS_ALGORITHM_FIS_PLUS, 2);
            scorer_head(fakes[s].machine, 1);
        }
        for (uint32_t at = 0; at < RECORDS;) {
            struct fake *f = &fakes[fis_rng_below(&rng, n_scorers)];
            uint32_t n = 1 + fis_rng_below(&rng, 97);
            make_batch(&m, 1);
            for (; n && at < RECORDS; n--, at++)
                add(&m, order[at], population[order[at]][0], population[order[at]][1]);
            run_batch(f, &m);
        }
        uint32_t offered = 0;
        for (uint32_t i = 0; i < RECORDS; i++) {
            int any = 0;
            for (uint32_t s = 0; s < n_scorers; s++)
                any |= fakes[s].offered[i];
            offered += (uint32_t)any;
            if (in_best(i, 0) || in_best(i, 1))
                assert_true(any);
        }
        assert_true(offered < RECORDS / 2); /* and thresholds do hold most of them back */
        for (uint32_t s = 0; s < n_scorers; s++)
            close_fake(&fakes[s]);
    }
}

static void test_nothing_is_committed_before_its_acknowledgements(void **state)
{
    (void)state;
    static struct made a, b;
    struct fake f;
    open_fake(&f, FIS_ALGORITHM_ENTROPY, 2);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* no head yet */
    scorer_head(f.machine, 1);
    make_batch(&a, 1);
    add(&a, 1, 1.0f, 0);
    add_bad(&a, WIRE_BAD);
    add_bad(&a, WIRE_TOMBSTONE);
    make_batch(&b, 1);
    add(&b, 2, 2.0f, 0);
    f.batch[0] = &a.b;
    f.batch[1] = &b.b;
    scorer_batch(f.machine, 0);
    scorer_batch(f.machine, 1);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* two in flight: the consumer waits */
    assert_int_equal(f.scoring, 3);
    scorer_scored(f.machine, 1, &b.b);
    scorer_scored(f.machine, 0, &a.b);
    assert_int_equal(f.sent[0], 2); /* a candidate and a dead letter; progress comes later */
    ack_all(&f, 1);
    assert_int_equal(f.n_released, 0); /* the older batch is not through */
    scorer_acked(f.machine, 0);
    f.sent[0]--;
    assert_int_equal(f.n_released, 0);
    ack_all(&f, 0);
    assert_int_equal(f.n_released, 2);
    assert_int_equal(f.released[0], 0);
    assert_int_equal(f.released[1], 1);
    assert_true(f.committed[0] && f.committed[1]);
    assert_int_equal(f.progress_records, 2);
    assert_int_equal(f.refused, 1);
    assert_int_equal(scorer_counts(f.machine)->tombstones, 1);
    assert_true(scorer_idle(f.machine));
    close_fake(&f);
}

static void test_what_was_taken_away_is_not_committed(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    open_fake(&f, FIS_ALGORITHM_ENTROPY, 1);
    scorer_head(f.machine, 1);
    make_batch(&a, 1);
    add(&a, 1, 1.0f, 0);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0);
    scorer_revoked(f.machine);
    scorer_scored(f.machine, 0, &a.b);
    ack_all(&f, 0);
    assert_int_equal(f.n_released, 1);
    assert_false(f.committed[0]);
    run_batch(&f, &a); /* the next batch is committed again */
    assert_true(f.committed[1]);
    close_fake(&f);
}

static void test_a_new_head_drops_thresholds_and_old_scores(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    open_fake(&f, FIS_ALGORITHM_ENTROPY, 1);
    scorer_head(f.machine, 1);
    make_batch(&a, 1);
    for (uint32_t i = 0; i < R; i++)
        add(&a, i, 10.0f, 0);
    run_batch(&f, &a);
    make_batch(&a, 1);
    add(&a, 100, 1.0f, 0);
    run_batch(&f, &a);
    assert_false(f.offered[100]); /* worse than the R that are held */

    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0);
    f.scoring = 0;
    scorer_head(f.machine, 2);
    scorer_scored(f.machine, 0, &a.b); /* under head 1: stale */
    assert_int_equal(f.scoring, 1);
    assert_int_equal(f.sent[0], 0);
    a.b.head_version = 2;
    scorer_scored(f.machine, 0, &a.b);
    assert_true(f.offered[100]);
    ack_all(&f, 0);
    close_fake(&f);
}

static void test_one_id_takes_one_place(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    open_fake(&f, FIS_ALGORITHM_ENTROPY, 1);
    scorer_head(f.machine, 1);
    make_batch(&a, 1);
    for (uint32_t i = 0; i < 3 * R; i++)
        add(&a, 7, 10.0f, 0); /* the same record again and again */
    add(&a, 8, 1.0f, 0);
    run_batch(&f, &a);
    assert_true(f.offered[8]);
    close_fake(&f);
}

static void test_stopping_takes_no_new_batch(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    open_fake(&f, FIS_ALGORITHM_ENTROPY, 2);
    scorer_head(f.machine, 1);
    make_batch(&a, 1);
    add(&a, 1, 1.0f, 0);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0);
    scorer_stop(f.machine);
    assert_int_equal(scorer_free_slot(f.machine), -1);
    assert_false(scorer_idle(f.machine));
    scorer_scored(f.machine, 0, &a.b);
    ack_all(&f, 0);
    assert_true(scorer_idle(f.machine));
    close_fake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers_hold_the_best_of_all),
        cmocka_unit_test(test_nothing_is_committed_before_its_acknowledgements),
        cmocka_unit_test(test_what_was_taken_away_is_not_committed),
        cmocka_unit_test(test_a_new_head_drops_thresholds_and_old_scores),
        cmocka_unit_test(test_one_id_takes_one_place),
        cmocka_unit_test(test_stopping_takes_no_new_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The scorer machine: what it offers, and when it lets offsets be committed. */
#include <math.h>
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
    uint64_t scoring;               /* bit per slot that was asked to be scored */
    float floors[FIS_MAX_CRITERIA]; /* with the last of them */
    unsigned char offered[RECORDS];
    uint32_t sent[SCORER_MAX_SLOTS]; /* not acknowledged */
    uint32_t progress_records, refused, n_progress, n_ranges;
    struct wire_range ranges[64]; /* of all progress, in order */
    int released[64], n_released;
    uint32_t n_committed[64]; /* places of each release */
    int64_t committed[4];     /* [partition] the last place */
};

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static void on_score(void *ctx, uint32_t slot, const float *floors)
{
    struct fake *f = ctx;
    f->scoring |= 1u << slot;
    memcpy(f->floors, floors, sizeof f->floors);
}

static void on_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct fake *f = ctx;
    f->offered[number_of(&f->batch[slot]->records[i]->id)] = 1;
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
    f->n_progress++;
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        assert_true(p->ranges[i].begin <= p->ranges[i].next);
        f->progress_records += (uint32_t)p->ranges[i].records;
        if (f->n_ranges < 64)
            f->ranges[f->n_ranges++] = p->ranges[i];
    }
    f->sent[slot]++;
}

static void on_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct fake *f = ctx;
    f->released[f->n_released] = (int)slot;
    f->n_committed[f->n_released++] = n;
    for (uint32_t i = 0; i < n; i++)
        f->committed[places[i].partition] = places[i].next;
}

static void new_head(struct fake *f, uint64_t version)
{
    struct wire_head head = {.version = version};
    assert_int_equal(scorer_head(f->machine, &head, NULL), 0);
}

static void open_fake(struct fake *f, const struct fis_acquisition *a, uint32_t slots)
{
    struct scorer_options o = {
        .criteria = {.acquisition = a}, .heap = R, .slots = slots, .batch = RECORDS, .name = "t"};
    struct scorer_out out = {.ctx = f,
                             .score = on_score,
                             .offer = on_offer,
                             .refuse = on_refuse,
                             .progress = on_progress,
                             .release = on_release};
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
    struct wire_message messages[RECORDS];
    enum wire_decoded status[RECORDS];
    struct wire_record record[RECORDS], *records[RECORDS];
    struct fis_error errors[RECORDS];
    uint32_t row[RECORDS];
    float scores[RECORDS][FIS_MAX_CRITERIA];
};

static void make_batch(struct made *m, uint64_t head)
{
    memset(m, 0, sizeof *m);
    m->b.messages = m->messages;
    m->b.status = m->status;
    m->b.records = m->records;
    m->b.errors = m->errors;
    m->b.row = m->row;
    m->b.scores = &m->scores[0][0];
    m->b.head_version = head;
}

/* By entropy, a head in force, and a batch with nothing in it. */
static void begin(struct fake *f, uint32_t slots, struct made *m)
{
    open_fake(f, &fis_acquisition_entropy, slots);
    new_head(f, 1);
    make_batch(m, 1);
}

static void add(struct made *m, uint32_t number, float a, float b)
{
    char text[16];
    int n = snprintf(text, sizeof text, "r%u", number);
    uint32_t i = m->b.n++;
    assert_int_equal(fis_id_set(&m->record[i].id, text, (size_t)n), 0);
    m->records[i] = &m->record[i];
    m->status[i] = WIRE_OK;
    m->row[i] = m->b.rows++;
    m->scores[i][0] = a;
    m->scores[i][1] = b;
}

static void add_bad(struct made *m, enum wire_decoded status)
{
    m->status[m->b.n++] = status;
}

/* Messages [from, n) of the batch lie in the partition, from the offset on. */
static void place(struct made *m, uint32_t from, int32_t partition, int64_t offset)
{
    for (uint32_t i = from; i < m->b.n; i++) {
        m->messages[i].partition = partition;
        m->messages[i].offset = offset + i - from;
    }
}

static void ack_all(struct fake *f, uint32_t slot)
{
    while (f->sent[slot]) {
        f->sent[slot]--;
        scorer_acked(f->machine, slot, 1);
    }
}

/* What reaches no floor need not be scored. */
static void forget_low(const struct fake *f, struct made *m)
{
    for (uint32_t i = 0; i < m->b.rows; i++)
        if (m->scores[i][0] < f->floors[0] && m->scores[i][1] < f->floors[1])
            m->scores[i][0] = m->scores[i][1] = FIS_NOT_A_CANDIDATE;
}

static void scored(struct fake *f, uint32_t slot, struct scoring_batch *b)
{
    scorer_scored(f->machine, slot, b);
    while (scorer_send(f->machine, 3) == 3)
        ;
}

static void run_batch(struct fake *f, struct made *m)
{
    int slot = scorer_free_slot(f->machine);
    assert_true(slot >= 0);
    f->batch[slot] = &m->b;
    scorer_batch(f->machine, (uint32_t)slot, &m->b);
    forget_low(f, m);
    scored(f, (uint32_t)slot, &m->b);
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
            open_fake(&fakes[s], &fis_acquisition_fis_plus, 2);
            new_head(&fakes[s], 1);
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
    open_fake(&f, &fis_acquisition_entropy, 2);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* no head yet */
    new_head(&f, 1);
    make_batch(&a, 1);
    add(&a, 1, 1.0f, 0);
    add_bad(&a, WIRE_BAD);
    add_bad(&a, WIRE_TOMBSTONE);
    make_batch(&b, 1);
    add(&b, 2, 2.0f, 0);
    f.batch[0] = &a.b;
    f.batch[1] = &b.b;
    place(&a, 0, 1, 10);
    place(&b, 0, 1, 13);
    scorer_batch(f.machine, 0, &a.b);
    scorer_batch(f.machine, 1, &b.b);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* two in flight: the consumer waits */
    assert_int_equal(f.scoring, 3);
    scored(&f, 1, &b.b);
    scored(&f, 0, &a.b);
    assert_int_equal(f.sent[0], 2); /* a candidate and a dead letter; progress comes later */
    ack_all(&f, 1);
    assert_int_equal(f.n_progress, 0); /* progress does not overtake that of the older batch */
    assert_int_equal(f.n_released, 0);
    scorer_acked(f.machine, 0, 1);
    f.sent[0]--;
    assert_int_equal(f.n_progress, 0);
    ack_all(&f, 0);
    assert_int_equal(f.n_released, 1);
    ack_all(&f, 1);
    assert_int_equal(f.n_released, 2);
    assert_int_equal(f.released[0], 0);
    assert_int_equal(f.released[1], 1);
    assert_int_equal(f.n_committed[0], 1);
    assert_int_equal(f.n_committed[1], 1);
    assert_int_equal(f.committed[1], 14);
    assert_int_equal(f.progress_records, 2);
    assert_int_equal(f.refused, 1);
    assert_int_equal(scorer_counts(f.machine)->tombstones, 1);
    assert_true(scorer_idle(f.machine));
    close_fake(&f);
}

static void test_ranges_are_told_by_partition(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    begin(&f, 1, &a);
    for (uint32_t i = 0; i < 4; i++)
        add(&a, i, 1.0f, 0);
    place(&a, 0, 2, 100);
    for (uint32_t i = 4; i < 6; i++)
        add(&a, i, 1.0f, 0);
    place(&a, 4, 0, 7);
    add_bad(&a, WIRE_BAD);
    add_bad(&a, WIRE_TOMBSTONE);
    place(&a, 6, 2, 104);
    add(&a, 8, 1.0f, 0);
    place(&a, 8, 2, 109); /* 106 .. 108 are markers, or compacted away */
    run_batch(&f, &a);
    const struct wire_range want[] = {
        {2, 100, 104, 4, 0, 0}, {0, 7, 9, 2, 0, 0}, {2, 104, 106, 0, 1, 1}, {2, 109, 110, 1, 0, 0}};
    assert_int_equal(f.n_progress, 1);
    assert_int_equal(f.n_ranges, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.ranges[i].partition, want[i].partition);
        assert_int_equal(f.ranges[i].begin, want[i].begin);
        assert_int_equal(f.ranges[i].next, want[i].next);
        assert_int_equal(f.ranges[i].records, want[i].records);
        assert_int_equal(f.ranges[i].refused, want[i].refused);
        assert_int_equal(f.ranges[i].tombstones, want[i].tombstones);
    }
    assert_int_equal(f.committed[0], 9);
    assert_int_equal(f.committed[2], 110);
    close_fake(&f);
}

static void test_a_topic_full_of_gaps_is_told_in_few_ranges(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    begin(&f, 1, &a);
    for (uint32_t i = 0; i < RECORDS; i++) {
        add(&a, i, 1.0f, 0);
        a.messages[i].offset = 2 * i;
    }
    assert_true(RECORDS > SCORER_MAX_RANGES);
    run_batch(&f, &a);
    assert_int_equal(f.n_ranges, 64); /* and more: what the fake has room for */
    assert_int_equal(f.progress_records, RECORDS);
    assert_int_equal(f.committed[0], 2 * RECORDS - 1);
    close_fake(&f);
}

static void test_what_was_taken_away_is_not_committed(void **state)
{
    (void)state;
    static struct made a;
    const int32_t taken[] = {1, 3};
    struct fake f;
    begin(&f, 1, &a);
    add(&a, 1, 1.0f, 0);
    place(&a, 0, 1, 50);
    add(&a, 2, 1.0f, 0);
    place(&a, 1, 2, 60);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_revoked(f.machine, taken, 2);
    scored(&f, 0, &a.b);
    ack_all(&f, 0);
    assert_int_equal(f.n_released, 1);
    assert_int_equal(f.n_committed[0], 1); /* what was not taken away */
    assert_int_equal(f.committed[1], 0);
    assert_int_equal(f.committed[2], 61);
    assert_int_equal(f.progress_records, 2); /* and what was handled was handled */
    run_batch(&f, &a);                       /* it came back: the next batch is committed again */
    assert_int_equal(f.committed[1], 51);
    close_fake(&f);
}

static void test_a_batch_over_two_assignments_is_committed_by_the_newer(void **state)
{
    (void)state;
    static struct made a;
    const int32_t taken[] = {1};
    struct fake f;
    begin(&f, 1, &a);
    for (uint32_t i = 0; i < 30; i++)
        add(&a, i, 1.0f, 0);
    place(&a, 0, 1, 50);
    f.batch[0] = &a.b;
    scorer_reading(f.machine, 0, &a.b);
    scorer_revoked(f.machine, taken, 1);
    for (uint32_t i = 30; i < 40; i++)
        add(&a, i, 1.0f, 0);
    place(&a, 30, 1, 40); /* given back, and what was in flight is read again */
    scorer_batch(f.machine, 0, &a.b);
    scored(&f, 0, &a.b);
    ack_all(&f, 0);
    assert_int_equal(f.n_committed[0], 1);
    assert_int_equal(f.committed[1], 50); /* and not 80 */
    assert_int_equal(f.n_ranges, 2);
    assert_int_equal(f.ranges[1].begin, 40);
    assert_int_equal(f.ranges[1].next, 50);
    close_fake(&f);
}

static void test_what_begins_anew_says_so_once(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    open_fake(&f, &fis_acquisition_entropy, 1);
    new_head(&f, 1);
    assert_int_equal(scorer_reset(f.machine, 1, 3000, 2000, 0, NULL), 0);
    assert_int_equal(scorer_reset(f.machine, 2, 0, 0, 1, NULL), 0);
    assert_int_equal(scorer_counts(f.machine)->lost, 2000);
    for (int64_t at = 0; at < 2; at++) {
        make_batch(&a, 1);
        add(&a, 1, 1.0f, 0);
        place(&a, 0, 1, 3000 + at);
        add(&a, 2, 1.0f, 0);
        place(&a, 1, 2, at);
        run_batch(&f, &a);
    }
    assert_int_equal(f.n_ranges, 5);
    assert_int_equal(f.ranges[0].begin, 3000);
    assert_int_equal(f.ranges[0].records, 1);
    assert_int_equal(f.ranges[1].partition, 2);
    assert_int_equal(f.ranges[1].next, 0); /* a range of nothing, before the first of it */
    assert_int_equal(f.ranges[2].records, 1);
    assert_int_equal(f.ranges[4].begin, 1);
    close_fake(&f);
}

static void test_a_partition_that_goes_takes_its_beginning_along(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    int32_t gone = 2;
    open_fake(&f, &fis_acquisition_entropy, 1);
    new_head(&f, 1);
    assert_int_equal(scorer_reset(f.machine, 2, 0, 0, 1, NULL), 0);
    scorer_revoked(f.machine, &gone, 1);
    make_batch(&a, 1);
    add(&a, 1, 1.0f, 0);
    place(&a, 0, 2, 500); /* it came back, and others had read on */
    run_batch(&f, &a);
    assert_int_equal(f.n_ranges, 1);
    assert_int_equal(f.ranges[0].begin, 500);
    close_fake(&f);
}

static void test_a_new_head_drops_thresholds_and_old_scores(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    begin(&f, 1, &a);
    for (uint32_t i = 0; i < R; i++)
        add(&a, i, 10.0f, 0);
    run_batch(&f, &a);
    make_batch(&a, 1);
    add(&a, 100, 1.0f, 0);
    run_batch(&f, &a);
    assert_false(f.offered[100]); /* worse than the R that are held */

    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    assert_true(f.floors[0] == 10.0f && isinf(f.floors[1])); /* there is one criterion */
    for (int again = 0; again < 2; again++) { /* the same head once more has new thresholds too */
        f.scoring = 0;
        new_head(&f, 2);
        scored(&f, 0, &a.b); /* by the thresholds of before: stale */
        assert_int_equal(f.scoring, 1);
        assert_true(f.floors[0] == FIS_NOT_A_CANDIDATE);
        assert_int_equal(f.sent[0], 0);
        a.b.head_version = 2;
        a.scores[0][0] = 1.0f;
    }
    scored(&f, 0, &a.b);
    assert_true(f.offered[100]);
    ack_all(&f, 0);
    close_fake(&f);
}

static void test_what_better_ones_of_its_batch_push_out_is_not_offered(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    begin(&f, 1, &a);
    for (uint32_t i = 0; i < 3 * R; i++)
        add(&a, i, (float)i, 0); /* each better than all before it */
    run_batch(&f, &a);
    for (uint32_t i = 0; i < 3 * R; i++)
        assert_int_equal(f.offered[i], i >= 2 * R);
    assert_int_equal(scorer_counts(f.machine)->offered, R);
    close_fake(&f);
}

static void test_what_comes_of_batches_goes_out_by_pieces(void **state)
{
    (void)state;
    static struct made a, b;
    struct fake f;
    begin(&f, 2, &a);
    make_batch(&b, 1);
    for (uint32_t i = 0; i < 5; i++) {
        add(&a, i, 1.0f, 0);
        add(&b, 10 + i, 2.0f, 0);
    }
    add_bad(&b, WIRE_BAD);
    f.batch[0] = &a.b;
    f.batch[1] = &b.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_batch(f.machine, 1, &b.b);
    scorer_scored(f.machine, 1, &b.b);
    scorer_scored(f.machine, 0, &a.b);
    assert_int_equal(f.sent[0] + f.sent[1], 0);
    assert_int_equal(scorer_send(f.machine, 4), 4);
    assert_int_equal(f.sent[1], 4); /* what raised the thresholds first */
    new_head(&f, 2);
    scorer_acked(f.machine, 1, 1);
    f.sent[1]--;
    assert_int_equal(scorer_send(f.machine, 4), 4);
    assert_int_equal(f.sent[1], 5);
    assert_int_equal(f.sent[0], 2);
    ack_all(&f, 1); /* and that of the older batch is still going out */
    ack_all(&f, 0);
    assert_int_equal(f.n_progress, 0);
    assert_int_equal(scorer_send(f.machine, 4), 3);
    assert_int_equal(f.n_progress, 2);
    assert_int_equal(scorer_send(f.machine, 4), 0);
    assert_int_equal(f.n_released, 0);
    ack_all(&f, 0);
    ack_all(&f, 1);
    assert_int_equal(f.n_released, 2);
    assert_true(scorer_idle(f.machine));
    for (uint32_t i = 0; i < 5; i++)
        assert_true(f.offered[i] && f.offered[10 + i]);
    close_fake(&f);
}

static void test_one_id_takes_one_place(void **state)
{
    (void)state;
    static struct made a;
    struct fake f;
    begin(&f, 1, &a);
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
    begin(&f, 2, &a);
    add(&a, 1, 1.0f, 0);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_stop(f.machine);
    assert_int_equal(scorer_free_slot(f.machine), -1);
    assert_false(scorer_idle(f.machine));
    scored(&f, 0, &a.b);
    ack_all(&f, 0);
    assert_true(scorer_idle(f.machine));
    close_fake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers_hold_the_best_of_all),
        cmocka_unit_test(test_nothing_is_committed_before_its_acknowledgements),
        cmocka_unit_test(test_ranges_are_told_by_partition),
        cmocka_unit_test(test_a_topic_full_of_gaps_is_told_in_few_ranges),
        cmocka_unit_test(test_what_was_taken_away_is_not_committed),
        cmocka_unit_test(test_a_batch_over_two_assignments_is_committed_by_the_newer),
        cmocka_unit_test(test_what_begins_anew_says_so_once),
        cmocka_unit_test(test_a_partition_that_goes_takes_its_beginning_along),
        cmocka_unit_test(test_a_new_head_drops_thresholds_and_old_scores),
        cmocka_unit_test(test_what_better_ones_of_its_batch_push_out_is_not_offered),
        cmocka_unit_test(test_what_comes_of_batches_goes_out_by_pieces),
        cmocka_unit_test(test_one_id_takes_one_place),
        cmocka_unit_test(test_stopping_takes_no_new_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

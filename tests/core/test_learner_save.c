/*
 * A learner that was saved, recreated and loaded goes on as the one that was not: whatever is done
 * to both afterwards, they save the same bytes.
 */
#include <math.h>
#include "kit/cmocka.h"

#include "fis/mem.h"
#include "fis/learner.h"
#include "kit/core/biased_rows.h"

#define ROUNDS 4u
#define PARTS 3u
#define LABELS 17u /* of a part */
#define EVENTS (ROUNDS * PARTS)

static struct synthetic initial, bought, validation;
static struct fis_error e;

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 130, .5, 1);
    synthetic_make(&bought, EVENTS * LABELS + 64, .5, 2);
    synthetic_make(&validation, 401, .5, 3);
    return 0;
}

struct kind {
    bool mixed;
    uint32_t folds;
    bool guided;
    uint32_t average_every;
    bool images; /* rows as images that are moved, by AdamW */
};
static const struct kind kinds[] = {
    {false, 1, false, 6, false}, {false, 3, false, 6, false}, {false, 3, false, 0, false},
    {true, 1, false, 0, false},  {true, 2, true, 6, false},   {false, 3, false, 6, true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static struct fis_learner_options options(const struct kind *k)
{
    struct fis_learner_options o = {
        .mixed = k->mixed,
        .folds = k->folds,
        .guided = k->guided,
        .learning_rate = .05f,
        .momentum = .9f,
        .weight_decay = 5e-4f,
        .batch = 32,
        .mix = .25f,
        .kept_min = 4,
        .average_every = k->average_every,
        .seed = 5,
    };
    uint32_t hidden = 8;
    const struct fis_vit vit = {.height = 1,
                                .width = SYN_D,
                                .channels = 1,
                                .patch = 1,
                                .dim = 4,
                                .depth = 1,
                                .heads = 2,
                                .mlp = 6};
    o.adamw = k->images;
    o.flip = k->images;
    o.rise = 5;
    o.fall = 20;
    assert_int_equal(fis_shape_init(&o.shape, k->images ? 4 : SYN_D, &hidden, 1, 2, &e), 0);
    if (k->images)
        assert_int_equal(fis_shape_set_vit(&o.shape, &vit, &e), 0);
    return o;
}

static struct fis_learner *learner(const struct kind *k)
{
    struct fis_learner_options o = options(k);
    struct fis_rows rows = synthetic_rows(&validation);
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), 0);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], &e), 0);
    return t;
}

static void add_bought(struct fis_learner *t, uint32_t from, uint32_t to, int check)
{
    uint32_t index;
    for (uint32_t i = from; i < to; i++) {
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e), 0);
        assert_int_equal(index, i);
        if (check)
            (void)fis_learner_check(t, index, NULL, NULL);
    }
}

static void new_head(struct fis_learner *t)
{
    struct fis_direction_options d = {.surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 10},
                                      .n_groups = 2};
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    (void)fis_learner_review(t);
}

static struct fis_learner *warm(const struct kind *k)
{
    struct fis_learner *t = learner(k);
    assert_int_equal(fis_learner_warm_up(t, 23, &e), 0); /* in the middle of an epoch */
    fis_learner_round_begin(t);
    new_head(t);
    return t;
}

/* A part of a round, as the trainer role has it: labels, steps, a new head. Every other round is
 * rejected and rolled back. A loss that is not finite excludes the rows that are to blame. */
static void job(struct fis_learner *t, uint32_t event)
{
    int r = fis_learner_train(t, 13 + event % 5, &e);
    assert_true(r == 0 || r == -FIS_INPUT);
    if (event % PARTS == PARTS - 1) {
        if (event / PARTS % 2)
            fis_learner_roll_back(t);
        fis_learner_round_begin(t);
    }
    new_head(t);
}

static void part(struct fis_learner *t, uint32_t event)
{
    add_bought(t, event * LABELS, (event + 1) * LABELS, 1);
    job(t, event);
}

struct blob {
    unsigned char *bytes;
    size_t size;
};

static struct blob save(const struct fis_learner *t)
{
    struct blob b = {.size = fis_learner_save_size(t)};
    b.bytes = malloc(b.size);
    assert_non_null(b.bytes);
    fis_learner_save(t, b.bytes);
    return b;
}

static void assert_twins(const struct fis_learner *a, const struct fis_learner *b)
{
    struct blob x = save(a), y = save(b);
    size_t slab = fis_shape_params(fis_learner_shape(a)) * sizeof(float);
    struct fis_learner_counts n = fis_learner_counts(a), m = fis_learner_counts(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
    assert_memory_equal(fis_learner_end_anchor(a), fis_learner_end_anchor(b), slab);
    for (int i = 0; i < FIS_DIRECTIONS; i++)
        assert_memory_equal(fis_learner_direction(a, i), fis_learner_direction(b, i), slab);
    assert_int_equal(n.bought, m.bought);
    assert_int_equal(n.kept, m.kept);
    assert_int_equal(n.excluded, m.excluded);
    assert_int_equal(n.steps, m.steps);
    assert_memory_equal(&n.last_loss, &m.last_loss, sizeof n.last_loss);
    for (uint32_t i = 0; i < n.bought; i++)
        assert_int_equal(fis_learner_is_kept(a, i), fis_learner_is_kept(b, i));
    free(x.bytes);
    free(y.bytes);
}

/* A new learner from the blob; `more` rows were bought since it was saved. */
static struct fis_learner *loaded(const struct kind *k, const struct blob *b, uint32_t rows)
{
    struct fis_learner *t = learner(k);
    add_bought(t, 0, rows, 0);
    assert_int_equal(fis_learner_load(t, b->bytes, b->size, &e), 0);
    new_head(t);
    return t;
}

/* Saved after each event in turn, with the labels of the next one bought already or not. */
static void it_goes_on_to_the_bit(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < KINDS * EVENTS; i++) {
        const struct kind *k = &kinds[i % KINDS];
        uint32_t at = i / KINDS, more = at % 2 ? LABELS / 2 : 0;
        struct fis_learner *a = warm(k);
        for (uint32_t event = 0; event < at; event++)
            part(a, event);
        struct blob b = save(a);
        add_bought(a, at * LABELS, at * LABELS + more, 1);
        struct fis_learner *twin = loaded(k, &b, at * LABELS + more);
        assert_twins(a, twin);
        for (uint32_t event = at; event < EVENTS; event++) {
            struct fis_learner *const both[] = {a, twin};
            for (uint32_t j = 0; j < 2; j++) {
                uint32_t from = event * LABELS + (event == at ? more : 0);
                add_bought(both[j], from, (event + 1) * LABELS, 1);
                job(both[j], event);
            }
            assert_twins(a, twin);
        }
        assert_true(fis_learner_counts(a).kept > 0);
        free(b.bytes);
        fis_learner_free(a);
        fis_learner_free(twin);
    }
}

/* A loaded one knows the round's beginning: it can be rolled back. */
static void it_can_be_rolled_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < KINDS; i++) {
        struct fis_learner *a = warm(&kinds[i]);
        part(a, 0);
        part(a, 1);
        struct blob b = save(a);
        struct fis_learner *twin = loaded(&kinds[i], &b, 2 * LABELS);
        fis_learner_roll_back(a);
        fis_learner_roll_back(twin);
        assert_twins(a, twin);
        new_head(a);
        new_head(twin);
        part(a, 2);
        part(twin, 2);
        assert_twins(a, twin);
        free(b.bytes);
        fis_learner_free(a);
        fis_learner_free(twin);
    }
}

/* An absurd row spoils a part, and later another one; they are excluded, and stay so in the one
 * that is loaded, in the middle of an epoch that was drawn with them as in a later one. */
static void excluded_rows_stay_excluded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < KINDS; i++) {
        if (kinds[i].mixed || kinds[i].images) /* whose norm leaves nothing of a large number */
            continue; /* learns from kept rows alone, which an absurd one need not be */
        for (uint32_t jobs = 0; jobs < 4; jobs++) {
            float good = bought.x[LABELS + 3][0], other = bought.x[2 * LABELS + 5][0];
            struct fis_learner *a = warm(&kinds[i]);
            part(a, 0);
            bought.x[LABELS + 3][0] = bought.x[2 * LABELS + 5][0] = 1e30f;
            bought.y[2 * LABELS + 5] = 0; /* not what such a row would be taken for */
            for (uint32_t event = 1; event < 2 + jobs; event++)
                part(a, event);
            assert_int_equal(fis_learner_counts(a).excluded, jobs ? 2 : 1);
            struct blob b = save(a);
            struct fis_learner *twin = loaded(&kinds[i], &b, (2 + jobs) * LABELS);
            assert_twins(a, twin);
            for (uint32_t event = 2 + jobs; event < EVENTS; event++) {
                part(a, event);
                part(twin, event);
                assert_twins(a, twin);
            }
            bought.x[LABELS + 3][0] = good;
            bought.x[2 * LABELS + 5][0] = other; /* its class stays as it is: twins see the same */
            free(b.bytes);
            fis_learner_free(a);
            fis_learner_free(twin);
        }
    }
}

/* Excluded in the middle of an epoch and, for the count, made good by a label: the epoch goes on as
 * it was drawn, with the row that is excluded by now. */
static void the_epoch_of_an_excluded_row_goes_on(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        float good = bought.x[3][0];
        struct fis_learner *a = warm(&kinds[i]);
        bought.x[3][0] = 1e30f;
        part(a, 0);
        assert_int_equal(fis_learner_counts(a).excluded, 1);
        add_bought(a, LABELS, LABELS + 1, 1);
        struct blob b = save(a);
        struct fis_learner *twin = loaded(&kinds[i], &b, LABELS + 1);
        for (uint32_t n = 0; n < 6; n++) {
            int r = fis_learner_train(a, 2, &e);
            assert_int_equal(fis_learner_train(twin, 2, &e), r);
            assert_twins(a, twin);
        }
        bought.x[3][0] = good;
        free(b.bytes);
        fis_learner_free(a);
        fis_learner_free(twin);
    }
}

/* ---- what does not fit ---------------------------------------------------------------------- */

/* Refused, and nothing is changed. */
static void refuse(struct fis_learner *t, const void *bytes, size_t size, const char *says)
{
    struct blob before = save(t);
    e = (struct fis_error){0};
    assert_int_equal(fis_learner_load(t, bytes, size, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, says));
    struct blob after = save(t);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, after.size);
    free(before.bytes);
    free(after.bytes);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct fis_learner *a = warm(&kinds[1]), *few = learner(&kinds[1]);
    part(a, 0);
    struct blob b = save(a);
    refuse(few, b.bytes, b.size, "rows");
    for (uint32_t i = 0; i < KINDS; i++) {
        struct fis_learner *other = learner(&kinds[i]);
        add_bought(other, 0, LABELS, 0);
        if (kinds[i].mixed != kinds[1].mixed)
            refuse(other, b.bytes, b.size, "another publication");
        fis_learner_free(other);
    }
    struct fis_learner_options o = options(&kinds[1]);
    uint32_t hidden[2] = {8, 3};
    for (uint32_t n = 0; n < 3; n += 2) {
        assert_int_equal(fis_shape_init(&o.shape, SYN_D, hidden, n, 2, &e), 0);
        struct fis_learner *other = fis_learner_new(&o, &e);
        assert_non_null(other);
        refuse(other, b.bytes, b.size, "shape");
        fis_learner_free(other);
    }
    free(b.bytes);
    fis_learner_free(a);
    fis_learner_free(few);
}

/* Cut at every length, and with every one of its first bytes and many of the others changed: it is
 * refused, or what was loaded can be trained on. */
static void spoilt_bytes_do_no_harm(void **state)
{
    (void)state;
    struct fis_learner *a = warm(&kinds[1]);
    bought.x[3][0] = 1e30f;
    part(a, 0);
    struct blob b = save(a);
    struct fis_learner *t = learner(&kinds[1]);
    add_bought(t, 0, LABELS, 0);
    for (size_t n = 0; n < b.size; n += n < 400 ? 1 : 37) {
        unsigned char *cut = malloc(n ? n : 1); /* so that a sanitizer sees a read beyond it */
        memcpy(cut, b.bytes, n);
        refuse(t, cut, n, "saved learner");
        free(cut);
    }
    uint32_t taken = 0;
    for (size_t i = 0; i < b.size; i += i < 400 ? 1 : 101) {
        unsigned char was = b.bytes[i];
        b.bytes[i] ^= (unsigned char)(1 + i % 255);
        if (fis_learner_load(t, b.bytes, b.size, &e) == 0) {
            int r = fis_learner_train(t, 3, &e);
            assert_true(r == 0 || r == -FIS_INPUT);
            taken++;
        }
        b.bytes[i] = was;
    }
    assert_true(taken > 0);
    assert_int_equal(fis_learner_load(t, b.bytes, b.size, &e), 0);
    new_head(t);
    assert_twins(a, t);
    free(b.bytes);
    fis_learner_free(a);
    fis_learner_free(t);
    synthetic_make(&bought, bought.n, .5, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_to_the_bit),
        cmocka_unit_test(it_can_be_rolled_back),
        cmocka_unit_test(excluded_rows_stay_excluded),
        cmocka_unit_test(the_epoch_of_an_excluded_row_goes_on),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(spoilt_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

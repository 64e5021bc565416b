/* Batches: threads, interruption, the file that is resumed from. */

#include "kit/cmocka.h"

#include <unistd.h>
#include <math.h>
#include <time.h>

#include "fis/mem.h"
#include "kit/lab/small_file.h"
#include "wire/json_arena.h"

struct fixture {
    struct synthetic s;
    char file[128];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    wire_json_init();
    if (!f || synthetic_make(&f->s, 4200, 2, 2) < 0)
        return -1;
    snprintf(f->file, sizeof f->file, "%s/results.jsonl", f->s.folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    unlink(f->file);
    synthetic_done(&f->s);
    free(f);
    return 0;
}

static const enum fis_metric metrics[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUALIZED_ODDS};

/* 3 seeds x (random once + fis+ and fis for two metrics) = 15 runs. */
static struct lab_batch *batch(const struct fixture *f, double epsilon)
{
    static const char *const names[] = {"random", "fis+", "fis"};
    struct fis_error e;
    struct lab_batch *b = lab_batch_new(&e);
    assert_non_null(b);
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int m = 0; m < 3; m++) {
            struct lab_job job = {.key = {.regime = LAB_RICH}, .task = f->s.task};
            assert_int_equal(lab_method_find(names[m], &job.method, &e), 0);
            lab_options_default(&f->s.spec, LAB_RICH, &job.options);
            job.options.seed = seed;
            job.options.epsilon = epsilon;
            assert_int_equal(lab_batch_add_metrics(b, job, metrics, 2, &e), 0);
        }
    assert_int_equal(lab_batch_jobs(b), 15);
    return b;
}

/* A bounded wait on a condition of the batch. */
static void wait_for(struct lab_batch *b, uint32_t ended)
{
    for (int i = 0; i < 6000 && !lab_batch_idle(b) && lab_batch_ended(b) < ended; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void run(struct lab_batch *b, uint32_t threads)
{
    struct fis_error e = {.text = ""};
    assert_int_equal(lab_batch_start(b, threads, &e), 0);
    wait_for(b, UINT32_MAX);
    assert_true(lab_batch_idle(b));
    if (lab_batch_join(b, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(lab_batch_left(b), 0);
}

/* The results as lines, without the time they took. */
static struct byte_buffer text_of(struct lab_batch *b)
{
    struct byte_buffer out = {0};
    uint32_t n;
    const struct lab_record *records = lab_batch_records(b, &n);
    assert_int_equal(n, 15);
    for (uint32_t i = 0; i < n; i++) {
        struct lab_record r = records[i];
        r.result.seconds = 0;
        assert_int_equal(lab_record_write(&r, &out, NULL), 0);
    }
    return out;
}

static void assert_same(struct byte_buffer *a, struct byte_buffer *b)
{
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->data, b->data, a->length);
    byte_buffer_done(b);
}

static void threads_do_not_matter(void **state)
{
    struct fixture *f = *state;
    struct byte_buffer first = {0};
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        struct lab_batch *b = batch(f, .005);
        run(b, threads);
        struct byte_buffer text = text_of(b);
        lab_batch_free(b);
        if (threads == 1)
            first = text;
        else
            assert_same(&first, &text);
    }
    byte_buffer_done(&first);
}

static void an_interrupted_batch_goes_on(void **state)
{
    struct fixture *f = *state;
    struct fis_error e;
    struct lab_batch *b = batch(f, .005);
    run(b, 2);
    struct byte_buffer whole = text_of(b);
    lab_batch_free(b);

    b = batch(f, .005);
    assert_int_equal(lab_batch_resume(b, f->file, &e), 0);
    assert_int_equal(lab_batch_start(b, 2, &e), 0);
    wait_for(b, 4);
    lab_batch_stop(b);
    assert_int_equal(lab_batch_join(b, &e), 0);
    uint32_t left = lab_batch_left(b);
    assert_in_range(left, 1, 11);
    lab_batch_free(b);
    /* and it was killed while it wrote a line */
    FILE *file = fopen(f->file, "a");
    assert_non_null(file);
    fputs("{\"task\":\"synth", file);
    fclose(file);

    b = batch(f, .005);
    assert_int_equal(lab_batch_resume(b, f->file, &e), 0);
    assert_int_equal(lab_batch_left(b), left);
    run(b, 1);
    struct byte_buffer resumed = text_of(b);
    lab_batch_free(b);
    assert_same(&whole, &resumed);

    b = batch(f, .005); /* all is there now */
    assert_int_equal(lab_batch_resume(b, f->file, &e), 0);
    assert_int_equal(lab_batch_left(b), 0);
    resumed = text_of(b);
    lab_batch_free(b);
    assert_same(&whole, &resumed);

    b = batch(f, .01); /* other options are other runs */
    assert_int_equal(lab_batch_resume(b, f->file, &e), 0);
    assert_int_equal(lab_batch_left(b), 15);
    lab_batch_free(b);
    byte_buffer_done(&whole);
}

static void a_bad_line_is_refused(void **state)
{
    static const char *const bad[] = {"nonsense\n", "{}\n", "[]\n", "\n",
                                      "{\"task\":\"a\",\"metric\":\"dp\"}\n"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fis_error e;
        FILE *file = fopen(f->file, "w");
        assert_non_null(file);
        fputs(bad[i], file);
        fclose(file);
        struct lab_batch *b = batch(f, .005);
        assert_int_equal(lab_batch_resume(b, f->file, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "results.jsonl: line 1: "));
        lab_batch_free(b);
    }
}

static void records_read_back_the_same(void **state)
{
    struct lab_record r = {.key = {.task = "a", .method = "fis+", .variant = "x=1", .seed = 12345},
                           .result = {.interpolation = NAN, .n_path = 2}},
                      back;
    struct byte_buffer a = {0}, b = {0};
    struct fis_error e;
    (void)state;
    r.key.metric = FIS_EQUAL_OPPORTUNITY;
    r.key.regime = LAB_SCARCE;
    r.key.options = (1ull << 52) - 1;
    r.result.test.accuracy = 1.0 / 3;
    r.result.test.equal_opportunity = NAN;
    r.result.bought = UINT32_MAX;
    r.result.path[0] = (struct lab_point){7, .1, .2, .3, NAN};
    r.result.path[1] = (struct lab_point){8, 1e-17, 2, 3, 4};
    assert_int_equal(lab_record_write(&r, &a, &e), 0);
    assert_int_equal(lab_record_read((char *)a.data, a.length - 1, &back, &e), 0);
    assert_true(lab_key_equal(&r.key, &back.key));
    assert_true(isnan(back.result.interpolation) && isnan(back.result.test.equal_opportunity));
    assert_int_equal(lab_record_write(&back, &b, &e), 0);
    assert_same(&a, &b);
    byte_buffer_done(&a);
}

/* A job that fails: the others end, and the first failure by number is reported. */
static int fails(void *arg, struct lab_run *r, struct fis_error *e)
{
    (void)arg;
    return r->o->seed == 2 ? fis_fail(e, FIS_INPUT, "planted") : 0;
}

static void a_failure_is_reported(void **state)
{
    struct fixture *f = *state;
    static const struct lab_hooks hooks = {.begun = fails};
    struct fis_error e;
    struct lab_batch *b = lab_batch_new(&e);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct lab_job job = {.key = {.regime = LAB_RICH}, .task = f->s.task, .hooks = &hooks};
        assert_int_equal(lab_method_find("random", &job.method, &e), 0);
        lab_options_default(&f->s.spec, LAB_RICH, &job.options);
        job.options.seed = seed;
        assert_int_equal(lab_batch_add_metrics(b, job, metrics, 1, &e), 0);
    }
    assert_int_equal(lab_batch_start(b, 2, &e), 0);
    wait_for(b, UINT32_MAX);
    assert_int_equal(lab_batch_join(b, &e), -FIS_INPUT);
    assert_string_equal(e.text, "synthetic, random, seed 2: planted");
    lab_batch_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_batch_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_line_is_refused, set_up, tear_down),
        cmocka_unit_test(records_read_back_the_same),
        cmocka_unit_test_setup_teardown(a_failure_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

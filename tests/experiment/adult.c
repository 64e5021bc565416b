/*
 * METHOD's protocol on Adult, with the objects that run in the daemon: selector, influence,
 * trainer, gate. One pass over the pool in as many windows as there are rounds.
 *
 *   adult DIR [name=value …]      (DIR as written by config/demo/adult.py)
 *
 * Prints one line per kind of model, over the test rows: name, accuracy, equalized odds (mean
 * form), demographic parity, equal opportunity.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/gate.h"
#include "fis/mem.h"
#include "fis/selector.h"
#include "fis/trainer.h"
#include "table.h"

#define SCORE_ROWS 256u

struct settings {
    enum fis_algorithm algorithm;
    enum fis_copies copies;
    enum fis_metric metric;
    uint32_t folds, rounds, r, steps, slices, warm_up, batch, hidden, heap, average_every;
    int precondition, review, standardise_all, verbose;
    float boost, mix, rate;
    double epsilon, errors, damping;
    uint64_t seed;
};

struct run {
    struct settings o;
    struct adult data;
    struct fis_trainer *trainer;
    struct fis_selector *selector;
    struct fis_gate *gate, *once; /* every round; after the last one only */
    struct fis_criteria criteria;
    struct fis_direction_options directions;
    struct fis_scratch *scratch;
    float *p, *acc, *fair;            /* [SCORE_ROWS][K] */
    float *warm, *served, *published; /* slabs */
    uint32_t published_n, answered, kept, candidates, scored, asked_by[2];
    struct fis_error e;
};

static void must(struct run *run, int result)
{
    if (result < 0)
        errx(1, "%s", run->e.text);
}

static void *need(struct run *run, void *p)
{
    if (!p)
        errx(1, "%s", run->e.text[0] ? run->e.text : "no memory");
    return p;
}

/* ---- scoring -------------------------------------------------------------------------------- */

static void score_rows(struct run *run, const float *x, const struct fis_id *const *ids, uint32_t n,
                       float *scores)
{
    fis_influence_batch(fis_trainer_panel(run->trainer), x, n, run->scratch, run->p, run->acc,
                        run->fair);
    for (uint32_t i = 0; i < n; i++)
        fis_criteria_score(&run->criteria, ids[i], run->p + 2 * i, run->acc + 2 * i,
                           run->fair + 2 * i, 2, scores + (size_t)i * FIS_MAX_CRITERIA);
}

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    score_rows(arg, x, ids, n, scores);
}

static void offer_window(struct run *run, uint32_t from, uint32_t to)
{
    const struct table *pool = &run->data.pool;
    float scores[SCORE_ROWS * FIS_MAX_CRITERIA];
    const struct fis_id *ids[SCORE_ROWS];
    for (; from < to; from += SCORE_ROWS) {
        uint32_t n = to - from < SCORE_ROWS ? to - from : SCORE_ROWS;
        for (uint32_t i = 0; i < n; i++)
            ids[i] = &pool->ids[from + i];
        score_rows(run, pool->x + (size_t)from * pool->d, ids, n, scores);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = from + i;
            struct fis_candidate c = {.id = pool->ids[row],
                                      .x = pool->x + (size_t)row * pool->d,
                                      .payload = &row,
                                      .payload_length = sizeof row};
            memcpy(c.scores, scores + (size_t)i * FIS_MAX_CRITERIA, sizeof c.scores);
            run->scored++;
            run->candidates += c.scores[0] > FIS_NOT_A_CANDIDATE;
            must(run, fis_selector_offer(run->selector, &c, &run->e));
        }
    }
}

/* ---- a round -------------------------------------------------------------------------------- */

static void buy(struct run *run, uint32_t want)
{
    struct fis_candidate c;
    uint32_t criterion, index, row;
    for (; want > 0 && fis_selector_ask(run->selector, &c, &criterion); want--) {
        struct fis_id id = c.id;
        memcpy(&row, c.payload, sizeof row);
        if (fis_selector_answer(run->selector, &id, run->data.pool.y[row], &c, &criterion) !=
            FIS_ANSWER_ACCEPTED)
            errx(1, "an answer was not accepted");
        must(run,
             fis_trainer_add_bought(run->trainer, c.x, run->data.pool.y[row], &index, &run->e));
        run->kept += fis_trainer_check(run->trainer, index, NULL, NULL) > 0;
        run->answered++;
        run->asked_by[criterion]++;
        fis_selector_release(run->selector, &id);
    }
}

static double refresh(struct run *run)
{
    double cosine;
    must(run, fis_trainer_refresh(run->trainer, &run->directions, &cosine, &run->e));
    if (run->o.review)
        fis_trainer_review(run->trainer);
    return cosine;
}

static void train_round(struct run *run, uint32_t round)
{
    uint64_t n = run->data.pool.n;
    uint32_t rounds = run->o.rounds, slices = run->o.slices;
    run->answered = run->kept = run->candidates = run->scored = 0;
    run->asked_by[0] = run->asked_by[1] = 0;
    fis_selector_round_begin(run->selector);
    fis_trainer_round_begin(run->trainer);
    must(run, fis_selector_rescore(run->selector, rescore, run, &run->e));
    offer_window(run, (uint32_t)(n * round / rounds), (uint32_t)(n * (round + 1) / rounds));
    for (uint32_t i = 0; i < slices; i++) {
        buy(run, run->o.r / slices);
        must(run, fis_trainer_train(run->trainer, run->o.steps / slices, &run->e));
        refresh(run);
        must(run, fis_selector_rescore(run->selector, rescore, run, &run->e));
    }
}

/* ---- what is reported ----------------------------------------------------------------------- */

static void report(struct run *run, const char *name, const float *params)
{
    const struct table *test = &run->data.test;
    const struct fis_shape *shape = fis_trainer_shape(run->trainer);
    struct fis_metrics m;
    float *logits = need(run, fis_alloc(2 * (size_t)test->n, sizeof *logits));
    uint32_t *predictions = need(run, fis_alloc(test->n, sizeof *predictions));
    for (uint32_t i = 0; i < test->n; i += SCORE_ROWS) {
        uint32_t n = test->n - i < SCORE_ROWS ? test->n - i : SCORE_ROWS;
        fis_network_forward(shape, params, test->x + (size_t)i * test->d, n, run->scratch,
                            logits + 2 * (size_t)i);
    }
    fis_predict(logits, test->n, 2, predictions);
    fis_metrics_eval(predictions, logits, test->y, test->group, NULL, test->n, 2, 2, 1, &m);
    printf("%-12s %.4f %.4f %.4f %.4f\n", name, m.accuracy, m.equalized_odds, m.demographic_parity,
           m.equal_opportunity);
    fis_free(logits);
    fis_free(predictions);
}

static void judge_round(struct run *run, uint32_t round)
{
    struct fis_gate_judgement j;
    must(run, fis_gate_judge(run->gate, run->trainer, &j, run->published, &run->e));
    if (j.verdict == FIS_PUBLISH) {
        memcpy(run->served, run->published,
               fis_shape_params(fis_trainer_shape(run->trainer)) * sizeof(float));
        run->published_n++;
    }
    if (run->o.verbose)
        fprintf(stderr, "round %u: bought %u (%u + %u), kept %u (in all %u), candidates %.3f; %s\n",
                round + 1, run->answered, run->asked_by[0], run->asked_by[1], run->kept,
                fis_trainer_counts(run->trainer).kept,
                run->scored ? (double)run->candidates / run->scored : 0, j.text);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void make_trainer(struct run *run, const struct fis_shape *shape)
{
    const struct settings *o = &run->o;
    const struct fis_trainer_options options = {
        .shape = *shape,
        .copies = o->copies,
        .folds = o->folds,
        .learning_rate = o->rate,
        .momentum = .9f,
        .weight_decay = 5e-4f,
        .batch = o->batch,
        .boost = o->boost,
        .mix = o->mix,
        .kept_min = 16,
        .average_every = o->average_every,
        .seed = o->seed,
    };
    struct fis_rows rows = table_rows(&run->data.validation);
    run->trainer = need(run, fis_trainer_new(&options, &run->e));
    for (uint32_t i = 0; i < run->data.initial.n; i++)
        must(run, fis_trainer_add_initial(run->trainer,
                                          run->data.initial.x + (size_t)i * shape->width[0],
                                          run->data.initial.y[i], &run->e));
    must(run, fis_trainer_set_validation(run->trainer, &rows, 2, &run->e));
}

static void make_selector_and_gates(struct run *run, const struct fis_shape *shape)
{
    const struct settings *o = &run->o;
    const struct fis_selector_options selector = {
        .criteria = run->criteria, .d = shape->width[0], .labels_per_round = o->r, .heap = o->heap};
    struct fis_gate_options gate = {
        .metric = o->metric,
        .positive = 1,
        .epsilon = o->epsilon,
        .min_rows = 500,
        .min_cell = 30,
        .warn_cell = 100,
        .rule = o->copies == FIS_COPIES_BOOSTED ? FIS_GATE_RULE_FAIRER : FIS_GATE_RULE_ALWAYS,
        .standard_errors = o->errors,
        .resamples = 200,
        .seed = o->seed,
    };
    run->selector = need(run, fis_selector_new(&selector, &run->e));
    run->gate = need(run, fis_gate_new(&gate, shape, &run->e));
    gate.rule = FIS_GATE_RULE_ALWAYS;
    run->once = need(run, fis_gate_new(&gate, shape, &run->e));
}

static void set_up(struct run *run)
{
    const struct settings *o = &run->o;
    struct fis_shape shape;
    must(run, fis_shape_init(&shape, run->data.initial.d, &o->hidden, 1, 2, &run->e));
    run->criteria = (struct fis_criteria){o->algorithm, 2, o->seed};
    run->directions = (struct fis_direction_options){
        .surrogate = {.metric = o->metric, .form = FIS_GAP_PAIRS, .positive = 1, .min_cell = 10},
        .n_groups = 2,
        .precondition = o->precondition,
        .damping = o->damping,
    };
    make_trainer(run, &shape);
    make_selector_and_gates(run, &shape);
    size_t n = fis_shape_params(&shape);
    run->scratch = need(run, fis_scratch_new(&shape, SCORE_ROWS, FIS_DIRECTIONS));
    run->p = need(run, fis_alloc(2 * SCORE_ROWS, sizeof(float)));
    run->acc = need(run, fis_alloc(2 * SCORE_ROWS, sizeof(float)));
    run->fair = need(run, fis_alloc(2 * SCORE_ROWS, sizeof(float)));
    run->warm = need(run, fis_alloc(n, sizeof(float)));
    run->served = need(run, fis_alloc(n, sizeof(float)));
    run->published = need(run, fis_alloc(n, sizeof(float)));
}

static void tear_down(struct run *run)
{
    fis_trainer_free(run->trainer);
    fis_selector_free(run->selector);
    fis_gate_free(run->gate);
    fis_gate_free(run->once);
    fis_scratch_free(run->scratch);
    float *const floats[] = {run->p, run->acc, run->fair, run->warm, run->served, run->published};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        fis_free(floats[i]);
    adult_free(&run->data);
}

static void experiment(struct run *run)
{
    struct fis_gate_judgement j;
    uint32_t warm_up = run->o.warm_up * fis_trainer_epoch_steps(run->trainer);
    must(run, fis_trainer_warm_up(run->trainer, warm_up, &run->e));
    must(run, fis_gate_first(run->gate, run->trainer, &j, run->served, &run->e));
    must(run, fis_gate_first(run->once, run->trainer, &j, run->warm, &run->e));
    if (run->o.verbose)
        fprintf(stderr, "%s\n", j.text);
    fis_trainer_fork(run->trainer);
    refresh(run);
    for (uint32_t round = 0; round < run->o.rounds; round++) {
        train_round(run, round);
        judge_round(run, round);
    }
    report(run, "warm_up", run->warm);
    report(run, "anchor", fis_trainer_end_anchor(run->trainer));
    must(run, fis_gate_judge(run->once, run->trainer, &j, run->published, &run->e));
    if (j.verdict == FIS_PUBLISH)
        memcpy(run->warm, run->published,
               fis_shape_params(fis_trainer_shape(run->trainer)) * sizeof(float));
    report(run, "once", run->warm);
    report(run, "served", run->served);
    printf("%-12s %u %u %u\n", "counts", run->published_n, fis_trainer_counts(run->trainer).bought,
           fis_trainer_counts(run->trainer).kept);
}

/* ---- settings ------------------------------------------------------------------------------- */

static void set_algorithm(struct settings *o, const char *value)
{
    for (int a = FIS_ALGORITHM_FIS_PLUS; a <= FIS_ALGORITHM_ENTROPY; a++)
        if (strcmp(fis_algorithm_name((enum fis_algorithm)a), value) == 0) {
            o->algorithm = (enum fis_algorithm)a;
            return;
        }
    errx(1, "unknown algorithm %s", value);
}

static int set_named(struct settings *o, const char *name, const char *value)
{
    if (strcmp(name, "algorithm") == 0)
        set_algorithm(o, value);
    else if (strcmp(name, "metric") == 0)
        o->metric = strcmp(value, "dp") == 0    ? FIS_DEMOGRAPHIC_PARITY
                    : strcmp(value, "eop") == 0 ? FIS_EQUAL_OPPORTUNITY
                                                : FIS_EQUALIZED_ODDS;
    else if (strcmp(name, "copies") == 0)
        o->copies = strcmp(value, "plain") == 0   ? FIS_COPIES_PLAIN
                    : strcmp(value, "mixed") == 0 ? FIS_COPIES_MIXED
                                                  : FIS_COPIES_BOOSTED;
    else if (strcmp(name, "regime") == 0) {
        int rich = strcmp(value, "rich") == 0;
        o->r = rich ? 512 : 128;
        o->warm_up = rich ? 15 : 60;
    } else
        return 0;
    return 1;
}

static void set_number(struct settings *o, const char *name, double v)
{
    const struct {
        const char *name;
        uint32_t *u;
        int *i;
        float *f;
        double *d;
    } table[] = {
        {"folds", &o->folds, 0, 0, 0},
        {"rounds", &o->rounds, 0, 0, 0},
        {"r", &o->r, 0, 0, 0},
        {"steps", &o->steps, 0, 0, 0},
        {"slices", &o->slices, 0, 0, 0},
        {"warm_up", &o->warm_up, 0, 0, 0},
        {"batch", &o->batch, 0, 0, 0},
        {"hidden", &o->hidden, 0, 0, 0},
        {"heap", &o->heap, 0, 0, 0},
        {"average_every", &o->average_every, 0, 0, 0},
        {"precondition", 0, &o->precondition, 0, 0},
        {"review", 0, &o->review, 0, 0},
        {"standardise_all", 0, &o->standardise_all, 0, 0},
        {"verbose", 0, &o->verbose, 0, 0},
        {"boost", 0, 0, &o->boost, 0},
        {"mix", 0, 0, &o->mix, 0},
        {"rate", 0, 0, &o->rate, 0},
        {"epsilon", 0, 0, 0, &o->epsilon},
        {"errors", 0, 0, 0, &o->errors},
        {"damping", 0, 0, 0, &o->damping},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        if (table[i].u)
            *table[i].u = (uint32_t)v;
        else if (table[i].i)
            *table[i].i = (int)v;
        else if (table[i].f)
            *table[i].f = (float)v;
        else
            *table[i].d = v;
        return;
    }
    if (strcmp(name, "seed") != 0)
        errx(1, "unknown setting %s", name);
    o->seed = (uint64_t)v;
}

int main(int argc, char **argv)
{
    static struct run run;
    if (argc < 2)
        errx(2, "usage: adult DIR [name=value …]");
    run.o = (struct settings){.algorithm = FIS_ALGORITHM_FIS_PLUS,
                              .copies = FIS_COPIES_BOOSTED,
                              .metric = FIS_EQUALIZED_ODDS,
                              .folds = 2,
                              .rounds = 10,
                              .r = 128,
                              .steps = 120,
                              .slices = 4,
                              .warm_up = 60,
                              .batch = 128,
                              .hidden = 64,
                              .average_every = 6,
                              .precondition = 1,
                              .review = 1,
                              .boost = .5f,
                              .mix = .25f,
                              .rate = .01f,
                              .epsilon = .005,
                              .errors = 1,
                              .damping = .01,
                              .seed = 1};
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            errx(2, "%s: name=value is wanted", argv[i]);
        *value++ = 0;
        if (!set_named(&run.o, argv[i], value))
            set_number(&run.o, argv[i], strtod(value, NULL));
    }
    adult_load(argv[1], run.o.standardise_all, &run.data);
    set_up(&run);
    experiment(&run);
    tear_down(&run);
    return 0;
}

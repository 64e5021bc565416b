/*
 * Just Train Twice (Liu and others, 2021): a first model is trained for a few epochs (T); the rows
 * that it gets wrong are upsampled (20 times here, "JTT-20" of the paper) and a second model is
 * trained from the start on the result.
 *
 * Their T and weight are chosen by the worst group's accuracy on validation rows with groups; here
 * both are fixed, T at half of the warm-up's epochs (rounded up), and no group is looked at. The
 * second model has as many steps as the anchor had, and is averaged as the anchor is.
 */
#include "lab/jtt.h"

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/labelled.h"

#define INIT_STREAM 140u
#define TRAIN_STREAM 142u

uint32_t lab_jtt_upweight(const uint32_t *rows, const uint32_t *predicted, const uint32_t *y,
                          uint32_t n, uint32_t weight, uint32_t *out)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t copies = predicted[i] == y[rows[i]] ? 1 : weight; copies > 0; copies--)
            out[total++] = rows[i];
    return total;
}

/* From new weights: `steps`, the last `averaged` of them into average (slab, or NULL). */
static int train(struct lab_run *r, const struct lab_sgd_rows *rows, uint64_t which, uint32_t steps,
                 uint32_t averaged, float *params, float *average, struct fis_error *e)
{
    const struct lab_sgd_options o = lab_labelled_sgd(r, TRAIN_STREAM + which);
    struct lab_sgd *sgd = lab_sgd_new(&o, e);
    struct fis_rng rng;
    if (!sgd)
        return fis_fail(e, FIS_NOMEM, "jtt: no memory");
    fis_rng_seed(&rng, r->o->seed, INIT_STREAM + which);
    fis_network_init(&r->shape, params, &rng);
    int rc = lab_sgd_steps(sgd, rows, steps - averaged, params, 0, NULL, e);
    if (rc == 0 && averaged)
        rc = lab_sgd_steps(sgd, rows, averaged, params, FIS_DEFAULT_AVERAGE_EVERY, average, e);
    lab_sgd_free(sgd);
    return rc;
}

static void predict(struct lab_run *r, const float *params, uint32_t *predicted)
{
    for (uint32_t i = 0; i < r->n_labelled; i++) { /* rows lie scattered */
        fis_network_forward(&r->shape, params, lab_split_row(r->split, r->labelled[i]), 1,
                            r->scratch, r->p);
        fis_predict(r->p, 1, r->classes, predicted + i);
    }
}

static uint32_t epochs_of(const struct lab_run *r, uint32_t epochs, uint32_t rows)
{
    const uint32_t batch = r->o->protocol.batch;
    return epochs * (rows / batch + (rows % batch != 0));
}

static int train_twice(struct lab_run *r, float *first, uint32_t *predicted, uint32_t *twice,
                       float *params, struct fis_error *e)
{
    const struct lab_protocol *p = &r->o->protocol;
    struct lab_sgd_rows rows = lab_labelled_rows(r);
    int rc = train(r, &rows, 0, epochs_of(r, (p->warm_up_epochs + 1) / 2, r->n_labelled), 0, first,
                   NULL, e);
    if (rc < 0)
        return rc;
    predict(r, first, predicted);
    rows.n = lab_jtt_upweight(r->labelled, predicted, r->split->task->y, r->n_labelled,
                              LAB_JTT_WEIGHT, twice);
    rows.rows = twice;
    const uint32_t steps =
        epochs_of(r, p->warm_up_epochs, r->split->n_initial) + (r->round + 1) * p->steps_per_round;
    return train(r, &rows, 1, steps, p->steps_per_round, first, params, e);
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    uint32_t *predicted = NULL, *twice = NULL;
    float *first = NULL;
    (void)last;
    int rc;
    first = fis_alloc(r->n_params, sizeof *first);
    predicted = fis_alloc(r->n_labelled, sizeof *predicted);
    twice = fis_alloc((size_t)r->n_labelled * LAB_JTT_WEIGHT, sizeof *twice);
    if (first && predicted && twice)
        rc = train_twice(r, first, predicted, twice, params, e);
    else
        rc = fis_fail(e, FIS_NOMEM, "jtt: no memory for %u rows", r->n_labelled);
    fis_free(first);
    fis_free(predicted);
    fis_free(twice);
    return rc;
}

const struct lab_publication lab_publication_jtt = {.name = "jtt", .split_rows = true, .publish = publish};

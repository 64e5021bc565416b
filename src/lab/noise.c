#include "lab/noise.h"

#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/noise_impl.h"

#define FLIP_STREAM 180u
#define DIRECTION_STREAM 183u

/* ---- names ---------------------------------------------------------------------------------- */

static const char *const corrections[] = {"none", "forward", "trim", "both"};
static const char *const places[] = {"guide", "gate", "both"}; /* from LAB_CORRECT_GUIDE on */

int lab_correction_find(const char *name, enum lab_correction *out, struct fis_error *e)
{
    for (int i = 0; i < LAB_CORRECTIONS; i++)
        if (strcmp(corrections[i], name) == 0) {
            *out = (enum lab_correction)i;
            return 0;
        }
    return fis_fail(e, FIS_INPUT, "correction: found '%s', allowed are none, forward, trim, both",
                    name);
}

int lab_correct_where_find(const char *name, enum lab_correct_where *out, struct fis_error *e)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(places[i], name) == 0) {
            *out = (enum lab_correct_where)(LAB_CORRECT_GUIDE + i);
            return 0;
        }
    return fis_fail(e, FIS_INPUT, "correction: found '%s', allowed are guide, gate, both", name);
}

void lab_noise_default(struct lab_noise_options *o)
{
    *o = (struct lab_noise_options){.where = LAB_CORRECT_GUIDE_AND_GATE, .confidence = .9};
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void flip(uint32_t *values, uint32_t n, uint32_t kinds, double noise, struct fis_rng *rng)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(fis_rng_unit(rng) < noise))
            continue;
        uint32_t other = fis_rng_below(rng, kinds - 1);
        values[i] = other < values[i] ? other : other + 1;
    }
}

/* The trainer gets noisy copies of its validation rows. */
static int make_noise(struct lab_run *r, const struct lab_noise_options *o, struct fis_error *e)
{
    const struct lab_split *s = r->split;
    const uint32_t n = s->n_validation, groups = s->task->n_groups;
    uint32_t *y = fis_alloc(2 * (size_t)n, sizeof *y);
    struct fis_rng labels, memberships; /* apart, so that one noise does not move the other */
    if (!y)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", n);
    uint32_t *group = y + n;
    memcpy(y, s->validation_y, n * sizeof *y);
    memcpy(group, s->validation_group, n * sizeof *group);
    fis_rng_seed(&labels, r->o->seed, FLIP_STREAM);
    fis_rng_seed(&memberships, r->o->seed, FLIP_STREAM + 1);
    flip(y, n, r->classes, o->label_noise, &labels);
    flip(group, n, groups, o->group_noise, &memberships);
    const struct fis_rows rows = {.n = n, .d = s->d, .x = s->validation_x, .y = y, .group = group};
    int rc = fis_learner_set_validation(r->learner, &rows, groups, e);
    fis_free(y);
    return rc;
}

static int make_state(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const size_t n = r->split->n_validation, k = r->classes, m = r->split->task->n_groups;
    s->p = fis_alloc(n * k, sizeof *s->p);
    s->posterior = fis_alloc(n * k, sizeof *s->posterior);
    s->groups = fis_alloc(n * m, sizeof *s->groups);
    s->trimmed = fis_calloc(n, 1);
    s->t = fis_alloc(k * k, sizeof *s->t);
    s->t_groups = fis_alloc(m * m, sizeof *s->t_groups);
    s->model = (struct lab_noise_model){.classes = r->classes,
                                        .groups = r->split->task->n_groups,
                                        .trim = lab_noise_trims(s->o),
                                        .confidence = s->o->confidence,
                                        .surrogate = r->directions->surrogate};
    s->model.cells = fis_alloc(m * k * k, sizeof *s->model.cells);
    if (!s->p || !s->posterior || !s->groups || !s->trimmed || !s->t || !s->t_groups ||
        !s->model.cells)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %zu rows", n);
    return 0;
}

/* Corrections wait for a model: they begin at the first refresh. */
static int begun(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct lab_noisy *s = fis_calloc(1, sizeof *s);
    if (!s)
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    r->hook_state = s;
    s->o = arg;
    fis_rng_seed(&s->rng, r->o->seed, DIRECTION_STREAM);
    int rc = make_state(r, s, e);
    if (rc == 0)
        rc = make_noise(r, s->o, e);
    if (rc == 0 && s->o->correction != LAB_CORRECT_NONE && (s->o->where & LAB_CORRECT_GUIDE)) {
        r->directions->losses = lab_noise_losses;
        r->directions->losses_arg = &s->model;
    }
    return rc;
}

static void ended(void *arg, struct lab_run *r)
{
    struct lab_noisy *s = r->hook_state;
    (void)arg;
    if (!s)
        return;
    void *const all[] = {s->p, s->posterior, s->groups,  s->trimmed,
                         s->t, s->t_groups,  s->warm_up, s->model.cells};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_panel_unref(s->panel);
    fis_free(s);
    r->hook_state = NULL;
}

/* ---- every refresh -------------------------------------------------------------------------- */

/* VAL_0 by the same measure as what follows: the warm-up model's accuracy on the gate's rows. */
static int rebase(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const bool halves = fis_learner_options(r->learner)->guided;
    struct fis_metrics m;
    uint32_t n = 0, *rows = fis_alloc(2 * (size_t)v->n, sizeof *rows);
    if (!rows)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", v->n);
    uint32_t *source = rows + v->n;
    for (uint32_t i = 0; i < v->n; i++) {
        source[i] = i;
        if (!halves || fis_learner_fold_of(r->learner)[i] == 1)
            rows[n++] = i;
    }
    lab_forward(r, s->warm_up, v->x, v->n, r->logits);
    fis_predict(r->logits, v->n, r->classes, r->predictions);
    lab_noise_measure(&s->model, r->predictions, NULL, v->y, v->group, source, rows, n, r->classes,
                      s->model.groups, r->split->task->positive, &m);
    fis_gate_rebase(r->gate, m.accuracy);
    fis_free(rows);
    return 0;
}

/* The gate measures as the noise needs it, from the first refresh on, when it is there. */
static int correct_gate(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    if (!s->warm_up) {
        if (!(s->warm_up = fis_alloc(r->n_params, sizeof *s->warm_up)))
            return fis_fail(e, FIS_NOMEM, "noise: no memory");
        memcpy(s->warm_up, r->published, r->n_params * sizeof *s->warm_up);
        fis_gate_measure_with(r->gate, lab_noise_measure, &s->model);
    }
    for (uint32_t i = 0; s->model.trim && i < v->n; i++)
        s->trimmed[i] =
            (uint8_t)lab_noise_contradicts(&s->model, s->p + (size_t)i * r->classes, v->y[i]);
    s->model.trimmed = s->model.trim ? s->trimmed : NULL;
    return rebase(r, s, e);
}

static void blur(struct fis_rng *rng, double noise, const float *g, size_t n, float *to)
{
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += (double)g[i] * (double)g[i];
    const double deviation = noise * sqrt(square / (double)n);
    for (size_t i = 0; i < n; i++)
        to[i] = g[i] + (float)(deviation * fis_rng_normal(rng));
}

static int blur_directions(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const size_t n = r->n_params;
    float *g = fis_alloc(2 * n, sizeof *g);
    if (!g)
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    for (int i = 0; i < FIS_DIRECTIONS; i++)
        blur(&s->rng, s->o->direction_noise, fis_learner_direction(r->learner, i), n,
             g + (size_t)i * n);
    const float *const directions[] = {g, g + n};
    fis_panel_unref(s->panel);
    s->panel = fis_panel_new(&r->shape, fis_learner_anchor(r->learner), directions, FIS_DIRECTIONS);
    fis_free(g);
    if (!s->panel)
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    r->panel = s->panel;
    return 0;
}

/* The directions again, now that the noise is known. */
static int direct_again(struct lab_run *r, struct fis_error *e)
{
    int rc = fis_learner_refresh(r->learner, r->directions, NULL, e);
    r->panel = fis_learner_panel(r->learner);
    if (rc == 0)
        fis_learner_review(r->learner);
    return rc;
}

static int refreshed(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct lab_noisy *s = r->hook_state;
    const struct lab_noise_options *o = arg;
    const struct fis_rows *v = fis_learner_validation(r->learner);
    int rc = 0;
    if (o->correction != LAB_CORRECT_NONE) {
        lab_forward(r, fis_learner_anchor(r->learner), v->x, v->n, s->p);
        fis_softmax(s->p, v->n, r->classes, s->p);
    }
    if (lab_noise_forwards(o)) {
        const bool first = !s->known;
        rc = lab_noise_know(r, s, e);
        if (rc == 0 && first && r->panel && r->directions->losses)
            rc = direct_again(r, e);
    }
    if (rc == 0 && o->correction != LAB_CORRECT_NONE && (o->where & LAB_CORRECT_GATE))
        rc = correct_gate(r, s, e);
    if (rc == 0 && r->panel && o->direction_noise > 0)
        rc = blur_directions(r, s, e);
    return rc;
}

struct lab_hooks lab_noise_hooks(const struct lab_noise_options *o)
{
    /* Hooks get what they hang on back as it was given; nothing here writes to it. */
    union {
        const struct lab_noise_options *in;
        void *out;
    } arg = {.in = o};
    return (struct lab_hooks){
        .arg = arg.out, .begun = begun, .refreshed = refreshed, .ended = ended};
}

/* What a trainer role is made of: its network's shape, and learner, gate and selector by the
 * options. */
#include "role/trainer_impl.h"

#include "fis/defaults.h"
#include "wire/chunk.h"

static bool decide(int option, uint32_t rows)
{
    return option >= 0 ? option : rows >= FIS_DEFAULT_ROWS_FOR_AUTO;
}

/* Rows, and what stands around the slabs. */
#define CHECKPOINT_OTHER ((size_t)16 << 20)

static int shape_fits(const struct trainer_role_options *o, const struct fis_shape *shape,
                      struct fis_error *e)
{
    const int slabs = (int)FIS_LEARNER_SAVED_SLABS(o->learner.adamw) + FIS_GATE_SAVED_SLABS;
    size_t n = fis_shape_params(shape), each = (size_t)slabs * sizeof(float);
    size_t most = (WIRE_CHUNK_TOTAL - CHECKPOINT_OTHER) / each;
    if (n <= most)
        return 0;
    return fis_fail(e, FIS_INPUT,
                    "a network of %zu parameters (%u features, training.hidden, %u classes): a "
                    "checkpoint of it takes %d x 4 bytes for each, %zu in all, and at most %zu are "
                    "kept: %zu parameters are allowed; choose %s",
                    n, fis_shape_inputs(shape), fis_shape_classes(shape), slabs, n * each,
                    WIRE_CHUNK_TOTAL - CHECKPOINT_OTHER, most,
                    o->vit.height ? "a smaller model.width, .mlp or .depth"
                                  : "smaller hidden layers");
}

int trainer_role_make_shape(const struct trainer_role_options *o, uint32_t d, uint32_t margins,
                            uint32_t classes, struct fis_shape *shape, struct fis_error *e)
{
    const struct fis_vit *v = &o->vit;
    int rc = fis_shape_init(shape, v->height ? v->dim : d, o->hidden, o->n_hidden, classes, e);
    if (rc == 0 && v->height)
        rc = fis_shape_set_vit(shape, v, e);
    if (rc == 0)
        rc = fis_shape_set_margins(shape, margins, e);
    if (rc == 0 && fis_shape_inputs(shape) != d)
        rc = fis_fail(e, FIS_INPUT, "trainer: images of %u numbers; records have %u",
                      fis_shape_inputs(shape), d);
    return rc;
}

int trainer_role_fits(const struct trainer_role_options *o, uint32_t features, struct fis_error *e)
{
    struct fis_shape shape;
    int rc = trainer_role_make_shape(o, features, 0, o->schema->n_classes, &shape, e);
    return rc ? rc : shape_fits(o, &shape, e);
}

/* What follows from publication, network and noise. */
static void derive_options(struct trainer_role *m)
{
    struct trainer_role_options *o = &m->o;
    const struct publication *p = o->publication;
    const bool noisy = o->privacy.noise > 0;
    if (!o->refreshes)
        o->refreshes = FIS_DEFAULT_REFRESHES;
    /* With noise a line leads along what is out already: directions at the anchor. A transformer
     * takes minutes from the start: it goes on, and what it averages is published. */
    if (p->mixed || (noisy && p->line) || o->vit.height)
        o->learner.fresh_steps = 0;
    o->learner.mixed = p->mixed;
    o->learner.guided = p->halves;
    o->learner.folds = p->line ? FIS_MAX_FOLDS : p->halves ? 2 : 1;
    o->learner.shape = m->shape;
    o->gate.strict = p->strict;
    o->gate.line = p->line;
    o->selector.d = fis_encoder_dimension(m->encoder);
    o->selector.margins = fis_encoder_has_trees(m->encoder) ? fis_encoder_margins(m->encoder) : 0;
    o->selector.rounds_of_kept = trainer_counts_kept(m);
    o->directions.n_groups = o->n_groups;
    /* The preconditioner makes most of what has little curvature, and that is where noise is. */
    int scaled = o->precondition < 0 && noisy ? 0 : o->precondition;
    o->directions.precondition = decide(scaled, o->validation_rows);
    if (noisy) {
        o->directions.privacy = &o->privacy;
        o->learner.split_by_place = 1;
    }
}

static int make_parts(struct trainer_role *m, struct fis_error *e)
{
    struct trainer_role_options *o = &m->o;
    uint32_t d = fis_encoder_dimension(m->encoder), k = o->schema->n_classes;
    if (trainer_role_make_shape(o, d, fis_encoder_margins(m->encoder), k, &m->shape, e) < 0 ||
        shape_fits(o, &m->shape, e) < 0)
        return -1;
    derive_options(m);
    m->n_groups = o->n_groups;
    m->selector = fis_selector_new(&o->selector, e);
    m->learner = m->selector ? fis_learner_new(&o->learner, e) : NULL;
    m->gate = m->learner ? fis_gate_new(&o->gate, &m->shape, e) : NULL;
    if (!m->gate)
        return -1;
    m->call = (struct publication_call){.state = o->publication_state,
                                        .learner = m->learner,
                                        .gate = m->gate,
                                        .directions = &o->directions};
    m->scratch = fis_scratch_new(&m->shape, ROLE_BLOCK, FIS_DIRECTIONS);
    m->p = fis_alloc((size_t)ROLE_BLOCK * k, sizeof *m->p);
    m->published = fis_calloc(fis_shape_params(&m->shape), sizeof *m->published);
    m->initial = fis_profile_new(m->encoder, e);
    if (!m->initial || trainer_base_init(m, e) < 0)
        return -1;
    if (!m->scratch || !m->p || !m->published)
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for a network of %zu parameters",
                        fis_shape_params(&m->shape));
    return 0;
}

struct trainer_role *trainer_role_new(const struct trainer_role_options *o,
                                      const struct fis_encoder *encoder,
                                      const struct trainer_out *out, struct fis_error *e)
{
    struct trainer_role *m = fis_calloc(1, sizeof *m);
    if (!m) {
        fis_fail(e, FIS_NOMEM, "trainer: no memory");
        return NULL;
    }
    m->o = *o;
    m->out = *out;
    m->encoder = encoder;
    m->state.day = INT64_MIN;
    if (make_parts(m, e) < 0) {
        trainer_role_free(m);
        return NULL;
    }
    return m;
}

void trainer_role_free(struct trainer_role *m)
{
    if (!m)
        return;
    const struct fis_criteria *c = &m->o.selector.criteria;
    if (c->acquisition && c->acquisition->end)
        c->acquisition->end(c->state);
    trainer_window_done(m);
    agreement_done(&m->agreement);
    forgotten_done(&m->forgotten);
    fis_selector_free(m->selector);
    fis_learner_free(m->learner);
    fis_gate_free(m->gate);
    fis_scratch_free(m->scratch);
    fis_free(m->p);
    fis_free(m->published);
    fis_free(m->saved.bytes);
    fis_free(m->next_x);
    fis_free(m->next_y);
    fis_free(m->next_group);
    fis_profile_free(m->initial);
    trainer_base_done(m);
    fis_free(m);
}

struct publication_call *trainer_role_parts(struct trainer_role *m)
{
    return &m->call;
}

const struct fis_shape *trainer_role_shape(const struct trainer_role *m)
{
    return &m->shape;
}

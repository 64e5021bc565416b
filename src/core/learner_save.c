/* The learner's state as bytes, for going on elsewhere to the bit. */
#include "core/learner_impl.h"

#include <string.h>

#include "core/blob.h"

#define MAGIC 0x54534946u /* "FIST" */
#define FORMAT 4u
#define MARK_SAVED (MARK_EXCLUDED | MARK_LEFT_OUT)

/* ---- saving --------------------------------------------------------------------------------- */

#define VIT_FIELDS 9u

static void vit_fields(const struct fis_vit *v, uint32_t out[VIT_FIELDS])
{
    const uint32_t fields[VIT_FIELDS] = {v->height, v->width, v->channels, v->patch, v->dim,
                                         v->depth,  v->heads, v->mlp,      v->token};
    memcpy(out, fields, sizeof fields);
}

static void put_shape(struct blob_writer *w, const struct fis_learner *t)
{
    uint32_t vit[VIT_FIELDS];
    vit_fields(&t->o.shape.vit, vit);
    blob_put_u32(w, t->o.mixed);
    blob_put_u32(w, t->o.adamw);
    blob_put(w, vit, sizeof vit);
    blob_put_u32(w, t->o.shape.n_layers);
    for (uint32_t i = 0; i <= t->o.shape.n_layers; i++)
        blob_put_u32(w, t->o.shape.width[i]);
    blob_put_u32(w, t->initial.n);
    blob_put_u32(w, t->bought.n);
}

static void put_progress(struct blob_writer *w, const struct progress *p)
{
    blob_put_u64(w, p->steps);
    blob_put_u64(w, p->round_steps);
    blob_put_u32(w, p->averaged);
}

/* The order of an epoch is not in it: it is drawn again. */
static void put_generators(struct blob_writer *w, const struct fis_learner *t)
{
    blob_put(w, t->shuffle.s, sizeof t->shuffle.s);
    blob_put(w, t->draw.s, sizeof t->draw.s);
    blob_put(w, t->order_rng.s, sizeof t->order_rng.s);
    blob_put_u32(w, t->order_n);
    blob_put_u32(w, t->order_at);
    blob_put_u32(w, t->order_bought);
}

/* The rows that are excluded, or were when the epoch began: few. */
static void put_marks(struct blob_writer *w, const struct fis_learner *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->bought.n; i++)
        n += (t->mark[i] & MARK_SAVED) != 0;
    blob_put_u32(w, n);
    for (uint32_t i = 0; i < t->bought.n; i++)
        if (t->mark[i] & MARK_SAVED) {
            blob_put_u32(w, i);
            blob_put_u32(w, t->mark[i] & MARK_SAVED);
        }
}

/* Between rounds the vectors are those at the round's beginning, and are written once. */
static void put_vectors(struct blob_writer *w, const struct fis_learner *t)
{
    size_t bytes = t->state_size * sizeof(float);
    uint32_t blocks = memcmp(t->state, t->at_round, bytes) ? 2 : 1;
    blob_put_u32(w, blocks);
    blob_put(w, t->state, bytes);
    if (blocks == 2)
        blob_put(w, t->at_round, bytes);
}

static void put_learner(struct blob_writer *w, const struct fis_learner *t)
{
    blob_put_u32(w, MAGIC);
    blob_put_u32(w, FORMAT);
    put_shape(w, t);
    put_progress(w, &t->now);
    put_progress(w, &t->round);
    blob_put_double(w, t->last_loss);
    put_generators(w, t);
    put_marks(w, t);
    learner_put_base(w, t);
    put_vectors(w, t);
}

size_t fis_learner_save_size(const struct fis_learner *t)
{
    struct blob_writer w = {0};
    put_learner(&w, t);
    return w.size;
}

void fis_learner_save(const struct fis_learner *t, void *out)
{
    struct blob_writer w = {.to = out};
    put_learner(&w, t);
}

/* ---- loading -------------------------------------------------------------------------------- */

/* What a blob holds; the pointers go into it. */
struct loaded {
    uint32_t initial, bought;
    struct progress now, round;
    double last_loss;
    struct fis_rng shuffle, draw, order_rng;
    uint32_t order_n, order_at, order_bought;
    uint32_t n_marks;
    const unsigned char *marks; /* [n_marks] of row and mark, 32 bits each */
    struct learner_base_saved base;
    const unsigned char *state, *at_round;
};

static void get_mark(const struct loaded *l, uint32_t i, uint32_t *row, uint32_t *mark)
{
    memcpy(row, l->marks + (size_t)i * 8, sizeof *row);
    memcpy(mark, l->marks + (size_t)i * 8 + 4, sizeof *mark);
}

static int get_shape(struct blob_reader *r, const struct fis_learner *t, struct loaded *l,
                     struct fis_error *e)
{
    const struct fis_shape *s = &t->o.shape;
    uint32_t saved[VIT_FIELDS], vit[VIT_FIELDS];
    uint32_t mixed = blob_get_u32(r), adamw = blob_get_u32(r);
    blob_get(r, saved, sizeof saved);
    uint32_t layers = blob_get_u32(r);
    vit_fields(&s->vit, vit);
    int same = layers == s->n_layers && memcmp(saved, vit, sizeof vit) == 0;
    if (mixed != t->o.mixed)
        return fis_fail(e, FIS_INPUT, "saved learner: of another publication than now");
    if (adamw != t->o.adamw)
        return fis_fail(e, FIS_INPUT, "saved learner: of another optimizer than now");
    for (uint32_t i = 0; same && i <= layers; i++)
        same = blob_get_u32(r) == s->width[i];
    if (!same)
        return fis_fail(e, FIS_INPUT, "saved learner: a network of another shape");
    l->initial = blob_get_u32(r);
    l->bought = blob_get_u32(r);
    if (l->initial != t->initial.n || l->bought > t->bought.n)
        return fis_fail(e, FIS_INPUT,
                        "saved learner: %u initial and %u bought rows; there are %u and %u",
                        l->initial, l->bought, t->initial.n, t->bought.n);
    return 0;
}

static struct progress get_progress(struct blob_reader *r)
{
    struct progress p;
    p.steps = blob_get_u64(r);
    p.round_steps = blob_get_u64(r);
    p.averaged = blob_get_u32(r);
    return p;
}

/* A generator in the one state that it can never leave is no generator. */
static bool get_generator(struct blob_reader *r, struct fis_rng *rng)
{
    blob_get(r, rng->s, sizeof rng->s);
    return (rng->s[0] | rng->s[1] | rng->s[2] | rng->s[3]) != 0;
}

static int get_generators(struct blob_reader *r, struct loaded *l)
{
    bool good = get_generator(r, &l->shuffle);
    good &= get_generator(r, &l->draw);
    bool drawn = get_generator(r, &l->order_rng);
    l->order_n = blob_get_u32(r);
    l->order_at = blob_get_u32(r);
    l->order_bought = blob_get_u32(r);
    return good && l->order_at <= l->order_n && l->order_bought <= l->bought &&
           (drawn || l->order_n == 0);
}

/* Rows in rising order, and as many left out of the epoch as its length says. */
static int get_marks(struct blob_reader *r, struct loaded *l)
{
    uint32_t left_out = 0;
    l->n_marks = blob_get_u32(r);
    l->marks = blob_skip(r, (size_t)l->n_marks * 8);
    if (!l->marks)
        return 0;
    for (uint32_t i = 0, last = 0; i < l->n_marks; i++) {
        uint32_t row, mark;
        get_mark(l, i, &row, &mark);
        if (row >= l->bought || (i && row <= last) || !mark || (mark & ~MARK_SAVED))
            return 0;
        left_out += (mark & MARK_LEFT_OUT) && row < l->order_bought;
        last = row;
    }
    return l->order_n == 0 || l->order_n == l->initial + l->order_bought - left_out;
}

static int get_vectors(struct blob_reader *r, const struct fis_learner *t, struct loaded *l)
{
    size_t bytes = t->state_size * sizeof(float);
    uint32_t blocks = blob_get_u32(r);
    l->state = blob_skip(r, bytes);
    l->at_round = blocks == 2 ? blob_skip(r, bytes) : l->state;
    return l->state && l->at_round && (blocks == 1 || blocks == 2) && r->left == 0 &&
           blob_floats_finite(l->state, t->state_size) &&
           blob_floats_finite(l->at_round, t->state_size);
}

static int parse(const struct fis_learner *t, const void *in, size_t size, struct loaded *l,
                 struct fis_error *e)
{
    struct blob_reader r = {.from = in, .left = size};
    uint32_t magic = blob_get_u32(&r), format = blob_get_u32(&r);
    if (r.short_of || magic != MAGIC)
        return fis_fail(e, FIS_INPUT, "saved learner: %zu bytes that are none", size);
    if (format != FORMAT)
        return fis_fail(e, FIS_INPUT, "saved learner: format %u; format %u is known", format,
                        FORMAT);
    int rc = get_shape(&r, t, l, e);
    if (rc < 0)
        return rc;
    l->now = get_progress(&r);
    l->round = get_progress(&r);
    l->last_loss = blob_get_double(&r);
    if (!get_generators(&r, l) || !get_marks(&r, l) || !learner_get_base(&r, t, &l->base) ||
        !get_vectors(&r, t, l))
        return fis_fail(e, FIS_INPUT,
                        "saved learner: %zu bytes that do not fit together, or weights that are "
                        "not finite",
                        size);
    return 0;
}

/* An excluded row is in no kept set. */
static void install_marks(struct fis_learner *t, const struct loaded *l)
{
    for (uint32_t i = 0; i < t->bought.n; i++)
        t->mark[i] &= MARK_KEPT;
    for (uint32_t i = 0; i < l->n_marks; i++) {
        uint32_t row, mark;
        get_mark(l, i, &row, &mark);
        uint32_t kept = mark & MARK_EXCLUDED ? 0 : t->mark[row];
        t->mark[row] = (uint8_t)(mark | kept);
    }
    learner_rebuild_list(t);
}

static void install_order(struct fis_learner *t, const struct loaded *l)
{
    t->shuffle = l->order_rng;
    if (l->order_n)
        learner_draw_order(t, l->order_bought);
    t->order_rng = l->order_rng;
    t->order_bought = l->order_bought;
    t->order_n = l->order_n;
    t->order_at = l->order_at;
    t->shuffle = l->shuffle;
}

int fis_learner_load(struct fis_learner *t, const void *in, size_t size, struct fis_error *e)
{
    struct loaded l = {0};
    size_t bytes = t->state_size * sizeof(float);
    int rc = parse(t, in, size, &l, e);
    if (rc < 0 || (rc = learner_order_room(t, e)) < 0 ||
        (rc = learner_install_base(t, &l.base, e)) < 0)
        return rc;
    install_marks(t, &l);
    install_order(t, &l);
    t->draw = l.draw;
    memcpy(t->state, l.state, bytes);
    memcpy(t->at_round, l.at_round, bytes);
    t->n_fresh = 0;
    t->now = l.now;
    t->round = l.round;
    t->last_loss = l.last_loss;
    return 0;
}

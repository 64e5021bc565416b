/* What the gate remembers from one judgement to the next, and from one process to the next. */
#include "core/gate_impl.h"

#include <math.h>
#include <string.h>

#include "core/blob.h"
#include "fis/mem.h"

#define MAGIC 0x47534946u /* "FISG" */
#define FORMAT 2u

static int make_slabs(struct fis_gate *g)
{
    float *at = g->slab = fis_calloc((2 + 3 * FIS_MAX_FOLDS) * g->n_params, sizeof *at);
    if (!at)
        return -1;
    for (int h = 0; h < FIS_MAX_FOLDS; h++, at += 3 * g->n_params) {
        g->served[h] = at;
        g->point[h] = at + g->n_params;
        g->line[1 + h] = at + 2 * g->n_params;
    }
    g->line[0] = at;
    g->picked = at + g->n_params;
    return 0;
}

struct fis_gate *fis_gate_new(const struct fis_gate_options *o, const struct fis_shape *shape,
                              struct fis_error *e)
{
    if (o->metric < FIS_DEMOGRAPHIC_PARITY || o->metric > FIS_RISK_DISPARITY ||
        o->positive >= fis_shape_classes(shape)) {
        fis_fail(e, FIS_INPUT, "gate: unknown metric %d, or positive class %u of %u",
                 (int)o->metric, o->positive, fis_shape_classes(shape));
        return NULL;
    }
    if (!(o->epsilon >= 0) || !(o->standard_errors >= 0)) {
        fis_fail(e, FIS_INPUT, "gate: epsilon %g, standard errors %g; 0 or more are needed",
                 o->epsilon, o->standard_errors);
        return NULL;
    }
    struct fis_gate *g = fis_calloc(1, sizeof *g);
    if (g) {
        g->o = *o;
        g->val0 = NAN;
        g->n_params = fis_shape_params(shape);
    }
    if (!g || make_slabs(g) < 0) {
        fis_fail(e, FIS_NOMEM, "gate: no memory");
        fis_gate_free(g);
        return NULL;
    }
    return g;
}

void fis_gate_free(struct fis_gate *g)
{
    if (!g)
        return;
    fis_free(g->slab);
    fis_free(g);
}

void fis_gate_measure_with(struct fis_gate *g, fis_metrics_fn *fn, void *arg)
{
    g->measure = fn;
    g->measure_arg = arg;
}

double fis_gate_val0(const struct fis_gate *g)
{
    return g->val0;
}

void fis_gate_rebase(struct fis_gate *g, double val0)
{
    g->val0 = val0;
}

void fis_gate_hold(struct fis_gate *g, bool on)
{
    g->held = on;
}

const float *fis_gate_picked(const struct fis_gate *g)
{
    return g->has_picked ? g->picked : NULL;
}

void fis_gate_restore(struct fis_gate *g, double val0, const float *served, uint32_t looks)
{
    g->val0 = val0;
    g->looks = looks;
    g->serves = true;
    for (int h = 0; h < FIS_MAX_FOLDS; h++)
        memcpy(g->served[h], served, g->n_params * sizeof(float));
}

/* ---- saved ---------------------------------------------------------------------------------- */

static void write_gate(const struct fis_gate *g, struct blob_writer *w)
{
    blob_put_u32(w, MAGIC);
    blob_put_u32(w, FORMAT);
    blob_put_u64(w, g->n_params);
    blob_put_double(w, g->val0);
    blob_put_u32(w, g->looks);
    blob_put_u32(w, (uint32_t)g->serves);
    for (int h = 0; h < FIS_MAX_FOLDS; h++)
        blob_put(w, g->served[h], g->n_params * sizeof(float));
}

size_t fis_gate_save_size(const struct fis_gate *g)
{
    struct blob_writer w = {0};
    write_gate(g, &w);
    return w.size;
}

void fis_gate_save(const struct fis_gate *g, void *out)
{
    struct blob_writer w = {.to = out};
    write_gate(g, &w);
}

int fis_gate_load(struct fis_gate *g, const void *in, size_t size, struct fis_error *e)
{
    struct blob_reader r = {.from = in, .left = size};
    uint32_t magic = blob_get_u32(&r), format = blob_get_u32(&r);
    uint64_t n_params = blob_get_u64(&r);
    double val0 = blob_get_double(&r);
    uint32_t looks = blob_get_u32(&r), serves = blob_get_u32(&r);
    if (r.short_of || magic != MAGIC)
        return fis_fail(e, FIS_INPUT, "saved gate: %zu bytes that are none", size);
    if (format != FORMAT)
        return fis_fail(e, FIS_INPUT, "saved gate: format %u; format %u is known", format, FORMAT);
    if (n_params != g->n_params)
        return fis_fail(e, FIS_INPUT, "saved gate: a model of %llu parameters; this one has %zu",
                        (unsigned long long)n_params, g->n_params);
    if (r.left != FIS_GATE_SAVED_SLABS * g->n_params * sizeof(float))
        return fis_fail(e, FIS_INPUT, "saved gate: %zu bytes: cut short, or too long", size);
    if (serves > 1 || (serves && !isfinite(val0)) ||
        !blob_floats_finite(r.from, FIS_MAX_FOLDS * g->n_params))
        return fis_fail(e, FIS_INPUT, "saved gate: VAL_0 or what is served is not finite");
    g->val0 = val0;
    g->looks = looks;
    g->serves = (int)serves;
    for (int h = 0; h < FIS_MAX_FOLDS; h++)
        blob_get(&r, g->served[h], g->n_params * sizeof(float));
    g->has_picked = false;
    return 0;
}

void fis_gate_served_rows(struct fis_gate *g, const float *x)
{
    g->served_x = x;
}

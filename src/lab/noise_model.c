#include "lab/noise_model.h"

#include <string.h>

#include "fis/mem.h"
#include "lab/noise_matrix.h"

int lab_noise_model_init(struct lab_noise_model *m, uint32_t classes, uint32_t groups,
                         struct fis_error *e)
{
    *m = (struct lab_noise_model){.classes = classes, .groups = groups, .confidence = 1};
    m->t = fis_calloc((size_t)classes * classes, sizeof *m->t);
    m->class_inverse = fis_calloc((size_t)classes * classes, sizeof *m->class_inverse);
    m->group_inverse = fis_calloc((size_t)groups * groups, sizeof *m->group_inverse);
    m->cells = fis_calloc(2 * (size_t)groups * classes * classes, sizeof *m->cells);
    if (!m->t || !m->class_inverse || !m->group_inverse || !m->cells) {
        lab_noise_model_done(m);
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    }
    return lab_noise_model_set(m, NULL, NULL, e);
}

void lab_noise_model_done(struct lab_noise_model *m)
{
    fis_free(m->t);
    fis_free(m->class_inverse);
    fis_free(m->group_inverse);
    fis_free(m->cells);
    *m = (struct lab_noise_model){0};
}

int lab_noise_model_set(struct lab_noise_model *m, const double *classes, const double *groups,
                        struct fis_error *e)
{
    const size_t k = (size_t)m->classes * m->classes, g = (size_t)m->groups * m->groups;
    double *work = fis_alloc(2 * (k + g), sizeof *work);
    if (!work)
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    double *t = work, *v = t + k, *tg = v + k, *w = tg + g;
    lab_noise_uniform(m->classes, 0, t);
    lab_noise_uniform(m->groups, 0, tg);
    if (classes)
        memcpy(t, classes, k * sizeof *t);
    if (groups)
        memcpy(tg, groups, g * sizeof *tg);
    int r = lab_noise_invert(m->classes, t, v, e);
    if (r == 0)
        r = lab_noise_invert(m->groups, tg, w, e);
    if (r == 0) {
        memcpy(m->t, t, k * sizeof *t);
        memcpy(m->class_inverse, v, k * sizeof *v);
        memcpy(m->group_inverse, w, g * sizeof *w);
    }
    fis_free(work);
    return r;
}

int lab_noise_contradicts(const struct lab_noise_model *m, const float *p, uint32_t label)
{
    uint32_t own = 0;
    for (uint32_t k = 1; k < m->classes; k++)
        own = p[k] > p[own] ? k : own;
    return own != label && (double)p[own] > m->confidence;
}

/* The transformer's backward pass, a chunk at a time from the last layer to the first. */
#include <cblas.h>
#include <string.h>

#include "core/network_scratch.h"
#include "core/vit_impl.h"

/* da [rows][in] = dz W^T, and adds a^T dz and the sum of dz to g, the layer's block. */
static void dense_backward(const float *a, uint32_t rows, uint32_t in, uint32_t out,
                           const float *dz, const float *p, float *g, float *da)
{
    network_layer_gradient(a, in, dz, out, rows, g);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)in, (int)out, 1, dz,
                (int)out, p, (int)out, 0, da, (int)in);
}

/* w->dx, by what the block gives, becomes that by what it takes. */
static void block_backward(const struct fis_vit *v, const float *p, const struct vit_layout *l,
                           uint32_t n, const struct vit_block *b, struct vit_work *w, float *g)
{
    const uint32_t t = vit_tokens(v), rows = n * t, d = v->dim;
    const size_t wide = (size_t)rows * v->mlp;
    dense_backward(b->act, rows, v->mlp, d, w->dx, p + l->down, g + l->down, w->dwide);
    vit_multiply(b->slope, wide, w->dwide);
    vit_scale(b->hat2, rows, d, p + l->norm2, w->y);
    dense_backward(w->y, rows, d, v->mlp, w->dwide, p + l->up, g + l->up, w->dy);
    vit_norm_backward(w->dy, b->hat2, b->rstd2, rows, d, p + l->norm2, g + l->norm2, w->dx);

    dense_backward(b->mixed, rows, d, d, w->dx, p + l->out, g + l->out, w->dy);
    for (size_t i = 0; i < n; i++)
        vit_attention_backward(v, b->qkv + i * t * 3 * d, b->share + i * v->heads * t * t,
                               w->dy + i * t * d, w->dshare, w->dwide + i * t * 3 * d);
    vit_scale(b->hat1, rows, d, p, w->y);
    dense_backward(w->y, rows, d, 3 * d, w->dwide, p + l->qkv, g + l->qkv, w->dy);
    vit_norm_backward(w->dy, b->hat1, b->rstd1, rows, d, p, g, w->dx);
}

static void embed_backward(const struct fis_vit *v, const struct vit_layout *l, uint32_t n,
                           const struct vit_chunk *c, const float *dx, float *g)
{
    const uint32_t t = vit_tokens(v), patches = t - v->token, d = v->dim;
    const uint32_t size = v->patch * v->patch * v->channels;
    for (size_t i = 0; i < n; i++, dx += (size_t)t * d) {
        for (size_t j = 0; j < (size_t)t * d; j++)
            g[l->position + j] += dx[j];
        for (size_t j = 0; v->token && j < d; j++)
            g[l->token + j] += dx[j];
        network_layer_gradient(c->patches + i * patches * size, size, dx + (v->token ? d : 0), d,
                               patches, g);
    }
}

/* df [n][D] to dy [n][T][D]. */
static void unpool(const struct fis_vit *v, const float *df, uint32_t n, float *dy)
{
    const size_t t = vit_tokens(v), d = v->dim;
    const float share = v->token ? 1 : 1 / (float)t;
    memset(dy, 0, n * t * d * sizeof *dy);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (v->token ? 1 : t); j++)
            for (size_t k = 0; k < d; k++)
                dy[(i * t + j) * d + k] = df[i * d + k] * share;
}

void vit_backward(const struct fis_vit *v, const float *params, uint32_t n, struct vit_work *w,
                  const float *dfeatures, float *gradient)
{
    const struct vit_layout l = vit_layout(v);
    for (uint32_t from = 0, nth = 0; from < n; from += w->chunk, nth++) {
        const uint32_t images = n - from < w->chunk ? n - from : w->chunk;
        const uint32_t rows = images * vit_tokens(v);
        const struct vit_chunk c = vit_chunk_at(v, w, nth);
        unpool(v, dfeatures + (size_t)from * v->dim, images, w->dy);
        memset(w->dx, 0, (size_t)rows * v->dim * sizeof *w->dx);
        vit_norm_backward(w->dy, c.hat, c.rstd, rows, v->dim, params + l.norm, gradient + l.norm,
                          w->dx);
        for (uint32_t i = v->depth; i-- > 0;) {
            const struct vit_block b = vit_block_at(v, w, &c, i);
            const size_t at = l.block + i * l.block_total;
            block_backward(v, params + at, &l, images, &b, w, gradient + at);
        }
        embed_backward(v, &l, images, &c, w->dx, gradient);
    }
}

#include "core/vit.h"

#include <math.h>
#include <string.h>

#include "core/vit_impl.h"
#include "fis/mem.h"

static uint32_t patches_of(const struct fis_vit *v)
{
    return v->height / v->patch * (v->width / v->patch);
}

static uint32_t patch_size(const struct fis_vit *v)
{
    return v->patch * v->patch * v->channels;
}

uint32_t vit_tokens(const struct fis_vit *v)
{
    return patches_of(v) + v->token;
}

struct vit_layout vit_layout(const struct fis_vit *v)
{
    const size_t d = v->dim, f = v->mlp;
    struct vit_layout l = {0};
    l.patch_bias = patch_size(v) * d;
    l.token = l.patch_bias + d;
    l.position = l.token + (v->token ? d : 0);
    l.block = l.position + vit_tokens(v) * d;
    l.qkv = 2 * d;
    l.qkv_bias = l.qkv + 3 * d * d;
    l.out = l.qkv_bias + 3 * d;
    l.out_bias = l.out + d * d;
    l.norm2 = l.out_bias + d;
    l.up = l.norm2 + 2 * d;
    l.up_bias = l.up + d * f;
    l.down = l.up_bias + f;
    l.down_bias = l.down + f * d;
    l.block_total = l.down_bias + d;
    l.norm = l.block + v->depth * l.block_total;
    l.total = l.norm + 2 * d;
    return l;
}

size_t vit_params(const struct fis_vit *v)
{
    return v->height ? vit_layout(v).total : 0;
}

/* ---- first values -----------------------------------------------------------------------------
 */

static void draw(float *w, size_t n, double deviation, struct fis_rng *rng)
{
    for (size_t i = 0; i < n; i++)
        w[i] = (float)(fis_rng_truncated(rng) * (deviation / FIS_RNG_TRUNCATED_DEVIATION));
}

static void ones(float *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] = 1;
}

void vit_init(const struct fis_vit *v, float *params, struct fis_rng *rng)
{
    const struct vit_layout l = vit_layout(v);
    const size_t d = v->dim, f = v->mlp;
    const double by_dim = 1 / sqrt((double)d);
    memset(params, 0, l.total * sizeof *params);
    draw(params, l.patch_bias, 1 / sqrt((double)patch_size(v)), rng);
    draw(params + l.token, l.block - l.token, .02, rng);
    for (uint32_t i = 0; i < v->depth; i++) {
        float *b = params + l.block + i * l.block_total;
        ones(b, d);
        draw(b + l.qkv, 3 * d * d, by_dim, rng);
        draw(b + l.out, d * d, by_dim, rng);
        ones(b + l.norm2, d);
        draw(b + l.up, d * f, by_dim, rng);
        draw(b + l.down, f * d, 1 / sqrt((double)f), rng);
    }
    ones(params + l.norm, d);
}

/* ---- work space -------------------------------------------------------------------------------
 */

/* Where floats are taken from; without a base they are only counted. */
struct room {
    float *base;
    size_t used;
};

/* The next n floats, at a multiple of 16. */
static float *take(struct room *r, size_t n)
{
    float *from = r->base ? r->base + r->used : NULL;
    r->used += (n + 15) / 16 * 16;
    return from;
}

static struct vit_block take_block(const struct fis_vit *v, uint32_t images, struct room *r)
{
    const size_t t = vit_tokens(v), rows = images * t, d = v->dim;
    struct vit_block b;
    b.hat1 = take(r, rows * d);
    b.rstd1 = take(r, rows);
    b.qkv = take(r, rows * 3 * d);
    b.share = take(r, images * v->heads * t * t);
    b.mixed = take(r, rows * d);
    b.hat2 = take(r, rows * d);
    b.rstd2 = take(r, rows);
    b.act = take(r, rows * v->mlp);
    b.slope = take(r, rows * v->mlp);
    return b;
}

static struct vit_chunk take_chunk(const struct fis_vit *v, uint32_t images, struct room *r)
{
    const size_t rows = images * (size_t)vit_tokens(v);
    struct vit_chunk c;
    c.patches = take(r, images * (size_t)patches_of(v) * patch_size(v));
    c.hat = take(r, rows * v->dim);
    c.rstd = take(r, rows);
    c.blocks = take(r, 0);
    return c;
}

struct vit_chunk vit_chunk_at(const struct fis_vit *v, const struct vit_work *w, uint32_t nth)
{
    struct room r = {w->kept + (w->keep ? nth : 0) * w->chunk_floats, 0};
    return take_chunk(v, w->chunk, &r);
}

/* Without keep one block's place serves all. */
struct vit_block vit_block_at(const struct fis_vit *v, const struct vit_work *w,
                              const struct vit_chunk *c, uint32_t layer)
{
    struct room r = {c->blocks + (w->keep ? layer : 0) * w->block_floats, 0};
    return take_block(v, w->chunk, &r);
}

/* Returns the floats in all. */
static size_t lay_out(const struct fis_vit *v, struct vit_work *w, float *slab)
{
    const size_t t = vit_tokens(v), rows = w->chunk * t, d = v->dim;
    const size_t wide = 3 * d > v->mlp ? 3 * d : v->mlp;
    struct room r = {slab, 0};
    w->x = take(&r, rows * d);
    w->y = take(&r, rows * d);
    w->wide = take(&r, rows * wide);
    if (w->keep) {
        w->dx = take(&r, rows * d);
        w->dy = take(&r, rows * d);
        w->dwide = take(&r, rows * wide);
        w->dshare = take(&r, t * t);
    }
    w->kept = take(&r, 0);
    const size_t begin = r.used;
    take_chunk(v, w->chunk, &r);
    const size_t block = r.used;
    take_block(v, w->chunk, &r);
    w->block_floats = r.used - block;
    w->chunk_floats = r.used - begin + (w->keep ? v->depth - 1 : 0) * w->block_floats;
    return begin + (w->keep ? (w->keep + w->chunk - 1) / w->chunk : 1) * w->chunk_floats;
}

struct vit_work *vit_work_new(const struct fis_vit *v, uint32_t keep)
{
    struct vit_work *w = fis_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->keep = keep;
    w->chunk = keep < 1 ? 1 : keep < VIT_CHUNK ? keep : VIT_CHUNK;
    if (!(w->slab = fis_alloc(lay_out(v, w, NULL), sizeof *w->slab))) {
        fis_free(w);
        return NULL;
    }
    lay_out(v, w, w->slab);
    return w;
}

void vit_work_free(struct vit_work *w)
{
    if (w)
        fis_free(w->slab);
    fis_free(w);
}

bool vit_keeps(const struct vit_work *w)
{
    return w && w->keep;
}

/* ---- forward ----------------------------------------------------------------------------------
 */

/* x [height][width][channels] to [patches][P P C]. */
static void cut_patches(const struct fis_vit *v, const float *x, float *to)
{
    const size_t line = (size_t)v->width * v->channels, part = (size_t)v->patch * v->channels;
    for (uint32_t i = 0; i < v->height; i += v->patch)
        for (uint32_t j = 0; j < v->width; j += v->patch)
            for (uint32_t r = 0; r < v->patch; r++, to += part)
                memcpy(to, x + (i + r) * line + (size_t)j * v->channels, part * sizeof *to);
}

static void embed(const struct fis_vit *v, const float *params, const struct vit_layout *l,
                  const float *x, uint32_t n, const struct vit_chunk *c, float *out)
{
    const uint32_t patches = patches_of(v), size = patch_size(v);
    const size_t t = vit_tokens(v), d = v->dim, image = (size_t)v->height * v->width * v->channels;
    for (uint32_t i = 0; i < n; i++) {
        float *cut = c->patches + (size_t)i * patches * size, *to = out + i * t * d;
        cut_patches(v, x + i * image, cut);
        memcpy(to, params + l->position, t * d * sizeof *to);
        for (size_t j = 0; v->token && j < d; j++)
            to[j] += params[l->token + j];
        vit_dense_add(cut, patches, size, v->dim, params, to + v->token * d);
    }
}

static void run_block(const struct fis_vit *v, const float *p, const struct vit_layout *l,
                      uint32_t n, const struct vit_block *b, struct vit_work *w)
{
    const uint32_t t = vit_tokens(v), rows = n * t, d = v->dim;
    vit_norm(w->x, rows, d, p, b->hat1, b->rstd1, w->y);
    vit_dense(w->y, rows, d, 3 * d, p + l->qkv, b->qkv);
    for (size_t i = 0; i < n; i++)
        vit_attention(v, b->qkv + i * t * 3 * d, b->share + i * v->heads * t * t,
                      b->mixed + i * t * d);
    vit_dense_add(b->mixed, rows, d, d, p + l->out, w->x);
    vit_norm(w->x, rows, d, p + l->norm2, b->hat2, b->rstd2, w->y);
    vit_dense(w->y, rows, d, v->mlp, p + l->up, w->wide);
    vit_gelu(w->wide, (size_t)rows * v->mlp, b->act, w->keep ? b->slope : NULL);
    vit_dense_add(b->act, rows, v->mlp, d, p + l->down, w->x);
}

/* y [n][T][D] to features [n][D]. */
static void pool(const struct fis_vit *v, const float *y, uint32_t n, float *features)
{
    const size_t t = vit_tokens(v), d = v->dim;
    const float share = 1 / (float)t;
    for (size_t i = 0; i < n; i++, features += d) {
        memcpy(features, y + i * t * d, d * sizeof *features);
        for (size_t j = 1; !v->token && j < t; j++)
            for (size_t k = 0; k < d; k++)
                features[k] += y[(i * t + j) * d + k];
        for (size_t k = 0; !v->token && k < d; k++)
            features[k] *= share;
    }
}

void vit_forward(const struct fis_vit *v, const float *params, const float *x, uint32_t n,
                 struct vit_work *w, float *features)
{
    const struct vit_layout l = vit_layout(v);
    const size_t image = (size_t)v->height * v->width * v->channels;
    for (uint32_t from = 0, nth = 0; from < n; from += w->chunk, nth++) {
        const uint32_t images = n - from < w->chunk ? n - from : w->chunk;
        const struct vit_chunk c = vit_chunk_at(v, w, nth);
        embed(v, params, &l, x + from * image, images, &c, w->x);
        for (uint32_t i = 0; i < v->depth; i++) {
            const struct vit_block b = vit_block_at(v, w, &c, i);
            run_block(v, params + l.block + i * l.block_total, &l, images, &b, w);
        }
        vit_norm(w->x, images * vit_tokens(v), v->dim, params + l.norm, c.hat, c.rstd, w->y);
        pool(v, w->y, images, features + (size_t)from * v->dim);
    }
}

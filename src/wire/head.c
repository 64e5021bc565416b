#include "wire/head.h"

#include <string.h>

#include "base/decimal.h"
#include "wire/model_parts.h"

static bool is_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0.0f)
            return 0;
    return 1;
}

/* The first layer in which either direction is not all 0. */
static uint32_t first_layer(const struct wire_head *h)
{
    uint32_t l = 0;
    for (; l < h->shape.n_layers; l++) {
        size_t at = fis_shape_offset(&h->shape, l), n = fis_shape_offset(&h->shape, l + 1) - at;
        if (!is_zero(h->g_acc + at, n) || !is_zero(h->g_fair + at, n))
            break;
    }
    return l;
}

static int check_slabs(const struct wire_head *h, struct fis_error *e)
{
    size_t n = fis_shape_params(&h->shape);
    int rc = wire_check_finite(h->params, n, "parameter", e);
    if (!rc)
        rc = wire_check_finite(h->g_acc, n, "accuracy direction", e);
    if (!rc)
        rc = wire_check_finite(h->g_fair, n, "fairness direction", e);
    if (!rc && fis_encoder_dimension(h->encoder) != fis_shape_inputs(&h->shape))
        rc = fis_fail(e, FIS_INPUT, "encoder: %s, the network requires %u",
                      DECIMAL_COUNT(fis_encoder_dimension(h->encoder), "feature"),
                      fis_shape_inputs(&h->shape));
    return rc;
}

static int check_scan(uint64_t version, uint64_t scan, const struct wire_pool_end *ends, size_t n,
                      struct fis_error *e)
{
    if (scan > version)
        return fis_fail(e, FIS_INPUT, "scan %llu of head %llu", (unsigned long long)scan,
                        (unsigned long long)version);
    if (!scan && n)
        return fis_fail(e, FIS_INPUT, "ends of partitions, and no scan");
    for (size_t i = 0; i < n; i++)
        if (ends[i].end < 0)
            return fis_fail(e, FIS_INPUT, "scan: partition %d ends at offset %lld",
                            (int)ends[i].partition, (long long)ends[i].end);
    return n ? wire_partitions_check(&ends->partition, sizeof *ends, n, "scan", e) : 0;
}

static size_t pool_scratch(const struct wire_head *h)
{
    return h->n_ends * (sizeof(Fis__V1__Pool__End) + sizeof(Fis__V1__Pool__End *)) + 32;
}

static int fill_pool(Fis__V1__Pool *pool, const struct wire_head *h, struct fis_arena *a,
                     struct fis_error *e)
{
    fis__v1__pool__init(pool);
    pool->scan = h->scan;
    int rc = check_scan(h->version, h->scan, h->ends, h->n_ends, e);
    if (rc || !h->n_ends)
        return rc;
    Fis__V1__Pool__End *all = fis_arena_alloc(a, h->n_ends * sizeof *all);
    pool->ends = fis_arena_alloc(a, h->n_ends * sizeof(Fis__V1__Pool__End *));
    if (!all || !pool->ends)
        return wire_scratch_full(a, e);
    for (uint32_t i = 0; i < h->n_ends; i++) {
        fis__v1__pool__end__init(&all[i]);
        all[i].partition = h->ends[i].partition;
        all[i].end = h->ends[i].end;
        pool->ends[i] = &all[i];
    }
    pool->n_ends = h->n_ends;
    return 0;
}

static int pack(const struct wire_head *h, const Fis__V1__Network *network,
                Fis__V1__Encoder *encoder, Fis__V1__Pool *pool, struct byte_buffer *out,
                struct fis_error *e)
{
    Fis__V1__ScoringHead m = FIS__V1__SCORING_HEAD__INIT;
    size_t from, start = out->length;
    m.pipeline = (char *)(uintptr_t)h->pipeline;
    m.version = h->version;
    m.round = h->round;
    m.created_at_ms = h->created_at_ms;
    if (h->algorithm)
        m.algorithm = (char *)(uintptr_t)h->algorithm;
    m.heap = h->selection.heap;
    m.distinct = h->selection.distinct;
    m.seed = h->selection.seed;
    m.network = (Fis__V1__Network *)(uintptr_t)network;
    m.encoder = encoder;
    m.pool = h->scan ? pool : NULL;
    if (h->initial) {
        uint32_t n;
        m.initial_counts = (uint32_t *)(uintptr_t)fis_profile_counts(h->initial, &n);
        m.n_initial_counts = n;
    }
    m.directions_from_layer = first_layer(h);
    from = fis_shape_offset(&h->shape, m.directions_from_layer);
    m.n_accuracy_direction = m.n_fairness_direction = fis_shape_params(&h->shape) - from;
    m.accuracy_direction = (float *)(uintptr_t)(h->g_acc + from);
    m.fairness_direction = (float *)(uintptr_t)(h->g_fair + from);
    int rc = wire_protobuf_pack(&m, out, e);
    if (rc)
        return rc;
    /* What is written can be read: names and categories that are not UTF-8 are found here. */
    struct wire_bytes bytes = {out->data + start, out->length - start};
    rc = wire_protobuf_check(&fis__v1__scoring_head__descriptor, bytes, e);
    if (rc)
        out->length = start;
    return rc;
}

int wire_head_encode(const struct wire_head *head, struct byte_buffer *out, struct fis_error *e)
{
    struct fis_arena scratch;
    struct wire_network network;
    Fis__V1__Encoder encoder;
    Fis__V1__Pool pool;
    int rc = check_slabs(head, e);
    if (!rc)
        rc = wire_scratch_init(&scratch, wire_encoder_scratch(head->encoder) + pool_scratch(head),
                               e);
    if (rc)
        return rc;
    wire_network_fill(&network, &head->shape, head->params);
    rc = wire_encoder_fill(&encoder, head->encoder, head->trees, &scratch, e);
    if (!rc)
        rc = fill_pool(&pool, head, &scratch, e);
    if (!rc)
        rc = pack(head, &network.message, &encoder, &pool, out, e);
    fis_free(scratch.base);
    return rc;
}

static int read_direction(const struct fis_shape *shape, uint32_t layer, const float *from,
                          size_t n, const char *what, float *out, struct fis_error *e)
{
    size_t params = fis_shape_params(shape), at;
    if (layer > shape->n_layers)
        return fis_fail(e, FIS_INPUT, "directions from layer %u, the network has %u", layer,
                        shape->n_layers);
    at = fis_shape_offset(shape, layer);
    if (n != params - at)
        return fis_fail(e, FIS_INPUT, "%s: %zu numbers, %zu expected", what, n, params - at);
    memset(out, 0, at * sizeof *out);
    if (n)
        memcpy(out + at, from, n * sizeof *out);
    return wire_check_finite(from, n, what, e);
}

static int read_slabs(const Fis__V1__ScoringHead *m, struct wire_head_owned *out,
                      struct fis_error *e)
{
    struct wire_head *h = &out->head;
    const float *params = NULL;
    int rc = wire_network_read(m->network, &h->shape, &params, e);
    if (rc)
        return rc;
    if (!params)
        return fis_fail(e, FIS_INPUT, "network: no parameters");
    /* The parameters are there, so the size is bounded by the message's; directions may be long
     * runs of zeros that were not sent, but never more than twice that. */
    size_t n = fis_shape_params(&h->shape);
    out->slabs = fis_alloc(3 * n, sizeof *out->slabs);
    if (!out->slabs)
        return fis_fail(e, FIS_NOMEM, "no memory for a head of %zu parameters", n);
    memcpy(out->slabs, params, n * sizeof *params);
    h->params = out->slabs;
    h->g_acc = out->slabs + n;
    h->g_fair = out->slabs + 2 * n;
    rc = read_direction(&h->shape, m->directions_from_layer, m->accuracy_direction,
                        m->n_accuracy_direction, "accuracy direction", out->slabs + n, e);
    if (rc)
        return rc;
    return read_direction(&h->shape, m->directions_from_layer, m->fairness_direction,
                          m->n_fairness_direction, "fairness direction", out->slabs + 2 * n, e);
}

static int read_pool(const Fis__V1__ScoringHead *m, struct wire_head_owned *out,
                     struct fis_error *e)
{
    const Fis__V1__Pool *pool = m->pool;
    if (!pool || (!pool->scan && !pool->n_ends))
        return 0;
    if (pool->n_ends) {
        out->ends = fis_alloc(pool->n_ends, sizeof *out->ends);
        if (!out->ends)
            return fis_fail(e, FIS_NOMEM, "no memory for the ends of %zu partitions", pool->n_ends);
    }
    for (size_t i = 0; i < pool->n_ends; i++)
        out->ends[i] = (struct wire_pool_end){pool->ends[i]->partition, pool->ends[i]->end};
    int rc = check_scan(m->version, pool->scan, out->ends, pool->n_ends, e);
    if (rc)
        return rc;
    out->head.scan = pool->scan;
    out->head.ends = out->ends;
    out->head.n_ends = (uint32_t)pool->n_ends;
    return 0;
}

static int read_initial(const Fis__V1__ScoringHead *m, struct wire_head_owned *out,
                        struct fis_error *e)
{
    if (!m->n_initial_counts)
        return 0;
    if (m->n_initial_counts > UINT32_MAX)
        return fis_fail(e, FIS_INPUT, "distribution: %zu counts", m->n_initial_counts);
    out->initial = fis_profile_new(out->encoder, e);
    if (!out->initial)
        return -(int)FIS_NOMEM;
    out->head.initial = out->initial;
    return fis_profile_load(out->initial, m->initial_counts, (uint32_t)m->n_initial_counts, e);
}

static int read_head(const Fis__V1__ScoringHead *m, struct wire_head_owned *out,
                     struct fis_error *e)
{
    struct wire_head *h = &out->head;
    if (!m->encoder)
        return fis_fail(e, FIS_INPUT, "no encoder");
    if (m->heap > WIRE_HEAP_MAX)
        return fis_fail(e, FIS_INPUT, "heap: %u candidates, at most %u are allowed", m->heap,
                        WIRE_HEAP_MAX);
    int rc = read_slabs(m, out, e);
    if (!rc)
        rc = wire_encoder_read(m->encoder, &h->shape, &out->encoder, e);
    if (!rc)
        rc = read_pool(m, out, e);
    if (!rc)
        rc = read_initial(m, out, e);
    if (rc)
        return rc;
    out->pipeline = fis_strdup(m->pipeline);
    out->algorithm = *m->algorithm ? fis_strdup(m->algorithm) : NULL;
    if (!out->pipeline || (*m->algorithm && !out->algorithm))
        return fis_fail(e, FIS_NOMEM, "no memory for a head");
    h->pipeline = out->pipeline;
    h->algorithm = out->algorithm;
    h->encoder = out->encoder;
    h->version = m->version;
    h->round = m->round;
    h->created_at_ms = m->created_at_ms;
    if (m->heap)
        h->selection = (struct wire_selection){m->heap, m->distinct != 0, m->seed};
    return 0;
}

int wire_head_decode(struct wire_bytes bytes, struct wire_head_owned *out, struct fis_error *e)
{
    struct fis_error own;
    struct wire_head_owned made = {0};
    e = e ? e : &own;
    Fis__V1__ScoringHead *m =
        wire_protobuf_unpack(&fis__v1__scoring_head__descriptor, bytes, NULL, e);
    int rc = m ? read_head(m, &made, e) : -(int)e->kind;
    wire_protobuf_free(m);
    if (rc) {
        wire_head_done(&made);
        fis_error_prefix(e, "scoring head");
        return rc;
    }
    *out = made;
    return 0;
}

void wire_head_done(struct wire_head_owned *head)
{
    if (!head)
        return;
    fis_encoder_free(head->encoder);
    fis_free(head->slabs);
    fis_free(head->pipeline);
    fis_free(head->algorithm);
    fis_free(head->ends);
    fis_profile_free(head->initial);
    *head = (struct wire_head_owned){0};
}

#include "wire/model.h"

#include <string.h>

#include "base/decimal.h"
#include "wire/protobuf_identity.h"
#include "wire/model_parts.h"

#define OF_GATE(field) offsetof(struct wire_model, field), 0

const struct wire_number wire_gate_numbers[] = {
    {"epsilon", OF_GATE(epsilon)},
    {"interpolation", OF_GATE(interpolation)},
    {"val_0", OF_GATE(val0)},
    {"floor", OF_GATE(floor)},
    {"difference", OF_GATE(difference)},
    {"difference_se", OF_GATE(difference_se)},
    {"detectable", OF_GATE(detectable)},
    {NULL, 0, 0},
};

static char *text(const char *s)
{
    return (char *)(uintptr_t)(s ? s : "");
}

static int check(const struct wire_model *m, struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&m->shape), classes = fis_shape_classes(&m->shape);
    if (m->n_classes != classes || m->positive >= classes)
        return fis_fail(e, FIS_INPUT, "classes: %u, positive is %u; the network has %u",
                        m->n_classes, m->positive, classes);
    if (m->served && (!m->params || !m->encoder))
        return fis_fail(e, FIS_INPUT, "a served version without %s",
                        m->params ? "encoder" : "parameters");
    if (m->encoder && fis_encoder_dimension(m->encoder) != d)
        return fis_fail(e, FIS_INPUT, "encoder: %s, the network requires %u",
                        DECIMAL_COUNT(fis_encoder_dimension(m->encoder), "feature"), d);
    if (!m->params)
        return 0;
    return wire_check_finite(m->params, fis_shape_params(&m->shape), "parameter", e);
}

static int fill_gate(Fis__V1__Gate *g, const struct wire_model *m, struct fis_arena *a,
                     struct fis_error *e)
{
    fis__v1__gate__init(g);
    if (!m->verdict || (strcmp(m->verdict, "publish") && strcmp(m->verdict, "reject")))
        return fis_fail(e, FIS_INPUT, "verdict \"%s\": publish or reject expected",
                        text(m->verdict));
    g->verdict =
        m->verdict[0] == 'p' ? FIS__V1__GATE__VERDICT__PUBLISH : FIS__V1__GATE__VERDICT__REJECT;
    g->reason = text(m->reason);
    g->reason_text = text(m->reason_text);
    g->metric = text(m->metric);
    g->looks = m->looks;
    g->smallest_cell = m->smallest_cell;
    g->smallest_cell_warned = m->warn_cell;
    g->undetectable = m->undetectable;
    return wire_numbers_fill(wire_gate_numbers, m, NULL, a, &g->values, &g->n_values, e);
}

static int fill_lineage(Fis__V1__Lineage *l, const struct wire_model *m, struct fis_arena *a,
                        struct fis_error *e)
{
    fis__v1__lineage__init(l);
    l->labels_bought = m->labels_bought;
    l->labels_kept = m->labels_kept;
    l->head_version = m->head_version;
    l->seed = m->seed;
    l->round = m->round;
    l->algorithm = text(m->algorithm);
    return wire_changes_fill(m->changes, m->n_changes, a, &l->changes, &l->n_changes, e);
}

static int pack(const Fis__V1__ModelVersion *v, struct byte_buffer *out, struct fis_error *e)
{
    size_t start = out->length;
    int rc = wire_protobuf_pack(v, out, e);
    if (rc)
        return rc;
    /* What is written can be read: names that are not UTF-8 are found here. */
    struct wire_bytes bytes = {out->data + start, out->length - start};
    rc = wire_protobuf_check(&fis__v1__model_version__descriptor, bytes, e);
    if (rc)
        out->length = start;
    return rc;
}

static int encode(const struct wire_model *m, struct fis_arena *a, struct byte_buffer *out,
                  struct fis_error *e)
{
    Fis__V1__ModelVersion v = FIS__V1__MODEL_VERSION__INIT;
    struct wire_network network;
    Fis__V1__Encoder encoder;
    Fis__V1__Gate gate;
    Fis__V1__Metrics metrics, anchor;
    Fis__V1__Lineage lineage;
    Fis__V1__Privacy privacy;
    v.pipeline = text(m->pipeline);
    v.version = m->version;
    v.parent = m->parent;
    v.previous = m->previous;
    v.created_at_ms = m->created_at_ms;
    v.served = m->served != 0;
    v.n_classes = m->n_classes;
    v.classes = (char **)(uintptr_t)m->classes;
    v.positive = m->positive;
    v.network = &network.message;
    wire_network_fill(&network, &m->shape, m->params);
    v.encoder = m->encoder ? &encoder : NULL;
    v.gate = &gate;
    v.metrics = &metrics;
    v.anchor = &anchor;
    v.lineage = &lineage;
    v.privacy = wire_privacy_fill(&privacy, &m->privacy);
    int rc = fill_lineage(&lineage, m, a, e);
    if (!rc && m->encoder)
        rc = wire_encoder_fill(&encoder, m->encoder, m->trees, a, e);
    if (!rc)
        rc = fill_gate(&gate, m, a, e);
    if (!rc)
        rc = wire_metrics_fill(&metrics, &m->metrics, &m->intervals, a, e);
    if (!rc)
        rc = wire_metrics_fill(&anchor, &m->anchor, NULL, a, e);
    return rc ? rc : pack(&v, out, e);
}

int wire_model_encode(const struct wire_model *model, struct byte_buffer *out, struct fis_error *e)
{
    struct fis_arena scratch;
    const struct wire_identity changes = {.n_changes = model->n_changes};
    size_t bytes = 3 * WIRE_METRICS_SCRATCH + wire_identity_scratch(&changes);
    int rc = check(model, e);
    if (model->encoder)
        bytes += wire_encoder_scratch(model->encoder);
    if (!rc)
        rc = wire_scratch_init(&scratch, bytes, e);
    if (rc)
        return rc;
    rc = encode(model, &scratch, out, e);
    fis_free(scratch.base);
    return rc;
}

static int read_gate(const Fis__V1__Gate *g, struct wire_model *m, struct fis_error *e)
{
    if (!g || !g->verdict)
        return fis_fail(e, FIS_INPUT, "no gate verdict");
    m->verdict = g->verdict == FIS__V1__GATE__VERDICT__PUBLISH ? "publish" : "reject";
    m->reason = g->reason;
    m->reason_text = g->reason_text;
    m->metric = g->metric;
    m->looks = g->looks;
    m->smallest_cell = g->smallest_cell;
    m->warn_cell = g->smallest_cell_warned;
    m->undetectable = g->undetectable != 0;
    return wire_numbers_read(wire_gate_numbers, g->values, g->n_values, m, NULL, e);
}

static int read_lineage(const Fis__V1__Lineage *l, struct wire_model_owned *out,
                        struct fis_error *e)
{
    static const Fis__V1__Lineage none = FIS__V1__LINEAGE__INIT;
    struct wire_model *m = &out->model;
    l = l ? l : &none;
    m->labels_bought = l->labels_bought;
    m->labels_kept = l->labels_kept;
    m->head_version = l->head_version;
    m->seed = l->seed;
    m->round = l->round;
    m->algorithm = l->algorithm;
    if (!l->n_changes)
        return 0;
    struct wire_change *changes = out->storage[1] = fis_alloc(l->n_changes, sizeof *changes);
    if (!changes)
        return fis_fail(e, FIS_NOMEM, "no memory for %zu changes", l->n_changes);
    wire_changes_read(l->changes, l->n_changes, changes);
    m->changes = changes;
    m->n_changes = (uint32_t)l->n_changes;
    return 0;
}

static int read_model(const Fis__V1__ModelVersion *v, struct wire_model_owned *out,
                      struct fis_error *e)
{
    struct wire_model *m = &out->model;
    m->pipeline = v->pipeline;
    m->version = v->version;
    m->parent = v->parent;
    m->created_at_ms = v->created_at_ms;
    m->served = v->served;
    m->classes = (const char *const *)v->classes;
    m->n_classes = (uint32_t)v->n_classes;
    m->positive = v->positive;
    int rc = read_lineage(v->lineage, out, e);
    if (!rc)
        rc = wire_network_read(v->network, &m->shape, &m->params, e);
    if (!rc && v->encoder)
        rc = wire_encoder_read(v->encoder, &m->shape, &out->encoder, e);
    m->encoder = out->encoder;
    if (!rc)
        rc = read_gate(v->gate, m, e);
    m->previous = !rc && strcmp(m->reason, WIRE_ROLLED_BACK) == 0 ? v->previous : v->parent;
    if (!rc)
        rc = wire_metrics_read(v->metrics, &m->metrics, &m->intervals, e);
    if (!rc)
        rc = wire_metrics_read(v->anchor, &m->anchor, NULL, e);
    if (!rc)
        rc = wire_privacy_read(v->privacy, &m->privacy, e);
    return rc ? rc : check(m, e);
}

int wire_model_decode(struct wire_bytes bytes, struct wire_model_owned *out, struct fis_error *e)
{
    struct fis_error own;
    struct wire_model_owned made = {0};
    e = e ? e : &own;
    Fis__V1__ModelVersion *v =
        wire_protobuf_unpack(&fis__v1__model_version__descriptor, bytes, NULL, e);
    made.storage[0] = v; /* the names and parameters stay where they are */
    int rc = v ? read_model(v, &made, e) : -(int)e->kind;
    if (rc) {
        wire_model_done(&made);
        fis_error_prefix(e, "model version");
        return rc;
    }
    *out = made;
    return 0;
}

void wire_model_done(struct wire_model_owned *model)
{
    if (!model)
        return;
    fis_encoder_free(model->encoder);
    wire_protobuf_free(model->storage[0]);
    fis_free(model->storage[1]);
    memset(model, 0, sizeof *model);
}

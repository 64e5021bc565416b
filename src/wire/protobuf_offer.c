#include "wire/protobuf_codec.h"

#include <math.h>

#include "wire/protobuf_parts.h"

enum { MOST_SCORES = sizeof((struct wire_candidate *)0)->scores / sizeof(float) };

static int encode_candidate(const struct wire_candidate *from, struct wire_buffer *out,
                            struct fis_error *e)
{
    Fis__V1__Offer offer = FIS__V1__OFFER__INIT;
    Fis__V1__Candidate c = FIS__V1__CANDIDATE__INIT;
    Fis__V1__Vector x;
    Fis__V1__Score scores[MOST_SCORES], *list[MOST_SCORES];
    offer.kind_case = FIS__V1__OFFER__KIND_CANDIDATE;
    offer.candidate = &c;
    c.id = wire_binary_of(from->id.bytes, from->id.length);
    c.x = &x;
    c.scores = list;
    for (uint32_t i = 0; i < MOST_SCORES; i++) {
        if (from->scores[i] == -INFINITY) /* no candidate of this criterion */
            continue;
        if (!isfinite(from->scores[i]))
            return fis_fail(e, FIS_INPUT, "score %u is neither finite nor -inf", i);
        fis__v1__score__init(&scores[i]);
        scores[i].criterion = i;
        scores[i].value = from->scores[i];
        list[c.n_scores++] = &scores[i];
    }
    c.head_version = from->head_version;
    c.encoding = (Fis__V1__Encoding)from->encoding;
    c.record = wire_binary_of(from->record.data, from->record.length);
    c.event_time_ms = from->event_time_ms;
    if (from->topic)
        c.topic = (char *)(uintptr_t)from->topic;
    c.partition = from->partition;
    c.offset = from->offset;
    return wire_vector_pack(&offer, &x, from->x, from->d, out, e);
}

static int encode_progress(const struct wire_progress *from, struct wire_buffer *out,
                           struct fis_error *e)
{
    Fis__V1__Offer offer = FIS__V1__OFFER__INIT;
    Fis__V1__Progress p = FIS__V1__PROGRESS__INIT;
    offer.kind_case = FIS__V1__OFFER__KIND_PROGRESS;
    offer.progress = &p;
    if (from->scorer)
        p.scorer = (char *)(uintptr_t)from->scorer;
    p.records = from->records;
    p.refused = from->refused;
    p.tombstones = from->tombstones;
    p.head_version = from->head_version;
    return wire_protobuf_pack(&offer, out, e);
}

int wire_offer_encode(const struct wire_offer *offer, struct wire_buffer *out, struct fis_error *e)
{
    if (offer->kind == WIRE_CANDIDATE)
        return encode_candidate(&offer->candidate, out, e);
    return encode_progress(&offer->progress, out, e);
}

static int decode_scores(const Fis__V1__Candidate *c, float *scores, struct fis_error *e)
{
    for (uint32_t i = 0; i < MOST_SCORES; i++)
        scores[i] = -INFINITY;
    for (size_t i = 0; i < c->n_scores; i++) {
        uint32_t k = c->scores[i]->criterion;
        if (k >= MOST_SCORES)
            return fis_fail(e, FIS_INPUT, "score of criterion %u: 0..%d allowed", k,
                            MOST_SCORES - 1);
        if (!isfinite(c->scores[i]->value))
            return fis_fail(e, FIS_INPUT, "score of criterion %u is not finite", k);
        scores[k] = c->scores[i]->value;
    }
    return 0;
}

static int decode_candidate(const struct wire_message *m, const Fis__V1__Candidate *c,
                            struct fis_arena *arena, struct wire_offer *offer, struct fis_error *e)
{
    struct wire_candidate out = {
        .head_version = c->head_version,
        .record = wire_bytes_of(c->record),
        .event_time_ms = c->event_time_ms,
        .topic = c->topic,
        .partition = c->partition,
        .offset = c->offset,
    };
    int rc = wire_message_id(m, wire_bytes_of(c->id), 0, &out.id, e);
    if (!rc)
        rc = wire_encoding_of(c->encoding, &out.encoding, e);
    if (!rc)
        rc = wire_vector_read(c->x, arena, &out.x, &out.d, e);
    if (!rc && !out.d)
        rc = fis_fail(e, FIS_INPUT, "a candidate without features");
    if (!rc)
        rc = decode_scores(c, out.scores, e);
    if (rc)
        return rc;
    offer->kind = WIRE_CANDIDATE;
    offer->candidate = out;
    return 0;
}

static int decode(const struct wire_message *m, struct fis_arena *arena, struct wire_offer *offer,
                  struct fis_error *e)
{
    const Fis__V1__Offer *o = wire_protobuf_unpack(&fis__v1__offer__descriptor, m->value, arena, e);
    if (!o)
        return -FIS_INPUT;
    if (o->kind_case == FIS__V1__OFFER__KIND_CANDIDATE)
        return decode_candidate(m, o->candidate, arena, offer, e);
    if (o->kind_case != FIS__V1__OFFER__KIND_PROGRESS)
        return fis_fail(e, FIS_INPUT, "an offer of an unknown kind: candidate or progress wanted");
    const Fis__V1__Progress *p = o->progress;
    offer->kind = WIRE_PROGRESS;
    offer->progress = (struct wire_progress){
        .scorer = p->scorer,
        .records = p->records,
        .refused = p->refused,
        .tombstones = p->tombstones,
        .head_version = p->head_version,
    };
    return 0;
}

enum wire_decoded wire_offer_decode(const struct wire_message *m, struct fis_arena *arena,
                                    struct wire_offer *offer, struct fis_error *e)
{
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    return decode(m, arena, offer, e) ? WIRE_BAD : WIRE_OK;
}

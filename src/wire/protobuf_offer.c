#include "wire/protobuf_codec.h"

#include <math.h>

#include "wire/protobuf_parts.h"

enum { MOST_SCORES = sizeof((struct wire_candidate *)0)->scores / sizeof(float) };

static int encode_candidate(const struct wire_candidate *from, struct byte_buffer *out,
                            struct fis_error *e)
{
    Fis__V1__Offer offer = FIS__V1__OFFER__INIT;
    Fis__V1__Candidate c = FIS__V1__CANDIDATE__INIT, *one = &c;
    Fis__V1__Vector x;
    Fis__V1__Score scores[MOST_SCORES], *list[MOST_SCORES];
    offer.candidates = &one;
    offer.n_candidates = 1;
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

static int check_range(const struct wire_range *r, struct fis_error *e)
{
    if (r->partition < 0 || r->begin < 0 || r->next < r->begin)
        return fis_refuse(e, FIS_CODE_BAD_FIELD,
                          "a range of partition %d from offset %lld up to %lld", (int)r->partition,
                          (long long)r->begin, (long long)r->next);
    uint64_t offsets = (uint64_t)(r->next - r->begin);
    if (r->records > offsets || r->refused > offsets - r->records ||
        r->tombstones > offsets - r->records - r->refused)
        return fis_refuse(
            e, FIS_CODE_BAD_FIELD,
            "a range of %llu offsets with %llu records, %llu refused, %llu tombstones",
            (unsigned long long)offsets, (unsigned long long)r->records,
            (unsigned long long)r->refused, (unsigned long long)r->tombstones);
    return 0;
}

static int check_ranges(size_t n, struct fis_error *e)
{
    if (n > WIRE_PARTITIONS)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "progress: %zu ranges, at most %u allowed", n,
                          WIRE_PARTITIONS);
    return 0;
}

static int fill_ranges(Fis__V1__Progress *p, const struct wire_progress *from,
                       struct fis_arena *scratch, struct fis_error *e)
{
    size_t n = from->n_ranges;
    Fis__V1__Range *all = fis_arena_alloc(scratch, n * sizeof *all);
    p->ranges = fis_arena_alloc(scratch, n * sizeof(Fis__V1__Range *));
    if (!all || !p->ranges)
        return fis_fail(e, FIS_NOMEM, "no memory for %zu ranges", n);
    for (size_t i = 0; i < n; i++) {
        const struct wire_range *r = &from->ranges[i];
        int rc = check_range(r, e);
        if (rc)
            return rc;
        fis__v1__range__init(&all[i]);
        all[i].partition = r->partition;
        all[i].begin = r->begin;
        all[i].next = r->next;
        all[i].records = r->records;
        all[i].refused = r->refused;
        all[i].tombstones = r->tombstones;
        p->ranges[i] = &all[i];
    }
    p->n_ranges = n;
    return 0;
}

static int encode_progress(const struct wire_progress *from, struct byte_buffer *out,
                           struct fis_error *e)
{
    Fis__V1__Offer offer = FIS__V1__OFFER__INIT;
    Fis__V1__Progress p = FIS__V1__PROGRESS__INIT;
    size_t size = 64 + from->n_ranges * (sizeof(Fis__V1__Range) + sizeof(Fis__V1__Range *));
    int rc = check_ranges(from->n_ranges, e);
    if (rc)
        return rc;
    struct fis_arena scratch = {.base = fis_alloc(size, 1), .size = size};
    if (!scratch.base)
        return fis_fail(e, FIS_NOMEM, "no memory for %zu bytes", size);
    offer.progress = &p;
    if (from->scorer)
        p.scorer = (char *)(uintptr_t)from->scorer;
    p.head_version = from->head_version;
    p.scan = from->scan;
    rc = from->n_ranges ? fill_ranges(&p, from, &scratch, e) : 0;
    if (!rc)
        rc = wire_protobuf_pack(&offer, out, e);
    fis_free(scratch.base);
    return rc;
}

int wire_offer_encode(const struct wire_offer *offer, struct byte_buffer *out, struct fis_error *e)
{
    size_t before = out->length;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < offer->n_candidates; i++)
        rc = encode_candidate(&offer->candidates[i], out, e);
    if (!rc && offer->progress)
        rc = encode_progress(offer->progress, out, e);
    if (rc)
        out->length = before;
    return rc;
}

static int decode_scores(const Fis__V1__Candidate *c, float *scores, struct fis_error *e)
{
    for (uint32_t i = 0; i < MOST_SCORES; i++)
        scores[i] = -INFINITY;
    for (size_t i = 0; i < c->n_scores; i++) {
        uint32_t k = c->scores[i]->criterion;
        if (k >= MOST_SCORES)
            return fis_refuse(e, FIS_CODE_BAD_FIELD, "score of criterion %u: 0..%d allowed", k,
                              MOST_SCORES - 1);
        if (!isfinite(c->scores[i]->value))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "score of criterion %u is not finite", k);
        scores[k] = c->scores[i]->value;
    }
    return 0;
}

static int decode_candidate(const struct wire_message *m, const Fis__V1__Candidate *c,
                            struct fis_arena *arena, struct wire_candidate *out,
                            struct fis_error *e)
{
    *out = (struct wire_candidate){
        .head_version = c->head_version,
        .record = wire_bytes_of(c->record),
        .event_time_ms = c->event_time_ms,
        .topic = c->topic,
        .partition = c->partition,
        .offset = c->offset,
    };
    int rc = wire_message_id(m, wire_bytes_of(c->id), 0, &out->id, e);
    if (!rc)
        rc = wire_encoding_of(c->encoding, &out->encoding, e);
    if (!rc)
        rc = wire_vector_read(c->x, arena, &out->x, &out->d, e);
    if (!rc && !out->d)
        rc = fis_refuse(e, FIS_CODE_WRONG_WIDTH, "a candidate without features");
    return rc ? rc : decode_scores(c, out->scores, e);
}

static int decode_candidates(const struct wire_message *m, const Fis__V1__Offer *o,
                             struct fis_arena *arena, struct wire_offer *offer, struct fis_error *e)
{
    struct wire_candidate *all = fis_arena_alloc(arena, o->n_candidates * sizeof *all);
    if (!all)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "%zu candidates take more than %zu bytes",
                          o->n_candidates, arena->size);
    for (size_t i = 0; i < o->n_candidates; i++) {
        int rc = decode_candidate(m, o->candidates[i], arena, &all[i], e);
        if (rc) {
            fis_error_prefix(e, "candidate %zu of %zu", i + 1, o->n_candidates);
            return rc;
        }
    }
    offer->candidates = all;
    offer->n_candidates = (uint32_t)o->n_candidates;
    return 0;
}

static int decode_progress(const Fis__V1__Progress *p, struct fis_arena *arena,
                           struct wire_offer *offer, struct fis_error *e)
{
    struct wire_range *ranges = NULL;
    struct wire_progress *out = NULL;
    int rc = check_ranges(p->n_ranges, e);
    if (!rc) {
        out = fis_arena_alloc(arena, sizeof *out);
        ranges = fis_arena_alloc(arena, p->n_ranges * sizeof *ranges);
        if (!out || !ranges)
            rc = fis_refuse(e, FIS_CODE_TOO_LONG, "progress: %zu ranges take more than %zu bytes",
                            p->n_ranges, arena->size);
    }
    for (size_t i = 0; !rc && i < p->n_ranges; i++) {
        const Fis__V1__Range *r = p->ranges[i];
        ranges[i] = (struct wire_range){r->partition, r->begin,   r->next,
                                        r->records,   r->refused, r->tombstones};
        rc = check_range(&ranges[i], e);
    }
    if (rc)
        return rc;
    *out = (struct wire_progress){
        .scorer = p->scorer,
        .head_version = p->head_version,
        .scan = p->scan,
        .ranges = ranges,
        .n_ranges = (uint32_t)p->n_ranges,
    };
    offer->progress = out;
    return 0;
}

static int decode(const struct wire_message *m, struct fis_arena *arena, struct wire_offer *offer,
                  struct fis_error *e)
{
    const Fis__V1__Offer *o = wire_protobuf_unpack(&fis__v1__offer__descriptor, m->value, arena, e);
    if (!o)
        return -FIS_INPUT;
    *offer = (struct wire_offer){0};
    int rc = o->n_candidates ? decode_candidates(m, o, arena, offer, e) : 0;
    if (!rc && o->progress)
        rc = decode_progress(o->progress, arena, offer, e);
    if (!rc && !o->n_candidates && !o->progress)
        rc =
            fis_refuse(e, FIS_CODE_BAD_FIELD, "an offer of nothing: candidates or progress "
                                              "expected");
    return rc;
}

enum wire_decoded wire_offer_decode(const struct wire_message *m, struct fis_arena *arena,
                                    struct wire_offer *offer, struct fis_error *e)
{
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    return decode(m, arena, offer, e) ? WIRE_BAD : WIRE_OK;
}

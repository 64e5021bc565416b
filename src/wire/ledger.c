#include "wire/ledger_impl.h"

#include <string.h>

#include "wire/protobuf_parts.h"

_Static_assert((int)WIRE_IN_HEAP == (int)FIS__V1__LEDGER_ENTRY__STATE__IN_HEAP &&
                   (int)WIRE_REQUESTED == (int)FIS__V1__LEDGER_ENTRY__STATE__REQUESTED &&
                   (int)WIRE_ACCEPTED == (int)FIS__V1__LEDGER_ENTRY__STATE__ACCEPTED &&
                   (int)WIRE_SET_ASIDE == (int)FIS__V1__LEDGER_ENTRY__STATE__SET_ASIDE &&
                   (int)WIRE_EXPIRED == (int)FIS__V1__LEDGER_ENTRY__STATE__EXPIRED &&
                   (int)WIRE_SKIPPED_BY_PERSON == (int)FIS__V1__LEDGER_ENTRY__STATE__SKIPPED &&
                   (int)WIRE_CANCELLED == (int)FIS__V1__LEDGER_ENTRY__STATE__CANCELLED &&
                   (int)WIRE_TIED == (int)FIS__V1__LEDGER_ENTRY__STATE__TIED,
               "a state has one number, here and on the wire");

const struct wire_bytes wire_ledger_state_key = {"", 1}; /* the NUL that ends it */
static const char checkpoint_key[] = "\0checkpoint/";

static int check_vote(const struct fis_vote *v, struct fis_error *e)
{
    if (v->status != WIRE_LABELLED && v->class_index)
        return fis_fail(e, FIS_INPUT, "a vote without an answer, and with class %u",
                        v->class_index);
    return wire_annotator_check(v->annotator, e);
}

static int check_votes(size_t n, struct fis_error *e)
{
    if (n > WIRE_VOTES)
        return fis_fail(e, FIS_INPUT, "%zu votes, at most %d allowed", n, WIRE_VOTES);
    return 0;
}

static int fill_votes(const struct wire_ledger_entry *entry, Fis__V1__Vote *votes,
                      Fis__V1__Vote **list, Fis__V1__LedgerEntry *m, struct fis_error *e)
{
    int rc = check_votes(entry->n_votes > entry->required ? entry->n_votes : entry->required, e);
    for (uint32_t i = 0; !rc && i < entry->n_votes; i++) {
        struct fis_vote from = entry->votes[i];
        from.annotator = from.annotator ? from.annotator : "";
        rc = check_vote(&from, e);
        fis__v1__vote__init(&votes[i]);
        votes[i].annotator = (char *)(uintptr_t)from.annotator;
        votes[i].status = (Fis__V1__Label__Status)from.status;
        votes[i].class_index = from.class_index;
        votes[i].at_ms = from.at_ms;
        list[i] = &votes[i];
    }
    m->n_votes = rc ? 0 : entry->n_votes;
    m->votes = list;
    return rc;
}

int wire_ledger_entry_encode(const struct wire_ledger_entry *entry, struct byte_buffer *out,
                             struct fis_error *e)
{
    Fis__V1__LedgerEntry m = FIS__V1__LEDGER_ENTRY__INIT;
    Fis__V1__Vector x;
    Fis__V1__Vote votes[WIRE_VOTES], *list[WIRE_VOTES];
    if (entry->state < WIRE_IN_HEAP || entry->state > WIRE_TIED)
        return fis_fail(e, FIS_INPUT, "ledger: no state %d", (int)entry->state);
    m.state = (Fis__V1__LedgerEntry__State)entry->state;
    m.class_index = entry->class_index;
    m.criterion = entry->criterion;
    m.round = entry->round;
    m.encoding = (Fis__V1__Encoding)entry->encoding;
    m.record = wire_binary_of(entry->record.data, entry->record.length);
    m.asked_at_ms = entry->asked_at_ms;
    m.refunded = entry->refunded != 0;
    m.required = entry->required > 1 ? entry->required : 0;
    int rc = fill_votes(entry, votes, list, &m, e);
    if (rc || !entry->d)
        return rc ? rc : wire_protobuf_pack(&m, out, e);
    m.x = &x;
    return wire_vector_pack(&m, &x, entry->x, entry->d, out, e);
}

static int read_votes(const Fis__V1__LedgerEntry *l, struct fis_arena *arena,
                      struct wire_ledger_entry *out, struct fis_error *e)
{
    int rc = check_votes(l->n_votes > l->required ? l->n_votes : l->required, e);
    if (rc || !l->n_votes)
        return rc;
    struct fis_vote *votes = fis_arena_alloc(arena, l->n_votes * sizeof *votes);
    if (!votes)
        return fis_fail(e, FIS_INPUT, "%zu votes take more than %zu bytes", l->n_votes,
                        arena->size);
    for (size_t i = 0; !rc && i < l->n_votes; i++) {
        const Fis__V1__Vote *v = l->votes[i];
        votes[i] = (struct fis_vote){v->annotator, (enum wire_label_status)v->status,
                                     v->class_index, v->at_ms};
        rc = check_vote(&votes[i], e);
    }
    out->votes = votes;
    out->n_votes = (uint32_t)l->n_votes;
    return rc;
}

static int decode_entry(const struct wire_message *m, struct fis_arena *arena,
                        struct wire_ledger_entry *entry, struct fis_error *e)
{
    const Fis__V1__LedgerEntry *l =
        wire_protobuf_unpack(&fis__v1__ledger_entry__descriptor, m->value, arena, e);
    if (!l)
        return -FIS_INPUT;
    if (!l->state)
        return fis_fail(e, FIS_INPUT, "ledger: an entry without a state");
    struct wire_ledger_entry out = {
        .state = (enum wire_ledger_state)l->state,
        .class_index = l->class_index,
        .criterion = l->criterion,
        .round = l->round,
        .record = wire_bytes_of(l->record),
        .asked_at_ms = l->asked_at_ms,
        .refunded = l->refunded != 0,
        .required = l->required ? l->required : 1,
    };
    int rc = wire_message_id(m, (struct wire_bytes){0}, 0, &out.id, e);
    if (!rc && (l->encoding || l->record.len))
        rc = wire_encoding_of(l->encoding, &out.encoding, e);
    if (!rc)
        rc = wire_vector_read(l->x, arena, &out.x, &out.d, e);
    if (!rc)
        rc = read_votes(l, arena, &out, e);
    if (!rc)
        *entry = out;
    return rc;
}

static bool is_chunk_key(struct wire_bytes key)
{
    size_t n = sizeof checkpoint_key - 1;
    return key.length > n && !memcmp(key.data, checkpoint_key, n);
}

enum wire_decoded wire_ledger_decode(const struct wire_message *m, struct fis_arena *arena,
                                     struct wire_ledger_item *item, struct fis_error *e)
{
    const unsigned char *key = m->key.data;
    if (m->key.length == 1 && key[0] == 0) {
        if (m->value.data && wire_ledger_state_read(m->value, arena, &item->state, e))
            return WIRE_BAD;
        item->kind = WIRE_LEDGER_STATE;
        return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
    }
    if (is_chunk_key(m->key)) {
        item->kind = WIRE_LEDGER_CHECKPOINT;
        item->chunk = m->value;
        return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
    }
    if (wire_is_forgotten_key(m->key)) {
        item->kind = WIRE_LEDGER_FORGOTTEN;
        if (wire_forgotten_read(m, arena, &item->forgotten, e))
            return WIRE_BAD;
        return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
    }
    if (m->value.data ? decode_entry(m, arena, &item->entry, e)
                      : wire_message_id(m, (struct wire_bytes){0}, 0, &item->entry.id, e))
        return WIRE_BAD;
    item->kind = WIRE_LEDGER_ENTRY;
    return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
}

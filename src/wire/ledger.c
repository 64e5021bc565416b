#include "wire/ledger.h"

#include "wire/model_parts.h"

_Static_assert((int)WIRE_IN_HEAP == (int)FIS__V1__LEDGER_ENTRY__STATE__IN_HEAP &&
                   (int)WIRE_REQUESTED == (int)FIS__V1__LEDGER_ENTRY__STATE__REQUESTED &&
                   (int)WIRE_ACCEPTED == (int)FIS__V1__LEDGER_ENTRY__STATE__ACCEPTED &&
                   (int)WIRE_SET_ASIDE == (int)FIS__V1__LEDGER_ENTRY__STATE__SET_ASIDE &&
                   (int)WIRE_EXPIRED == (int)FIS__V1__LEDGER_ENTRY__STATE__EXPIRED &&
                   (int)WIRE_SKIPPED_BY_PERSON == (int)FIS__V1__LEDGER_ENTRY__STATE__SKIPPED,
               "a state has one number, here and on the wire");

const struct wire_bytes wire_ledger_state_key = {"", 1}; /* the NUL that ends it */

static const struct wire_number state_numbers[] = {
    {"val_0", offsetof(struct wire_trainer_state, val0), 0},
    {"served_accuracy", offsetof(struct wire_trainer_state, served_accuracy), 0},
    {"trained", offsetof(struct wire_trainer_state, trained), 0},
    {NULL, 0, 0},
};

int wire_ledger_entry_encode(const struct wire_ledger_entry *entry, struct wire_buffer *out,
                             struct fis_error *e)
{
    Fis__V1__LedgerEntry m = FIS__V1__LEDGER_ENTRY__INIT;
    Fis__V1__Vector x;
    if (entry->state < WIRE_IN_HEAP || entry->state > WIRE_SKIPPED_BY_PERSON)
        return fis_fail(e, FIS_INPUT, "ledger: no state %d", (int)entry->state);
    m.state = (Fis__V1__LedgerEntry__State)entry->state;
    m.class_index = entry->class_index;
    m.criterion = entry->criterion;
    m.round = entry->round;
    m.encoding = (Fis__V1__Encoding)entry->encoding;
    m.record = wire_binary_of(entry->record.data, entry->record.length);
    if (!entry->d)
        return wire_protobuf_pack(&m, out, e);
    m.x = &x;
    return wire_vector_pack(&m, &x, entry->x, entry->d, out, e);
}

int wire_ledger_state_encode(const struct wire_trainer_state *state, struct wire_buffer *out,
                             struct fis_error *e)
{
    Fis__V1__TrainerState m = FIS__V1__TRAINER_STATE__INIT;
    _Alignas(16) unsigned char bytes[512];
    struct fis_arena scratch = {.base = bytes, .size = sizeof bytes};
    m.round = state->round;
    m.window_records = state->window_records;
    m.head_version = state->head_version;
    m.model_version = state->model_version;
    m.served_version = state->served_version;
    m.looks = state->looks;
    int rc = wire_numbers_fill(state_numbers, state, NULL, &scratch, &m.values, &m.n_values, e);
    return rc ? rc : wire_protobuf_pack(&m, out, e);
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
    };
    int rc = wire_message_id(m, (struct wire_bytes){0}, 0, &out.id, e);
    if (!rc && (l->encoding || l->record.len))
        rc = wire_encoding_of(l->encoding, &out.encoding, e);
    if (!rc)
        rc = wire_vector_read(l->x, arena, &out.x, &out.d, e);
    if (!rc)
        *entry = out;
    return rc;
}

static int decode_state(const struct wire_message *m, struct fis_arena *arena,
                        struct wire_trainer_state *state, struct fis_error *e)
{
    const Fis__V1__TrainerState *s =
        wire_protobuf_unpack(&fis__v1__trainer_state__descriptor, m->value, arena, e);
    if (!s)
        return -FIS_INPUT;
    struct wire_trainer_state out = {
        .round = s->round,
        .window_records = s->window_records,
        .head_version = s->head_version,
        .model_version = s->model_version,
        .served_version = s->served_version,
        .looks = s->looks,
    };
    int rc = wire_numbers_read(state_numbers, s->values, s->n_values, &out, NULL, e);
    if (!rc)
        *state = out;
    return rc;
}

enum wire_decoded wire_ledger_decode(const struct wire_message *m, struct fis_arena *arena,
                                     struct wire_ledger_item *item, struct fis_error *e)
{
    const unsigned char *key = m->key.data;
    if (m->key.length == 1 && key[0] == 0) {
        if (m->value.data && decode_state(m, arena, &item->state, e))
            return WIRE_BAD;
        item->kind = WIRE_LEDGER_STATE;
        return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
    }
    if (m->value.data ? decode_entry(m, arena, &item->entry, e)
                      : wire_message_id(m, (struct wire_bytes){0}, 0, &item->entry.id, e))
        return WIRE_BAD;
    item->kind = WIRE_LEDGER_ENTRY;
    return m->value.data ? WIRE_OK : WIRE_TOMBSTONE;
}

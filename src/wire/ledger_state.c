#include "wire/ledger_impl.h"

#include "wire/protobuf_identity.h"
#include "wire/model_parts.h"

_Static_assert((int)WIRE_PHASE_COLLECT == (int)FIS__V1__TRAINER_STATE__PHASE__COLLECT &&
                   (int)WIRE_PHASE_LABEL == (int)FIS__V1__TRAINER_STATE__PHASE__LABEL &&
                   (int)WIRE_PHASE_DONE == (int)FIS__V1__TRAINER_STATE__PHASE__DONE,
               "a phase has one number, here and on the wire");

#define MOST_TEXT 500 /* of what became of a command */

static const struct wire_number state_numbers[] = {
    {"val_0", offsetof(struct wire_trainer_state, val0), 0},
    {"served_accuracy", offsetof(struct wire_trainer_state, served_accuracy), 0},
    {"trained", offsetof(struct wire_trainer_state, trained), 0},
    {NULL, 0, 0},
};

static int check_counted(const struct wire_counted *counted, size_t n, struct fis_error *e)
{
    if (!n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (counted[i].next < 0)
            return fis_fail(e, FIS_INPUT, "counted: partition %d up to offset %lld",
                            (int)counted[i].partition, (long long)counted[i].next);
    return wire_partitions_check(&counted->partition, sizeof *counted, n, "counted", e);
}

static int fill_counted(Fis__V1__TrainerState *m, const struct wire_trainer_state *state,
                        struct fis_arena *a, struct fis_error *e)
{
    size_t n = state->n_counted;
    int rc = check_counted(state->counted, n, e);
    if (rc || !n)
        return rc;
    Fis__V1__Counted *all = fis_arena_alloc(a, n * sizeof *all);
    m->counted = fis_arena_alloc(a, n * sizeof(Fis__V1__Counted *));
    if (!all || !m->counted)
        return wire_scratch_full(a, e);
    for (size_t i = 0; i < n; i++) {
        fis__v1__counted__init(&all[i]);
        all[i].partition = state->counted[i].partition;
        all[i].next = state->counted[i].next;
        m->counted[i] = &all[i];
    }
    m->n_counted = n;
    return 0;
}

static int fill_texts(Fis__V1__TrainerState *m, const struct wire_trainer_state *state,
                      struct fis_arena *a, struct fis_error *e)
{
    m->control_id = wire_text_of(state->control_id, FIS_ID_MAX, a);
    m->control_text = wire_text_of(state->control_text, MOST_TEXT, a);
    return m->control_id && m->control_text ? 0 : wire_scratch_full(a, e);
}

static void fill_plain(Fis__V1__TrainerState *m, const struct wire_trainer_state *state)
{
    m->round = state->round;
    m->window_records = state->window_records;
    m->head_version = state->head_version;
    m->model_version = state->model_version;
    m->served_version = state->served_version;
    m->looks = state->looks;
    m->phase = (Fis__V1__TrainerState__Phase)state->phase;
    m->clock_ms = state->clock_ms;
    m->wall_ms = state->wall_ms;
    m->paused = state->paused != 0;
    m->pinned = state->pinned != 0;
    m->failures = state->failures;
    m->day = state->day;
    m->day_asked = state->day_asked;
    m->day_began_ms = state->day_began_ms;
    m->checkpoint = state->checkpoint;
    m->control_ok = state->control_ok != 0;
    m->phase_began_ms = state->phase_began_ms;
    m->previous_version = state->previous_version;
    m->diverged = state->diverged != 0;
    m->idle_rounds = state->idle_rounds;
    m->undetectable = state->undetectable;
    m->requested = state->requested;
    m->control_next = state->control.next;
    m->control_ms = state->control.ms;
    m->state_number = state->state_number;
}

int wire_ledger_state_encode(const struct wire_trainer_state *state, struct byte_buffer *out,
                             struct fis_error *e)
{
    Fis__V1__TrainerState m = FIS__V1__TRAINER_STATE__INIT;
    Fis__V1__Privacy privacy;
    struct fis_arena scratch;
    if (state->phase < WIRE_PHASE_COLLECT || state->phase > WIRE_PHASE_DONE)
        return fis_fail(e, FIS_INPUT, "trainer state: no phase %d", (int)state->phase);
    size_t each = sizeof(Fis__V1__Counted) + sizeof(Fis__V1__Counted *);
    size_t identity = wire_identity_scratch(&state->identity);
    int rc = wire_scratch_init(&scratch, 2048 + identity + state->n_counted * each, e);
    if (rc)
        return rc;
    fill_plain(&m, state);
    m.privacy = wire_privacy_fill(&privacy, &state->privacy);
    rc = wire_numbers_fill(state_numbers, state, NULL, &scratch, &m.values, &m.n_values, e);
    if (!rc)
        rc = fill_counted(&m, state, &scratch, e);
    if (!rc)
        rc = fill_texts(&m, state, &scratch, e);
    if (!rc)
        rc = wire_facts_fill(&state->identity, &scratch, &m.identity, &m.n_identity, e);
    if (!rc)
        rc = wire_changes_fill(state->identity.changes, state->identity.n_changes, &scratch,
                               &m.changes, &m.n_changes, e);
    if (!rc)
        rc = wire_protobuf_pack(&m, out, e);
    fis_free(scratch.base);
    return rc;
}

static int read_counted(const Fis__V1__TrainerState *s, struct fis_arena *arena,
                        struct wire_trainer_state *out, struct fis_error *e)
{
    if (!s->n_counted)
        return 0;
    struct wire_counted *counted = fis_arena_alloc(arena, s->n_counted * sizeof *counted);
    if (!counted)
        return fis_fail(e, FIS_INPUT, "%zu partitions take more than %zu bytes", s->n_counted,
                        arena->size);
    for (size_t i = 0; i < s->n_counted; i++)
        counted[i] = (struct wire_counted){s->counted[i]->partition, s->counted[i]->next};
    out->counted = counted;
    out->n_counted = (uint32_t)s->n_counted;
    return check_counted(counted, s->n_counted, e);
}

static int read_identity(const Fis__V1__TrainerState *s, struct fis_arena *arena,
                         struct wire_identity *out, struct fis_error *e)
{
    struct wire_fact *facts = fis_arena_alloc(arena, s->n_identity * sizeof *facts + 1);
    struct wire_change *changes = fis_arena_alloc(arena, s->n_changes * sizeof *changes + 1);
    if (!facts || !changes)
        return fis_fail(e, FIS_INPUT, "%zu facts take more than %zu bytes",
                        s->n_identity + s->n_changes, arena->size);
    wire_facts_read(s->identity, s->n_identity, facts);
    wire_changes_read(s->changes, s->n_changes, changes);
    *out = (struct wire_identity){facts, (uint32_t)s->n_identity, changes, (uint32_t)s->n_changes};
    return 0;
}

/* All but lists and messages. */
static struct wire_trainer_state read_single(const Fis__V1__TrainerState *s)
{
    return (struct wire_trainer_state){
        .round = s->round,
        .window_records = s->window_records,
        .head_version = s->head_version,
        .model_version = s->model_version,
        .served_version = s->served_version,
        .looks = s->looks,
        .phase = (enum wire_phase)s->phase,
        .clock_ms = s->clock_ms,
        .wall_ms = s->wall_ms,
        .paused = s->paused != 0,
        .pinned = s->pinned != 0,
        .failures = s->failures,
        .day = s->day,
        .day_asked = s->day_asked,
        .day_began_ms = s->day_began_ms,
        .checkpoint = s->checkpoint,
        .control_id = s->control_id,
        .control_text = s->control_text,
        .control_ok = s->control_ok != 0,
        .phase_began_ms = s->phase_began_ms,
        .previous_version = s->previous_version,
        .diverged = s->diverged != 0,
        .idle_rounds = s->idle_rounds,
        .undetectable = s->undetectable != 0,
        .requested = s->requested,
        .control = {s->control_next, s->control_ms},
        .state_number = s->state_number,
    };
}

int wire_ledger_state_read(struct wire_bytes value, struct fis_arena *arena,
                           struct wire_trainer_state *state, struct fis_error *e)
{
    const Fis__V1__TrainerState *s =
        wire_protobuf_unpack(&fis__v1__trainer_state__descriptor, value, arena, e);
    if (!s)
        return -FIS_INPUT;
    if (!s->phase)
        return fis_fail(e, FIS_INPUT, "trainer state: no phase");
    struct wire_trainer_state out = read_single(s);
    int rc = wire_numbers_read(state_numbers, s->values, s->n_values, &out, NULL, e);
    if (!rc)
        rc = read_counted(s, arena, &out, e);
    if (!rc)
        rc = wire_privacy_read(s->privacy, &out.privacy, e);
    if (!rc)
        rc = read_identity(s, arena, &out.identity, e);
    if (!rc)
        *state = out;
    return rc;
}

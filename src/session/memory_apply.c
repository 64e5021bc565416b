#include "session/memory_impl.h"

#include <math.h>
#include <stdio.h>

#include "base/planted.h"

static int check_shape(const struct memory *m, const struct fis_shape *now, struct fis_error *e)
{
    const struct fis_shape *was[] = {&m->head.head.shape, &m->served.model.shape};
    for (int i = 0; i < 2; i++)
        if (!fis_shape_equal(was[i], now))
            return fis_fail(
                e, FIS_FATAL,
                "model or training.hidden is not what the network on %s has: give the changed "
                "pipeline another name",
                m->topics[i ? MEMORY_MODELS : MEMORY_HEADS]);
    return 0;
}

static int restore_entries(struct memory *m, struct trainer_role *role, struct fis_error *e)
{
    struct wire_ledger_item item;
    struct kept *k, *next;
    HASH_ITER (hh, m->ledger, k, next) {
        int rc = memory_decode(m, k, &m->arena, &item, e);
        if (rc == 0 && item.kind == WIRE_LEDGER_ENTRY)
            rc = trainer_role_restore_entry(role, &item.entry, e);
        else if (rc == 0 && item.kind == WIRE_LEDGER_FORGOTTEN)
            rc = trainer_role_restore_forgotten(role, &item.forgotten, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* Without it the copies begin at the anchor: something to say, and no reason to stop. */
static int restore_checkpoint(struct memory *m, struct trainer_role *role, struct fis_error *e)
{
    struct wire_checkpoint c;
    struct fis_error why;
    struct wire_bytes bytes = {m->checkpoint, m->checkpoint_length};
    int rc = memory_has_checkpoint(m) && !PLANTED(checkpoint_ignored)
                 ? wire_checkpoint_decode(bytes, &c, &why)
                 : fis_fail(&why, FIS_INPUT,
                            m->state.checkpoint ? "it is not there" : "none was written yet");
    if (rc == 0)
        rc = trainer_role_restore_checkpoint(role, c.learner, c.gate, &why);
    snprintf(m->trouble, sizeof m->trouble, "%s", rc < 0 ? why.text : "");
    if (rc == 0 || rc == -FIS_INPUT)
        return 0;
    *e = why;
    return rc;
}

const char *memory_checkpoint_trouble(const struct memory *m)
{
    return m->trouble;
}

/* In at_least_once heads and versions may be ahead of the state: no number is given twice, and what
 * is served is what users see, whose accuracy is not known yet. */
static void go_on_behind(const struct memory *m, struct wire_trainer_state *state)
{
    state->head_version = m->head.head.version;
    if (m->newest_version > state->model_version)
        state->model_version = m->newest_version;
    if (m->served.model.version > state->served_version) {
        state->previous_version = m->served.model.previous;
        state->served_version = m->served.model.version;
        state->served_accuracy = (double)NAN;
    }
}

/* Every request is an entry of the unit that the state is of, and stays one. */
static int check_whole(const struct memory *m, const struct trainer_role *role, struct fis_error *e)
{
    const struct trainer_role_counts n = trainer_role_counts(role);
    uint64_t there = n.selector.asked + n.forgotten;
    if (m->not_atomic || there >= m->state.requested || PLANTED(entries_uncounted))
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s holds %llu of %llu requested records: messages were deleted from it, and "
                    "the others would be requested again. Recreate ledger, heads and models and "
                    "restore all three from one backup; without one the pipeline starts from the "
                    "beginning",
                    m->topics[MEMORY_LEDGER], (unsigned long long)there,
                    (unsigned long long)m->state.requested);
}

int memory_apply(struct memory *m, struct trainer_role *role, struct trainer_time now,
                 struct fis_error *e)
{
    struct wire_trainer_state state = m->state;
    go_on_behind(m, &state);
    int rc = check_shape(m, trainer_role_shape(role), e);
    if (rc == 0)
        rc = trainer_role_restore_state(role, &state, m->head.head.params, m->served.model.params,
                                        now, e);
    if (rc == 0 && m->served.encoder)
        rc = trainer_role_restore_base(role, fis_encoder_trees(m->served.encoder), e);
    if (rc == 0)
        rc = restore_entries(m, role, e);
    if (rc == 0)
        rc = check_whole(m, role, e);
    return rc ? rc : restore_checkpoint(m, role, e);
}

/* From the moment a session leads until its role runs: encoder, rows, role, restore. */
#include <stdio.h>
#include <string.h>

#include "base/planted.h"
#include "session/session_impl.h"

/* A step returns 1 when it is over, 0 to come back later, negative on errors. */

/* What was changed on purpose is noted, and goes into the lineage of every version from here on. */
static int take_over_identity(struct session *s, struct fis_error *e)
{
    struct identity own;
    struct wire_identity theirs;
    const struct wire_trainer_state *was = memory_state(s->memory);
    int rc = memory_identity(s->memory, &own, &theirs, e);
    if (rc == 0)
        rc = identity_take_over(&s->identity, &theirs, was ? was->model_version + 1 : 1, e);
    s->shown = identity_view(&s->identity);
    for (uint32_t i = theirs.n_changes; rc == 0 && i < s->shown.n_changes; i++)
        session_note(s, LOG_LEVEL_WARN, "changed", "name=\"%s\" from=\"%s\" to=\"%s\" version=%llu",
                     s->shown.changes[i].name, s->shown.changes[i].from, s->shown.changes[i].to,
                     (unsigned long long)s->shown.changes[i].version);
    identity_done(&own);
    return rc;
}

/* The group's number and the ledger's are committed together, and kept apart: where the ledger's is
 * lower, it has lost what was acknowledged. The operator may accept that. */
static int check_state_number(struct session *s, struct fis_error *e)
{
    const struct wire_trainer_state *was = memory_found(s->memory) ? memory_state(s->memory) : NULL;
    const char *ledger = s->o.topics[SESSION_LEDGER], *accept = s->o.accept_change;
    unsigned long long there = was ? was->state_number : 0,
                       kept = s->committed_known ? s->committed_state : 0;
    char code[32];
    s->next_state = (there > kept ? there : kept) + 1;
    if (kept <= there || (was && !there) || PLANTED(ledger_tail_unnoticed))
        return 0;
    /* Of this loss alone: the next unit has another. */
    snprintf(code, sizeof code, "lost%llu", kept);
    if (!accept || strcmp(accept, code) != 0)
        return fis_fail(
            e, FIS_FATAL,
            "%s: its newest state has number %llu, and the trainers' group has committed "
            "number %llu: its end is lost (unflushed, or an unclean election). Restore ledger, "
            "heads and models from one backup, or go on with accept_change: %s; what "
            "was requested in it may be requested again",
            ledger, there, kept, code);
    session_note(s, LOG_LEVEL_WARN, "ledger_lost",
                 "topic=%s newest=%llu committed=%llu accepted=%s", ledger, there, kept, code);
    return 0;
}

int session_begin(struct session *s, struct fis_error *e)
{
    struct trainer_wire_options o;
    int rc = memory_conclude(s->memory, e);
    if (rc == 0)
        rc = check_state_number(s, e);
    if (rc == 0)
        rc = take_over_identity(s, e);
    if (rc < 0)
        return rc;
    session_unit_wire(s, &o);
    s->control =
        memory_found(s->memory) ? memory_state(s->memory)->control : (struct wire_control_place){0};
    s->step = START_UP_INITIAL;
    s->encoder = memory_found(s->memory) ? memory_take_encoder(s->memory) : NULL;
    s->lead_ms = s->now.mono_ms;
    s->restore_ms = s->entries = s->bytes = 0;
    return trainer_wire_init(&s->wire, &o, e);
}

static int initial_step(struct session *s, struct fis_error *e)
{
    uint32_t by_class[FIS_MAX_CLASSES] = {0};
    int rc = s->p.initial(s->p.ctx, &s->encoder, &s->initial, e);
    if (rc <= 0)
        return rc;
    const struct fis_rows *rows = &s->initial.rows;
    for (uint32_t i = 0; i < rows->n; i++)
        by_class[rows->y[i]]++;
    session_note(s, LOG_LEVEL_INFO, "initial", "rows=%u features=%u", rows->n, rows->d);
    for (uint32_t k = 0; k < s->o.schema->n_classes; k++)
        if (!by_class[k])
            session_note(s, LOG_LEVEL_WARN, "class_unseen",
                         "class=\"%s\" text=\"no initial example has this class: the model does "
                         "not predict it until labels have it\"",
                         s->o.schema->classes[k]);
    return 1;
}

static int restore(struct session *s, struct fis_error *e)
{
    static const char *const phases[] = {"none", "collect", "label", "done"};
    const struct wire_trainer_state *was = memory_state(s->memory);
    int rc = memory_apply(s->memory, s->role, s->now, e);
    if (rc < 0)
        return rc;
    const char *trouble = memory_checkpoint_trouble(s->memory);
    if (memory_cut(s->memory))
        session_note(s, LOG_LEVEL_WARN, "ledger_cut",
                     "topic=%s text=\"messages were deleted from its beginning: no request is "
                     "missing, but candidates that were held may be; set cleanup.policy=compact\"",
                     s->o.topics[SESSION_LEDGER]);
    if (s->p.clock)
        s->now = s->p.clock(s->p.ctx);
    s->restore_ms = s->now.mono_ms - s->lead_ms;
    s->entries = memory_entries(s->memory);
    s->bytes = memory_bytes(s->memory);
    session_note(s, LOG_LEVEL_INFO, "restored",
                 "round=%u phase=%s head=%llu served=%llu entries=%llu bytes=%llu took_ms=%llu "
                 "checkpoint=%s reason=\"%s\"",
                 was->round, phases[was->phase], (unsigned long long)was->head_version,
                 (unsigned long long)was->served_version, (unsigned long long)s->entries,
                 (unsigned long long)s->bytes, (unsigned long long)s->restore_ms,
                 *trouble ? "no" : "yes", trouble);
    return 0;
}

static int make_role(struct session *s, const struct session_rows *v, struct fis_error *e)
{
    struct trainer_role_options o = s->o.role;
    struct trainer_out out;
    const struct fis_rows *rows = &s->initial.rows;
    o.validation_rows = v->rows.n;
    o.n_groups = v->n_groups;
    trainer_wire_out(&s->wire, &out);
    if (!s->p.ends)
        out.pool = NULL;
    s->role = trainer_role_new(&o, s->encoder, &out, e);
    if (!s->role)
        return -1;
    for (uint32_t i = 0; i < rows->n; i++)
        if (trainer_role_initial(s->role, rows->x + (size_t)i * rows->d, rows->y[i], e) < 0)
            return -1;
    if (trainer_role_validation(s->role, &v->rows, v->n_groups, e) < 0)
        return fis_error_prefix(e, "validation set");
    if (s->p.validated)
        s->p.validated(s->p.ctx);
    return memory_found(s->memory) ? restore(s, e) : 0;
}

static int validation_step(struct session *s, struct fis_error *e)
{
    struct session_rows v;
    int rc = s->p.validation(s->p.ctx, s->encoder, &v, e);
    if (rc <= 0)
        return rc;
    uint32_t least = s->o.role.gate.min_rows;
    session_note(s, LOG_LEVEL_INFO, "validation", "rows=%u groups=%u", v.rows.n, v.n_groups);
    if (v.rows.n < least)
        session_note(s, LOG_LEVEL_WARN, "validation",
                     "rows=%u needed=%u text=\"too few to judge versions: labels are requested, "
                     "but no version after the first is published (gate.min_rows)\"",
                     v.rows.n, least);
    rc = make_role(s, &v, e);
    return rc < 0 ? rc : 1;
}

/* The role is there: from here on it is given its input. */
static int run(struct session *s, struct fis_error *e)
{
    bool found = memory_found(s->memory);
    if (session_open(s, SESSION_READ_COMMANDS, e) < 0 || session_open(s, SESSION_READ_INPUT, e) < 0)
        return -1;
    if (s->p.ready)
        s->p.ready(s->p.ctx, s->role);
    s->running = true;
    s->running_ms = s->commit_ms = s->now.mono_ms;
    if (trainer_role_start(s->role, s->now, e) < 0)
        return -1;
    election_running(&s->election, found, s->now.mono_ms);
    session_close(s, SESSION_READ_MEMORY);
    memory_free(s->memory);
    s->memory = NULL;
    return 0;
}

int session_start_up(struct session *s, struct fis_error *e)
{
    static int (*const steps[START_UP_DONE])(struct session *, struct fis_error *) = {
        [START_UP_INITIAL] = initial_step,
        [START_UP_VALIDATION] = validation_step,
    };
    for (; s->step < START_UP_DONE; s->step++) {
        int rc = steps[s->step](s, e);
        if (rc <= 0)
            return rc;
    }
    return run(s, e);
}

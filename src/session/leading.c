#include "session/session_impl.h"

static int follow_validation(struct session *s, struct fis_error *e)
{
    struct session_rows v;
    struct fis_error why;
    int rc = s->p.validation(s->p.ctx, s->encoder, &v, &why);
    if (rc == 0)
        return 0;
    if (rc > 0)
        rc = trainer_role_validation(s->role, &v.rows, v.n_groups, &why);
    if (rc < 0 && why.kind == FIS_INPUT) {
        session_note(s, LOG_LEVEL_ERROR, "validation", "text=\"kept as it was\" reason=\"%s\"",
                     why.text);
        return 0;
    }
    if (rc < 0) {
        *e = why;
        return rc;
    }
    if (s->p.validated)
        s->p.validated(s->p.ctx);
    session_note(s, LOG_LEVEL_INFO, "validation", "rows=%u groups=%u from=next_round", v.rows.n,
                 v.n_groups);
    return 0;
}

static int hand_ends(struct session *s, struct fis_error *e)
{
    if (!s->have_ends)
        return 0;
    s->have_ends = false;
    if (s->n_ends && !s->ends)
        return fis_fail(e, FIS_NOMEM, "no memory for the ends of %u partitions", s->n_ends);
    return trainer_role_pool(s->role, s->ends, s->n_ends, s->now, e);
}

static void adjust(struct session *s)
{
    if (s->adjust)
        trainer_role_adjust(s->role, &s->o.role, s->now);
    s->adjust = false;
}

/* Nothing is being committed, and no job runs. */
static int act(struct session *s, bool *more, struct fis_error *e)
{
    bool all = true;
    adjust(s);
    if (follow_validation(s, e) < 0 || hand_ends(s, e) < 0 || session_hand_over(s, &all, e) < 0)
        return -1;
    if (trainer_role_stale(s->role)) {
        s->commit_ms = s->now.mono_ms;
        return 0;
    }
    bool due = trainer_role_due(s->role);
    if (all && s->informed && !trainer_role_busy(s->role))
        trainer_role_idle(s->role, s->now);
    /* What waited for the role to act can be handed over now. */
    *more = (!all || (due && !trainer_role_due(s->role))) && !trainer_role_busy(s->role);
    return 0;
}

static int finish_job(struct session *s, struct fis_error *e)
{
    s->job_ran = false;
    return trainer_role_job_done(s->role, s->now, e);
}

/* What was derived from a forgotten record is rebuilt, as in a takeover. */
static bool begins_again(struct session *s)
{
    if (!s->running || !trainer_role_stale(s->role) || session_unsaved(s) || session_draining(s))
        return false;
    election_again(&s->election, "a record was forgotten", s->now.mono_ms);
    return true;
}

static int work(struct session *s, bool *more, struct fis_error *e)
{
    if (!s->committing && s->job_ran && finish_job(s, e) < 0)
        return -1;
    if (!s->committing && !trainer_role_busy(s->role) && !session_draining(s) &&
        act(s, more, e) < 0)
        return -1;
    return session_maybe_commit(s, e);
}

/* Never from inside the role: the job owns it. */
static void submit_job(struct session *s, bool *more)
{
    if (!s->job_due || session_ended(s))
        return;
    s->job_due = false;
    s->on_worker = true;
    s->p.job(s->p.ctx, s->job);
    *more |= s->job_ran && !s->committing;
}

static bool drained(const struct session *s)
{
    if (!session_draining(s) || s->on_worker)
        return false;
    return !s->running || (!trainer_role_busy(s->role) && !session_unsaved(s));
}

void session_lead(struct session *s, bool *more)
{
    struct fis_error e;
    int rc = s->running ? work(s, more, &e) : session_draining(s) ? 0 : session_start_up(s, &e);
    if (rc < 0)
        session_election_failed(s, &e);
    if (rc >= 0 && begins_again(s))
        return;
    submit_job(s, more);
    if (drained(s))
        election_committed(&s->election, s->now.mono_ms);
}

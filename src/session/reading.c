/* What of the input the role gets when: commands first, everything once, until a job is due. */
#include "base/planted.h"
#include "session/session_impl.h"

/* Of one reader in a turn: some thousands of candidates. */
#define TURN_BYTES ((size_t)256 << 10)
#define TURN_MESSAGES 512

/* A job that is due waits for the commands that were there at the start: a pin may be among them.
 */
static bool may_take(const struct session *s)
{
    return !trainer_role_busy(s->role) && !trainer_role_stale(s->role) && (!s->informed || !trainer_role_due(s->role));
}

/* Answers were paid for; what else is lost comes again from others or was not acted upon. */
static void report_lost(struct session *s, const struct session_input *in)
{
    if (in->topic == SESSION_LABELS)
        trainer_role_labels_lost(s->role, in->lost > 0 ? (uint64_t)in->lost : 1, s->now);
    else if (in->topic == SESSION_CANDIDATES && !PLANTED(lost_unreported))
        trainer_role_candidates_lost(s->role);
}

static int reset(struct session *s, const struct session_input *in, struct fis_error *e)
{
    bool labels = in->topic == SESSION_LABELS, bad = in->lost > 0 || in->recreated;
    /* A new group does not know what it has missed: the end of a scan may be among it. */
    if (bad || (in->topic == SESSION_CANDIDATES && in->first > 0))
        report_lost(s, in);
    if (bad || in->first > 0) /* else a new group begins */
        session_note(s,
                     labels && bad ? LOG_LEVEL_ERROR
                     : bad         ? LOG_LEVEL_WARN
                                   : LOG_LEVEL_INFO,
                     "offsets_lost",
                     "topic=%s partition=%d expected=%lld first_kept=%lld lost=%lld%s%s",
                     s->o.topics[in->topic], (int)in->partition, (long long)in->expected,
                     (long long)in->first, (long long)in->lost,
                     in->recreated ? " text=\"the topic was recreated\"" : "",
                     labels && bad ? " consequence=\"open requests expire\"" : "");
    if (PLANTED(restart_unmoved) && in->recreated)
        return 0;
    return inbox_restart(&s->inbox, in->topic, in->partition, in->first, e);
}

static int message(struct session *s, const struct session_input *in, struct fis_error *e)
{
    const struct wire_message *m = &in->message;
    int rc = inbox_take(&s->inbox, in->topic, m->partition, m->offset, e);
    if (rc <= 0)
        return rc < 0 ? rc : 1; /* taken before */
    rc = session_hand(s, in->topic, m, e);
    if (rc == 0 && inbox_move(&s->inbox, in->topic, m->partition, m->offset, e) < 0)
        rc = -FIS_NOMEM;
    return rc;
}

/* 1: taken; 0: it waits for something. */
static int take(struct session *s, const struct session_input *in, struct fis_error *e)
{
    if (in->event == SESSION_MESSAGE)
        return message(s, in, e);
    if (in->event == SESSION_END) {
        s->informed |= in->topic == SESSION_CONTROL;
        return 1;
    }
    if (in->event == SESSION_BLOCKED)
        return 1;
    int rc = reset(s, in, e);
    return rc < 0 ? rc : 1;
}

/* *all: there is nothing more to take now. */
static int take_from(struct session *s, struct session_source *from, bool *all, struct fis_error *e)
{
    size_t bytes = 0;
    for (uint32_t n = 0; n < TURN_MESSAGES && bytes < TURN_BYTES && may_take(s); n++) {
        if (!from->pending) {
            int rc = s->p.read(s->p.ctx, from->reader, &from->in, e);
            s->informed |= PLANTED(end_early) && rc == 0 && from == &s->commands;
            if (rc <= 0)
                return rc;
            from->pending = true;
        }
        bytes += from->in.event == SESSION_MESSAGE ? from->in.message.value.length : 0;
        int rc = take(s, &from->in, e);
        s->waiting = rc == 0;
        if (rc <= 0)
            return rc;
        from->pending = false;
    }
    *all &= !may_take(s);
    return 0;
}

int session_hand_over(struct session *s, bool *all, struct fis_error *e)
{
    *all = true;
    s->waiting = false;
    s->informed |= PLANTED(commands_late);
    int rc = take_from(s, &s->commands, all, e);
    if (rc == 0 && s->informed && !s->waiting)
        rc = take_from(s, &s->input, all, e);
    return rc;
}

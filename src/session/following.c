/* A session as a standby: it keeps up with what the trainer that leads writes. */
#include "session/session_impl.h"

#include "base/planted.h"

/* In a turn. */
#define FOLLOW_MESSAGES 4096

_Static_assert(MEMORY_TOPICS == SESSION_MEMORY_TOPICS &&
                   (int)MEMORY_LEDGER == (int)SESSION_LEDGER &&
                   (int)MEMORY_HEADS == (int)SESSION_HEADS &&
                   (int)MEMORY_MODELS == (int)SESSION_MODELS,
               "the memory's topics are the session's first ones");

int session_follow(struct session *s, struct fis_error *e)
{
    s->at_end = false;
    s->memory = memory_new(s->o.topics, s->arena.size, e);
    if (!s->memory)
        return -FIS_NOMEM;
    memory_watch(s->memory, s->p.model, s->p.state, s->p.ctx);
    if (s->o.at_least_once)
        memory_not_atomic(s->memory);
    int rc = session_open(s, SESSION_READ_MEMORY, e);
    return rc < 0 ? rc : s->p.join(s->p.ctx, e);
}

static int take_message(struct session *s, const struct session_input *in, struct fis_error *e)
{
    struct fis_error why;
    int rc = memory_take(s->memory, (enum memory_topic)in->topic, &in->message, &why);
    if (rc == -FIS_INPUT && PLANTED(foreign_unnoticed))
        return 0;
    if (rc == -FIS_INPUT && !PLANTED(foreign_fatal)) {
        s->left_out++;
        session_note(s, LOG_LEVEL_ERROR, "left_out",
                     "role=trainer reason=\"%s\" text=\"not written by a trainer, and ignored: "
                     "deny other writers access to this topic\"",
                     why.text);
        return 0;
    }
    if (rc < 0)
        *e = why;
    return rc;
}

static int take(struct session *s, const struct session_input *in, struct fis_error *e)
{
    if (in->event == SESSION_MESSAGE)
        return take_message(s, in, e);
    if (in->event == SESSION_END) {
        s->at_end = true;
        memory_begins(s->memory, in->first);
    } else if (in->event == SESSION_RESET && (in->recreated || in->lost > 0)) {
        return fis_fail(e, FIS_ABORT_TXN, "topic %s was recreated: everything is read again",
                        s->o.topics[in->topic]);
    }
    return 0;
}

/* The number that the group has committed, when nobody else can commit any more. */
static int find_committed_state(struct session *s, struct fis_error *e)
{
    if (s->election.state != ELECTION_CATCH_UP || !s->p.committed_state || s->committed_known)
        return 1;
    int rc = s->p.committed_state(s->p.ctx, &s->committed_state, e);
    s->committed_known = rc > 0;
    return rc;
}

int session_keep_up(struct session *s, bool *more, struct fis_error *e)
{
    struct session_input in;
    uint32_t n = 0;
    int rc = 0;
    while (n < FOLLOW_MESSAGES && (rc = s->p.read(s->p.ctx, SESSION_READ_MEMORY, &in, e)) > 0) {
        n++;
        rc = take(s, &in, e);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        return rc;
    *more = n == FOLLOW_MESSAGES;
    s->at_end |= PLANTED(end_early) && !*more;
    if (!s->at_end || s->sweeping)
        return 0;
    rc = find_committed_state(s, e);
    if (rc <= 0)
        return rc;
    if (memory_compare(s->memory, &s->identity, s->o.accept_change, e) < 0)
        return -1;
    if (s->election.state == ELECTION_STANDBY)
        election_warm(&s->election, memory_entries(s->memory), memory_bytes(s->memory),
                      s->now.mono_ms);
    else
        election_caught_up(&s->election, s->now.mono_ms);
    return 0;
}

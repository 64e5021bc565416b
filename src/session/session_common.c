/* What every part of a session calls: the log, its readers, its place among the trainers. */
#include <stdarg.h>

#include "session/session_impl.h"

void session_note(struct session *s, enum log_level level, const char *event, const char *format,
                  ...)
{
    va_list ap;
    if (!s->p.note)
        return;
    va_start(ap, format);
    s->p.note(s->p.ctx, level, event, format, ap);
    va_end(ap);
}

int session_open(struct session *s, enum session_reader r, struct fis_error *e)
{
    int rc = s->p.open(s->p.ctx, r, e);
    s->open[r] = rc >= 0;
    return rc;
}

void session_close(struct session *s, enum session_reader r)
{
    if (s->open[r])
        s->p.close(s->p.ctx, r);
    s->open[r] = false;
}

void session_election_failed(struct session *s, const struct fis_error *e)
{
    election_failed(&s->election, e, s->p.fenced && s->p.fenced(s->p.ctx), s->now.mono_ms);
}

bool session_ended(const struct session *s)
{
    return s->election.state == ELECTION_STOPPED || s->election.state == ELECTION_LEAVING;
}

bool session_draining(const struct session *s)
{
    return s->election.state == ELECTION_DRAIN;
}

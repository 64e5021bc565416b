#include "session/election.h"

#include <stdarg.h>

#include "base/log.h"
#include "base/planted.h"

const char *election_state_name(enum election_state s)
{
    static const char *const names[] = {"new",  "standby", "fence",   "catch_up",
                                        "lead", "drain",   "leaving", "stopped"};
    return names[s];
}

static void note(struct election *l, bool bad, const char *event, const char *format, ...)
    FIS_PRINTF(4, 5);
static void note(struct election *l, bool bad, const char *event, const char *format, ...)
{
    char text[FIS_ERROR_TEXT + 128];
    va_list ap;
    va_start(ap, format);
    log_fields_v(text, sizeof text, format, ap);
    va_end(ap);
    l->out.note(l->out.ctx, bad, event, text);
}

/* The one place where the state is set. */
static void enter(struct election *l, enum election_state s, uint64_t now)
{
    l->state = s;
    l->since_ms = now;
    l->running = false;
}

static unsigned long long passed(uint64_t since, uint64_t now)
{
    return now > since ? now - since : 0;
}

void election_init(struct election *l, const struct election_out *out)
{
    *l = (struct election){.out = *out};
}

static void follow(struct election *l, uint64_t now)
{
    enter(l, ELECTION_STANDBY, now);
    l->warm = l->waiting_noted = l->other_noted = false;
    l->out.follow(l->out.ctx);
}

void election_start(struct election *l, uint64_t now_ms)
{
    if (l->state == ELECTION_NEW)
        follow(l, now_ms);
}

static bool in_office(const struct election *l)
{
    return l->state == ELECTION_FENCE || l->state == ELECTION_CATCH_UP || l->state == ELECTION_LEAD;
}

static void leave(struct election *l, uint64_t now)
{
    enter(l, ELECTION_LEAVING, now);
    l->out.leave(l->out.ctx);
}

static void stand_by(struct election *l)
{
    l->other_noted = true;
    note(l, false, "standby",
         "role=trainer text=\"another trainer leads; this one follows the ledger\"");
}

void election_place(struct election *l, bool owns, bool lost, uint64_t now_ms)
{
    if (l->state == ELECTION_STANDBY && owns) {
        l->chosen_ms = now_ms;
        note(l, false, "leader",
             "role=trainer warm=%s text=\"chosen by the group; fencing any other\"",
             l->warm ? "yes" : "no");
        enter(l, ELECTION_FENCE, now_ms);
        l->out.fence(l->out.ctx);
    } else if (l->state == ELECTION_STANDBY && !l->other_noted) {
        stand_by(l);
    } else if (in_office(l) && !owns) {
        /* While it drains, nothing is lost by trying: the id tells who may commit. */
        note(l, true, "stepped_down",
             "role=trainer reason=\"%s\" text=\"uncommitted work is dropped; the leader repeats "
             "it\"",
             lost ? "the group went on without this trainer" : "the group reassigned its place");
        leave(l, now_ms);
    }
}

void election_warm(struct election *l, uint64_t entries, uint64_t bytes, uint64_t now_ms)
{
    if (l->state != ELECTION_STANDBY || l->warm)
        return;
    l->warm = true;
    note(l, false, "standby",
         "role=trainer entries=%llu bytes=%llu took_ms=%llu text=\"ready to lead\"",
         (unsigned long long)entries, (unsigned long long)bytes, passed(l->since_ms, now_ms));
}

void election_fenced_others(struct election *l, uint64_t now_ms)
{
    if (l->state != ELECTION_FENCE)
        return;
    if (PLANTED(no_catch_up) && l->warm) {
        enter(l, ELECTION_LEAD, now_ms);
        l->out.lead(l->out.ctx);
        return;
    }
    enter(l, ELECTION_CATCH_UP, now_ms);
    l->out.catch_up(l->out.ctx);
}

void election_caught_up(struct election *l, uint64_t now_ms)
{
    if (l->state != ELECTION_CATCH_UP)
        return;
    enter(l, ELECTION_LEAD, now_ms);
    l->out.lead(l->out.ctx);
}

void election_running(struct election *l, bool restored, uint64_t now_ms)
{
    if (l->state != ELECTION_LEAD || l->running)
        return;
    l->running = true;
    note(l, false, restored ? "takeover" : "leader", "role=trainer took_ms=%llu text=\"%s\"",
         passed(l->chosen_ms, now_ms),
         restored ? "leads, and goes on from the ledger" : "leads, and starts from the beginning");
}

static void end(struct election *l, const struct fis_error *failed, uint64_t now)
{
    enter(l, ELECTION_STOPPED, now);
    l->out.stopped(l->out.ctx, failed);
}

static bool too_many(struct election *l, uint64_t now)
{
    if (!l->failures || passed(l->failures_since_ms, now) > ELECTION_FAILURES_MS) {
        l->failures = 0;
        l->failures_since_ms = now;
    }
    return ++l->failures > ELECTION_FAILURES_MAX;
}

static void give_up(struct election *l, const struct fis_error *e, bool fenced, uint64_t now)
{
    struct fis_error all;
    fis_fail(&all, FIS_FATAL, "%u times within %d s, at last: %s%s", l->failures,
             ELECTION_FAILURES_MS / 1000,
             fenced ? "another trainer with the same transactional id has taken over: " : "",
             e->text);
    end(l, &all, now);
}

void election_failed(struct election *l, const struct fis_error *e, bool fenced, uint64_t now_ms)
{
    if (l->state == ELECTION_STOPPED || l->state == ELECTION_LEAVING)
        return;
    bool again = (fenced || e->kind == FIS_ABORT_TXN) && l->state != ELECTION_DRAIN;
    if (again && too_many(l, now_ms)) {
        give_up(l, e, fenced, now_ms);
        return;
    }
    if (!again) {
        end(l, e, now_ms);
        return;
    }
    if (fenced)
        note(l, true, "fenced",
             "role=trainer reason=\"%s\" text=\"another trainer has taken over: what was not "
             "committed is dropped; standing by\"",
             e->text);
    else
        note(l, true, "resuming", "role=trainer from=ledger reason=\"%s\"", e->text);
    leave(l, now_ms);
}

void election_again(struct election *l, const char *why, uint64_t now_ms)
{
    note(l, false, "resuming", "role=trainer from=ledger reason=\"%s\"", why);
    leave(l, now_ms);
}

void election_left(struct election *l, uint64_t now_ms)
{
    if (l->state == ELECTION_LEAVING)
        follow(l, now_ms);
}

void election_stop(struct election *l, uint64_t now_ms)
{
    if (l->state == ELECTION_LEAD) {
        enter(l, ELECTION_DRAIN, now_ms);
        l->out.drain(l->out.ctx);
    } else if (l->state != ELECTION_DRAIN && l->state != ELECTION_STOPPED) {
        end(l, NULL, now_ms);
    }
}

void election_committed(struct election *l, uint64_t now_ms)
{
    if (l->state == ELECTION_DRAIN)
        end(l, NULL, now_ms);
}

void election_tick(struct election *l, uint64_t now_ms)
{
    if (l->state != ELECTION_STANDBY || l->waiting_noted || l->other_noted ||
        passed(l->since_ms, now_ms) < ELECTION_PATIENCE_MS)
        return;
    l->waiting_noted = true;
    note(l, false, "standby",
         "role=trainer text=\"waiting for the previous trainer's place in the group: a killed one "
         "keeps it for session.timeout.ms (with group.instance.id it is returned at once)\"");
}

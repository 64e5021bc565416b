/* What a session sends and how far it took its input, as units of commit. */
#include <string.h>

#include "base/planted.h"
#include "session/session_impl.h"

/* What is committed and never moves is committed again before a broker forgets it. */
#define COMMIT_AGAIN_MS 3600000

static int may_send(const struct session *s, struct fis_error *e)
{
    return s->committing
               ? fis_fail(e, FIS_FATAL, "a message is sent while a unit is being committed")
               : 0;
}

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    static const enum session_topic topics[TRAINER_TOPICS] = {
        [TRAINER_REQUESTS] = SESSION_REQUESTS,
        [TRAINER_LEDGER] = SESSION_LEDGER,
        [TRAINER_HEADS] = SESSION_HEADS,
        [TRAINER_MODELS] = SESSION_MODELS,
    };
    struct session *s = arg;
    s->sent = true;
    int rc = may_send(s, e);
    return rc ? rc : s->p.send(s->p.ctx, topics[t], key, value, e);
}

int session_refuse(struct session *s, enum session_refusal kind, const struct wire_message *m,
                   const struct fis_error *why, struct fis_error *e)
{
    static const char *const events[SESSION_BAD] = {
        [SESSION_BAD_LABELS] = "label_refused",
        [SESSION_BAD_OFFERS] = "candidate_refused",
        [SESSION_BAD_COMMANDS] = "command_refused",
    };
    session_note(s, LOG_LEVEL_WARN, events[kind], "partition=%d offset=%lld reason=\"%s\"",
                 (int)m->partition, (long long)m->offset, why->text);
    s->refused[kind][why->code]++;
    s->sent = true;
    int rc = may_send(s, e);
    return rc ? rc : s->p.dead_letter(s->p.ctx, m, why, e);
}

/* Not from inside the role: the job owns it. */
static void job(void *arg, enum trainer_job kind)
{
    struct session *s = arg;
    s->job = kind;
    s->job_due = true;
}

/* What the role says of a unit is true when that is committed: it is kept until then, and forgotten
 * with the unit. */
static void note(void *arg, const char *event, const char *text)
{
    struct session *s = arg;
    struct fis_error e;
    if (byte_buffer_append(&s->news, event, strlen(event) + 1, &e) < 0 ||
        byte_buffer_append(&s->news, text, strlen(text) + 1, &e) < 0)
        s->news.length = 0; /* no memory for words */
}

void session_say_news(struct session *s)
{
    const char *at = (const char *)s->news.data, *end = at + s->news.length;
    while (at < end) {
        const char *text = at + strlen(at) + 1;
        session_note(s, LOG_LEVEL_INFO, at, "%s", text);
        at = text + strlen(text) + 1;
    }
    s->news.length = 0;
}

static void pool(void *arg)
{
    struct session *s = arg;
    if (s->p.ends)
        s->p.ends(s->p.ctx);
}

static void model(void *arg, const struct wire_model *v)
{
    struct session *s = arg;
    if (s->p.sent_model)
        s->p.sent_model(s->p.ctx, v);
}

static void state(void *arg, const struct wire_trainer_state *x)
{
    struct session *s = arg;
    s->stated = true;
    s->next_state++; /* several in a unit: a cut between them loses the later ones alone */
    if (s->p.sent_state)
        s->p.sent_state(s->p.ctx, x);
}

void session_unit_wire(struct session *s, struct trainer_wire_options *o)
{
    *o = (struct trainer_wire_options){
        .schema = s->o.schema,
        .columns = s->o.columns,
        .n_columns = s->o.n_columns,
        .labels = s->o.labels,
        .max_chunk = s->o.max_chunk,
        .identity = &s->shown,
        .control = &s->control,
        .state_number = &s->next_state,
        .put = put,
        .job = job,
        .note = note,
        .pool = pool,
        .model = model,
        .state = state,
        .arg = s,
    };
    s->commit_again_ms = s->now.mono_ms + COMMIT_AGAIN_MS;
}

bool session_unsaved(const struct session *s)
{
    return s->sent || s->committing || inbox_has_changed(&s->inbox);
}

static int commit(struct session *s, struct fis_error *e)
{
    uint32_t n;
    if (s->now.mono_ms >= s->commit_again_ms) {
        s->commit_again_ms = s->now.mono_ms + COMMIT_AGAIN_MS;
        inbox_again(&s->inbox);
    }
    if (!session_unsaved(s)) {
        session_say_news(s);
        return 0;
    }
    if (s->stated && s->p.committed_state &&
        inbox_move(&s->inbox, SESSION_LEDGER, 0, (int64_t)s->next_state - 1, e) < 0)
        return -FIS_NOMEM;
    const struct session_place *places = inbox_changed(&s->inbox, &n);
    s->committing = true;
    s->sent = false;
    return s->p.commit(s->p.ctx, places, PLANTED(unit_without_offsets) ? 0 : n, e);
}

int session_maybe_commit(struct session *s, struct fis_error *e)
{
    bool drains = s->election.state == ELECTION_DRAIN;
    if (s->committing || (s->now.mono_ms < s->commit_ms && !drains))
        return trainer_wire_failed(&s->wire, e) ? -1 : 0;
    s->commit_ms = s->now.mono_ms + s->o.commit_ms;
    /* A job owns the role, which sent all before it began. */
    if (!trainer_role_busy(s->role) && trainer_role_flush(s->role, s->now, e) < 0)
        return -1;
    /* Half of what the role sent is worse than nothing: it would be committed as if it were all. */
    return trainer_wire_failed(&s->wire, e) ? -1 : commit(s, e);
}

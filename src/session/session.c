#include "session/session_impl.h"

#include <string.h>

#include "base/planted.h"
#include "fis/mem.h"

/* Labels are noted so often, when there is news. */
#define NOTE_MS 1000
#define COMMANDS_PATIENCE_MS 10000

/* ---- what the election asks for ------------------------------------------------------------ */

static void out_follow(void *ctx)
{
    struct session *s = ctx;
    struct fis_error e;
    if (session_follow(s, &e) < 0)
        session_election_failed(s, &e);
}

static void out_fence(void *ctx)
{
    struct session *s = ctx;
    struct fis_error e;
    if (s->p.fence(s->p.ctx, &e) < 0)
        session_election_failed(s, &e);
}

static void out_catch_up(void *ctx)
{
    struct session *s = ctx;
    struct fis_error e;
    s->at_end = false;
    s->sweeping = s->p.sweep && !PLANTED(nothing_swept);
    if (s->sweeping && s->p.sweep(s->p.ctx, &e) < 0)
        session_election_failed(s, &e);
    else
        s->p.to_end(s->p.ctx, SESSION_READ_MEMORY);
}

static void out_lead(void *ctx)
{
    struct session *s = ctx;
    struct fis_error e;
    s->led++;
    if (session_begin(s, &e) < 0)
        session_election_failed(s, &e);
}

/* session_turn looks at the state. */
static void out_later(void *ctx)
{
    (void)ctx;
}

static void out_stopped(void *ctx, const struct fis_error *failed)
{
    struct session *s = ctx;
    s->p.stopped(s->p.ctx, failed);
}

static void out_note(void *ctx, bool bad, const char *event, const char *text)
{
    struct session *s = ctx;
    session_note(s, bad ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, event, "%s", text);
}

/* ---- life ---------------------------------------------------------------------------------- */

static int make_identity(struct session *s, struct fis_error *e)
{
    const struct trainer_role_options *role = &s->o.role;
    const struct wire_schema *schema = s->o.schema;
    const struct fis_acquisition *acquisition = role->selector.criteria.acquisition;
    const struct fis_shape transformer = {.vit = role->vit};
    char network[FIS_SHAPE_TEXT] = "mlp";
    if (role->vit.height)
        fis_shape_text(&transformer, network);
    network[strcspn(network, ";")] = 0;
    const struct identity_source from = {
        .pipeline = role->pipeline,
        .columns = s->o.columns,
        .n_columns = s->o.columns ? s->o.n_columns : 0,
        .classes = schema->classes,
        .n_classes = schema->classes ? schema->n_classes : 0,
        .positive = schema->classes ? schema->classes[role->positive] : NULL,
        .sensitive = s->o.sensitive,
        .n_sensitive = s->o.n_sensitive,
        .network = network,
        .base = s->o.base,
        .metric = fis_metric_name(role->gate.metric),
        .algorithm = acquisition ? acquisition->name : NULL,
        .hidden = role->hidden,
        .n_hidden = role->n_hidden,
    };
    return identity_init(&s->identity, &from, e);
}

struct session *session_new(const struct session_options *o, const struct session_ports *p,
                            struct fis_error *e)
{
    struct session *s = fis_calloc(1, sizeof *s);
    size_t room = o->schema->max_bytes * 4 + ((size_t)1 << 20);
    if (!s || !(s->arena.base = fis_alloc(room, 1))) {
        fis_free(s);
        fis_fail(e, FIS_NOMEM, "no memory for the trainer");
        return NULL;
    }
    s->arena.size = room;
    s->o = *o;
    s->p = *p;
    if (make_identity(s, e) < 0) {
        fis_free(s->arena.base);
        fis_free(s);
        return NULL;
    }
    s->commands.reader = SESSION_READ_COMMANDS;
    s->input.reader = SESSION_READ_INPUT;
    const struct election_out out = {
        .ctx = s,
        .follow = out_follow,
        .fence = out_fence,
        .catch_up = out_catch_up,
        .lead = out_lead,
        .drain = out_later,
        .leave = out_later,
        .stopped = out_stopped,
        .note = out_note,
    };
    election_init(&s->election, &out);
    return s;
}

/* All that one time of following and leading has brought. */
static void let_go(struct session *s)
{
    session_lookup_end(s);
    trainer_role_free(s->role);
    trainer_wire_done(&s->wire);
    fis_encoder_free(s->encoder);
    memory_free(s->memory);
    inbox_done(&s->inbox);
    byte_buffer_done(&s->news);
    fis_free(s->ends);
    s->role = NULL;
    s->encoder = NULL;
    s->memory = NULL;
    s->ends = NULL;
    s->sweeping = s->halted = s->committed_known = s->stated = false;
    s->have_ends = s->running = s->informed = s->waiting = s->waiting_noted = false;
    s->job_due = s->job_ran = s->sent = s->committing = s->adjust = false;
    s->commands.pending = s->input.pending = false;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    for (int r = 0; r < SESSION_READERS; r++)
        s->open[r] = false; /* the binding closes what it has */
    let_go(s);
    identity_done(&s->identity);
    fis_free(s->arena.base);
    fis_free(s);
}

static void leave(struct session *s)
{
    if (s->on_worker || s->leaving)
        return;
    s->leaving = true;
    let_go(s);
    for (int r = 0; r < SESSION_READERS; r++)
        s->open[r] = false;
    s->p.leave(s->p.ctx);
}

/* ---- answers ------------------------------------------------------------------------------- */

void session_seat(struct session *s, bool owns, bool lost, struct trainer_time now)
{
    s->now = now;
    election_place(&s->election, owns, lost, now.mono_ms);
}

void session_fenced_others(struct session *s, struct trainer_time now)
{
    s->now = now;
    election_fenced_others(&s->election, now.mono_ms);
}

void session_halt(struct session *s)
{
    s->halted =
        !PLANTED(halt_ignored) && (s->election.state == ELECTION_LEAD || session_draining(s));
}

void session_swept(struct session *s)
{
    s->sweeping = false;
}

void session_left(struct session *s, struct trainer_time now)
{
    s->now = now;
    s->leaving = false;
    election_left(&s->election, now.mono_ms);
}

void session_failed(struct session *s, const struct fis_error *e, struct trainer_time now)
{
    s->now = now;
    session_election_failed(s, e);
}

void session_stop(struct session *s, struct trainer_time now)
{
    s->now = now;
    election_stop(&s->election, now.mono_ms);
}

void session_committed(struct session *s)
{
    s->committing = false;
    s->stated = false;
    session_say_news(s);
}

void session_job(struct session *s)
{
    trainer_role_job(s->role);
}

void session_job_done(struct session *s)
{
    s->on_worker = false;
    s->job_ran = true; /* given to the role when no unit is being committed */
}

void session_ends(struct session *s, const struct wire_pool_end *ends, uint32_t n)
{
    fis_free(s->ends);
    s->ends = (void *)fis_memdup(ends, n * sizeof *ends);
    s->n_ends = n;
    s->have_ends = true;
}

int session_moved(struct session *s, enum session_topic t, int32_t partition, int64_t next,
                  struct fis_error *e)
{
    return inbox_move(&s->inbox, t, partition, next, e);
}

void session_adjust(struct session *s, const struct trainer_role_options *role, uint64_t commit_ms)
{
    s->o.role = *role;
    s->o.commit_ms = commit_ms;
    s->adjust = s->role != NULL;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void note_labels(struct session *s)
{
    struct trainer_role_counts c = trainer_role_counts(s->role);
    uint64_t refused = 0;
    for (int i = 0; i < FIS_ERROR_CODES; i++)
        refused += s->refused[SESSION_BAD_LABELS][i];
    uint64_t answers = c.labels + c.duplicates + c.skipped + refused;
    if (answers == s->noted_answers)
        return;
    s->noted_answers = answers;
    session_note(s, LOG_LEVEL_INFO, "labels",
                 "round=%u phase=%s labels=%u open=%u kept=%u duplicates=%llu skipped=%llu "
                 "refused=%llu",
                 c.round, c.phase, c.learner.bought, c.selector.open, c.learner.kept,
                 (unsigned long long)c.duplicates, (unsigned long long)c.skipped,
                 (unsigned long long)refused);
}

/* Noted once: a trainer that asks for nothing because a broker is away should not look idle. */
static void note_waiting(struct session *s)
{
    if (s->informed || s->waiting_noted || s->now.mono_ms < s->running_ms + COMMANDS_PATIENCE_MS)
        return;
    s->waiting_noted = true;
    session_note(s, LOG_LEVEL_WARN, "waiting",
                 "role=trainer topic=%s text=\"it is not read to its end yet, and may hold a "
                 "pause: no label is requested until then\"",
                 s->o.topics[SESSION_CONTROL]);
}

static void note_news(struct session *s)
{
    if (!s->running || trainer_role_busy(s->role) || s->now.mono_ms < s->noted_ms + NOTE_MS)
        return;
    s->noted_ms = s->now.mono_ms;
    note_waiting(s);
    note_labels(s);
}

static bool follows(const struct session *s)
{
    enum election_state now = s->election.state;
    return now == ELECTION_STANDBY || now == ELECTION_FENCE || now == ELECTION_CATCH_UP;
}

bool session_turn(struct session *s, struct trainer_time now)
{
    struct fis_error e;
    bool more = false;
    s->now = now;
    election_start(&s->election, now.mono_ms);
    election_tick(&s->election, now.mono_ms);
    if (s->election.state == ELECTION_LEAVING)
        leave(s);
    if (follows(s) && session_keep_up(s, &more, &e) < 0)
        session_election_failed(s, &e);
    if (s->halted && session_draining(s) && !s->on_worker)
        election_committed(&s->election, now.mono_ms);
    else if (!s->halted && (s->election.state == ELECTION_LEAD || session_draining(s)))
        session_lead(s, &more);
    note_news(s);
    return more || (s->election.state == ELECTION_LEAVING && !s->leaving && !s->on_worker);
}

/* ---- what it is doing ---------------------------------------------------------------------- */

const struct trainer_role *session_role(const struct session *s)
{
    return s->running ? s->role : NULL;
}

void session_status(const struct session *s, struct session_status *out)
{
    *out = (struct session_status){
        .state = s->election.state,
        .since_ms = s->election.since_ms,
        .warm = s->election.warm,
        .running = s->running,
        .busy = s->running && trainer_role_busy(s->role),
        .on_worker = s->on_worker || s->job_due,
        .unsaved = session_unsaved(s),
        .committing = s->committing,
        .waiting = s->waiting,
        .halted = s->halted,
        .left_out = s->left_out,
        .led = s->led,
        .entries = s->memory ? memory_entries(s->memory) : s->entries,
        .bytes = s->memory ? memory_bytes(s->memory) : s->bytes,
        .restore_ms = s->restore_ms,
        .read = s->read,
    };
    for (int k = 0; k < SESSION_BAD; k++)
        for (int i = 0; i < FIS_ERROR_CODES; i++)
            out->refused[k][i] = s->refused[k][i];
}

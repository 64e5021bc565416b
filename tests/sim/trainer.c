/* A trainer: the session with its ports bound to the simulated broker. */
#include <stdio.h>
#include <string.h>

#include "base/planted.h"
#include "check.h"
#include "client.h"
#include "faults.h"
#include "process.h"
#include "session/session.h"

#define TOPIC(t) ((enum session_topic)(t))

static const enum sim_topic sim_topics[SESSION_TOPICS] = {
    [SESSION_LEDGER] = SIM_LEDGER,         [SESSION_HEADS] = SIM_HEADS,
    [SESSION_MODELS] = SIM_MODELS,         [SESSION_CANDIDATES] = SIM_CANDIDATES,
    [SESSION_LABELS] = SIM_LABELS,         [SESSION_CONTROL] = SIM_CONTROL,
    [SESSION_VALIDATION] = SIM_CANDIDATES, /* the rows come from memory */
    [SESSION_REQUESTS] = SIM_REQUESTS,
};

static const struct {
    enum session_topic first;
    uint32_t n;
    bool stored; /* from what the group has committed */
    uint32_t most;
} readers[SESSION_READERS] = {
    [SESSION_READ_MEMORY] = {SESSION_LEDGER, 3, false, 200},
    [SESSION_READ_COMMANDS] = {SESSION_CONTROL, 1, true, 40},
    [SESSION_READ_INPUT] = {SESSION_CANDIDATES, 2, true, 40},
    [SESSION_READ_VERSIONS] = {SESSION_MODELS, 1, false, 200},
};

struct partition {
    bool there, fresh; /* fresh: nothing was committed for the group */
    int64_t seen_at;   /* one that was added is seen then; 0: it has not been */
    int64_t at, end;
    bool blocked;  /* it was reported that an open transaction holds it back */
    uint32_t made; /* which log of its name `at` is of */
    uint32_t left; /* messages that arrive in this turn */
};

struct reader {
    bool open, ends_known, ended;
    uint32_t most;                          /* messages of a partition in a turn */
    struct partition p[3 * SIM_PARTITIONS]; /* of its topics, one after the other */
};

struct sim_trainer {
    struct sim_world *w;
    int process;
    char name[16];
    uint32_t term; /* rises whenever everything is let go */
    struct session *session;
    struct sim_seat seat;
    bool in_group;
    struct reader readers[SESSION_READERS];
    struct sim_txn txn;
    bool committing, fenced, unit_open, ends_due;
    int64_t from[SIM_TOPICS][SIM_PARTITIONS]; /* of the unit that is open; -1: nothing yet */
    /* [gone, first) was deleted before it was read. */
    int64_t gone[SIM_TOPICS][SIM_PARTITIONS], first[SIM_TOPICS][SIM_PARTITIONS];
    bool cut[SIM_TOPICS]
            [SIM_PARTITIONS]; /* … or was lost with the log's tail, since the last unit */
    struct sim_label *labels; /* as they were read, of this unit and the next */
    uint32_t n_labels, label_room;
    bool label_waits;    /* the last one was read last: the session may not have taken it yet */
    int64_t began;       /* of the unit that is open: virtual time */
    int64_t commands;    /* where control ended when it was opened */
    int64_t start_at;    /* when its initial rows have been read; 0: not due */
    uint32_t validation; /* which rows the role has; UINT32_MAX: none */
};

/* What happens later, unless everything was let go meanwhile. */
struct later {
    struct sim_trainer *t;
    uint32_t term;
};

static void later(struct sim_trainer *t, int64_t ms, sim_event_fn *fn)
{
    struct later *l = sim_alloc(t->w, sizeof *l);
    *l = (struct later){t, t->term};
    sim_at(t->w, t->w->now + ms, t->process, fn, l);
}

static struct trainer_time now_of(const struct sim_trainer *t)
{
    return (struct trainer_time){sim_mono(t->w, t->process), sim_wall(t->w, t->process)};
}

/* ---- election ------------------------------------------------------------------------------ */

static int out_join(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    (void)e;
    sim_seat_take(&t->seat, t->w, SIM_TRAINERS);
    t->in_group = true;
    return 0;
}

static void initialised(void *arg)
{
    struct sim_trainer *t = arg;
    session_fenced_others(t->session, now_of(t));
}

static void crash_later(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    sim_process_crash(w, l->t->process);
}

/* As the daemon's host does; a supervisor starts it again. */
static void watch_topics(struct sim_trainer *t)
{
    struct sim_producer_id *id = &t->w->broker->producers[SIM_TRAINER_ID];
    if (!id->backwards || id->epoch != t->txn.epoch)
        return;
    id->backwards = false;
    sim_note(t->w, t->name, "halted: its topics run backwards");
    sim_check_halted(t->w);
    session_halt(t->session);
    sim_faults_restart(t->w, t->process);
    later(t, sim_between(t->w, SIM_RNG_NET, 100, 4000), crash_later);
}

static void ended(void *arg, enum sim_code code)
{
    struct sim_trainer *t = arg;
    struct session_status s;
    struct fis_error e;
    t->committing = false;
    if (code == SIM_OK || code == SIM_CUT)
        watch_topics(t);
    if (code == SIM_OK)
        session_committed(t->session);
    session_status(t->session, &s);
    if (code == SIM_OK || s.halted)
        return;
    t->fenced = code == SIM_FENCED;
    fis_fail(&e, FIS_ABORT_TXN, "the broker refused the commit (%d)", (int)code);
    session_failed(t->session, &e, now_of(t));
}

static void swept(void *arg)
{
    struct sim_trainer *t = arg;
    session_swept(t->session);
}

static int out_sweep(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    (void)e;
    sim_txn_sweep_open(&t->txn);
    return 0;
}

static void undelivered(void *arg)
{
    struct sim_trainer *t = arg;
    struct fis_error e;
    fis_fail(&e, FIS_ABORT_TXN, "a message was not delivered");
    session_failed(t->session, &e, now_of(t));
}

static int out_fence(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct sim_txn_events events = {t, initialised, ended, swept, undelivered};
    (void)e;
    sim_txn_open(&t->txn, t->w, t->process, 0, &events);
    return 0;
}

static bool out_fenced(void *ctx)
{
    const struct sim_trainer *t = ctx;
    return t->fenced;
}

static void leave_group(struct sim_trainer *t)
{
    if (t->in_group)
        sim_seat_leave(&t->seat, t->w);
    t->in_group = false;
}

static void left(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    (void)w;
    session_left(l->t->session, now_of(l->t));
}

static void out_leave(void *ctx)
{
    struct sim_trainer *t = ctx;
    leave_group(t);
    sim_txn_close(&t->txn);
    memset(t->readers, 0, sizeof t->readers);
    t->committing = t->fenced = t->unit_open = t->ends_due = false;
    t->n_labels = 0;
    memset(t->cut, 0, sizeof t->cut);
    t->start_at = 0;
    t->validation = UINT32_MAX;
    t->term++;
    later(t, sim_between(t->w, SIM_RNG_NET, 1, 1000), left);
}

static void out_stopped(void *ctx, const struct fis_error *failed)
{
    struct sim_trainer *t = ctx;
    bool gave_up = failed && t->w->plan->failing && strstr(failed->text, "times within");
    bool halted = failed && !gave_up && failed->kind == FIS_FATAL && sim_check_excuses(t->w);
    SIM_MUST(t->w, !failed || failed->kind == FIS_ABORT_TXN || gave_up || halted, "%s stopped: %s",
             t->name, failed->text);
    sim_note(t->w, t->name, "stopped %s", failed ? failed->text : "in good order");
    t->w->halted |= halted;
    if (gave_up)
        sim_faults_restart(t->w, t->process);
    leave_group(t);
    later(t, 0, crash_later);
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum sim_topic topic_of(enum session_reader r, uint32_t i)
{
    return sim_topics[readers[r].first + i / SIM_PARTITIONS];
}

static void begin_where_committed(struct sim_trainer *t, enum sim_topic topic, int32_t n,
                                  struct partition *p)
{
    int64_t at = sim_group_committed(t->w->broker, SIM_TRAINERS, topic, n);
    p->fresh = at < 0;
    p->made = t->w->broker->groups[SIM_TRAINERS].made[topic][n];
    p->at = p->fresh ? sim_log_start(t->w->broker, topic, n) : at;
    t->from[topic][n] = at;
    t->gone[topic][n] = -1;
    t->first[topic][n] = p->fresh && p->at > 0 ? p->at : -1;
}

static void begin_partition(struct sim_trainer *t, enum session_reader r, uint32_t i)
{
    struct partition *p = &t->readers[r].p[i];
    int32_t n = (int32_t)(i % SIM_PARTITIONS);
    p->there = true;
    if (readers[r].stored)
        begin_where_committed(t, topic_of(r, i), n, p);
    else
        p->at = sim_log_start(t->w->broker, topic_of(r, i), n);
}

static bool exists(const struct sim_trainer *t, enum session_reader r, uint32_t i)
{
    return i % SIM_PARTITIONS < t->w->broker->partitions[topic_of(r, i)];
}

/* A partition that was added is seen when the topic's metadata is refreshed. */
static void look_for_partitions(struct sim_trainer *t, enum session_reader r)
{
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        struct partition *p = &t->readers[r].p[i];
        if (p->there || !exists(t, r, i) || PLANTED(partitions_fixed))
            continue;
        if (!p->seen_at)
            p->seen_at = t->w->now + sim_between(t->w, SIM_RNG_BROKER, 1, 10000);
        else if (t->w->now >= p->seen_at)
            begin_partition(t, r, i);
    }
}

static int out_open(void *ctx, enum session_reader r, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct reader *reader = &t->readers[r];
    (void)e;
    *reader = (struct reader){.open = true, .most = readers[r].most};
    if (sim_chance(t->w, SIM_RNG_NET, .2)) /* a slow one */
        reader->most = 6;
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++)
        if (exists(t, r, i))
            begin_partition(t, r, i);
    if (r == SESSION_READ_COMMANDS)
        t->commands = sim_end(t->w->broker, SIM_CONTROL, 0);
    return 0;
}

static void out_close(void *ctx, enum session_reader r)
{
    struct sim_trainer *t = ctx;
    t->readers[r].open = false;
}

static void out_to_end(void *ctx, enum session_reader r)
{
    struct sim_trainer *t = ctx;
    t->readers[r].ends_known = t->readers[r].ended = false;
    for (uint32_t i = 0; i < 3 * SIM_PARTITIONS; i++)
        t->readers[r].p[i].blocked = false;
}

/* What the network brings until the next turn. */
static void arrive(struct sim_trainer *t)
{
    for (int r = 0; r < SESSION_READERS; r++)
        for (uint32_t i = 0; t->readers[r].open && i < readers[r].n * SIM_PARTITIONS; i++)
            t->readers[r].p[i].left = sim_below(t->w, SIM_RNG_NET, t->readers[r].most);
}

/* Messages of a transaction that is open now count too: it may be committed. */
static void find_ends(struct sim_trainer *t, enum session_reader r)
{
    const struct sim_broker *b = t->w->broker;
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        enum sim_topic topic = topic_of(r, i);
        int32_t n = (int32_t)(i % SIM_PARTITIONS);
        if (t->readers[r].p[i].there)
            t->readers[r].p[i].end =
                PLANTED(end_stable) ? sim_stable_end(b, topic, n) : sim_end(b, topic, n);
    }
    t->readers[r].ends_known = true;
}

/* Retention was faster than this trainer, its group is new, or the log has lost its tail. */
static bool is_cut(const struct sim_trainer *t, enum sim_topic topic, int32_t n,
                   const struct partition *p)
{
    return sim_was_cut(t->w->broker, topic, n, p->made, p->at);
}

static void goes_on_at(struct sim_trainer *t, enum sim_topic topic, int32_t n, struct partition *p,
                       struct session_input *in)
{
    int64_t first = sim_log_start(t->w->broker, topic, n);
    bool cut = !p->fresh && is_cut(t, topic, n, p);
    SIM_MUST(t->w, p->fresh || cut || first > p->at, "simulator: %s/%d@%lld",
             sim_topic_names[topic], n, (long long)p->at);
    in->event = SESSION_RESET;
    in->expected = p->fresh ? -1 : p->at;
    in->lost = p->fresh || cut ? 0 : first - p->at;
    in->first = first;
    in->recreated = cut;
    p->made = t->w->broker->logs[topic][n].made;
    t->cut[topic][n] |= cut;
    if (!p->fresh && !cut &&
        t->gone[topic][n] < t->from[topic][n]) /* else a second time in this unit */
        t->gone[topic][n] = p->at;
    p->at = first;
    if (cut)
        t->gone[topic][n] = t->first[topic][n] = -1;
    else if (first > 0)
        t->first[topic][n] = first;
    p->fresh = false;
}

static void note_label(struct sim_trainer *t, int32_t partition, const struct sim_entry *m)
{
    if (t->n_labels == t->label_room) {
        uint32_t more = t->label_room ? 2 * t->label_room : 64;
        t->labels =
            sim_grow(t->w, t->labels, t->n_labels * sizeof *t->labels, more * sizeof *t->labels);
        t->label_room = more;
    }
    t->labels[t->n_labels++] = (struct sim_label){partition, *m};
    t->label_waits = true;
}

/* True: *in is from this partition. */
static bool read_partition(struct sim_trainer *t, enum session_reader r, uint32_t i,
                           struct session_input *in)
{
    struct partition *p = &t->readers[r].p[i];
    enum sim_topic topic = topic_of(r, i);
    int32_t n = (int32_t)(i % SIM_PARTITIONS);
    struct sim_entry m;
    *in = (struct session_input){.topic = TOPIC(readers[r].first + i / SIM_PARTITIONS),
                                 .partition = n};
    if (!p->there || p->left == 0)
        return false;
    p->left--;
    t->label_waits &= r != SESSION_READ_INPUT;
    /* Versions are read from the beginning each time: what is lost shows where they end earlier. */
    bool beyond = p->at > sim_end(t->w->broker, topic, n);
    bool lost = (r != SESSION_READ_VERSIONS || beyond) && is_cut(t, topic, n, p);
    p->made =
        lost ? p->made : t->w->broker->logs[topic][n].made; /* it is of this log from now on */
    int rc = p->fresh || lost ? -1 : sim_fetch(t->w->broker, topic, n, &p->at, &m);
    if (rc < 0)
        goes_on_at(t, topic, n, p, in);
    else if (rc > 0)
        in->message = sim_message(topic, n, &m);
    if (rc > 0 && topic == SIM_LABELS)
        note_label(t, n, &m);
    return rc != 0;
}

static bool at_ends(const struct reader *r)
{
    for (uint32_t i = 0; i < 3 * SIM_PARTITIONS; i++)
        if (r->p[i].fresh || r->p[i].at < r->p[i].end)
            return false;
    return true;
}

/* Once for each time that END is asked for. */
static bool tell_blocked(struct sim_trainer *t, enum session_reader r, struct session_input *in)
{
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        struct partition *p = &t->readers[r].p[i];
        int64_t stable =
            sim_stable_end(t->w->broker, topic_of(r, i), (int32_t)(i % SIM_PARTITIONS));
        if (!p->there || p->blocked || p->at < stable || p->at >= p->end)
            continue;
        *in = (struct session_input){.event = SESSION_BLOCKED,
                                     .topic = TOPIC(readers[r].first + i / SIM_PARTITIONS)};
        return p->blocked = true;
    }
    return false;
}

/* As the daemon's ports do. */
static void expect_ends(struct sim_trainer *t, const struct reader *memory)
{
    struct sim_producer_id *id = &t->w->broker->producers[SIM_TRAINER_ID];
    for (uint32_t i = 0; id->epoch == t->txn.epoch && i < 3 * SIM_PARTITIONS; i += SIM_PARTITIONS) {
        int64_t *last = &id->last[topic_of(SESSION_READ_MEMORY, i)][0];
        *last = memory->p[i].at - 1 > *last ? memory->p[i].at - 1 : *last;
    }
}

static int out_read(void *ctx, enum session_reader r, struct session_input *in, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct reader *reader = &t->readers[r];
    uint32_t count = readers[r].n * SIM_PARTITIONS;
    (void)e;
    SIM_MUST(t->w, reader->open, "a reader is read that is not open");
    if (!sim_broker_is_up(t->w))
        return 0;
    look_for_partitions(t, r);
    if (!reader->ends_known)
        find_ends(t, r);
    uint32_t from = sim_below(t->w, SIM_RNG_NET, count);
    for (uint32_t k = 0; k < count; k++)
        if (read_partition(t, r, (from + k) % count, in))
            return 1;
    if (!reader->ended && tell_blocked(t, r, in))
        return 1;
    if (reader->ended || !at_ends(reader))
        return 0;
    reader->ended = true;
    if (r == SESSION_READ_MEMORY)
        expect_ends(t, reader);
    *in = (struct session_input){.event = SESSION_END, .topic = readers[r].first};
    in->first = sim_log_start(t->w->broker, topic_of(r, 0), 0);
    return 1;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static struct fis_encoder *fit(struct sim_trainer *t)
{
    const struct sim_data *d = t->w->data;
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(d->columns, t->w->plan->d, 10, &e);
    SIM_MUST(t->w, enc && fis_encoder_expect_trees(enc, t->w->plan->margins, &e) == 0,
             "encoder: %s", e.text);
    for (uint32_t i = 0; i < t->w->plan->initial; i++) {
        struct fis_value row[SIM_D_MAX];
        for (uint32_t c = 0; c < t->w->plan->d; c++)
            row[c] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = d->initial_x[i][c]};
        SIM_MUST(t->w, fis_encoder_observe(enc, row, &e) == 0, "encoder: %s", e.text);
    }
    SIM_MUST(t->w, fis_encoder_finish(enc, &e) == 0, "encoder: %s", e.text);
    return enc;
}

static int out_initial(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                       struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    const struct sim_plan *plan = t->w->plan;
    (void)e;
    if (!t->start_at)
        t->start_at = t->w->now + sim_between(t->w, SIM_RNG_NET, 0, 800);
    if (t->w->now < t->start_at)
        return 0;
    if (!*encoder)
        *encoder = fit(t);
    uint32_t width = plan->d + plan->margins;
    float *x = sim_alloc(t->w, plan->initial * width * sizeof *x);
    for (uint32_t i = 0; i < plan->initial; i++)
        memcpy(x + i * width, t->w->data->initial_x[i], width * sizeof *x);
    *out = (struct session_rows){{plan->initial, width, x, t->w->data->initial_y, NULL}, 0};
    return 1;
}

static int out_validation(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                          struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    const struct sim_validation *v = &t->w->data->validation[t->w->data->current];
    (void)encoder;
    (void)e;
    if (t->validation == t->w->data->current)
        return 0;
    t->validation = t->w->data->current;
    uint32_t width = t->w->plan->d + t->w->plan->margins;
    *out = (struct session_rows){{v->n, width, v->x, v->y, v->group}, 2};
    return 1;
}

static void out_ready(void *ctx, struct trainer_role *role)
{
    struct sim_trainer *t = ctx;
    const struct partition *p = t->readers[SESSION_READ_MEMORY].p;
    struct session_status s;
    uint32_t foreign = 0;
    for (uint32_t i = 0; i < SESSION_MEMORY_TOPICS; i++)
        foreign += sim_foreign_before(t->w->broker, sim_topics[i], p[i * SIM_PARTITIONS].end);
    session_status(t->session, &s);
    SIM_MUST(t->w, s.left_out >= foreign,
             "guarantee 8: %llu messages of the memory were left out; %u are none of a trainer's",
             (unsigned long long)s.left_out, foreign);
    if (t->txn.epoch == t->w->broker->producers[0].epoch) /* else another leads by now */
        sim_check_restored(t->w, role);
}

/* ---- sending ------------------------------------------------------------------------------- */

static int out_send(void *ctx, enum session_topic topic, struct wire_bytes key,
                    struct wire_bytes value, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    enum sim_topic to = sim_topics[topic];
    SIM_MUST(t->w, !t->committing, "a message is sent while a unit is being committed");
    if (sim_faults_send(t->w))
        return fis_fail(e, FIS_ABORT_TXN, "the queue is full");
    int32_t p = to == SIM_REQUESTS ? sim_partition_of(t->w->broker, to, key) : 0;
    sim_txn_send(&t->txn, to, p, key, value, NULL);
    return 0;
}

static enum sim_topic topic_named(const struct sim_trainer *t, const char *name)
{
    for (int i = 0; i < SIM_TOPICS; i++)
        if (strcmp(sim_topic_names[i], name) == 0)
            return (enum sim_topic)i;
    sim_violated(t->w, "a dead letter of topic %s, which there is not", name);
}

static int out_dead_letter(void *ctx, const struct wire_message *m, const struct fis_error *why,
                           struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    enum sim_topic topic = topic_named(t, m->topic);
    (void)e;
    char *reason = sim_alloc(t->w, strlen(why->text) + 1);
    memcpy(reason, why->text, strlen(why->text));
    struct sim_origin origin = {topic, m->partition, m->offset, reason};
    sim_txn_send(&t->txn, SIM_DEAD, 0, m->key, m->value, &origin);
    sim_note(t->w, t->name, "dead letter: %s/%d@%lld %.*s: %s", sim_topic_names[topic],
             m->partition, (long long)m->offset, (int)m->key.length, (const char *)m->key.data,
             why->text);
    return 0;
}

/* The labels that this unit took, in the order in which it did; what was read beyond stays. */
static void labels_of_unit(struct sim_trainer *t, struct sim_about *about)
{
    const struct sim_label *last = t->n_labels ? &t->labels[t->n_labels - 1] : NULL;
    bool waits =
        last && t->label_waits && last->m.offset >= about->next[SIM_LABELS][last->partition];
    about->n_labels = t->n_labels - waits;
    about->labels = sim_grow(t->w, t->labels, t->n_labels * sizeof *t->labels,
                             (t->n_labels + 1) * sizeof *t->labels);
    if (waits)
        t->labels[0] = *last;
    t->n_labels = waits;
}

static uint32_t made_of(const struct sim_trainer *t, enum session_topic topic, int32_t n)
{
    enum session_reader r = topic == SESSION_CONTROL ? SESSION_READ_COMMANDS : SESSION_READ_INPUT;
    if (topic == SESSION_LEDGER)
        return t->w->broker->logs[SIM_LEDGER][0].made; /* a number, and no place of it */
    return t->readers[r].p[(topic - readers[r].first) * SIM_PARTITIONS + (uint32_t)n].made;
}

static int out_commit(void *ctx, const struct session_place *places, uint32_t n,
                      struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct sim_about *about = sim_alloc(t->w, sizeof *about);
    if (sim_faults_refuse(t->w))
        return fis_fail(e, FIS_ABORT_TXN, "the broker refused the commit");
    about->process = t->process;
    about->wall_ms = sim_wall(t->w, t->process);
    about->began = t->began;
    about->commands = t->commands;
    memcpy(about->from, t->from, sizeof about->from);
    memcpy(about->gone, t->gone, sizeof about->gone);
    memcpy(about->first, t->first, sizeof about->first);
    memcpy(about->cut, t->cut, sizeof about->cut);
    memset(t->cut, 0, sizeof t->cut);
    for (uint32_t i = 0; i < n; i++) {
        enum sim_topic topic = sim_topics[places[i].topic];
        sim_txn_consumed(&t->txn, SIM_TRAINERS, topic, places[i].partition, places[i].next,
                         made_of(t, places[i].topic, places[i].partition));
        if (topic == SIM_LEDGER)
            continue;
        t->from[topic][places[i].partition] = places[i].next;
    }
    memcpy(about->next, t->from, sizeof about->next);
    labels_of_unit(t, about);
    t->committing = true;
    t->unit_open = false;
    sim_txn_commit(&t->txn, about);
    return 0;
}

static int out_unit(void *ctx, uint64_t *number, struct fis_error *e)
{
    const struct sim_trainer *t = ctx;
    int64_t kept = sim_group_committed(t->w->broker, SIM_TRAINERS, SIM_LEDGER, 0);
    (void)e;
    *number = kept < 0 ? 0 : (uint64_t)kept;
    return sim_broker_is_up(t->w);
}

/* ---- work ---------------------------------------------------------------------------------- */

static void run_job(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    (void)w;
    session_job(l->t->session);
    session_job_done(l->t->session);
}

static void out_job(void *ctx, enum trainer_job kind)
{
    struct sim_trainer *t = ctx;
    int64_t ms = sim_faults_job_ms(t->w);
    sim_note(t->w, t->name, "job %d takes %lld ms", (int)kind, (long long)ms);
    later(t, ms, run_job);
}

static void out_ends(void *ctx)
{
    struct sim_trainer *t = ctx;
    t->ends_due = true;
}

static void answer_ends(struct sim_trainer *t)
{
    struct wire_pool_end ends[SIM_PARTITIONS];
    const struct sim_broker *b = t->w->broker;
    uint32_t n = b->partitions[SIM_RECORDS];
    if (!t->ends_due || !sim_broker_is_up(t->w))
        return;
    t->ends_due = false;
    for (uint32_t p = 0; p < n; p++)
        ends[p] = (struct wire_pool_end){(int32_t)p, sim_end(b, SIM_RECORDS, (int32_t)p)};
    session_ends(t->session, ends, n);
}

static void out_note(void *ctx, enum log_level level, const char *event, const char *format,
                     va_list ap)
{
    struct sim_trainer *t = ctx;
    char text[FIS_ERROR_TEXT + 256];
    (void)level;
    vsnprintf(text, sizeof text, format, ap);
    sim_note(t->w, t->name, "%s %s", event, text);
    /* Only a broker that loses what it has acknowledged makes a scan silent. */
    bool loses = t->w->plan->cutting || t->w->plan->tails; /* a head that scorers wait for, too */
    SIM_MUST(t->w, loses || !strstr(text, "no scorer has reported"),
             "liveness: a scan waited for progress that is gone");
}

/* ---- life ---------------------------------------------------------------------------------- */

static void serve_group(struct sim_trainer *t)
{
    struct sim_seat_change change;
    if (!t->in_group)
        return;
    sim_seat_turn(&t->seat, t->w, &change);
    if (change.fresh)
        session_seat(t->session, t->seat.owned & 1, change.lost, now_of(t));
}

static void turn(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    serve_group(t);
    answer_ends(t);
    if (!t->committing && !t->unit_open) {
        t->began = w->now;
        t->unit_open = true;
    }
    arrive(t);
    session_turn(t->session, now_of(t));
    sim_at(w, w->now + sim_between(w, SIM_RNG_NET, 10, 150), t->process, turn, t);
}

static void options(const struct sim_world *w, struct session_options *o)
{
    *o = (struct session_options){
        .schema = &w->data->schema,
        .columns = w->data->columns,
        .n_columns = w->plan->d,
        .labels = w->plan->labels_encoding,
        .max_chunk = 600,
        .commit_ms = (uint64_t)w->plan->commit_ms,
        .role = w->data->trainer[w->data->limits],
    };
    for (int i = 0; i < SESSION_TOPICS; i++)
        o->topics[i] = sim_topic_names[sim_topics[i]];
}

void sim_trainer_start(struct sim_world *w, int process)
{
    struct sim_trainer *t = sim_alloc(w, sizeof *t);
    struct session_options o;
    struct fis_error e;
    const struct session_ports ports = {
        .ctx = t,
        .join = out_join,
        .fence = out_fence,
        .sweep = out_sweep,
        .fenced = out_fenced,
        .leave = out_leave,
        .stopped = out_stopped,
        .open = out_open,
        .close = out_close,
        .read = out_read,
        .to_end = out_to_end,
        .initial = out_initial,
        .validation = out_validation,
        .send = out_send,
        .dead_letter = out_dead_letter,
        .commit = out_commit,
        .unit = out_unit,
        .job = out_job,
        .ends = w->plan->pool ? out_ends : NULL,
        .note = out_note,
        .ready = out_ready,
    };
    w->trainers[process] = t;
    t->w = w;
    t->process = process;
    t->validation = UINT32_MAX;
    memset(t->from, -1, sizeof t->from);
    memset(t->gone, -1, sizeof t->gone);
    memset(t->first, -1, sizeof t->first);
    snprintf(t->name, sizeof t->name, "trainer-%d", process);
    options(w, &o);
    t->session = session_new(&o, &ports, &e);
    SIM_MUST(w, t->session, "session_new: %s", e.text);
    sim_at(w, w->now, process, turn, t);
}

void sim_trainer_reload(struct sim_world *w, int process)
{
    struct sim_trainer *t = w->trainers[process];
    session_adjust(t->session, &w->data->trainer[w->data->limits],
                   (uint64_t)w->plan->commit_ms / 2);
    sim_note(w, t->name, "other limits");
}

void sim_trainer_drop(struct sim_world *w, int process)
{
    sim_txn_close(&w->trainers[process]->txn);
    session_free(w->trainers[process]->session);
    w->trainers[process] = NULL;
}

void sim_trainer_term(struct sim_world *w, int process)
{
    struct sim_trainer *t = w->trainers[process];
    session_stop(t->session, now_of(t));
}

static bool has_read_all(const struct sim_trainer *t)
{
    for (int r = SESSION_READ_COMMANDS; r <= SESSION_READ_INPUT; r++)
        for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
            const struct partition *p = &t->readers[r].p[i];
            enum sim_topic topic = topic_of((enum session_reader)r, i);
            int32_t n = (int32_t)(i % SIM_PARTITIONS);
            if (exists(t, (enum session_reader)r, i) &&
                (!p->there || p->fresh || p->at < sim_end(t->w->broker, topic, n) ||
                 is_cut(t, topic, n, p)))
                return false;
        }
    return true;
}

bool sim_trainer_quiet(const struct sim_world *w, int process)
{
    const struct sim_trainer *t = w->trainers[process];
    struct session_status s;
    session_status(t->session, &s);
    if (s.state == ELECTION_STANDBY)
        return true;
    return s.running && !s.busy && !s.unsaved && !s.waiting && has_read_all(t);
}

/* One that was suspended may think it leads, and does not know better yet. */
static bool leads(const struct sim_trainer *t)
{
    struct session_status s;
    if (!t)
        return false;
    session_status(t->session, &s);
    return s.running && s.state == ELECTION_LEAD &&
           t->txn.epoch == t->w->broker->producers[t->txn.producer].epoch;
}

const struct trainer_role *sim_trainer_leading(const struct sim_world *w)
{
    for (int i = 0; i < SIM_PROCESSES; i++)
        if (leads(w->trainers[i]))
            return session_role(w->trainers[i]->session);
    return NULL;
}

#include "sim_client.h"

#include <string.h>

#include "sim_faults.h"

int64_t sim_latency(struct sim_world *w)
{
    if (sim_chance(w, SIM_RNG_NET, .01))
        return sim_between(w, SIM_RNG_NET, 100, 3000);
    return sim_between(w, SIM_RNG_NET, 1, 15);
}

/* Later than what went to the same place before. */
static int64_t arrival(struct sim_world *w, int64_t *last)
{
    int64_t at = w->now + sim_latency(w);
    *last = at > *last ? at : *last;
    return *last;
}

/* ---- a plain producer ---------------------------------------------------------------------- */

struct sent {
    struct sim_producer *p;
    uint32_t life, token;
    enum sim_topic topic;
    int32_t partition;
    struct wire_bytes key, value;
    struct sim_origin origin;
};

static void on_ack(struct sim_world *w, void *arg)
{
    struct sent *s = arg;
    if (w->life[s->p->process].alive && w->life[s->p->process].life == s->life)
        s->p->acked(s->p->arg, s->token);
}

static void on_arrival(struct sim_world *w, void *arg)
{
    struct sent *s = arg;
    sim_append(w->broker, s->topic, s->partition, s->key, s->value, &s->origin);
    sim_faults_unflushed(w, s->topic, s->partition);
    if (w->life[s->p->process].alive && w->life[s->p->process].life == s->life)
        sim_at(w, w->now + sim_latency(w), s->p->process, on_ack, s);
}

static void on_arrival_again(struct sim_world *w, void *arg)
{
    struct sent *s = arg;
    sim_append(w->broker, s->topic, s->partition, s->key, s->value, &s->origin);
}

void sim_producer_init(struct sim_producer *p, struct sim_world *w, int process,
                       sim_acked_fn *acked, void *arg)
{
    *p = (struct sim_producer){.w = w, .process = process, .acked = acked, .arg = arg};
}

void sim_producer_send(struct sim_producer *p, enum sim_topic t, int32_t partition,
                       struct wire_bytes key, struct wire_bytes value,
                       const struct sim_origin *origin, uint32_t token)
{
    struct sent *s = sim_alloc(p->w, sizeof *s);
    *s = (struct sent){.p = p,
                       .life = p->w->life[p->process].life,
                       .token = token,
                       .topic = t,
                       .partition = partition,
                       .key = sim_copy(p->w, key),
                       .value = sim_copy(p->w, value)};
    if (origin)
        s->origin = *origin;
    int64_t at = arrival(p->w, &p->last[t][partition]);
    sim_send_at(p->w, at, p->process, on_arrival, s);
    if (sim_faults_twice(p->w))
        sim_send_at(p->w, at + sim_latency(p->w), p->process, on_arrival_again, s);
}

/* ---- a transactional producer -------------------------------------------------------------- */

struct sim_txn_unit {
    enum sim_code code; /* the first thing that went wrong */
};

struct txn_op {
    struct sim_txn *t;
    struct sim_txn_unit *unit;
    uint32_t life, instance, producer;
    int32_t epoch;
    enum { OP_INIT, OP_SEND, OP_OFFSET, OP_COMMIT, OP_SWEEP } kind;
    enum sim_topic topic;
    int32_t partition;
    int64_t next;
    uint32_t made;
    enum sim_group_id group;
    struct wire_bytes key, value;
    struct sim_origin origin;
    const void *about;
};

static bool current(const struct sim_world *w, const struct txn_op *op)
{
    return w->life[op->t->process].alive && w->life[op->t->process].life == op->life &&
           op->t->instance == op->instance;
}

static void on_reply(struct sim_world *w, void *arg)
{
    struct txn_op *op = arg;
    if (!current(w, op))
        return;
    if (op->kind == OP_INIT) {
        op->t->epoch = op->epoch;
        op->t->events.initialised(op->t->events.arg);
    } else if (op->kind == OP_SWEEP && op->unit->code == SIM_OK) {
        op->t->events.swept(op->t->events.arg);
    } else {
        op->t->events.ended(op->t->events.arg, op->unit->code);
    }
}

static void reply(struct sim_world *w, struct txn_op *op)
{
    if (current(w, op))
        sim_at(w, w->now + sim_latency(w), op->t->process, on_reply, op);
}

static enum sim_code apply(struct sim_world *w, struct txn_op *op)
{
    struct sim_broker *b = w->broker;
    switch (op->kind) {
    case OP_INIT:
        op->epoch = sim_txn_init(b, op->producer);
        sim_note(w, "broker", "transactional id initialised: epoch %d", op->epoch);
        return SIM_OK;
    case OP_SEND:
        return sim_txn_append(b, op->producer, op->epoch, op->topic, op->partition, op->key,
                              op->value, &op->origin);
    case OP_OFFSET:
        return sim_txn_offset(b, op->producer, op->epoch, op->group, op->topic, op->partition,
                              op->next, op->made);
    case OP_SWEEP:
        return sim_txn_sweep(b, op->producer, op->epoch);
    case OP_COMMIT:
        break;
    }
    if (op->unit->code != SIM_OK)
        return op->unit->code;
    w->broker->about = op->about;
    enum sim_code code = sim_txn_end(b, op->producer, op->epoch, true);
    w->broker->about = NULL;
    return code;
}

static void on_lost(struct sim_world *w, void *arg)
{
    struct txn_op *op = arg;
    if (current(w, op))
        op->t->events.undelivered(op->t->events.arg);
}

static void on_op(struct sim_world *w, void *arg)
{
    struct txn_op *op = arg;
    bool lost = op->kind == OP_SEND && sim_faults_undelivered(w);
    enum sim_code code = lost ? SIM_UNDELIVERED : apply(w, op);
    if (lost && current(w, op))
        sim_at(w, w->now + sim_latency(w), op->t->process, on_lost, op);
    if (op->unit && op->unit->code == SIM_OK)
        op->unit->code = code;
    if (op->kind == OP_INIT || op->kind == OP_COMMIT || op->kind == OP_SWEEP)
        reply(w, op);
}

static struct txn_op *new_op(struct sim_txn *t, int kind)
{
    struct txn_op *op = sim_alloc(t->w, sizeof *op);
    op->t = t;
    op->unit = t->unit;
    op->life = t->w->life[t->process].life;
    op->instance = t->instance;
    op->producer = t->producer;
    op->epoch = t->epoch;
    op->kind = kind;
    return op;
}

void sim_txn_open(struct sim_txn *t, struct sim_world *w, int process, uint32_t producer,
                  const struct sim_txn_events *events)
{
    uint32_t instance = t->instance + 1;
    *t = (struct sim_txn){
        .w = w, .process = process, .producer = producer, .events = *events, .instance = instance};
    t->unit = sim_alloc(w, sizeof *t->unit);
    sim_send_at(w, w->now + sim_latency(w), process, on_op, new_op(t, OP_INIT));
}

void sim_txn_close(struct sim_txn *t)
{
    t->instance++;
}

static void dispatch(struct sim_txn *t, struct txn_op *op, int64_t at)
{
    t->last_of_all = at > t->last_of_all ? at : t->last_of_all;
    sim_send_at(t->w, at, t->process, on_op, op);
}

void sim_txn_sweep_open(struct sim_txn *t)
{
    dispatch(t, new_op(t, OP_SWEEP), t->w->now + sim_latency(t->w));
}

void sim_txn_send(struct sim_txn *t, enum sim_topic topic, int32_t partition, struct wire_bytes key,
                  struct wire_bytes value, const struct sim_origin *origin)
{
    struct txn_op *op = new_op(t, OP_SEND);
    op->topic = topic;
    op->partition = partition;
    op->key = sim_copy(t->w, key);
    op->value = sim_copy(t->w, value);
    if (origin)
        op->origin = *origin;
    dispatch(t, op, arrival(t->w, &t->last[topic][partition]));
}

void sim_txn_consumed(struct sim_txn *t, enum sim_group_id g, enum sim_topic topic,
                      int32_t partition, int64_t next, uint32_t made)
{
    struct txn_op *op = new_op(t, OP_OFFSET);
    op->group = g;
    op->topic = topic;
    op->partition = partition;
    op->next = next;
    op->made = made;
    dispatch(t, op, t->w->now + sim_latency(t->w));
}

void sim_txn_commit(struct sim_txn *t, const void *about)
{
    struct txn_op *op = new_op(t, OP_COMMIT);
    op->about = about;
    int64_t from = t->last_of_all > t->w->now ? t->last_of_all : t->w->now;
    int64_t at = from + sim_latency(t->w);
    dispatch(t, op, at);
    t->unit = sim_alloc(t->w, sizeof *t->unit);
    for (int i = 0; i < SIM_TOPICS; i++) /* what comes next waits for the end of this one */
        for (int p = 0; p < SIM_PARTITIONS; p++)
            t->last[i][p] = at;
    sim_faults_commit(t->w, t->process, at);
}

/* ---- a seat in a group --------------------------------------------------------------------- */

static void new_seat(struct sim_seat *s, struct sim_world *w)
{
    s->key = ++w->broker->seats;
    s->generation = -1;
    s->owned = 0;
    s->joined = false;
    s->last_ok = w->now;
}

void sim_seat_take(struct sim_seat *s, struct sim_world *w, enum sim_group_id g)
{
    *s = (struct sim_seat){.group = g};
    new_seat(s, w);
}

static void lose(struct sim_seat *s, struct sim_world *w, struct sim_seat_change *change)
{
    change->gone = s->owned;
    change->lost = change->fresh = true;
    new_seat(s, w);
}

static void join(struct sim_seat *s, struct sim_world *w)
{
    sim_group_join(w->broker, s->group, s->key, s->owned);
    s->joined = s->waiting = true;
}

static void beat(struct sim_seat *s, struct sim_world *w, struct sim_seat_change *change)
{
    uint32_t assigned = 0;
    switch (sim_group_beat(w->broker, s->group, s->key, &s->generation, &assigned)) {
    case SIM_BEAT_UNKNOWN:
        lose(s, w, change);
        return;
    case SIM_BEAT_REJOIN:
        join(s, w);
        break;
    case SIM_BEAT_WAIT:
        break;
    case SIM_BEAT_OK:
        s->waiting = false;
        break;
    case SIM_BEAT_ASSIGNED:
        s->waiting = false;
        change->fresh = true;
        change->gained = assigned & ~s->owned;
        change->gone = s->owned & ~assigned;
        s->owned = assigned;
        break;
    }
    s->last_ok = w->now;
}

void sim_seat_turn(struct sim_seat *s, struct sim_world *w, struct sim_seat_change *change)
{
    *change = (struct sim_seat_change){0};
    if (!sim_broker_is_up(w)) {
        if (s->joined && w->now - s->last_ok > w->broker->groups[s->group].session_ms)
            lose(s, w, change);
        return;
    }
    sim_group_tick(w->broker);
    if (!s->joined)
        join(s, w);
    if (!s->waiting && w->now < s->next_beat)
        return;
    s->next_beat = w->now + 1000;
    beat(s, w, change);
    if (change->gone && !change->lost)
        join(s, w); /* what was given up can be handed on now */
}

void sim_seat_leave(struct sim_seat *s, struct sim_world *w)
{
    if (s->joined && sim_broker_is_up(w))
        sim_group_leave(w->broker, s->group, s->key);
    s->joined = false;
}

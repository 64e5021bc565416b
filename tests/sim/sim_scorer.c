/* A scorer: role/scorer and role/scoring with a seat in the group, a reader of heads (in pool mode
 * of the ledger too), and a producer. */
#include <stdio.h>
#include <string.h>

#include "sim_client.h"
#include "sim_faults.h"
#include "fis/mem.h"
#include "sim_process.h"
#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/protobuf_codec.h"

#define SEND_AT_ONCE 8 /* few, so that something comes in between */
#define PACKED 3       /* candidates in a message; with progress one more */

struct scorer_slot {
    struct sim_scorer *s;
    uint32_t index;
    struct scoring_batch batch;
};

struct sim_scorer {
    struct sim_world *w;
    int process;
    char name[16];
    struct scorer *machine;
    struct scoring_options scoring;
    struct scorer_slot slots[SCORER_MAX_SLOTS];
    uint32_t n_slots;
    struct sim_producer producer;
    struct sim_seat seat;
    int64_t position[SIM_PARTITIONS];
    bool enough[SIM_PARTITIONS];
    int64_t heads_at, ledger_at;
    uint32_t made[SIM_TOPICS]; /* how often these two had been cut when they were read last */
    struct wire_assembler *assembler;
    struct scoring_head *head;
    struct byte_buffer buffer; /* an offer that is not sent yet */
    uint32_t packed_slot, packed;
    bool stopping;
};

static void fail(struct sim_scorer *s, const struct fis_error *e)
{
    sim_violated(s->w, "%s: a scorer stopped: %s", s->name, e->text);
}

/* ---- what the machine asks for ------------------------------------------------------------- */

static uint32_t token_of(uint32_t slot, uint32_t n)
{
    return slot << 8 | n;
}

static void flush(struct sim_scorer *s)
{
    if (s->packed)
        sim_producer_send(&s->producer, SIM_CANDIDATES, 0, (struct wire_bytes){0},
                          (struct wire_bytes){s->buffer.data, s->buffer.length}, NULL,
                          token_of(s->packed_slot, s->packed));
    s->buffer.length = s->packed = 0;
}

/* A few go in a message. */
static void pack(struct sim_scorer *s, uint32_t slot, const struct wire_offer *offer)
{
    struct fis_error e;
    if (s->packed_slot != slot || s->packed == PACKED)
        flush(s);
    if (wire_offer_encode(offer, &s->buffer, &e) < 0)
        fail(s, &e);
    s->packed_slot = slot;
    s->packed++;
}

static void send_some(struct sim_world *w, void *arg)
{
    struct sim_scorer *s = arg;
    bool more = scorer_send(s->machine, SEND_AT_ONCE) == SEND_AT_ONCE;
    flush(s);
    if (more)
        sim_at(w, w->now + sim_between(w, SIM_RNG_NET, 1, 5), s->process, send_some, s);
}

static void ran(struct sim_world *w, void *arg)
{
    struct scorer_slot *slot = arg;
    scoring_run(&slot->batch);
    scorer_scored(slot->s->machine, slot->index, &slot->batch);
    send_some(w, slot->s);
}

static void out_score(void *ctx, uint32_t index, const float *floors)
{
    struct sim_scorer *s = ctx;
    struct fis_error e;
    if (scoring_batch_prepare(&s->slots[index].batch, s->head, floors, &e) < 0)
        fail(s, &e);
    int64_t takes = sim_between(s->w, SIM_RNG_NET, 1, 30);
    sim_at(s->w, s->w->now + takes, s->process, ran, &s->slots[index]);
}

static void out_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct sim_scorer *s = ctx;
    const struct wire_candidate candidate = scoring_candidate(&s->slots[slot].batch, i);
    pack(s, slot, &(struct wire_offer){.candidates = &candidate, .n_candidates = 1});
}

static void out_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct sim_scorer *s = ctx;
    struct scoring_batch *b = &s->slots[slot].batch;
    const struct wire_message *m = &b->messages[i];
    struct sim_origin origin = {SIM_RECORDS, m->partition, m->offset, "refused"};
    sim_producer_send(&s->producer, SIM_DEAD, 0, m->key, m->value, &origin, token_of(slot, 1));
}

static void out_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct sim_scorer *s = ctx;
    pack(s, slot, &(struct wire_offer){.progress = p});
    flush(s);
}

struct commit {
    enum sim_group_id group;
    uint32_t member;
    int32_t generation, partition;
    int64_t next;
};

static void on_commit(struct sim_world *w, void *arg)
{
    struct commit *c = arg;
    enum sim_code code =
        sim_group_commit(w->broker, c->group, c->member, c->generation, c->partition, c->next);
    if (code != SIM_OK)
        sim_note(w, "broker", "offset %lld of records/%d by member %u refused: %d",
                 (long long)c->next, c->partition, c->member, code);
}

static void out_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct sim_scorer *s = ctx;
    (void)slot;
    for (uint32_t i = 0; i < n; i++) {
        struct commit *c = sim_alloc(s->w, sizeof *c);
        *c = (struct commit){SIM_SCORERS, s->seat.key, s->seat.generation, places[i].partition,
                             places[i].next};
        int64_t *last = &s->producer.last[SIM_RECORDS][places[i].partition]; /* in order */
        int64_t at = s->w->now + sim_latency(s->w);
        *last = at > *last ? at : *last;
        sim_send_at(s->w, *last, s->process, on_commit, c);
    }
}

static void out_rewind(void *ctx)
{
    struct sim_scorer *s = ctx;
    for (int32_t p = 0; p < SIM_PARTITIONS; p++) {
        s->position[p] = sim_log_start(s->w->broker, SIM_RECORDS, p);
        s->enough[p] = false;
    }
}

static void out_enough(void *ctx, int32_t partition)
{
    struct sim_scorer *s = ctx;
    s->enough[partition] = true;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void take_head(struct sim_scorer *s, struct wire_bytes payload)
{
    struct wire_head_owned owned;
    struct fis_error e;
    if (wire_head_decode(payload, &owned, &e) < 0)
        fail(s, &e);
    struct scoring_head *head = scoring_head_take(&owned);
    scoring_head_unref(s->head);
    s->head = head;
    if (scorer_head(s->machine, &owned.head, &e) < 0)
        fail(s, &e);
    wire_head_done(&owned);
}

/* The next message of a topic that is followed; what is gone is gone, and a log that was cut is read
 * again. */
static bool next_of(struct sim_scorer *s, enum sim_topic t, int64_t *at, struct sim_entry *m)
{
    int64_t start = sim_log_start(s->w->broker, t, 0);
    bool cut = sim_was_cut(s->w->broker, t, 0, s->made[t], *at);
    s->made[t] = s->w->broker->logs[t][0].made;
    *at = cut || *at < start ? start : *at;
    return sim_fetch(s->w->broker, t, 0, at, m) > 0;
}

static void follow_heads(struct sim_scorer *s)
{
    struct sim_entry m;
    struct fis_error e;
    struct wire_bytes payload;
    uint64_t version;
    while (next_of(s, SIM_HEADS, &s->heads_at, &m)) {
        int rc = wire_assembler_feed(s->assembler, m.value, &payload, &version, &e);
        if (rc < 0 && rc != -FIS_INPUT) /* what no trainer wrote is left out */
            fail(s, &e);
        if (rc > 0)
            take_head(s, payload);
        else if (wire_assembler_floors(s->assembler))
            scorer_floors(s->machine, wire_assembler_floors(s->assembler));
    }
}

static void follow_ledger(struct sim_scorer *s)
{
    struct sim_entry m;
    struct fis_error e;
    while (next_of(s, SIM_LEDGER, &s->ledger_at, &m)) {
        struct wire_message msg = sim_message(SIM_LEDGER, 0, &m);
        int rc = scorer_ledger(s->machine, &msg, &e);
        if (rc < 0 && rc != -FIS_INPUT)
            fail(s, &e);
    }
}

static bool owns(const struct sim_scorer *s, int32_t p)
{
    return s->seat.owned & (1u << p) && !s->enough[p];
}

/* Retention was faster than this scorer. */
static void skip_lost(struct sim_scorer *s, int32_t p)
{
    int64_t first = sim_log_start(s->w->broker, SIM_RECORDS, p);
    struct fis_error e;
    if (!owns(s, p) || first <= s->position[p])
        return;
    if (scorer_reset(s->machine, p, first, (uint64_t)(first - s->position[p]), 0, &e) < 0)
        fail(s, &e);
    s->position[p] = first;
}

/* Messages of the partitions, some at a time, some partitions left for later. */
static void read_some(struct sim_scorer *s, struct scorer_slot *slot)
{
    struct scoring_batch *b = &slot->batch;
    struct sim_entry m;
    uint32_t from = sim_below(s->w, SIM_RNG_NET, SIM_PARTITIONS);
    for (uint32_t k = 0; k < SIM_PARTITIONS; k++) {
        int32_t p = (int32_t)((from + k) % SIM_PARTITIONS);
        skip_lost(s, p);
        uint32_t most = 1 + sim_below(s->w, SIM_RNG_NET, s->scoring.capacity);
        while (b->n < s->scoring.capacity && most-- > 0 && owns(s, p) &&
               sim_fetch(s->w->broker, SIM_RECORDS, p, &s->position[p], &m) > 0) {
            b->messages[b->n++] = sim_message(SIM_RECORDS, p, &m);
            scorer_reading(s->machine, slot->index, b);
        }
    }
}

static void tell_ends(struct sim_scorer *s)
{
    for (int32_t p = 0; s->w->plan->pool && p < SIM_PARTITIONS; p++)
        if (owns(s, p) && s->position[p] >= sim_end(s->w->broker, SIM_RECORDS, p))
            scorer_end(s->machine, p, s->position[p]);
}

static void read_records(struct sim_scorer *s)
{
    int index;
    while (sim_broker_is_up(s->w) && (index = scorer_free_slot(s->machine)) >= 0) {
        struct scorer_slot *slot = &s->slots[index];
        slot->batch.n = 0;
        read_some(s, slot);
        if (slot->batch.n == 0)
            break;
        scorer_batch(s->machine, (uint32_t)index, &slot->batch);
    }
    if (sim_broker_is_up(s->w))
        tell_ends(s);
}

static void serve_group(struct sim_scorer *s)
{
    struct sim_seat_change change;
    int32_t gone[SIM_PARTITIONS];
    uint32_t n = 0;
    sim_seat_turn(&s->seat, s->w, &change);
    for (int32_t p = 0; p < SIM_PARTITIONS; p++) {
        if (change.gone & (1u << p))
            gone[n++] = p;
        if (change.gained & (1u << p)) {
            int64_t at = sim_group_committed(s->w->broker, SIM_SCORERS, SIM_RECORDS, p);
            s->position[p] = at >= 0 ? at : sim_log_start(s->w->broker, SIM_RECORDS, p);
            s->enough[p] = false;
        }
    }
    if (n)
        scorer_revoked(s->machine, gone, n);
    if (change.fresh)
        sim_note(s->w, s->name, "owns %x%s", s->seat.owned, change.lost ? " (lost)" : "");
}

static void turn(struct sim_world *w, void *arg)
{
    struct sim_scorer *s = arg;
    serve_group(s);
    if (sim_broker_is_up(w)) {
        follow_heads(s);
        if (w->plan->pool)
            follow_ledger(s);
        read_records(s);
    }
    if (s->stopping && scorer_idle(s->machine)) {
        sim_note(w, s->name, "stopped");
        sim_seat_leave(&s->seat, w);
        sim_process_crash(w, s->process); /* nothing is left to lose but what is on its way */
        return;
    }
    sim_at(w, w->now + sim_between(w, SIM_RNG_NET, 10, 120), s->process, turn, s);
}

static void on_ack(void *arg, uint32_t token)
{
    struct sim_scorer *s = arg;
    scorer_acked(s->machine, token >> 8, token & 255);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void open_machine(struct sim_scorer *s)
{
    struct fis_error e;
    struct scorer_out out = {s,           out_score,  out_offer, out_refuse, out_progress,
                             out_release, out_rewind, out_enough};
    struct scorer_options o = s->w->data->scorer;
    o.name = s->name;
    s->scoring = s->w->data->scoring;
    s->n_slots = o.slots;
    s->machine = scorer_new(&o, &out, &e);
    SIM_MUST(s->w, s->machine, "scorer_new: %s", e.text);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        s->slots[i].s = s;
        s->slots[i].index = i;
        if (scoring_batch_init(&s->slots[i].batch, &s->scoring, &e) < 0)
            fail(s, &e);
    }
    s->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
}

void sim_scorer_start(struct sim_world *w, int process)
{
    struct sim_scorer *s = sim_alloc(w, sizeof *s);
    w->scorers[process] = s;
    s->w = w;
    s->process = process;
    snprintf(s->name, sizeof s->name, "scorer-%d", process - (int)w->plan->trainers);
    open_machine(s);
    sim_producer_init(&s->producer, w, process, on_ack, s);
    sim_seat_take(&s->seat, w, SIM_SCORERS);
    sim_at(w, w->now, process, turn, s);
}

void sim_scorer_drop(struct sim_world *w, int process)
{
    struct sim_scorer *s = w->scorers[process];
    for (uint32_t i = 0; i < s->n_slots; i++)
        scoring_batch_done(&s->slots[i].batch);
    scorer_free(s->machine);
    wire_assembler_free(s->assembler);
    scoring_head_unref(s->head);
    byte_buffer_done(&s->buffer);
    w->scorers[process] = NULL;
}

void sim_scorer_term(struct sim_world *w, int process)
{
    struct sim_scorer *s = w->scorers[process];
    s->stopping = true;
    scorer_stop(s->machine);
}

bool sim_scorer_quiet(const struct sim_world *w, int process)
{
    const struct sim_scorer *s = w->scorers[process];
    return scorer_idle(s->machine);
}

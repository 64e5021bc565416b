#include "labeller.h"

#include <stdio.h>
#include <string.h>

#include "sim_faults.h"
#include "wire/protobuf_codec.h"

static uint32_t below(struct sim_world *w, uint32_t n)
{
    return sim_below(w, SIM_RNG_PEOPLE, n);
}

static bool chance(struct sim_world *w, double p)
{
    return sim_chance(w, SIM_RNG_PEOPLE, p);
}

/* ---- answers ------------------------------------------------------------------------------- */

enum answer { ANSWER, SKIP, UNSURE, BAD_CLASS, GARBAGE, NOTHING };

static struct wire_bytes as_json(struct sim_world *w, enum answer a, uint32_t y, const char *who)
{
    char *text = sim_alloc(w, 160);
    const char *name = a == BAD_CLASS ? "perhaps" : w->data->schema.classes[y];
    int n = 0;
    if (a == GARBAGE)
        n = snprintf(text, 160, "{\"label\":");
    else if (a == SKIP || a == UNSURE)
        n = snprintf(text, 160, "{\"status\":\"%s\"", a == SKIP ? "skipped" : "unsure");
    else
        n = snprintf(text, 160, "{\"label\":\"%s\"", name);
    if (a != GARBAGE && *who)
        n += snprintf(text + n, 160 - (size_t)n, ",\"annotator\":\"%s\"", who);
    if (a != GARBAGE)
        n += snprintf(text + n, 160 - (size_t)n, "}");
    return (struct wire_bytes){text, (size_t)n};
}

static struct wire_bytes as_protobuf(struct sim_world *w, enum answer a, uint32_t y,
                                     const struct fis_id *id, const char *who)
{
    struct byte_buffer *b = &w->labeller->buffer;
    struct wire_label l = {.id = *id,
                           .status = a == SKIP     ? WIRE_SKIPPED
                                     : a == UNSURE ? WIRE_UNSURE
                                                   : WIRE_LABELLED,
                           .class_index = y,
                           .annotator = who};
    struct fis_error e;
    if (a == GARBAGE)
        return (struct wire_bytes){"\x10", 1};
    if (a == BAD_CLASS)
        return (struct wire_bytes){"\x10\x09", 2};
    b->length = 0;
    if (wire_protobuf_label_encode(&w->data->schema, &l, b, &e) < 0)
        sim_violated(w, "a label cannot be written: %s", e.text);
    return sim_copy(w, (struct wire_bytes){b->data, b->length});
}

struct letter {
    struct fis_id id;
    struct wire_bytes value;
};

static void deliver(struct sim_world *w, void *arg)
{
    const struct letter *l = arg;
    struct wire_bytes key = {l->id.bytes, l->id.length};
    w->labeller->sent++;
    sim_append(w->broker, SIM_LABELS, sim_partition_of(w->broker, SIM_LABELS, key), key, l->value,
               NULL);
}

static void post(struct sim_world *w, const struct fis_id *id, int64_t after, enum answer a,
                 uint32_t y, const char *who)
{
    struct letter *l = sim_alloc(w, sizeof *l);
    l->id = *id;
    if (a != NOTHING)
        l->value = w->plan->labels_encoding == WIRE_JSON ? as_json(w, a, y, who)
                                                         : as_protobuf(w, a, y, id, who);
    sim_send_at(w, w->now + after, SIM_NOBODY, deliver, l);
}

static int64_t delay(struct sim_world *w)
{
    if (!w->labeller->honest && w->plan->people_faulty && chance(w, .15))
        return 5000 + below(w, 60000);
    return 50 + below(w, 3000);
}

static uint32_t other(struct sim_world *w, uint32_t y)
{
    return (y + 1 + below(w, w->plan->classes - 1)) % w->plan->classes;
}

static const char *person(struct sim_world *w, uint32_t n)
{
    static const char *const names[] = {"ann", "bob", "cid", "dee", "eve", "fay"};
    return w->plan->votes == 1 && chance(w, .5) ? "" : names[n % 6];
}

/* ---- one request --------------------------------------------------------------------------- */

static void answer_one(struct sim_world *w, const struct sim_record *r, uint32_t n)
{
    double u = w->plan->people_faulty ? fis_rng_unit(&w->rng[SIM_RNG_PEOPLE]) : 0;
    const char *who = person(w, n);
    uint32_t y = chance(w, .85) ? r->truth : other(w, r->truth);
    int64_t after = delay(w);
    if (u < .72)
        post(w, &r->id, after, ANSWER, y, who);
    if (u >= .55 && u < .65)
        post(w, &r->id, after + below(w, 2000), ANSWER, y, who);
    if (u >= .65 && u < .72)
        post(w, &r->id, after + below(w, 2000), ANSWER, other(w, y), who);
    if (u >= .72 && u < .82)
        post(w, &r->id, after, chance(w, .5) ? SKIP : UNSURE, 0, who);
    if (u >= .77 && u < .82) /* answered twice, or thought better of */
        post(w, &r->id, after + 1 + below(w, 20000), chance(w, .4) ? SKIP : ANSWER, y, who);
    if (u >= .82 && u < .88)
        post(w, &r->id, after,
             chance(w, .5)   ? BAD_CLASS
             : chance(w, .7) ? GARBAGE
                             : NOTHING,
             y, who);
    if (u >= .85 && u < .88)
        post(w, &r->id, after + below(w, 4000), ANSWER, y, who);
    if (u >= .94)
        post(w, &r->id, 10000 + below(w, 90000), ANSWER, y, who);
    if (u < .02 && w->plan->people_faulty) /* nobody says who */
        post(w, &r->id, after + below(w, 1000), ANSWER, y, "");
}

static void take_request(struct sim_world *w, const struct sim_entry *m)
{
    struct fis_id id;
    if (m->foreign)
        return;
    fis_id_set(&id, m->key.data, m->key.length);
    const struct sim_record *r = sim_record_by_id(w, &id);
    SIM_MUST(w, r, "a label was asked for of a record that there is not: %.*s", (int)id.length,
             id.bytes);
    struct sim_case *c = &w->labeller->cases[r - w->data->records];
    if (c->asked)
        return; /* cancelled, or asked twice: the checker reports it */
    c->asked = true;
    for (uint32_t n = 0; n < w->plan->votes; n++)
        answer_one(w, r, n);
}

/* A label that nobody asked for: of nothing there is, or of a record before it is asked for. */
static void stray(struct sim_world *w)
{
    struct fis_id id;
    if (chance(w, .5))
        fis_id_set(&id, "nobody", 6);
    else
        id = w->data->records[below(w, w->plan->records)].id;
    post(w, &id, below(w, 500), ANSWER, 0, "zoe");
}

static void be_honest(struct sim_world *w)
{
    static const char *const names[] = {"h0", "h1", "h2", "h3", "h4", "h5"};
    for (uint32_t i = 0; i < w->plan->records; i++) {
        struct sim_case *c = &w->labeller->cases[i];
        for (; c->asked && c->planned < w->plan->votes; c->planned++)
            post(w, &w->data->records[i].id, delay(w), ANSWER, w->data->records[i].truth,
                 names[c->planned]);
    }
}

static void turn(struct sim_world *w, void *arg)
{
    struct sim_labeller *l = arg;
    struct sim_entry m;
    for (uint32_t p = 0; p < w->broker->partitions[SIM_REQUESTS]; p++)
        while (sim_broker_is_up(w) &&
               sim_fetch(w->broker, SIM_REQUESTS, (int32_t)p, &l->position[p], &m) > 0)
            take_request(w, &m);
    if (l->honest)
        be_honest(w);
    else if (w->plan->people_faulty && chance(w, .03))
        stray(w);
    sim_at(w, w->now + 200, SIM_NOBODY, turn, l);
}

/* ---- the operator -------------------------------------------------------------------------- */

static void send_command(struct sim_world *w, struct wire_control *c)
{
    struct sim_labeller *l = w->labeller;
    struct fis_error e;
    char id[16];
    int n = snprintf(id, sizeof id, "c%03llu", (unsigned long long)l->commands++);
    fis_id_set(&c->command, id, (size_t)n);
    c->by = "op";
    c->reason = "";
    c->at_ms = sim_wall(w, SIM_NOBODY);
    l->buffer.length = 0;
    if (wire_control_encode(c, &l->buffer, &e) < 0)
        sim_violated(w, "a command cannot be written: %s", e.text);
    sim_note(w, "operator", "%s %s %.*s %llu", id, wire_control_name(c->kind),
             (int)c->record.length, c->record.bytes, (unsigned long long)c->version);
    sim_fault_count(w, SIM_COMMAND);
    sim_append(w->broker, SIM_CONTROL, 0, (struct wire_bytes){id, (size_t)n},
               (struct wire_bytes){l->buffer.data, l->buffer.length}, NULL);
}

/* A record that somebody was asked about, if there is one; some are forgotten already. */
static void was_requested(struct sim_world *w, struct fis_id *id)
{
    int p = (int)below(w, SIM_PARTITIONS);
    const struct sim_log *log = &w->broker->logs[SIM_REQUESTS][p];
    const struct sim_entry *m = log->n ? &log->entries[below(w, log->n)] : NULL;
    struct fis_id found;
    if (m && !m->foreign && fis_id_set(&found, m->key.data, m->key.length) == 0)
        *id = found;
}

static void command(struct sim_world *w)
{
    struct sim_labeller *l = w->labeller;
    struct wire_control c = {.kind = WIRE_CONTROL_PAUSE};
    uint32_t what = below(w, 100);
    if (l->paused || what < 5) {
        c.kind = WIRE_CONTROL_RESUME;
        l->paused = false;
    } else if (what < 25) {
        l->paused = true;
    } else if (what < 50) {
        c.kind = what < 38 ? WIRE_CONTROL_CANCEL : WIRE_CONTROL_FORGET;
        c.record = w->data->records[below(w, w->plan->records)].id;
        if (c.kind == WIRE_CONTROL_FORGET && chance(w, .7))
            was_requested(w, &c.record);
    } else if (what < 65) {
        c.kind = WIRE_CONTROL_PIN;
    } else if (what < 75) {
        c.kind = WIRE_CONTROL_UNPIN;
    } else {
        c.kind = what < 88 ? WIRE_CONTROL_ROLLBACK : WIRE_CONTROL_PROMOTE;
        c.version = what < 80 ? 0 : 1 + below(w, 6);
    }
    send_command(w, &c);
}

static void operate(struct sim_world *w, void *arg)
{
    if (w->labeller->honest)
        return;
    if (sim_broker_is_up(w))
        command(w);
    sim_at(w, w->now + 500 + below(w, 12000), SIM_NOBODY, operate, arg);
}

/* ---- life ---------------------------------------------------------------------------------- */

void sim_labeller_begin(struct sim_world *w)
{
    w->labeller = sim_alloc(w, sizeof *w->labeller);
    w->labeller->w = w;
    sim_at(w, 100, SIM_NOBODY, turn, w->labeller);
    if (w->plan->operated)
        sim_at(w, 3000, SIM_NOBODY, operate, NULL);
}

void sim_labeller_honest(struct sim_world *w)
{
    struct wire_control c = {.kind = WIRE_CONTROL_RESUME};
    w->labeller->honest = true;
    if (w->labeller->paused)
        send_command(w, &c);
    w->labeller->paused = false;
}

void sim_labeller_done(struct sim_world *w)
{
    if (w->labeller)
        byte_buffer_done(&w->labeller->buffer);
}

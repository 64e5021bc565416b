/* A memory that has lost something: what its trainers are excused for. */
#include "sim_check_impl.h"

#include <string.h>

static bool has_key(const struct sim_check *c, struct wire_bytes key)
{
    const struct sim_log *log = &c->w->broker->logs[SIM_LEDGER][0];
    for (uint32_t i = log->n; i-- > 0;) {
        const struct sim_entry *m = &log->entries[i];
        if (m->key.length == key.length && memcmp(m->key.data, key.data, key.length) == 0 &&
            sim_readable(c->w->broker, m))
            return true;
    }
    return false;
}

static bool has_mark(const struct sim_check *c, uint32_t fact)
{
    struct byte_buffer key = {0};
    struct fis_error e;
    const struct wire_forgotten f = check_mark_of(c, fact);
    SIM_MUST(c->w, wire_forgotten_key(&f, &key, &e) == 0, "simulator: %s", e.text);
    bool there = has_key(c, (struct wire_bytes){key.data, key.length});
    byte_buffer_done(&key);
    return there;
}

/* Requests, state, newest head and served version are needed; a candidate that is forgotten is held
 * by nobody after a restart, and the copies may begin at the anchor. */
void sim_check_forgotten(struct sim_world *w)
{
    struct sim_check *c = w->check;
    c->forgotten = c->window_unsure = true;
    for (uint32_t i = 0; i < w->plan->records; i++) {
        const struct fis_id *id = &w->data->records[i].id;
        bool there = has_key(c, (struct wire_bytes){id->bytes, id->length});
        c->excused |= c->facts[i].asked && !there;
        c->facts[i].in_heap &= there;
        c->excused |= c->facts[i].forgotten && !has_mark(c, i);
    }
    c->excused |= sim_log_start(w->broker, SIM_LEDGER, 0) > 0 && !has_key(c, wire_ledger_state_key);
    c->excused |= c->last_head && c->head_began < sim_log_start(w->broker, SIM_HEADS, 0);
    c->excused |= c->served_version && sim_log_start(w->broker, SIM_MODELS, 0) > 0;
    c->copies = (struct wire_bytes){0};
}

/* A trainer that notices may end; one that goes on has to be right. */
void sim_check_memory_cut(struct sim_world *w)
{
    w->check->excused = true;
    w->check->copies = (struct wire_bytes){0};
}

/* What it has committed since its topics were cut is the last of it. */
void sim_check_halted(struct sim_world *w)
{
    w->check->halted_term = w->check->term;
}

bool sim_check_excuses(const struct sim_world *w)
{
    return w->check->excused;
}

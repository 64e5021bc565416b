#include "sim_check_impl.h"

#include <string.h>

#include "fis/mem.h"
#include "sim_process.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

#define ARENA_BYTES ((size_t)256 * 1024)

/* ---- a unit, taken apart ------------------------------------------------------------------- */

static struct sim_entry entry_at(const struct sim_check *c, const struct sim_place *place)
{
    const struct sim_entry *m = sim_entry_at(c->w->broker, place);
    SIM_MUST(c->w, m, "simulator: %s/%d@%lld cannot be read", sim_topic_names[place->topic],
             place->partition, (long long)place->offset);
    return *m;
}

/* What was lost with a log's tail was not taken; a recreated topic has no places. */
void sim_check_cut(struct sim_world *w, enum sim_topic t, bool recreated)
{
    for (int p = 0; recreated && p < SIM_PARTITIONS; p++)
        w->check->taken[t][p] = -1;
    w->check->window_unsure |= t == SIM_CANDIDATES;
    check_foreign_cut(w->check, t);
}

/* The input of a unit begins where the last unit's ended: nothing is taken twice or left out. */
static void check_input(struct sim_check *c)
{
    struct check_unit *u = &c->unit;
    for (int t = 0; t < SIM_TOPICS; t++)
        for (int p = 0; p < SIM_PARTITIONS; p++) {
            int64_t next = u->unit->offsets[t][p], kept = u->about->first[t][p];
            int64_t expected = c->taken[t][p];
            if (t == SIM_LEDGER) /* the number of its newest state */
                continue;
            /* Retention was faster, or the log has lost its tail; also where the topic was made
             * again before the commit, which then has no offset of it. */
            bool lost = u->about->cut[t][p] || kept > u->about->from[t][p] ||
                        (next >= 0 && kept > expected);
            u->lost |= t == SIM_LABELS && lost;
            c->window_unsure |= t == SIM_CANDIDATES && lost;
            if (next < 0)
                continue;
            SIM_MUST(c->w,
                     u->about->from[t][p] == expected || u->about->cut[t][p] ||
                         (expected < 0 && u->about->from[t][p] == 0),
                     "guarantee 3: %s/%d: a unit took its input from %lld on; the last one that "
                     "was committed ended at %lld",
                     sim_topic_names[t], p, (long long)u->about->from[t][p], (long long)expected);
            SIM_MUST(c->w, u->about->next[t][p] == next, "simulator: offsets of a unit");
            c->taken[t][p] = next;
        }
}

static bool took(const struct check_unit *u, enum sim_topic t)
{
    for (int p = 0; p < SIM_PARTITIONS; p++)
        if (u->unit->offsets[t][p] > u->about->from[t][p])
            return true;
    return false;
}

/* A pause holds that was sent while no trainer ran. */
static void check_commands_first(const struct sim_check *c)
{
    const struct check_unit *u = &c->unit;
    struct sim_entry m;
    int64_t at = c->taken[SIM_CONTROL][0], end = u->about->commands;
    if (!took(u, SIM_CANDIDATES) && !took(u, SIM_LABELS))
        return;
    at = at < 0 ? 0 : at;
    bool left = sim_fetch(c->w->broker, SIM_CONTROL, 0, &at, &m) > 0 && m.offset < end;
    SIM_MUST(c->w, !left && sim_stable_end(c->w->broker, SIM_CONTROL, 0) >= end,
             "guarantee 3: candidates or labels were taken, but control was read up to %lld only: "
             "it ended at %lld when this trainer began",
             (long long)c->taken[SIM_CONTROL][0], (long long)end);
}

static void collect_controls(struct sim_check *c)
{
    struct check_unit *u = &c->unit;
    struct sim_entry m;
    struct fis_error e;
    int64_t at = u->about->from[SIM_CONTROL][0], end = u->unit->offsets[SIM_CONTROL][0];
    at = at < 0 ? 0 : at;
    while (end >= 0 && at < end && sim_fetch(c->w->broker, SIM_CONTROL, 0, &at, &m) > 0 &&
           m.offset < end && u->n_controls < 32) {
        struct wire_message msg = sim_message(SIM_CONTROL, 0, &m);
        if (m.foreign)
            continue;
        struct wire_control *k = &u->controls[u->n_controls++].c;
        fis_arena_reset(&c->arena);
        SIM_MUST(c->w, wire_control_decode(&msg, &c->arena, k, &e) == WIRE_OK, "control: %s",
                 e.text);
        if (k->kind == WIRE_CONTROL_PAUSE || k->kind == WIRE_CONTROL_RESUME)
            c->paused = k->kind == WIRE_CONTROL_PAUSE;
        if (k->kind == WIRE_CONTROL_PIN || k->kind == WIRE_CONTROL_UNPIN)
            c->pinned = k->kind == WIRE_CONTROL_PIN;
        u->resumes |= k->kind == WIRE_CONTROL_RESUME;
        c->ever_paused |= k->kind == WIRE_CONTROL_PAUSE;
    }
}

static void collect_request(struct sim_check *c, const struct sim_entry *m)
{
    struct check_unit *u = &c->unit;
    struct wire_message msg = sim_message(SIM_REQUESTS, 0, m);
    SIM_MUST(c->w, u->n_requests < CHECK_LETTERS, "simulator: too many requests in a unit");
    struct check_request *r = &u->requests[u->n_requests++];
    *r = (struct check_request){.fact = check_fact_of(c, m->key)};
    SIM_MUST(c->w, r->fact >= 0, "a request for %.*s, of which there is no record",
             (int)m->key.length, (const char *)m->key.data);
    if (c->w->plan->labels_encoding == WIRE_JSON) { /* enough of it for what is checked */
        char *text = fis_memdup(m->value.data, m->value.length);
        const char *at = strstr(text, "\"head\":"), *round = strstr(text, "\"round\":");
        r->cancelled = strstr(text, "\"cancelled\":true") != NULL;
        r->head_version = at ? strtoull(at + 7, NULL, 10) : 0;
        r->round = round ? (uint32_t)strtoull(round + 8, NULL, 10) : 0;
        fis_free(text);
        return;
    }
    struct wire_label_request q;
    const char *const *classes;
    uint32_t n;
    struct fis_error e;
    fis_arena_reset(&c->arena);
    if (wire_protobuf_request(&msg, &c->arena, &q, &classes, &n, &e) != WIRE_OK)
        sim_violated(c->w, "a request cannot be read: %s", e.text);
    r->cancelled = q.cancelled != 0;
    r->head_version = q.head_version;
    r->round = q.round;
}

/* Whether the mark of a forgotten record stands behind the message at hand. */
bool check_mark_follows(struct sim_check *c)
{
    const struct sim_unit *u = c->unit.unit;
    struct wire_ledger_item item = {0};
    struct fis_error e;
    uint32_t next = c->unit.at + 1;
    while (next < u->n && u->places[next].topic != SIM_LEDGER)
        next++;
    if (next == u->n)
        return false;
    struct sim_entry m = entry_at(c, &u->places[next]);
    struct wire_message msg = sim_message(SIM_LEDGER, 0, &m);
    fis_arena_reset(&c->arena);
    return wire_ledger_decode(&msg, &c->arena, &item, &e) == WIRE_OK &&
           item.kind == WIRE_LEDGER_FORGOTTEN;
}

static void take_ledger(struct sim_check *c, const struct sim_entry *m)
{
    struct wire_message msg = sim_message(SIM_LEDGER, 0, m);
    struct wire_ledger_item item;
    struct fis_error e;
    fis_arena_reset(&c->arena);
    enum wire_decoded got = wire_ledger_decode(&msg, &c->arena, &item, &e);
    SIM_MUST(c->w, got != WIRE_BAD, "the ledger cannot be read: %s", e.text);
    if (item.kind == WIRE_LEDGER_ENTRY)
        check_entry(c, &msg, got == WIRE_OK ? &item.entry : NULL);
    else if (got != WIRE_OK)
        return; /* chunks of an older checkpoint go */
    else if (item.kind == WIRE_LEDGER_STATE)
        check_state(c, &item.state);
    else if (item.kind == WIRE_LEDGER_FORGOTTEN)
        check_forgotten(c, &item.forgotten);
    else
        check_checkpoint(c, item.chunk);
}

static void take_apart(struct sim_check *c)
{
    const struct sim_unit *u = c->unit.unit;
    uint64_t head = c->last_head;
    for (uint32_t i = 0; i < u->n; i++) {
        struct sim_entry m = entry_at(c, &u->places[i]);
        if (u->places[i].topic == SIM_REQUESTS)
            collect_request(c, &m);
        if (u->places[i].topic == SIM_DEAD)
            check_note_dead(c, &m.origin);
    }
    for (uint32_t i = 0; i < u->n; i++) {
        struct sim_entry m = entry_at(c, &u->places[i]);
        c->unit.at = i;
        if (u->places[i].topic == SIM_LEDGER)
            take_ledger(c, &m);
        else if (u->places[i].topic == SIM_HEADS)
            check_head(c, m.value);
        else if (u->places[i].topic == SIM_MODELS)
            check_model(c, m.value);
    }
    if (c->last_head != head)
        c->head_began = u->first[SIM_HEADS][0];
    check_letters_done(c);
    for (uint32_t i = 0; i < u->n; i++)
        if (u->places[i].topic == SIM_DEAD) {
            struct sim_entry m = entry_at(c, &u->places[i]);
            check_dead_letter(c, &m.origin);
        }
}

static void all_matched(struct sim_check *c)
{
    const struct check_unit *u = &c->unit;
    for (uint32_t i = 0; i < u->n_requests; i++)
        SIM_MUST(c->w, u->requests[i].matched,
                 "guarantee 3: a %s for record %d is not in the ledger of the same unit",
                 u->requests[i].cancelled ? "withdrawal" : "request", u->requests[i].fact);
    for (uint32_t i = 0; i < u->n_letters; i++)
        SIM_MUST(c->w, u->letters[i].outcome != LETTER_DEAD,
                 "guarantee 4: labels/%d@%lld is refused, but there is no dead letter of it",
                 u->letters[i].partition, (long long)u->letters[i].offset);
}

static void on_unit(struct sim_world *w, const struct sim_unit *unit)
{
    struct sim_check *c = w->check;
    struct check_unit *u = &c->unit;
    if (unit->producer != SIM_TRAINER_ID)
        return;
    if (unit->status != SIM_COMMITTED) {
        sim_note(w, "broker", "a transaction of %u messages is aborted", unit->n);
        return;
    }
    SIM_MUST(w, !c->halted_term || c->term != c->halted_term,
             "a trainer goes on although its topics have run backwards");
    u->n_letters = u->n_requests = u->n_controls = u->n_asked = u->n_states = 0;
    u->lost = false;
    u->forgotten = u->gone = -1;
    u->resumes = !c->paused;
    for (int i = 0; i < SIM_RECORDS_MAX; i++)
        c->was_held[i] = c->facts[i].in_heap;
    u->unit = unit;
    u->about = w->broker->about;
    SIM_MUST(w, u->about, "a transaction was committed that nobody committed");
    c->totals.units++;
    check_input(c);
    check_commands_first(c);
    check_collect_letters(c);
    collect_controls(c);
    take_apart(c);
    all_matched(c);
    SIM_MUST(w, u->forgotten < 0, "record %d is forgotten, and the ledger has no mark of it",
             u->forgotten);
    check_foreign_taken(c);
    check_unit_state(c);
    check_selected(c);
    sim_note(w, "commit",
             "by trainer-%d: %u messages, labels %u, asked %u, round %u phase %d head %llu "
             "version %llu",
             u->about->process, unit->n, u->n_letters, u->n_asked, c->state.round,
             (int)c->state.phase, (unsigned long long)c->last_head,
             (unsigned long long)c->last_version);
}

/* ---- scorers ------------------------------------------------------------------------------- */

static void on_append(struct sim_world *w, enum sim_topic t, int32_t partition,
                      const struct sim_entry *m)
{
    struct sim_check *c = w->check;
    if (t == SIM_LABELS)
        check_keep_label(c, partition, m);
    if (m->foreign)
        check_note_foreign(c, t, partition, m);
    if (t == SIM_CANDIDATES && !m->foreign)
        check_offer(c, m);
    if (t == SIM_DEAD && m->origin.topic == SIM_RECORDS)
        c->refused[m->origin.partition][m->origin.offset] = true;
}

static void on_offset(struct sim_world *w, enum sim_group_id g, int32_t partition, int64_t before,
                      int64_t next)
{
    struct sim_check *c = w->check;
    if (g != SIM_SCORERS)
        return;
    SIM_MUST(w, next >= before,
             "the offset of records/%d goes back from %lld to %lld: what another has scored is "
             "scored again",
             partition, (long long)before, (long long)next);
    for (int64_t o = before < 0 ? 0 : before; o < next; o++)
        SIM_MUST(w, check_reported(c, partition, o),
                 "guarantee 1: records/%d is committed up to %lld, but nobody reported %lld",
                 partition, (long long)next, (long long)o);
}

/* ---- after a restart ----------------------------------------------------------------------- */

#define SAME(w, what, machine, ledger)                                                             \
    SIM_MUST(w, (unsigned long long)(machine) == (unsigned long long)(ledger),                     \
             "guarantee 6: the trainer has %s %llu; the ledger says %llu", what,                   \
             (unsigned long long)(machine), (unsigned long long)(ledger))

static uint64_t budget_left(const struct trainer_role_options *o, uint64_t used)
{
    uint64_t budget = o->selector.budget;
    return !budget ? UINT64_MAX : used < budget ? budget - used : 0;
}

static void same_counts(struct sim_check *c, const struct trainer_role *role)
{
    struct trainer_role_counts n = trainer_role_counts(role);
    struct check_tally t = check_count(c);
    /* The limits that a trainer counts by may be the older ones for a while. */
    const struct trainer_role_options *o = c->w->data->trainer;
    uint64_t left = n.selector.budget_left, used = t.charged + t.open;
    bool either = left == budget_left(&o[0], used) || left == budget_left(&o[1], used);
    SAME(c->w, "open requests", n.selector.open, t.open);
    SAME(c->w, "answers", n.selector.answered, t.answered);
    SAME(c->w, "requests given up", n.selector.given_up, t.withdrawn);
    SAME(c->w, "labels to train on", n.learner.bought, t.answered);
    SAME(c->w, "charged labels", n.selector.charged, t.charged);
    SIM_MUST(c->w, either,
             "guarantee 6: the trainer has %llu labels left; the ledger has %llu used",
             (unsigned long long)left, (unsigned long long)used);
    SAME(c->w, "paused", n.paused, c->paused);
    SAME(c->w, "pinned", n.pinned, c->pinned);
    SAME(c->w, "version", n.model_version, c->last_version);
    SAME(c->w, "served version", n.served_version, c->served_version);
    SAME(c->w, "head", n.head_version, c->last_head);
    SAME(c->w, "round", n.round, c->have_state ? c->state.round : 0);
}

void sim_check_restored(struct sim_world *w, const struct trainer_role *role)
{
    struct sim_check *c = w->check;
    c->term++;
    c->totals.leaders++;
    same_counts(c, role);
    if (!c->forgotten) /* a standby has read what is gone since */
        SAME(w, "candidates held", trainer_role_counts(role).selector.held, check_count(c).held);
}

/* ---- the end ------------------------------------------------------------------------------- */

#define QUIET_MS 30000

static const char *left(const struct sim_check *c)
{
    const struct sim_world *w = c->w;
    const struct sim_plan *p = w->plan;
    for (uint32_t i = 0; i < p->records && !p->pool; i++) {
        /* Its offset may stay behind: a commit that crosses a rebalance is refused, and the next
         * record's is enough. */
        const struct sim_record *r = &w->data->records[i];
        if (r->offset < 0)
            return "a record is not on its topic yet";
        if (!c->covered[r->partition][r->offset] &&
            r->offset >= w->broker->logs[SIM_RECORDS][r->partition].start)
            return "a record was not scored";
    }
    if (!c->have_state)
        return "there is no state yet";
    if (check_count(c).open > 0)
        return "a request is open";
    if (c->state.phase == WIRE_PHASE_DONE)
        return NULL;
    if (p->daily_budget && c->state.day_asked >= p->daily_budget)
        return NULL;
    if (c->state.phase != WIRE_PHASE_COLLECT)
        return "a round goes on";
    int64_t since = c->asked_at > p->chaos_ms ? c->asked_at : p->chaos_ms;
    if (p->pool) { /* it looks again and again; nothing new is found */
        const struct trainer_role *role = sim_trainer_leading(w);
        if (role && trainer_role_counts(role).scan)
            return "a scan is not over";
        return w->now - since > QUIET_MS ? NULL : "the pool may hold something new";
    }
    if (p->window_ms)
        return check_count(c).held == 0 || w->now - since > QUIET_MS ? NULL : "a window goes on";
    return c->state.window_records < p->window_records ? NULL : "a window is full";
}

bool sim_check_at_rest(const struct sim_world *w)
{
    return left(w->check) == NULL;
}

void sim_check_not_at_rest(struct sim_world *w)
{
    for (int i = 0; i < sim_processes(w); i++)
        if (!sim_process_up(w, i) || !sim_process_quiet(w, i))
            sim_note(w, "sim", "process %d is %s", i, sim_process_up(w, i) ? "busy" : "down");
    const char *why = left(w->check);
    sim_violated(w, "liveness: without faults it does not come to rest: %s",
                 why ? why : "a process is not quiet");
}

void sim_check_end(struct sim_world *w)
{
    struct sim_check *c = w->check;
    const struct trainer_role *role = sim_trainer_leading(w);
    const struct sim_plan *p = w->plan;
    SIM_MUST(w, role, "liveness: nobody leads at the end");
    same_counts(c, role);
    check_forgotten_end(c);
    uint32_t keys = 0, heap = p->heap ? p->heap : 2 * p->labels_per_round;
    for (uint32_t i = 0; i < p->records; i++)
        keys += c->facts[i].in_heap;
    SIM_MUST(w, keys <= heap * fis_criteria_count(p->algorithm),
             "guarantee 9: the ledger has %u candidates; the heaps have room for %u", keys,
             heap * fis_criteria_count(p->algorithm));
}

/* ---- life ---------------------------------------------------------------------------------- */

void sim_check_begin(struct sim_world *w)
{
    struct sim_check *c = sim_alloc(w, sizeof *c);
    c->w = w;
    c->arena.size = ARENA_BYTES;
    c->arena.base = sim_alloc(w, ARENA_BYTES);
    memset(c->taken, -1, sizeof c->taken);
    c->heads = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    c->models = wire_assembler_new(WIRE_ASSEMBLE_EACH, 4, 0);
    c->checkpoints = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    w->check = c;
    w->broker->on_append = on_append;
    w->broker->on_unit = on_unit;
    w->broker->on_offset = on_offset;
}

void sim_check_add(const struct sim_world *w, struct sim_totals *t)
{
    const struct sim_totals *own = &w->check->totals;
    t->units += own->units;
    t->requests += own->requests;
    t->answers += own->answers;
    t->versions += own->versions;
    t->leaders += own->leaders;
    t->scans += own->scans;
    t->forgotten += own->forgotten;
}

void sim_check_done(struct sim_world *w)
{
    struct sim_check *c = w->check;
    if (!c)
        return;
    for (int i = 0; i < CHECK_HEADS; i++)
        scoring_head_unref(c->recent[i].head);
    for (int i = 0; i < CHECK_VERSIONS; i++)
        fis_trees_unref(c->versions[i].trees);
    wire_assembler_free(c->heads);
    wire_assembler_free(c->models);
    wire_assembler_free(c->checkpoints);
}

#include "cli/ledger_view.h"

#include "fis/mem.h"

int ledger_view_init(struct ledger_view *v, size_t max_bytes, struct fis_error *e)
{
    *v = (struct ledger_view){.arena = {.size = 8 * max_bytes + 262144}};
    v->arena.base = fis_alloc(1, v->arena.size);
    return v->arena.base ? 0 : fis_fail(e, FIS_NOMEM, "no memory for the ledger");
}

static void free_answers(struct ledger_record *r)
{
    for (uint32_t i = 0; i < r->n_answers; i++)
        fis_free((char *)(uintptr_t)r->answers[i].annotator);
    fis_free(r->answers);
    r->answers = NULL;
    r->n_answers = 0;
}

void ledger_view_done(struct ledger_view *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        free_answers(&v->records[i]);
    id_map_done(&v->ids);
    fis_free(v->records);
    fis_free(v->arena.base);
    *v = (struct ledger_view){0};
}

static void keep_state(struct ledger_view *v, const struct wire_trainer_state *s)
{
    v->found = true;
    v->state = *s;
    snprintf(v->control_id, sizeof v->control_id, "%s", s->control_id);
    snprintf(v->control_text, sizeof v->control_text, "%s", s->control_text);
    v->state.control_id = v->control_id;
    v->state.control_text = v->control_text;
    v->state.counted = NULL;
    v->state.n_counted = 0;
}

/* Whether the budget pays, or has paid, for a record: what it would have to buy is in the heap. */
static bool is_charged(const struct ledger_record *r)
{
    return r->state >= WIRE_REQUESTED && !r->refunded;
}

static void count(struct ledger_view *v, const struct ledger_record *r, bool more)
{
    uint64_t one = more ? 1 : UINT64_MAX; /* of unsigned numbers: one less */
    v->count[r->state] += one;
    if (is_charged(r))
        v->charged += one;
}

static int add(struct ledger_view *v, const struct fis_id *id, uint32_t *place, struct fis_error *e)
{
    if (!fis_more(&v->records, v->n, sizeof *v->records))
        return fis_fail(e, FIS_NOMEM, "no memory for %u records of the ledger", v->n + 1);
    int rc = id_map_add(&v->ids, id, v->n, place, e);
    if (rc > 0)
        *place = v->n++;
    return rc;
}

/* One answer agrees with nobody. */
static int keep_answers(struct ledger_record *r, const struct wire_ledger_entry *entry,
                        struct fis_error *e)
{
    if (entry->n_votes < 2)
        return 0;
    r->answers = fis_calloc(entry->n_votes, sizeof *r->answers);
    for (uint32_t i = 0; r->answers && i < entry->n_votes; i++) {
        r->answers[i] = entry->votes[i];
        r->answers[i].annotator = fis_strdup(entry->votes[i].annotator);
        if (!r->answers[i].annotator)
            break;
        r->n_answers++;
    }
    return r->n_answers == entry->n_votes ? 0 : fis_fail(e, FIS_NOMEM, "no memory for the ledger");
}

int ledger_view_agreement(const struct ledger_view *v, struct agreement_view *out,
                          struct fis_error *e)
{
    struct agreement a = {0};
    int rc = 0;
    for (uint32_t i = 0; i < v->n && !rc; i++)
        rc = agreement_add(&a, v->records[i].answers, v->records[i].n_answers, e);
    if (!rc)
        agreement_look(&a, out);
    agreement_done(&a);
    return rc;
}

static int keep_entry(struct ledger_view *v, const struct wire_ledger_entry *entry,
                      struct fis_error *e)
{
    uint32_t place;
    int rc = add(v, &entry->id, &place, e);
    if (rc < 0)
        return rc;
    if (!rc) {
        count(v, &v->records[place], false);
        free_answers(&v->records[place]);
    }
    v->records[place] = (struct ledger_record){.state = entry->state,
                                               .class_index = entry->class_index,
                                               .round = entry->round,
                                               .votes = entry->n_votes,
                                               .required = entry->required,
                                               .asked_at_ms = entry->asked_at_ms,
                                               .refunded = entry->refunded != 0};
    count(v, &v->records[place], true);
    return keep_answers(&v->records[place], entry, e);
}

static void forget(struct ledger_view *v, const struct fis_id *id)
{
    uint32_t place;
    if (!id_map_get(&v->ids, id, &place))
        return;
    count(v, &v->records[place], false);
    free_answers(&v->records[place]);
    id_map_remove(&v->ids, id);
}

int ledger_view_take(struct ledger_view *v, const struct stream_message *m, bool entries,
                     struct fis_error *e)
{
    const struct wire_message w = binding_message(m, "");
    struct wire_ledger_item item;
    struct fis_error why;
    bool state = w.key.length == 1 && !*(const char *)w.key.data;
    if (!state && !entries)
        return 0;
    fis_arena_reset(&v->arena);
    enum wire_decoded d = wire_ledger_decode(&w, &v->arena, &item, &why);
    if (d == WIRE_BAD) {
        v->bad++;
        return 0;
    }
    if (item.kind == WIRE_LEDGER_STATE && d == WIRE_OK)
        keep_state(v, &item.state);
    else if (item.kind == WIRE_LEDGER_ENTRY && d == WIRE_OK)
        return keep_entry(v, &item.entry, e);
    else if (item.kind == WIRE_LEDGER_FORGOTTEN && d == WIRE_OK)
        v->charged += item.forgotten.charged;
    else if (item.kind == WIRE_LEDGER_ENTRY)
        forget(v, &item.entry.id);
    return item.kind == WIRE_LEDGER_STATE && d == WIRE_OK;
}

static int take_any(void *arg, const struct stream_message *m, struct fis_error *e)
{
    int rc = ledger_view_take(arg, m, true, e);
    return rc < 0 ? rc : 0;
}

int ledger_view_read(struct ledger_view *v, struct cli *c, struct fis_error *e)
{
    int rc = ledger_view_init(v, c->schema.max_bytes, e);
    return rc ? rc : topic_reader_all(c, c->cfg.topics.ledger, take_any, v, e);
}

uint64_t ledger_view_clock(const struct ledger_view *v, int64_t wall_ms)
{
    int64_t passed = wall_ms - v->state.wall_ms;
    return v->state.clock_ms + (passed > 0 ? (uint64_t)passed : 0);
}

uint64_t ledger_view_today(const struct ledger_view *v, int64_t wall_ms)
{
    return ledger_view_renewed_at(v, wall_ms) <= wall_ms ? 0 : v->state.day_asked;
}

int64_t ledger_view_renewed_at(const struct ledger_view *v, int64_t wall_ms)
{
    return asking_day_ends(v->state.day, v->state.day_began_ms, ledger_view_clock(v, wall_ms),
                           wall_ms);
}

/* Requests that take a place of the round: open ones, and labels that count in it. */
static uint64_t asked_in_round(const struct ledger_view *v, const struct config_selection *s)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ledger_record *r = &v->records[i];
        bool counts = r->state == WIRE_REQUESTED || r->state == WIRE_ACCEPTED ||
                      (r->state == WIRE_SET_ASIDE && s->algorithm != CONFIG_FIS);
        n += counts && r->round == v->state.round;
    }
    return n;
}

struct asking ledger_view_asking(const struct ledger_view *v, const struct config_selection *s,
                                 const struct asking_pause *pause, int64_t wall_ms)
{
    struct asking_facts f = {
        .pool = s->mode == CONFIG_POOL,
        .paused = v->state.paused != 0,
        .done = v->state.phase == WIRE_PHASE_DONE,
        .collecting = v->state.phase == WIRE_PHASE_COLLECT,
        .round = v->state.round,
        .rounds = s->rounds,
        .idle_rounds = v->state.idle_rounds,
        .patience = s->patience,
        .window = v->state.window_records,
        .window_records = s->window_records,
        .window_ms = s->window_time,
        .open = v->count[WIRE_REQUESTED],
        .in_flight = s->in_flight,
        .asked = asked_in_round(v, s),
        .per_round = s->labels_per_round,
        .held = v->count[WIRE_IN_HEAP],
        .budget_spent = s->budget && v->charged >= s->budget,
        .day_spent = s->daily_budget && ledger_view_today(v, wall_ms) >= s->daily_budget,
        .day_ends_ms = ledger_view_renewed_at(v, wall_ms),
        .by = pause->by,
        .pause_reason = pause->reason,
    };
    return asking_now(&f);
}

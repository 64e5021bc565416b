#include "cli/watch.h"

#include <string.h>

#include "cli/options.h"
#include "cli/request_view.h"
#include "fis/mem.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

int watch_goal_read(const char *text, struct watch_goal *goal)
{
    static const struct {
        const char *name;
        enum watch_until kind;
    } kinds[] = {{"versions=", WATCH_VERSIONS},
                 {"version=", WATCH_VERSION},
                 {"round=", WATCH_ROUND},
                 {"open=", WATCH_OPEN}};
    if (!strcmp(text, "done")) {
        *goal = (struct watch_goal){WATCH_DONE, 0};
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].name);
        uint64_t number;
        if (!strncmp(text, kinds[i].name, n) && !cli_count(text + n, &number)) {
            *goal = (struct watch_goal){kinds[i].kind, number};
            return 0;
        }
    }
    return -1;
}

int watch_init(struct watch *w, const struct cli *c, struct fis_error *e)
{
    *w = (struct watch){.cli = c};
    w->arena.size = 6 * c->schema.max_bytes + ((size_t)1 << 20);
    w->arena.base = fis_alloc(1, w->arena.size);
    w->heads = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    int rc = models_init(&w->models, e);
    if (!rc)
        rc = ledger_view_init(&w->ledger, c->schema.max_bytes, e);
    if (!rc && (!w->arena.base || !w->heads))
        rc = fis_fail(e, FIS_NOMEM, "no memory to watch with");
    if (rc)
        watch_done(w);
    return rc;
}

void watch_done(struct watch *w)
{
    id_map_done(&w->open);
    id_map_done(&w->early);
    models_done(&w->models);
    ledger_view_done(&w->ledger);
    if (w->heads)
        wire_assembler_free(w->heads);
    fis_free(w->arena.base);
    *w = (struct watch){0};
}

static int take_candidate(struct watch *w, const struct wire_message *m)
{
    struct wire_offer offer;
    struct fis_error why;
    fis_arena_reset(&w->arena);
    enum wire_decoded d = wire_offer_decode(m, &w->arena, &offer, &why);
    if (d != WIRE_OK) {
        w->bad += d == WIRE_BAD;
        return WATCH_NOTHING;
    }
    w->candidates += offer.n_candidates;
    for (uint32_t i = 0; offer.progress && i < offer.progress->n_ranges; i++) {
        const struct wire_range *r = &offer.progress->ranges[i];
        w->records += r->records;
        w->refused += r->refused;
        w->tombstones += r->tombstones;
    }
    return WATCH_COUNTED;
}

static int take_head(struct watch *w, const struct wire_message *m)
{
    struct wire_bytes payload;
    struct fis_error why;
    uint64_t version;
    int rc = wire_assembler_feed(w->heads, m->value, &payload, &version, &why);
    w->bad += rc < 0;
    if (rc <= 0 || version <= w->head_version)
        return WATCH_NOTHING;
    w->head_version = version;
    return WATCH_NEW_HEAD;
}

static int take_request(struct watch *w, const struct wire_message *m, struct fis_error *e)
{
    struct wire_request_shown r;
    struct fis_error why;
    int rc = request_read(w->cli, m, 0, &r, &why);
    if (rc == -FIS_NOMEM)
        return fis_fail(e, FIS_NOMEM, "%s", why.text);
    if (rc <= 0) {
        w->bad += rc < 0;
        return WATCH_NOTHING;
    }
    if (r.cancelled) {
        w->withdrawn += (uint64_t)id_map_remove(&w->open, &r.id);
        return WATCH_COUNTED;
    }
    if (!id_map_remove(&w->early, &r.id)) {
        rc = id_map_add(&w->open, &r.id, r.votes, NULL, e);
        if (rc <= 0)
            return rc; /* asked again */
    }
    w->requests++;
    return WATCH_COUNTED;
}

static int take_label(struct watch *w, const struct wire_message *m, struct fis_error *e)
{
    struct wire_label label;
    struct fis_error why;
    fis_arena_reset(&w->arena);
    enum wire_decoded d = w->cli->labels_encoding == WIRE_PROTOBUF
                              ? wire_protobuf_label(&w->cli->schema, m, &w->arena, &label, &why)
                              : wire_json_label(&w->cli->schema, m, &w->arena, &label, &why);
    if (d != WIRE_OK) {
        w->bad += d == WIRE_BAD;
        return WATCH_NOTHING;
    }
    uint32_t missing = 0;
    int rc = 0;
    if (!id_map_get(&w->open, &label.id, &missing))
        rc = id_map_add(&w->early, &label.id, 0, NULL, e);
    else if (missing > 1)
        rc = id_map_put(&w->open, &label.id, missing - 1, e);
    else
        id_map_remove(&w->open, &label.id);
    if (rc < 0)
        return rc;
    w->labels += label.status == WIRE_LABELLED;
    w->passed += label.status != WIRE_LABELLED;
    return WATCH_COUNTED;
}

/* Only what a person should know: what asking waits for, or that a version is pinned. */
static int take_ledger(struct watch *w, const struct stream_message *m, struct fis_error *e)
{
    struct wire_trainer_state was = w->ledger.state;
    const struct wire_trainer_state *now = &w->ledger.state;
    uint64_t bad = w->ledger.bad;
    int rc = ledger_view_take(&w->ledger, m, true, e);
    w->bad += w->ledger.bad - bad;
    if (rc <= 0)
        return rc;
    return was.paused != now->paused || was.pinned != now->pinned || was.phase != now->phase ||
                   was.window_records != now->window_records
               ? WATCH_COUNTED
               : WATCH_NOTHING;
}

struct asking watch_asking(const struct watch *w, int64_t wall_ms)
{
    const struct asking_pause unknown = {0};
    return ledger_view_asking(&w->ledger, &w->cli->cfg.selection, &unknown, wall_ms);
}

int watch_take(struct watch *w, const struct stream_message *message,
               const struct wire_model **version, struct fis_error *e)
{
    const struct wire_message m = binding_message(message, "");
    int rc;
    switch (message->topic) {
    case WATCH_CANDIDATES:
        return take_candidate(w, &m);
    case WATCH_HEADS:
        return take_head(w, &m);
    case WATCH_REQUESTS:
        return take_request(w, &m, e);
    case WATCH_LABELS:
        return take_label(w, &m, e);
    case WATCH_LEDGER:
        return take_ledger(w, message, e);
    default:
        rc = models_take(&w->models, message, version, e);
        return rc > 0 ? (int)WATCH_NEW_VERSION : rc;
    }
}

void watch_tick(struct watch *w, int64_t now_ms, bool fresh)
{
    int64_t passed = now_ms - w->rate_ms;
    if (!fresh && passed < 1000)
        return;
    if (!fresh) {
        double now = (double)(w->records - w->rate_records) * 1000 / (double)passed;
        w->rate = w->rate > 0 ? .5 * w->rate + .5 * now : now;
        w->rate = w->rate < 1 ? 0 : w->rate;
    }
    w->rate_records = w->records;
    w->rate_ms = now_ms;
}

const struct wire_model *watch_last(const struct watch *w)
{
    return w->models.n ? &w->models.items[w->models.n - 1].model : NULL;
}

bool watch_reached(const struct watch *w, const struct watch_goal *goal)
{
    const struct config_selection *s = &w->cli->cfg.selection;
    const struct wire_model *last = watch_last(w);
    if (goal->kind == WATCH_OPEN)
        return w->open.count >= goal->number;
    if (!last)
        return false;
    switch (goal->kind) {
    case WATCH_DONE:
        return (s->rounds && last->round >= s->rounds) ||
               (s->budget && last->labels_bought >= s->budget);
    case WATCH_VERSIONS:
        return w->models.n >= goal->number;
    case WATCH_VERSION:
        return last->version >= goal->number;
    case WATCH_ROUND:
        return last->round >= goal->number;
    case WATCH_OPEN:
    case WATCH_FOREVER:
        break;
    }
    return false;
}

#include "kit/role/trainer_world.h"

#include <math.h>

struct trainer_time now_of(const struct world *w)
{
    return (struct trainer_time){w->mono_began + w->output.ms,
                                 1000000000 + w->output.wall_jump + (int64_t)w->output.ms};
}

uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

struct fis_id id_of(uint32_t number)
{
    struct fis_id id;
    char text[16];
    fis_id_set(&id, text, (size_t)snprintf(text, sizeof text, "r%u", number));
    return id;
}

const struct fis_id *open_id(const struct world *w, uint32_t i)
{
    for (uint32_t at = 0; at < w->output.n_requests; at++)
        if (!w->output.request[at].cancelled && i-- == 0)
            return &w->output.request[at].id;
    fail_msg("there are not so many requests");
    return NULL;
}

uint32_t requests(const struct world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->output.n_requests; i++)
        n += !w->output.request[i].cancelled;
    return n;
}

enum wire_ledger_state entry_state(const struct world *w, const struct fis_id *id)
{
    return w->output.item[number_of(id)].entry.state;
}

static void on_request(void *ctx, const struct wire_label_request *r)
{
    struct role_output *s = &((struct world *)ctx)->output;
    uint32_t n = number_of(&r->id);
    assert_true(s->n_requests < MAX_REQUESTS);
    /* At most once per record, unless the operator has them sent again. */
    assert_int_equal(s->asked[n], r->cancelled != 0 || s->resends);
    s->asked[n] = 1;
    assert_int_equal(r->cancelled != 0, r->reason != NULL);
    s->request[s->n_requests].id = r->id;
    s->request[s->n_requests].deadline_ms = r->deadline_ms;
    s->request[s->n_requests++].cancelled = r->cancelled;
}

static void on_ledger(void *ctx, const struct wire_ledger_entry *entry)
{
    struct role_output *s = &((struct world *)ctx)->output;
    struct item *i = &s->item[number_of(&entry->id)];
    memset(i, 0, sizeof *i);
    i->entry = *entry;
    i->written = ++s->written;
    assert_true(entry->n_votes <= MAX_VOTES && entry->record.length <= sizeof i->record);
    if (entry->d)
        memcpy(i->x, entry->x, sizeof i->x);
    if (entry->record.length)
        memcpy(i->record, entry->record.data, entry->record.length);
    for (uint32_t k = 0; k < entry->n_votes; k++) {
        i->votes[k] = entry->votes[k];
        snprintf(i->annotator[k], sizeof i->annotator[k], "%s", entry->votes[k].annotator);
    }
}

static void on_unheld(void *ctx, const struct fis_id *id)
{
    struct role_output *s = &((struct world *)ctx)->output;
    struct item *i = &s->item[number_of(id)];
    assert_true(s->forgets || i->entry.state == WIRE_IN_HEAP);
    memset(i, 0, sizeof *i);
    s->tombstones++;
}

static void on_forgotten(void *ctx, const struct wire_forgotten *f)
{
    struct role_output *s = &((struct world *)ctx)->output;
    assert_true(s->n_forgotten < 8);
    memcpy(s->salt, f->salt.data, f->salt.length);
    s->forgotten[s->n_forgotten++] = *f;
}

static void on_state(void *ctx, const struct wire_trainer_state *state)
{
    struct role_output *s = &((struct world *)ctx)->output;
    s->state = *state;
    assert_true(state->n_counted <= PARTITIONS);
    if (state->n_counted)
        memcpy(s->counted, state->counted, state->n_counted * sizeof *state->counted);
    snprintf(s->control_text, sizeof s->control_text, "%s", state->control_text);
    s->states++;
}

static void on_checkpoint(void *ctx, const struct wire_checkpoint *c)
{
    struct role_output *s = &((struct world *)ctx)->output;
    assert_true(c->format != 0 && c->learner.length + c->gate.length <= sizeof s->checkpoint);
    s->learner = c->learner.length;
    s->gate = c->gate.length;
    memcpy(s->checkpoint, c->learner.data, s->learner);
    memcpy(s->checkpoint + s->learner, c->gate.data, s->gate);
}

static void on_head(void *ctx, const struct wire_head *h)
{
    struct role_output *s = &((struct world *)ctx)->output;
    size_t n = fis_shape_params(&h->shape);
    assert_true(n <= 64 && h->version > s->last_head);
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(h->params[i]) && isfinite(h->g_acc[i]) && isfinite(h->g_fair[i]));
    memcpy(s->head, h->params, n * sizeof *s->head);
    s->last_head = h->version;
    s->head_scan = h->scan;
    s->n_ends = h->n_ends;
    if (h->n_ends)
        memcpy(s->ends, h->ends, h->n_ends * sizeof *h->ends);
    s->heads++;
}

/* Of the newest head, behind it, and never lower than before. */
static void on_floors(void *ctx, const char *pipeline, const struct wire_floors *f)
{
    struct role_output *s = &((struct world *)ctx)->output;
    bool higher = f->head_version != s->floors.head_version;
    assert_non_null(pipeline);
    assert_int_equal(f->head_version, s->last_head);
    for (int c = 0; c < FIS_MAX_CRITERIA; c++) {
        assert_true(f->head_version != s->floors.head_version ||
                    f->scores[c] >= s->floors.scores[c]);
        higher |= f->scores[c] > s->floors.scores[c];
    }
    assert_true(higher);
    s->floors = *f;
    s->floors_sent++;
}

static void on_model(void *ctx, const struct wire_model *v)
{
    struct role_output *s = &((struct world *)ctx)->output;
    uint32_t i = s->n_versions++;
    assert_true(i < MAX_VERSIONS && v->version == i + 1);
    assert_true(!v->served || v->params);
    s->version[i].params_there = v->params != NULL;
    if (v->params)
        memcpy(s->version[i].params, v->params, fis_shape_params(&v->shape) * sizeof(float));
    if (v->served)
        memcpy(s->served, s->version[i].params, sizeof s->served);
    s->version[i].served = v->served;
    s->version[i].previous = v->previous;
    s->version[i].accuracy = v->metrics.accuracy;
    s->version[i].labels = v->labels_bought;
    s->version[i].rows = v->metrics.n;
    snprintf(s->version[i].reason, sizeof s->version[i].reason, "%s", v->reason);
}

static void on_job(void *ctx, enum trainer_job kind)
{
    struct world *w = ctx;
    assert_false(w->job);
    w->job = (int)kind;
}

static void on_note(void *ctx, const char *event, const char *text)
{
    struct world *w = ctx;
    (void)text;
    w->tied += strcmp(event, "tied") == 0;
    w->went_back += strcmp(event, "went_back") == 0;
    w->jumps += strcmp(event, "clock_jump") == 0;
}

static void on_pool(void *ctx)
{
    ((struct world *)ctx)->pools++;
}

static void make_role(struct world *w)
{
    struct fis_error e;
    struct trainer_out out = {w,        on_request,    on_ledger, on_unheld, on_forgotten,
                              on_state, on_checkpoint, on_head,   on_floors, on_model,
                              on_job,   on_note,       on_pool,   NULL};
    w->encoder = small_encoder(&e);
    assert_non_null(w->encoder);
    w->role = trainer_role_new(&w->o, w->encoder, &out, &e);
    assert_non_null(w->role);
    w->job = 0;
}

void open_world(struct world *w, const struct trainer_role_options *o)
{
    memset(w, 0, sizeof *w);
    w->o = *o;
    w->mono_began = 1000;
    make_role(w);
}

void load_world(struct world *w, uint32_t n_initial)
{
    w->n_initial = n_initial;
    small_load(w->role, n_initial);
}

void close_world(struct world *w)
{
    trainer_role_free(w->role);
    fis_encoder_free(w->encoder);
}

/* Runs the job that is asked for, if any. */
static void settle(struct world *w)
{
    struct fis_error e;
    while (w->job) {
        w->job = 0;
        trainer_role_job(w->role);
        if (trainer_role_job_done(w->role, now_of(w), &e) < 0)
            fail_msg("job: %s", e.text);
    }
}

void commit(struct world *w)
{
    struct fis_error e;
    assert_int_equal(trainer_role_flush(w->role, now_of(w), &e), 0);
    w->kept = w->output;
}

void start(struct world *w)
{
    struct fis_error e;
    assert_int_equal(trainer_role_start(w->role, now_of(w), &e), 0);
    settle(w);
    commit(w);
}

void start_world(struct world *w, const struct trainer_role_options *o, uint32_t n_initial)
{
    open_world(w, o);
    load_world(w, n_initial);
    start(w);
}

void turn(struct world *w)
{
    trainer_role_idle(w->role, now_of(w));
    settle(w);
}

void idle(struct world *w)
{
    w->output.ms += 10;
    turn(w);
    commit(w);
}

void features(uint32_t number, float *x)
{
    struct fis_rng r;
    fis_rng_seed(&r, 1, number);
    small_draw(&r, x, NULL);
}

void progress(struct world *w, uint32_t partition, uint32_t n)
{
    struct wire_range r = {
        (int32_t)partition, w->output.next[partition], w->output.next[partition] + n, n, 0, 0};
    struct wire_progress p = {.scorer = "s", .ranges = &r, .n_ranges = 1};
    trainer_role_progress(w->role, &p);
    w->output.next[partition] += n;
}

void offer_one(struct world *w, uint32_t number)
{
    struct fis_error e;
    float x[D];
    features(number, x);
    if (w->absurd_every && number % w->absurd_every == 7)
        x[0] = 3e37f;
    struct wire_candidate c = {
        .id = id_of(number), .x = x, .d = D, .encoding = WIRE_JSON, .record = {"{}", 2}};
    assert_int_equal(trainer_role_offer(w->role, &c, &e), 0);
}

void offer(struct world *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        offer_one(w, w->output.n_records++);
    progress(w, w->output.n_records % PARTITIONS, n);
}

int answer(struct world *w, const struct fis_id *id, enum wire_label_status status, uint32_t y,
           const char *who)
{
    struct fis_error e;
    struct fis_id copy = *id;
    struct wire_label l = {.id = copy, .status = status, .class_index = y, .annotator = who};
    return trainer_role_label(w->role, &l, now_of(w), &e);
}

int label(struct world *w, const struct fis_id *id, uint32_t y)
{
    return answer(w, id, WIRE_LABELLED, y, "");
}

void command(struct world *w, enum wire_control_kind kind, uint64_t version,
             const struct fis_id *record)
{
    static struct wire_model v;
    struct fis_error e;
    char text[32];
    struct wire_control c = {.kind = kind, .version = version, .by = "t", .reason = ""};
    if (record)
        c.record = *record;
    fis_id_set(&c.command, text,
               (size_t)snprintf(text, sizeof text, "c%u/%llu", w->output.step++,
                                (unsigned long long)w->output.ms));
    uint64_t expected = trainer_role_named_version(w->role, &c);
    int there = expected && expected <= w->output.n_versions;
    if (there)
        v = (struct wire_model){.version = expected,
                                .served = w->output.version[expected - 1].served,
                                .previous = w->output.version[expected - 1].previous,
                                .shape = *trainer_role_shape(w->role),
                                .metrics.accuracy = w->output.version[expected - 1].accuracy,
                                .params = w->output.version[expected - 1].params_there
                                              ? w->output.version[expected - 1].params
                                              : NULL};
    assert_int_equal(trainer_role_control(w->role, &c, there ? &v : NULL, now_of(w), &e), 0);
}

int control(struct world *w, enum wire_control_kind kind, uint64_t version,
            const struct fis_id *record)
{
    command(w, kind, version, record);
    commit(w);
    return w->output.state.control_ok;
}

uint32_t truth(const struct fis_id *id)
{
    return number_of(id) % 2;
}

void run_rounds(struct world *w)
{
    uint32_t answered = 0;
    for (int i = 0; i < 40; i++) {
        if (w->output.n_records + 100 <= MAX_IDS)
            offer(w, 100);
        idle(w);
        for (; answered < requests(w); answered++, idle(w))
            assert_int_equal(label(w, open_id(w, answered), truth(open_id(w, answered))), 0);
    }
}

static int by_writing(const void *a, const void *b)
{
    uint64_t x = (*(struct item *const *)a)->written, y = (*(struct item *const *)b)->written;
    return x < y ? -1 : x > y;
}

/* What a host does: the state, the entries in their order, the checkpoint. */
static void restore_with(struct world *w, const struct role_output *from, int checkpoint)
{
    struct fis_error e;
    static struct item *order[MAX_IDS];
    uint32_t n = 0;
    w->output = *from;
    struct role_output *s = &w->output;
    s->state.counted = s->counted;
    s->state.control_text = s->control_text;
    s->state.control_id = "";
    s->state.head_version = s->last_head;
    assert_int_equal(
        trainer_role_restore_state(w->role, &s->state, s->head, s->served, now_of(w), &e), 0);
    for (uint32_t i = 0; i < MAX_IDS; i++)
        if (s->item[i].entry.state)
            order[n++] = &s->item[i];
    qsort(order, n, sizeof *order, by_writing);
    for (uint32_t i = 0; i < n; i++) {
        struct item *it = order[i];
        struct wire_ledger_entry entry = it->entry;
        entry.x = entry.d ? it->x : NULL;
        entry.record.data = it->record;
        entry.votes = it->votes;
        for (uint32_t k = 0; k < entry.n_votes; k++)
            it->votes[k].annotator = it->annotator[k];
        if (trainer_role_restore_entry(w->role, &entry, &e) < 0)
            fail_msg("entry: %s", e.text);
    }
    for (uint32_t i = 0; i < s->n_forgotten; i++) {
        struct wire_forgotten f = s->forgotten[i];
        f.salt.data = s->salt;
        assert_int_equal(trainer_role_restore_forgotten(w->role, &f, &e), 0);
    }
    struct wire_bytes learner = {s->checkpoint, s->learner};
    struct wire_bytes gate = {s->checkpoint + s->learner, s->gate};
    if (checkpoint && trainer_role_restore_checkpoint(w->role, learner, gate, &e) < 0)
        fail_msg("checkpoint: %s", e.text);
}

void restore(struct world *after, struct world *before)
{
    commit(before);
    restore_with(after, &before->kept, 0);
}

static void restart_from(struct world *w, int checkpoint)
{
    close_world(w);
    make_role(w);
    load_world(w, w->n_initial);
    w->mono_began = w->mono_began * 7 % 100003 + 5;
    restore_with(w, &w->kept, checkpoint);
    start(w);
    w->restarts++;
}

void restart(struct world *w)
{
    restart_from(w, 1);
}

void restart_bare(struct world *w)
{
    restart_from(w, 0);
}

void play_round(struct world *w)
{
    uint32_t from = requests(w);
    offer(w, 100);
    idle(w);
    for (uint32_t i = from; i < requests(w); i++)
        label(w, open_id(w, i), truth(open_id(w, i)));
    idle(w);
    idle(w);
}

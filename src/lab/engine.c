#include "lab/engine.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "role/scorer.h"
#include "role/trainer_wire.h"
#include "wire/chunk.h"
#include "wire/head.h"

#define BATCH 4096u
#define STEP_MS UINT64_C(10000)    /* of the clock, while nothing happens */
#define ROUND_MS UINT64_C(3600000) /* with `delay`: a round's deadline */
#define IDLE_STEPS 4               /* so many steps without an event: there is nothing left */
#define LEDGER_BYTES ((size_t)64 << 20)

struct answer {
    uint32_t place;
    uint64_t at_ms;
};

struct lab_engine {
    struct lab_run *r;
    struct trainer_role *role;
    struct scorer *scorer;
    struct scoring_options scoring;
    struct scoring_batch batch;
    struct scoring_head *head;
    struct fis_encoder *encoder; /* of features as they are */
    struct fis_column *columns;
    char (*names)[12], (*ids)[12]; /* of columns; of the pool's records: their places */
    struct wire_schema schema;
    struct trainer_wire wire;
    struct wire_assembler *assembler;
    struct fis_criteria criteria;
    bool pool_asked, enough;
    uint32_t next, end;          /* of the records: the next one to be read */
    uint32_t window, window_all; /* one pass: records of a window; and of the pool for it */
    uint8_t *in_scan;            /* [n_pool], of a sampled pool; else NULL */
    uint32_t *order;             /* [n_pool] for samples */
    struct answer *answers;      /* [n_pool], by time; those before `answered` were given */
    uint32_t n_answers, answered;
    struct trainer_time now;
    struct fis_error failed; /* of a call that returns nothing */
};

static void note_failure(struct lab_engine *g, int rc, const struct fis_error *e)
{
    if (rc < 0 && g->failed.kind == FIS_OK)
        g->failed = *e;
}

/* Ids are places in the pool, in decimal. */
static uint32_t place_of(const struct fis_id *id)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < id->length; i++)
        place = 10 * place + (uint32_t)(id->bytes[i] - '0');
    return place;
}

/* ---- what the trainer says ------------------------------------------------------------------ */

/* With `delay` a round's answers come evenly, over twice so many rounds. */
static uint64_t answer_time(const struct lab_engine *g)
{
    const uint32_t r = g->r->o->protocol.labels_per_round;
    return g->now.mono_ms + 2 * ROUND_MS * g->r->o->delay * (g->n_answers % r + 1) / r;
}

static void put_request(struct lab_engine *g, struct wire_bytes key)
{
    struct fis_id id;
    struct answer a = {.at_ms = answer_time(g)};
    if (fis_id_set(&id, key.data, key.length) < 0)
        return;
    a.place = place_of(&id);
    uint32_t at = g->n_answers++;
    for (; at > g->answered && g->answers[at - 1].at_ms > a.at_ms; at--)
        g->answers[at] = g->answers[at - 1];
    g->answers[at] = a;
}

static int put_head(struct lab_engine *g, struct wire_bytes chunk, struct fis_error *e)
{
    struct wire_head_owned owned;
    struct wire_bytes payload;
    uint64_t version;
    int rc = wire_assembler_feed(g->assembler, chunk, &payload, &version, e);
    if (rc <= 0)
        return rc;
    if ((rc = wire_head_decode(payload, &owned, e)) < 0)
        return rc;
    struct scoring_head *head = scoring_head_take(&owned);
    if (!head)
        rc = fis_fail(e, FIS_NOMEM, "run: no memory for a head");
    if (rc == 0) {
        scoring_head_unref(g->head);
        g->head = head;
        rc = scorer_head(g->scorer, &owned.head, e);
    }
    wire_head_done(&owned);
    return rc;
}

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    struct lab_engine *g = arg;
    const struct wire_message m = {.topic = "ledger", .key = key, .value = value};
    if (t == TRAINER_REQUESTS)
        put_request(g, key);
    if (t == TRAINER_HEADS)
        return put_head(g, value, e);
    if (t == TRAINER_LEDGER && !g->r->o->one_pass)
        return scorer_ledger(g->scorer, &m, e);
    return 0;
}

static void out_model(void *arg, const struct wire_model *v)
{
    struct lab_engine *g = arg;
    struct fis_error e;
    const struct lab_hooks *hooks = g->r->hooks;
    if (hooks && hooks->version)
        note_failure(g, hooks->version(hooks->arg, g->r, v, &e), &e);
}

static void out_job(void *arg, enum trainer_job kind)
{
    (void)arg;
    (void)kind;
}

static void out_pool(void *arg)
{
    struct lab_engine *g = arg;
    g->pool_asked = true;
}

/* ---- what the scorer says ------------------------------------------------------------------- */

static void out_score(void *ctx, uint32_t slot, const float *floors)
{
    struct lab_engine *g = ctx;
    struct fis_error e;
    int rc = scoring_batch_prepare(&g->batch, g->head, floors, &e);
    note_failure(g, rc, &e);
    if (rc < 0)
        return;
    scoring_run(&g->batch);
    scorer_scored(g->scorer, slot, &g->batch);
}

static void out_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct lab_engine *g = ctx;
    struct fis_error e;
    const struct wire_candidate c = scoring_candidate(&g->batch, i);
    note_failure(g, trainer_role_offer(g->role, &c, &e), &e);
    scorer_acked(g->scorer, slot, 1);
}

static void out_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct lab_engine *g = ctx;
    note_failure(g, -1, &g->batch.errors[i]);
    scorer_acked(g->scorer, slot, 1);
}

static void out_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct lab_engine *g = ctx;
    trainer_role_progress(g->role, p);
    scorer_acked(g->scorer, slot, 1);
}

static void out_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    (void)ctx;
    (void)slot;
    (void)places;
    (void)n;
}

/* A scan begins; of a sampled pool, over another sample. */
static void out_rewind(void *ctx)
{
    struct lab_engine *g = ctx;
    const uint32_t n = g->r->split->n_pool, scored = g->r->o->protocol.scored_per_round;
    g->next = 0;
    g->enough = false;
    if (!g->in_scan)
        return;
    memset(g->in_scan, 0, n);
    for (uint32_t i = 0; i < scored; i++) {
        uint32_t j = i + fis_rng_below(&g->r->rng, n - i), t = g->order[i];
        g->order[i] = g->order[j];
        g->order[j] = t;
        g->in_scan[g->order[i]] = 1;
    }
}

static void out_enough(void *ctx, int32_t partition)
{
    struct lab_engine *g = ctx;
    (void)partition;
    g->enough = true;
}

/* ---- records -------------------------------------------------------------------------------- */

/* The place of record `offset`: in one pass, windows may leave out what follows their records. */
static uint32_t place_at(const struct lab_engine *g, uint32_t offset)
{
    return g->r->o->one_pass ? offset / g->window * g->window_all + offset % g->window : offset;
}

static void add_record(struct lab_engine *g, uint32_t offset)
{
    struct scoring_batch *b = &g->batch;
    const struct lab_split *s = g->r->split;
    const uint32_t place = place_at(g, offset);
    b->messages[b->n++] =
        (struct wire_message){.topic = "records",
                              .offset = offset,
                              .timestamp_ms = -1,
                              .key = {g->ids[place], strlen(g->ids[place])},
                              .value = {lab_split_row(s, s->pool[place]), s->d * sizeof(float)}};
}

/* A batch, if there is anything to read: up to the end of the window, or of the pool. */
static bool read_batch(struct lab_engine *g)
{
    const int slot = scorer_free_slot(g->scorer);
    uint32_t most = BATCH;
    if (slot < 0 || g->enough)
        return false;
    if (g->r->o->one_pass) {
        const uint64_t seen = trainer_role_counts(g->role).window;
        most = seen < g->window && g->window - seen < BATCH ? (uint32_t)(g->window - seen) : BATCH;
    }
    g->batch.n = 0;
    for (; g->next < g->end && g->batch.n < most; g->next++)
        if (!g->in_scan || g->in_scan[g->next])
            add_record(g, g->next);
    if (g->batch.n) {
        scorer_batch(g->scorer, (uint32_t)slot, &g->batch);
        while (scorer_send(g->scorer, BATCH) == BATCH)
            ;
    }
    if (g->next == g->end && !g->r->o->one_pass)
        scorer_end(g->scorer, 0, g->end);
    return g->batch.n > 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

static bool give_answer(struct lab_engine *g)
{
    struct fis_error e;
    if (g->answered == g->n_answers || g->answers[g->answered].at_ms > g->now.mono_ms)
        return false;
    const struct lab_split *s = g->r->split;
    const uint32_t place = g->answers[g->answered++].place, row = s->pool[place];
    struct wire_label l = {
        .status = WIRE_LABELLED, .class_index = s->task->y[row], .annotator = ""};
    int rc = fis_id_set(&l.id, g->ids[place], strlen(g->ids[place]));
    g->r->answering = row;
    if (rc == 0)
        rc = trainer_role_label(g->role, &l, g->now, &e);
    note_failure(g, rc, &e);
    return true;
}

/* ---- the course ----------------------------------------------------------------------------- */

static int work(struct lab_engine *g, struct fis_error *e)
{
    trainer_role_job(g->role);
    int rc = trainer_role_job_done(g->role, g->now, e);
    return rc < 0 ? rc : trainer_role_flush(g->role, g->now, e);
}

static int turn(struct lab_engine *g, bool *moved, struct fis_error *e)
{
    int rc = 0;
    *moved = true;
    if (trainer_role_busy(g->role))
        return work(g, e);
    if (g->pool_asked) {
        const struct wire_pool_end end = {.end = g->end};
        g->pool_asked = false;
        rc = trainer_role_pool(g->role, &end, 1, g->now, e);
        *moved = trainer_role_counts(g->role).scan != 0; /* else the pool had not grown */
    } else if (!trainer_role_due(g->role)) {
        *moved = give_answer(g) ||
                 (strcmp(trainer_role_counts(g->role).phase, "collect") == 0 && read_batch(g));
    }
    if (rc == 0 && (!*moved || trainer_role_due(g->role)))
        trainer_role_idle(g->role, g->now);
    *moved |= trainer_role_busy(g->role);
    return rc < 0 ? rc : trainer_role_flush(g->role, g->now, e);
}

/* To the next answer, or a step. */
static void pass_time(struct lab_engine *g)
{
    uint64_t to = g->now.mono_ms + STEP_MS;
    if (g->r->o->delay)
        to = g->now.mono_ms + ROUND_MS / 8;
    if (g->answered < g->n_answers && g->answers[g->answered].at_ms < to)
        to = g->answers[g->answered].at_ms;
    g->now.wall_ms += (int64_t)(to - g->now.mono_ms);
    g->now.mono_ms = to;
}

int lab_engine_run(struct lab_engine *g, bool rounds, struct fis_error *e)
{
    int idle = 0, rc = trainer_role_start(g->role, g->now, e);
    if (rc == 0)
        rc = work(g, e); /* the warm-up */
    if (!rounds || g->r->o->protocol.rounds == 0)
        return rc;
    while (rc == 0 && idle < IDLE_STEPS && strcmp(trainer_role_counts(g->role).phase, "done")) {
        const uint32_t requests = g->n_answers;
        bool moved;
        rc = turn(g, &moved, e);
        if (rc == 0 && g->failed.kind != FIS_OK) {
            *e = g->failed;
            rc = -(int)e->kind;
        }
        if (rc == 0 && trainer_wire_failed(&g->wire, e))
            rc = -(int)e->kind;
        moved |= requests != g->n_answers;
        if (!moved) {
            idle = g->answered < g->n_answers ? 0 : idle + 1;
            pass_time(g);
        } else {
            idle = 0;
        }
    }
    return rc;
}

/* ---- life ----------------------------------------------------------------------------------- */

/* Features go through as they are: the split has encoded them. */
static int make_encoder(struct lab_engine *g, struct fis_error *e)
{
    const uint32_t d = g->r->split->d;
    g->columns = fis_calloc(d, sizeof *g->columns);
    g->names = fis_calloc(d, sizeof *g->names);
    if (!g->columns || !g->names)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u columns", d);
    for (uint32_t i = 0; i < d; i++) {
        snprintf(g->names[i], sizeof g->names[i], "f%u", i);
        g->columns[i] = (struct fis_column){g->names[i], FIS_NUMERIC, FIS_SCALE_NONE};
    }
    struct fis_value *zeros = fis_calloc(d, sizeof *zeros);
    if (!zeros)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u columns", d);
    for (uint32_t i = 0; i < d; i++)
        zeros[i].kind = FIS_VALUE_NUMBER;
    g->encoder = fis_encoder_new(g->columns, d, 1, e);
    int rc = g->encoder ? fis_encoder_observe(g->encoder, zeros, e) : -(int)e->kind;
    fis_free(zeros);
    return rc < 0 ? rc : fis_encoder_finish(g->encoder, e);
}

static int make_pool(struct lab_engine *g, struct fis_error *e)
{
    const uint32_t n = g->r->split->n_pool, scored = g->r->o->protocol.scored_per_round;
    const uint32_t rounds = g->r->o->protocol.rounds;
    g->end = n;
    g->answers = fis_alloc(n, sizeof *g->answers);
    g->ids = fis_alloc(n, sizeof *g->ids);
    if (!g->answers || !g->ids)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u records", n);
    for (uint32_t i = 0; i < n; i++)
        snprintf(g->ids[i], sizeof g->ids[i], "%u", i);
    if (g->r->o->one_pass) {
        g->window_all = rounds && n >= rounds ? n / rounds : n;
        g->window = scored && scored < g->window_all ? scored : g->window_all;
        g->end = rounds ? g->window * rounds : g->window;
        return 0;
    }
    if (!scored || scored >= n)
        return 0;
    g->in_scan = fis_calloc(n, 1);
    g->order = fis_alloc(n, sizeof *g->order);
    if (!g->in_scan || !g->order)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u records", n);
    for (uint32_t i = 0; i < n; i++)
        g->order[i] = i;
    return 0;
}

static int make_scorer(struct lab_engine *g, const struct trainer_role_options *o,
                       struct fis_error *e)
{
    const struct scorer_out out = {g,           out_score,  out_offer, out_refuse, out_progress,
                                   out_release, out_rewind, out_enough};
    const struct scorer_options s = {.criteria = g->criteria,
                                     .heap = 2 * o->selector.labels_per_round,
                                     .slots = 1,
                                     .batch = BATCH,
                                     .name = "lab",
                                     .pool = !g->r->o->one_pass,
                                     .ledger_bytes = LEDGER_BYTES};
    g->scoring = (struct scoring_options){
        .schema = &g->schema, .encoding = WIRE_RAW, .criteria = g->criteria, .capacity = BATCH};
    g->scorer = scorer_new(&s, &out, e);
    g->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    if (!g->scorer || !g->assembler)
        return fis_fail(e, FIS_NOMEM, "run: no memory for a scorer");
    return scoring_batch_init(&g->batch, &g->scoring, e);
}

static int make_role(struct lab_engine *g, struct trainer_role_options *o, struct fis_error *e)
{
    const struct lab_split *s = g->r->split;
    const struct fis_rows validation = {o->validation_rows, s->d, s->validation_x, s->validation_y,
                                        s->validation_group};
    const struct trainer_wire_options w = {.schema = &g->schema,
                                           .columns = g->columns,
                                           .n_columns = s->d,
                                           .labels = WIRE_PROTOBUF,
                                           .put = put,
                                           .job = out_job,
                                           .pool = out_pool,
                                           .model = out_model,
                                           .arg = g};
    struct trainer_out out;
    if (trainer_wire_init(&g->wire, &w, e) < 0)
        return -FIS_NOMEM;
    trainer_wire_out(&g->wire, &out);
    out.askable = NULL; /* nobody looks at them */
    o->schema = &g->schema;
    o->pool = !g->r->o->one_pass;
    o->window_records = g->window;
    o->round_deadline_ms = g->r->o->delay ? ROUND_MS : 0;
    if (!(g->role = trainer_role_new(o, g->encoder, &out, e)))
        return -(int)e->kind;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->n_initial; i++)
        rc = trainer_role_initial(g->role, lab_split_row(s, s->initial[i]),
                                  s->task->y[s->initial[i]], e);
    if (rc == 0)
        rc = trainer_role_validation(g->role, &validation, s->task->n_groups, e);
    g->r->parts = trainer_role_parts(g->role);
    return rc;
}

struct lab_engine *lab_engine_new(struct lab_run *r, const struct trainer_role_options *o,
                                  struct fis_error *e)
{
    struct lab_engine *g = fis_calloc(1, sizeof *g);
    struct trainer_role_options options = *o;
    if (!g) {
        fis_fail(e, FIS_NOMEM, "run: no memory");
        return NULL;
    }
    g->r = r;
    g->criteria = o->selector.criteria;
    g->schema = (struct wire_schema){.classes = (const char *const *)r->split->task->classes,
                                     .n_classes = r->classes,
                                     .max_bytes = r->split->d * sizeof(float) + 1024};
    int rc = make_encoder(g, e);
    if (rc == 0)
        rc = make_pool(g, e);
    if (rc == 0)
        rc = make_scorer(g, o, e);
    if (rc == 0)
        rc = make_role(g, &options, e);
    if (rc < 0) {
        lab_engine_free(g);
        return NULL;
    }
    return g;
}

void lab_engine_free(struct lab_engine *g)
{
    if (!g)
        return;
    scorer_free(g->scorer);
    scoring_batch_done(&g->batch);
    scoring_head_unref(g->head);
    trainer_role_free(g->role);
    trainer_wire_done(&g->wire);
    wire_assembler_free(g->assembler);
    fis_encoder_free(g->encoder);
    void *const all[] = {g->columns, g->names, g->ids, g->in_scan, g->order, g->answers};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_free(g);
}

#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const class_names[] = {"no", "yes", "maybe"};
static const char *const column_names[] = {"a", "b", "c", "d", "e"};

static uint32_t pick(struct sim_world *w, uint32_t low, uint32_t high)
{
    return low + sim_below(w, SIM_RNG_PLAN, high - low + 1);
}

static bool chance(struct sim_world *w, double p)
{
    return sim_chance(w, SIM_RNG_PLAN, p);
}

static const struct fis_acquisition *pick_algorithm(struct sim_world *w)
{
    static const struct fis_acquisition *const others[] = {
        &fis_acquisition_fis, &fis_acquisition_ekg, &fis_acquisition_random,
        &fis_acquisition_entropy};
    return chance(w, .6) ? &fis_acquisition_fis_plus : others[pick(w, 0, 3)];
}

static void pick_size(struct sim_world *w, struct sim_plan *p)
{
    p->scorers = pick(w, 1, 3);
    p->trainers = chance(w, .2) ? 1 : chance(w, .8) ? 2 : 3;
    p->record_partitions = pick(w, 1, SIM_PARTITIONS);
    p->label_partitions = pick(w, 1, 2);
    p->d = pick(w, 2, SIM_D_MAX);
    p->classes = chance(w, .75) ? 2 : 3;
    p->hidden = chance(w, .3) ? 3 : 0;
    p->records = pick(w, 40, 140);
    p->initial = pick(w, 12, 24);
    p->validation = pick(w, 40, 72);
    if (p->records % 5 == 2)
        p->margins = p->classes == 2 ? 1 : p->classes;
    p->learn_validation = p->margins && p->initial % 2 ? 0 : -1;
    p->records_encoding = chance(w, .6) ? WIRE_RAW : WIRE_JSON;
    p->labels_encoding = chance(w, .5) ? WIRE_PROTOBUF : WIRE_JSON;
}

static void pick_selection(struct sim_world *w, struct sim_plan *p)
{
    p->algorithm = pick_algorithm(w);
    p->labels_per_round = pick(w, 3, 8);
    p->in_flight = chance(w, .5) ? 0 : pick(w, 1, p->labels_per_round);
    p->heap = chance(w, .5) ? 0 : pick(w, p->labels_per_round, 3 * p->labels_per_round);
    p->window_records = pick(w, 12, 40);
    p->rounds = chance(w, .6) ? pick(w, 2, 4) : 0;
    p->budget = chance(w, .6) ? pick(w, 4, 24) : 0;
    p->daily_budget = chance(w, .15) ? pick(w, 3, 10) : 0;
    p->votes = chance(w, .7) ? 1 : pick(w, 2, 3);
    p->patience = chance(w, .5) ? 0 : pick(w, 1, 3);
    p->label_deadline_ms = chance(w, .5) ? 0 : pick(w, 8, 40) * 1000;
    p->round_deadline_ms = chance(w, .7) ? 0 : pick(w, 15, 60) * 1000;
    p->window_ms = chance(w, .8) ? 0 : pick(w, 10, 40) * 1000;
    p->replace = chance(w, .5);
    p->pool = chance(w, .25);
    p->idle_rounds = chance(w, .7) ? 0 : pick(w, 1, 3);
    if (p->pool)
        p->window_ms = 0;
}

static void pick_running(struct sim_world *w, struct sim_plan *p)
{
    static const int64_t sessions[] = {3000, 6000, 10000};
    p->batch = pick(w, 1, 12);
    p->slots = pick(w, 1, 3);
    p->commit_ms = pick(w, 20, 500);
    p->session_ms = sessions[pick(w, 0, 2)];
    p->chaos_ms = pick(w, 20, 90) * 1000;
    p->faulty = chance(w, .9);
    p->people_faulty = chance(w, .8);
    p->operated = chance(w, .5);
    p->compacted = chance(w, .7);
    p->losing = chance(w, p->pool ? .4 : .2);
    p->validation_at = chance(w, .2) ? pick(w, 1, 60) * 1000 : 0;
    p->foreign = chance(w, .2);
    p->growing = chance(w, .15);
    p->deleting = chance(w, .05);
    p->cutting = chance(w, p->pool ? .25 : .1);
    p->failing = chance(w, .2);
    p->reload_at = chance(w, .15) ? pick(w, 1, 80) * 1000 : 0;
    p->hanging = chance(w, .2);
    p->tails = chance(w, .05);
    p->wall_begin = SIM_WALL_BEGIN;
    if (p->daily_budget) /* shortly before midnight */
        p->wall_begin += INT64_C(86400000) - (int64_t)pick(w, 5, 100) * 1000;
}

/* ---- data ---------------------------------------------------------------------------------- */

static uint32_t draw(struct sim_world *w, const struct sim_plan *p, float *x, uint32_t *group)
{
    struct fis_rng *r = &w->rng[SIM_RNG_DATA];
    uint32_t g = fis_rng_below(r, 2), y = fis_rng_below(r, p->classes);
    for (uint32_t i = 0; i < p->d; i++)
        x[i] = (float)(fis_rng_normal(r) * .8 + (y == i % p->classes ? .9 : -.3) +
                       (i == 1 ? (g ? .5 : -.5) : 0));
    if (group)
        *group = g;
    return y;
}

static void floats_to_le(unsigned char *out, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (int k = 0; k < 4; k++)
            out[4 * i + (uint32_t)k] = (unsigned char)(bits >> (8 * k));
    }
}

static struct wire_bytes as_json(struct sim_world *w, const struct sim_plan *p,
                                 const struct sim_record *r)
{
    char *text = sim_alloc(w, 256);
    int n = snprintf(text, 256, "{");
    for (uint32_t i = 0; i < p->d; i++)
        n += snprintf(text + n, 256 - (size_t)n, "%s\"%s\":%.9g", i ? "," : "", column_names[i],
                      (double)r->x[i]);
    n += snprintf(text + n, 256 - (size_t)n, "%s", r->kind == SIM_NAN ? ",\"zz\":1}" : "}");
    size_t length = r->kind == SIM_SHORT ? (size_t)n / 2 : (size_t)n;
    return (struct wire_bytes){text, length};
}

static struct wire_bytes as_raw(struct sim_world *w, const struct sim_plan *p,
                                const struct sim_record *r)
{
    float x[SIM_D_MAX];
    memcpy(x, r->x, sizeof x);
    if (r->kind == SIM_NAN)
        x[0] = NAN;
    unsigned char *bytes = sim_alloc(w, 4 * SIM_D_MAX);
    floats_to_le(bytes, x, p->d);
    return (struct wire_bytes){bytes, 4 * p->d - (r->kind == SIM_SHORT ? 1 : 0)};
}

static void make_record(struct sim_world *w, const struct sim_plan *p, uint32_t i)
{
    struct sim_record *r = &w->data->records[i];
    char text[16];
    double u = fis_rng_unit(&w->rng[SIM_RNG_DATA]);
    r->kind = u < .9 ? SIM_GOOD : u < .94 ? SIM_SHORT : u < .97 ? SIM_NAN : SIM_TOMBSTONE;
    r->truth = draw(w, p, r->x, NULL);
    r->partition = (int32_t)sim_below(w, SIM_RNG_DATA, p->record_partitions);
    r->offset = -1;
    r->at = p->pool && sim_chance(w, SIM_RNG_DATA, .8)
                ? 0
                : sim_between(w, SIM_RNG_DATA, 0, p->chaos_ms);
    uint32_t n = i;
    if (i > 0 && sim_chance(w, SIM_RNG_DATA, .05)) { /* the same record once more */
        n = sim_below(w, SIM_RNG_DATA, i);
        memcpy(r->x, w->data->records[n].x, sizeof r->x);
        r->truth = w->data->records[n].truth;
    }
    fis_id_set(&r->id, text, (size_t)snprintf(text, sizeof text, "r%03u", n));
    if (n != i)
        r->id = w->data->records[n].id;
    else if (i > 0 && p->alike && i % 3)
        memcpy(r->x, w->data->records[i - 1].x, sizeof r->x);
    if (r->kind != SIM_TOMBSTONE)
        r->value = p->records_encoding == WIRE_RAW ? as_raw(w, p, r) : as_json(w, p, r);
}

static void append_record(struct sim_world *w, void *arg)
{
    struct sim_record *r = arg;
    struct wire_bytes key = {r->id.bytes, r->id.length};
    w->data->appended++;
    if (w->broker->partitions[SIM_RECORDS] > w->plan->record_partitions)
        r->partition = (int32_t)sim_below(w, SIM_RNG_BROKER, w->broker->partitions[SIM_RECORDS]);
    r->offset = sim_append(w->broker, SIM_RECORDS, r->partition, key, r->value, NULL);
}

static void change_validation(struct sim_world *w, void *arg)
{
    (void)arg;
    sim_note(w, "plan", "the validation rows have changed");
    w->data->current = 1;
}

static void make_data(struct sim_world *w, const struct sim_plan *p)
{
    struct sim_data *data = w->data;
    for (uint32_t i = 0; i < p->initial; i++)
        data->initial_y[i] = draw(w, p, data->initial_x[i], NULL);
    for (int k = 0; k < 2; k++) {
        struct sim_validation *v = &data->validation[k];
        v->n = p->validation + (uint32_t)k * 5;
        for (uint32_t i = 0; i < v->n; i++)
            v->y[i] = draw(w, p, v->x + (size_t)i * (p->d + p->margins), &v->group[i]);
    }
    if (p->validation_at)
        sim_at(w, p->validation_at, SIM_NOBODY, change_validation, NULL);
    for (uint32_t i = 0; i < p->records; i++) {
        make_record(w, p, i);
        sim_send_at(w, data->records[i].at, SIM_NOBODY, append_record, &data->records[i]);
    }
}

/* ---- options ------------------------------------------------------------------------------- */

/* Two stumps for each class, whose leaves say how often it is right there: a base that hangs on
 * each row, and costs nothing. */
static int fit_stumps(const struct fis_trees_rows *rows, const uint32_t *index, uint32_t n_index,
                      uint32_t n_held, const struct fis_trees_options *o, struct fis_trees **out,
                      struct fis_error *e)
{
    enum { MOST = 6 };
    uint32_t feature[MOST];
    float threshold[MOST] = {0}, leaf[2 * MOST];
    uint32_t m = rows->classes == 2 ? 1 : rows->classes;
    struct fis_trees_shape s = {.d = rows->d, .margins = m, .n = 2 * m, .depth = 1};
    (void)o;
    (void)n_held;
    for (uint32_t t = 0; t < s.n; t++) {
        uint32_t right[2] = {0}, all[2] = {0};
        feature[t] = (t + n_index) % rows->d;
        for (uint32_t i = 0; i < n_index; i++) {
            const float *x = rows->x + (size_t)index[i] * rows->stride;
            uint32_t side = x[feature[t]] >= 0;
            all[side]++;
            right[side] += rows->y[index[i]] == (m == 1 ? 1 : t % m);
        }
        for (int side = 0; side < 2; side++)
            leaf[2 * t + (uint32_t)side] = (float)right[side] / (float)(all[side] + 1) - .4f;
    }
    *out = fis_trees_new(&s, feature, threshold, leaf, e);
    return *out ? 0 : -(int)FIS_NOMEM;
}

static void trainer_options(const struct sim_plan *p, const struct sim_data *data,
                            struct trainer_role_options *o)
{
    *o = (struct trainer_role_options){
        .pipeline = "sim",
        .schema = &data->schema,
        .positive = 1,
        .precondition = 0,
        .warm_up_epochs = 3,
        .steps_per_round = 8,
        .rounds = p->rounds,
        .window_records = p->window_records,
        .window_ms = p->window_ms,
        .round_deadline_ms = p->round_deadline_ms,
        .pool = p->pool,
        .label_deadline_ms = p->label_deadline_ms,
        .replace = p->replace,
        .votes = p->votes,
        .daily_budget = p->daily_budget,
        .patience = p->patience,
        .idle_rounds = p->idle_rounds,
        .validation_rows = p->validation,
        .n_groups = 2,
        .trees = {.folds = 2, .growth = .2, .seed = 5},
        .fit_trees = fit_stumps,
    };
    o->hidden[0] = p->hidden;
    o->n_hidden = p->hidden ? 1 : 0;
    o->selector.criteria = data->scoring.criteria;
    o->selector.labels_per_round = p->labels_per_round;
    o->selector.in_flight = p->in_flight;
    o->selector.heap = p->heap;
    o->selector.budget = p->budget;
    o->selector.distinct = true;
    o->publication =
        p->algorithm == &fis_acquisition_fis_plus || p->algorithm == &fis_acquisition_ekg
            ? &publication_line
        : p->algorithm == &fis_acquisition_fis ? &publication_mixed
                                               : &publication_plain;
    o->learner.learning_rate = .05f;
    o->learner.momentum = .9f;
    o->learner.batch = 8;
    o->learner.mix = .5f;
    o->learner.kept_min = 2;
    o->learner.average_every = 2;
    o->learner.fresh_steps = 6;
    o->learner.learn_validation = p->learn_validation;
    o->learner.seed = 5;
    o->directions.surrogate.metric = FIS_DEMOGRAPHIC_PARITY;
    o->directions.surrogate.form = FIS_GAP_OVERALL;
    o->directions.surrogate.positive = 1;
    o->directions.damping = .01;
    if (p->records % 4 == 1) { /* with noise: a restart makes the same head again */
        o->privacy = (struct fis_privacy){.noise = 2, .clip = 1, .key = {1}};
        o->privacy_delta = 1e-5;
    }
    o->gate = (struct fis_gate_options){.metric = FIS_DEMOGRAPHIC_PARITY,
                                        .positive = 1,
                                        .epsilon = .02,
                                        .min_rows = 10,
                                        .min_cell = 1,
                                        .warn_cell = 5,
                                        .rule = FIS_GATE_RULE_FAIRER,
                                        .standard_errors = .2,
                                        .resamples = 20};
}

/* What an operator may change while trainers run: more to do, another pace. */
static void other_limits(const struct sim_plan *p, const struct trainer_role_options *was,
                         struct trainer_role_options *o)
{
    *o = *was;
    o->rounds += o->rounds ? 1 : 0;
    o->idle_rounds += o->idle_rounds ? 1 : 0;
    o->selector.budget += o->selector.budget ? p->labels_per_round : 0;
    o->selector.in_flight = 1 + p->records % p->labels_per_round;
    o->label_deadline_ms = was->label_deadline_ms ? was->label_deadline_ms / 2 : 30000;
}

static void make_options(const struct sim_plan *p, struct sim_data *data)
{
    data->schema = (struct wire_schema){.classes = class_names,
                                        .n_classes = p->classes,
                                        .id_column = "id",
                                        .label_column = "label",
                                        .max_bytes = 4096};
    for (uint32_t i = 0; i < p->d; i++)
        data->columns[i] = (struct fis_column){column_names[i], FIS_NUMERIC, FIS_SCALE_NONE};
    data->scoring = (struct scoring_options){
        .schema = &data->schema,
        .encoding = p->records_encoding,
        .criteria = {.acquisition = p->algorithm, .strategy = 2, .seed = 3},
        .capacity = p->batch,
    };
    data->scorer = (struct scorer_options){
        .criteria = data->scoring.criteria,
        .slots = p->slots,
        .batch = p->batch,
        .pool = p->pool,
        .ledger_bytes = 65536,
    };
    trainer_options(p, data, &data->trainer[0]);
    other_limits(p, &data->trainer[0], &data->trainer[1]);
}

void sim_plan_make(struct sim_world *w)
{
    struct sim_plan *p = sim_alloc(w, sizeof *p);
    pick_size(w, p);
    pick_selection(w, p);
    pick_running(w, p);
    p->alike = w->seed % 4 == 1; /* no draw: the other plans stay as they were */
    w->plan = p;
    w->data = sim_alloc(w, sizeof *w->data);
    w->broker->partitions[SIM_RECORDS] = p->record_partitions;
    w->broker->partitions[SIM_LABELS] = w->broker->partitions[SIM_REQUESTS] = p->label_partitions;
    for (int g = 0; g < SIM_GROUPS; g++)
        w->broker->groups[g].session_ms = p->session_ms;
    make_options(p, w->data);
    make_data(w, p);
}

void sim_plan_text(const struct sim_plan *p, char *buf, size_t size)
{
    snprintf(buf, size,
             "scorers=%u trainers=%u partitions=%u records=%u %s%s r=%u window=%u budget=%llu "
             "day=%llu votes=%u deadline=%llu replace=%d rounds=%u session=%lld faulty=%d%s",
             p->scorers, p->trainers, p->record_partitions, p->records, p->algorithm->name,
             p->pool ? " pool" : "", p->labels_per_round, p->window_records,
             (unsigned long long)p->budget, (unsigned long long)p->daily_budget, p->votes,
             (unsigned long long)p->label_deadline_ms, p->replace, p->rounds,
             (long long)p->session_ms, p->faulty, p->alike ? " alike" : "");
}

const struct sim_record *sim_record_by_id(const struct sim_world *w, const struct fis_id *id)
{
    uint32_t n = 0;
    if (id->length != 4 || id->bytes[0] != 'r')
        return NULL;
    for (int i = 1; i < 4; i++)
        n = 10 * n + (uint32_t)(id->bytes[i] - '0');
    return n < w->plan->records ? &w->data->records[n] : NULL;
}

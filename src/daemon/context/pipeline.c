#include "daemon/context/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "config/schema.h"
#include "data/boost.h"
#include "fis/defaults.h"
#include "fis/mem.h"

enum fis_metric pipeline_metric(const struct config *cfg)
{
    static const enum fis_metric metrics[] = {
        [CONFIG_DEMOGRAPHIC_PARITY] = FIS_DEMOGRAPHIC_PARITY,
        [CONFIG_EQUAL_OPPORTUNITY] = FIS_EQUAL_OPPORTUNITY,
        [CONFIG_EQUALIZED_ODDS] = FIS_EQUALIZED_ODDS,
        [CONFIG_RISK_DISPARITY] = FIS_RISK_DISPARITY,
    };
    return metrics[cfg->fairness.metric];
}

static int by_switch(int option)
{
    return option == CONFIG_AUTO ? -1 : option == CONFIG_ON;
}

/* Of privacy.key, or random: then noise of another process is other noise. */
static int noise_key(const struct config *cfg, unsigned char key[FIS_PRIVACY_KEY],
                     struct fis_error *e)
{
    if (cfg->privacy.key)
        fis_privacy_key(cfg->privacy.key, strlen(cfg->privacy.key), key);
    else if (cfg->privacy.noise > 0 &&
             getrandom(key, FIS_PRIVACY_KEY, 0) != (ssize_t)FIS_PRIVACY_KEY)
        return fis_fail(e, FIS_FATAL, "no random bytes for privacy.key: %s", strerror(errno));
    return 0;
}

int pipeline_init(struct pipeline *p, const struct config *cfg, struct fis_error *e)
{
    static const enum fis_column_scale scales[] = {[CONFIG_SCALE_STANDARD] = FIS_SCALE_STANDARD,
                                                   [CONFIG_SCALE_NONE] = FIS_SCALE_NONE,
                                                   [CONFIG_SCALE_LOGIT] = FIS_SCALE_LOGIT,
                                                   [CONFIG_SCALE_PROBABILITY] =
                                                       FIS_SCALE_PROBABILITY};
    *p = (struct pipeline){.cfg = cfg, .n_columns = cfg->columns.count};
    if (noise_key(cfg, p->noise_key, e) < 0)
        return -1;
    p->columns = fis_calloc(p->n_columns, sizeof *p->columns);
    if (!p->columns)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", p->n_columns);
    for (uint32_t i = 0; i < p->n_columns; i++) {
        const struct config_column *c = &cfg->columns.items[i];
        p->columns[i].name = c->name;
        p->columns[i].type = c->type == CONFIG_CATEGORICAL ? FIS_CATEGORICAL : FIS_NUMERIC;
        p->columns[i].scale = scales[c->scale];
    }
    if (cfg->base.type == CONFIG_BASE_TREES)
        p->tree_margins = cfg->classes.count == 2 ? 1 : cfg->classes.count;
    p->schema = config_schema(cfg);
    p->initial = config_initial_schema(cfg);
    p->validation = config_validation_schema(cfg);
    p->criteria.acquisition =
        fis_acquisition_find(config_choice("selection.algorithm", cfg->selection.algorithm));
    assert(p->criteria.acquisition);
    p->criteria.strategy = (int)cfg->selection.strategy;
    p->criteria.seed = cfg->selection.seed;
    p->records = config_wire_encoding(cfg->records.encoding);
    p->labels = config_wire_encoding(cfg->labels.encoding);
    return 0;
}

void pipeline_done(struct pipeline *p)
{
    fis_free(p->columns);
    explicit_bzero(p->noise_key, sizeof p->noise_key);
    *p = (struct pipeline){0};
}

/* Room for one message of the ledger, decoded: an entry has the record and its features; a state,
 * partitions. */
static size_t pipeline_ledger_bytes(const struct config *cfg)
{
    return cfg->records.max_bytes * 4 + ((size_t)1 << 20);
}

void pipeline_scorer(const struct pipeline *p, const char *name, struct scorer_options *o)
{
    *o = (struct scorer_options){
        .criteria = p->criteria,
        .slots = p->cfg->scorer.batches_in_flight,
        .batch = p->cfg->scorer.batch,
        .name = name,
        .pool = p->cfg->selection.mode == CONFIG_POOL,
        .ledger_bytes = pipeline_ledger_bytes(p->cfg),
    };
}

static void learner_options(const struct config *cfg, struct fis_learner_options *o)
{
    const struct config_training *t = &cfg->training;
    o->learning_rate = (float)t->learning_rate;
    o->momentum = (float)t->momentum;
    o->weight_decay = (float)t->weight_decay;
    o->adamw = t->optimizer == CONFIG_ADAMW;
    o->rise = t->rise;
    o->fall = o->adamw ? t->steps_per_round : 0;
    o->flip = t->flip;
    o->shift = t->shift;
    o->batch = t->batch;
    o->mix = (float)t->mix;
    o->kept_min = FIS_DEFAULT_KEPT_MIN;
    o->average_every = t->average_every;
    o->fresh_steps = t->fresh_steps;
    o->learn_validation = by_switch(t->learn_validation);
    o->seed = t->seed;
}

static void gate_options(const struct pipeline *p, struct fis_gate_options *o)
{
    const struct config_gate *g = &p->cfg->gate;
    o->metric = pipeline_metric(p->cfg);
    o->positive = p->cfg->positive_class;
    o->epsilon = g->epsilon;
    o->min_rows = g->min_rows;
    o->min_cell = g->min_cell;
    o->warn_cell = g->warn_cell;
    o->rule = g->replace == CONFIG_ALWAYS ? FIS_GATE_RULE_ALWAYS : FIS_GATE_RULE_FAIRER;
    o->standard_errors = g->standard_errors;
    o->resamples = g->bootstrap;
    o->seed = p->cfg->training.seed;
}

static struct fis_vit transformer(const struct config_network *m)
{
    return (struct fis_vit){.height = m->image.items[0],
                            .width = m->image.items[1],
                            .channels = m->image.items[2],
                            .patch = m->patch,
                            .dim = m->width,
                            .depth = m->depth,
                            .heads = m->heads,
                            .mlp = m->mlp,
                            .token = m->pool == CONFIG_POOL_TOKEN};
}

static struct fis_trees_options trees(const struct config *cfg)
{
    const struct config_base_model *b = &cfg->base;
    return (struct fis_trees_options){.n = b->trees,
                                      .depth = b->depth,
                                      .patience = b->patience,
                                      .rate = b->rate,
                                      .rows = b->sample,
                                      .columns = b->columns,
                                      .folds = FIS_DEFAULT_TREE_FOLDS,
                                      .growth = b->growth,
                                      .seed = cfg->training.seed};
}

static struct fis_selector_options selector(const struct pipeline *p)
{
    const struct config_selection *s = &p->cfg->selection;
    return (struct fis_selector_options){.criteria = p->criteria,
                                         .labels_per_round = s->labels_per_round,
                                         .heap = s->heap,
                                         .in_flight = s->in_flight,
                                         .budget = s->budget,
                                         .distinct = s->distinct};
}

/* The published algorithm compares all pairs of groups; ours each with all rows. An empty cell
 * counts as no gap here: it must not stop the stream, and the gate refuses it by name. */
static struct fis_surrogate surrogate(const struct pipeline *p)
{
    return (struct fis_surrogate){.metric = pipeline_metric(p->cfg),
                                  .form = p->criteria.acquisition->as_published ? FIS_GAP_PAIRS
                                                                                : FIS_GAP_OVERALL,
                                  .positive = p->cfg->positive_class,
                                  .min_cell = 0};
}

void pipeline_trainer(const struct pipeline *p, struct trainer_role_options *o)
{
    static const struct publication *const publications[] = {[CONFIG_LINE] = &publication_line,
                                                             [CONFIG_PLAIN] = &publication_plain,
                                                             [CONFIG_MIXED] = &publication_mixed};
    const struct config *cfg = p->cfg;
    const struct config_selection *s = &cfg->selection;
    *o = (struct trainer_role_options){
        .pipeline = cfg->pipeline,
        .schema = &p->schema,
        .positive = cfg->positive_class,
        .n_hidden = cfg->training.hidden.count,
        .publication = publications[cfg->training.publication],
        .precondition =
            p->criteria.acquisition->as_published ? 0 : by_switch(cfg->gate.precondition),
        .warm_up_epochs = cfg->training.warm_up_epochs,
        .steps_per_round = cfg->training.steps_per_round,
        .rounds = s->rounds,
        .idle_rounds = s->patience,
        .window_records = s->window_records,
        .window_ms = s->window_time,
        .round_deadline_ms = s->round_deadline,
        .pool = s->mode == CONFIG_POOL,
        .label_deadline_ms = cfg->labels.deadline,
        .replace = cfg->labels.replace,
        .votes = cfg->labels.votes,
        .daily_budget = s->daily_budget,
        .patience = cfg->gate.patience,
        .selector = selector(p),
        .directions = {.surrogate = surrogate(p),
                       .damping = FIS_DEFAULT_DAMPING,
                       .score_layers = cfg->model.score_layers},
        .privacy = {.noise = cfg->privacy.noise, .clip = cfg->privacy.clip},
        .privacy_delta = cfg->privacy.delta,
        .trees = trees(cfg),
        .fit_trees = data_boost,
    };
    for (uint32_t i = 0; i < o->n_hidden; i++)
        o->hidden[i] = cfg->training.hidden.items[i];
    if (cfg->model.type == CONFIG_VIT)
        o->vit = transformer(&cfg->model);
    learner_options(cfg, &o->learner);
    gate_options(p, &o->gate);
    memcpy(o->privacy.key, p->noise_key, sizeof o->privacy.key);
}

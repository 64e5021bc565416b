/* The trainer's state, heads and versions: consecutive, whole, and telling of each other. */
#include <math.h>
#include <string.h>

#include "sim_check_impl.h"
#include "wire/head.h"
#include "wire/model.h"

#define DAY_MS 86400000

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* ---- state --------------------------------------------------------------------------------- */

static void check_day(struct sim_check *c, const struct wire_trainer_state *s)
{
    const struct wire_trainer_state *before = &c->state;
    uint64_t limit = c->w->plan->daily_budget;
    if (!limit)
        return;
    SIM_MUST(c->w, s->day_asked <= limit,
             "guarantee 3: %llu labels were asked for on one day; the "
             "day's budget is %llu",
             ull(s->day_asked), ull(limit));
    if (!c->have_state)
        return;
    SIM_MUST(c->w, s->day >= before->day, "the day goes back from %lld to %lld",
             (long long)before->day, (long long)s->day);
    bool date = s->day <= c->unit.about->wall_ms / DAY_MS;
    bool day_passed = s->clock_ms - before->day_began_ms >= DAY_MS;
    SIM_MUST(c->w, s->day == before->day || date || day_passed,
             "guarantee 3: the day's budget was renewed before the day was over");
}

static void check_counted(struct sim_check *c, const struct wire_trainer_state *s)
{
    for (uint32_t i = 0; i < s->n_counted; i++) {
        int32_t p = s->counted[i].partition;
        int64_t next = s->counted[i].next;
        SIM_MUST(c->w, p >= 0 && p < SIM_PARTITIONS, "the state counts partition %d", p);
        SIM_MUST(c->w, next >= c->counted[p].next, "the count of records/%d goes back to %lld", p,
                 (long long)next);
        for (int64_t o = c->counted[p].next; o < next; o++)
            SIM_MUST(c->w, check_reported(c, p, o),
                     "records/%d is counted up to %lld; nobody reported %lld", p, (long long)next,
                     (long long)o);
        c->counted[p].next = next;
    }
}

void check_state(struct sim_check *c, const struct wire_trainer_state *s)
{
    const struct wire_trainer_state *before = &c->state;
    if (c->have_state) {
        SIM_MUST(c->w, s->round >= before->round, "the round goes back from %u to %u",
                 before->round, s->round);
        SIM_MUST(c->w, s->clock_ms >= before->clock_ms, "the pipeline's clock goes back by %llu ms",
                 ull(before->clock_ms - s->clock_ms));
        SIM_MUST(c->w, s->looks >= before->looks || s->round > before->round,
                 "looks go back from %u to %u", before->looks, s->looks);
    }
    SIM_MUST(c->w, isfinite(s->val0), "VAL_0 is not finite");
    check_day(c, s);
    check_counted(c, s);
    uint64_t asked = c->have_state && s->day == before->day ? before->day_asked : 0;
    bool same_day = c->have_state && s->day == before->day && !c->unit.n_states;
    SIM_MUST(c->w, !same_day || s->day_asked == asked + c->unit.n_asked,
             "guarantee 3: %u labels were asked for in a unit; the day's count went from %llu to "
             "%llu",
             c->unit.n_asked, ull(asked), ull(s->day_asked));
    c->state = *s;
    c->state.counted = NULL;
    c->state.control_id = c->state.control_text = "";
    c->have_state = true;
    c->unit.n_states++;
}

/* A trainer that went on from the ledger begins with the very copies that were left there: its
 * first checkpoint is the last one of its predecessor, to the bit, when no answer has come since.
 */
static void check_copies(struct sim_check *c, struct wire_bytes payload)
{
    struct wire_checkpoint k;
    struct fis_error e;
    uint32_t answered = check_count(c).answered;
    SIM_MUST(c->w, wire_checkpoint_decode(payload, &k, &e) == 0, "checkpoint: %s", e.text);
    size_t n = k.learner.length + k.gate.length;
    unsigned char *copy = sim_alloc(c->w, n + 1);
    memcpy(copy, k.learner.data, k.learner.length);
    memcpy(copy + k.learner.length, k.gate.data, k.gate.length);
    bool follows = c->copies.data && c->copies_term != c->term && c->copies_answered == answered &&
                   !c->w->data->current; /* other validation rows, another VAL_0 */
    SIM_MUST(c->w, !follows || (n == c->copies.length && memcmp(copy, c->copies.data, n) == 0),
             "guarantee 6: after a restart the copies are not those of checkpoint %llu",
             ull(c->checkpoint));
    c->copies = (struct wire_bytes){copy, n};
    c->copies_term = c->term;
    c->copies_answered = answered;
}

void check_checkpoint(struct sim_check *c, struct wire_bytes chunk)
{
    struct wire_bytes payload;
    struct fis_error e;
    uint64_t version;
    int rc = wire_assembler_feed(c->checkpoints, chunk, &payload, &version, &e);
    SIM_MUST(c->w, rc >= 0, "checkpoint: %s", e.text);
    if (rc > 0) {
        check_copies(c, payload);
        c->checkpoint = version;
    }
}

/* ---- heads --------------------------------------------------------------------------------- */

static void keep_head(struct sim_check *c, struct wire_head_owned *owned)
{
    uint64_t version = owned->head.version;
    int at = (int)(version % CHECK_HEADS);
    scoring_head_unref(c->recent[at].head);
    memset(c->recent[at].ends, 0, sizeof c->recent[at].ends);
    c->recent[at].scan = owned->head.scan;
    for (uint32_t i = 0; i < owned->head.n_ends; i++)
        c->recent[at].ends[owned->head.ends[i].partition] = owned->head.ends[i].end;
    c->totals.scans += owned->head.scan == version;
    c->recent[at].head = scoring_head_take(owned);
}

void check_head(struct sim_check *c, struct wire_bytes value)
{
    struct wire_head_owned owned;
    struct wire_bytes payload;
    struct fis_error e;
    uint64_t version;
    int rc = wire_assembler_feed(c->heads, value, &payload, &version, &e);
    SIM_MUST(c->w, rc >= 0, "head: %s", e.text);
    if (rc == 0)
        return;
    SIM_MUST(c->w, wire_head_decode(payload, &owned, &e) == 0, "head: %s", e.text);
    SIM_MUST(c->w, version == c->last_head + 1 && owned.head.version == version,
             "head %llu follows head %llu", ull(version), ull(c->last_head));
    c->last_head = version;
    keep_head(c, &owned);
    wire_head_done(&owned);
}

/* ---- versions ------------------------------------------------------------------------------ */

static bool by_command(const struct wire_model *v)
{
    return strcmp(v->reason, "rolled_back") == 0 || strcmp(v->reason, "promoted") == 0;
}

/* What comes back by a command has the weights of a version that was there before. */
static bool was_there(const struct sim_check *c, const struct wire_model *v, uint32_t n)
{
    for (int i = 0; i < CHECK_VERSIONS; i++)
        if (c->versions[i].n_weights == n && n > 0 &&
            memcmp(c->versions[i].weights, v->params, n * sizeof *v->params) == 0)
            return true;
    return false;
}

static void check_served(struct sim_check *c, const struct wire_model *v, uint32_t n)
{
    bool first = c->served_version == 0;
    for (uint32_t i = 0; i < n; i++)
        SIM_MUST(c->w, isfinite(v->params[i]),
                 "guarantee 5: version %llu has a weight that is not "
                 "finite",
                 ull(v->version));
    SIM_MUST(c->w, v->params, "guarantee 5: version %llu is served without parameters",
             ull(v->version));
    /* By a command the accuracy is that of all validation rows, the machine's own measure. */
    SIM_MUST(c->w, first || by_command(v) || v->metrics.accuracy >= v->floor - 1e-9,
             "guarantee 5: version %llu is served with accuracy %.4f; the floor is %.4f",
             ull(v->version), v->metrics.accuracy, v->floor);
    SIM_MUST(c->w, !by_command(v) || was_there(c, v, n),
             "guarantee 5: version %llu (%s) has weights of no version before it", ull(v->version),
             v->reason);
    bool changed = c->unit.n_controls > 0; /* in this unit a command may have come in between */
    SIM_MUST(c->w, first || by_command(v) || !c->pinned || changed,
             "version %llu was published while what is served is pinned", ull(v->version));
    c->served_version = v->version;
}

static void check_version(struct sim_check *c, const struct wire_model *v)
{
    uint32_t n = v->params ? (uint32_t)fis_shape_params(&v->shape) : 0;
    SIM_MUST(c->w, v->version == c->last_version + 1, "guarantee 5: version %llu follows %llu",
             ull(v->version), ull(c->last_version));
    SIM_MUST(c->w, v->parent == c->served_version,
             "guarantee 5: version %llu has parent %llu; %llu was served", ull(v->version),
             ull(v->parent), ull(c->served_version));
    SIM_MUST(c->w, n <= CHECK_WEIGHTS, "simulator: %u weights", n);
    if (c->last_version == 0) {
        c->val0 = v->val0;
        c->shape = v->shape;
    }
    if (v->served)
        check_served(c, v, n);
    struct check_version *kept = &c->versions[v->version % CHECK_VERSIONS];
    fis_trees_unref(kept->trees);
    struct fis_trees *trees = v->encoder ? fis_trees_ref(fis_encoder_trees(v->encoder)) : NULL;
    *kept = (struct check_version){v->version, v->served != 0, n, trees, {0}};
    if (n)
        memcpy(kept->weights, v->params, n * sizeof *v->params);
    c->last_version = v->version;
    c->totals.versions++;
}

void check_model(struct sim_check *c, struct wire_bytes value)
{
    struct wire_model_owned owned;
    struct wire_bytes payload;
    struct fis_error e;
    uint64_t version;
    int rc = wire_assembler_feed(c->models, value, &payload, &version, &e);
    SIM_MUST(c->w, rc >= 0, "version: %s", e.text);
    if (rc == 0)
        return;
    SIM_MUST(c->w, wire_model_decode(payload, &owned, &e) == 0, "version: %s", e.text);
    check_version(c, &owned.model);
    wire_model_done(&owned);
}

/* The part of the validation rows that weights get right, by the plainest of means. */
static double accuracy(const struct sim_check *c, const struct check_version *of,
                       const struct sim_validation *v)
{
    const float *w = of->weights;
    uint32_t right = 0, width = c->w->plan->d + c->w->plan->margins, m = c->shape.margins;
    for (uint32_t i = 0; i < v->n; i++) {
        float a[16], z[16], x[SIM_WIDTH_MAX];
        const float *at = w;
        memcpy(x, v->x + (size_t)i * width, width * sizeof *x);
        if (of->trees)
            fis_trees_apply(of->trees, x, 1);
        memcpy(a, x, width * sizeof *a);
        for (uint32_t l = 0; l < c->shape.n_layers; l++) {
            uint32_t in = c->shape.width[l], out = c->shape.width[l + 1];
            for (uint32_t o = 0; o < out; o++) {
                z[o] = at[in * out + o];
                for (uint32_t k = 0; k < in; k++)
                    z[o] += a[k] * at[k * out + o];
            }
            at += (in + 1) * out;
            for (uint32_t o = 0; o < out; o++)
                a[o] = l + 1 < c->shape.n_layers && z[o] < 0 ? 0 : z[o];
        }
        for (uint32_t j = 1; j <= m; j++)
            a[c->w->plan->classes - j] += FIS_MARGIN_SCALE * x[width - j];
        uint32_t best = 0;
        for (uint32_t k = 1; k < c->w->plan->classes; k++)
            best = a[k] > a[best] ? k : best;
        right += best == v->y[i];
    }
    return (double)right / v->n;
}

/* What is served does what the state says of it, on the validation rows that are in force (after
 * they changed: the old ones or the new). A row on the very edge may fall to either side. */
static void check_accuracy(struct sim_check *c)
{
    const struct check_version *v = &c->versions[c->served_version % CHECK_VERSIONS];
    const struct sim_data *d = c->w->data;
    double claimed = c->state.served_accuracy, edge = 1.01 / d->validation[0].n;
    if (!c->served_version || v->version != c->served_version || !v->n_weights)
        return;
    if (c->w->plan->margins && c->w->plan->learn_validation)
        return; /* it is judged by trees that no version has */
    double old = accuracy(c, v, &d->validation[0]);
    double new = accuracy(c, v, &d->validation[1]);
    SIM_MUST(c->w, fabs(claimed - old) <= edge || (d->current && fabs(claimed - new) <= edge),
             "guarantee 5: version %llu claims accuracy %.4f; it has %.4f", ull(v->version),
             claimed, old);
    SIM_MUST(c->w, c->w->plan->validation_at || c->state.val0 == c->val0,
             "guarantee 5: VAL_0 was %.6f, and is %.6f", c->val0, c->state.val0);
}

/* ---- after a unit -------------------------------------------------------------------------- */

void check_unit_state(struct sim_check *c)
{
    const struct wire_trainer_state *s = &c->state;
    struct check_unit *u = &c->unit;
    SIM_MUST(c->w,
             wire_assembler_held(c->models) == 0 && wire_assembler_held(c->heads) == 0 &&
                 wire_assembler_held(c->checkpoints) == 0,
             "guarantee 5: a unit ends in the middle of a version, a head or a checkpoint");
    if (!c->have_state)
        return;
    SIM_MUST(c->w, !u->n_asked || u->n_states,
             "guarantee 6: labels were asked for, but the state "
             "was not written");
    SIM_MUST(c->w,
             s->head_version == c->last_head && s->model_version == c->last_version &&
                 s->served_version == c->served_version,
             "guarantee 6: the state says head %llu version %llu served %llu; on the topics are "
             "%llu, %llu, %llu",
             ull(s->head_version), ull(s->model_version), ull(s->served_version), ull(c->last_head),
             ull(c->last_version), ull(c->served_version));
    check_accuracy(c);
    SIM_MUST(c->w, s->checkpoint == c->checkpoint,
             "guarantee 6: the state names checkpoint %llu; "
             "the ledger has %llu",
             ull(s->checkpoint), ull(c->checkpoint));
    SIM_MUST(c->w, (s->paused != 0) == c->paused && (s->pinned != 0) == c->pinned,
             "guarantee 6: the state says paused %u pinned %u; by the commands it is %d and %d",
             s->paused, s->pinned, c->paused, c->pinned);
}

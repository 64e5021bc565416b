/* The trainer role's word to the world: heads, versions, its own state, and notes for people. */
#include "role/trainer_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/planted.h"
#include "fis/mem.h"
#include "role/scoring.h"
#include "wire/ledger.h"

#define CHECKPOINT_FORMAT 1

void trainer_note(struct trainer_role *m, const char *event, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    log_fields_v(text, sizeof text, format, ap);
    va_end(ap);
    m->out.note(m->out.ctx, event, text);
}

void trainer_send_head(struct trainer_role *m, struct trainer_time now)
{
    char algorithm[SCORING_ALGORITHM];
    m->state.head_version++;
    struct wire_head h = {
        .pipeline = m->o.pipeline,
        .version = m->state.head_version,
        .round = m->state.round,
        .created_at_ms = now.wall_ms,
        .shape = m->shape,
        .params = fis_learner_anchor(m->learner),
        .g_acc = fis_learner_direction(m->learner, FIS_DIRECTION_ACCURACY),
        .g_fair = fis_learner_direction(m->learner, FIS_DIRECTION_FAIRNESS),
        .encoder = m->encoder,
        .trees = m->trees,
        .initial = fis_profile_rows(m->initial) > 0 ? m->initial : NULL,
        .algorithm = scoring_algorithm(&m->o.selector.criteria, m->o.pool, algorithm),
        .selection = {.heap = fis_selector_heap(m->selector),
                      .distinct = m->o.selector.distinct,
                      .seed = m->o.selector.criteria.seed},
    };
    if (m->scan.step == SCAN_ON) {
        h.scan = m->scan.version;
        h.ends = m->scan.ends;
        h.n_ends = m->scan.n;
    }
    m->dirty = true;
    m->out.head(m->out.ctx, &h);
    m->floors = (struct wire_floors){h.version, h.created_at_ms, {0}};
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        m->floors.scores[i] = FIS_NOT_A_CANDIDATE;
    trainer_send_floors(m);
}

/* Under one head they are not lowered again: what is asked for is the best of what is held, all of
 * which reaches them. They go out with the unit that says what is held. */
void trainer_send_floors(struct trainer_role *m)
{
    float now[FIS_MAX_CRITERIA];
    bool risen = false;
    if (!m->out.floors || !m->floors.head_version)
        return;
    fis_selector_floors(m->selector, now);
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        if (now[i] > m->floors.scores[i]) {
            m->floors.scores[i] = now[i];
            risen = true;
        }
    if (risen)
        m->out.floors(m->out.ctx, m->o.pipeline, &m->floors);
}

int trainer_make_checkpoint(struct trainer_role *m, struct fis_error *e)
{
    size_t learner = fis_learner_save_size(m->learner), gate = fis_gate_save_size(m->gate);
    unsigned char *bytes = fis_alloc(learner + gate, 1);
    if (!bytes)
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for a checkpoint of %zu bytes",
                        learner + gate);
    fis_learner_save(m->learner, bytes);
    fis_gate_save(m->gate, bytes + learner);
    fis_free(m->saved.bytes);
    m->saved.bytes = bytes;
    m->saved.learner = learner;
    m->saved.gate = gate;
    return 0;
}

int trainer_send_checkpoint(struct trainer_role *m, struct fis_error *e)
{
    int rc = m->saved.bytes ? 0 : trainer_make_checkpoint(m, e);
    if (rc)
        return rc;
    m->state.checkpoint++;
    struct wire_checkpoint c = {
        .format = CHECKPOINT_FORMAT,
        .version = m->state.checkpoint,
        .learner = {m->saved.bytes, m->saved.learner},
        .gate = {m->saved.bytes + m->saved.learner, m->saved.gate},
    };
    m->dirty = true;
    if (!PLANTED(checkpoint_unsent))
        m->out.checkpoint(m->out.ctx, &c);
    fis_free(m->saved.bytes);
    m->saved.bytes = NULL;
    return 0;
}

/* A value of a line for people: what was not measured is n/e, not estimable. */
struct figure {
    char text[24];
};
static struct figure figure(double value)
{
    struct figure f = {"n/e"};
    if (isfinite(value))
        snprintf(f.text, sizeof f.text, "%.4f", value);
    return f;
}

static void note_version(struct trainer_role *m, const struct wire_model *v)
{
    const struct fis_gate_judgement *j = &m->judgement;
    trainer_note(m, "version",
                 "version=%llu round=%u verdict=%s reason=%s accuracy=%s %s=%s served=%llu "
                 "labels=%llu kept=%llu interpolation=%.3g looks=%u cosine=%s text=\"%s\"",
                 (unsigned long long)v->version, v->round, v->verdict, v->reason,
                 figure(j->pick.accuracy).text, v->metric,
                 figure(fis_metrics_of(&j->pick, m->o.gate.metric)).text,
                 (unsigned long long)m->state.served_version, (unsigned long long)v->labels_bought,
                 (unsigned long long)v->labels_kept, j->interpolation, j->looks,
                 figure(m->cosine).text, j->text);
    for (uint32_t g = 0; g < j->pick.n_groups; g++) {
        double now = j->pick.group[g].positive_rate;
        double before = g < j->served.n_groups ? j->served.group[g].positive_rate : now;
        trainer_note(m, "group", "version=%llu group=%u rows=%u positive_rate=%s before=%s",
                     (unsigned long long)v->version, g, j->pick.group[g].n, figure(now).text,
                     figure(before).text);
    }
}

static void serve(struct trainer_role *m, const struct wire_model *v)
{
    m->state.previous_version = v->previous;
    m->state.served_version = v->version;
    m->counts.published++;
    m->dirty = true;
}

/* A rejected version has the weights of its pick all the same, so that it can be promoted. */
static const float *params_of(const struct trainer_role *m)
{
    if (m->judgement.verdict == FIS_PUBLISH)
        return m->published;
    return m->judgement.pick.n ? fis_gate_picked(m->gate) : NULL;
}

/* What the gate found. */
static void put_judgement(struct wire_model *v, const struct fis_gate_judgement *j)
{
    v->served = j->verdict == FIS_PUBLISH;
    v->verdict = v->served ? "publish" : "reject";
    v->reason = fis_gate_reason_name(j->reason);
    v->reason_text = j->text;
    v->floor = j->floor;
    v->difference = j->difference;
    v->difference_se = j->difference_se;
    v->detectable = j->detectable;
    v->undetectable = j->undetectable;
    v->interpolation = j->interpolation;
    v->looks = j->looks;
    v->smallest_cell = j->smallest_cell;
    v->warn_cell = j->warn_cell;
    v->metrics = j->pick;
    v->anchor = j->anchor;
    v->intervals = j->intervals;
}

void trainer_send_version(struct trainer_role *m, struct trainer_time now)
{
    const struct fis_gate_judgement *j = &m->judgement;
    struct fis_learner_counts n = fis_learner_counts(m->learner);
    struct wire_model v = {
        .pipeline = m->o.pipeline,
        .version = ++m->state.model_version,
        .parent = m->state.served_version,
        .previous = m->state.served_version,
        .created_at_ms = now.wall_ms,
        .classes = m->o.schema->classes,
        .n_classes = m->o.schema->n_classes,
        .positive = m->o.positive,
        .metric = fis_metric_name(m->o.gate.metric),
        .shape = m->shape,
        .params = params_of(m),
        .encoder = m->encoder,
        .trees = m->trees,
        .epsilon = m->o.gate.epsilon,
        .val0 = m->judged_val0,
        .labels_bought = n.bought,
        .labels_kept = n.kept,
        .head_version = m->state.head_version,
        .seed = m->o.learner.seed,
        .round = m->state.round,
        .algorithm = m->o.selector.criteria.acquisition->name,
        .privacy = m->state.privacy,
    };
    put_judgement(&v, j);
    m->out.model(m->out.ctx, &v);
    m->state.looks = j->looks;
    m->counts.rejected += (uint64_t)!v.served;
    if (v.served)
        serve(m, &v);
    note_version(m, &v);
    trainer_note_privacy(m);
}

double trainer_floor(const struct trainer_role *m)
{
    const double val0 = fis_gate_val0(m->gate);
    const double se = sqrt(val0 * (1 - val0) / fis_learner_validation(m->learner)->n);
    return fis_gate_floor(&m->o.gate, val0, se);
}

/* A version that was rolled back to keeps where a rollback from it goes: one further back. */
void trainer_send_again(struct trainer_role *m, const struct wire_model *version, bool back,
                        const char *text, struct trainer_time now)
{
    const char *reason = back ? WIRE_ROLLED_BACK : "promoted";
    struct wire_model v = *version;
    v.version = ++m->state.model_version;
    v.parent = m->state.served_version;
    if (!back)
        v.previous = v.parent;
    v.created_at_ms = now.wall_ms;
    v.served = 1;
    v.verdict = "publish";
    v.reason = reason;
    v.reason_text = text;
    v.epsilon = m->o.gate.epsilon;
    v.val0 = fis_gate_val0(m->gate);
    v.floor = trainer_floor(m);
    v.difference = v.difference_se = (double)NAN; /* of what is served: not what it was for */
    v.round = m->state.round;
    v.privacy = m->state.privacy;
    m->out.model(m->out.ctx, &v);
    serve(m, &v);
    trainer_note(m, "version",
                 "version=%llu round=%u verdict=publish reason=%s of=%llu served=%llu",
                 (unsigned long long)v.version, v.round, reason,
                 (unsigned long long)version->version, (unsigned long long)v.version);
}

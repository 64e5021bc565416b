/* The trainer role's word to the world: heads, versions, its own state, and notes for people. */
#include "role/trainer_role.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void trainer_note(struct trainer_role *m, const char *event, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    m->out.note(m->out.ctx, event, text);
}

void trainer_send_head(struct trainer_role *m, struct trainer_time now)
{
    m->state.head_version++;
    struct wire_head h = {
        .pipeline = m->o.pipeline,
        .version = m->state.head_version,
        .round = m->state.round,
        .created_at_ms = now.wall_ms,
        .shape = m->shape,
        .params = fis_trainer_anchor(m->learner),
        .g_acc = fis_trainer_direction(m->learner, FIS_DIRECTION_ACCURACY),
        .g_fair = fis_trainer_direction(m->learner, FIS_DIRECTION_FAIRNESS),
        .encoder = m->encoder,
    };
    m->out.head(m->out.ctx, &h);
}

void trainer_send_state(struct trainer_role *m)
{
    m->state.val0 = fis_gate_val0(m->gate);
    m->state.trained = (double)(m->this_round.bought - m->untrained);
    m->out.state(m->out.ctx, &m->state);
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
                 "labels=%llu kept=%llu interpolation=%.1f looks=%u cosine=%s text=\"%s\"",
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

void trainer_send_version(struct trainer_role *m, struct trainer_time now)
{
    const struct fis_gate_judgement *j = &m->judgement;
    struct fis_trainer_counts n = fis_trainer_counts(m->learner);
    int publish = j->verdict == FIS_PUBLISH;
    struct wire_model v = {
        .pipeline = m->o.pipeline,
        .version = ++m->state.model_version,
        .parent = m->state.served_version,
        .created_at_ms = now.wall_ms,
        .served = publish,
        .classes = m->o.schema->classes,
        .n_classes = m->o.schema->n_classes,
        .positive = m->o.positive,
        .metric = fis_metric_name(m->o.gate.metric),
        .shape = m->shape,
        .params = publish ? m->published : NULL,
        .encoder = m->encoder,
        .verdict = publish ? "publish" : "reject",
        .reason = fis_gate_reason_name(j->reason),
        .reason_text = j->text,
        .epsilon = m->o.gate.epsilon,
        .val0 = fis_gate_val0(m->gate),
        .floor = j->floor,
        .difference = j->difference,
        .difference_se = j->difference_se,
        .interpolation = j->interpolation,
        .looks = j->looks,
        .smallest_cell = j->smallest_cell,
        .warn_cell = j->warn_cell,
        .metrics = j->pick,
        .anchor = j->anchor,
        .intervals = j->intervals,
        .labels_bought = n.bought,
        .labels_kept = n.kept,
        .head_version = m->state.head_version,
        .seed = m->o.learner.seed,
        .round = m->state.round,
        .algorithm = fis_algorithm_name(m->o.selector.criteria.algorithm),
    };
    m->out.model(m->out.ctx, &v);
    m->state.looks = j->looks;
    m->counts.published += (uint64_t)publish;
    m->counts.rejected += (uint64_t)!publish;
    if (publish)
        m->state.served_version = v.version;
    note_version(m, &v);
}

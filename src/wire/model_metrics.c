#include <math.h>
#include <string.h>

#include "wire/model_parts.h"

#define NUMBER(field) #field, offsetof(struct fis_metrics, field), 0
#define WITH_INTERVAL(field)                                                                       \
#field, offsetof(struct fis_metrics, field), offsetof(struct fis_metrics_intervals, field)
#define OF_GROUP(field) offsetof(struct fis_group_metrics, field), 0

const struct wire_number wire_metric_numbers[] = {
    /* as enum wire_metric */
    {WITH_INTERVAL(accuracy)},           {NUMBER(balanced_accuracy)},
    {WITH_INTERVAL(demographic_parity)}, {WITH_INTERVAL(equal_opportunity)},
    {WITH_INTERVAL(equalized_odds)},     {WITH_INTERVAL(equalized_odds_max)},
    {WITH_INTERVAL(risk_disparity)},     {NULL, 0, 0},
};
const struct wire_number wire_group_numbers[] = {
    {"accuracy", OF_GROUP(accuracy)},
    {"positive_rate", OF_GROUP(positive_rate)},
    {"true_positive_rate", OF_GROUP(tpr)},
    {"false_positive_rate", OF_GROUP(fpr)},
    {NULL, 0, 0},
};

double wire_number_at(const void *base, size_t at)
{
    double x;
    memcpy(&x, (const char *)base + at, sizeof x);
    return x;
}

enum wire_metric wire_metric_named(const char *name)
{
    enum wire_metric i = 0;
    while (i < WIRE_METRICS && (!name || strcmp(wire_metric_numbers[i].name, name) != 0))
        i++;
    return i;
}

double wire_metric_of(const struct fis_metrics *m, enum wire_metric metric)
{
    return m->n && metric < WIRE_METRICS ? wire_number_at(m, wire_metric_numbers[metric].at)
                                         : (double)NAN;
}

const struct fis_interval *wire_interval_of(const struct fis_metrics_intervals *in,
                                            enum wire_metric metric)
{
    static const struct fis_interval none = {NAN, NAN, NAN};
    size_t at = metric < WIRE_METRICS ? wire_metric_numbers[metric].interval : 0;
    return at ? (const void *)((const char *)in + at) : &none;
}

static int fill_interval(Fis__V1__Metric *m, const struct fis_interval *from, struct fis_arena *a)
{
    if (!isfinite(from->low) || !isfinite(from->high) || !isfinite(from->se))
        return 0;
    m->interval = fis_arena_alloc(a, sizeof *m->interval);
    if (!m->interval)
        return -1;
    fis__v1__interval__init(m->interval);
    m->interval->low = from->low;
    m->interval->high = from->high;
    m->interval->standard_error = from->se;
    return 0;
}

int wire_numbers_fill(const struct wire_number *table, const void *from,
                      const struct fis_metrics_intervals *intervals, struct fis_arena *a,
                      Fis__V1__Metric ***list, size_t *n, struct fis_error *e)
{
    size_t entries = 0;
    while (table[entries].name)
        entries++;
    *n = 0;
    *list = fis_arena_alloc(a, entries * sizeof **list);
    if (!*list)
        return wire_scratch_full(a, e);
    for (const struct wire_number *t = table; t->name; t++) {
        double value = wire_number_at(from, t->at);
        if (!isfinite(value)) /* not estimable: left out */
            continue;
        Fis__V1__Metric *m = (*list)[*n] = fis_arena_alloc(a, sizeof *m);
        if (!m)
            return wire_scratch_full(a, e);
        ++*n;
        fis__v1__metric__init(m);
        m->name = (char *)(uintptr_t)t->name;
        m->value = value;
        if (intervals && t->interval &&
            fill_interval(m, (const void *)((const char *)intervals + t->interval), a))
            return wire_scratch_full(a, e);
    }
    return 0;
}

static const Fis__V1__Metric *find(Fis__V1__Metric *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i]->name, name))
            return list[i];
    return NULL;
}

int wire_numbers_read(const struct wire_number *table, Fis__V1__Metric *const *list, size_t n,
                      void *to, struct fis_metrics_intervals *intervals, struct fis_error *e)
{
    for (const struct wire_number *t = table; t->name; t++) {
        const Fis__V1__Metric *m = find(list, n, t->name);
        struct fis_interval interval = {(double)NAN, (double)NAN, (double)NAN};
        double value = m ? m->value : (double)NAN;
        if (m && !isfinite(value))
            return fis_fail(e, FIS_INPUT, "%s is not finite", t->name);
        memcpy((char *)to + t->at, &value, sizeof value);
        if (m && m->interval) {
            interval = (struct fis_interval){m->interval->low, m->interval->high,
                                             m->interval->standard_error};
            if (!isfinite(interval.low) || !isfinite(interval.high) || !isfinite(interval.se))
                return fis_fail(e, FIS_INPUT, "the interval of %s is not finite", t->name);
        }
        if (intervals && t->interval)
            memcpy((char *)intervals + t->interval, &interval, sizeof interval);
    }
    return 0;
}

static int fill_groups(Fis__V1__Metrics *out, const struct fis_metrics *m, struct fis_arena *a,
                       struct fis_error *e)
{
    Fis__V1__GroupMetrics *groups = fis_arena_alloc(a, m->n_groups * sizeof *groups);
    out->groups = fis_arena_alloc(a, m->n_groups * sizeof *out->groups);
    if (!groups || !out->groups)
        return wire_scratch_full(a, e);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        Fis__V1__GroupMetrics *to = out->groups[g] = &groups[g];
        fis__v1__group_metrics__init(to);
        to->n = m->group[g].n;
        int rc = wire_numbers_fill(wire_group_numbers, &m->group[g], NULL, a, &to->values,
                                   &to->n_values, e);
        if (rc)
            return rc;
    }
    out->n_groups = m->n_groups;
    return 0;
}

static int fill_recall(Fis__V1__Metrics *out, const struct fis_metrics *m, struct fis_arena *a,
                       struct fis_error *e)
{
    Fis__V1__Recall *recall = fis_arena_alloc(a, m->classes * sizeof *recall);
    out->recall = fis_arena_alloc(a, m->classes * sizeof *out->recall);
    if (!recall || !out->recall)
        return wire_scratch_full(a, e);
    for (uint32_t k = 0; k < m->classes; k++) {
        if (!isfinite(m->recall[k]))
            continue;
        Fis__V1__Recall *to = out->recall[out->n_recall++] = &recall[k];
        fis__v1__recall__init(to);
        to->class_index = k;
        to->value = m->recall[k];
    }
    return 0;
}

int wire_metrics_fill(Fis__V1__Metrics *out, const struct fis_metrics *m,
                      const struct fis_metrics_intervals *intervals, struct fis_arena *a,
                      struct fis_error *e)
{
    fis__v1__metrics__init(out);
    if (m->n_groups > FIS_MAX_GROUPS || m->classes > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "metrics: %u groups and %u classes, at most %d and %d",
                        m->n_groups, m->classes, FIS_MAX_GROUPS, FIS_MAX_CLASSES);
    out->n = m->n;
    out->classes = m->classes;
    out->predicted_classes = m->predicted_classes;
    if (intervals && isfinite(intervals->level))
        out->interval_level = intervals->level;
    int rc =
        wire_numbers_fill(wire_metric_numbers, m, intervals, a, &out->values, &out->n_values, e);
    if (!rc)
        rc = fill_groups(out, m, a, e);
    return rc ? rc : fill_recall(out, m, a, e);
}

static int read_lists(const Fis__V1__Metrics *m, struct fis_metrics *out, struct fis_error *e)
{
    if (m->n_groups > FIS_MAX_GROUPS || m->classes > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "%zu groups and %u classes, at most %d and %d", m->n_groups,
                        m->classes, FIS_MAX_GROUPS, FIS_MAX_CLASSES);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const Fis__V1__GroupMetrics *from = m->groups[g];
        out->group[g].n = from->n;
        int rc = wire_numbers_read(wire_group_numbers, from->values, from->n_values, &out->group[g],
                                   NULL, e);
        if (rc)
            return rc;
    }
    for (uint32_t k = 0; k < m->classes; k++)
        out->recall[k] = (double)NAN;
    for (size_t i = 0; i < m->n_recall; i++) {
        const Fis__V1__Recall *r = m->recall[i];
        if (r->class_index >= m->classes || !isfinite(r->value))
            return fis_fail(e, FIS_INPUT, "recall of class %u of %u, not finite or out of range",
                            r->class_index, m->classes);
        out->recall[r->class_index] = r->value;
    }
    return 0;
}

int wire_metrics_read(const Fis__V1__Metrics *m, struct fis_metrics *out,
                      struct fis_metrics_intervals *intervals, struct fis_error *e)
{
    static const Fis__V1__Metrics none = FIS__V1__METRICS__INIT;
    m = m ? m : &none;
    memset(out, 0, sizeof *out);
    out->n = m->n;
    out->n_groups = (uint32_t)m->n_groups;
    out->classes = m->classes;
    out->predicted_classes = m->predicted_classes;
    if (intervals) {
        if (!isfinite(m->interval_level))
            return fis_fail(e, FIS_INPUT, "metrics: interval_level is not finite");
        intervals->level = m->interval_level;
    }
    int rc = wire_numbers_read(wire_metric_numbers, m->values, m->n_values, out, intervals, e);
    return rc ? rc : read_lists(m, out, e);
}

/* Versions and groups. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/monitor/api.h"
#include "wire/model_parts.h"

static const char *api_group(const struct status *s, uint32_t group, char number[16])
{
    snprintf(number, 16, "%u", group);
    return group < s->n_groups ? s->groups[group] : number;
}

/* Values of several sensitive columns are joined by U+001F. */
static json_t *group_name(const struct status *s, uint32_t group)
{
    char number[16], name[1100];
    snprintf(name, sizeof name, "%s", api_group(s, group, number));
    for (char *p = name; *p; p++)
        if (*p == '\x1f')
            *p = ',';
    return api_text(name);
}

static json_t *group(const struct status *s, const struct fis_metrics *m, uint32_t i)
{
    const struct fis_group_metrics *g = &m->group[i];
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "group", group_name(s, i), "rows", (int)g->n,
                     "accuracy", wire_json_real(g->accuracy), "positive_rate",
                     wire_json_real(g->positive_rate), "tpr", wire_json_real(g->tpr), "fpr",
                     wire_json_real(g->fpr));
}

/* The metrics of a model: accuracy, gaps, groups. */
static json_t *api_metrics(const struct status *s, const struct fis_metrics *m)
{
    json_t *all = m->n ? json_object() : json_null(), *groups = m->n ? json_array() : NULL;
    if (!m->n)
        return all;
    for (uint32_t i = 0; i < m->n_groups; i++)
        json_array_append_new(groups, group(s, m, i));
    json_object_set_new(all, "rows", json_integer(m->n));
    for (const struct wire_number *t = wire_metric_numbers; t->name; t++)
        json_object_set_new(all, t->name, wire_json_real(wire_number_at(m, t->at)));
    json_object_set_new(all, "groups", groups);
    return all;
}

static json_t *interval(const struct fis_metrics_intervals *all, const struct fis_interval *i)
{
    if (all->level <= 0)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "low", wire_json_real(i->low), "high",
                     wire_json_real(i->high), "se", wire_json_real(i->se));
}

static json_t *intervals(const struct fis_metrics_intervals *i)
{
    json_t *all = json_pack("{s:o}", "level", wire_json_real(i->level));
    for (enum wire_metric k = 0; k < WIRE_METRICS; k++)
        if (wire_metric_numbers[k].interval)
            json_object_set_new(all, wire_metric_numbers[k].name,
                                interval(i, wire_interval_of(i, k)));
    return all;
}

json_t *api_version_summary(const struct status *s, const struct version_info *v)
{
    const struct version_info *now = version_log_served(s->versions);
    return json_pack(
        "{s:I, s:I, s:I, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, "
        "s:o, s:o, s:o}",
        "version", (json_int_t)v->version, "parent", (json_int_t)v->parent, "created_at_ms",
        (json_int_t)v->created_at_ms, "round", (int)v->round, "published", v->served, "served",
        now == v, "verdict", api_text(v->verdict), "reason", api_text(v->reason), "text",
        api_text(v->text), "metric", api_text(v->metric), "accuracy",
        wire_json_real(wire_metric_of(&v->metrics, WIRE_ACCURACY)), "violation",
        wire_json_real(wire_metric_of(&v->metrics, wire_metric_named(v->metric))), "labels_bought",
        (json_int_t)v->labels_bought, "labels_kept", (json_int_t)v->labels_kept, "head_version",
        (json_int_t)v->head_version, "interpolation", wire_json_real(v->interpolation),
        "difference", wire_json_real(v->difference), "difference_se",
        wire_json_real(v->difference_se), "floor", wire_json_real(v->floor), "val0",
        wire_json_real(v->val0));
}

static json_t *whole(const struct status *s, const struct version_info *v)
{
    json_t *o = api_version_summary(s, v);
    if (!o)
        return NULL;
    json_object_set_new(o, "epsilon", wire_json_real(v->epsilon));
    json_object_set_new(o, "looks", json_integer(v->looks));
    json_object_set_new(o, "smallest_cell", json_integer(v->smallest_cell));
    json_object_set_new(o, "warn_cell", json_boolean(v->warn_cell));
    json_object_set_new(o, "detectable", wire_json_real(v->detectable));
    json_object_set_new(o, "undetectable", json_boolean(v->undetectable));
    json_object_set_new(o, "algorithm", api_text(v->algorithm));
    json_object_set_new(o, "metrics", api_metrics(s, &v->metrics));
    json_object_set_new(o, "anchor", api_metrics(s, &v->anchor));
    json_object_set_new(o, "intervals", intervals(&v->intervals));
    return o;
}

json_t *api_versions(struct monitor *m)
{
    const struct status *s = status_now(m);
    const struct version_info *served = version_log_served(s->versions);
    json_t *list = json_array();
    for (uint32_t i = version_log_count(s->versions); i-- > 0;)
        json_array_append_new(list, whole(s, version_log_at(s->versions, i)));
    double target = s->cfg->fairness.target;
    return json_pack("{s:o, s:o, s:o, s:i, s:i, s:o}", "served",
                     served ? json_integer((json_int_t)served->version) : json_null(), "epsilon",
                     wire_json_real(s->cfg->gate.epsilon), "target",
                     wire_json_real(target > 0 ? target : (double)NAN), "warn_cell",
                     (int)s->cfg->gate.warn_cell, "rejected_in_row",
                     (int)version_log_rejected_in_row(s->versions), "versions", list);
}

void api_version(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    const struct status *s = status_now(m);
    char *end;
    unsigned long long n = strtoull(r->rest, &end, 10);
    if (*r->rest < '0' || *r->rest > '9' || *end) {
        http_problem(out, 404, "a version is a whole number");
        return;
    }
    const struct version_info *v = version_log_find(s->versions, n);
    if (v)
        api_send(out, whole(s, v));
    else
        http_problem(out, 404, "version %llu is not among the %u newest that this process knows", n,
                     version_log_count(s->versions));
}

/* Group by group: what is served, and what the newest version and its anchor would do. */
json_t *api_groups(struct monitor *m)
{
    const struct status *s = status_now(m);
    const struct version_info *served = version_log_served(s->versions);
    const struct version_info *newest = version_log_at(s->versions, 0);
    json_t *columns = json_array();
    for (uint32_t i = 0; i < s->cfg->validation.sensitive.count; i++)
        json_array_append_new(columns, json_string(s->cfg->validation.sensitive.items[i]));
    return json_pack("{s:b, s:o, s:s, s:o, s:o, s:o}", "named", s->n_groups > 0, "columns", columns,
                     "positive", s->cfg->positive, "served",
                     served ? api_metrics(s, &served->metrics) : json_null(), "newest",
                     newest ? api_metrics(s, &newest->metrics) : json_null(), "anchor",
                     newest ? api_metrics(s, &newest->anchor) : json_null());
}

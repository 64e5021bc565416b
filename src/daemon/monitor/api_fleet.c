/* The processes of the pipeline. */
#include <string.h>

#include "daemon/monitor/api.h"
#include "daemon/monitor/fleet_view.h"

/* An alarm by its name; its text stays where it was raised. */
static json_t *alarm(const struct status *s, const char *name)
{
    for (int i = 0; i < ALARM_COUNT; i++)
        if (strcmp(s->alarms->all[i].name, name) == 0)
            return json_pack("{s:s, s:s, s:s}", "name", s->alarms->all[i].name, "severity",
                             s->alarms->all[i].severity, "advice", s->alarms->all[i].advice);
    return json_pack("{s:o, s:s, s:s}", "name", api_text(name), "severity", "warning", "advice",
                     "");
}

static json_t *process(const struct status *s, const struct wire_process *p, bool self,
                       uint64_t age_ms, bool silent)
{
    json_t *o = wire_process_json(p), *alarms = json_array();
    for (uint32_t i = 0; i < p->n_alarms; i++)
        json_array_append_new(alarms, alarm(s, p->alarm[i]));
    json_object_set_new(o, "alarms", alarms);
    json_object_set_new(o, "self", json_boolean(self));
    json_object_set_new(o, "silent", json_boolean(silent));
    json_object_set_new(o, "age_seconds", wire_json_real(1e-3 * (double)age_ms));
    return o;
}

json_t *api_fleet_sums(const struct status *s)
{
    const struct fleet_sums sum = fleet_view_sums(s);
    return json_pack("{s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:I, s:o}", "leader",
                     sum.leader ? api_text(sum.leader->name) : json_null(), "processes",
                     (int)sum.processes, "silent", (int)sum.silent, "scorers", (int)sum.scorers,
                     "scorers_ready", (int)sum.scorers_ready, "trainers", (int)sum.trainers,
                     "trainers_ready", (int)sum.trainers_ready, "records_per_second",
                     sum.per_second, "records", (json_int_t)sum.records, "lag",
                     sum.lag < 0 ? json_null() : json_integer(sum.lag));
}

json_t *api_fleet(struct monitor *m)
{
    const struct status *s = status_now(m);
    json_t *list = json_array();
    json_array_append_new(list, process(s, &s->self, true, 0, false));
    for (uint32_t i = 0; i < s->n_fleet; i++) {
        const struct fleet_process *f = &s->fleet[i];
        json_array_append_new(
            list, process(s, &f->p, false, s->mono_ms - f->seen_ms, fleet_silent(f, s->mono_ms)));
    }
    return json_pack("{s:o, s:o, s:o}", "sums", api_fleet_sums(s), "trouble",
                     *s->fleet_trouble ? api_text(s->fleet_trouble) : json_null(), "processes",
                     list);
}

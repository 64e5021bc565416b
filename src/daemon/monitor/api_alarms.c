/* Alarms, and the drift behind one of them. */
#include <string.h>

#include "daemon/monitor/api.h"

/* Those that are raised: the critical ones first, then as they are in the table. */
json_t *api_alarms(struct monitor *m)
{
    static const char *const order[] = {"critical", "warning"};
    const struct alarms *a = status_now(m)->alarms;
    json_t *list = json_array();
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (int i = 0; i < ALARM_COUNT; i++) {
            const struct alarm *one = &a->all[i];
            if (one->on && strcmp(one->severity, order[k]) == 0)
                json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o, s:s}", "name",
                                                      one->name, "severity", one->severity,
                                                      "since_ms", (json_int_t)one->since_ms, "text",
                                                      api_text(one->text), "advice", one->advice));
        }
    return json_pack("{s:o}", "alarms", list);
}

json_t *api_drift(struct monitor *m)
{
    const struct status *s = status_now(m);
    const struct scorer_drift *d = &s->scorer.drift;
    json_t *list = json_array();
    for (uint32_t i = 0; i < d->n; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "column", api_text(d->columns[i].name),
                                              "index", wire_json_real(d->columns[i].psi)));
    return json_pack("{s:i, s:i, s:i, s:i, s:o, s:o}", "sampled_rows", (int)d->rows, "initial_rows",
                     (int)d->initial_rows, "all_columns", (int)d->all, "columns_above",
                     (int)d->above, "limit", wire_json_real(s->cfg->alarms.drift), "columns", list);
}

/* Inside the monitor: monitor.c (life), status.c (filling the status), monitor_http.c (routes and
 * health), metrics.c, metrics_table.c and metrics_versions.c, api.c, api_versions.c, api_alarms.c,
 * alarms.c, commands.c, fleet.c and
 * fleet_view.c (the pipeline's other processes), api_fleet.c. */
#ifndef DAEMON_MONITOR_IMPL_H
#define DAEMON_MONITOR_IMPL_H

#include "daemon/monitor/alarms.h"
#include "daemon/monitor/annotators.h"
#include "daemon/monitor/commands.h"
#include "daemon/monitor/monitor.h"
#include "http/http.h"

struct monitor {
    struct context *ctx;
    struct scorer_host *scorer; /* NULL: it has not begun, or is not a role of this process */
    struct trainer_host *trainer;
    struct label_host *labels; /* NULL: no labelling page, or not yet */
    struct annotators annotators;
    struct http_server *http;
    struct version_log *versions;
    struct webhook *webhook; /* NULL: there is none */
    struct kafka_watch kafka;
    struct commands commands;
    struct fleet *fleet; /* NULL: the roles have not begun */
    char name[WIRE_PROCESS_NAME], host[64], address[WIRE_PROCESS_TEXT];
    struct status status;
    struct lag lags[STATUS_PARTITIONS];
    struct status_second seconds[STATUS_SECONDS], ordered[STATUS_SECONDS]; /* a ring; a view */
    uint32_t n_seconds, next_second;
    uint64_t last_records, last_offered, last_labels; /* at the last second */
    char trouble[STATUS_REASON];
    uint64_t trouble_ms, began_ms;
    int64_t began_wall_ms;
    struct alarms alarms;
    int64_t validation_ms; /* time of the newest validation row; 0: not known */
    char **groups;
    uint32_t n_groups;
    bool ready;
    char reason[STATUS_REASON]; /* as last reported */
};

extern const struct http_route monitor_routes[];
extern const size_t monitor_route_count;

#endif

/*
 * /api/v1: what the status has, as JSON, and commands. config/openapi.yaml is the contract.
 * A figure that was not measured is null. Handlers for http_route; ctx is the monitor.
 */
#ifndef DAEMON_API_H
#define DAEMON_API_H

#include <jansson.h>

#include "daemon/monitor/monitor_impl.h"

http_handler_fn api_status, api_candidates, api_requests, api_groups, api_throughput, api_lag,
    api_kafka, api_alarms, api_drift, api_openapi;
http_handler_fn api_versions, api_version;
http_handler_fn api_commands, api_command, api_pause, api_resume, api_pin, api_unpin, api_rollback,
    api_promote, api_cancel;

/* ---- shared by its files ----------------------------------------------------------------------
 */

json_t *api_number(double v);                      /* null when it is not finite */
json_t *api_text(const char *text, size_t length); /* what is no UTF-8 becomes '?' */
/* Writes it, and lets it go. NULL: there was no memory. */
void api_send(struct http_reply *out, json_t *o);
/* The metrics of a model: accuracy, gaps, groups. */
json_t *api_metrics(const struct status *s, const struct fis_metrics *m);
json_t *api_version_summary(const struct status *s, const struct version_info *v);
const char *api_group(const struct status *s, uint32_t group, char number[16]); /* its name */

#endif

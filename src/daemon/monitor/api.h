/*
 * /api/v1: what the status has, as JSON, and commands. config/openapi.yaml is the contract.
 * A figure that was not measured is null. Handlers for http_route; ctx is the monitor.
 */
#ifndef DAEMON_API_H
#define DAEMON_API_H

#include <jansson.h>

#include "daemon/monitor/monitor_impl.h"
#include "wire/json_text.h"

/* A route's arg, for api_page: what it shows; NULL: there was no memory. */
struct api_page {
    json_t *(*make)(struct monitor *m);
};
json_t *api_status(struct monitor *m), *api_candidates(struct monitor *m),
    *api_requests(struct monitor *m), *api_groups(struct monitor *m),
    *api_throughput(struct monitor *m), *api_lag(struct monitor *m), *api_kafka(struct monitor *m),
    *api_alarms(struct monitor *m), *api_drift(struct monitor *m), *api_versions(struct monitor *m),
    *api_commands(struct monitor *m), *api_fleet(struct monitor *m),
    *api_agreement(struct monitor *m);

/* A route's arg, for api_give. */
struct api_control {
    enum wire_control_kind kind;
    const char *member; /* of the body, besides by and reason: "version", "id", or "" */
    bool needed;
};

http_handler_fn api_page, api_version, api_model, api_command, api_give;
/* The labelling page and what is behind it (api_label.c). */
http_handler_fn label_page, label_next, label_answer, label_undo;

/* Routes. */
#define API_PAGE(path, make)                                                                       \
    {                                                                                              \
        HTTP_GET, "/api/v1/" path, false, HTTP_READ, api_page, &(const struct api_page)            \
        {                                                                                          \
            make                                                                                   \
        }                                                                                          \
    }
#define API_COMMAND(path, kind, member, needed)                                                    \
    {                                                                                              \
        HTTP_POST, "/api/v1/" path, false, HTTP_COMMAND, api_give, &(const struct api_control)     \
        {                                                                                          \
            WIRE_CONTROL_##kind, member, needed                                                    \
        }                                                                                          \
    }

/* ---- shared by its files --------------------------------------------------------------------- */

json_t *api_text(const char *text); /* what is no UTF-8 becomes '?' */
json_t *api_id(const struct fis_id *id);
/* Writes it, and frees it. NULL: there was no memory. */
void api_send(struct http_reply *out, json_t *o);
json_t *api_version_summary(const struct status *s, const struct version_info *v);
json_t *api_fleet_sums(const struct status *s);

#endif

/* The pages of the monitor: which there are, and the plain ones. */
#include "daemon/monitor/api.h"
#include "daemon/monitor/dashboard.h"
#include "daemon/monitor/metrics.h"
#include "daemon/monitor/monitor_impl.h"

static void healthz(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    out->type = "text/plain; charset=utf-8";
    http_text(out, "ok\n");
}

static void readyz(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    char reason[STATUS_REASON];
    (void)r;
    bool ready = status_ready(status_now(m), reason);
    out->type = "text/plain; charset=utf-8";
    out->status = ready ? 200 : 503;
    http_printf(out, "%s\n", ready ? "ready" : reason);
}

static void metrics(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    (void)r;
    metrics_write(status_now(m), out);
}

const struct http_route monitor_routes[] = {
    {HTTP_GET, "/", false, HTTP_OPEN, dashboard_serve},
    {HTTP_GET, DASHBOARD_BELOW, true, HTTP_OPEN, dashboard_serve},
    {HTTP_GET, "/healthz", false, HTTP_OPEN, healthz},
    {HTTP_GET, "/readyz", false, HTTP_OPEN, readyz},
    {HTTP_GET, "/metrics", false, HTTP_READ, metrics},
    {HTTP_GET, "/api/v1/status", false, HTTP_READ, api_status},
    {HTTP_GET, "/api/v1/versions", false, HTTP_READ, api_versions},
    {HTTP_GET, "/api/v1/versions/", true, HTTP_READ, api_version},
    {HTTP_GET, "/api/v1/candidates", false, HTTP_READ, api_candidates},
    {HTTP_GET, "/api/v1/requests", false, HTTP_READ, api_requests},
    {HTTP_GET, "/api/v1/groups", false, HTTP_READ, api_groups},
    {HTTP_GET, "/api/v1/throughput", false, HTTP_READ, api_throughput},
    {HTTP_GET, "/api/v1/lag", false, HTTP_READ, api_lag},
    {HTTP_GET, "/api/v1/alarms", false, HTTP_READ, api_alarms},
    {HTTP_GET, "/api/v1/drift", false, HTTP_READ, api_drift},
    {HTTP_GET, "/api/v1/kafka", false, HTTP_READ, api_kafka},
    {HTTP_GET, "/api/v1/commands", false, HTTP_READ, api_commands},
    {HTTP_GET, "/api/v1/commands/", true, HTTP_READ, api_command},
    {HTTP_GET, "/api/v1/openapi.yaml", false, HTTP_OPEN, api_openapi},
    {HTTP_POST, "/api/v1/pause", false, HTTP_COMMAND, api_pause},
    {HTTP_POST, "/api/v1/resume", false, HTTP_COMMAND, api_resume},
    {HTTP_POST, "/api/v1/pin", false, HTTP_COMMAND, api_pin},
    {HTTP_POST, "/api/v1/unpin", false, HTTP_COMMAND, api_unpin},
    {HTTP_POST, "/api/v1/rollback", false, HTTP_COMMAND, api_rollback},
    {HTTP_POST, "/api/v1/promote", false, HTTP_COMMAND, api_promote},
    {HTTP_POST, "/api/v1/cancel", false, HTTP_COMMAND, api_cancel},
};
const size_t monitor_route_count = sizeof monitor_routes / sizeof *monitor_routes;

/* The pages of the monitor: which there are, and the plain ones. */
#include "daemon/monitor/api.h"
#include "daemon/monitor/dashboard.h"
#include "daemon/monitor/metrics.h"
#include "daemon/monitor/monitor_impl.h"
#include "openapi.h"

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

/* The contract of the API, config/openapi.yaml, built in. */
static void openapi(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    out->type = "application/yaml";
    out->fixed = openapi_yaml;
    out->fixed_length = sizeof openapi_yaml - 1;
    out->cacheable = true;
}

const struct http_route monitor_routes[] = {
    {HTTP_GET, "/", false, HTTP_OPEN, dashboard_serve, NULL},
    {HTTP_GET, DASHBOARD_BELOW, true, HTTP_OPEN, dashboard_serve, NULL},
    {HTTP_GET, "/label", false, HTTP_OPEN, label_page, NULL},
    {HTTP_GET, "/healthz", false, HTTP_OPEN, healthz, NULL},
    {HTTP_GET, "/readyz", false, HTTP_OPEN, readyz, NULL},
    {HTTP_GET, "/metrics", false, HTTP_READ, metrics, NULL},
    API_PAGE("status", api_status),
    API_PAGE("versions", api_versions),
    {HTTP_GET, "/api/v1/versions/", true, HTTP_READ, api_version, NULL},
    {HTTP_GET, "/api/v1/models/", true, HTTP_READ, api_model, NULL},
    API_PAGE("candidates", api_candidates),
    API_PAGE("requests", api_requests),
    API_PAGE("groups", api_groups),
    API_PAGE("throughput", api_throughput),
    API_PAGE("lag", api_lag),
    API_PAGE("alarms", api_alarms),
    API_PAGE("drift", api_drift),
    API_PAGE("fleet", api_fleet),
    API_PAGE("kafka", api_kafka),
    API_PAGE("commands", api_commands),
    API_PAGE("agreement", api_agreement),
    {HTTP_GET, "/api/v1/commands/", true, HTTP_READ, api_command, NULL},
    {HTTP_GET, "/api/v1/openapi.yaml", false, HTTP_OPEN, openapi, NULL},
    /* Open, since annotators have tokens of their own. */
    {HTTP_GET, "/api/v1/label/next", false, HTTP_OPEN, label_next, NULL},
    {HTTP_POST, "/api/v1/label/answer", false, HTTP_OPEN, label_answer, NULL},
    {HTTP_POST, "/api/v1/label/undo", false, HTTP_OPEN, label_undo, NULL},
    API_COMMAND("pause", PAUSE, "", false),
    API_COMMAND("resume", RESUME, "", false),
    API_COMMAND("pin", PIN, "", false),
    API_COMMAND("unpin", UNPIN, "", false),
    API_COMMAND("rollback", ROLLBACK, "version", false),
    API_COMMAND("promote", PROMOTE, "version", true),
    API_COMMAND("cancel", CANCEL, "id", true),
    API_COMMAND("cancel_all", CANCEL_ALL, "", false),
    API_COMMAND("resend", RESEND, "id", false),
};
const size_t monitor_route_count = sizeof monitor_routes / sizeof *monitor_routes;

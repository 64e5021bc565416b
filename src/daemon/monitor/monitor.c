#include "daemon/monitor/monitor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/monitor/monitor_http_files.h"
#include "daemon/monitor/monitor_impl.h"

#define DEFAULT_LISTEN "127.0.0.1:9464"
#define AUTO_PORTS 20
#define MAX_BODY 4096

/* ---- the server ------------------------------------------------------------------------------ */

static void say_listening(const struct monitor *m, const char *token)
{
    const struct http_server *s = m->http;
    log_line(LOG_LEVEL_INFO, "http", "address=%s tls=%s token=%s", http_server_address(s),
             http_server_tls(s) ? "yes" : "no", token ? "yes" : "no");
    if (!http_server_loopback(s) && (!http_server_tls(s) || !token))
        log_line(LOG_LEVEL_WARN, "http",
                 "address=%s text=\"it is reached from other machines without %s\"",
                 http_server_address(s),
                 http_server_tls(s) ? "a token"
                 : token            ? "TLS"
                                    : "TLS and a token");
}

static int start_server(struct monitor *m, const struct http_files *f, struct fis_error *e)
{
    const struct config_http *h = &m->ctx->cfg->http;
    bool any = strcmp(h->listen, "auto") == 0;
    struct http_options o = {
        .listen = any ? DEFAULT_LISTEN : h->listen,
        .tries = any ? AUTO_PORTS : 1,
        .token = f->token,
        .protect_reads = h->protect == CONFIG_PROTECT_ALL,
        .cert = f->cert,
        .key = f->key,
        .max_connections = h->max_connections,
        .timeout_ms = h->timeout,
        .max_body = MAX_BODY,
        .routes = monitor_routes,
        .route_count = monitor_route_count,
        .ctx = m,
    };
    int rc = http_server_start(&m->http, m->ctx->loop, &o, e);
    if (rc < 0 && any && rc != -FIS_NOMEM && !f->cert) {
        log_line(LOG_LEVEL_WARN, "http", "text=\"HTTP is not served\" reason=\"%s\"", e->text);
        return 0;
    }
    if (rc < 0)
        return rc;
    say_listening(m, f->token);
    return 0;
}

static int open_server(struct monitor *m, struct fis_error *e)
{
    const struct config *cfg = m->ctx->cfg;
    struct http_files files;
    if (strcmp(cfg->http.listen, "off") == 0)
        return 0;
    int rc = cfg->labels.page ? http_files_annotators(cfg, &m->annotators, e) : 0;
    if (rc == 0)
        rc = http_files_read(&cfg->http, &files, e);
    if (rc < 0)
        return rc;
    rc = start_server(m, &files, e);
    http_files_done(&files);
    return rc;
}

static void reload_annotators(struct monitor *m)
{
    struct annotators next;
    struct fis_error e;
    if (!m->annotators.n)
        return;
    if (http_files_annotators(m->ctx->cfg, &next, &e) < 0) {
        log_line(LOG_LEVEL_ERROR, "http", "text=\"annotators stay as they were\" reason=\"%s\"",
                 e.text);
        return;
    }
    annotators_done(&m->annotators);
    m->annotators = next;
}

bool monitor_reload(struct monitor *m)
{
    struct fis_error e;
    char *token = NULL;
    bool other = false;
    if (m && m->http)
        reload_annotators(m);
    if (!m || !m->http || !m->ctx->cfg->http.token_file)
        return false;
    int rc = http_files_token(&m->ctx->cfg->http, &token, &e);
    if (rc == 0) {
        other = !http_server_token_is(m->http, token);
        rc = http_server_set_token(m->http, token, &e);
    }
    config_free_secret(token);
    if (rc == 0)
        return other;
    log_line(LOG_LEVEL_ERROR, "http", "text=\"the token stays as it was\" reason=\"%s\"", e.text);
    return false;
}

/* What browsers are sent to: where it listens, under a name of this machine when that is every
 * address. */
static void name_process(struct monitor *m)
{
    const char *url = m->ctx->cfg->http.url;
    const char *at = m->http ? http_server_address(m->http) : "";
    gethostname(m->host, sizeof m->host - 1);
    snprintf(m->name, sizeof m->name, "%.50s-%s-%ld", m->ctx->cfg->pipeline, m->host,
             (long)getpid());
    bool all = strncmp(at, "0.0.0.0:", 8) == 0 || strncmp(at, "[::]:", 5) == 0;
    if (url && m->http)
        snprintf(m->address, sizeof m->address, "%s", url);
    else if (m->http)
        snprintf(m->address, sizeof m->address, "%s://%s%s/",
                 http_server_tls(m->http) ? "https" : "http", all ? m->host : "",
                 all ? strrchr(at, ':') : at);
}

/* ---- what it observes ------------------------------------------------------------------------ */

static void on_trouble(void *monitor, const char *text)
{
    struct monitor *m = monitor;
    snprintf(m->trouble, sizeof m->trouble, "%s", text);
    m->trouble_ms = context_now().mono_ms;
}

static void on_model(void *monitor, const struct wire_model *v)
{
    struct monitor *m = monitor;
    version_log_add(m->versions, v);
}

static void on_state(void *monitor, const struct wire_trainer_state *s)
{
    struct monitor *m = monitor;
    commands_outcome(&m->commands, s->control_id, s->control_ok != 0, s->control_text);
}

static void on_sent_model(void *monitor, const struct wire_model *v)
{
    struct monitor *m = monitor;
    version_log_hold(m->versions, v);
}

static void on_sent_state(void *monitor, const struct wire_trainer_state *s)
{
    struct monitor *m = monitor;
    commands_hold(&m->commands, s->control_id, s->control_ok != 0, s->control_text);
}

static void on_sent_over(void *monitor, bool committed)
{
    struct monitor *m = monitor;
    version_log_settle(m->versions, committed);
    commands_settle(&m->commands, committed);
}

static void on_stats(void *monitor, const char *client, const char *json, size_t length)
{
    struct monitor *m = monitor;
    kafka_watch_take(&m->kafka, client, json, length);
}

static void on_validation(void *monitor, int64_t newest_ms)
{
    struct monitor *m = monitor;
    m->validation_ms = newest_ms;
}

static void free_groups(struct monitor *m)
{
    for (uint32_t i = 0; i < m->n_groups; i++)
        fis_free(m->groups[i]);
    fis_free(m->groups);
    m->groups = NULL;
    m->n_groups = 0;
}

/* Copied only where they may be shown. */
static void on_groups(void *monitor, const char *const *names, uint32_t n)
{
    struct monitor *m = monitor;
    if (!m->ctx->cfg->http.group_names)
        return;
    free_groups(m);
    m->groups = fis_calloc(n ? n : 1, sizeof *m->groups);
    for (uint32_t i = 0; m->groups && i < n; i++) {
        m->groups[i] = fis_strdup(names[i]);
        if (!m->groups[i])
            return; /* without memory groups are shown by number */
        m->n_groups++;
    }
}

/* When they differ, groups have no names from now on: no version is shown with the wrong ones. */
static void on_next_groups(void *monitor, const char *const *names, uint32_t n)
{
    struct monitor *m = monitor;
    bool same = m->n_groups == n;
    for (uint32_t i = 0; same && i < n; i++)
        same = strcmp(m->groups[i], names[i]) == 0;
    if (!same)
        free_groups(m);
}

static void observe(struct monitor *m)
{
    m->ctx->observer = (struct observer){
        .model = on_model,
        .state = on_state,
        .sent_model = on_sent_model,
        .sent_state = on_sent_state,
        .sent_over = on_sent_over,
        .stats = on_stats,
        .trouble = on_trouble,
        .validation = on_validation,
        .groups = on_groups,
        .next_groups = on_next_groups,
        .arg = m,
    };
}

/* ---- life ------------------------------------------------------------------------------------ */

int monitor_open(struct monitor **out, struct context *ctx, struct fis_error *e)
{
    struct monitor *m = fis_calloc(1, sizeof *m);
    struct trainer_time now = context_now();
    if (!m)
        return fis_fail(e, FIS_NOMEM, "no memory for the monitor");
    m->ctx = ctx;
    m->began_ms = now.mono_ms;
    m->began_wall_ms = now.wall_ms;
    m->commands.follows = (ctx->cfg->roles & CONFIG_TRAINER) != 0;
    alarms_init(&m->alarms);
    kafka_watch_init(&m->kafka, ctx->workers);
    m->versions = version_log_new(e);
    int rc = m->versions ? webhook_open(&m->webhook, ctx, e) : -(int)FIS_NOMEM;
    if (!rc)
        rc = open_server(m, e);
    if (rc < 0) {
        monitor_close(m);
        return rc;
    }
    name_process(m);
    observe(m);
    *out = m;
    return 0;
}

void monitor_roles(struct monitor *m, struct scorer_host *scorer, struct trainer_host *trainer,
                   struct label_host *labels)
{
    struct fis_error e;
    m->labels = labels;
    m->scorer = scorer;
    m->trainer = trainer;
    if (fleet_open(&m->fleet, m->ctx, &e) < 0)
        log_line(LOG_LEVEL_WARN, "fleet",
                 "text=\"the other processes are not shown\" reason=\"%s\"", e.text);
}

/* Where no broker is reached, the others find out by its silence. */
static void leave_fleet(struct monitor *m)
{
    const struct status *s = m->fleet ? status_now(m) : NULL;
    if (!s || !s->broker_seen)
        return;
    struct wire_process self = s->self;
    self.stopped = true;
    fleet_leave(m->fleet, &self);
}

void monitor_stop(struct monitor *m)
{
    if (!m)
        return;
    leave_fleet(m);
    http_server_stop(m->http);
    m->http = NULL;
    kafka_watch_stop(&m->kafka); /* clients go on talking while they are closed */
}

void monitor_close(struct monitor *m)
{
    if (!m)
        return;
    m->ctx->observer = (struct observer){0};
    webhook_close(m->webhook);
    kafka_watch_done(&m->kafka);
    fleet_close(m->fleet);
    commands_done(&m->commands);
    version_log_free(m->versions);
    free_groups(m);
    annotators_done(&m->annotators);
    fis_free(m);
}

/* ---- turns ----------------------------------------------------------------------------------- */

void monitor_turn(struct monitor *m)
{
    struct fis_error e;
    while (m && commands_turn(&m->commands, &e))
        context_trouble(m->ctx, "http", &e);
    if (m)
        fleet_turn(m->fleet);
}

static uint64_t since(uint64_t now, uint64_t *last)
{
    uint64_t more = now >= *last ? now - *last : now; /* another trainer counts from 0 */
    *last = now;
    return more;
}

static void say_ready(struct monitor *m, const struct status *s)
{
    char reason[STATUS_REASON];
    bool ready = status_ready(s, reason);
    if (ready != m->ready && !s->stopping && ready)
        log_line(LOG_LEVEL_INFO, "ready", "ready=yes");
    else if (ready != m->ready && !s->stopping)
        log_line(LOG_LEVEL_INFO, "ready", "ready=no reason=\"%s\"", reason);
    m->ready = ready;
}

static void say_alarm(void *ctx, const struct alarm *a)
{
    (void)ctx;
    if (a->on)
        log_line(LOG_LEVEL_WARN, "alarm", "name=%s state=raised text=\"%s\" advice=\"%s\"", a->name,
                 a->text, a->advice);
    else
        log_line(LOG_LEVEL_INFO, "alarm", "name=%s state=over text=\"%s\"", a->name, a->text);
}

void monitor_tick(struct monitor *m)
{
    const struct status *s;
    if (!m)
        return;
    s = status_now(m);
    m->seconds[m->next_second] = (struct status_second){
        .wall_ms = s->wall_ms,
        .records = since(s->scorer.counts.records, &m->last_records),
        .offered = since(s->scorer.counts.offered, &m->last_offered),
        .labels = since(s->trainer.counts.labels, &m->last_labels),
        .lag = s->scorer.lag,
    };
    m->next_second = (m->next_second + 1) % STATUS_SECONDS;
    if (m->n_seconds < STATUS_SECONDS)
        m->n_seconds++;
    say_ready(m, s);
    alarms_look(&m->alarms, s, say_alarm, NULL);
    fleet_tick(m->fleet, &s->self, !s->broker_seen);
    webhook_lead(m->webhook, s->trainer.running && !s->stopping);
}

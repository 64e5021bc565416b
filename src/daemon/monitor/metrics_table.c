/* Every metric there is. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "daemon/monitor/alarms.h"
#include "daemon/monitor/fleet_view.h"
#include "daemon/monitor/metrics.h"
#include "fis/version.h"
#include "stream/library.h"

#define NONE ((double)NAN)

/* A number that is one expression of the status. */
#define VALUE(name, expression)                                                                    \
    static double name(const struct status *s)                                                     \
    {                                                                                              \
        return (double)(expression);                                                               \
    }

/* ---- the process ----------------------------------------------------------------------------- */

static void build_info(const struct status *s, struct http_reply *out, const struct metric *m)
{
    char labels[METRICS_LABELS] = "";
    metrics_label(labels, "version", FIS_VERSION);
    metrics_label(labels, "librdkafka", stream_library_version());
    metrics_label(labels, "pipeline", s->cfg->pipeline);
    metrics_sample(out, m, labels, 1);
}

static double ready(const struct status *s)
{
    char reason[STATUS_REASON];
    return status_ready(s, reason);
}

static void fleet_processes(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct fleet_sums sum = fleet_view_sums(s);
    metrics_sample(out, m, "role=\"scorer\",state=\"ready\"", sum.scorers_ready);
    metrics_sample(out, m, "role=\"scorer\",state=\"not_ready\"", sum.scorers - sum.scorers_ready);
    metrics_sample(out, m, "role=\"trainer\",state=\"ready\"", sum.trainers_ready);
    metrics_sample(out, m, "role=\"trainer\",state=\"not_ready\"",
                   sum.trainers - sum.trainers_ready);
}
VALUE(fleet_silent_ones, fleet_view_sums(s).silent)
VALUE(fleet_leader, fleet_view_sums(s).leader != NULL)
VALUE(fleet_rate, fleet_view_sums(s).per_second)

static double fleet_lag(const struct status *s)
{
    int64_t lag = fleet_view_sums(s).lag;
    return lag < 0 ? NONE : (double)lag;
}

static void lag(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (uint32_t i = 0; i < s->n_lags; i++) {
        char labels[METRICS_LABELS] = "", partition[16];
        snprintf(partition, sizeof partition, "%d", (int)s->lags[i].partition);
        metrics_label(labels, "role", s->lags[i].role);
        metrics_label(labels, "topic", s->lags[i].topic);
        metrics_label(labels, "partition", partition);
        metrics_sample(out, m, labels, s->lags[i].lag < 0 ? NONE : (double)s->lags[i].lag);
    }
}

static void alarm_states(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (int i = 0; i < ALARM_COUNT; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "name", s->alarms->all[i].name);
        metrics_label(labels, "severity", s->alarms->all[i].severity);
        metrics_sample(out, m, labels, s->alarms->all[i].on);
    }
}

static const struct metric_part webhook_attempts[] = {
    {"delivered", FIGURE(struct status, webhook.delivered)},
    {"failed", FIGURE(struct status, webhook.failed)},
    {.value = NULL},
};

static const struct metric_part log_lines[] = {
    {"written", FIGURE(struct status, log.written)},
    {"summed", FIGURE(struct status, log.summed)},
    {"lost", FIGURE(struct status, log.lost)},
    {.value = NULL},
};

static const struct metric_part left_out[] = {
    {"scorer", FIGURE(struct status, scorer.left_out)},
    {"trainer", FIGURE(struct status, trainer.left_out)},
    {.value = NULL},
};

static const struct metric_part registry_requests[] = {
    {"answered", FIGURE(struct status, scorer.registry.fetched)},
    {"failed", FIGURE(struct status, scorer.registry.failed)},
    {.value = NULL},
};

static const struct metric_part http_requests[] = {
    {"2xx", FIGURE(struct status, http.by_class[2])},
    {"3xx", FIGURE(struct status, http.by_class[3])},
    {"4xx", FIGURE(struct status, http.by_class[4])},
    {"5xx", FIGURE(struct status, http.by_class[5])},
    {.value = NULL},
};

/* ---- scorer ---------------------------------------------------------------------------------- */

static const struct metric_part records[] = {
    {"scored", FIGURE(struct status, scorer.counts.records)},
    {"refused", FIGURE(struct status, scorer.counts.refused)},
    {"tombstone", FIGURE(struct status, scorer.counts.tombstones)},
    {"lost", FIGURE(struct status, scorer.counts.lost)},
    {"asked_before", FIGURE(struct status, scorer.counts.asked)},
    {.value = NULL},
};

VALUE(drift_above, s->scorer.drift.n ? (double)s->scorer.drift.above : NONE)
VALUE(drift_most, s->scorer.drift.n ? s->scorer.drift.columns[0].psi : NONE)
/* Of wide records not all columns are shown, and which are the largest changes: then none is. */
static void drift(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct scorer_drift *d = &s->scorer.drift;
    for (uint32_t i = 0; d->all == d->n && i < d->n; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "column", d->columns[i].name);
        metrics_sample(out, m, labels, d->columns[i].psi);
    }
}

/* ---- trainer --------------------------------------------------------------------------------- */

static void unseen(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (uint32_t i = 0; i < s->trainer.n_unseen; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "set", s->trainer.unseen[i].set);
        metrics_label(labels, "column", s->trainer.unseen[i].column);
        metrics_sample(out, m, labels, s->trainer.unseen[i].share);
    }
}

VALUE(halted, s->trainer.halted != NULL)
VALUE(oldest_request, s->trainer.n_requests ? 1e-3 * (double)s->trainer.requests[0].age_ms : 0)
VALUE(budget, s->cfg->selection.budget ? (double)s->cfg->selection.budget : NONE)
VALUE(daily_budget, s->cfg->selection.daily_budget ? (double)s->cfg->selection.daily_budget : NONE)
VALUE(window_full,
      s->cfg->selection.mode == CONFIG_POOL ? NONE : (double)s->cfg->selection.window_records)
VALUE(privacy_epsilon,
      s->trainer.counts.privacy.exact ? (double)INFINITY : s->trainer.counts.privacy.epsilon)
VALUE(validation_age, s->trainer.validation.changed_ms
                          ? 1e-3 * (double)(s->mono_ms - s->trainer.validation.changed_ms)
                          : NONE)
VALUE(validation_newest,
      s->trainer.validation.newest_ms > 0 ? 1e-3 * (double)s->trainer.validation.newest_ms : NONE)
VALUE(rejected_in_row, version_log_rejected_in_row(s->versions))

static void state(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (int i = ELECTION_NEW; i <= ELECTION_STOPPED; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "state", election_state_name((enum election_state)i));
        metrics_sample(out, m, labels, (int)s->trainer.state == i);
    }
}

static void fairness_target(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct config_fairness *f = &s->cfg->fairness;
    char labels[METRICS_LABELS] = "";
    metrics_label(labels, "metric", config_choice("fairness.metric", f->metric));
    metrics_sample(out, m, labels, f->target > 0 ? f->target : NONE);
}

static void phase(const struct status *s, struct http_reply *out, const struct metric *m)
{
    static const char *const phases[] = {"warm-up", "collect", "label", "done"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "phase", phases[i]);
        metrics_sample(out, m, labels, strcmp(s->trainer.counts.phase, phases[i]) == 0);
    }
}

static void asking(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (int i = 0; i < ASKING_STATES; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "state", asking_name((enum asking_state)i));
        metrics_sample(out, m, labels, (int)s->trainer.asking.state == i);
    }
}

static const struct metric_part answers[] = {
    {"taken", FIGURE(struct status, trainer.counts.labels)},
    {"skipped", FIGURE(struct status, trainer.counts.skipped)},
    {"duplicate", FIGURE(struct status, trainer.counts.duplicates)},
    {"late", FIGURE(struct status, trainer.counts.late)},
    {"refused", FIGURE(struct status, trainer.dead_labels)},
    {.value = NULL},
};
static const struct metric_part given_up[] = {
    {"expired", FIGURE(struct status, trainer.counts.expired)},
    {"cancelled", FIGURE(struct status, trainer.counts.cancelled)},
    {"tied", FIGURE(struct status, trainer.counts.tied)},
    {"skipped", FIGURE(struct status, trainer.counts.skipped)},
    {.value = NULL},
};

/* All that can be, from the beginning: a rate needs the 0 before the 1. */
static void dead_letters(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (uint32_t i = 0; i < s->n_dead; i++) {
        const struct status_dead *d = &s->dead[i];
        for (int code = 0; code < FIS_ERROR_CODES; code++) {
            char labels[METRICS_LABELS] = "";
            if (!d->counts->n[code] && !dead_letter_possible(d->from, (enum fis_error_code)code))
                continue;
            metrics_label(labels, "topic", d->topic);
            metrics_label(labels, "reason", fis_error_code_name((enum fis_error_code)code));
            metrics_sample(out, m, labels, (double)d->counts->n[code]);
        }
    }
}

static void clients(const struct status *s, struct http_reply *out, const struct metric *m)
{
    for (uint32_t i = 0; i < s->n_kafka; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "client", s->kafka[i].stats.client);
        metrics_sample(out, m, labels, metrics_figure(&s->kafka[i].stats, m->from.figure));
    }
}

/* ---- the table: a figure of the status as it is, in seconds, or worked out; one by one by a
 * label; of each client or group; or written by a function of its own
 * --------------------------------- */

#define F(member)                                                                                  \
    {                                                                                              \
        .figure = FIGURE(struct status, member)                                                    \
    }
#define MS(member)                                                                                 \
    {                                                                                              \
        .figure = FIGURE(struct status, member), .scale = 1e-3                                     \
    }
#define V(function)                                                                                \
    {                                                                                              \
        .value = function                                                                          \
    }
#define P(label, table)                                                                            \
    {                                                                                              \
        .labels = label, .parts = table                                                            \
    }
#define W(names, function)                                                                         \
    {                                                                                              \
        .labels = names, .write = function                                                         \
    }
#define CLIENT(member)                                                                             \
    {                                                                                              \
        .labels = "client", .figure = FIGURE(struct kafka_stats, member), .write = clients         \
    }
#define GROUP(member)                                                                              \
    {                                                                                              \
        .labels = "model, group", .figure = FIGURE(struct fis_group_metrics, member),              \
        .write = metrics_groups                                                                    \
    }

/* clang-format off */
const struct metric metrics_table[] = {
#include "daemon/monitor/metrics_table.inc"
    {.name = NULL},
};
/* clang-format on */

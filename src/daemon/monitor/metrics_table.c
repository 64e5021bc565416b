/* Every metric there is. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <librdkafka/rdkafka.h>

#include "daemon/monitor/alarms.h"
#include "daemon/monitor/metrics.h"
#include "daemon/monitor/process.h"
#include "fis/version.h"

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
    metrics_label(labels, "librdkafka", rd_kafka_version_str());
    metrics_label(labels, "pipeline", s->cfg->pipeline);
    metrics_sample(out, m, labels, 1);
}

static double ready(const struct status *s)
{
    char reason[STATUS_REASON];
    return status_ready(s, reason);
}

static double cpu(const struct status *s)
{
    (void)s;
    return process_cpu_seconds();
}
static double resident(const struct status *s)
{
    (void)s;
    return process_resident_bytes();
}
static double descriptors(const struct status *s)
{
    (void)s;
    return process_open_fds();
}
VALUE(start_time, 1e-3 * (double)s->started_at_ms)

static void loop_seconds(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_histogram(out, m, s->loop_seconds);
}

static void http_requests(const struct status *s, struct http_reply *out, const struct metric *m)
{
    static const char *const codes[] = {NULL,           NULL,           "code=\"2xx\"",
                                        "code=\"3xx\"", "code=\"4xx\"", "code=\"5xx\""};
    for (int i = 2; s->http && i < 6; i++)
        metrics_sample(out, m, codes[i], (double)s->http->by_class[i]);
}
VALUE(http_open, s->http ? s->http->open : 0)
VALUE(http_timed_out, s->http ? s->http->timed_out : 0)

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

/* ---- scorer ---------------------------------------------------------------------------------- */

static void records(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct scorer_counts *c = &s->scorer.counts;
    metrics_sample(out, m, "outcome=\"scored\"", (double)c->records);
    metrics_sample(out, m, "outcome=\"refused\"", (double)c->refused);
    metrics_sample(out, m, "outcome=\"tombstone\"", (double)c->tombstones);
    metrics_sample(out, m, "outcome=\"lost\"", (double)c->lost);
    metrics_sample(out, m, "outcome=\"asked_before\"", (double)c->asked);
}
VALUE(offered, s->scorer.counts.offered)
VALUE(unseen, s->scorer.counts.unseen)
VALUE(owned, s->scorer.owned)
VALUE(head_in_use, s->scorer.head_version)
VALUE(scorer_heads, s->scorer.counts.heads)
VALUE(scans, s->scorer.counts.scans)
VALUE(in_flight, s->scorer.batches_in_flight)
VALUE(unacknowledged, s->scorer.outstanding)
static void batch_records(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_histogram(out, m, s->scorer.batch_records);
}
static void batch_seconds(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_histogram(out, m, s->scorer.batch_seconds);
}
static void latency(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_histogram(out, m, s->scorer.latency_seconds);
}
VALUE(drift_rows, s->scorer.drift.rows)
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

#define COUNTS s->trainer.counts
VALUE(leads, s->trainer.running)
VALUE(took_over, s->trainer.takeovers)
VALUE(busy, s->trainer.busy)
VALUE(messages, s->trainer.read)
VALUE(round_number, COUNTS.round)
VALUE(window, COUNTS.window)
VALUE(counted_records, COUNTS.records)
VALUE(candidates, COUNTS.candidates)
VALUE(held, COUNTS.selector.held)
VALUE(open_requests, COUNTS.selector.open)
VALUE(oldest_request, s->trainer.n_requests ? 1e-3 * (double)s->trainer.requests[0].age_ms : 0)
VALUE(asked, COUNTS.selector.asked)
VALUE(kept, COUNTS.learner.kept)
VALUE(bought, COUNTS.learner.bought)
VALUE(label_age, s->trainer.label_age_ms < 0 ? NONE : 1e-3 * (double)s->trainer.label_age_ms)
VALUE(budget, s->cfg->selection.budget ? (double)s->cfg->selection.budget : NONE)
VALUE(budget_left,
      COUNTS.selector.budget_left == UINT64_MAX ? NONE : (double)COUNTS.selector.budget_left)
VALUE(day_asked, COUNTS.day_asked)
VALUE(daily_budget, s->cfg->selection.daily_budget ? (double)s->cfg->selection.daily_budget : NONE)
#define NOISY(figure) (COUNTS.privacy.refreshes ? (double)(figure) : NONE)
VALUE(noisy_refreshes, NOISY(COUNTS.privacy.refreshes))
VALUE(exact_refreshes, NOISY(COUNTS.privacy.exact))
VALUE(privacy_rho, NOISY(COUNTS.privacy.rho))
VALUE(privacy_epsilon, NOISY(COUNTS.privacy.exact ? (double)INFINITY : COUNTS.privacy.epsilon))
VALUE(privacy_delta, NOISY(COUNTS.privacy.delta))
VALUE(paused, COUNTS.paused)
VALUE(pinned, COUNTS.pinned)
VALUE(head, COUNTS.head_version)
VALUE(steps, COUNTS.learner.steps)
VALUE(loss, COUNTS.learner.last_loss)
VALUE(excluded, COUNTS.learner.excluded)
VALUE(val0, s->trainer.val0)
VALUE(rows, s->trainer.validation.rows)
VALUE(groups, s->trainer.validation.groups)
VALUE(smallest_cell, s->trainer.validation.smallest_cell)
VALUE(validation_age, s->trainer.validation.changed_ms
                          ? 1e-3 * (double)(s->mono_ms - s->trainer.validation.changed_ms)
                          : NONE)
VALUE(validation_newest,
      s->trainer.validation.newest_ms > 0 ? 1e-3 * (double)s->trainer.validation.newest_ms : NONE)
VALUE(restore, 1e-3 * (double)s->trainer.restore_ms)
VALUE(entries, s->trainer.ledger_entries)
VALUE(ledger_bytes, s->trainer.ledger_bytes)
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
        metrics_sample(out, m, labels, strcmp(COUNTS.phase, phases[i]) == 0);
    }
}

static void answers(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_sample(out, m, "outcome=\"taken\"", (double)COUNTS.labels);
    metrics_sample(out, m, "outcome=\"skipped\"", (double)COUNTS.skipped);
    metrics_sample(out, m, "outcome=\"duplicate\"", (double)COUNTS.duplicates);
    metrics_sample(out, m, "outcome=\"late\"", (double)COUNTS.late);
    metrics_sample(out, m, "outcome=\"refused\"", (double)s->trainer.dead_labels);
}

static void given_up(const struct status *s, struct http_reply *out, const struct metric *m)
{
    metrics_sample(out, m, "reason=\"expired\"", (double)COUNTS.expired);
    metrics_sample(out, m, "reason=\"cancelled\"", (double)COUNTS.cancelled);
    metrics_sample(out, m, "reason=\"tied\"", (double)COUNTS.tied);
    metrics_sample(out, m, "reason=\"skipped\"", (double)COUNTS.skipped);
}

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

/* ---- Kafka clients --------------------------------------------------------------------------- */

#define KAFKA(name, expression)                                                                    \
    static void kafka_##name(const struct status *s, struct http_reply *out,                       \
                             const struct metric *m)                                               \
    {                                                                                              \
        for (uint32_t i = 0; i < s->n_kafka; i++) {                                                \
            const struct kafka_stats *k = &s->kafka[i].stats;                                      \
            char labels[METRICS_LABELS] = "";                                                      \
            metrics_label(labels, "client", k->client);                                            \
            metrics_sample(out, m, labels, (double)(expression));                                  \
        }                                                                                          \
    }
KAFKA(up, k->brokers_up)
KAFKA(rtt, k->rtt_seconds)
KAFKA(rtt_p99, k->rtt_p99_seconds)
KAFKA(waiting, k->requests_waiting)
KAFKA(queue, k->queue_messages)
KAFKA(queue_bytes, k->queue_bytes)
KAFKA(sent, k->sent_bytes)
KAFKA(received, k->received_bytes)
KAFKA(errors, k->request_errors)
KAFKA(timeouts, k->request_timeouts)
KAFKA(disconnects, k->disconnects)
KAFKA(rebalances, k->rebalances)

/* clang-format off */
const struct metric metrics_table[] = {
    {"fisd_build_info", "gauge", "version, librdkafka, pipeline", WHEN_ALWAYS, NULL, build_info,
     "Always 1; what runs here is in the labels."},
    {"fisd_ready", "gauge", NULL, WHEN_ALWAYS, ready, NULL,
     "1 when the process is ready, as at /readyz."},
    {"process_start_time_seconds", "gauge", NULL, WHEN_ALWAYS, start_time, NULL,
     "When the process began, in seconds since 1970."},
    {"process_cpu_seconds_total", "counter", NULL, WHEN_ALWAYS, cpu, NULL,
     "Processor time used, user and system."},
    {"process_resident_memory_bytes", "gauge", NULL, WHEN_ALWAYS, resident, NULL,
     "Memory in use."},
    {"process_open_fds", "gauge", NULL, WHEN_ALWAYS, descriptors, NULL, "Open file descriptors."},
    {"fisd_loop_turn_seconds", "histogram", NULL, WHEN_ALWAYS, NULL, loop_seconds,
     "Duration of a turn of the event loop, during which all else waits."},
    {"fisd_http_requests_total", "counter", "code", WHEN_ALWAYS, NULL, http_requests,
     "HTTP responses, by status class."},
    {"fisd_http_connections", "gauge", NULL, WHEN_ALWAYS, http_open, NULL,
     "Open HTTP connections."},
    {"fisd_http_timeouts_total", "counter", NULL, WHEN_ALWAYS, http_timed_out, NULL,
     "Requests that took longer than http.timeout and were cut off."},
    {"fisd_alarm", "gauge", "name, severity", WHEN_ALWAYS, NULL, alarm_states,
     "1 while the alarm is raised; docs/operations.md has meaning and action of each."},
    {"fisd_lag_messages", "gauge", "role, topic, partition", WHEN_ALWAYS, NULL, lag,
     "Messages of a partition that are not read yet."},
    {"fisd_dead_letters_total", "counter", "topic, reason", WHEN_ALWAYS, NULL, dead_letters,
     "Messages that went to dead-letter, by the topic they came from and why (the header "
     "fis.error.code)."},

    {"fisd_records_total", "counter", "outcome", WHEN_SCORER, NULL, records,
     "Records read: scored, refused (to dead-letter), tombstone, lost (gone before they were "
     "read), asked_before (left out of a scan)."},
    {"fisd_candidates_offered_total", "counter", NULL, WHEN_SCORER, offered, NULL,
     "Records that this scorer offered to the trainer."},
    {"fisd_unseen_categories_total", "counter", NULL, WHEN_SCORER, unseen, NULL,
     "Values of categorical columns that the initial set did not have."},
    {"fisd_scorer_partitions", "gauge", NULL, WHEN_SCORER, owned, NULL,
     "Partitions of the records that this scorer has."},
    {"fisd_scorer_head_version", "gauge", NULL, WHEN_SCORER, head_in_use, NULL,
     "Version of the head that it scores with; 0: none yet."},
    {"fisd_scorer_heads_total", "counter", NULL, WHEN_SCORER, scorer_heads, NULL,
     "Heads received."},
    {"fisd_scorer_scans_total", "counter", NULL, WHEN_SCORER, scans, NULL,
     "Scans of the pool started."},
    {"fisd_batches_in_flight", "gauge", NULL, WHEN_SCORER, in_flight, NULL,
     "Batches that are read, scored or waiting for acknowledgement."},
    {"fisd_unacknowledged_messages", "gauge", NULL, WHEN_SCORER, unacknowledged, NULL,
     "Messages of the scorer that no broker has acknowledged yet."},
    {"fisd_batch_records", "histogram", NULL, WHEN_SCORER, NULL, batch_records,
     "Records of a batch."},
    {"fisd_batch_seconds", "histogram", NULL, WHEN_SCORER, NULL, batch_seconds,
     "Time to decode and score a batch."},
    {"fisd_record_latency_seconds", "histogram", NULL, WHEN_SCORER, NULL, latency,
     "From a record's timestamp to the acknowledgement of all that was offered of its batch."},
    {"fisd_drift_index", "gauge", "column", WHEN_SCORER, NULL, drift,
     "Population stability index of each column of recent records against the initial set; below "
     "0.1 there is no notable change, above 0.25 a large one. Only with 128 columns or fewer."},
    {"fisd_drift_index_max", "gauge", NULL, WHEN_SCORER, drift_most, NULL,
     "The largest of them, of all columns; absent before 500 rows were sampled."},
    {"fisd_drift_columns_above", "gauge", NULL, WHEN_SCORER, drift_above, NULL,
     "Columns above alarms.drift."},
    {"fisd_drift_sampled_rows", "gauge", NULL, WHEN_SCORER, drift_rows, NULL,
     "Rows behind the indices: at most 32 of each batch; older ones weigh less."},

    {"fisd_trainer_leads", "gauge", NULL, WHEN_TRAINER, leads, NULL,
     "1 for the leader; only the leader shows the trainer's figures."},
    {"fisd_trainer_state", "gauge", "state", WHEN_TRAINER, NULL, state,
     "1 for the state it is in: new, standby, fence, catch_up, lead, drain, leaving, stopped."},
    {"fisd_trainer_elections_total", "counter", NULL, WHEN_TRAINER, took_over, NULL,
     "How often this process became the leader."},
    {"fisd_ledger_entries", "gauge", NULL, WHEN_TRAINER, entries, NULL,
     "Records that the ledger knew when it was read last."},
    {"fisd_ledger_bytes", "gauge", NULL, WHEN_TRAINER, ledger_bytes, NULL,
     "Bytes of the ledger that were kept in memory for it."},
    {"fisd_restore_seconds", "gauge", NULL, WHEN_LEADING, restore, NULL,
     "Duration of the restore at the last start; 0: there was nothing to restore."},
    {"fisd_training", "gauge", NULL, WHEN_LEADING, busy, NULL,
     "1 while a job trains; other figures are then those of its start."},
    {"fisd_trainer_messages_total", "counter", NULL, WHEN_LEADING, messages, NULL,
     "Messages read from candidates, labels and control, whatever their outcome."},
    {"fisd_round", "gauge", NULL, WHEN_LEADING, round_number, NULL, "The round, from 1."},
    {"fisd_phase", "gauge", "phase", WHEN_LEADING, NULL, phase,
     "1 for the phase of the round: warm-up, collect, label, done."},
    {"fisd_window_records", "gauge", NULL, WHEN_LEADING, window, NULL,
     "Records of the window so far."},
    {"fisd_counted_records_total", "counter", NULL, WHEN_LEADING, counted_records, NULL,
     "Scored records that this trainer has counted from progress messages."},
    {"fisd_candidates_total", "counter", NULL, WHEN_LEADING, candidates, NULL,
     "Candidates received from scorers."},
    {"fisd_candidates_held", "gauge", NULL, WHEN_LEADING, held, NULL,
     "Candidates in the heaps."},
    {"fisd_label_requests", "gauge", NULL, WHEN_LEADING, asked, NULL,
     "Labels requested in total, according to the ledger."},
    {"fisd_label_requests_open", "gauge", NULL, WHEN_LEADING, open_requests, NULL,
     "Requests without an answer."},
    {"fisd_label_request_oldest_seconds", "gauge", NULL, WHEN_LEADING, oldest_request, NULL,
     "Age of the oldest open request; 0: there is none."},
    {"fisd_labels_total", "counter", "outcome", WHEN_LEADING, NULL, answers,
     "Answers received: taken, skipped, duplicate, late (taken, after it was given up), refused "
     "(to dead-letter)."},
    {"fisd_label_requests_given_up_total", "counter", "reason", WHEN_LEADING, NULL, given_up,
     "Requests that ended without a label."},
    {"fisd_label_age_seconds", "gauge", NULL, WHEN_LEADING, label_age, NULL,
     "Time since the last answer; absent before the first."},
    {"fisd_labels_bought", "gauge", NULL, WHEN_LEADING, bought, NULL,
     "Labels that are trained on, besides the initial set."},
    {"fisd_labels_kept", "gauge", NULL, WHEN_LEADING, kept, NULL,
     "Those of them in the kept set: both influences are at most 0 now."},
    {"fisd_labels_excluded", "gauge", NULL, WHEN_LEADING, excluded, NULL,
     "Labelled records left out, since they made the loss infinite."},
    {"fisd_budget_labels", "gauge", NULL, WHEN_LEADING, budget, NULL,
     "selection.budget; absent without a limit."},
    {"fisd_budget_left_labels", "gauge", NULL, WHEN_LEADING, budget_left, NULL,
     "Labels that may still be requested; absent without a limit."},
    {"fisd_day_requests", "gauge", NULL, WHEN_LEADING, day_asked, NULL,
     "Labels requested on this day (UTC)."},
    {"fisd_daily_budget_labels", "gauge", NULL, WHEN_LEADING, daily_budget, NULL,
     "selection.daily_budget; absent without a limit."},
    {"fisd_privacy_refreshes_total", "counter", NULL, WHEN_LEADING, noisy_refreshes, NULL,
     "Refreshes of the directions with noise (privacy.noise), over restarts; absent without."},
    {"fisd_privacy_exact_refreshes_total", "counter", NULL, WHEN_LEADING, exact_refreshes, NULL,
     "Refreshes without noise in a pipeline that has it; more than 0: no epsilon holds."},
    {"fisd_privacy_rho", "gauge", NULL, WHEN_LEADING, privacy_rho, NULL,
     "Zero-concentrated differential privacy that the directions have spent."},
    {"fisd_privacy_epsilon", "gauge", NULL, WHEN_LEADING, privacy_epsilon, NULL,
     "The resulting epsilon, for fisd_privacy_delta."},
    {"fisd_privacy_delta", "gauge", NULL, WHEN_LEADING, privacy_delta, NULL,
     "privacy.delta."},
    {"fisd_paused", "gauge", NULL, WHEN_LEADING, paused, NULL,
     "1 while the operator has paused labelling."},
    {"fisd_pinned", "gauge", NULL, WHEN_LEADING, pinned, NULL,
     "1 while the operator has pinned the served version."},
    {"fisd_head_version", "gauge", NULL, WHEN_LEADING, head, NULL, "Newest head."},
    {"fisd_training_steps_total", "counter", NULL, WHEN_LEADING, steps, NULL,
     "Steps of the optimizer."},
    {"fisd_training_loss", "gauge", NULL, WHEN_LEADING, loss, NULL,
     "Mean loss of the anchor in the last training job."},
    {"fisd_validation_rows", "gauge", NULL, WHEN_LEADING, rows, NULL, "Validation rows in force."},
    {"fisd_validation_groups", "gauge", NULL, WHEN_LEADING, groups, NULL, "Groups among them."},
    {"fisd_validation_smallest_cell_rows", "gauge", NULL, WHEN_LEADING, smallest_cell, NULL,
     "Rows that judge in the smallest group, or group and class, that fairness.metric needs: what "
     "gate.min_cell bounds. Below 1000 rows, half of them judge (gate.cross_fit)."},
    {"fisd_validation_age_seconds", "gauge", NULL, WHEN_LEADING, validation_age, NULL,
     "Time since this process adopted them."},
    {"fisd_validation_newest_timestamp_seconds", "gauge", NULL, WHEN_LEADING, validation_newest, NULL,
     "When the newest validation row was written (a file: when it was), in seconds since 1970."},
    {"fisd_fairness_target_ratio", "gauge", "metric", WHEN_LEADING, NULL, fairness_target,
     "fairness.target; absent when there is none."},
    {"fisd_val0_ratio", "gauge", NULL, WHEN_LEADING, val0, NULL,
     "VAL_0: accuracy of the first version; no version below it less gate.epsilon is served."},

    {"fisd_version", "gauge", "which", WHEN_TRAINER, NULL, metrics_version,
     "Number of the newest version, and of the served version."},
    {"fisd_versions_total", "counter", "verdict, reason", WHEN_TRAINER, NULL, metrics_verdicts,
     "Versions on the models topic that this process has seen, by the gate's verdict and reason."},
    {"fisd_versions_rejected_in_row", "gauge", NULL, WHEN_TRAINER, rejected_in_row, NULL,
     "Rejected versions since the last that was published, without those that a pin held back."},
    {"fisd_accuracy_ratio", "gauge", "model", WHEN_TRAINER, NULL, metrics_accuracy,
     "Accuracy on the validation rows: of the served version, the newest, and the anchor."},
    {"fisd_fairness_gap_ratio", "gauge", "model, metric", WHEN_TRAINER, NULL, metrics_gaps,
     "Fairness on the validation rows: largest gap between groups; 0 is fair. risk_disparity is in "
     "units of the loss."},
    {"fisd_interval_bound_ratio", "gauge", "model, metric, bound",
     WHEN_TRAINER, NULL, metrics_bounds,
     "Bootstrap interval of 95 % of the served version."},
    {"fisd_group_positive_ratio", "gauge", "model, group", WHEN_TRAINER, NULL, metrics_group_rate,
     "P(yhat = positive) of each group, on the validation rows."},
    {"fisd_group_accuracy_ratio", "gauge", "model, group",
     WHEN_TRAINER, NULL, metrics_group_accuracy,
     "Accuracy of each group, on the validation rows."},
    {"fisd_group_rows", "gauge", "model, group", WHEN_TRAINER, NULL, metrics_group_rows,
     "Validation rows of each group that judged it."},

    {"fisd_kafka_brokers_up", "gauge", "client", WHEN_ALWAYS, NULL, kafka_up,
     "Brokers that the client is connected to."},
    {"fisd_kafka_rtt_seconds", "gauge", "client", WHEN_ALWAYS, NULL, kafka_rtt,
     "Mean time of a request, of the slowest broker, in the last seconds."},
    {"fisd_kafka_rtt_p99_seconds", "gauge", "client", WHEN_ALWAYS, NULL, kafka_rtt_p99,
     "Time below which 99 % of requests stay, of the slowest broker."},
    {"fisd_kafka_requests_waiting", "gauge", "client", WHEN_ALWAYS, NULL, kafka_waiting,
     "Requests that wait to be sent."},
    {"fisd_kafka_queue_messages", "gauge", "client", WHEN_ALWAYS, NULL, kafka_queue,
     "Messages that wait in the producer."},
    {"fisd_kafka_queue_bytes", "gauge", "client", WHEN_ALWAYS, NULL, kafka_queue_bytes,
     "Their bytes."},
    {"fisd_kafka_sent_bytes_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_sent,
     "Bytes of messages that were sent."},
    {"fisd_kafka_received_bytes_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_received,
     "Bytes of messages that were received."},
    {"fisd_kafka_request_errors_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_errors,
     "Requests that failed."},
    {"fisd_kafka_request_timeouts_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_timeouts,
     "Requests that were not answered in time."},
    {"fisd_kafka_disconnects_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_disconnects,
     "Connections that ended."},
    {"fisd_kafka_rebalances_total", "counter", "client", WHEN_ALWAYS, NULL, kafka_rebalances,
     "Rebalances of the client's group."},
    {.name = NULL},
};
/* clang-format on */

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
    {"fisd_build_info", "gauge", WHEN_ALWAYS, W("version, librdkafka, pipeline", build_info),
     "Always 1; what runs here is in the labels."},
    {"fisd_ready", "gauge", WHEN_ALWAYS, V(ready),
     "1 when the process is ready, as at /readyz."},
    {"process_start_time_seconds", "gauge", WHEN_ALWAYS, MS(started_at_ms),
     "When the process began, in seconds since 1970."},
    {"process_cpu_seconds_total", "counter", WHEN_ALWAYS, V(metrics_cpu),
     "Processor time used, user and system."},
    {"process_resident_memory_bytes", "gauge", WHEN_ALWAYS, V(metrics_resident),
     "Memory in use."},
    {"process_open_fds", "gauge", WHEN_ALWAYS, V(metrics_descriptors),
     "Open file descriptors."},
    {"fisd_loop_turn_seconds", "histogram", WHEN_ALWAYS, F(loop_seconds),
     "Duration of a turn of the event loop, during which all else waits."},
    {"fisd_log_lines_total", "counter", WHEN_ALWAYS, P("outcome", log_lines),
     "Lines of the log: written, summed (counted in a line repeated=), lost (standard error was not "
     "read, or could not be written)."},
    {"fisd_http_requests_total", "counter", WHEN_ALWAYS, P("code", http_requests),
     "HTTP responses, by status class."},
    {"fisd_http_connections", "gauge", WHEN_ALWAYS, F(http.open),
     "Open HTTP connections."},
    {"fisd_http_timeouts_total", "counter", WHEN_ALWAYS, F(http.timed_out),
     "Requests that took longer than http.timeout and were cut off."},
    {"fisd_webhook_attempts_total", "counter", WHEN_ALWAYS, P("outcome", webhook_attempts),
     "Attempts to deliver a version to webhook.url, by outcome."},
    {"fisd_webhook_waiting_version", "gauge", WHEN_ALWAYS, F(webhook.waiting),
     "The version whose delivery has failed and is tried again; 0: none."},
    {"fisd_alarm", "gauge", WHEN_ALWAYS, W("name, severity", alarm_states),
     "1 while the alarm is raised; docs/operations.md has meaning and action of each."},
    {"fisd_lag_messages", "gauge", WHEN_ALWAYS, W("role, topic, partition", lag),
     "Messages of a partition that are not read yet."},
    {"fisd_left_out_messages_total", "counter", WHEN_ALWAYS, P("role", left_out),
     "Messages on heads, models and ledger that no trainer wrote; the log names each."},
    {"fisd_dead_letters_total", "counter", WHEN_ALWAYS, W("topic, reason", dead_letters),
     "Messages that went to dead-letter, by the topic they came from and why (the header "
     "fis.error.code)."},

    {"fisd_records_total", "counter", WHEN_SCORER, P("outcome", records),
     "Records read: scored, refused (to dead-letter), tombstone, lost (gone before they were "
     "read), asked_before (left out of a scan)."},
    {"fisd_candidates_offered_total", "counter", WHEN_SCORER, F(scorer.counts.offered),
     "Records that this scorer offered to the trainer."},
    {"fisd_unseen_categories_total", "counter", WHEN_SCORER, F(scorer.counts.unseen),
     "Values of categorical columns that the initial set did not have."},
    {"fisd_scorer_partitions", "gauge", WHEN_SCORER, F(scorer.owned),
     "Partitions of the records that this scorer has."},
    {"fisd_scorer_head_version", "gauge", WHEN_SCORER, F(scorer.head_version),
     "Version of the head that it scores with; 0: none yet."},
    {"fisd_scorer_heads_total", "counter", WHEN_SCORER, F(scorer.counts.heads),
     "Heads received."},
    {"fisd_scorer_scans_total", "counter", WHEN_SCORER, F(scorer.counts.scans),
     "Scans of the pool started."},
    {"fisd_batches_in_flight", "gauge", WHEN_SCORER, F(scorer.batches_in_flight),
     "Batches that are read, scored or waiting for acknowledgement."},
    {"fisd_unacknowledged_messages", "gauge", WHEN_SCORER, F(scorer.outstanding),
     "Messages of the scorer that no broker has acknowledged yet."},
    {"fisd_batch_records", "histogram", WHEN_SCORER, F(scorer.batch_records),
     "Records of a batch."},
    {"fisd_batch_seconds", "histogram", WHEN_SCORER, F(scorer.batch_seconds),
     "Time to decode and score a batch."},
    {"fisd_record_latency_seconds", "histogram", WHEN_SCORER, F(scorer.latency_seconds),
     "From a record's timestamp to the acknowledgement of all that was offered of its batch."},
    {"fisd_drift_index", "gauge", WHEN_SCORER, W("column", drift),
     "Population stability index of each column of recent records against the initial set; below "
     "0.1 there is no notable change, above 0.25 a large one. Only with 128 columns or fewer."},
    {"fisd_drift_index_max", "gauge", WHEN_SCORER, V(drift_most),
     "The largest of them, of all columns; absent before 500 rows were sampled."},
    {"fisd_drift_columns_above", "gauge", WHEN_SCORER, V(drift_above),
     "Columns above alarms.drift."},
    {"fisd_drift_sampled_rows", "gauge", WHEN_SCORER, F(scorer.drift.rows),
     "Rows behind the indices: at most 32 of each batch; older ones weigh less."},

    {"fisd_trainer_leads", "gauge", WHEN_TRAINER, F(trainer.running),
     "1 for the leader; only the leader shows the trainer's figures."},
    {"fisd_trainer_state", "gauge", WHEN_TRAINER, W("state", state),
     "1 for the state it is in: new, standby, fence, catch_up, lead, drain, leaving, stopped."},
    {"fisd_trainer_elections_total", "counter", WHEN_TRAINER, F(trainer.takeovers),
     "How often this process became the leader."},
    {"fisd_trainer_halted", "gauge", WHEN_TRAINER, V(halted),
     "1: one of its topics was deleted or cut while it led; nothing is requested any more."},
    {"fisd_ledger_entries", "gauge", WHEN_TRAINER, F(trainer.ledger_entries),
     "Records that the ledger knew when it was read last."},
    {"fisd_ledger_bytes", "gauge", WHEN_TRAINER, F(trainer.ledger_bytes),
     "Bytes of the ledger that were kept in memory for it."},
    {"fisd_restore_seconds", "gauge", WHEN_LEADING, MS(trainer.restore_ms),
     "Duration of the restore at the last start; 0: there was nothing to restore."},
    {"fisd_training", "gauge", WHEN_LEADING, F(trainer.busy),
     "1 while a job trains; other figures are then those of its start."},
    {"fisd_trainer_messages_total", "counter", WHEN_LEADING, F(trainer.read),
     "Messages read from candidates, labels and control, whatever their outcome."},
    {"fisd_round", "gauge", WHEN_LEADING, F(trainer.counts.round),
     "The round, from 1."},
    {"fisd_phase", "gauge", WHEN_LEADING, W("phase", phase),
     "1 for the phase of the round: warm-up, collect, label, done."},
    {"fisd_window_records", "gauge", WHEN_LEADING, F(trainer.counts.window),
     "Records of the window so far."},
    {"fisd_window_full_records", "gauge", WHEN_LEADING, V(window_full),
     "Records at which a window is full, selection.window_records; absent in mode pool."},
    {"fisd_asking", "gauge", WHEN_LEADING, W("state", asking),
     "Whether labels are requested: 1 for goes_on, or for the reason why not (window: the window "
     "is not full yet)."},
    {"fisd_counted_records_total", "counter", WHEN_LEADING, F(trainer.counts.records),
     "Scored records that this trainer has counted from progress messages."},
    {"fisd_candidates_total", "counter", WHEN_LEADING, F(trainer.counts.candidates),
     "Candidates received from scorers."},
    {"fisd_candidates_held", "gauge", WHEN_LEADING, F(trainer.counts.selector.held),
     "Candidates in the heaps."},
    {"fisd_label_requests", "gauge", WHEN_LEADING, F(trainer.counts.selector.asked),
     "Labels requested in total, according to the ledger."},
    {"fisd_label_requests_open", "gauge", WHEN_LEADING, F(trainer.counts.selector.open),
     "Requests without an answer."},
    {"fisd_label_request_oldest_seconds", "gauge", WHEN_LEADING, V(oldest_request),
     "Age of the oldest open request; 0: there is none."},
    {"fisd_labels_total", "counter", WHEN_LEADING, P("outcome", answers),
     "Answers received: taken, skipped, duplicate, late (taken, after it was given up), refused "
     "(to dead-letter)."},
    {"fisd_label_requests_given_up_total", "counter", WHEN_LEADING, P("reason", given_up),
     "Requests that ended without a label."},
    {"fisd_label_age_seconds", "gauge", WHEN_LEADING, MS(trainer.label_age_ms),
     "Time since the last answer; absent before the first."},
    {"fisd_labels_bought", "gauge", WHEN_LEADING, F(trainer.counts.learner.bought),
     "Labels that are trained on, besides the initial set."},
    {"fisd_labels_kept", "gauge", WHEN_LEADING, F(trainer.counts.learner.kept),
     "Those of them in the kept set: both influences are at most 0 now."},
    {"fisd_labels_excluded", "gauge", WHEN_LEADING, F(trainer.counts.learner.excluded),
     "Labelled records left out, since they made the loss infinite."},
    {"fisd_agreement_records", "gauge", WHEN_LEADING, V(metrics_agreement_records),
     "Records with two or more labels, of different annotators."},
    {"fisd_agreement_alpha", "gauge", WHEN_LEADING, V(metrics_agreement_alpha),
     "Krippendorff's alpha of those labels: 1 annotators agree, 0 as chance would have it; absent "
     "where it cannot be estimated."},
    {"fisd_agreement_class_alpha", "gauge", WHEN_LEADING, W("class", metrics_agreement_classes),
     "The same of one class against all others."},
    {"fisd_budget_labels", "gauge", WHEN_LEADING, V(budget),
     "selection.budget; absent without a limit."},
    {"fisd_budget_left_labels", "gauge", WHEN_LEADING, F(trainer.counts.selector.budget_left),
     "Labels that may still be requested; absent without a limit."},
    {"fisd_day_requests", "gauge", WHEN_LEADING, F(trainer.counts.day_asked),
     "Labels requested on this day (UTC)."},
    {"fisd_daily_budget_labels", "gauge", WHEN_LEADING, V(daily_budget),
     "selection.daily_budget; absent without a limit."},
    {"fisd_privacy_refreshes_total", "counter", WHEN_NOISY, F(trainer.counts.privacy.refreshes),
     "Refreshes of the directions with noise (privacy.noise), over restarts; absent without."},
    {"fisd_privacy_exact_refreshes_total", "counter", WHEN_NOISY, F(trainer.counts.privacy.exact),
     "Refreshes without noise in a pipeline that has it; more than 0: no epsilon holds."},
    {"fisd_privacy_rho", "gauge", WHEN_NOISY, F(trainer.counts.privacy.rho),
     "Zero-concentrated differential privacy that the directions have spent."},
    {"fisd_privacy_epsilon", "gauge", WHEN_NOISY, V(privacy_epsilon),
     "The resulting epsilon, for fisd_privacy_delta."},
    {"fisd_privacy_delta", "gauge", WHEN_NOISY, F(trainer.counts.privacy.delta),
     "privacy.delta."},
    {"fisd_paused", "gauge", WHEN_LEADING, F(trainer.counts.paused),
     "1 while the operator has paused labelling."},
    {"fisd_pinned", "gauge", WHEN_LEADING, F(trainer.counts.pinned),
     "1 while the operator has pinned the served version."},
    {"fisd_head_version", "gauge", WHEN_LEADING, F(trainer.counts.head_version),
     "Newest head."},
    {"fisd_training_steps_total", "counter", WHEN_LEADING, F(trainer.counts.learner.steps),
     "Steps of the optimizer."},
    {"fisd_training_loss", "gauge", WHEN_LEADING, F(trainer.counts.learner.last_loss),
     "Mean loss of the anchor in the last training job."},
    {"fisd_validation_rows", "gauge", WHEN_LEADING, F(trainer.validation.rows),
     "Validation rows in force."},
    {"fisd_validation_groups", "gauge", WHEN_LEADING, F(trainer.validation.groups),
     "Groups among them."},
    {"fisd_validation_left_out_rows", "gauge", WHEN_LEADING, F(trainer.validation.left_out),
     "Rows of the validation set without a sensitive value (validation.missing), left out."},
    {"fisd_validation_majority_ratio", "gauge", WHEN_LEADING, F(trainer.validation.majority),
     "Share of the most frequent class among the validation rows: what a constant answer reaches."},
    {"fisd_examples_unseen_ratio", "gauge", WHEN_LEADING, W("set, column", unseen),
     "Share of the initial or validation rows with a category of the column that the encoder was "
     "not fitted on; the eight largest."},
    {"fisd_validation_smallest_cell_rows", "gauge", WHEN_LEADING, F(trainer.validation.smallest_cell),
     "Rows that judge in the smallest group, or group and class, that fairness.metric needs: what "
     "gate.min_cell bounds."},
    {"fisd_validation_age_seconds", "gauge", WHEN_LEADING, V(validation_age),
     "Time since this process adopted them."},
    {"fisd_validation_newest_timestamp_seconds", "gauge", WHEN_LEADING, V(validation_newest),
     "When the newest validation row was written (a file: when it was), in seconds since 1970."},
    {"fisd_fairness_target_ratio", "gauge", WHEN_LEADING, W("metric", fairness_target),
     "fairness.target; absent when there is none."},
    {"fisd_val0_ratio", "gauge", WHEN_LEADING, F(trainer.val0),
     "VAL_0: accuracy of the first version; no version below it less gate.epsilon is served."},

    {"fisd_version", "gauge", WHEN_ALWAYS, W("which", metrics_version),
     "Number of the newest version, and of the served version."},
    {"fisd_versions_total", "counter", WHEN_ALWAYS, W("verdict, reason", metrics_verdicts),
     "Versions on the models topic that this process has seen, by the gate's verdict and reason."},
    {"fisd_versions_rejected_in_row", "gauge", WHEN_ALWAYS, V(rejected_in_row),
     "Rejected versions since the last that was published, without those that a pin held back."},
    {"fisd_accuracy_ratio", "gauge", WHEN_ALWAYS, W("model", metrics_accuracy),
     "Accuracy on the validation rows: of the served version, the newest, and the anchor."},
    {"fisd_fairness_gap_ratio", "gauge", WHEN_ALWAYS, W("model, metric", metrics_gaps),
     "Fairness on the validation rows: largest gap between groups; 0 is fair. risk_disparity is in "
     "units of the loss."},
    {"fisd_interval_bound_ratio", "gauge", WHEN_ALWAYS, W("model, metric, bound", metrics_bounds),
     "Interval of 95 % of the served version."},
    {"fisd_group_positive_ratio", "gauge", WHEN_ALWAYS, GROUP(positive_rate),
     "P(yhat = positive) of each group, on the validation rows."},
    {"fisd_group_accuracy_ratio", "gauge", WHEN_ALWAYS, GROUP(accuracy),
     "Accuracy of each group, on the validation rows."},
    {"fisd_group_rows", "gauge", WHEN_ALWAYS, GROUP(n),
     "Validation rows of each group that judged it."},

    {"fisd_fleet_processes", "gauge", WHEN_ALWAYS, W("role, state", fleet_processes),
     "Processes of the pipeline, this one included, by role and state: ready, not_ready. One with "
     "both roles counts for each; one that is silent for none."},
    {"fisd_fleet_silent_processes", "gauge", WHEN_ALWAYS, V(fleet_silent_ones),
     "Processes that have not reported for 20 seconds, and did not report their end."},
    {"fisd_fleet_leader", "gauge", WHEN_ALWAYS, V(fleet_leader),
     "1 when one of them leads."},
    {"fisd_fleet_records_per_second", "gauge", WHEN_ALWAYS, V(fleet_rate),
     "Records that all scorers score in a second, over the last ten seconds."},
    {"fisd_fleet_lag_messages", "gauge", WHEN_ALWAYS, V(fleet_lag),
     "Records that no scorer has read yet; absent when it is not known."},

    {"fisd_kafka_brokers_up", "gauge", WHEN_ALWAYS, CLIENT(brokers_up),
     "Brokers that the client is connected to."},
    {"fisd_kafka_rtt_seconds", "gauge", WHEN_ALWAYS, CLIENT(rtt_seconds),
     "Mean time of a request, of the slowest broker, in the last seconds."},
    {"fisd_kafka_rtt_p99_seconds", "gauge", WHEN_ALWAYS, CLIENT(rtt_p99_seconds),
     "Time below which 99 % of requests stay, of the slowest broker."},
    {"fisd_kafka_requests_waiting", "gauge", WHEN_ALWAYS, CLIENT(requests_waiting),
     "Requests that wait to be sent."},
    {"fisd_kafka_queue_messages", "gauge", WHEN_ALWAYS, CLIENT(queue_messages),
     "Messages that wait in the producer."},
    {"fisd_kafka_queue_bytes", "gauge", WHEN_ALWAYS, CLIENT(queue_bytes),
     "Their bytes."},
    {"fisd_kafka_sent_bytes_total", "counter", WHEN_ALWAYS, CLIENT(sent_bytes),
     "Bytes of messages that were sent."},
    {"fisd_kafka_received_bytes_total", "counter", WHEN_ALWAYS, CLIENT(received_bytes),
     "Bytes of messages that were received."},
    {"fisd_kafka_request_errors_total", "counter", WHEN_ALWAYS, CLIENT(request_errors),
     "Requests that failed."},
    {"fisd_kafka_request_timeouts_total", "counter", WHEN_ALWAYS, CLIENT(request_timeouts),
     "Requests that were not answered in time."},
    {"fisd_kafka_disconnects_total", "counter", WHEN_ALWAYS, CLIENT(disconnects),
     "Connections that ended."},
    {"fisd_kafka_rebalances_total", "counter", WHEN_ALWAYS, CLIENT(rebalances),
     "Rebalances of the client's group."},
    {.name = NULL},
};
/* clang-format on */

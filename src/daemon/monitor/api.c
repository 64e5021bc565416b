#include "daemon/monitor/api.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "fis/version.h"

/* ---- texts and numbers ------------------------------------------------------------------------
 */

/* What is no UTF-8, such as the half of a character where a text was cut, becomes '?'. */
static json_t *clean(const char *bytes, size_t length)
{
    char clean[2048];
    size_t valid = utf8_prefix(bytes, length);
    if (valid == length)
        return json_stringn(bytes, length);
    length = length < sizeof clean ? length : sizeof clean;
    memcpy(clean, bytes, length);
    for (; valid < length; valid += utf8_prefix(clean + valid, length - valid))
        clean[valid++] = '?';
    return json_stringn(clean, length);
}

json_t *api_text(const char *text)
{
    return clean(text, strlen(text));
}

json_t *api_id(const struct fis_id *id)
{
    return clean(id->bytes, id->length);
}

static json_t *count_or_null(uint64_t n, bool known)
{
    return known ? wire_json_count(n) : json_null();
}

static int append(const char *bytes, size_t n, void *out)
{
    http_write(out, bytes, n);
    return 0;
}

void api_send(struct http_reply *out, json_t *o)
{
    if (!o || json_dump_callback(o, append, out, JSON_COMPACT | JSON_REAL_PRECISION(12)) < 0)
        out->no_memory = true;
    http_text(out, "\n");
    json_decref(o);
}

void api_page(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api_page *page = r->route->arg;
    api_send(out, page->make(ctx));
}

/* ---- status -----------------------------------------------------------------------------------
 */

static json_t *scorer(const struct scorer_status *s)
{
    const struct scorer_counts *c = &s->counts;
    if (!s->on)
        return json_null();
    return json_pack("{s:b, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o}",
                     "open", s->open, "mode", s->pool ? "pool" : "stream", "partitions",
                     (int)s->owned, "lag", count_or_null((uint64_t)s->lag, s->lag >= 0),
                     "head_version", wire_json_count(s->head_version), "records",
                     wire_json_count(c->records), "refused", wire_json_count(c->refused),
                     "tombstones", wire_json_count(c->tombstones), "offered",
                     wire_json_count(c->offered), "unseen_categories", wire_json_count(c->unseen),
                     "lost", wire_json_count(c->lost), "scans", wire_json_count(c->scans),
                     "batches_in_flight", (int)s->batches_in_flight, "latency_p50_seconds",
                     wire_json_real(s->latency_seconds ? histogram_quantile(s->latency_seconds, .5)
                                                       : (double)NAN),
                     "latency_p99_seconds",
                     wire_json_real(s->latency_seconds ? histogram_quantile(s->latency_seconds, .99)
                                                       : (double)NAN));
}

static json_t *labels(const struct status *s)
{
    const struct trainer_role_counts *c = &s->trainer.counts;
    const struct fis_selector_counts *n = &c->selector;
    bool limited = n->budget_left != UINT64_MAX;
    return json_pack(
        "{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o, "
        "s:o, s:o, s:o, s:o}",
        "asked", wire_json_count(n->asked), "open", (int)n->open, "answered",
        wire_json_count(n->answered), "taken", wire_json_count(c->labels), "skipped",
        wire_json_count(c->skipped), "duplicates", wire_json_count(c->duplicates), "expired",
        wire_json_count(c->expired), "cancelled", wire_json_count(c->cancelled), "tied",
        wire_json_count(c->tied), "late", wire_json_count(c->late), "bought",
        (int)c->learner.bought, "kept", (int)c->learner.kept, "per_round",
        (int)s->cfg->selection.labels_per_round, "budget",
        count_or_null(s->cfg->selection.budget, s->cfg->selection.budget != 0), "budget_left",
        count_or_null(n->budget_left, limited), "day_asked", wire_json_count(c->day_asked),
        "daily_budget",
        count_or_null(s->cfg->selection.daily_budget, s->cfg->selection.daily_budget != 0),
        "oldest_seconds",
        s->trainer.n_requests ? wire_json_real(1e-3 * (double)s->trainer.requests[0].age_ms)
                              : json_null(),
        "last_answer_seconds",
        wire_json_real(s->trainer.label_age_ms < 0 ? (double)NAN
                                                   : 1e-3 * (double)s->trainer.label_age_ms));
}

static json_t *validation(const struct status *s)
{
    const struct trainer_validation_status *v = &s->trainer.validation;
    json_t *unseen = json_array();
    for (uint32_t i = 0; i < s->trainer.n_unseen; i++)
        json_array_append_new(unseen, json_pack("{s:s, s:s, s:o}", "set", s->trainer.unseen[i].set,
                                                "column", s->trainer.unseen[i].column, "share",
                                                wire_json_real(s->trainer.unseen[i].share)));
    return json_pack("{s:i, s:i, s:i, s:o, s:i, s:i, s:I, s:o, s:o}", "rows", (int)v->rows,
                     "groups", (int)v->groups, "smallest_cell", (int)v->smallest_cell, "detectable",
                     wire_json_real(v->rows ? v->detectable : (double)NAN), "min_rows",
                     (int)s->cfg->gate.min_rows, "min_cell", (int)s->cfg->gate.min_cell, "left_out",
                     (json_int_t)v->left_out, "majority", wire_json_real(v->majority), "unseen",
                     unseen);
}

static const char *job_name(enum trainer_job j)
{
    return j == TRAINER_JOB_WARM_UP  ? "warm_up"
           : j == TRAINER_JOB_TRAIN  ? "train"
           : j == TRAINER_JOB_FINISH ? "finish"
                                     : "none";
}

static json_t *last_command(const struct trainer_status *t)
{
    if (!t->control_id || !*t->control_id)
        return json_null();
    return json_pack("{s:o, s:b, s:o}", "command", api_text(t->control_id), "ok", t->control_ok,
                     "text", api_text(t->control_text));
}

static json_t *asking(const struct asking *a)
{
    return json_pack("{s:s, s:o}", "state", asking_name(a->state), "text", api_text(a->text));
}

static json_t *leading(const struct status *s)
{
    const struct trainer_status *t = &s->trainer;
    const struct trainer_role_counts *c = &t->counts;
    if (!t->running)
        return json_null();
    return json_pack(
        "{s:i, s:s, s:s, s:b, s:b, s:o, s:i, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:s, s:o}",
        "round", (int)c->round, "phase", c->phase, "job", job_name(t->job), "paused", c->paused,
        "pinned", c->pinned, "window", wire_json_count(c->window), "window_records",
        (int)s->cfg->selection.window_records, "records", wire_json_count(c->records), "candidates",
        wire_json_count(c->candidates), "held", (int)c->selector.held, "head_version",
        wire_json_count(c->head_version), "served_version", wire_json_count(c->served_version),
        "val0", wire_json_real(t->val0), "labels", labels(s), "validation", validation(s),
        "privacy", c->privacy.refreshes ? wire_json_privacy(&c->privacy) : json_null(),
        "restore_seconds", wire_json_real(1e-3 * (double)t->restore_ms), "loss",
        wire_json_real(c->learner.last_loss), "last_command", last_command(t), "mode",
        s->cfg->selection.mode == CONFIG_POOL ? "pool" : "stream", "asking", asking(&t->asking));
}

static json_t *trainer(const struct status *s)
{
    const struct trainer_status *t = &s->trainer;
    if (!t->on)
        return json_null();
    return json_pack("{s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "state",
                     election_state_name(t->state), "state_seconds",
                     wire_json_real(1e-3 * (double)t->state_ms), "standby_ready", t->warm, "leads",
                     t->running, "elections", wire_json_count(t->takeovers), "ledger_entries",
                     wire_json_count(t->ledger_entries), "ledger_bytes",
                     wire_json_count(t->ledger_bytes), "leading", leading(s));
}

/* Those that there were. */
static json_t *dead_letters(const struct status *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_dead; i++)
        for (int code = 0; code < FIS_ERROR_CODES; code++)
            if (s->dead[i].counts->n[code])
                json_array_append_new(
                    list, json_pack("{s:s, s:s, s:o}", "topic", s->dead[i].topic, "reason",
                                    fis_error_code_name((enum fis_error_code)code), "count",
                                    wire_json_count(s->dead[i].counts->n[code])));
    return list;
}

json_t *api_status(struct monitor *m)
{
    const struct status *s = status_now(m);
    const struct version_info *served = version_log_served(s->versions);
    char reason[STATUS_REASON], line[STATUS_REASON];
    bool ready = status_ready(s, reason);
    status_line(s, line, sizeof line);
    return json_pack(
        "{s:s, s:s, s:b, s:o, s:o, s:b, s:b, s:o, s:I, s:o, s:b, s:s, s:s, s:s, s:o, s:o, "
        "s:o, s:o, s:b, s:b, s:o, s:o}",
        "pipeline", s->cfg->pipeline, "version", FIS_VERSION, "ready", ready, "reason",
        ready ? json_null() : api_text(reason), "doing", api_text(line), "started", s->started,
        "broker", s->broker_seen, "broker_trouble",
        *s->broker_trouble ? api_text(s->broker_trouble) : json_null(), "time_ms",
        (json_int_t)s->wall_ms, "uptime_seconds", wire_json_real(1e-3 * (double)s->uptime_ms),
        "embedded", s->embedded, "delivery", s->exactly_once ? "exactly_once" : "at_least_once",
        "metric", config_choice("fairness.metric", s->cfg->fairness.metric), "algorithm",
        config_choice("selection.algorithm", s->cfg->selection.algorithm), "scorer",
        scorer(&s->scorer), "trainer", trainer(s), "served",
        served ? api_version_summary(s, served) : json_null(), "loop_p99_seconds",
        wire_json_real(histogram_quantile(s->loop_seconds, .99)), "commands",
        s->cfg->http.token_file != NULL, "label_page", s->cfg->labels.page, "dead_letters",
        dead_letters(s), "fleet", api_fleet_sums(s));
}

/* ---- lists ------------------------------------------------------------------------------------
 */

/* Why a criterion picks, for people. */
static const char *meaning(const char *criterion)
{
    static const char *const all[][2] = {
        {"ekg", "expected kept gain: how much one step on it is expected to lower the unfairness, "
                "over the labels that would also lower the loss"},
        {"entropy", "the model is least sure of it"},
        {"fis", "its label is expected to lower both the loss and the unfairness"},
        {"product", "its label is expected to lower both the loss and the unfairness"},
        {"random", "drawn at random"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i][0], criterion) == 0)
            return all[i][1];
    return "best by this criterion";
}

json_t *api_candidates(struct monitor *m)
{
    const struct trainer_status *t = &status_with_best(m)->trainer;
    json_t *list = json_array(), *criteria = json_array();
    for (uint32_t i = 0; i < t->n_best; i++)
        json_array_append_new(list, json_pack("{s:o, s:s, s:i, s:o}", "id", api_id(&t->best[i].id),
                                              "criterion", t->criteria[t->best[i].criterion],
                                              "rank", (int)t->best[i].rank, "score",
                                              wire_json_real((double)t->best[i].score)));
    for (uint32_t i = 0; i < t->n_criteria; i++)
        json_array_append_new(criteria, json_pack("{s:s, s:s}", "name", t->criteria[i], "meaning",
                                                  meaning(t->criteria[i])));
    return json_pack("{s:i, s:o, s:o}", "held", (int)t->counts.selector.held, "criteria", criteria,
                     "candidates", list);
}

json_t *api_requests(struct monitor *m)
{
    const struct trainer_status *t = &status_now(m)->trainer;
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->n_requests; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:i, s:o}", "id", api_id(&t->requests[i].id), "round",
                            (int)t->requests[i].round, "votes", (int)t->requests[i].votes,
                            "age_seconds", wire_json_real(1e-3 * (double)t->requests[i].age_ms)));
    return json_pack("{s:i, s:o}", "open", (int)t->counts.selector.open, "requests", list);
}

json_t *api_throughput(struct monitor *m)
{
    const struct status *s = status_now(m);
    json_t *time = json_array(), *records = json_array(), *offered = json_array(),
           *labelled = json_array(), *lag = json_array();
    for (uint32_t i = 0; i < s->n_seconds; i++) {
        const struct status_second *k = &s->seconds[i];
        json_array_append_new(time, json_integer(k->wall_ms));
        json_array_append_new(records, wire_json_count(k->records));
        json_array_append_new(offered, wire_json_count(k->offered));
        json_array_append_new(labelled, wire_json_count(k->labels));
        json_array_append_new(lag, count_or_null((uint64_t)k->lag, k->lag >= 0));
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "interval_seconds", 1, "time_ms", time,
                     "records", records, "offered", offered, "labels", labelled, "lag", lag);
}

json_t *api_lag(struct monitor *m)
{
    const struct status *s = status_now(m);
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_lags; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i, s:o, s:o}", "role", s->lags[i].role, "topic",
                            s->lags[i].topic, "partition", (int)s->lags[i].partition, "next",
                            count_or_null((uint64_t)s->lags[i].next, s->lags[i].next >= 0), "lag",
                            count_or_null((uint64_t)s->lags[i].lag, s->lags[i].lag >= 0)));
    return json_pack("{s:o}", "partitions", list);
}

json_t *api_kafka(struct monitor *m)
{
    const struct status *s = status_now(m);
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_kafka; i++) {
        const struct kafka_stats *k = &s->kafka[i].stats;
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "client",
                            k->client, "brokers", (int)k->brokers, "brokers_up", (int)k->brokers_up,
                            "rtt_seconds", wire_json_real(k->rtt_seconds), "rtt_p99_seconds",
                            wire_json_real(k->rtt_p99_seconds), "queue_messages",
                            wire_json_count(k->queue_messages), "sent_bytes",
                            wire_json_count(k->sent_bytes), "received_bytes",
                            wire_json_count(k->received_bytes), "request_errors",
                            wire_json_count(k->request_errors), "request_timeouts",
                            wire_json_count(k->request_timeouts), "rebalances",
                            wire_json_count(k->rebalances)));
    }
    return json_pack("{s:o}", "clients", list);
}

#include "daemon/monitor/alarms.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "daemon/context/pipeline.h"

#define MINUTE_MS UINT64_C(60000)
#define NEARER 0.9      /* of a limit: where an alarm that is on goes again */
#define RATE_VERSIONS 5 /* versions before the served one that its rates are compared with */
#define FEW_DEAD 10     /* fewer are no trend */

/* What a rule looks at, and where it says what it found. */
struct look {
    const struct alarms *a;
    const struct status *s;
    const struct config *cfg;
    bool on; /* it is raised */
    char *text;
};

/* True: the condition holds. */
static bool found(const struct look *k, const char *format, ...) FIS_PRINTF(2, 3);
static bool found(const struct look *k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(k->text, ALARM_TEXT, format, args);
    va_end(args);
    return true;
}

/* "3 d 4 h", "12 min": for people. */
static const char *span(uint64_t ms, char out[64])
{
    unsigned long long minutes = ms / MINUTE_MS;
    if (minutes >= 2 * 24 * 60)
        snprintf(out, 32, "%llu days", minutes / (24 * 60));
    else if (minutes >= 2 * 60)
        snprintf(out, 32, "%llu hours", minutes / 60);
    else if (minutes >= 2)
        snprintf(out, 32, "%llu minutes", minutes);
    else
        decimal_counted(ms / 1000, "second", out);
    return out;
}

/* A limit from below, of something that should stay under it. */
static double upper(double limit, bool on)
{
    return on ? limit * NEARER : limit;
}

/* ---- the process ----------------------------------------------------------------------------- */

static bool broker_away(const struct look *k)
{
    char reason[STATUS_REASON];
    return !k->s->stopping && !k->s->broker_seen && !status_ready(k->s, reason) &&
           found(k, "%.240s", reason);
}

static bool not_working(const struct look *k)
{
    char reason[STATUS_REASON];
    return !k->s->stopping && k->s->broker_seen && !status_ready(k->s, reason) &&
           found(k, "%s", reason);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool may_ask(const struct status *s)
{
    const struct trainer_role_counts *c = &s->trainer.counts;
    uint64_t daily = s->cfg->selection.daily_budget;
    return s->trainer.running && !s->trainer.busy && !c->paused && c->selector.budget_left > 0 &&
           (!daily || c->day_asked < daily) &&
           (strcmp(c->phase, "collect") == 0 || strcmp(c->phase, "label") == 0);
}

/* Nothing is out, nothing was asked for recently, and that is not because a window still fills. */
static bool labels_starved(const struct look *k)
{
    const struct trainer_role_counts *c = &k->s->trainer.counts;
    uint64_t since = c->records - k->a->asked_records, limit = k->cfg->alarms.starved;
    uint64_t now = k->s->mono_ms, quiet = now - k->a->records_ms;
    char age[64];
    if (!limit || !may_ask(k->s) || c->selector.open > 0 || now - k->a->asked_ms < limit)
        return false;
    if (quiet >= limit)
        return found(k,
                     "no label is requested although there is budget: no record has been scored "
                     "for %s",
                     span(quiet, age));
    return since >= 2 * (uint64_t)k->cfg->selection.window_records &&
           found(
               k,
               "no label is requested although there is budget: %s scored since the last request, "
               "and held: %s",
               DECIMAL_COUNT(since, "record"), DECIMAL_COUNT(c->selector.held, "candidate"));
}

static bool labels_stuck(const struct look *k)
{
    const struct trainer_status *t = &k->s->trainer;
    uint64_t limit = k->cfg->alarms.label_age;
    char age[64], allowed[64];
    return limit && t->running && t->n_requests && t->requests[0].age_ms >= limit &&
           found(k, "open: %s, the oldest for %s; alarms.label_age is %s",
                 DECIMAL_COUNT(t->counts.selector.open, "request"),
                 span(t->requests[0].age_ms, age), span(limit, allowed));
}

/* Of a budget; 0: there is none. */
static bool nearly_spent(const struct look *k, uint64_t left, uint64_t budget)
{
    double share = k->cfg->alarms.budget_left;
    return k->s->trainer.running && budget && left != UINT64_MAX &&
           (!left || (double)left < (k->on ? share / NEARER : share) * (double)budget);
}

static bool budget_low(const struct look *k)
{
    uint64_t budget = k->cfg->selection.budget, left = k->s->trainer.counts.selector.budget_left;
    return nearly_spent(k, left, budget) &&
           found(k, "left of selection.budget: %" PRIu64 " of %s%s", left,
                 DECIMAL_COUNT(budget, "label"), left ? "" : ": no more labels are requested");
}

/* While the whole budget lasts: when that is spent, no day brings more. */
static bool daily_budget_low(const struct look *k)
{
    const struct trainer_role_counts *c = &k->s->trainer.counts;
    uint64_t budget = k->cfg->selection.daily_budget;
    uint64_t left = c->day_asked < budget ? budget - c->day_asked : 0;
    return c->selector.budget_left && nearly_spent(k, left, budget) &&
           found(k, "left of selection.daily_budget: %" PRIu64 " of %s%s", left,
                 DECIMAL_COUNT(budget, "label"),
                 left ? " for this day (UTC)" : ": no more labels are requested on this day (UTC)");
}

/* ---- what is served -------------------------------------------------------------------------- */

static bool gate_rejecting(const struct look *k)
{
    uint32_t row = version_log_rejected_in_row(k->s->versions), limit = k->cfg->alarms.rejected;
    return limit && row >= limit &&
           found(k, "rejected in a row: %s, the newest as %s", DECIMAL_COUNT(row, "version"),
                 version_log_rejected_as(k->s->versions));
}

static bool unfair(const struct look *k)
{
    const struct version_info *v = version_log_served(k->s->versions);
    double target = k->cfg->fairness.target;
    enum fis_metric metric = pipeline_metric(k->cfg);
    if (!(target > 0) || !v || !v->metrics.n)
        return false;
    double gap = fis_metrics_of(&v->metrics, metric);
    return gap > upper(target, k->on) &&
           found(k, "the served version %" PRIu64 " has %s %.3f; fairness.target is %.3f",
                 v->version, fis_metric_name(metric), gap, target);
}

/* What the metric compares: see fis_cells_check. */
static const char *cell_of(enum fis_metric metric)
{
    return metric == FIS_EQUAL_OPPORTUNITY || metric == FIS_EQUALIZED_ODDS ? "group and class"
                                                                           : "group";
}

static bool validation_small(const struct look *k)
{
    const struct trainer_validation_status *v = &k->s->trainer.validation;
    const struct config_gate *g = &k->cfg->gate;
    enum fis_metric metric = pipeline_metric(k->cfg);
    bool few = v->smallest_cell < g->min_cell;
    if (!k->s->trainer.running || v->rows == 0)
        return false;
    if (v->rows < g->min_rows)
        return found(k, "%s, gate.min_rows is %u: no version after the first is published",
                     DECIMAL_COUNT(v->rows, "validation row"), g->min_rows);
    return (few || v->smallest_cell < g->warn_cell) &&
           found(k, "%s to judge by in the smallest %s that %s needs%s%u%s",
                 DECIMAL_COUNT(v->smallest_cell, "row"), cell_of(metric), fis_metric_name(metric),
                 few ? ", gate.min_cell is " : "; below gate.warn_cell, ",
                 few ? g->min_cell : g->warn_cell,
                 few ? ": no version after the first is published" : ", verdicts are uncertain");
}

static bool validation_stale(const struct look *k)
{
    int64_t newest = k->s->trainer.validation.newest_ms;
    uint64_t limit = k->cfg->alarms.validation_age;
    char age[64], allowed[64];
    if (!limit || !k->s->trainer.running || newest <= 0 || k->s->wall_ms < newest)
        return false;
    uint64_t since = (uint64_t)(k->s->wall_ms - newest);
    return since >= limit &&
           found(k, "the newest validation row is %s old; alarms.validation_age is %s",
                 span(since, age), span(limit, allowed));
}

static bool categories_unseen(const struct look *k)
{
    const struct trainer_status *t = &k->s->trainer;
    double limit = k->cfg->features.max_unseen;
    return t->running && t->n_unseen && t->unseen[0].share > upper(limit, k->on) &&
           found(k,
                 "%.1f %% of the %s rows have a category of column %.100s that the encoder was not "
                 "fitted on; features.max_unseen is %.1f %%",
                 100 * t->unseen[0].share, t->unseen[0].set, t->unseen[0].column, 100 * limit);
}

static bool no_better(const struct look *k)
{
    const struct version_info *v = version_log_served(k->s->versions);
    double most = k->s->trainer.validation.majority;
    return k->s->trainer.running && v && v->metrics.n && most > 0 && v->metrics.accuracy <= most &&
           found(k,
                 "the served version %" PRIu64 " has accuracy %.3f on the validation rows, of "
                 "which %.3f are of one class: it is no better than always answering that class",
                 v->version, v->metrics.accuracy, most);
}

static bool drift(const struct look *k)
{
    const struct scorer_drift *d = &k->s->scorer.drift;
    double limit = k->cfg->alarms.drift;
    return limit > 0 && d->n && d->columns[0].psi > upper(limit, k->on) &&
           found(k,
                 "column %.100s of the records is not distributed as in the initial set: "
                 "population stability index %.2f, alarms.drift is %.2f; above "
                 "it: %u of %s",
                 d->columns[0].name, d->columns[0].psi, limit, d->above,
                 DECIMAL_COUNT(d->all, "column"));
}

/* A group's rate has moved from `then` to `now` by more than the limit, and than chance explains.
 */
static bool moved(const struct look *k, const struct version_info *then,
                  const struct version_info *now)
{
    double limit = upper(k->cfg->alarms.rate_moved, k->on);
    uint32_t groups = now->metrics.n_groups;
    for (uint32_t g = 0; g < groups && groups == then->metrics.n_groups; g++) {
        const struct fis_group_metrics *p = &then->metrics.group[g], *q = &now->metrics.group[g];
        if (p->n == 0 || q->n == 0)
            continue;
        double rate = (p->positive_rate + q->positive_rate) / 2;
        double se = sqrt(rate * (1 - rate) * (1 / (double)p->n + 1 / (double)q->n));
        double by = fabs(q->positive_rate - p->positive_rate);
        if (by > limit && by > 3 * se)
            return found(k,
                         "P(yhat = positive) of group %u went from %.3f in version %" PRIu64
                         " to %.3f in version %" PRIu64 "; alarms.rate_moved is %.3f",
                         g, p->positive_rate, then->version, q->positive_rate, now->version, limit);
    }
    return false;
}

static bool group_rate_moved(const struct look *k)
{
    const struct version_info *now = version_log_served(k->s->versions), *then;
    uint32_t compared = 0;
    if (!now || !(k->cfg->alarms.rate_moved > 0) || !now->metrics.n)
        return false;
    for (uint32_t i = 0; (then = version_log_at(k->s->versions, i)) && compared < RATE_VERSIONS;
         i++) {
        if (then == now || !then->served || !then->metrics.n || then->version > now->version)
            continue;
        compared++;
        if (moved(k, then, now))
            return true;
    }
    return false;
}

/* ---- dead letters ---------------------------------------------------------------------------- */

static uint64_t dead_now(const struct status *s)
{
    const struct trainer_status *t = &s->trainer;
    return s->scorer.counts.refused + t->dead_labels + t->dead_offers + t->dead_commands;
}

/* Every message once, whether it was used, the same once more, or refused. */
static uint64_t read_now(const struct status *s)
{
    const struct scorer_counts *c = &s->scorer.counts;
    return c->records + c->refused + c->tombstones + s->trainer.read;
}

static bool dead_letters(const struct look *k)
{
    double limit = k->cfg->alarms.dead_letters;
    uint64_t dead = dead_now(k->s), all = read_now(k->s);
    if (!(limit > 0) || dead < k->a->minutes[0].dead || all < k->a->minutes[0].read)
        return false;
    dead -= k->a->minutes[0].dead;
    all -= k->a->minutes[0].read;
    return dead >= FEW_DEAD && (double)dead > upper(limit, k->on) * (double)all &&
           found(k,
                 "%" PRIu64 " of %s in the last five minutes were refused; the dead-letter topic "
                 "has them with the reason",
                 dead, DECIMAL_COUNT(all, "message"));
}

/* ---- the pipeline's own topics --------------------------------------------------------------- */

static bool registry_away(const struct look *k)
{
    const struct scorer_registry *r = &k->s->scorer.registry;
    return r->down && found(k, "%.220s; batches of records that wait: %u", r->why, r->waiting);
}

static bool webhook_fails(const struct look *k)
{
    const struct webhook_status *h = &k->s->webhook;
    return h->waiting &&
           found(k, "version %" PRIu64 " is not delivered to webhook.url: %s; it is tried again",
                 h->waiting, h->why);
}

static bool left_out(const struct look *k)
{
    uint64_t n = k->s->trainer.left_out + k->s->scorer.left_out;
    return n > 0 && found(k,
                          "left out on the pipeline's own topics: %s of somebody else; the log "
                          "names each (left_out)",
                          DECIMAL_COUNT(n, "message"));
}

static bool halted(const struct look *k)
{
    return k->s->trainer.halted && found(k, "%s", k->s->trainer.halted);
}

/* ---- the table ------------------------------------------------------------------------------- */

struct rule {
    const char *name, *severity;
    uint64_t raise_ms, clear_ms; /* how long the condition must hold, and not hold */
    bool (*holds)(const struct look *k);
    const char *meaning, *advice; /* when it holds; what to do about it */
};
/* clang-format off */
static const struct rule rules[ALARM_COUNT] = {
    [ALARM_BROKER_AWAY] = {"broker_away", "critical", 30000, 5000, broker_away,
        "No Kafka broker is reached.",
        "Check that the broker runs, that kafka.bootstrap.servers is its address, and that its security "
        "settings fit. fisd continues by itself when a broker answers."},
    [ALARM_NOT_WORKING] = {"not_working", "critical", 120000, 5000, not_working,
        "/readyz reports that the process is not ready, although a broker is reached: no leader "
        "and no warm standby, no head, no partition.",
        "Read the log of this process and of the one that leads."},
    [ALARM_LABELS_STARVED] = {"labels_starved", "warning", 10000, 1000, labels_starved,
        "There is budget, but no candidate to request (alarms.starved).",
        "Check what writes the records, the scorers' lag, and drift."},
    [ALARM_LABELS_STUCK] = {"labels_stuck", "warning", 10000, 1000, labels_stuck,
        "A request has been open for too long (alarms.label_age).",
        "Check that the labelling tool answers on the topic of the labels. Cancel what nobody will "
        "answer (fisctl labels cancel), or set labels.deadline."},
    [ALARM_BUDGET_LOW] = {"budget_low", "warning", 1000, 10000, budget_low,
        "The budget is nearly or entirely spent (alarms.budget_left).",
        "Raise selection.budget and reload; otherwise no more labels are requested."},
    [ALARM_DAILY_BUDGET_LOW] = {"daily_budget_low", "warning", 1000, 10000, daily_budget_low,
        "The day's budget is nearly or entirely spent (alarms.budget_left).",
        "It continues with the next day (UTC). For more labels a day, raise selection.daily_budget and "
        "reload."},
    [ALARM_GATE_REJECTING] = {"gate_rejecting", "warning", 1000, 1000, gate_rejecting,
        "The gate rejects version after version (alarms.rejected); rejections for a pin do not "
        "count.",
        "not_fairer: fairness has levelled off, which is no fault. below_floor: check the newest labels, "
        "and drift. few_rows, cell_too_small: add validation rows."},
    [ALARM_UNFAIR] = {"unfair", "critical", 1000, 60000, unfair,
        "The violation of the served version exceeds fairness.target.",
        "Roll back if an earlier version was fairer; otherwise buy more labels, or add validation rows."},
    [ALARM_VALIDATION_SMALL] = {"validation_small", "warning", 1000, 1000, validation_small,
        "Too few validation rows, in total (gate.min_rows) or of those that judge in a cell that "
        "the metric needs (gate.min_cell, gate.warn_cell).",
        "Add validation rows, above all of the smallest group and class."},
    [ALARM_VALIDATION_STALE] = {"validation_stale", "warning", 60000, 1000, validation_stale,
        "The newest validation row is old (alarms.validation_age).",
        "Add recent rows to the validation set."},
    [ALARM_DRIFT] = {"drift", "warning", 60000, 60000, drift,
        "Records are distributed differently from the initial set (alarms.drift).",
        "Check the source of the column: a unit, an empty field. If the change is real, renew the "
        "validation set; where the encoder no longer fits, begin a new pipeline."},
    [ALARM_CATEGORIES_UNSEEN] = {"categories_unseen", "warning", 1000, 1000, categories_unseen,
        "Labelled rows have categories that the encoder was not fitted on (features.max_unseen).",
        "Compare the category codes of both files: they were renamed, or use another coding. Correct the rows; if the new codes are permanent, begin a new pipeline."},
    [ALARM_NO_BETTER] = {"no_better_than_constant", "warning", 1000, 1000, no_better,
        "The served version is no more accurate than always answering the most frequent class.",
        "Check that initial and validation rows have the same columns, units, codes and labels."},
    [ALARM_GROUP_RATE_MOVED] = {"group_rate_moved", "warning", 1000, 60000, group_rate_moved,
        "P(yhat = positive) of a group has moved between versions (alarms.rate_moved).",
        "Compare the versions (fisctl models compare); roll back if the change is not intended."},
    [ALARM_DEAD_LETTERS] = {"dead_letters", "warning", 5000, 60000, dead_letters,
        "Many messages were refused (alarms.dead_letters).",
        "Read the reasons in the headers of the dead-letter topic, and correct the writer."},
    [ALARM_REGISTRY_AWAY] = {"registry_away", "critical", 5000, 1000, registry_away,
        "A schema is needed, and the registry does not give it (records.registry).",
        "records with a schema that is not known yet wait; check the registry, "
        "records.registry.url, its certificates and the password"},
    [ALARM_WEBHOOK_FAILS] = {"webhook_fails", "warning", 60000, 1000, webhook_fails,
        "A published version is not delivered to webhook.url; it is tried again, and later versions wait.",
        "Correct the address, its certificate (webhook.ca_file) or its service. After up to five "
        "minutes, or a restart, it is tried again."},
    [ALARM_LEFT_OUT] = {"left_out", "warning", 1000, 1000, left_out,
        "Ledger, heads or models hold a message that fisd did not write; since the start.",
        "Find its writer by topic, partition, offset and key in the log, and revoke its permission to write."},
    [ALARM_HALTED] = {"halted", "critical", 1, 1000, halted,
        "A topic that the trainer writes was deleted and recreated, or cut, under it: nothing is "
        "requested or committed any more.",
        "Stop every trainer; restore ledger, heads and models from one backup, or recreate them and "
        "begin again."},
};
/* clang-format on */

void alarms_init(struct alarms *a)
{
    memset(a, 0, sizeof *a);
    for (int i = 0; i < ALARM_COUNT; i++) {
        a->all[i].name = rules[i].name;
        a->all[i].severity = rules[i].severity;
        a->all[i].advice = rules[i].advice;
    }
}

/* What conditions compare with: when labels were last asked for and records last came, and the
 * counts of the last minutes. */
static void remember(struct alarms *a, const struct status *s)
{
    const struct trainer_role_counts *c = &s->trainer.counts;
    bool first = a->looked_ms == 0;
    if (first || c->selector.asked != a->asked || c->selector.open > 0 || !may_ask(s)) {
        a->asked = c->selector.asked;
        a->asked_ms = s->mono_ms;
        a->asked_records = c->records;
    }
    if (first || c->records != a->records || !may_ask(s)) {
        a->records = c->records;
        a->records_ms = s->mono_ms;
    }
    if (!first && s->mono_ms - a->minute_ms < MINUTE_MS)
        return;
    if (a->n_minutes == ALARM_MINUTES)
        memmove(a->minutes, a->minutes + 1, (ALARM_MINUTES - 1) * sizeof *a->minutes);
    else
        a->n_minutes++;
    a->minutes[a->n_minutes - 1].dead = dead_now(s);
    a->minutes[a->n_minutes - 1].read = read_now(s);
    a->minute_ms = s->mono_ms;
}

static void look_at(struct alarms *a, int i, const struct status *s,
                    void (*turned)(void *ctx, const struct alarm *alarm), void *ctx)
{
    struct alarm *one = &a->all[i];
    char text[ALARM_TEXT];
    bool held = rules[i].holds(&(struct look){a, s, s->cfg, one->on, text});
    if (held != one->held || a->looked_ms == 0)
        one->turned_ms = s->mono_ms;
    one->held = held;
    if (held)
        memcpy(one->text, text, sizeof text);
    if (held == one->on ||
        s->mono_ms - one->turned_ms < (held ? rules[i].raise_ms : rules[i].clear_ms))
        return;
    one->on = held;
    one->since_ms = s->wall_ms;
    if (turned)
        turned(ctx, one);
}

void alarms_look(struct alarms *a, const struct status *s,
                 void (*turned)(void *ctx, const struct alarm *alarm), void *ctx)
{
    remember(a, s);
    for (int i = 0; i < ALARM_COUNT; i++)
        look_at(a, i, s, turned, ctx);
    a->looked_ms = s->mono_ms ? s->mono_ms : 1;
}

void alarms_write_markdown(FILE *out)
{
    fputs("| alarm | severity | when | after |\n|---|---|---|---|\n", out);
    for (int i = 0; i < ALARM_COUNT; i++)
        fprintf(out, "| `%s` | %s | %s | %" PRIu64 " s |\n", rules[i].name, rules[i].severity,
                rules[i].meaning, rules[i].raise_ms / 1000);
}

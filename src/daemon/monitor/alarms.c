#include "daemon/monitor/alarms.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MINUTE_MS UINT64_C(60000)
#define NEARER 0.9      /* of a limit: where an alarm that is on goes again */
#define RATE_VERSIONS 5 /* versions before the served one that its rates are compared with */
#define FEW_DEAD 10     /* fewer are no trend */

static int say(char *text, const char *format, ...) FIS_PRINTF(2, 3);
static int say(char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, ALARM_TEXT, format, args);
    va_end(args);
    return n;
}

/* "3 d 4 h", "12 min": for people. */
static const char *span(uint64_t ms, char out[32])
{
    unsigned long long minutes = ms / MINUTE_MS;
    if (minutes >= 2 * 24 * 60)
        snprintf(out, 32, "%llu days", minutes / (24 * 60));
    else if (minutes >= 2 * 60)
        snprintf(out, 32, "%llu hours", minutes / 60);
    else if (minutes >= 2)
        snprintf(out, 32, "%llu minutes", minutes);
    else
        snprintf(out, 32, "%llu seconds", (unsigned long long)ms / 1000);
    return out;
}

/* A limit from below, of something that should stay under it. */
static double upper(double limit, bool on)
{
    return on ? limit * NEARER : limit;
}

/* ---- the process ----------------------------------------------------------------------------- */

static bool broker_away(const struct alarms *a, const struct status *s, bool on, char *text)
{
    (void)a;
    (void)on;
    if (s->stopping || s->broker_seen)
        return false;
    say(text, "%s%s%.200s", s->started ? "no broker is reached" : "no broker has answered yet",
        *s->broker_trouble ? ": " : "", s->broker_trouble);
    return true;
}

static bool not_working(const struct alarms *a, const struct status *s, bool on, char *text)
{
    char reason[STATUS_REASON];
    (void)a;
    (void)on;
    if (s->stopping || !s->broker_seen || status_ready(s, reason))
        return false;
    say(text, "%s", reason);
    return true;
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

/* Nothing is out, nothing was asked for lately, and that is not because a window still fills. */
static bool labels_starved(const struct alarms *a, const struct status *s, bool on, char *text)
{
    const struct trainer_role_counts *c = &s->trainer.counts;
    uint64_t since = c->records - a->asked_records, limit = s->cfg->alarms.starved;
    char told[32];
    (void)on;
    if (!limit || !may_ask(s) || c->selector.open > 0 || s->mono_ms - a->asked_ms < limit)
        return false;
    if (s->mono_ms - a->records_ms >= limit)
        say(text, "nothing is asked for although there is budget: no record has been scored for %s",
            span(s->mono_ms - a->records_ms, told));
    else if (since >= 2 * (uint64_t)s->cfg->selection.window_records)
        say(text,
            "nothing is asked for although there is budget: %" PRIu64 " records were scored since "
            "the last request, and %u candidates are held",
            since, c->selector.held);
    else
        return false;
    return true;
}

static bool labels_stuck(const struct alarms *a, const struct status *s, bool on, char *text)
{
    uint64_t limit = s->cfg->alarms.label_age;
    char age[32], allowed[32];
    (void)a;
    (void)on;
    if (!limit || !s->trainer.running || !s->trainer.n_requests ||
        s->trainer.requests[0].age_ms < limit)
        return false;
    say(text, "%u requests are open, the oldest for %s; alarms.label_age is %s",
        s->trainer.counts.selector.open, span(s->trainer.requests[0].age_ms, age),
        span(limit, allowed));
    return true;
}

static bool nearly_spent(uint64_t left, uint64_t budget, double share, bool on)
{
    return !left || (double)left < (on ? share / NEARER : share) * (double)budget;
}

static bool budget_low(const struct alarms *a, const struct status *s, bool on, char *text)
{
    uint64_t budget = s->cfg->selection.budget, left = s->trainer.counts.selector.budget_left;
    (void)a;
    if (!s->trainer.running || !budget || left == UINT64_MAX ||
        !nearly_spent(left, budget, s->cfg->alarms.budget_left, on))
        return false;
    say(text, "%" PRIu64 " of selection.budget's %" PRIu64 " labels are left%s", left, budget,
        left ? "" : ": nothing more is asked for");
    return true;
}

/* While the whole budget lasts: when that is spent, no day brings more. */
static bool daily_budget_low(const struct alarms *a, const struct status *s, bool on, char *text)
{
    uint64_t budget = s->cfg->selection.daily_budget, asked = s->trainer.counts.day_asked;
    uint64_t left = asked < budget ? budget - asked : 0;
    (void)a;
    if (!s->trainer.running || !budget || !s->trainer.counts.selector.budget_left ||
        !nearly_spent(left, budget, s->cfg->alarms.budget_left, on))
        return false;
    say(text, "%" PRIu64 " of selection.daily_budget's %" PRIu64 " labels are left%s", left, budget,
        left ? " for this day (UTC)" : ": nothing more is asked for on this day (UTC)");
    return true;
}

/* ---- what is served -------------------------------------------------------------------------- */

static bool gate_rejecting(const struct alarms *a, const struct status *s, bool on, char *text)
{
    uint32_t row = version_log_rejected_in_row(s->versions), limit = s->cfg->alarms.rejected;
    (void)a;
    (void)on;
    if (!limit || row < limit)
        return false;
    say(text, "%u versions in a row were rejected, the newest as %s", row,
        version_log_rejected_as(s->versions));
    return true;
}

static enum fis_metric metric_of(const struct status *s)
{
    return (enum fis_metric)(FIS_DEMOGRAPHIC_PARITY +
                             (s->cfg->fairness.metric - CONFIG_DEMOGRAPHIC_PARITY));
}

static bool unfair(const struct alarms *a, const struct status *s, bool on, char *text)
{
    const struct version_info *v = version_log_served(s->versions);
    double target = s->cfg->fairness.target;
    enum fis_metric metric = metric_of(s);
    (void)a;
    if (!(target > 0) || !v || !v->metrics.n)
        return false;
    double gap = fis_metrics_of(&v->metrics, metric);
    if (!(gap > upper(target, on)))
        return false;
    say(text, "version %" PRIu64 ", which is served, has %s %.3f; fairness.target is %.3f",
        v->version, fis_metric_name(metric), gap, target);
    return true;
}

/* What the metric compares: see fis_cells_check. */
static const char *cell_of(enum fis_metric metric)
{
    return metric == FIS_EQUAL_OPPORTUNITY || metric == FIS_EQUALIZED_ODDS ? "group and class"
                                                                           : "group";
}

static bool validation_small(const struct alarms *a, const struct status *s, bool on, char *text)
{
    const struct trainer_validation_status *v = &s->trainer.validation;
    const struct config_gate *g = &s->cfg->gate;
    enum fis_metric metric = metric_of(s);
    (void)a;
    (void)on;
    if (!s->trainer.running || v->rows == 0)
        return false;
    if (v->rows < g->min_rows)
        say(text,
            "%u validation rows, gate.min_rows is %u: no version after the first is published",
            v->rows, g->min_rows);
    else if (v->smallest_cell < g->min_cell)
        say(text,
            "%u rows to judge by in the smallest %s that %s needs, gate.min_cell is %u: no version "
            "after the first is published",
            v->smallest_cell, cell_of(metric), fis_metric_name(metric), g->min_cell);
    else if (v->smallest_cell < g->warn_cell)
        say(text,
            "%u rows to judge by in the smallest %s that %s needs; below gate.warn_cell, %u, "
            "verdicts are uncertain",
            v->smallest_cell, cell_of(metric), fis_metric_name(metric), g->warn_cell);
    else
        return false;
    return true;
}

static bool validation_stale(const struct alarms *a, const struct status *s, bool on, char *text)
{
    int64_t newest = s->trainer.validation.newest_ms;
    uint64_t limit = s->cfg->alarms.validation_age;
    char age[32], allowed[32];
    (void)a;
    (void)on;
    if (!limit || !s->trainer.running || newest <= 0 || s->wall_ms < newest ||
        (uint64_t)(s->wall_ms - newest) < limit)
        return false;
    say(text, "the newest validation row is of %s ago; alarms.validation_age is %s",
        span((uint64_t)(s->wall_ms - newest), age), span(limit, allowed));
    return true;
}

static bool drift(const struct alarms *a, const struct status *s, bool on, char *text)
{
    const struct scorer_drift *d = &s->scorer.drift;
    double limit = s->cfg->alarms.drift;
    (void)a;
    if (!(limit > 0) || d->n == 0 || !(d->columns[0].psi > upper(limit, on)))
        return false;
    say(text,
        "column %.100s of the records is not distributed as in the initial set: population "
        "stability index %.2f, alarms.drift is %.2f (%u of %u columns are above)",
        d->columns[0].name, d->columns[0].psi, limit, d->above, d->all);
    return true;
}

/* The largest move of a group's rate from `then` to `now`, over the move that chance explains. */
static bool moved(const struct version_info *then, const struct version_info *now, double limit,
                  char *text)
{
    uint32_t groups = now->metrics.n_groups;
    for (uint32_t g = 0; g < groups && groups == then->metrics.n_groups; g++) {
        const struct fis_group_metrics *p = &then->metrics.group[g], *q = &now->metrics.group[g];
        if (p->n == 0 || q->n == 0)
            continue;
        double rate = (p->positive_rate + q->positive_rate) / 2;
        double se = sqrt(rate * (1 - rate) * (1 / (double)p->n + 1 / (double)q->n));
        double by = fabs(q->positive_rate - p->positive_rate);
        if (by > limit && by > 3 * se) {
            say(text,
                "P(yhat = positive) of group %u went from %.3f in version %" PRIu64
                " to %.3f in version %" PRIu64 "; alarms.rate_moved is %.3f",
                g, p->positive_rate, then->version, q->positive_rate, now->version, limit);
            return true;
        }
    }
    return false;
}

static bool group_rate_moved(const struct alarms *a, const struct status *s, bool on, char *text)
{
    const struct version_info *now = version_log_served(s->versions), *then;
    double limit = upper(s->cfg->alarms.rate_moved, on);
    uint32_t compared = 0;
    (void)a;
    if (!now || !(limit > 0) || !now->metrics.n)
        return false;
    for (uint32_t i = 0; (then = version_log_at(s->versions, i)) && compared < RATE_VERSIONS; i++) {
        if (then == now || !then->served || !then->metrics.n || then->version > now->version)
            continue;
        compared++;
        if (moved(then, now, limit, text))
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

static bool dead_letters(const struct alarms *a, const struct status *s, bool on, char *text)
{
    double limit = s->cfg->alarms.dead_letters;
    uint64_t dead = dead_now(s), all = read_now(s);
    if (!(limit > 0) || dead < a->minutes[0].dead || all < a->minutes[0].read)
        return false;
    dead -= a->minutes[0].dead;
    all -= a->minutes[0].read;
    if (dead < FEW_DEAD || (double)dead <= upper(limit, on) * (double)all)
        return false;
    say(text,
        "%" PRIu64 " of the last five minutes' %" PRIu64 " messages could not be used; the "
        "dead-letter topic has them with the reason",
        dead, all);
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct rule {
    const char *name, *severity;
    uint64_t raise_ms, clear_ms; /* how long the condition must hold, and not hold */
    bool (*holds)(const struct alarms *a, const struct status *s, bool on, char *text);
    const char *meaning;
};
/* clang-format off */
static const struct rule rules[ALARM_COUNT] = {
    [ALARM_BROKER_AWAY] = {"broker_away", "critical", 30000, 5000, broker_away,
        "No Kafka broker is reached."},
    [ALARM_NOT_WORKING] = {"not_working", "critical", 120000, 5000, not_working,
        "The process is not ready, as /readyz says it, though a broker is there: no leader and no "
        "warm standby, no head, no partition."},
    [ALARM_LABELS_STARVED] = {"labels_starved", "warning", 10000, 1000, labels_starved,
        "There is budget, and nothing to ask for (alarms.starved)."},
    [ALARM_LABELS_STUCK] = {"labels_stuck", "warning", 10000, 1000, labels_stuck,
        "A request waits for its label for too long (alarms.label_age)."},
    [ALARM_BUDGET_LOW] = {"budget_low", "warning", 1000, 10000, budget_low,
        "The budget is nearly spent (alarms.budget_left), or all of it."},
    [ALARM_DAILY_BUDGET_LOW] = {"daily_budget_low", "warning", 1000, 10000, daily_budget_low,
        "The day's budget is nearly spent (alarms.budget_left), or all of it."},
    [ALARM_GATE_REJECTING] = {"gate_rejecting", "warning", 1000, 1000, gate_rejecting,
        "The gate rejects again and again (alarms.rejected); what is rejected only for a pin does not "
        "count."},
    [ALARM_UNFAIR] = {"unfair", "critical", 1000, 60000, unfair,
        "What is served is less fair than fairness.target wants."},
    [ALARM_VALIDATION_SMALL] = {"validation_small", "warning", 1000, 1000, validation_small,
        "Too few validation rows, in all (gate.min_rows) or of those that judge in a group, or group "
        "and class, that the metric needs (gate.min_cell, gate.warn_cell)."},
    [ALARM_VALIDATION_STALE] = {"validation_stale", "warning", 60000, 1000, validation_stale,
        "The newest validation row is old (alarms.validation_age)."},
    [ALARM_DRIFT] = {"drift", "warning", 60000, 60000, drift,
        "Records are not distributed as the initial set was (alarms.drift)."},
    [ALARM_GROUP_RATE_MOVED] = {"group_rate_moved", "warning", 1000, 60000, group_rate_moved,
        "P(yhat = positive) of a group has moved between versions (alarms.rate_moved)."},
    [ALARM_DEAD_LETTERS] = {"dead_letters", "warning", 5000, 60000, dead_letters,
        "Many messages cannot be used (alarms.dead_letters)."},
};
/* clang-format on */

void alarms_init(struct alarms *a)
{
    memset(a, 0, sizeof *a);
    for (int i = 0; i < ALARM_COUNT; i++) {
        a->all[i].name = rules[i].name;
        a->all[i].severity = rules[i].severity;
        a->all[i].meaning = rules[i].meaning;
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

void alarms_look(struct alarms *a, const struct status *s,
                 void (*turned)(void *ctx, const struct alarm *alarm), void *ctx)
{
    remember(a, s);
    for (int i = 0; i < ALARM_COUNT; i++) {
        struct alarm *one = &a->all[i];
        char text[ALARM_TEXT];
        bool held = rules[i].holds(a, s, one->on, text);
        if (held != one->held || a->looked_ms == 0)
            one->turned_ms = s->mono_ms;
        one->held = held;
        if (held)
            memcpy(one->text, text, sizeof text);
        if (held == one->on ||
            s->mono_ms - one->turned_ms < (held ? rules[i].raise_ms : rules[i].clear_ms))
            continue;
        one->on = held;
        one->since_ms = s->wall_ms;
        if (turned)
            turned(ctx, one);
    }
    a->looked_ms = s->mono_ms ? s->mono_ms : 1;
}

void alarms_write_markdown(FILE *out)
{
    fputs("| alarm | severity | when | after |\n|---|---|---|---|\n", out);
    for (int i = 0; i < ALARM_COUNT; i++)
        fprintf(out, "| `%s` | %s | %s | %" PRIu64 " s |\n", rules[i].name, rules[i].severity,
                rules[i].meaning, rules[i].raise_ms / 1000);
}

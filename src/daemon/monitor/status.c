/* Filling the status, and its texts. */
#include "daemon/monitor/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "daemon/monitor/monitor_impl.h"
#include "fis/version.h"

/* A trouble that was not reported again for so long is over, or reported otherwise. */
#define TROUBLE_MS 30000
#define RATE_SECONDS 10u
#define COPY(field, text) snprintf(field, sizeof(field), "%s", text)

static void fill_kafka(struct monitor *m, struct status *s)
{
    uint32_t known = 0, up = 0;
    s->kafka = m->kafka.slots;
    s->n_kafka = m->kafka.n;
    for (uint32_t i = 0; i < m->kafka.n; i++) {
        known += m->kafka.slots[i].stats.brokers;
        up += m->kafka.slots[i].stats.brokers_up;
    }
    s->broker_seen = s->started && (known == 0 || up > 0);
    if (m->trouble_ms && s->mono_ms - m->trouble_ms < TROUBLE_MS)
        memcpy(s->broker_trouble, m->trouble, sizeof s->broker_trouble);
}

static void fill_seconds(struct monitor *m, struct status *s)
{
    for (uint32_t i = 0; i < m->n_seconds; i++)
        m->ordered[i] =
            m->seconds[(m->next_second + STATUS_SECONDS - m->n_seconds + i) % STATUS_SECONDS];
    s->seconds = m->ordered;
    s->n_seconds = m->n_seconds;
}

static void fill_process(const struct monitor *m, struct status *s)
{
    const struct context *ctx = m->ctx;
    struct trainer_time now = context_now();
    s->cfg = ctx->cfg;
    s->embedded = ctx->embedded;
    s->exactly_once = ctx->exactly_once;
    s->started = ctx->started;
    s->stopping = ctx->stopping;
    s->wall_ms = now.wall_ms;
    s->mono_ms = now.mono_ms;
    s->uptime_ms = now.mono_ms - m->began_ms;
    s->started_at_ms = m->began_wall_ms;
    s->log = log_counts();
    s->loop_seconds = &ctx->watch.seconds;
    s->loop_cpu_seconds = &ctx->watch.cpu_seconds;
    if (m->http)
        s->http = *http_server_counts(m->http);
    s->webhook = webhook_status(m->webhook);
}

static void add_dead(struct status *s, const char *topic, enum dead_letter_from from,
                     const struct dead_counts *counts)
{
    if (counts)
        s->dead[s->n_dead++] = (struct status_dead){topic, from, counts};
}

static void fill_dead(struct status *s)
{
    const struct config_topics *t = &s->cfg->topics;
    add_dead(s, t->records, DEAD_RECORDS, s->scorer.dead);
    add_dead(s, t->labels, DEAD_LABELS, s->trainer.dead[0]);
    add_dead(s, t->candidates, DEAD_CANDIDATES, s->trainer.dead[1]);
    add_dead(s, t->control, DEAD_CONTROL, s->trainer.dead[2]);
}

/* ---- this process, for the others -------------------------------------------------------------
 */

static double records_per_second(const struct status *s)
{
    uint32_t n = s->n_seconds < RATE_SECONDS ? s->n_seconds : RATE_SECONDS;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += s->seconds[s->n_seconds - 1 - i].records;
    return n ? (double)sum / n : 0;
}

static void view_leading(const struct status *s, struct wire_process_leading *l)
{
    const struct trainer_status *t = &s->trainer;
    const struct trainer_role_counts *c = &t->counts;
    *l = (struct wire_process_leading){
        .round = c->round,
        .training = t->busy,
        .paused = c->paused,
        .pinned = c->pinned,
        .served_version = c->served_version,
        .asked = c->selector.asked,
        .open = c->selector.open,
        .answered = c->selector.answered,
        .kept = c->learner.kept,
        .budget = s->cfg->selection.budget,
        .budget_left = s->cfg->selection.budget ? c->selector.budget_left : 0,
    };
    COPY(l->phase, c->phase);
    COPY(l->asking, asking_name(t->asking.state));
    COPY(l->asking_text, t->asking.text);
}

static void view_self(const struct status *s, struct wire_process *out)
{
    const struct scorer_counts *c = &s->scorer.counts;
    char reason[STATUS_REASON], doing[STATUS_REASON];
    bool ready = status_ready(s, reason);
    status_line(s, doing, sizeof doing);
    *out = (struct wire_process){
        .started_at_ms = s->started_at_ms,
        .interval_ms = FLEET_INTERVAL_MS,
        .local = s->local,
        .ready = ready,
        .scores = s->scorer.on,
        .trains = s->trainer.on,
        .leads = s->trainer.on && s->trainer.running,
        .scorer = {.partitions = s->scorer.owned,
                   .records = c->records,
                   .refused = c->refused,
                   .per_second = records_per_second(s),
                   .lag = s->scorer.lag,
                   .head_version = s->scorer.head_version},
    };
    COPY(out->name, s->name);
    COPY(out->host, s->host);
    COPY(out->pipeline, s->cfg->pipeline);
    COPY(out->version, FIS_VERSION);
    COPY(out->address, s->address);
    COPY(out->doing, ready || s->stopping ? doing : reason);
    COPY(out->state, out->trains ? election_state_name(s->trainer.state) : "");
    for (int i = 0; i < ALARM_COUNT && out->n_alarms < WIRE_PROCESS_ALARMS; i++)
        if (s->alarms->all[i].on)
            COPY(out->alarm[out->n_alarms++], s->alarms->all[i].name);
    if (out->leads)
        view_leading(s, &out->leading);
}

static void fill_fleet(const struct monitor *m, struct status *s)
{
    s->name = m->name;
    s->host = m->host;
    s->address = m->address;
    s->local = m->http && !s->cfg->http.url && http_server_loopback(m->http);
    s->fleet = fleet_others(m->fleet, &s->n_fleet);
    s->fleet_trouble = fleet_trouble(m->fleet);
    view_self(s, &s->self);
}

static const struct status *fill(struct monitor *m, bool want_best)
{
    struct status *s = &m->status;
    memset(s, 0, sizeof *s);
    fill_process(m, s);
    fill_kafka(m, s);
    fill_seconds(m, s);
    s->versions = m->versions;
    s->groups = (const char *const *)m->groups;
    s->n_groups = m->n_groups;
    s->lags = m->lags;
    s->alarms = &m->alarms;
    s->scorer.on = (s->cfg->roles & CONFIG_SCORER) != 0;
    s->trainer.on = (s->cfg->roles & CONFIG_TRAINER) != 0;
    s->scorer.lag = s->trainer.label_age_ms = -1;
    s->trainer.want_best = want_best;
    if (m->scorer)
        s->n_lags += scorer_host_status(m->scorer, &s->scorer, m->lags, STATUS_PARTITIONS);
    if (m->trainer)
        s->n_lags += trainer_host_status(m->trainer, &s->trainer, m->lags + s->n_lags,
                                         STATUS_PARTITIONS - s->n_lags);
    fill_dead(s);
    s->trainer.validation.newest_ms = s->trainer.running ? m->validation_ms : 0;
    fill_fleet(m, s);
    return s;
}

const struct status *status_now(struct monitor *m)
{
    return fill(m, false);
}

const struct status *status_with_best(struct monitor *m)
{
    return fill(m, true);
}

/* ---- ready? ---------------------------------------------------------------------------------- */

static bool scorer_ready(const struct scorer_status *s, const char *trouble,
                         char reason[STATUS_REASON])
{
    if (s->waits_for) {
        snprintf(reason, STATUS_REASON,
                 "scorer: topic %.*s is missing, and what it found waits for it: create it again",
                 STATUS_REASON / 2, s->waits_for);
        return false;
    }
    const char *why = !s->open ? "scorer: it has not begun yet"
                      : s->head_version == 0
                          ? "scorer: there is no head yet, which a trainer makes when it begins"
                      : s->owned == 0 ? "scorer: no partition is assigned to it: there are more "
                                        "scorers than partitions, or the group is forming"
                                      : NULL;
    if (why)
        snprintf(reason, STATUS_REASON, "%s%s%.100s", why, *trouble ? ": " : "", trouble);
    return !why;
}

/* `trouble`: what Kafka's clients reported recently; it is what a trainer waits for, if it
 * waits. */
static bool trainer_ready(const struct trainer_status *t, const char *trouble,
                          char reason[STATUS_REASON])
{
    static const char *const doing[] = {
        [ELECTION_NEW] = "it has not begun yet",
        [ELECTION_STANDBY] = "it is reading ledger, heads and models",
        [ELECTION_FENCE] =
            "it is about to lead, and waits for the broker's transaction coordinator",
        [ELECTION_CATCH_UP] = "it is about to lead, and reads ledger, heads and models once more",
        [ELECTION_LEAD] = "it is loading what it trains and judges on",
        [ELECTION_DRAIN] = "it is committing, and then stops",
        [ELECTION_LEAVING] = "it closes its connections, to restart from the ledger",
        [ELECTION_STOPPED] = "it has ended",
    };
    if (t->halted || t->waits) {
        snprintf(reason, STATUS_REASON, "trainer: %s", t->halted ? t->halted : t->waits);
        return false;
    }
    bool leads = t->state == ELECTION_LEAD && t->running;
    if ((t->state == ELECTION_STANDBY && t->warm) || (leads && t->counts.head_version > 0))
        return true;
    snprintf(reason, STATUS_REASON, "trainer: %s%s%.*s",
             leads ? "it is warming up" : doing[t->state], leads || !*trouble ? "" : ": ",
             leads ? 0 : 180, trouble);
    return false;
}

bool status_ready(const struct status *s, char reason[STATUS_REASON])
{
    reason[0] = 0;
    if (s->stopping) {
        snprintf(reason, STATUS_REASON, "it is stopping");
    } else if (!s->started || !s->broker_seen) {
        snprintf(reason, STATUS_REASON, "%s%s%.180s",
                 s->started ? "no broker is reached" : "no broker has answered yet",
                 *s->broker_trouble ? ": " : "", s->broker_trouble);
    } else {
        return (!s->trainer.on || trainer_ready(&s->trainer, s->broker_trouble, reason)) &&
               (!s->scorer.on || scorer_ready(&s->scorer, s->broker_trouble, reason));
    }
    return false;
}

/* ---- a line ---------------------------------------------------------------------------------- */

static int scorer_line(const struct scorer_status *s, char *out, size_t size)
{
    if (s->head_version == 0)
        return snprintf(out, size, "scorer waits for a head");
    if (s->owned == 0)
        return snprintf(out, size, "scorer waits for partitions");
    if (s->lag < 0)
        return snprintf(out, size, "scoring");
    return snprintf(out, size, "scoring, %" PRId64 " records behind", s->lag);
}

static void trainer_line(const struct trainer_status *t, char *out, size_t size)
{
    const struct trainer_role_counts *c = &t->counts;
    if (!t->waits && t->state == ELECTION_STANDBY && t->warm)
        snprintf(out, size, "standing by: it takes over when the leader is gone");
    else if (t->waits || !t->running)
        snprintf(out, size, "trainer: %s", t->waits ? t->waits : election_state_name(t->state));
    else if (t->busy)
        snprintf(out, size, "training, round %u, served version %" PRIu64, c->round,
                 c->served_version);
    else
        snprintf(out, size, "asking: %s; %s open, served version %" PRIu64, t->asking.text,
                 DECIMAL_COUNT(c->selector.open, "label"), c->served_version);
}

void status_line(const struct status *s, char *out, size_t size)
{
    size_t n = 0;
    if (s->stopping || !s->started) {
        snprintf(out, size, "%s", s->stopping ? "stopping" : "waiting for Kafka");
        return;
    }
    out[0] = 0;
    if (s->scorer.on)
        n = (size_t)scorer_line(&s->scorer, out, size);
    if (s->trainer.on && n + 2 < size) {
        n += (size_t)snprintf(out + n, size - n, "%s", n ? "; " : "");
        trainer_line(&s->trainer, out + n, size - n);
    }
}

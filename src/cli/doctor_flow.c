/* What flows: who runs, how far behind, what an open transaction hides, whose clock is wrong. */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "base/decimal.h"
#include "cli/ledger_view.h"
#include "cli/live_head.h"
#include "cli/screen.h"

enum { HELD_MS = 5000, CLOCK_MS = 30000 };

void doctor_members(struct doctor *d)
{
    struct fis_error e;
    char scorers[64], trainers[64];
    if (pipeline_members_read(d->cli, &d->members, &e)) {
        doctor_say(d, DOCTOR_WARN, "processes", "the members of the groups cannot be read: %s",
                   e.text);
        return;
    }
    bool none = !d->members.scorers || !d->members.trainers;
    if (none)
        doctor_command(d, "fisd -c %s", d->cli->config_path);
    doctor_say(d, none ? DOCTOR_WARN : DOCTOR_OK, "processes", "%s, %s",
               decimal_counted(d->members.scorers, "scorer", scorers),
               decimal_counted(d->members.trainers, "trainer", trainers));
}

static uint32_t place(const struct doctor *d, const char *topic)
{
    uint32_t i = 0;
    while (i < d->n && strcmp(d->list[i].name, topic))
        i++;
    return i;
}

static void say_lag(struct doctor *d, const char *group, const char *topic, uint32_t members,
                    const char *who)
{
    int64_t lag;
    struct fis_error e;
    char count[64];
    uint32_t i = place(d, topic);
    if (i == d->n || !d->reports[i].exists)
        return;
    if (stream_group_lag(&d->cli->client, group, topic, cli_answer_ms(d->cli), &lag, &e)) {
        doctor_say(d, DOCTOR_WARN, "lag", "%s", e.text);
        return;
    }
    const char *waits = decimal_agree((uint64_t)lag, "waits", "wait");
    decimal_counted((uint64_t)lag, "message", count);
    if (lag && !members)
        doctor_say(d, DOCTOR_WARN, "lag", "%s of %s %s: no %s runs", count, topic, waits, who);
    else
        doctor_say(d, DOCTOR_OK, "lag", "%s of %s %s for the %s", count, topic, waits, who);
}

void doctor_lag(struct doctor *d)
{
    const struct config *cfg = &d->cli->cfg;
    const char *topics[CONFIG_RECORDS_MAX];
    char group[CONFIG_GROUP_MAX];
    config_scorer_group(cfg, group);
    if (cfg->selection.mode != CONFIG_POOL) /* which commits nothing */
        for (uint32_t n = config_record_topics(cfg, topics); n;)
            say_lag(d, group, topics[--n], d->members.scorers, "scorer");
    config_trainer_group(cfg, group);
    say_lag(d, group, cfg->topics.labels, d->members.trainers, "trainer");
}

/* What scorers take from the trainer's configuration and not from this one. */
void doctor_selection(struct doctor *d)
{
    struct live_head head = {0};
    struct fis_error e;
    uint32_t i = place(d, d->cli->cfg.topics.heads);
    if (i == d->n || !d->reports[i].exists)
        return;
    int rc = live_head_open(&head, d->cli, &e);
    if (rc == -FIS_INPUT)
        doctor_say(d, DOCTOR_OK, "selection", "no trainer has sent a head yet: nothing to compare");
    else if (rc)
        doctor_say(d, DOCTOR_WARN, "selection", "%s", e.text);
    else if (head.difference[0])
        doctor_say(d, DOCTOR_WARN, "selection",
                   "the trainer has %s: that counts, for its scorers too; give all processes the "
                   "same",
                   head.difference);
    else
        doctor_say(d, DOCTOR_OK, "selection", "heap, distinct and seed are the trainer's");
    live_head_close(&head);
}

/* ---- open transactions ------------------------------------------------------------------------
 */

static int ask_hidden(struct doctor *d, const char *const *names, size_t n,
                      struct stream_hidden *out)
{
    struct fis_error e;
    int rc = stream_topics_hidden(&d->cli->client, names, n, cli_answer_ms(d->cli), out, &e);
    if (rc)
        doctor_say(d, DOCTOR_WARN, "transactions", "cannot be asked: %s", e.text);
    return rc;
}

/* Of those in `first` that hid something: those that still do, and have not moved. */
static size_t still_hidden(const struct stream_hidden *first, const struct stream_hidden *now,
                           size_t n, bool *held)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        held[i] = held[i] && now[i].hidden && now[i].stable == first[i].stable;
        count += held[i];
    }
    return count;
}

/* What is open for a moment is a unit under way. */
void doctor_transactions(struct doctor *d)
{
    const char *names[CONFIG_TOPICS_MAX];
    struct stream_hidden first[CONFIG_TOPICS_MAX], now[CONFIG_TOPICS_MAX];
    bool held[CONFIG_TOPICS_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->reports[i].exists)
            names[n++] = d->list[i].name;
    memset(held, true, sizeof held);
    if (!n || ask_hidden(d, names, n, first))
        return;
    memcpy(now, first, sizeof now);
    const int64_t until = cli_now_ms() + HELD_MS;
    while (still_hidden(first, now, n, held) && cli_now_ms() < until && !cli_stopping(d->cli)) {
        cli_sleep(d->cli, 1000);
        if (ask_hidden(d, names, n, now))
            return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!held[i])
            continue;
        d->ledger_hidden |= !strcmp(names[i], d->cli->cfg.topics.ledger);
        doctor_command(d, "kafka-transactions.sh --bootstrap-server %s find-hanging --broker-id N",
                       d->cli->broker);
        doctor_say(d, DOCTOR_WARN, "transactions",
                   "%s: a transaction that has been open for %d s hides %s; a trainer "
                   "that begins to lead ends its own, another is ended by its writer or by abort",
                   names[i], HELD_MS / 1000, DECIMAL_COUNT((uint64_t)now[i].hidden, "message"));
    }
    if (!still_hidden(first, now, n, held))
        doctor_say(d, DOCTOR_OK, "transactions", "none is left open");
}

/* ---- clocks -----------------------------------------------------------------------------------
 */

struct stamps {
    struct ledger_view view;
    int64_t newest_ms;  /* of all messages, by the broker */
    int64_t trainer_ms; /* how far the trainer's clock was ahead when it wrote its newest state */
};

static int take_stamp(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct stamps *s = arg;
    int rc = ledger_view_take(&s->view, m, false, e);
    if (m->timestamp_ms > s->newest_ms)
        s->newest_ms = m->timestamp_ms;
    if (rc > 0)
        s->trainer_ms = s->view.state.wall_ms - m->timestamp_ms;
    return rc < 0 ? rc : 0;
}

static void say_clocks(struct doctor *d, const struct stamps *s)
{
    int64_t ahead = s->newest_ms - cli_wall_ms();
    bool found = false;
    if (ahead > CLOCK_MS) {
        found = true;
        doctor_say(d, DOCTOR_WARN, "clocks",
                   "the broker's clock is %lld s ahead of this machine's, at least",
                   (long long)ahead / 1000);
    }
    if (s->view.found && llabs(s->trainer_ms) > CLOCK_MS) {
        found = true;
        doctor_say(d, DOCTOR_WARN, "clocks",
                   "the trainer's clock was %lld s %s the broker's when it wrote its state: "
                   "deadlines and days are by its clock; synchronize both (NTP)",
                   llabs(s->trainer_ms) / 1000, s->trainer_ms > 0 ? "ahead of" : "behind");
    }
    if (!found && s->view.found)
        doctor_say(d, DOCTOR_OK, "clocks", "the trainer's and the broker's agree to %lld ms",
                   llabs(s->trainer_ms));
    else if (!found)
        doctor_say(d, DOCTOR_OK, "clocks", "no trainer has written yet: nothing to compare");
}

void doctor_clock(struct doctor *d)
{
    const char *ledger = d->cli->cfg.topics.ledger;
    struct stamps s = {0};
    struct fis_error e;
    uint32_t i = place(d, ledger);
    if (i == d->n || !d->reports[i].exists || d->ledger_hidden)
        return;
    if (d->reports[i].kept.known && !d->reports[i].kept.broker_time) {
        doctor_command(d,
                       "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics "
                       "--entity-name %s --add-config message.timestamp.type=LogAppendTime",
                       d->cli->broker, ledger);
        doctor_say(d, DOCTOR_WARN, "clocks",
                   "%s has its writers' stamps: a clock that is an hour ahead has them refused",
                   ledger);
        return;
    }
    int rc = ledger_view_init(&s.view, d->cli->schema.max_bytes, &e);
    if (!rc)
        rc = topic_reader_all(d->cli, ledger, take_stamp, &s, &e);
    if (rc)
        doctor_say(d, DOCTOR_WARN, "clocks", "%s", e.text);
    else
        say_clocks(d, &s);
    ledger_view_done(&s.view);
}

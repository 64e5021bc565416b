/* What this principal may do, in the roles of the configuration. */

#include "cli/doctor.h"
#include "stream/rights.h"

enum { RIGHTS_MS = 5000 };

static void need(struct doctor *d, const char *operation, const char *kind, const char *name)
{
    const char *user = config_kafka(&d->cli->cfg, "sasl.username");
    doctor_command(d,
                   "kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s "
                   "--operation %s --%s %s",
                   d->cli->broker, user ? user : "NAME", operation, kind, name);
}

static void say_right(struct doctor *d, const struct stream_rights *r, bool write)
{
    enum stream_may may = write ? r->write : r->read;
    if ((write ? !r->writing : !r->reading) || may == STREAM_MAY)
        return;
    if (may == STREAM_MAY_NOT) {
        need(d, write ? "Write" : "Read", "topic", r->topic);
        doctor_say(d, DOCTOR_FAULT, "rights", "%s may not be %s", r->topic,
                   write ? "written" : "read");
        return;
    }
    doctor_say(d, DOCTOR_WARN, "rights", "whether %s may be %s is not known: %s", r->topic,
               write ? "written" : "read", r->why[0] ? r->why : "no answer in time");
}

static void say_rights(struct doctor *d, const struct stream_rights *r)
{
    say_right(d, r, false);
    say_right(d, r, true);
}

static void say_may(struct doctor *d, int rc, enum stream_may may, const struct fis_error *e,
                    const char *what, const char *name)
{
    if (!rc && may == STREAM_MAY)
        return;
    if (!rc && may == STREAM_MAY_NOT)
        doctor_say(d, DOCTOR_FAULT, "rights", "the %s %s may not be used", what, name);
    else
        doctor_say(d, DOCTOR_WARN, "rights", "whether the %s %s may be used is not known: %s", what,
                   name, e->text);
}

static void check_group(struct doctor *d, const char *group, const char *topic)
{
    enum stream_may may = STREAM_MAY_UNKNOWN;
    struct fis_error e = {0};
    int rc = stream_right_group(&d->cli->client, group, topic, RIGHTS_MS, &may, &e);
    if (!rc && may == STREAM_MAY_NOT)
        need(d, "Read", "group", group);
    say_may(d, rc, may, &e, "consumer group", group);
}

static void check_transactions(struct doctor *d, const char *id)
{
    enum stream_may may = STREAM_MAY_UNKNOWN;
    struct fis_error e = {0};
    int rc = stream_right_transactions(&d->cli->client, id, RIGHTS_MS, &may, &e);
    if (!rc && may == STREAM_MAY_NOT)
        need(d, "Write --operation Describe", "transactional-id", id);
    say_may(d, rc, may, &e, "transactional id", id);
}

static void check_topics(struct doctor *d)
{
    struct stream_rights rights[CONFIG_TOPICS_MAX];
    const unsigned roles = d->cli->cfg.roles;
    struct fis_error e;
    size_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        struct stream_rights r = {.topic = d->list[i].name,
                                  .reading = (d->list[i].readers & roles) != 0,
                                  .writing = (d->list[i].writers & roles) != 0,
                                  .read = STREAM_MAY_NOT,
                                  .write = STREAM_MAY_NOT};
        if (d->reports[i].denied)
            say_rights(d, &r); /* either one comes with the right to ask */
        r.read = r.write = STREAM_MAY_UNKNOWN;
        if (d->reports[i].exists && (r.reading || r.writing))
            rights[n++] = r;
    }
    if (n && stream_rights_topics(&d->cli->client, rights, n, RIGHTS_MS, &e))
        doctor_say(d, DOCTOR_FAULT, "rights", "%s", e.text);
    for (size_t i = 0; i < n; i++)
        say_rights(d, &rights[i]);
}

void doctor_rights(struct doctor *d)
{
    const struct config *cfg = &d->cli->cfg;
    bool scorer = cfg->roles & CONFIG_SCORER, trainer = cfg->roles & CONFIG_TRAINER;
    unsigned before = d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT];
    char group[CONFIG_GROUP_MAX];
    check_topics(d);
    config_scorer_group(cfg, group);
    if (scorer)
        check_group(d, group, cfg->topics.records);
    config_trainer_group(cfg, group);
    if (trainer)
        check_group(d, group, cfg->topics.ledger);
    if (trainer && cfg->delivery == CONFIG_EXACTLY_ONCE)
        check_transactions(d, group);
    if (before == d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT])
        doctor_say(d, DOCTOR_OK, "rights", "all that %s%s%s of this configuration need",
                   scorer ? "a scorer" : "", scorer && trainer ? " and " : "",
                   trainer ? "a trainer" : "");
}

/* Topics: whether they are there and kept as they have to be. */
#include <string.h>

#include "cli/doctor.h"

#include "base/decimal.h"
#include "binding/binding.h"

static const char *level_text(const struct stream_topic_report *r)
{
    return r->text[0] ? r->text : "is as it should be";
}

/* What a start refuses is a fault, and so is a topic that is not there or was not described. */
static enum doctor_level level_of(const struct doctor *d, uint32_t i)
{
    const struct stream_topic_report *r = &d->reports[i];
    switch (stream_topic_judge(&d->topics[i], r)) {
    case STREAM_TOPIC_LOSES:
    case STREAM_TOPIC_KEYED:
        return DOCTOR_FAULT;
    case STREAM_TOPIC_UNORDERED:
    case STREAM_TOPIC_POLICY:
    case STREAM_TOPIC_UNKNOWN:
        return DOCTOR_WARN;
    case STREAM_TOPIC_WELL:
        break;
    }
    return !r->exists ? DOCTOR_FAULT : r->differs ? DOCTOR_WARN : DOCTOR_OK;
}

static void say_topic(struct doctor *d, uint32_t i)
{
    const struct stream_topic_report *r = &d->reports[i];
    const char *name = d->list[i].name;
    enum doctor_level level = level_of(d, i);
    bool unordered = stream_topic_judge(&d->topics[i], r) == STREAM_TOPIC_UNORDERED;
    if (level == DOCTOR_OK || r->denied)
        return; /* a role need not see what it does not use; else doctor_rights reports it */
    if (r->missing)
        doctor_command(d, "fisctl -c %s topics create", d->cli->config_path);
    else
        stream_topic_command(&d->topics[i], r, d->cli->broker, d->command, sizeof d->command);
    doctor_say(d, level, "topics", "%s %s%s", name, level_text(r),
               unordered ? ": its order counts, and only the first partition is used" : "");
}

bool doctor_topics(struct doctor *d)
{
    struct fis_error e;
    struct cli *c = d->cli;
    d->n = pipeline_topics(c, false, d->list, d->topics);
    int rc = stream_topics_check(&c->client, d->topics, d->n, cli_answer_ms(c), d->reports, &e);
    if (c->embedded) {
        doctor_say(d, DOCTOR_OK, "broker",
                   "the embedded broker at %s answers; it keeps the last 5 MB of a partition, and "
                   "has no policies, rights or replicas to look at",
                   c->broker);
        return false;
    }
    if (rc) {
        doctor_say(d, DOCTOR_FAULT, "broker", "%s: %s", c->broker, e.text);
        return false;
    }
    doctor_say(d, DOCTOR_OK, "broker", "%s answers", c->broker);
    unsigned before = d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT];
    for (uint32_t i = 0; i < d->n; i++)
        say_topic(d, i);
    if (before == d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT])
        doctor_say(d, DOCTOR_OK, "topics", "all %u are there, with their cleanup policies", d->n);
    return true;
}

/* ---- replicas ---------------------------------------------------------------------------------
 */

static void say_replicas(struct doctor *d, uint32_t i)
{
    const struct stream_topic_report *r = &d->reports[i];
    const char *name = d->list[i].name;
    int wished = (int)d->list[i].replication, least = r->kept.min_insync;
    if (r->leaderless)
        doctor_say(d, DOCTOR_FAULT, "replicas", "%s: %s without a leader", name,
                   DECIMAL_COUNT((uint64_t)r->leaderless, "partition"));
    if (least > r->replicas) {
        doctor_set_topic(d, name, "min.insync.replicas", r->replicas > 1 ? r->replicas - 1 : 1);
        doctor_say(d, DOCTOR_FAULT, "replicas",
                   "%s: nothing can be written: min.insync.replicas is %d, and it has %d", name,
                   least, (int)r->replicas);
    } else if (least > r->in_sync) {
        doctor_say(d, DOCTOR_FAULT, "replicas",
                   "%s: nothing can be written: %d of %s in sync, and "
                   "min.insync.replicas is %d; look for the brokers that are down",
                   name, (int)r->in_sync, DECIMAL_COUNT((uint64_t)r->replicas, "replica"), least);
    } else if (r->in_sync < r->replicas) {
        doctor_say(d, DOCTOR_WARN, "replicas", "%s: %d of %d replicas in sync", name,
                   (int)r->in_sync, (int)r->replicas);
    }
    if (r->replicas < wished)
        doctor_say(d, DOCTOR_WARN, "replicas",
                   "%s: %s, topics.replication is %d; kafka-reassign-partitions.sh adds "
                   "them",
                   name, DECIMAL_COUNT((uint64_t)r->replicas, "replica"), wished);
    if (r->replicas > 2 && least == 1) {
        doctor_set_topic(d, name, "min.insync.replicas", 2);
        doctor_say(d, DOCTOR_WARN, "replicas",
                   "%s: what one broker alone has acknowledged is lost with it", name);
    }
}

void doctor_replicas(struct doctor *d)
{
    unsigned before = d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT];
    int least = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct stream_topic_report *r = &d->reports[i];
        if (!r->exists)
            continue;
        least = least && least < r->replicas ? least : r->replicas;
        say_replicas(d, i);
    }
    if (!least || before != d->count[DOCTOR_WARN] + d->count[DOCTOR_FAULT])
        return;
    doctor_say(d, DOCTOR_OK, "replicas", "%d of each partition at least%s", least,
               least == 1 ? "; the loss of a broker is the loss of its topics" : ", all in sync");
}

/* ---- retention --------------------------------------------------------------------------------
 */

/* Deleted by age before somebody had the time to read it. */
static bool too_short(struct doctor *d, const char *topic, uint64_t needed_ms, const char *what)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const struct stream_topic_settings *kept = &d->reports[i].kept;
        if (strcmp(d->list[i].name, topic) || !kept->known || kept->retention_ms < 0 ||
            (uint64_t)kept->retention_ms >= needed_ms)
            continue;
        doctor_set_topic(d, topic, "retention.ms", (long long)needed_ms);
        doctor_say(d, DOCTOR_WARN, "retention", "%s deletes after %lld ms, before %s (%llu ms)",
                   topic, (long long)kept->retention_ms, what, (unsigned long long)needed_ms);
        return true;
    }
    return false;
}

void doctor_retention(struct doctor *d)
{
    const struct config *cfg = &d->cli->cfg;
    const struct config_topics *t = &cfg->topics;
    const uint64_t day = 86400000;
    const char *records[CONFIG_RECORDS_MAX];
    uint64_t answer = cfg->labels.deadline ? cfg->labels.deadline : 7 * day;
    bool found = too_short(d, t->label_requests, answer, "a request may be answered");
    found |= too_short(d, t->labels, day, "a trainer that was away for a day has read it");
    found |= too_short(d, t->candidates, cfg->selection.window_time, "a window ends");
    for (uint32_t n = config_record_topics(cfg, records); n;)
        found |= too_short(d, records[--n], day, "a scorer that was away for a day has read it");
    found |= too_short(d, t->control, day, "a trainer that was away for a day has read it");
    if (!found)
        doctor_say(d, DOCTOR_OK, "retention", "nothing is deleted before it can be read");
}

/* ---- limits -----------------------------------------------------------------------------------
 */

#define CHUNK_AROUND 16384 /* more than is put around a part */

static bool say_limit(struct doctor *d, uint32_t i)
{
    const struct config *cfg = &d->cli->cfg;
    const char *name = d->list[i].name;
    const size_t limit = binding_message_limit(cfg, &d->reports[i], SIZE_MAX);
    size_t room = limit < SIZE_MAX ? config_record_room(cfg, limit) : SIZE_MAX;
    if (d->topics[i].state && config_chunk_room(limit) < cfg->topics.max_chunk) {
        doctor_set_topic(d, name, "max.message.bytes",
                         (long long)cfg->topics.max_chunk + CHUNK_AROUND);
        doctor_say(d, DOCTOR_WARN, "limits",
                   "%s takes messages of %zu bytes: heads, versions and checkpoints come in parts "
                   "of %zu bytes, topics.max_chunk is %llu",
                   name, limit, config_chunk_room(limit),
                   (unsigned long long)cfg->topics.max_chunk);
        return true;
    }
    if (d->list[i].yours || !d->list[i].max_message_bytes || room >= cfg->records.max_bytes)
        return false;
    doctor_set_topic(d, name, "max.message.bytes", (long long)d->list[i].max_message_bytes);
    doctor_say(d, DOCTOR_WARN, "limits",
               "%s takes messages of %zu bytes: records of more than %zu become dead letters, "
               "records.max_bytes is %llu",
               name, limit, room, (unsigned long long)cfg->records.max_bytes);
    return true;
}

void doctor_limits(struct doctor *d)
{
    bool found = false;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->reports[i].exists && d->reports[i].kept.known)
            found |= say_limit(d, i);
    if (!found)
        doctor_say(d, DOCTOR_OK, "limits",
                   "records of %llu bytes fit, and parts of heads, versions and checkpoints",
                   (unsigned long long)d->cli->cfg.records.max_bytes);
}

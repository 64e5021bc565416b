#include "daemon/runtime/topics_job.h"

#include <string.h>

#include "binding/binding.h"

#define ADMIN_TIMEOUT_MS 5000
/* Kafka's own, of a topic that does not say. */
#define USUAL_LIMIT ((size_t)1000000)

enum { CANDIDATES, LABEL_REQUESTS, LEDGER, HEADS, MODELS, DEAD_LETTER, LIMITS };

struct topics_job {
    struct context *ctx;
    struct job job;
    struct stream_client client;
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct stream_topic_report reports[CONFIG_TOPICS_MAX];
    const char *limited[LIMITS];
    uint32_t count;
    enum { RUNNING, RAN, DONE } state;
    int rc;
    struct fis_error error;
};

static const struct stream_topic_report *report_of(const struct topics_job *t, const char *name)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->topics[i].name, name) == 0)
            return &t->reports[i];
    return NULL;
}

/* Without them nothing is remembered; a broker may create them on its own when they are first
 * written to, and then with another policy. */
static int check_state_topics(struct topics_job *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->topics[i].state && t->reports[i].missing)
            return fis_fail(&t->error, FIS_RETRY,
                            "topic %s does not exist (topics.create is off): fisctl topics create",
                            t->topics[i].name);
    return 0;
}

static void run(void *arg)
{
    struct topics_job *t = arg;
    memset(t->reports, 0, sizeof t->reports);
    t->rc = 0;
    if (t->ctx->cfg->topics.create)
        t->rc = stream_topics_create(&t->client, t->topics, t->count, ADMIN_TIMEOUT_MS, t->reports,
                                     &t->error);
    if (t->rc >= 0)
        t->rc = stream_topics_check(&t->client, t->topics, t->count, ADMIN_TIMEOUT_MS, t->reports,
                                    &t->error);
    if (t->rc >= 0)
        t->rc = check_state_topics(t);
}

static void ran(void *arg)
{
    struct topics_job *t = arg;
    t->state = RAN;
}

static void submit(struct topics_job *t)
{
    t->state = RUNNING;
    t->job = (struct job){.run = run, .done = ran, .arg = t};
    workers_submit(t->ctx->workers, &t->job);
}

int topics_job_start(struct topics_job **out, struct context *ctx, struct fis_error *e)
{
    struct topics_job *t = fis_calloc(1, sizeof *t);
    struct config_topic list[CONFIG_TOPICS_MAX];
    if (!t)
        return fis_fail(e, FIS_NOMEM, "no memory to create topics");
    t->ctx = ctx;
    t->client = context_client(ctx);
    t->client.wake = NULL;
    t->count = config_topics_list(ctx->cfg, list);
    t->limited[CANDIDATES] = ctx->cfg->topics.candidates;
    t->limited[LABEL_REQUESTS] = ctx->cfg->topics.label_requests;
    t->limited[LEDGER] = ctx->cfg->topics.ledger;
    t->limited[HEADS] = ctx->cfg->topics.heads;
    t->limited[MODELS] = ctx->cfg->topics.models;
    t->limited[DEAD_LETTER] = ctx->cfg->topics.dead_letter;
    for (uint32_t i = 0; i < t->count; i++)
        t->topics[i] = binding_topic(&list[i]);
    submit(t);
    *out = t;
    return 0;
}

static size_t limit_of(const struct topics_job *t, int which)
{
    return binding_message_limit(t->ctx->cfg, report_of(t, t->limited[which]), USUAL_LIMIT);
}

/* A record that is taken must get through: as a candidate, as an entry of the
 * ledger, and as a label request. */
static void limit_records(struct topics_job *t, int which)
{
    const struct config *cfg = t->ctx->cfg;
    size_t limit = limit_of(t, which), room = config_record_room(cfg, limit);
    if (room >= t->ctx->pipeline.schema.max_bytes)
        return;
    t->ctx->pipeline.schema.max_bytes = room;
    log_line(LOG_LEVEL_WARN, "limit",
             "records.max_bytes=%zu in_force=%zu text=\"topic %s %s messages of %zu bytes at "
             "most (max.message.bytes): larger records go to the dead-letter topic\"",
             (size_t)cfg->records.max_bytes, room, t->limited[which],
             report_of(t, t->limited[which])->kept.max_message_bytes > 0 ? "takes"
                                                                         : "is assumed to take",
             limit);
}

/* Heads, versions and checkpoints are cut into chunks that their topics take. */
static void limit_chunks(struct topics_job *t, int which)
{
    size_t limit = limit_of(t, which), chosen = t->ctx->cfg->topics.max_chunk;
    size_t room = config_chunk_room(limit);
    size_t now = t->ctx->chunk_bytes ? t->ctx->chunk_bytes : chosen;
    if (room >= now)
        return;
    t->ctx->chunk_bytes = room;
    log_line(
        LOG_LEVEL_WARN, "limit",
        "topics.max_chunk=%zu in_force=%zu text=\"topic %s takes messages of %zu bytes at most "
        "(max.message.bytes)\"",
        chosen, room, t->limited[which], limit);
}

static const char *brokers(const struct topics_job *t)
{
    const char *where =
        stream_property_find(t->ctx->properties, t->ctx->property_count, "bootstrap.servers");
    return where ? where : "a broker";
}

/* A line when it is not kept as it has to be. What it would do to its messages that fisd cannot
 * live with, or NULL. */
static const char *say_kept(const struct topics_job *t, const struct stream_topic *topic,
                            const struct stream_topic_report *r, const char *command)
{
    switch (stream_topic_judge(topic, r)) {
    case STREAM_TOPIC_LOSES:
        return "lose state that must be kept; set compact";
    case STREAM_TOPIC_KEYED:
        return "refuse messages without a key, which it receives; set delete";
    case STREAM_TOPIC_UNORDERED:
        log_line(LOG_LEVEL_WARN, "topic",
                 "name=%s partitions=%d text=\"one partition is required: only the first is used\"",
                 topic->name, (int)r->partitions);
        break;
    case STREAM_TOPIC_POLICY:
        if (topic->broker_time) /* the user's own may be kept as their owner likes */
            log_line(LOG_LEVEL_WARN, "topic", "name=%s cleanup=%s command=\"%s\"", topic->name,
                     r->kept.cleanup, command);
        break;
    case STREAM_TOPIC_UNKNOWN:
        if (t->ctx->cfg->roles & CONFIG_TRAINER)
            log_line(LOG_LEVEL_WARN, "topic",
                     "name=%s reason=\"%s\" text=\"whether its cleanup.policy is compact cannot be "
                     "checked: allow DescribeConfigs, or look with kafka-configs.sh\"",
                     topic->name, r->kept.why);
        break;
    case STREAM_TOPIC_WELL:
        break;
    }
    return NULL;
}

/* FATAL: the first topic that loses what it holds, or refuses what comes to it. */
static int check_kept(const struct topics_job *t, struct fis_error *e)
{
    char command[FIS_ERROR_TEXT];
    int rc = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct stream_topic *topic = &t->topics[i];
        const struct stream_topic_report *r = &t->reports[i];
        stream_topic_command(topic, r, brokers(t), command, sizeof command);
        const char *would = say_kept(t, topic, r, command);
        if (!would)
            continue;
        log_line(LOG_LEVEL_ERROR, "topic", "name=%s cleanup=%s retention_ms=%lld command=\"%s\"",
                 topic->name, r->kept.cleanup, (long long)r->kept.retention_ms, command);
        if (!rc)
            rc = fis_fail(e, FIS_FATAL, "topic %s has cleanup.policy=%s and would %s: %s",
                          topic->name, r->kept.cleanup, would, command);
    }
    return rc;
}

int topics_job_turn(struct topics_job *t, struct fis_error *e)
{
    if (t->state != RAN)
        return t->state == DONE;
    if (t->rc < 0 && t->error.kind == FIS_RETRY) {
        fis_error_prefix(&t->error, "waiting for %s", brokers(t));
        context_trouble(t->ctx, "topics", &t->error);
        submit(t);
        return 0;
    }
    if (t->rc < 0) {
        *e = t->error;
        return -1;
    }
    for (uint32_t i = 0; i < t->count; i++)
        if (t->reports[i].created)
            log_line(LOG_LEVEL_INFO, "topic", "created=%s partitions=%d", t->topics[i].name,
                     (int)t->topics[i].partitions);
    if (check_kept(t, e))
        return -1;
    limit_records(t, CANDIDATES);
    limit_records(t, LABEL_REQUESTS);
    limit_records(t, LEDGER);
    limit_chunks(t, LEDGER);
    limit_chunks(t, HEADS);
    limit_chunks(t, MODELS);
    t->ctx->dead_letter_bytes = t->ctx->batch_bytes = limit_of(t, DEAD_LETTER);
    for (int k = 0; k < DEAD_LETTER; k++)
        if (limit_of(t, k) < t->ctx->batch_bytes)
            t->ctx->batch_bytes = limit_of(t, k);
    t->state = DONE;
    return 1;
}

void topics_job_free(struct topics_job *t)
{
    fis_free(t);
}

int topics_embedded(const struct config *cfg, struct stream_embedded *broker, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    uint32_t n = config_topics_list(cfg, list);
    for (uint32_t i = 0; i < n; i++)
        if (stream_embedded_topic(broker, list[i].name, (int)list[i].partitions, e) < 0)
            return -1;
    return 0;
}

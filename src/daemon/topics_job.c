#include "daemon/topics_job.h"

#include "config/topics.h"
#include "stream/topics.h"

#define ADMIN_TIMEOUT_MS 5000
/* Candidates and dead letters carry whole records, with a margin for what is put around them. */
#define MESSAGE_MARGIN (64u << 10)

struct topics_job {
    struct runtime *rt;
    struct job job;
    struct stream_client client;
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct stream_property larger;
    char larger_value[32];
    struct stream_topic_report reports[CONFIG_TOPICS_MAX];
    uint32_t count;
    enum { RUNNING, RAN, DONE } state;
    int rc;
    struct fis_error error;
};

static void run(void *arg)
{
    struct topics_job *t = arg;
    t->rc = stream_topics_create(&t->client, t->topics, t->count, ADMIN_TIMEOUT_MS, t->reports,
                                 &t->error);
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
    workers_submit(t->rt->workers, &t->job);
}

static bool carries_records(const struct config *cfg, const char *name)
{
    return name == cfg->topics.candidates || name == cfg->topics.dead_letter ||
           name == cfg->topics.label_requests;
}

int topics_job_start(struct topics_job **out, struct runtime *rt, struct fis_error *e)
{
    struct topics_job *t = fis_calloc(1, sizeof *t);
    struct config_topic list[CONFIG_TOPICS_MAX];
    if (!t)
        return fis_fail(e, FIS_NOMEM, "no memory to create topics");
    t->rt = rt;
    t->client = runtime_client(rt);
    t->client.wake = NULL;
    t->count = config_topics_list(rt->cfg, list);
    uint64_t larger = 2 * rt->cfg->records.max_bytes + MESSAGE_MARGIN;
    snprintf(t->larger_value, sizeof t->larger_value, "%llu", (unsigned long long)larger);
    t->larger = (struct stream_property){"max.message.bytes", t->larger_value};
    for (uint32_t i = 0; i < t->count; i++) {
        struct stream_topic *topic = &t->topics[i];
        *topic = (struct stream_topic){
            .name = list[i].name,
            .partitions = (int32_t)list[i].partitions,
            .replication = (int16_t)list[i].replication,
            .cleanup = list[i].compact ? STREAM_CLEANUP_COMPACT : STREAM_CLEANUP_DELETE,
        };
        if (carries_records(rt->cfg, list[i].name) && larger > (1u << 20)) {
            topic->config = &t->larger;
            topic->config_count = 1;
        }
    }
    submit(t);
    *out = t;
    return 0;
}

int topics_job_turn(struct topics_job *t, struct fis_error *e)
{
    if (t->state != RAN)
        return t->state == DONE;
    if (t->rc < 0 && t->error.class == FIS_RETRY) {
        runtime_kafka_event(t->rt, "topics", &t->error);
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
    t->state = DONE;
    return 1;
}

void topics_job_free(struct topics_job *t)
{
    fis_free(t);
}

int topics_embedded(struct runtime *rt, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    uint32_t n = config_topics_list(rt->cfg, list);
    for (uint32_t i = 0; i < n; i++)
        if (stream_embedded_topic(rt->embedded, list[i].name, (int)list[i].partitions, e) < 0)
            return -1;
    return 0;
}

#include "daemon/trainer/pool_ends.h"

#include "config/topic_list.h"
#include "fis/mem.h"
#include "wire/source.h"

#define ASK_TIMEOUT_MS 5000

void pool_ends_init(struct pool_ends *p, struct context *ctx)
{
    *p = (struct pool_ends){.ctx = ctx, .client = context_client(ctx)};
    p->client.wake = NULL;
}

void pool_ends_done(struct pool_ends *p)
{
    fis_free(p->ends);
    *p = (struct pool_ends){0};
}

static void forget(struct pool_ends *p)
{
    fis_free(p->ends);
    p->ends = NULL;
    p->count = 0;
}

bool pool_ends_running(const struct pool_ends *p)
{
    return p->running;
}

/* Adds the partitions of a topic, by its number, that have something to score. */
static int add(struct pool_ends *p, uint32_t topic, const struct stream_end *found, uint32_t count)
{
    if (!fis_grow(&p->ends, p->count, (size_t)p->count + count + 1, sizeof *p->ends))
        return fis_fail(&p->error, FIS_NOMEM, "no memory for the ends of %u partitions", count);
    for (uint32_t i = 0; i < count; i++)
        if (found[i].high > found[i].low)
            p->ends[p->count++] =
                (struct wire_pool_end){wire_source(topic, found[i].partition), found[i].high};
    return 0;
}

static void run(void *arg)
{
    struct pool_ends *p = arg;
    const char *topics[CONFIG_RECORDS_MAX];
    uint32_t n = config_record_topics(p->ctx->cfg, topics), numbers[CONFIG_RECORDS_MAX];
    config_record_numbers(p->ctx->cfg, numbers);
    p->rc = 0;
    for (uint32_t k = 0; p->rc == 0 && k < n; k++) {
        struct stream_end *found = NULL;
        uint32_t count = 0;
        p->rc = stream_topic_ends(&p->client, topics[k], ASK_TIMEOUT_MS, &found, &count, &p->error);
        if (p->rc == 0)
            p->rc = add(p, numbers[k], found, count);
        fis_free(found);
    }
}

static void ran(void *arg)
{
    struct pool_ends *p = arg;
    p->running = false;
    p->ran = true;
}

void pool_ends_ask(struct pool_ends *p)
{
    if (p->running)
        return;
    forget(p); /* older ones, not handed over yet */
    p->ran = false;
    p->running = true;
    p->job = (struct job){.run = run, .done = ran, .arg = p};
    workers_submit(p->ctx->workers, &p->job);
}

int pool_ends_answer(struct pool_ends *p, struct session *session, struct fis_error *e)
{
    if (!p->ran)
        return 0;
    p->ran = false;
    if (p->rc == 0) {
        session_ends(session, p->ends, p->count);
        forget(p);
        return 0;
    }
    if (p->error.kind != FIS_RETRY) {
        *e = p->error;
        return p->rc;
    }
    context_trouble(p->ctx, "trainer", &p->error);
    pool_ends_ask(p);
    return 0;
}

#include "daemon/trainer/pool_ends.h"

#include "fis/mem.h"

#define ASK_TIMEOUT_MS 5000

void pool_ends_init(struct pool_ends *p, struct context *ctx)
{
    *p = (struct pool_ends){.ctx = ctx, .client = context_client(ctx)};
    p->client.wake = NULL;
}

void pool_ends_done(struct pool_ends *p)
{
    fis_free(p->found);
    *p = (struct pool_ends){0};
}

bool pool_ends_running(const struct pool_ends *p)
{
    return p->running;
}

static void run(void *arg)
{
    struct pool_ends *p = arg;
    p->rc = stream_topic_ends(&p->client, p->ctx->cfg->topics.records, ASK_TIMEOUT_MS, &p->found,
                              &p->count, &p->error);
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
    fis_free(p->found); /* older ones, not handed over yet */
    p->found = NULL;
    p->ran = false;
    p->running = true;
    p->job = (struct job){.run = run, .done = ran, .arg = p};
    workers_submit(p->ctx->workers, &p->job);
}

static void answer(struct pool_ends *p, struct session *session)
{
    uint32_t n = 0;
    struct wire_pool_end *ends = fis_calloc(p->count ? p->count : 1, sizeof *ends);
    for (uint32_t i = 0; ends && i < p->count; i++)
        if (p->found[i].high > p->found[i].low) /* the others have nothing to score */
            ends[n++] = (struct wire_pool_end){p->found[i].partition, p->found[i].high};
    fis_free(p->found);
    p->found = NULL;
    session_ends(session, ends, ends ? n : p->count);
    fis_free(ends);
}

int pool_ends_answer(struct pool_ends *p, struct session *session, struct fis_error *e)
{
    if (!p->ran)
        return 0;
    p->ran = false;
    if (p->rc == 0) {
        answer(p, session);
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

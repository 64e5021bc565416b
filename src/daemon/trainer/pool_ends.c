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

void pool_ends_want(struct pool_ends *p)
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

static int hand_over(struct pool_ends *p, struct trainer_role *role, struct fis_error *e)
{
    struct wire_pool_end *ends = fis_calloc(p->count ? p->count : 1, sizeof *ends);
    uint32_t n = 0;
    if (!ends)
        return fis_fail(e, FIS_NOMEM, "no memory for the ends of %u partitions", p->count);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->found[i].high > p->found[i].low) /* the others have nothing to score */
            ends[n++] = (struct wire_pool_end){p->found[i].partition, p->found[i].high};
    fis_free(p->found);
    p->found = NULL;
    int rc = trainer_role_pool(role, ends, n, context_now(), e);
    fis_free(ends);
    return rc;
}

int pool_ends_tell(struct pool_ends *p, struct trainer_role *role, struct fis_error *e)
{
    if (!p->ran)
        return 0;
    p->ran = false;
    if (p->rc == 0)
        return hand_over(p, role, e);
    if (p->error.kind != FIS_RETRY) {
        *e = p->error;
        return p->rc;
    }
    context_trouble(p->ctx, "trainer", &p->error);
    pool_ends_want(p);
    return 0;
}

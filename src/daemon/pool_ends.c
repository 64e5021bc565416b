#include "daemon/pool_ends.h"

#include "fis/mem.h"

#define ASK_TIMEOUT_MS 5000

void pool_ends_init(struct pool_ends *p, struct runtime *rt)
{
    *p = (struct pool_ends){.rt = rt, .client = runtime_client(rt)};
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
    p->rc = stream_topic_ends(&p->client, p->rt->cfg->topics.records, ASK_TIMEOUT_MS, &p->found,
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
    p->wanted = true;
    if (p->running)
        return;
    p->running = true;
    p->job = (struct job){.run = run, .done = ran, .arg = p};
    workers_submit(p->rt->workers, &p->job);
}

static int hand_over(struct pool_ends *p, struct wire_pool_end **ends, uint32_t *n,
                     struct fis_error *e)
{
    struct wire_pool_end *list = fis_calloc(p->count ? p->count : 1, sizeof *list);
    uint32_t k = 0;
    if (!list)
        return fis_fail(e, FIS_NOMEM, "no memory for the ends of %u partitions", p->count);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->found[i].high > p->found[i].low) /* the others have nothing to score */
            list[k++] = (struct wire_pool_end){p->found[i].partition, p->found[i].high};
    fis_free(p->found);
    p->found = NULL;
    p->wanted = false;
    *ends = list;
    *n = k;
    return 1;
}

int pool_ends_turn(struct pool_ends *p, struct wire_pool_end **ends, uint32_t *n,
                   struct fis_error *e)
{
    if (!p->ran)
        return 0;
    p->ran = false;
    if (p->rc == 0)
        return hand_over(p, ends, n, e);
    if (p->error.class != FIS_RETRY) {
        *e = p->error;
        return p->rc;
    }
    runtime_kafka_event(p->rt, "trainer", &p->error);
    pool_ends_want(p);
    return 0;
}

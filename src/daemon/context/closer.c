#include "daemon/context/closer.h"

#include "fis/mem.h"

struct closing {
    uv_work_t work;
    void (*end)(void *what);
    void *what;
    void (*done)(void *arg);
    void *arg;
};

static void run(uv_work_t *work)
{
    struct closing *c = work->data;
    c->end(c->what);
}

static void ran(uv_work_t *work, int status)
{
    struct closing *c = work->data;
    (void)status; /* nobody cancels */
    if (c->done)
        c->done(c->arg);
    fis_free(c);
}

void closer_take(struct context *ctx, void (*end)(void *what), void *what, void (*done)(void *arg),
                 void *arg)
{
    struct closing *c = what ? fis_calloc(1, sizeof *c) : NULL;
    if (c) {
        *c = (struct closing){.end = end, .what = what, .done = done, .arg = arg};
        c->work.data = c;
        if (uv_queue_work(ctx->loop, &c->work, run, ran) == 0)
            return;
        fis_free(c);
    }
    if (what)
        end(what);
    if (done)
        done(arg);
}

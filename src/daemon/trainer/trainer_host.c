#include "daemon/trainer/trainer_host.h"

#include <stdio.h>
#include <string.h>

#include "daemon/context/closer.h"
#include "daemon/trainer/follower.h"
#include "daemon/trainer/trainer_status.h"
#include "daemon/trainer/trainer_files.h"
#include "daemon/trainer/trainer_work.h"
#include "session/election.h"

/* Less than a group waits for its members. */
#define LEAVE_PATIENCE_MS 1000

struct trainer_host {
    struct context *ctx;
    struct election leader;
    const char *topics[1];
    struct stream_consumer *member; /* of the trainers' group */
    struct follower *follower;      /* until the role has been restored */
    struct outbox *outbox;          /* from the election on */
    struct trainer_work *work;      /* while it leads */
    struct leftover {
        struct stream_consumer *member;
        struct follower *follower;
        struct outbox *outbox;
        struct trainer_work *work;
        int patience_ms;
    } old; /* what it lets go of, to begin anew */
    bool letting_go, stopping, stopped;
    bool looked;  /* its files were read once: it could lead */
    uint64_t led; /* how often it began to lead */
    char group[128], transactional_id[128];
};

static uint64_t now(void)
{
    return context_now().mono_ms;
}

static void fail(struct trainer_host *h, const struct fis_error *e)
{
    election_failed(&h->leader, e, h->outbox && outbox_fenced(h->outbox), now());
}

static bool on_worker(const struct trainer_host *h)
{
    return h->work && trainer_work_on_worker(h->work);
}

/* ---- what the leader machine wants ----------------------------------------------------------- */

/* Before it says that it is ready to lead, and before it takes another's place. */
static bool look_at_files(struct trainer_host *h, struct fis_error *e)
{
    if (!h->looked) {
        loop_watch_skip(&h->ctx->watch); /* as when it loads them to lead, it may take a second */
        h->looked = trainer_files_check(&h->ctx->pipeline, e) == 0;
    }
    return h->looked;
}

static void follow(void *ctx)
{
    struct trainer_host *h = ctx;
    struct fis_error e;
    if (!look_at_files(h, &e)) {
        fail(h, &e);
        return;
    }
    struct stream_consumer_options o = {
        .client = context_client(h->ctx),
        .group_id = h->group,
        .election = true,
        .topics = h->topics,
        .topic_count = 1,
    };
    o.client.name = "election";
    if (follower_open(&h->follower, h->ctx, &e) < 0 || stream_consumer_open(&h->member, &o, &e) < 0)
        fail(h, &e);
}

static void fence(void *ctx)
{
    struct trainer_host *h = ctx;
    struct fis_error e;
    struct outbox_options o = {.client = context_client(h->ctx),
                               .dead_letter_bytes = h->ctx->dead_letter_bytes,
                               .batch_bytes = h->ctx->batch_bytes};
    o.client.name = "outbox";
    if (h->ctx->exactly_once)
        o.transactional_id = h->transactional_id;
    if (outbox_open(&h->outbox, &o, &e) < 0)
        fail(h, &e);
}

static void catch_up(void *ctx)
{
    struct trainer_host *h = ctx;
    follower_to_end(h->follower);
}

static void lead(void *ctx)
{
    struct trainer_host *h = ctx;
    struct fis_error e;
    struct memory *memory = follower_memory(h->follower);
    h->led++;
    if (memory_conclude(memory, &e) < 0 ||
        trainer_work_open(&h->work, h->ctx, h->outbox, memory, h->group, &e) < 0)
        fail(h, &e);
}

static void drain(void *ctx)
{
    struct trainer_host *h = ctx;
    if (h->work)
        trainer_work_drain(h->work);
}

/* trainer_host_turn does it, as soon as no worker is at it. */
static void leave(void *ctx)
{
    struct trainer_host *h = ctx;
    context_wake(h->ctx);
}

static void on_stopped(void *ctx, const struct fis_error *failed)
{
    struct trainer_host *h = ctx;
    h->stopped = true;
    if (failed)
        context_fail(h->ctx, "trainer", failed);
}

static void note(void *ctx, const char *event, const char *text)
{
    (void)ctx;
    bool bad = strcmp(event, "fenced") == 0 || strcmp(event, "stepped_down") == 0 ||
               strcmp(event, "resuming") == 0;
    log_line(bad ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, event, "%s", text);
}

/* ---- life ------------------------------------------------------------------------------------ */

int trainer_host_open(struct trainer_host **out, struct context *ctx, struct fis_error *e)
{
    struct trainer_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    h->ctx = ctx;
    h->topics[0] = ctx->cfg->topics.ledger;
    snprintf(h->group, sizeof h->group, "%s-trainer", ctx->cfg->pipeline);
    snprintf(h->transactional_id, sizeof h->transactional_id, "%s-trainer", ctx->cfg->pipeline);
    struct election_out o = {
        .ctx = h,
        .follow = follow,
        .fence = fence,
        .catch_up = catch_up,
        .lead = lead,
        .drain = drain,
        .leave = leave,
        .stopped = on_stopped,
        .note = note,
    };
    election_init(&h->leader, &o);
    *out = h;
    return 0;
}

/* The outbox before the member, which its last commit may use. What it did not commit is dropped.
 * Blocks for some seconds at most. */
static void drop(void *arg)
{
    struct leftover *o = arg;
    trainer_work_close(o->work);
    outbox_close(o->outbox);
    follower_close(o->follower);
    stream_consumer_close(o->member, o->patience_ms);
}

static void take_all(struct trainer_host *h, int patience_ms)
{
    h->old = (struct leftover){h->member, h->follower, h->outbox, h->work, patience_ms};
    h->work = NULL;
    h->outbox = NULL;
    h->follower = NULL;
    h->member = NULL;
}

void trainer_host_say_left(const struct trainer_host *h)
{
    if (h && h->work)
        trainer_work_say_left(h->work);
    if (h && h->outbox && outbox_dirty(h->outbox))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"%llu messages and the offsets of what was read were not "
                 "committed; the next start repeats them\"",
                 (unsigned long long)outbox_outstanding(h->outbox));
}

void trainer_host_close(struct trainer_host *h, int patience_ms)
{
    if (!h)
        return;
    trainer_host_say_left(h);
    take_all(h, patience_ms);
    drop(&h->old);
    fis_free(h);
}

void trainer_host_stop(struct trainer_host *h)
{
    h->stopping = true;
    election_stop(&h->leader, now());
}

bool trainer_host_stopped(const struct trainer_host *h)
{
    /* A job of a trainer that failed holds nothing that counts. */
    return h->stopped && (h->ctx->failed || !on_worker(h));
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool ended(const struct trainer_host *h)
{
    return h->leader.state == ELECTION_STOPPED || h->leader.state == ELECTION_LEAVING;
}

/* Somebody has its place under the same group.instance.id: not the end of a trainer, for it may be
 * its own request to join from before an outage. */
static void lost_place(struct trainer_host *h, struct fis_error *e)
{
    e->kind = FIS_ABORT_TXN;
    fail(h, e);
}

static void serve_member(struct trainer_host *h)
{
    struct stream_consumer_event ev;
    stream_consumer_read(h->member, NULL, 0);
    while (!ended(h) && stream_consumer_event(h->member, &ev)) {
        if (ev.kind == STREAM_ASSIGNED || ev.kind == STREAM_REVOKED)
            election_place(&h->leader, ev.owned > 0 && !ev.lost, ev.lost, now());
        else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL)
            lost_place(h, &ev.error);
        else if (ev.kind == STREAM_ERROR)
            context_trouble(h->ctx, "trainer", &ev.error);
    }
}

static void serve_outbox(struct trainer_host *h)
{
    struct fis_error e;
    bool said;
    if (outbox_turn(h->outbox, &e, &said) < 0) {
        fail(h, &e);
        return;
    }
    if (said)
        context_trouble(h->ctx, "trainer", &e);
    if (outbox_ready(h->outbox))
        election_fenced_others(&h->leader, now());
}

static bool serve_follower(struct trainer_host *h)
{
    struct fis_error e;
    bool more;
    if (follower_turn(h->follower, &more, &e) < 0) {
        fail(h, &e);
        return false;
    }
    if (follower_at_end(h->follower) && h->leader.state == ELECTION_STANDBY) {
        struct memory *m = follower_memory(h->follower);
        election_warm(&h->leader, memory_entries(m), memory_bytes(m), now());
    } else if (follower_at_end(h->follower)) {
        election_caught_up(&h->leader, now());
    }
    return more;
}

static bool serve_work(struct trainer_host *h)
{
    struct fis_error e;
    bool more;
    if (trainer_work_turn(h->work, h->member, &more, &e) < 0) {
        fail(h, &e);
        return false;
    }
    if (trainer_work_running(h->work) && h->follower) {
        election_running(&h->leader, memory_found(follower_memory(h->follower)), now());
        follower_end(h->follower);
        h->follower = NULL;
    }
    if (trainer_work_drained(h->work))
        election_committed(&h->leader, now());
    return more;
}

static void dropped(void *host)
{
    struct trainer_host *h = host;
    h->letting_go = false;
    election_left(&h->leader, now());
}

static void begin_anew(struct trainer_host *h)
{
    if (on_worker(h) || h->letting_go)
        return;
    h->letting_go = true;
    take_all(h, LEAVE_PATIENCE_MS);
    closer_take(h->ctx, drop, &h->old, dropped, h);
}

bool trainer_host_turn(struct trainer_host *h)
{
    bool more = false;
    election_start(&h->leader, now());
    if (h->leader.state == ELECTION_LEAVING)
        begin_anew(h);
    if (!ended(h))
        serve_member(h);
    if (!ended(h) && h->outbox)
        serve_outbox(h);
    if (!ended(h) && h->follower && !h->work)
        more |= serve_follower(h);
    if (!ended(h) && h->work)
        more |= serve_work(h);
    return more;
}

/* One that does not lead yet reads the configuration when it does. */
void trainer_host_adjust(struct trainer_host *h)
{
    if (h->work)
        trainer_work_adjust(h->work);
}

uint32_t trainer_host_status(struct trainer_host *h, struct trainer_status *out, struct lag *lags,
                             uint32_t n)
{
    out->state = h->leader.state;
    out->warm = h->leader.warm;
    out->state_ms = now() - h->leader.since_ms;
    out->takeovers = h->led;
    if (h->follower) {
        const struct memory *m = follower_memory(h->follower);
        out->ledger_entries = memory_entries(m);
        out->ledger_bytes = memory_bytes(m);
    }
    if (h->outbox)
        out->outstanding = outbox_outstanding(h->outbox);
    return h->work ? trainer_work_status(h->work, out, lags, n) : 0;
}

void trainer_host_tick(struct trainer_host *h)
{
    election_tick(&h->leader, now());
    if (h->work)
        trainer_work_tick(h->work);
}

#include "world.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)256 * 1024)

struct sim_chunk {
    struct sim_chunk *next;
    size_t size, used;
    _Alignas(16) unsigned char bytes[];
};

void sim_world_init(struct sim_world *w, uint64_t seed, struct sim_trace *trace)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->trace = trace;
    for (uint64_t s = 0; s < SIM_RNGS; s++)
        fis_rng_seed(&w->rng[s], seed, s + 1);
}

void sim_world_done(struct sim_world *w)
{
    for (struct sim_chunk *c = w->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(w->heap);
    w->chunks = NULL;
    w->heap = NULL;
}

void *sim_alloc(struct sim_world *w, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!w->chunks || w->chunks->size - w->chunks->used < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        struct sim_chunk *c = malloc(sizeof *c + size);
        if (!c)
            abort();
        *c = (struct sim_chunk){w->chunks, size, 0};
        w->chunks = c;
    }
    void *p = w->chunks->bytes + w->chunks->used;
    w->chunks->used += bytes;
    return memset(p, 0, bytes);
}

void *sim_grow(struct sim_world *w, void *old, size_t old_bytes, size_t bytes)
{
    void *p = sim_alloc(w, bytes);
    if (old_bytes)
        memcpy(p, old, old_bytes);
    return p;
}

struct wire_bytes sim_copy(struct sim_world *w, struct wire_bytes b)
{
    if (!b.data)
        return b;
    void *p = sim_alloc(w, b.length + 1);
    memcpy(p, b.data, b.length);
    return (struct wire_bytes){p, b.length};
}

uint32_t sim_below(struct sim_world *w, enum sim_stream s, uint32_t n)
{
    return fis_rng_below(&w->rng[s], n);
}

int64_t sim_between(struct sim_world *w, enum sim_stream s, int64_t low, int64_t high)
{
    return low + (int64_t)fis_rng_below(&w->rng[s], (uint32_t)(high - low + 1));
}

bool sim_chance(struct sim_world *w, enum sim_stream s, double p)
{
    return fis_rng_unit(&w->rng[s]) < p;
}

/* ---- events -------------------------------------------------------------------------------- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void sift_down(struct sim_event *heap, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t least = i, left = 2 * i + 1;
        if (left < n && before(&heap[left], &heap[least]))
            least = left;
        if (left + 1 < n && before(&heap[left + 1], &heap[least]))
            least = left + 1;
        if (least == i)
            return;
        struct sim_event t = heap[i];
        heap[i] = heap[least];
        heap[least] = t;
        i = least;
    }
}

static void push(struct sim_world *w, struct sim_event e)
{
    if (w->events == w->capacity) {
        w->capacity = w->capacity ? 2 * w->capacity : 256;
        w->heap = realloc(w->heap, w->capacity * sizeof *w->heap);
        if (!w->heap)
            abort();
    }
    uint32_t i = w->events++;
    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static struct sim_event pop(struct sim_world *w)
{
    struct sim_event e = w->heap[0];
    w->heap[0] = w->heap[--w->events];
    sift_down(w->heap, w->events, 0);
    return e;
}

static void schedule(struct sim_world *w, int64_t at, int owner, bool net, sim_event_fn *fn,
                     void *arg)
{
    struct sim_event e = {.at = at < w->now ? w->now : at,
                          .seq = w->seq++,
                          .owner = owner,
                          .life = owner < 0 ? 0 : w->life[owner].life,
                          .net = net,
                          .fn = fn,
                          .arg = arg};
    push(w, e);
}

void sim_at(struct sim_world *w, int64_t at, int owner, sim_event_fn *fn, void *arg)
{
    schedule(w, at, owner, false, fn, arg);
}

void sim_send_at(struct sim_world *w, int64_t at, int from, sim_event_fn *fn, void *arg)
{
    schedule(w, at, from, true, fn, arg);
}

void sim_cut(struct sim_world *w, int from, int64_t until)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->events; i++)
        if (!(w->heap[i].net && w->heap[i].owner == from && w->heap[i].at > until))
            w->heap[kept++] = w->heap[i];
    w->events = kept;
    for (uint32_t i = kept / 2 + 1; i-- > 0;)
        sift_down(w->heap, kept, i);
}

bool sim_broker_is_up(const struct sim_world *w)
{
    return w->now >= w->broker_down_until;
}

/* An event that cannot be run now keeps its place in the order: the order of one sender's messages
 * depends on it. */
static bool postponed(struct sim_world *w, struct sim_event *e)
{
    int64_t until = e->net         ? w->broker_down_until
                    : e->owner < 0 ? 0
                                   : w->life[e->owner].suspended_until;
    if (until <= w->now)
        return false;
    e->at = until;
    push(w, *e);
    return true;
}

bool sim_step(struct sim_world *w, int64_t until)
{
    while (w->events && w->heap[0].at <= until) {
        struct sim_event e = pop(w);
        w->now = e.at > w->now ? e.at : w->now;
        if (!e.net && e.owner >= 0 && (!w->life[e.owner].alive || w->life[e.owner].life != e.life))
            continue;
        if (postponed(w, &e))
            continue;
        w->steps++;
        e.fn(w, e.arg);
        return true;
    }
    w->now = until;
    return false;
}

int64_t sim_wall(const struct sim_world *w, int process)
{
    return SIM_WALL_BEGIN + w->now + (process < 0 ? 0 : w->life[process].wall_shift);
}

uint64_t sim_mono(const struct sim_world *w, int process)
{
    return w->life[process].mono_base + (uint64_t)w->now;
}

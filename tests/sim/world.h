/*
 * The simulated world: virtual time, one queue of events, random streams, memory that lives as
 * long as a run, a trace, and the way out when something is violated.
 *
 * Everything that happens is an event. An event belongs to a process (it is dropped when that
 * process has died since, and waits while it is suspended) or to the network (what was sent
 * arrives although its sender is dead, but waits while the broker is down). Order at equal times is
 * the order of scheduling, so a run is a function of its seed.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"
#include "fis/rng.h"
#include "wire/types.h"

#define SIM_PROCESSES 8
#define SIM_NOBODY (-1)
#define SIM_WALL_BEGIN INT64_C(1767225600000) /* 2026-01-01 */

enum sim_stream {
    SIM_RNG_PLAN,
    SIM_RNG_NET,
    SIM_RNG_DATA,
    SIM_RNG_PEOPLE,
    SIM_RNG_FAULTS,
    SIM_RNG_BROKER, /* what happens to topics */
    SIM_RNGS
};

struct sim_world;
typedef void sim_event_fn(struct sim_world *w, void *arg);

struct sim_event {
    int64_t at;
    uint64_t seq;
    int owner; /* process, or SIM_NOBODY */
    uint32_t life;
    bool net;
    sim_event_fn *fn;
    void *arg;
};

/* A process as the world sees it: alive, suspended, with clocks of its own. */
struct sim_life {
    bool alive;
    uint32_t life;           /* rises with every death */
    int64_t suspended_until; /* not before it runs again */
    uint64_t mono_base;
    int64_t wall_shift; /* of its machine; stays over a restart */
};

struct sim_chunk;
struct sim_plan;
struct sim_data;
struct sim_broker;
struct sim_check;
struct sim_faults;
struct sim_labeller;
struct sim_trainer;
struct sim_scorer;

struct sim_world {
    uint64_t seed;
    int64_t now;
    struct fis_rng rng[SIM_RNGS];
    struct sim_chunk *chunks;
    struct sim_event *heap;
    uint32_t events, capacity;
    uint64_t seq, steps;
    struct sim_life life[SIM_PROCESSES];
    int64_t broker_down_until;
    bool halted; /* a trainer has stopped for a reason that a person must remove */

    const struct sim_plan *plan;
    struct sim_data *data;
    struct sim_broker *broker;
    struct sim_check *check;
    struct sim_faults *faults;
    struct sim_labeller *labeller;
    struct sim_trainer *trainers[SIM_PROCESSES];
    struct sim_scorer *scorers[SIM_PROCESSES];

    struct sim_trace *trace;
    jmp_buf out; /* of sim_violated */
    char violation[1024];
};

void sim_world_init(struct sim_world *w, uint64_t seed, struct sim_trace *trace);
void sim_world_done(struct sim_world *w);

/* Lives as long as the world; zeroed. */
void *sim_alloc(struct sim_world *w, size_t bytes);
void *sim_grow(struct sim_world *w, void *old, size_t old_bytes, size_t bytes);
struct wire_bytes sim_copy(struct sim_world *w, struct wire_bytes b);

uint32_t sim_below(struct sim_world *w, enum sim_stream s, uint32_t n);
int64_t sim_between(struct sim_world *w, enum sim_stream s, int64_t low, int64_t high);
bool sim_chance(struct sim_world *w, enum sim_stream s, double p);

void sim_at(struct sim_world *w, int64_t at, int owner, sim_event_fn *fn, void *arg);
/* On the network: sent by `from`. */
void sim_send_at(struct sim_world *w, int64_t at, int from, sim_event_fn *fn, void *arg);
/* The sender died: what it sent and has not arrived by `until` is lost. */
void sim_cut(struct sim_world *w, int from, int64_t until);
/* Runs the next event; false: there is none before `until` (then it is `until`). */
bool sim_step(struct sim_world *w, int64_t until);
bool sim_broker_is_up(const struct sim_world *w);

int64_t sim_wall(const struct sim_world *w, int process);
uint64_t sim_mono(const struct sim_world *w, int process);

/* Ends the run: what was promised does not hold. */
_Noreturn void sim_violated(struct sim_world *w, const char *format, ...) FIS_PRINTF(2, 3);
#define SIM_MUST(w, condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            sim_violated(w, __VA_ARGS__);                                                          \
    } while (0)

/* ---- trace: the last lines, or all of them as they come ------------------------------------ */
struct sim_trace {
    bool live;
    uint32_t next;
    uint64_t hash; /* of all lines */
    char lines[256][200];
};
void sim_note(struct sim_world *w, const char *who, const char *format, ...) FIS_PRINTF(3, 4);
void sim_trace_print(const struct sim_trace *t, uint32_t lines);

#endif

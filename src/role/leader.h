/*
 * Which of several trainers leads, seen from one of them, as a pure machine. The trainers are a
 * consumer group; who owns the one partition of the ledger leads, and all others follow what it
 * writes. The transactional id, not the group, is what makes it safe: a new leader fences the old
 * one before it reads on, so what the old one did not commit will never be.
 *
 *   (start) --> STANDBY --elected--> FENCE --fenced--> CATCH_UP --caught up--> LEAD
 *                  ^                   |                   |                    |  \--stop--> DRAIN
 *                  |                   v                   v                    v               |
 *                  +----- down ----- LEAVING <--- revoked, unit lost, fenced ---+ committed
 *                                                                                               v
 *   stop in STANDBY, FENCE, CATCH_UP, LEAVING; a failure that is none of these: ----------> STOPPED
 *
 * Leaving lets everything go, the membership too, and begins anew from nothing: one path for a
 * leader that lost its place, one whose unit cannot be committed, and one that was fenced. Failures
 * in quick succession (LEADER_FAILURES_MAX in LEADER_FAILURES_MS) end it; a loss of the place does
 * not count as one.
 *
 * Wishes are the last thing that a call does, so calling back from one of them is allowed.
 * Thread: one owner at a time. Owns: nothing.
 */
#ifndef ROLE_LEADER_H
#define ROLE_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"

#define LEADER_FAILURES_MAX 5
#define LEADER_FAILURES_MS 120000
/* In the group and without a place for so long: people are told what is waited for. */
#define LEADER_PATIENCE_MS 3000

enum leader_state {
    LEADER_NEW,
    LEADER_STANDBY,  /* follows */
    LEADER_FENCE,    /* elected; the producer is being initialised */
    LEADER_CATCH_UP, /* reads ledger, heads and models once more to their ends */
    LEADER_LEAD,     /* is the trainer; or is loading what it needs to be */
    LEADER_DRAIN,    /* commits what is open, then ends */
    LEADER_LEAVING,  /* lets go of everything, to begin anew */
    LEADER_STOPPED
};
const char *leader_state_name(enum leader_state s);

/* What it wants done. Everything may take its time; the answer is the function in brackets. */
struct leader_out {
    void *ctx;
    void (*follow)(void *ctx);   /* join the group, follow the topics [leader_place] */
    void (*fence)(void *ctx);    /* initialise the producer [leader_fenced_others] */
    void (*catch_up)(void *ctx); /* read to the ends as they are now [leader_caught_up] */
    void (*lead)(void *ctx);     /* make the role, open its input, go [leader_running] */
    void (*drain)(void *ctx);    /* take nothing more, commit [leader_committed] */
    void (*leave)(void *ctx);    /* nothing is committed any more, all is closed [leader_left] */
    void (*stopped)(void *ctx, const struct fis_error *failed); /* NULL: in good order */
    /* For people and log readers: events leader, standby, takeover, fenced, stepped_down. */
    void (*note)(void *ctx, const char *event, const char *text);
};

struct leader {
    struct leader_out out;
    enum leader_state state;
    bool warm, running;
    bool waiting_said, other_said; /* of a standby's notes */
    uint64_t since_ms;             /* when the state was entered */
    uint64_t chosen_ms;            /* when it was elected */
    uint32_t failures;
    uint64_t failures_since_ms;
};

void leader_init(struct leader *l, const struct leader_out *out);
void leader_start(struct leader *l, uint64_t now_ms);

/* The group has spoken. owns: the ledger's partition is ours; lost: it was taken, not given. */
void leader_place(struct leader *l, bool owns, bool lost, uint64_t now_ms);
/* The follower was at the ends for the first time: it can lead at once from now on. */
void leader_warm(struct leader *l, uint64_t entries, uint64_t bytes, uint64_t now_ms);
void leader_fenced_others(struct leader *l, uint64_t now_ms);
void leader_caught_up(struct leader *l, uint64_t now_ms);
/* The role runs. `restored`: it goes on from a state of the ledger. */
void leader_running(struct leader *l, bool restored, uint64_t now_ms);
/* Something went wrong. fenced, or class ABORT_TXN: it begins anew; else it is the end. In STOPPED
 * and LEAVING nothing happens any more. */
void leader_failed(struct leader *l, const struct fis_error *e, bool fenced, uint64_t now_ms);
void leader_left(struct leader *l, uint64_t now_ms);
/* SIGTERM. */
void leader_stop(struct leader *l, uint64_t now_ms);
void leader_committed(struct leader *l, uint64_t now_ms);
/* Time passes: about once a second. */
void leader_tick(struct leader *l, uint64_t now_ms);

#endif

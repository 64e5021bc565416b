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
 * Leaving closes everything, the membership too, and restarts from nothing: one path for a
 * leader that lost its place, one whose unit cannot be committed, and one that was fenced. Failures
 * in quick succession (ELECTION_FAILURES_MAX in ELECTION_FAILURES_MS) end it; a loss of the place
 * does not count as one.
 *
 * Wishes are the last thing that a call does, so calling back from one of them is allowed.
 * Thread: one owner at a time. Owns: nothing.
 */
#ifndef SESSION_ELECTION_H
#define SESSION_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"

#define ELECTION_FAILURES_MAX 5
#define ELECTION_FAILURES_MS 120000
/* In the group and without a place for so long: a note says what is waited for. */
#define ELECTION_PATIENCE_MS 3000

enum election_state {
    ELECTION_NEW,
    ELECTION_STANDBY,  /* follows */
    ELECTION_FENCE,    /* elected; the producer is being initialised */
    ELECTION_CATCH_UP, /* reads ledger, heads and models once more to their ends */
    ELECTION_LEAD,     /* is the trainer; or is loading what it needs to be */
    ELECTION_DRAIN,    /* commits what is open, then ends */
    ELECTION_LEAVING,  /* closes everything, to restart */
    ELECTION_STOPPED
};
const char *election_state_name(enum election_state s);

/* What is to be done. Everything may take its time; the answer is the function in brackets. */
struct election_out {
    void *ctx;
    void (*follow)(void *ctx);   /* join the group, follow the topics [election_place] */
    void (*fence)(void *ctx);    /* initialise the producer [election_fenced_others] */
    void (*catch_up)(void *ctx); /* read to the ends as they are now [election_caught_up] */
    void (*lead)(void *ctx);     /* make the role, open its input, go [election_running] */
    void (*drain)(void *ctx);    /* take nothing more, commit [election_committed] */
    void (*leave)(void *ctx);    /* nothing is committed any more, all is closed [election_left] */
    void (*stopped)(void *ctx, const struct fis_error *failed); /* NULL: in good order */
    /* For people: leader, standby, takeover; bad: fenced, stepped_down, resuming. */
    void (*note)(void *ctx, bool bad, const char *event, const char *text);
};

struct election {
    struct election_out out;
    enum election_state state;
    bool warm, running;
    bool waiting_noted, other_noted; /* of a standby's notes */
    uint64_t since_ms;               /* when the state was entered */
    uint64_t chosen_ms;              /* when it was elected */
    uint32_t failures;
    uint64_t failures_since_ms;
};

void election_init(struct election *l, const struct election_out *out);
void election_start(struct election *l, uint64_t now_ms);

/* The group has spoken. owns: the ledger's partition is ours; lost: it was taken, not given. */
void election_place(struct election *l, bool owns, bool lost, uint64_t now_ms);
/* Everything that was there has been read for the first time: it can lead at once from now on. */
void election_warm(struct election *l, uint64_t entries, uint64_t bytes, uint64_t now_ms);
void election_fenced_others(struct election *l, uint64_t now_ms);
void election_caught_up(struct election *l, uint64_t now_ms);
/* The role runs. `restored`: it goes on from a state of the ledger. */
void election_running(struct election *l, bool restored, uint64_t now_ms);
/* Something went wrong. fenced, or class ABORT_TXN: it restarts; else it is the end. In STOPPED
 * and LEAVING nothing happens any more. */
void election_failed(struct election *l, const struct fis_error *e, bool fenced, uint64_t now_ms);
/* It restarts, and nothing went wrong. */
void election_again(struct election *l, const char *why, uint64_t now_ms);
void election_left(struct election *l, uint64_t now_ms);
/* SIGTERM. */
void election_stop(struct election *l, uint64_t now_ms);
void election_committed(struct election *l, uint64_t now_ms);
/* Time passes: about once a second. */
void election_tick(struct election *l, uint64_t now_ms);

#endif

#include "stream/txn.h"

#include <assert.h>

/* What an allowed event leads to; 0 stands for "not allowed" (no event leads back to NONE). */
static const unsigned char moves[STREAM_TXN_STATES][STREAM_TXN_EVENTS] = {
    [STREAM_TXN_NONE] = {[STREAM_TXN_DO_INIT] = STREAM_TXN_INIT,
                         [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                         [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                         [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_INIT] = {[STREAM_TXN_DO_INIT] = STREAM_TXN_INIT,
                         [STREAM_TXN_GOT_OK] = STREAM_TXN_READY,
                         [STREAM_TXN_GOT_RETRY] = STREAM_TXN_INIT,
                         [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                         [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                         [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_READY] = {[STREAM_TXN_DO_BEGIN] = STREAM_TXN_OPEN,
                          [STREAM_TXN_DO_SWEEP] = STREAM_TXN_ABORTING,
                          [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                          [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                          [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_OPEN] = {[STREAM_TXN_DO_COMMIT] = STREAM_TXN_COMMITTING,
                         [STREAM_TXN_DO_ABORT] = STREAM_TXN_ABORTING,
                         [STREAM_TXN_GOT_ABORT] = STREAM_TXN_BROKEN,
                         [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                         [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                         [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_COMMITTING] = {[STREAM_TXN_DO_COMMIT] = STREAM_TXN_COMMITTING,
                               [STREAM_TXN_GOT_OK] = STREAM_TXN_READY,
                               [STREAM_TXN_GOT_RETRY] = STREAM_TXN_COMMITTING,
                               [STREAM_TXN_GOT_ABORT] = STREAM_TXN_BROKEN,
                               [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                               [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                               [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_BROKEN] = {[STREAM_TXN_DO_ABORT] = STREAM_TXN_ABORTING,
                           [STREAM_TXN_GOT_ABORT] = STREAM_TXN_BROKEN,
                           [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                           [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                           [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_ABORTING] = {[STREAM_TXN_DO_ABORT] = STREAM_TXN_ABORTING,
                             [STREAM_TXN_DO_SWEEP] = STREAM_TXN_ABORTING,
                             [STREAM_TXN_GOT_OK] = STREAM_TXN_READY,
                             [STREAM_TXN_GOT_RETRY] = STREAM_TXN_ABORTING,
                             [STREAM_TXN_GOT_ABORT] = STREAM_TXN_BROKEN,
                             [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                             [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                             [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_EXPIRED] = {[STREAM_TXN_GOT_ABORT] = STREAM_TXN_EXPIRED,
                            [STREAM_TXN_GOT_EXPIRED] = STREAM_TXN_EXPIRED,
                            [STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED,
                            [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
    [STREAM_TXN_FENCED] =
        {[STREAM_TXN_GOT_FENCED] = STREAM_TXN_FENCED, [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FENCED},
    [STREAM_TXN_FATAL] =
        {[STREAM_TXN_GOT_FENCED] = STREAM_TXN_FATAL, [STREAM_TXN_GOT_FATAL] = STREAM_TXN_FATAL},
};

const char *stream_txn_state_name(enum stream_txn_state s)
{
    static const char *const names[STREAM_TXN_STATES] = {
        "none",   "initialising", "ready",   "open",   "committing",
        "broken", "aborting",     "expired", "fenced", "fatal"};
    return s < STREAM_TXN_STATES ? names[s] : "unknown";
}

const char *stream_txn_event_name(enum stream_txn_event ev)
{
    static const char *const names[STREAM_TXN_EVENTS] = {
        "initialise", "begin",        "commit",  "abort",  "sweep", "ok",
        "retry",      "abort needed", "expired", "fenced", "fatal"};
    return ev < STREAM_TXN_EVENTS ? names[ev] : "unknown";
}

/* The one place where the state is set. */
int stream_txn_step(struct stream_txn *t, enum stream_txn_event ev, struct fis_error *e)
{
    assert(t->state < STREAM_TXN_STATES && ev < STREAM_TXN_EVENTS);
    unsigned char next = moves[t->state][ev];
    if (next) {
        t->state = (enum stream_txn_state)next;
        return 0;
    }
    if (t->state == STREAM_TXN_FENCED) {
        return fis_fail(e, FIS_FATAL,
                        "transaction: %s is impossible, another producer with this transactional "
                        "id has taken over",
                        stream_txn_event_name(ev));
    }
    enum fis_error_kind kind = t->state == STREAM_TXN_FATAL     ? FIS_FATAL
                               : t->state == STREAM_TXN_EXPIRED ? FIS_ABORT_TXN
                                                                : FIS_INPUT;
    return fis_fail(e, kind, "transaction: %s is not allowed in state %s",
                    stream_txn_event_name(ev), stream_txn_state_name(t->state));
}

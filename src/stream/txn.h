/*
 * The life of a transactional producer as a pure machine: which calls are allowed now, and what
 * an outcome leads to. No Kafka in here; stream/txn_thread.h runs it.
 *
 *   NONE --init--> INIT --ok--> READY --begin--> OPEN --commit--> COMMITTING --ok--> READY
 *                                                 |                   | abort needed
 *                                                 |                   v
 *                                                 +--abort--> ABORTING --ok--> READY
 *   OPEN --abort needed--> BROKEN, COMMITTING --abort needed--> BROKEN, BROKEN --abort--> ABORTING
 *   READY --sweep--> ABORTING: a transaction that is opened to be aborted.
 *   RETRY keeps the state: the same call is to be repeated.
 *   any --fatal--> FATAL; any --fenced--> FENCED: another with the same id has taken over;
 *   any --expired--> EXPIRED: the coordinator does not know the id any more; nothing was committed,
 *   and a new producer with the id can go on.
 *
 * Thread: a plain value of one owner.
 */
#ifndef STREAM_TXN_H
#define STREAM_TXN_H

#include "fis/error.h"

enum stream_txn_state {
    STREAM_TXN_NONE,
    STREAM_TXN_INIT,       /* init_transactions is running */
    STREAM_TXN_READY,      /* no transaction is open */
    STREAM_TXN_OPEN,       /* messages may be sent */
    STREAM_TXN_COMMITTING, /* commit is running */
    STREAM_TXN_BROKEN,     /* open, but can only be aborted */
    STREAM_TXN_ABORTING,   /* abort is running */
    STREAM_TXN_EXPIRED,    /* this producer is of no use any more */
    STREAM_TXN_FENCED,     /* for good */
    STREAM_TXN_FATAL,      /* for good */
    STREAM_TXN_STATES
};

enum stream_txn_event {
    STREAM_TXN_DO_INIT, /* what the owner needs … */
    STREAM_TXN_DO_BEGIN,
    STREAM_TXN_DO_COMMIT,
    STREAM_TXN_DO_ABORT,
    STREAM_TXN_DO_SWEEP,
    STREAM_TXN_GOT_OK, /* … and how the running call (or a send) ended */
    STREAM_TXN_GOT_RETRY,
    STREAM_TXN_GOT_ABORT,   /* librdkafka says: the transaction must be aborted */
    STREAM_TXN_GOT_EXPIRED, /* … it can do nothing more with this producer */
    STREAM_TXN_GOT_FENCED,
    STREAM_TXN_GOT_FATAL,
    STREAM_TXN_EVENTS
};

struct stream_txn {
    enum stream_txn_state state;
};

const char *stream_txn_state_name(enum stream_txn_state s);
const char *stream_txn_event_name(enum stream_txn_event ev);

/* Moves the machine. An event that the state does not allow changes nothing and fails: FATAL in
 * FENCED and FATAL (for good), ABORT_TXN in EXPIRED, INPUT otherwise (the caller's mistake). */
int stream_txn_step(struct stream_txn *t, enum stream_txn_event ev,
                    struct fis_error *e) FIS_MUST_CHECK;

#endif

/*
 * Transactions of a producer. librdkafka's init, commit and abort block, so they run on a thread
 * of their own, one at a time; the owner (the loop) submits and pulls the result after a wake.
 * Begin is local and runs at once.
 *
 * Thread: one owner; `wake` comes from the transaction's thread.
 * Owns: the thread. Borrows the producer, which must outlive it.
 */
#ifndef STREAM_TXN_THREAD_H
#define STREAM_TXN_THREAD_H

#include "stream/producer.h"
#include "stream/txn.h"

struct stream_txn_thread;

enum stream_txn_job {
    STREAM_TXN_JOB_NONE,
    STREAM_TXN_JOB_INIT,
    STREAM_TXN_JOB_COMMIT,
    STREAM_TXN_JOB_ABORT,
    STREAM_TXN_JOB_SWEEP
};

/* error.kind: OK; RETRY: the broker did not answer in time, submit the same again; ABORT_TXN:
 * nothing of the transaction counts: in state BROKEN stream_txn_abort may go on with this producer,
 * in state EXPIRED (the coordinator has forgotten the id, after days without a transaction) only
 * another producer with the same id can, and in both that one always may: close this one without a
 * commit, open it again, and send what the transaction held again; FATAL (state FENCED or FATAL):
 * stop. */
struct stream_txn_result {
    enum stream_txn_job job;
    enum stream_txn_state state; /* after the result */
    struct fis_error error;
};

/* FATAL when the producer has no transactional id or the thread cannot be made. */
int stream_txn_thread_new(struct stream_txn_thread **out, struct stream_producer *p,
                          stream_wake_fn *wake, void *wake_arg, struct fis_error *e) FIS_MUST_CHECK;

enum stream_txn_state stream_txn_thread_state(const struct stream_txn_thread *t);

/* Each is refused (INPUT) in a state that does not allow it or while a job runs. `timeout_ms` is
 * when the job gives up with RETRY. */
int stream_txn_init(struct stream_txn_thread *t, int timeout_ms,
                    struct fis_error *e) FIS_MUST_CHECK;
int stream_txn_begin(struct stream_txn_thread *t, struct fis_error *e) FIS_MUST_CHECK;
/* Commits what was sent and, in the same transaction, the group's offsets (last handled + 1;
 * copied). They use the group's name alone, no member and no generation: the transactional id is
 * the fence. No offsets: group_id may be NULL. On the commit after a RETRY the offsets of the first
 * are used. */
int stream_txn_commit(struct stream_txn_thread *t, const struct stream_offset *offsets,
                      size_t count, const char *group_id, int timeout_ms,
                      struct fis_error *e) FIS_MUST_CHECK;
int stream_txn_abort(struct stream_txn_thread *t, int timeout_ms,
                     struct fis_error *e) FIS_MUST_CHECK;
/* Ends what earlier producers with this id have left open although the coordinator holds their
 * transactions for ended, which nothing else ever does: a broker that was killed between logging
 * the decision and writing the markers of a transaction leaves them out (Kafka 4, when it finds a
 * partition without a leader). Their messages, and the offsets that they held for the group, do not
 * count then, everywhere alike. A message to every partition of the topics is sent and aborted.
 * From READY; `topics` are borrowed until the result. */
int stream_txn_sweep(struct stream_txn_thread *t, const char *const *topics, size_t count,
                     const char *group_id, int timeout_ms, struct fis_error *e) FIS_MUST_CHECK;
/* A send failed with this kind (ABORT_TXN or FATAL): the machine must know. */
void stream_txn_send_failed(struct stream_txn_thread *t, enum fis_error_kind kind);

/* The result of the job that ended, once; false when none has. */
bool stream_txn_thread_poll(struct stream_txn_thread *t, struct stream_txn_result *r);

/* Waits for the running job (a second, or five while offsets are sent: it is cut short) and frees.
 * An open transaction holds back all who read its partitions; it is aborted when that takes abort_ms
 * at most, else the broker does it after transaction.timeout.ms, or when the next producer with the
 * id starts. 0: it is left to the broker. NULL is fine. */
void stream_txn_thread_free(struct stream_txn_thread *t, int abort_ms);

#endif

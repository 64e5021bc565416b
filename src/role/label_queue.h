/*
 * Open label requests and the people who answer them: who is shown which record, and what became of
 * their answers. Pure: topics are read and written by its host, time is an argument.
 *
 * - A person is shown one record at a time, on a lease: until it ends nobody else is shown the same
 *   record in the same place. A request for v votes has v places; nobody takes two of them, and an
 *   answer keeps its place. A lease that has ended goes on as long as nobody takes the place.
 * - An answer is held for a while, in which its person may change it or take it back. Then it is
 *   sent; it is recorded once Kafka has it. Repeating an answer changes nothing and reports how far
 *   it has come, so a person (or a page) repeats it until it is recorded.
 * - Labels of others that are read from the topic count as answers. An answer that is older than
 *   its request, by more than a minute for clocks that differ, does not: nobody had asked for it.
 *   So a request for one vote that is sent again (it is open, says the trainer) is open again.
 * - A withdrawn request is shown to nobody. An answer that was under way is sent all the same.
 *
 * Which record is next: the one that was requested first.
 *
 * Thread: one owner. Owns: copies of all it is handed.
 */
#ifndef ROLE_LABEL_QUEUE_H
#define ROLE_LABEL_QUEUE_H

#include "role/agreement.h"
#include "role/trainer.h"
#include "wire/types.h"

struct label_queue_options {
    uint64_t lease_ms, hold_ms;
};

struct label_queue;
struct label_queue *label_queue_new(const struct label_queue_options *o); /* NULL: no memory */
/* Other times, for leases and answers from now on. */
void label_queue_set(struct label_queue *q, const struct label_queue_options *o);
void label_queue_free(struct label_queue *q); /* NULL is fine */

/* ---- what the topics say -------------------------------------------------------------------- */

/* `at_ms`: the message's own time. `payload`: what the host shows people, given back by next.
 * A withdrawal comes the same way, with r->cancelled. */
int label_queue_request(struct label_queue *q, const struct wire_label_request *r, int64_t at_ms,
                        struct wire_bytes payload, struct fis_error *e) FIS_MUST_CHECK;
int label_queue_label(struct label_queue *q, const struct wire_label *l, int64_t at_ms,
                      struct fis_error *e) FIS_MUST_CHECK;

/* ---- what people do ------------------------------------------------------------------------- */

/* Valid until the queue is next called. */
struct label_task {
    const struct fis_id *id;
    uint32_t round, votes, answers; /* answers: that there are of the votes */
    int64_t requested_at_ms, deadline_ms;
    uint64_t lease_ms; /* how long it is still theirs */
    struct wire_bytes payload;
};
enum label_next {
    LABEL_TASK = 1,
    LABEL_LAPSED,     /* idle: the lease has ended; ask again when the person is back */
    LABEL_NONE_OPEN,  /* no request is open */
    LABEL_OTHERS_HAVE /* all that are open were answered by this person, or are with others */
};
/* `idle`: the person has done nothing since: a lease is not extended, and nothing new is given in
 * place of one that has ended. NOMEM. */
int label_queue_next(struct label_queue *q, const char *annotator, bool idle,
                     struct trainer_time now, enum label_next *what, struct label_task *out,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Whether a request with this id was seen, open or not. */
bool label_queue_knows(const struct label_queue *q, const struct fis_id *id);

enum label_outcome {
    LABEL_HELD = 1, /* may be changed and taken back */
    LABEL_SENDING,
    LABEL_RECORDED,
    /* refused: */
    LABEL_UNKNOWN,    /* no request with this id was seen, or none by this person to take back */
    LABEL_DECIDED,    /* others have answered, or it was decided */
    LABEL_CONTRADICTS /* it was sent as something else, and a label is not taken back */
};
/* Answers, or repeats an answer. *left_ms: how long it is still held. NOMEM. */
int label_queue_answer(struct label_queue *q, const struct wire_label *l, struct trainer_time now,
                       enum label_outcome *what, uint64_t *left_ms,
                       struct fis_error *e) FIS_MUST_CHECK;
/* Takes a held answer back: HELD when it was, and the record is theirs again. */
int label_queue_undo(struct label_queue *q, const struct fis_id *id, const char *annotator,
                     struct trainer_time now, enum label_outcome *what,
                     struct fis_error *e) FIS_MUST_CHECK;

/* ---- towards Kafka -------------------------------------------------------------------------- */

/* The next answer whose time to be held is over (`all`: or not), which is SENDING from now on;
 * *token comes back with its report. False: there is none. The label is valid until the queue is
 * next called. */
bool label_queue_send(struct label_queue *q, bool all, struct trainer_time now,
                      struct wire_label *out, uint64_t *token);
/* ok: recorded. Else it is sent again later (retry), or dropped: its person may answer again. */
void label_queue_sent(struct label_queue *q, uint64_t token, bool ok, bool retry);
/* Answers that Kafka does not have yet. */
uint32_t label_queue_pending(const struct label_queue *q);

/* ---- figures -------------------------------------------------------------------------------- */

struct label_progress {
    uint32_t open;   /* requests that need answers */
    uint32_t mine;   /* of them, that this person can answer now */
    uint32_t others; /* of the rest, that are with other people */
    uint64_t done;   /* answers of this person since `since_ms` (wall clock), held ones too */
};
void label_queue_progress(const struct label_queue *q, const char *annotator, int64_t since_ms,
                          struct trainer_time now, struct label_progress *out);
/* Of all answers that were read or given. */
const struct agreement *label_queue_agreement(const struct label_queue *q);

#endif

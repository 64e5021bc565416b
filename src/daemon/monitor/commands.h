/*
 * Commands that were given by HTTP. Like those of fisctl they go to the topic control, so the log
 * has them, the leader carries them out, and what became of the last is in each of its states on
 * the ledger. A process with the role of a trainer reads those, leading or standing by.
 *
 * Thread: the loop. Owns: a producer, opened with the first command.
 */
#ifndef DAEMON_COMMANDS_H
#define DAEMON_COMMANDS_H

#include "stream/producer.h"
#include "wire/types.h"

#define COMMANDS_MAX 50 /* remembered */

enum command_outcome {
    COMMAND_SENDING = 1, /* not acknowledged by the broker yet */
    COMMAND_SENT,        /* and not taken yet, as far as is known here */
    COMMAND_DONE,
    COMMAND_REFUSED, /* by the trainer */
    COMMAND_TAKEN,   /* done or refused: a later one's outcome came, and its own was not heard */
    COMMAND_LOST     /* it could not be sent */
};
const char *command_outcome_name(enum command_outcome o); /* "sending", … */

struct command {
    struct fis_id id;
    enum wire_control_kind kind;
    uint64_t version; /* of rollback and promote; 0: none */
    int64_t at_ms;    /* wall clock */
    enum command_outcome outcome;
    char by[128], text[FIS_ERROR_TEXT];
};

struct commands {
    struct stream_producer *producer;
    struct byte_buffer buffer;
    struct command items[COMMANDS_MAX]; /* a ring */
    uint32_t count, next;
    uint64_t sent; /* in all: the token of a report is the number of the command */
    struct {
        char id[FIS_ID_MAX + 1], text[FIS_ERROR_TEXT];
        bool ok, there;
    } held;       /* the newest outcome of a state that is sent */
    bool follows; /* this process reads what becomes of them */
};

void commands_done(struct commands *c);
/* Sends it. *out is valid until the next one. RETRY: it cannot be sent now. */
int commands_send(struct commands *c, const struct stream_client *client, const char *topic,
                  const struct wire_control *what, const struct command **out,
                  struct fis_error *e) FIS_MUST_CHECK;
/* Takes reports; true when *e has a trouble of Kafka to report, and there may be more. */
bool commands_turn(struct commands *c, struct fis_error *e);
/* A state of the trainer: it says what became of the last command. */
void commands_outcome(struct commands *c, const char *id, bool ok, const char *text);
/* One that is sent: it counts when that is committed, and is forgotten else. */
void commands_hold(struct commands *c, const char *id, bool ok, const char *text);
void commands_settle(struct commands *c, bool committed);
const struct command *commands_at(const struct commands *c, uint32_t i); /* 0: newest; or NULL */
const struct command *commands_find(const struct commands *c, const char *id);

#endif

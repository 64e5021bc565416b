/* Inside a session: session.c (its life and turns), session_common.c, following.c (the memory), start_up.c,
 * leading.c (a turn of the leader), reading.c (what is handed over when), handing.c (how), unit.c
 * (commits). */
#ifndef SESSION_SESSION_IMPL_H
#define SESSION_SESSION_IMPL_H

#include "role/trainer_wire.h"
#include "session/identity.h"
#include "session/inbox.h"
#include "session/memory.h"
#include "session/session.h"

enum start_up_step { START_UP_INITIAL, START_UP_VALIDATION, START_UP_DONE };

/* A reader of the input, and the message that was read and not handed over yet. */
struct session_source {
    enum session_reader reader;
    bool pending;
    struct session_input in;
};

struct session {
    struct session_options o;
    struct session_ports p;
    struct election election;
    struct trainer_time now; /* of the call at hand */
    bool open[SESSION_READERS];
    uint64_t led;
    bool leaving; /* the binding closes all */

    struct identity identity;   /* of the configuration, and what was changed before */
    struct wire_identity shown; /* the same, for the wire */

    /* Until the role runs. */
    struct memory *memory;
    bool at_end;          /* of all topics of the memory, as they were at the last to_end */
    bool sweeping;        /* what earlier trainers left open is being ended */
    bool committed_known; /* the number that the group has committed: */
    uint64_t committed_state;

    /* From the moment it leads. */
    enum start_up_step step;
    uint64_t lead_ms; /* when that was */
    struct session_rows initial;
    struct fis_encoder *encoder;
    struct trainer_wire wire;
    struct trainer_role *role;
    struct inbox inbox;
    struct fis_arena arena; /* of the message at hand */
    bool running;
    uint64_t running_ms, restore_ms, entries, bytes;

    struct session_source commands, input;
    struct wire_control_place control; /* how far commands were taken; in the state */
    bool informed;                     /* control was read to its end once */
    bool waiting;                      /* the next command waits for a version */
    bool waiting_noted;
    struct {
        uint64_t version; /* 0: none is looked up */
        struct wire_assembler *chunks;
        struct wire_model_owned found;
        bool at_end;
    } lookup;

    bool job_due, on_worker, job_ran;
    enum trainer_job job;
    bool adjust; /* the role has not got the newest limits yet */
    bool have_ends;
    struct wire_pool_end *ends;
    uint32_t n_ends;

    bool sent, committing;   /* of the unit */
    uint64_t next_state;     /* the number of the next state */
    bool stated;             /* it has a state, which carries the number */
    struct byte_buffer news; /* what the role says of it: event, NUL, text, NUL … */
    uint64_t commit_again_ms;
    uint64_t commit_ms; /* when the next is due */

    uint64_t left_out; /* messages of the memory that cannot be read */
    bool halted;
    uint64_t read, refused[SESSION_BAD][FIS_ERROR_CODES];
    uint64_t noted_ms, noted_answers;
};

/* ---- session_common.c */
void session_note(struct session *s, enum log_level level, const char *event, const char *format,
                  ...) FIS_PRINTF(4, 5);
int session_open(struct session *s, enum session_reader r, struct fis_error *e) FIS_MUST_CHECK;
void session_close(struct session *s, enum session_reader r); /* one that is not open is fine */
void session_election_failed(struct session *s, const struct fis_error *e);
bool session_ended(const struct session *s);
bool session_draining(const struct session *s);

/* ---- following.c */
int session_follow(struct session *s, struct fis_error *e) FIS_MUST_CHECK; /* joins too */
/* Takes some of what is there; *more: to be called again at once. */
int session_keep_up(struct session *s, bool *more, struct fis_error *e) FIS_MUST_CHECK;

/* ---- start_up.c */
/* It leads and has caught up: from here on session_start_up. */
int session_begin(struct session *s, struct fis_error *e) FIS_MUST_CHECK;
/* Goes as far as it can. s->running at the end. */
int session_start_up(struct session *s, struct fis_error *e) FIS_MUST_CHECK;

/* ---- leading.c */
void session_lead(struct session *s, bool *more); /* one turn; *more: to be called again at once */

/* ---- reading.c */
/* Hands over what has arrived, as far as the role may have it. *all: nothing is left to hand over,
 * or the role must act first. */
int session_hand_over(struct session *s, bool *all, struct fis_error *e) FIS_MUST_CHECK;

/* ---- handing.c: 1: handed over (or refused); 0: it must wait */
int session_hand(struct session *s, enum session_topic t, const struct wire_message *m,
                 struct fis_error *e) FIS_MUST_CHECK;
void session_lookup_end(struct session *s);

/* ---- unit.c: what the role sends */
void session_unit_wire(struct session *s, struct trainer_wire_options *o);
int session_refuse(struct session *s, enum session_refusal kind, const struct wire_message *m,
                   const struct fis_error *why, struct fis_error *e) FIS_MUST_CHECK;
int session_maybe_commit(struct session *s, struct fis_error *e) FIS_MUST_CHECK;
bool session_unsaved(const struct session *s);
void session_say_news(struct session *s);

#endif

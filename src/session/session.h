/*
 * A trainer's session: the engine around the trainer role (role/trainer.h). It decides everything
 * that the place where the role runs must decide: whether this process leads, what it restores,
 * which message the role gets next, when a job runs, what makes a unit of commit. It does no I/O
 * and knows no clock; all that it needs done goes through struct session_ports. The daemon
 * binds the ports to Kafka, the simulator to its broker, the lab to queues around a pool in memory
 * (lab/engine.h), tests/kit/session to topics in memory.
 *
 * Life. A session joins the trainers' group and follows the ledger, the heads and the models as a
 * standby. Once elected it fences any other trainer, reads the three topics to their ends, and
 * starts up: encoder (of the newest head, or fitted on the initial rows), initial rows, validation
 * rows, the role, what the memory holds. Then it leads:
 *
 *   Order of reading. Commands come first: until control has been read to its end once, no
 *   candidate and no label is handed over, so a pause holds that was sent while no trainer ran. A
 *   command that names a version waits until that version was looked up, and everything behind it
 *   waits too. A message that comes again is known by its place and taken once. While the role is
 *   due for a job, runs one, or a unit is being committed, nothing is handed over.
 *
 *   What cannot be decoded, or the role refuses, goes to the dead letters with the reason. What a
 *   topic has lost is reported to the role.
 *
 *   A unit of commit is what the role sent and how far the input was taken, together. Nothing is
 *   sent while one is being committed. When something could not be sent the unit is never
 *   committed: half of it must not count as all of it.
 *
 * Going back. A session that lost its place, was fenced, or whose unit cannot be committed, closes
 * all and joins again (session/election.h). One that is asked to stop while it leads commits first.
 *
 * Driving it. Call session_turn when anything has arrived, and at least every second; at once when
 * it returns true. What a port was asked for is answered by the function in its comment, at any
 * time between two turns or from inside the port unless it says otherwise.
 *
 * Thread: one owner at a time; session_job on any thread. Owns: role, encoder, memory, wire
 * buffers; a copy of the options, whose pointers are borrowed.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdarg.h>

#include "base/log.h"
#include "role/trainer.h"
#include "session/election.h"

enum session_topic {
    SESSION_LEDGER, /* the memory: the role writes it, every session follows it */
    SESSION_HEADS,
    SESSION_MODELS,
    SESSION_CANDIDATES, /* the input */
    SESSION_LABELS,
    SESSION_CONTROL,
    SESSION_VALIDATION, /* read by the binding, which reports its places by session_moved */
    SESSION_REQUESTS,
    SESSION_TOPICS
};
#define SESSION_MEMORY_TOPICS (SESSION_MODELS + 1)

/* Who reads what. A reader gives every message of its topics once, partitions in their order, and
 * only what is committed. */
enum session_reader {
    SESSION_READ_MEMORY,   /* ledger, heads, models: from their beginnings, and on */
    SESSION_READ_COMMANDS, /* control: from where the group has committed, or the beginning */
    SESSION_READ_INPUT,    /* candidates and labels: likewise */
    SESSION_READ_VERSIONS, /* models: from the beginning to the end as it is at the opening */
    SESSION_READERS
};

enum session_event {
    SESSION_MESSAGE,
    SESSION_END, /* once: every message that was in the reader's topics when it was opened, or at
                    the last to_end, has been returned: all that anybody had sent by then, committed
                    or not, so that who has fenced before knows the last unit of its predecessor */
    SESSION_BLOCKED, /* an open transaction holds END back */
    SESSION_RESET    /* a partition goes on elsewhere than it should have */
};

struct session_input {
    enum session_event event;
    enum session_topic topic;    /* MESSAGE, RESET */
    struct wire_message message; /* MESSAGE: a view that lives until the reader's next read */
    int32_t partition;           /* RESET */
    int64_t expected, first;     /* RESET: the offset that was due, -1: none was committed; the one
                                    that comes next instead. END: `first` is the first topic's
                                    beginning, as at the last to_end; 0 or less: not known */
    int64_t lost;                /* RESET: messages between them that are gone */
    bool recreated;              /* RESET: this is another topic of the same name */
};

struct session_place {
    enum session_topic topic;
    int32_t partition;
    int64_t next; /* what is before it is handled; of the ledger: the newest state's number */
};

/* Views that live until the next call of the port that filled them. */
struct session_rows {
    struct fis_rows rows; /* groups 0 .. n_groups-1; NULL for initial rows */
    uint32_t n_groups;
};

/*
 * What a session needs. Functions that return int: 0 (or what their comment says), or negative
 * with *e. ABORT_TXN, or `fenced` is true then: the unit is dropped and the session restarts
 * from the ledger; anything else but what is named ends it. A condition that may pass (a broker
 * that is away) is no error: the binding goes on trying, and logs it.
 */
struct session_ports {
    void *ctx;

    /* ---- election */
    /* Become a member of the trainers' group. [session_seat, for every assignment] */
    int (*join)(void *ctx, struct fis_error *e);
    /* Make ready to send, so that no earlier trainer can commit any more. [session_fenced_others]
     */
    int (*fence)(void *ctx, struct fis_error *e);
    /* End what earlier trainers' transactions have left open although they have ended (a broker can
     * lose the ends of them): nothing in it counts, nor do the places that it moved. On any topic
     * that it writes: what hangs on requests alone would hold back who reads those. Asked for once
     * when the others are fenced. [session_swept] NULL: nothing can be left. */
    int (*sweep)(void *ctx, struct fis_error *e);
    bool (*fenced)(void *ctx); /* after an error: another trainer has taken over. NULL: never */
    /* Close everything: membership, readers, what sends; nothing is committed. [session_left] */
    void (*leave)(void *ctx);
    /* The last call. `failed` NULL: in good order. */
    void (*stopped)(void *ctx, const struct fis_error *failed);

    /* ---- reading */
    int (*open)(void *ctx, enum session_reader r, struct fis_error *e);
    void (*close)(void *ctx, enum session_reader r);
    /* 1: *in; 0: nothing has arrived. */
    int (*read)(void *ctx, enum session_reader r, struct session_input *in, struct fis_error *e);
    /* END is to be reported again, for the ends as they are now. */
    void (*to_end)(void *ctx, enum session_reader r);

    /* ---- rows */
    /* 1: the initial rows; 0: not read yet, it is asked again. *encoder NULL: it is fitted on them
     * first, and is the session's. */
    int (*initial)(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                   struct fis_error *e);
    /* 1: the validation rows; 0: not read yet, or (once they were returned) unchanged. Asked at
     * start-up, then in every turn in which the role can take them. INPUT, then: the set that is
     * there now cannot be used; the old one stays. */
    int (*validation)(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                      struct fis_error *e);

    /* ---- sending: since the last commit, one unit */
    /* Key and value are views. value.data NULL: a tombstone. */
    int (*send)(void *ctx, enum session_topic t, struct wire_bytes key, struct wire_bytes value,
                struct fis_error *e);
    int (*dead_letter)(void *ctx, const struct wire_message *m, const struct fis_error *why,
                       struct fis_error *e);
    /* The unit: what was sent, and these places (a view). [session_committed] */
    int (*commit)(void *ctx, const struct session_place *places, uint32_t n, struct fis_error *e);

    /* 1: the number of the newest state that the group has committed, all others being fenced
     * (*number 0: it has none); 0: not known yet, it is asked again. NULL: nothing keeps it. */
    int (*committed_state)(void *ctx, uint64_t *number, struct fis_error *e);

    /* ---- work */
    /* Run session_job once, on any thread. [session_job_done] */
    void (*job)(void *ctx, enum trainer_job kind);
    /* The ends of the records, as they are after this call. [session_ends] NULL in stream mode. */
    void (*ends)(void *ctx);

    /* ---- observers; each may be NULL */
    struct trainer_time (*clock)(void *ctx); /* what a long turn took; NULL: time stands still */
    /* A line for people, as log_line_v takes it. What the role has to say follows the commit. */
    void (*note)(void *ctx, enum log_level level, const char *event, const char *format,
                 va_list ap);
    void (*model)(void *ctx, const struct wire_model *v); /* each version that is read */
    void (*state)(void *ctx, const struct wire_trainer_state *s);
    /* What is sent: it counts when its unit is committed, and never when the session leaves. */
    void (*sent_model)(void *ctx, const struct wire_model *v);
    void (*sent_state)(void *ctx, const struct wire_trainer_state *s);
    void (*validated)(void *ctx); /* the role took the rows that `validation` returned last */
    /* The role was made (and restored) and has had no input: the last moment before it starts. For
     * showing it, and for the parts that plug-ins work on. */
    void (*ready)(void *ctx, struct trainer_role *role);
};

struct session_options {
    const char *topics[SESSION_TOPICS]; /* names, for messages to people */
    const struct wire_schema *schema;
    const struct fis_column *columns;
    uint32_t n_columns;
    const char *const *sensitive; /* columns of the validation rows */
    uint32_t n_sensitive;
    const char *base;          /* model.base.type; NULL: not known */
    const char *accept_change; /* code of a change of the pipeline (session/identity.h); NULL */
    enum wire_encoding labels;
    size_t max_chunk;   /* see role/trainer_wire.h; 0: its default */
    bool at_least_once; /* messages are acknowledged one by one: heads may be ahead of the ledger */
    uint64_t commit_ms; /* a unit is committed so long after the last one */
    struct trainer_role_options role; /* validation_rows and n_groups are filled in */
};

struct session;
struct session *session_new(const struct session_options *o, const struct session_ports *p,
                            struct fis_error *e); /* NULL: NOMEM */
/* No job of it may be running. Calls no port; NULL is fine. */
void session_free(struct session *s);

/* Does what can be done now. True: there is more to do at once. */
bool session_turn(struct session *s, struct trainer_time now);
/* SIGTERM: commit what is open when it leads, then `stopped`. */
void session_stop(struct session *s, struct trainer_time now);
/* Other limits (trainer_role_adjust), from the next moment on at which no job runs. */
void session_adjust(struct session *s, const struct trainer_role_options *role, uint64_t commit_ms);

/* ---- answers of the ports */
/* owns: the group gave it the one place; lost: it was taken, not given back. */
void session_seat(struct session *s, bool owns, bool lost, struct trainer_time now);
void session_fenced_others(struct session *s, struct trainer_time now);
void session_swept(struct session *s);
void session_left(struct session *s, struct trainer_time now);
void session_committed(struct session *s);
void session_job(struct session *s); /* any thread; nothing else is called meanwhile but
                                        session_turn, _seat, _stop, _failed and the answers */
void session_job_done(struct session *s);
void session_ends(struct session *s, const struct wire_pool_end *ends, uint32_t n); /* copied */
/* The next message of this partition is `next`: of the validation topic. From inside a port. */
int session_moved(struct session *s, enum session_topic t, int32_t partition, int64_t next,
                  struct fis_error *e) FIS_MUST_CHECK;
/* A topic that it writes was deleted and recreated. Nothing is sent, taken or committed any more,
 * and nobody else leads, until the process ends: what goes on would go on without a memory. */
void session_halt(struct session *s);
/* Something that was asked for cannot be done: a send, a commit, the membership. */
void session_failed(struct session *s, const struct fis_error *e, struct trainer_time now);

/* ---- what it is doing */
enum session_refusal { SESSION_BAD_LABELS, SESSION_BAD_OFFERS, SESSION_BAD_COMMANDS, SESSION_BAD };
struct session_status {
    enum election_state state;
    uint64_t since_ms; /* when the state was entered */
    bool warm;         /* a standby that could lead at once */
    bool running;      /* the role has started */
    bool busy;         /* a job was asked for and is not done */
    bool on_worker;    /* it may be running: nothing may be freed */
    bool unsaved;      /* something was sent or taken and is not committed */
    bool committing;
    bool halted;
    uint64_t left_out;       /* messages of ledger, heads and models that no trainer wrote */
    bool waiting;            /* a command waits for a version that is looked up */
    uint64_t led;            /* how often it began to lead */
    uint64_t entries, bytes; /* of the ledger: followed, or restored from */
    uint64_t restore_ms;     /* what start-up took */
    uint64_t read;           /* messages of the input */
    uint64_t refused[SESSION_BAD][FIS_ERROR_CODES];
};
void session_status(const struct session *s, struct session_status *out);
/* NULL before it runs. Not to be looked at between the return of ports.job and session_job_done. */
const struct trainer_role *session_role(const struct session *s);

#endif

/*
 * A session whose ports are bound to topics in memory: one partition each, a transaction that
 * becomes visible as a whole, one group. What the ports are asked for is answered at once, unless a
 * test holds it back. Nothing else is needed to run a session in one's own program.
 */
#ifndef TESTS_KIT_SESSION_SESSION_KIT_H
#define TESTS_KIT_SESSION_SESSION_KIT_H

#include "session/session.h"

#define KIT_D 3
#define KIT_DEAD SESSION_TOPICS /* the topic of dead letters */

struct kit_message {
    char *key, *value; /* value NULL: a tombstone */
    size_t key_length, value_length;
};
struct kit_topic {
    struct kit_message *m;
    uint32_t n, room;
    int64_t start; /* older ones are gone */
};

struct kit {
    struct kit_topic topic[SESSION_TOPICS + 1];
    struct kit_topic unit; /* what was sent and is not committed, and its topics */
    uint32_t unit_topic[4096];
    struct session_place places[SESSION_TOPICS];
    uint32_t n_places;
    int64_t committed[SESSION_TOPICS]; /* the group's places; -1: none */

    struct session_options o;
    struct session *session;
    struct trainer_time now;
    struct kit_reader {
        bool open, end_due;
        int64_t at[SESSION_MEMORY_TOPICS];
    } readers[SESSION_READERS];
    bool validated; /* the rows there are were returned */

    /* What a test holds back, or makes go wrong. */
    bool hold_fence, hold_sweep, hold_commit, hold_job, hold_leave, hold_end[SESSION_READERS];
    bool blocked;    /* an open transaction is met in the memory, once */
    uint32_t sweeps; /* that were asked for */
    bool refuse_send, bad_validation, fenced;

    /* What has happened. */
    uint32_t commits, jobs, leaves, joins, groups_seen, ends_asked;
    bool fence_due, commit_due, job_due, leave_due;
    bool stopped;
    enum fis_error_kind failed; /* of `stopped` */
    struct fis_error error;     /* likewise */
    bool sent_in_commit;
    char notes[8192];
};

/* A kit in stream or pool mode, with its session; requests and labels are JSON. */
void kit_open(struct kit *k, bool pool);
int kit_try_open(struct kit *k, bool pool, struct fis_error *e); /* NOMEM */
void kit_close(struct kit *k);
/* The process dies and another one starts: what was not committed is gone. */
void kit_restart(struct kit *k);

/* Turns, a tenth of a second apart, until nothing more happens. */
void kit_settle(struct kit *k);
void kit_lead(struct kit *k); /* is elected, and settles */
/* Answers what was held back. */
void kit_committed(struct kit *k);
void kit_job(struct kit *k);
void kit_left(struct kit *k);

/* ---- what others write */
void kit_append(struct kit *k, uint32_t topic, const char *key, const void *value, size_t length);
void kit_append_bytes(struct kit *k, uint32_t topic, struct wire_bytes key,
                      struct wire_bytes value);
/* n candidates "rFIRST" …, and progress that covers them. */
void kit_candidates(struct kit *k, uint32_t first, uint32_t n);
void kit_label(struct kit *k, const char *id, const char *class_name);
void kit_command(struct kit *k, enum wire_control_kind kind, uint64_t version);
void kit_forget(struct kit *k, enum session_topic t, int64_t first); /* retention */

bool kit_noted(const struct kit *k, const char *event);
uint32_t kit_requests(const struct kit *k); /* committed, cancelled ones too */
struct trainer_role_counts kit_counts(const struct kit *k);

#endif

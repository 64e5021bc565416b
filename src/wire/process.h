/*
 * What a process of the pipeline does, as a message on `fleet`: one JSON object, keyed by the
 * process's name, every few seconds and when it ends. What other processes and fisctl show of it.
 * Counts and states alone: no record, no row of the validation set, no sensitive value.
 *
 * Thread: none of its own. Owns: nothing; texts are cut to their room, at whole characters.
 */
#ifndef WIRE_PROCESS_H
#define WIRE_PROCESS_H

#include <jansson.h>

#include "wire/types.h"

#define WIRE_PROCESS_NAME 128
#define WIRE_PROCESS_TEXT 256
#define WIRE_PROCESS_ALARMS 24

struct wire_process_scorer {
    uint32_t partitions;
    uint64_t records, refused; /* since it began */
    double per_second;         /* records, recently */
    int64_t lag;               /* -1: not known */
    uint64_t head_version;     /* 0: none yet */
};

struct wire_process_leading {
    uint32_t round;
    char phase[16], asking[24], asking_text[WIRE_PROCESS_TEXT];
    bool training, paused, pinned;
    uint64_t served_version;
    uint64_t asked, open, answered, kept; /* labels */
    uint64_t budget, budget_left;         /* budget 0: no limit */
};

struct wire_process {
    char name[WIRE_PROCESS_NAME], pipeline[WIRE_PROCESS_NAME], host[64], version[32];
    char address[WIRE_PROCESS_TEXT]; /* of its dashboard, "http://..."; "": it has none */
    bool local;                      /* the address is reached from its own machine alone */
    int64_t started_at_ms;           /* wall clock */
    uint32_t interval_ms;            /* the next message comes within this time */
    bool stopped;                    /* it has ended: no more messages */
    bool ready;
    char doing[WIRE_PROCESS_TEXT];       /* for people: what it does, or why it is not ready */
    char alarm[WIRE_PROCESS_ALARMS][32]; /* names of those that are raised */
    uint32_t n_alarms;
    bool scores, trains, leads; /* its roles; the latter: it leads now */
    char state[16];             /* of its trainer: "standby", "lead" … */
    struct wire_process_scorer scorer;
    struct wire_process_leading leading;
};

/* It has missed four messages, its last being so old: it was killed, or does not reach the broker.
 */
bool wire_process_silent(const struct wire_process *p, uint64_t age_ms);

/* The object, for a message or for others to add to; NULL: no memory. */
json_t *wire_process_json(const struct wire_process *p);
int wire_process_encode(const struct wire_process *p, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;
/* The key is the name. INPUT: not an object, or without name or pipeline; members that are missing
 * or of another type count as empty. Null value: WIRE_TOMBSTONE. An address that is neither http://
 * nor https:// is left out. */
enum wire_decoded wire_process_decode(const struct wire_message *m, struct wire_process *out,
                                      struct fis_error *e) FIS_MUST_CHECK;

#endif

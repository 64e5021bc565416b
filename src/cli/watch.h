/*
 * What fisctl watch knows of a pipeline, from the messages on its topics. No clock and no output:
 * time comes in with the calls, watch_view.c shows it.
 * Thread: one owner. Owns: ids and versions.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/id_map.h"
#include "cli/ledger_view.h"
#include "cli/models.h"

/* In the order of the reader's list of topics. */
enum watch_topic {
    WATCH_CANDIDATES,
    WATCH_HEADS,
    WATCH_REQUESTS,
    WATCH_LABELS,
    WATCH_MODELS,
    WATCH_LEDGER,
    WATCH_TOPICS
};

enum watch_until {
    WATCH_FOREVER,
    WATCH_DONE,
    WATCH_VERSIONS,
    WATCH_VERSION,
    WATCH_ROUND,
    WATCH_OPEN
};
struct watch_goal {
    enum watch_until kind;
    uint64_t number;
};
/* "done", "versions=N", "version=N", "round=N", "open=N"; 0, or -1 for anything else. */
int watch_goal_read(const char *text, struct watch_goal *goal) FIS_MUST_CHECK;

struct watch {
    const struct cli *cli;
    uint64_t records, refused, tombstones, candidates, requests, labels, passed, withdrawn;
    uint64_t head_version, bad; /* bad: messages that could not be understood */
    struct id_map open;         /* asked and not answered: how many answers are needed */
    struct id_map early;        /* answers that came before their request was seen */
    struct models models;
    struct ledger_view ledger;
    struct wire_assembler *heads;
    struct fis_arena arena;
    /* records a second, over the last seconds */
    double rate;
    uint64_t rate_records;
    int64_t rate_ms;
};

int watch_init(struct watch *w, const struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
void watch_done(struct watch *w);

enum watch_event { WATCH_NOTHING = 0, WATCH_COUNTED, WATCH_NEW_HEAD, WATCH_NEW_VERSION };
/* One message; an event, or negative for NOMEM. *version is written for WATCH_NEW_VERSION. */
int watch_take(struct watch *w, const struct stream_message *m, const struct wire_model **version,
               struct fis_error *e) FIS_MUST_CHECK;
/* Once a second or more often: the rate. `fresh`: what was counted so far is old; start again. */
void watch_tick(struct watch *w, int64_t now_ms, bool fresh);
/* WATCH_OPEN counts once the topics are read to their end: before, answers may be missing. */
bool watch_reached(const struct watch *w, const struct watch_goal *goal);
const struct wire_model *watch_last(const struct watch *w); /* NULL: none */

/* Whether labels are requested now, by the ledger so far. */
struct asking watch_asking(const struct watch *w, int64_t wall_ms);

/* A line per event, key=value, on standard output. */
void watch_print_version(const struct wire_model *m, int64_t wall_ms);
void watch_print_head(const struct watch *w, int64_t wall_ms);
void watch_print_progress(const struct watch *w, int64_t wall_ms);
/* The view of a terminal, as text of some lines. */
void watch_view(const struct watch *w, int64_t since_ms, int64_t wall_ms, FILE *out);

#endif

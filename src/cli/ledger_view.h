/*
 * What the ledger says of a pipeline: the trainer's state, and how many records stand where. No
 * clock, no output.
 * Thread: one owner. Owns: the ids.
 */
#ifndef CLI_LEDGER_VIEW_H
#define CLI_LEDGER_VIEW_H

#include "cli/id_map.h"
#include "cli/topic_reader.h"
#include "config/config.h"
#include "role/agreement.h"
#include "role/asking.h"
#include "wire/ledger.h"

struct ledger_record {
    enum wire_ledger_state state;
    uint32_t class_index;            /* ACCEPTED, SET_ASIDE */
    uint32_t round, votes, required; /* answers so far, and that it asks for */
    uint64_t asked_at_ms;            /* on the pipeline's clock */
    bool refunded;
    struct fis_vote *answers; /* [n_answers], where there are two or more */
    uint32_t n_answers;
};

struct ledger_view {
    bool found;                      /* a state of the trainer was seen */
    struct wire_trainer_state state; /* the newest; its lists are left out */
    char control_id[FIS_ID_MAX + 1], control_text[FIS_ERROR_TEXT];
    uint64_t count[WIRE_TIED + 1]; /* records by state */
    uint64_t charged;              /* records that the budget has paid for, open ones and those that
                                      are forgotten too */
    uint64_t bad;                  /* messages that could not be understood */
    struct id_map ids;             /* to the place in `records` */
    struct ledger_record *records;
    uint32_t n;
    struct fis_arena arena;
};

/* max_bytes: of a record. */
int ledger_view_init(struct ledger_view *v, size_t max_bytes, struct fis_error *e) FIS_MUST_CHECK;
void ledger_view_done(struct ledger_view *v);
/* One message of the ledger. `entries`: the records too, and not the state alone. 1: a state;
 * 0: something else, or what is bad; negative: NOMEM. */
int ledger_view_take(struct ledger_view *v, const struct stream_message *m, bool entries,
                     struct fis_error *e) FIS_MUST_CHECK;
/* The whole ledger, with its records. RETRY: see topic_reader_all. */
int ledger_view_read(struct ledger_view *v, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;

/* The pipeline's clock at a time: it goes on while no trainer runs, and never back. */
uint64_t ledger_view_clock(const struct ledger_view *v, int64_t wall_ms);
/* Requests of the day that is, which starts again at midnight (UTC), or 24 hours after the last one
 * began. */
uint64_t ledger_view_today(const struct ledger_view *v, int64_t wall_ms);
/* When that will be, by the wall clock. */
int64_t ledger_view_renewed_at(const struct ledger_view *v, int64_t wall_ms);

/* How far annotators agree. NOMEM. */
int ledger_view_agreement(const struct ledger_view *v, struct agreement_view *out,
                          struct fis_error *e) FIS_MUST_CHECK;

/* Who has paused it; by[0] is 0 when that is not known. */
struct asking_pause {
    char by[128], reason[256];
};
/* Whether labels are requested now, as far as the ledger's entries were taken too. */
struct asking ledger_view_asking(const struct ledger_view *v, const struct config_selection *s,
                                 const struct asking_pause *pause, int64_t wall_ms);

#endif

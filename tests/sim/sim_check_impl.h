/* Inside the checker: sim_check.c (units and offsets), sim_check_memory.c (a memory with holes),
 * sim_check_labels.c (records, requests), sim_check_letters.c (answers),
 * sim_check_state.c (the trainer's state, heads, versions), sim_check_select.c (what should be
 * picked), sim_check_foreign.c (what others wrote). */
#ifndef SIM_CHECK_IMPL_H
#define SIM_CHECK_IMPL_H

#include "sim_check.h"
#include "wire/chunk.h"
#include "wire/ledger.h"

#define SIM_OFFSETS_MAX 512 /* of a partition of records: transactions leave markers */
#define CHECK_VOTES 24
#define CHECK_LETTERS 512
#define CHECK_FOREIGN 256
#define CHECK_WEIGHTS 64
#define CHECK_HEADS 8
#define CHECK_VERSIONS 256

struct check_vote {
    char who[16];
    enum wire_label_status status;
    uint32_t class_index;
};

/* What the topics say of one record. */
struct check_fact {
    bool asked, in_heap;
    bool forgotten;               /* for good: it may be neither held nor asked for again */
    enum wire_ledger_state state; /* once it was asked for */
    uint32_t class_index, n_votes;
    uint32_t round, asked_round; /* in which it counts; in which it was asked for */
    int refunded;
    uint64_t asked_clock; /* the pipeline's */
    int64_t asked_at;     /* virtual: not before this */
    uint32_t asked_term;  /* which leader */
    struct check_vote votes[CHECK_VOTES];
};

/* A message on labels that the unit consumed. */
enum check_outcome { LETTER_WAITS, LETTER_USED, LETTER_AGAIN, LETTER_DEAD, LETTER_EITHER };
struct check_letter {
    int fact;  /* -1: of no record */
    bool bad;  /* not a label at all */
    bool dead; /* there is a dead letter of it in the unit */
    struct check_vote vote;
    int32_t partition;
    int64_t offset;
    enum check_outcome outcome;
};

struct check_request {
    int fact;
    bool cancelled, matched;
    uint64_t head_version;
    uint32_t round;
    char criterion[16];
};

struct check_control {
    struct wire_control c;
};

struct check_ask {
    int fact;
    uint32_t round, criterion;
    uint64_t head_version, clock;
};

/* One committed transaction, taken apart. */
struct check_unit {
    const struct sim_unit *unit;
    const struct sim_about *about;
    struct check_letter letters[CHECK_LETTERS];
    uint32_t n_letters;
    struct check_request requests[CHECK_LETTERS];
    uint32_t n_requests;
    struct check_control controls[32];
    uint32_t n_controls;
    bool resumes;                          /* some RESUME is among them */
    bool lost;                             /* labels were gone before they were read */
    struct check_ask asked[CHECK_LETTERS]; /* in the order of the ledger */
    uint32_t n_asked, n_states;
    uint32_t at;   /* of the unit's messages */
    int forgotten; /* a fact whose mark is still to come; -1: none */
    int gone;      /* the record, asked for in gone_round, that this unit forgets; -1: none */
    uint32_t gone_round;
};

struct check_version {
    uint64_t version;
    bool served;
    uint32_t n_weights; /* 0: it came without */
    struct fis_trees *trees;
    float weights[CHECK_WEIGHTS];
};

struct check_foreign {
    enum sim_topic topic;
    int32_t partition;
    struct sim_entry m;
    bool dead, gone; /* gone: with the log's tail */
};

struct sim_check {
    struct sim_world *w;
    struct fis_arena arena;
    struct check_fact facts[SIM_RECORDS_MAX];
    int64_t taken[SIM_TOPICS][SIM_PARTITIONS]; /* committed by the trainers; -1: nothing yet */

    bool have_state;
    struct wire_trainer_state state; /* its texts and tables are not kept */
    struct wire_counted counted[SIM_PARTITIONS];
    uint32_t n_counted;
    bool paused, pinned; /* by the commands that were taken */
    uint32_t forgotten_charged;
    char salt[FIS_ID_MAX];
    size_t salt_length;
    uint32_t term;        /* leaders so far */
    uint32_t halted_term; /* which of them halted last; 0: none */
    uint32_t round_of_last_ask, round_checked;
    int64_t asked_at; /* when something was asked for last */

    struct wire_assembler *heads, *models, *checkpoints;
    uint64_t last_head, last_version, served_version, checkpoint;
    struct wire_bytes copies; /* the checkpoint's parts, as they came */
    uint32_t copies_term, copies_answered;
    int64_t head_began; /* where the unit of the newest head has it */
    bool forgotten;     /* messages of the memory were deleted */
    bool excused;       /* … and no trainer may go on without them */
    struct {
        struct scoring_head *head;
        uint64_t scan;
        int64_t ends[SIM_PARTITIONS];
    } recent[CHECK_HEADS]; /* by version modulo */
    struct check_version versions[CHECK_VERSIONS];
    double val0; /* of the first version */
    struct fis_shape shape;

    bool covered[SIM_PARTITIONS][SIM_OFFSETS_MAX]; /* progress reported this offset */
    bool refused[SIM_PARTITIONS][SIM_OFFSETS_MAX]; /* a dead letter has it */
    /* The first window, as the log of candidates has it. */
    bool window_closed, window_unsure;
    uint64_t window_records;
    int64_t window_counted[SIM_PARTITIONS];
    bool in_window[SIM_RECORDS_MAX];
    /* Pool mode: how far the newest scan was reported. */
    uint64_t scan;
    int64_t scanned[SIM_PARTITIONS];
    bool ever_paused;
    bool was_held[SIM_RECORDS_MAX]; /* before the unit */

    /* All labels that were ever sent, by offset: their topic forgets. */
    struct sim_entry *labels[SIM_PARTITIONS];
    uint32_t n_labels[SIM_PARTITIONS], room[SIM_PARTITIONS];

    struct check_foreign foreign[CHECK_FOREIGN];
    uint32_t n_foreign;

    struct sim_totals totals;
    struct check_unit unit;
};

/* sim_check_labels.c */
int check_fact_of(const struct sim_check *c, struct wire_bytes id);
void check_collect_letters(struct sim_check *c);
void check_keep_label(struct sim_check *c, int32_t partition, const struct sim_entry *m);
void check_entry(struct sim_check *c, const struct wire_message *m,
                 const struct wire_ledger_entry *entry);
bool check_mark_follows(struct sim_check *c);
void check_forgotten(struct sim_check *c, const struct wire_forgotten *f);
void check_forgotten_end(const struct sim_check *c); /* nothing has their ids */
struct wire_forgotten check_mark_of(const struct sim_check *c, uint32_t fact);
void check_letters_done(struct sim_check *c);
void check_note_dead(struct sim_check *c, const struct sim_origin *origin);
void check_dead_letter(struct sim_check *c, const struct sim_origin *origin);
struct check_tally {
    uint32_t open, answered, withdrawn, held;
    uint64_t charged;
};
struct check_tally check_count(const struct sim_check *c);

/* sim_check_foreign.c */
void check_note_foreign(struct sim_check *c, enum sim_topic t, int32_t partition,
                        const struct sim_entry *m);
bool check_foreign_dead(struct sim_check *c, const struct sim_origin *origin); /* was it one? */
void check_foreign_cut(struct sim_check *c, enum sim_topic t);
void check_foreign_taken(const struct sim_check *c);

/* sim_check_state.c */
void check_state(struct sim_check *c, const struct wire_trainer_state *s);
void check_head(struct sim_check *c, struct wire_bytes value);
void check_model(struct sim_check *c, struct wire_bytes value);
void check_checkpoint(struct sim_check *c, struct wire_bytes chunk);
void check_unit_state(struct sim_check *c); /* after all of a unit was taken in */

/* sim_check_select.c */
void check_offer(struct sim_check *c, const struct sim_entry *m);
void check_selected(struct sim_check *c);
/* Is there no record at this offset (it is gone, a marker, of an aborted transaction), or did
 * progress tell of it? */
bool check_reported(const struct sim_check *c, int32_t partition, int64_t offset);

/* sim_check_letters.c, for sim_check_labels.c, and the other way round. */
bool check_answered(const struct check_fact *f);
enum check_outcome check_apply(struct sim_check *c, struct check_fact *f,
                               const struct check_letter *l);
bool check_next_change(struct sim_check *c, int fact);

#endif

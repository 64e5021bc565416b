/*
 * What travels on the topics, as plain structs: the roles see these and never an encoding.
 *
 * Decoding fills structs whose pointers go into the input bytes or the arena given; they live as
 * long as both. Encoding appends to a byte_buffer that is kept and reused. Thread: no state.
 */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_buffer.h"
#include "fis/acquisition.h"
#include "fis/request.h"
#include "fis/encoder.h"
#include "fis/error.h"
#include "fis/fairness.h"
#include "fis/gate.h"
#include "fis/id.h"
#include "fis/mem.h"
#include "fis/network.h"
#include "fis/profile.h"
#include "image/image.h"

/* WIRE_REGISTRY: of records as they come, by the schema of each (wire/format.h); JSON from there
 * on. */
enum wire_encoding { WIRE_JSON = 1, WIRE_PROTOBUF, WIRE_RAW, WIRE_REGISTRY };
const char *wire_encoding_name(enum wire_encoding e);

struct wire_bytes {
    const void *data; /* NULL: absent (a tombstone); not NULL with length 0: empty */
    size_t length;
};

/* What lists and texts of a message may have, at most. */
#define WIRE_VOTES 99          /* answers that a request needs, and so votes of an entry */
#define WIRE_PARTITIONS 10000u /* in a progress, a scan or a state */
#define WIRE_SENSITIVE_MAX 8   /* sensitive columns */
#define WIRE_ANNOTATOR 255     /* bytes of an annotator's name */

/* A message as it lay on a topic. */
struct wire_message {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms; /* -1: none */
    struct wire_bytes key, value;
};

/* The id of what a message carries: `own` when it has bytes (the message's field), else the
 * message's key, else "topic/partition/offset" (of a very long topic the end) when `by_place`.
 * INPUT: not UTF-8, over 255 bytes, with a NUL in it, or none. */
int wire_message_id(const struct wire_message *m, struct wire_bytes own, int by_place,
                    struct fis_id *id, struct fis_error *e) FIS_MUST_CHECK;
/* The same as a view of 1 to FIS_ID_MAX bytes, of the message or of `place`. */
int wire_message_find_id(const struct wire_message *m, struct wire_bytes own, int by_place,
                         char place[FIS_ID_MAX], struct wire_bytes *id,
                         struct fis_error *e) FIS_MUST_CHECK;

/* Which values may have Confluent's frame (wire/framing.h). */
enum wire_framing_kind { WIRE_FRAMING_AUTO, WIRE_FRAMING_NONE, WIRE_FRAMING_CONFLUENT };
#define WIRE_INDEX_MAX 8
struct wire_framing {
    enum wire_framing_kind kind;
    const uint32_t *index; /* [n_index], path of the message in its schema; n_index 0: its own */
    uint32_t n_index;      /* WIRE_INDEX_MAX at most */
};

/* What becomes of a JSON member that is neither a column nor otherwise asked for. */
enum wire_unknown {
    WIRE_REFUSE, /* the record goes to dead-letter */
    WIRE_IGNORE, /* it is not read, and taken out before the record is offered */
    WIRE_PASS    /* labellers see it */
};
struct wire_names {
    const char *const *names;
    uint32_t n;
};
struct wire_members {
    enum wire_unknown others;    /* those in no list; of the sensitive columns none is passed */
    struct wire_names listed[3]; /* by enum wire_unknown */
    struct wire_names sensitive;
};

/* The columns, the classes and where things are named: one per pipeline, immutable. */
struct wire_schema {
    const char *const *classes;
    uint32_t n_classes;
    const char *id_column;        /* of JSON and CSV */
    const char *label_column;     /* of labelled examples in JSON and CSV */
    const char *const *sensitive; /* columns of validation examples */
    uint32_t n_sensitive;
    const char *const *missing; /* what a sensitive column has where the value is not known */
    uint32_t n_missing;
    const char *const *declared; /* "column=value": what sensitive columns may have; none: any */
    uint32_t n_declared;
    size_t max_bytes;            /* of one record or example */
    struct image_shape image;    /* what an image becomes; height 0: records have none */
    uint64_t max_pixels;         /* of an image, before it is decoded */
    struct wire_members members; /* JSON members that are no columns */
    bool numeric_text;           /* JSON: a text that is a number is one in a numeric column */
    struct wire_framing framing; /* of records and examples */
    struct wire_framing label_framing; /* of labels */
};
enum wire_unknown wire_schema_unknown(const struct wire_schema *s, const char *name, size_t length);
/* Whether a list has members of an object of this name, and not the object itself. */
bool wire_schema_inside(const struct wire_schema *s, const char *name, size_t length);
/* The index of the class with this name (fis_value_category), or -1. */
int wire_schema_class(const struct wire_schema *s, const char *text, size_t length);

/* Before an encoder is fitted: its columns are an image's, where records are images. */
static inline int wire_schema_fit_image(const struct wire_schema *s, struct fis_encoder *encoder,
                                        struct fis_error *e)
{
    const struct fis_encoder_image image = {s->image.height, s->image.width, s->image.channels};
    return image.height ? fis_encoder_expect_image(encoder, &image, e) : 0;
}

/* INPUT: a record is longer than max_bytes. */
static inline int wire_schema_fits(const struct wire_schema *s, size_t length, struct fis_error *e)
{
    return length <= s->max_bytes
               ? 0
               : fis_refuse(e, FIS_CODE_TOO_LONG, "a record of %zu bytes, at most %zu allowed",
                            length, s->max_bytes);
}

/* ---- records -> scorer ------------------------------------------------------------------- */
enum wire_decoded {
    WIRE_OK = 0,
    WIRE_TOMBSTONE, /* a null value: counted apart, no candidate */
    WIRE_BAD        /* to dead-letter, with the error's text */
};
struct wire_record {
    int64_t event_time_ms; /* the message's timestamp when the record has none; -1: neither */
    uint32_t unseen;       /* categories never seen at fitting */
    struct fis_id id;      /* last: of most ids the rest of its room is never touched */
};

/* ---- scorer -> trainer ------------------------------------------------------------------- */
struct wire_candidate {
    struct fis_id id;
    const float *x; /* [d] encoded features */
    uint32_t d;
    float scores[2]; /* a score that is no candidate is -inf */
    uint64_t head_version;
    enum wire_encoding encoding; /* of `record` */
    struct wire_bytes record;    /* the original value, byte for byte (unknown fields kept) */
    int64_t event_time_ms;
    const char *topic; /* where it came from; may be NULL */
    int32_t partition;
    int64_t offset;
};
/* What a scorer read of one partition of the records, in the order of the partition. */
struct wire_range {
    int32_t partition;
    /* Offsets [begin, next) were handled. begin == next, in stream mode: a recreated partition
     * (another topic of the same name) begins there, and counts again; in a scan: it ends there. */
    int64_t begin, next;
    uint64_t records; /* scored */
    uint64_t refused; /* to dead-letter */
    uint64_t tombstones;
};
/* Always behind the candidates of its records on the one partition that candidates take. */
struct wire_progress {
    const char *scorer; /* client id, for people */
    uint64_t head_version;
    uint64_t scan; /* pool mode: of which scan; 0: stream mode */
    const struct wire_range *ranges;
    uint32_t n_ranges;
};
struct wire_offer { /* a message on `candidates` */
    const struct wire_candidate *candidates;
    uint32_t n_candidates;
    const struct wire_progress *progress; /* behind them; NULL: none */
};

/* Named values in place of a JSON record, for records that came as protobuf or raw floats, and what
 * such a record carries besides. */
struct wire_named_values {
    const char *const *names;
    const struct fis_value *values;
    uint32_t n;
    const struct wire_named_values *attributes; /* NULL: none */
};

/* ---- trainer -> labelling tool -> trainer -------------------------------------------------- */
struct wire_label_request {
    struct fis_id id;
    uint32_t round;
    const char *criterion; /* which criterion picked it: "ekg", "entropy", … */
    uint64_t head_version;
    int64_t requested_at_ms, deadline_ms; /* wall clock; deadline 0: none */
    enum wire_encoding encoding;
    struct wire_bytes record;
    uint32_t votes;     /* answers that are needed, from different annotators; 1 or more */
    bool cancelled;     /* no longer requested; record, encoding and criterion are then left out */
    const char *reason; /* when cancelled: "expired", "cancelled", …; else NULL */
};
enum wire_label_status { WIRE_LABELLED = 0, WIRE_SKIPPED = 1, WIRE_UNSURE = 2 };
struct wire_label {
    struct fis_id id;
    enum wire_label_status status;
    uint32_t class_index;   /* when LABELLED */
    const char *annotator;  /* "": the message does not say */
    int64_t labelled_at_ms; /* 0: the message does not say */
};

/* ---- operator -> trainer ------------------------------------------------------------------- */
enum wire_control_kind {
    WIRE_CONTROL_PAUSE = 1, /* no request is made until RESUME */
    WIRE_CONTROL_RESUME,
    WIRE_CONTROL_CANCEL, /* the open request of `record` is withdrawn */
    WIRE_CONTROL_PIN,    /* what is served stays, whatever the gate says */
    WIRE_CONTROL_UNPIN,
    WIRE_CONTROL_ROLLBACK, /* to `version` (0: the one that was served before) */
    WIRE_CONTROL_PROMOTE,  /* `version`, rejected or served earlier, is served */
    WIRE_CONTROL_CANCEL_ALL,
    WIRE_CONTROL_RESEND, /* the open request of `record`, or all, go out once more */
    WIRE_CONTROL_FORGET, /* `record` is taken out of everything */
    WIRE_CONTROL_LAST = WIRE_CONTROL_FORGET
};
const char *wire_control_name(enum wire_control_kind kind); /* "pause", … */
struct wire_control {                                       /* key: the command's id */
    struct fis_id command;
    enum wire_control_kind kind;
    struct fis_id record; /* CANCEL, FORGET; RESEND, where empty: all */
    uint64_t version;
    const char *by, *reason; /* for people; "" */
    int64_t at_ms;
};

/* ---- labelled examples (initial and validation) --------------------------------------------- */
struct wire_example {
    struct fis_id id;
    uint32_t class_index;
    const struct fis_value *values;    /* [columns] of the encoder or column list, in order */
    const struct fis_value *sensitive; /* [n_sensitive], TEXT; NULL for initial examples */
};

/* ---- heads and models ------------------------------------------------------------------------ */
struct wire_pool_end {
    int32_t partition;
    int64_t end; /* the offset behind the last record of the scan; a partition that is empty has
                    none of these */
};
/* What a record must reach in a criterion to be among the trainer's best, under one head: -inf
 * where a criterion has no floor yet. They only rise. */
struct wire_floors {
    uint64_t head_version;
    int64_t created_at_ms; /* of the head */
    float scores[FIS_MAX_CRITERIA];
};

/* By what a trainer keeps candidates, and scorers offer them. */
#define WIRE_HEAP_MAX 1000000u
struct wire_selection {
    uint32_t heap; /* candidates held per criterion; 0: not known, and nor are the others */
    bool distinct;
    uint64_t seed; /* of scores by chance */
};

struct wire_head {
    const char *pipeline;
    uint64_t version; /* rises by one per head */
    uint32_t round;
    int64_t created_at_ms;
    struct fis_shape shape;
    const float *params, *g_acc, *g_fair; /* slabs */
    const struct fis_encoder *encoder;
    const struct fis_trees *trees; /* of the base; NULL: those that the encoder has, if any */
    /* Pool mode: scorers go through the whole topic, from its beginning to these ends. */
    uint64_t scan; /* 0: stream mode, or no scan is needed */
    const struct wire_pool_end *ends;
    uint32_t n_ends;
    const struct fis_profile *initial; /* how the initial set is distributed; NULL: not reported */
    const char *algorithm;             /* by what records are scored; NULL: not known */
    struct wire_selection selection;
};
/* Decoded heads and models own their parts. */
struct wire_head_owned {
    struct wire_head head;
    struct fis_encoder *encoder;
    float *slabs;
    char *pipeline, *algorithm;
    struct wire_pool_end *ends;
    struct fis_profile *initial;
};

/* What noise on directions has spent. All 0: there is none, and nothing is sent. */
struct wire_privacy {
    uint64_t refreshes, exact, tag;
    double rho, noise, clip, delta;
    double epsilon; /* for delta; NaN: none holds, since some were exact */
};
#define WIRE_ROLLED_BACK "rolled_back" /* the reason of a version that a rollback made */
/* A name and a value, for people: one of those that make versions comparable. */
struct wire_fact {
    const char *name, *value;
};
/* One that was changed on purpose; `version` is the first that may differ by it. */
struct wire_change {
    uint64_t version;
    const char *name, *from, *to;
};
/* Whose a memory is. */
struct wire_identity {
    const struct wire_fact *facts;
    uint32_t n_facts;
    const struct wire_change *changes;
    uint32_t n_changes;
};
struct wire_model {
    const char *pipeline;
    uint64_t version, parent; /* parent: the version served before; 0: none */
    uint64_t previous;        /* where a rollback goes while it is served; 0: nowhere */
    int64_t created_at_ms;
    bool served; /* published; 0: rejected (then params may be NULL) */
    const char *const *classes;
    uint32_t n_classes, positive;
    const char *metric; /* the one the gate looks at, by name */
    struct fis_shape shape;
    const float *params;
    const struct fis_encoder *encoder;
    const struct fis_trees *trees; /* as in wire_head */
    const char *verdict, *reason,
        *reason_text; /* "publish" | "reject", fis_gate_reason_name, text */
    double epsilon, val0, floor, difference, difference_se, interpolation;
    double detectable; /* the smallest gap that the rows can tell from none */
    bool undetectable; /* the anchor's is below it, and its interval reaches 0 */
    uint32_t looks, smallest_cell;
    bool warn_cell;
    struct fis_metrics metrics, anchor; /* on the gate's rows */
    struct fis_metrics_intervals intervals;
    /* lineage */
    uint64_t labels_bought, labels_kept, head_version, seed;
    uint32_t round;
    const char *algorithm;
    const struct wire_change *changes; /* of the pipeline, all so far */
    uint32_t n_changes;
    struct wire_privacy privacy;
};
struct wire_model_owned {
    struct wire_model model;
    struct fis_encoder *encoder; /* NULL when it had none */
    void *storage[8];            /* freed by wire_model_done */
};

/* ---- ledger ------------------------------------------------------------------------------------
 */
enum wire_ledger_state {
    WIRE_IN_HEAP = 1,
    WIRE_REQUESTED,
    WIRE_ACCEPTED,  /* answered, both influences <= 0: in a kept set */
    WIRE_SET_ASIDE, /* answered, not kept: among all labels only */
    WIRE_EXPIRED,   /* no answer by the deadline */
    WIRE_SKIPPED_BY_PERSON,
    WIRE_CANCELLED, /* by the operator */
    WIRE_TIED       /* all votes are in, and no class has the most */
};
struct wire_ledger_entry { /* key: the record's id */
    struct fis_id id;
    enum wire_ledger_state state;
    uint32_t class_index; /* ACCEPTED, SET_ASIDE */
    uint32_t criterion;
    uint32_t round;
    const float *x;
    uint32_t d;
    enum wire_encoding encoding;
    struct wire_bytes record; /* IN_HEAP, REQUESTED: for asking; may be empty later */
    uint64_t asked_at_ms;     /* REQUESTED and later: on the pipeline's clock (state.clock_ms) */
    bool refunded;            /* EXPIRED, SKIPPED, CANCELLED: it is refunded to the budget */
    const struct fis_vote *votes; /* so far (status: enum wire_label_status) */
    uint32_t n_votes;
    uint32_t required; /* answers that the request asks for; 1 or more once it was made */
};
/* How far a partition of the records was counted by windows. */
struct wire_counted {
    int32_t partition;
    int64_t next;
};
enum wire_phase { WIRE_PHASE_COLLECT = 1, WIRE_PHASE_LABEL, WIRE_PHASE_DONE };
struct wire_trainer_state { /* key: one NUL byte, which no record id of text has */
    uint32_t round;
    uint64_t window_records;
    uint64_t head_version, model_version, served_version;
    double val0;
    double served_accuracy; /* of the served version, on all validation rows; NaN: not measured */
    double trained;         /* labels of this round that have been trained on */
    uint32_t looks;
    enum wire_phase phase;
    /* The pipeline's clock: ms that passed since the first start. It goes with the monotonic clock
     * while a trainer runs, and from one trainer to the next with the wall clock, never back. */
    uint64_t clock_ms;
    int64_t wall_ms; /* when this was written */
    uint32_t paused, pinned;
    uint32_t failures; /* verdicts in a row that the head was to blame for (gate.patience) */
    int64_t day;       /* UTC days since 1970 whose budget is being spent */
    uint64_t day_asked, day_began_ms; /* requests of that day; its begin on the pipeline's clock */
    uint64_t checkpoint;              /* version of the checkpoint that belongs to it; 0: none */
    const struct wire_counted *counted;
    uint32_t n_counted;
    /* The last command of the operator and what became of it. */
    const char *control_id, *control_text; /* ""; NUL-terminated */
    bool control_ok;
    /* Behind the last command that was taken from partition 0, and its message's time. */
    struct wire_control_place {
        uint64_t next;
        int64_t ms;
    } control;
    uint64_t phase_began_ms;   /* on the pipeline's clock */
    uint64_t previous_version; /* where a rollback goes; 0: nowhere */
    bool diverged;             /* training of this round met a loss that is not finite */
    uint32_t idle_rounds;      /* in a row that published nothing (selection.patience) */
    bool undetectable;         /* the gap of the last judgement's anchor: fis_gate_judgement */
    struct wire_privacy privacy;
    uint64_t requested;            /* records so far: the ledger has an entry of each */
    uint64_t state_number;         /* of all that trainers have written; 0: not counted yet */
    struct wire_identity identity; /* no facts: written by an earlier program */
};

/* A key as people read it: what is not printable ASCII is "?", and the rest after 64 bytes is left
 * out. */
#define WIRE_KEY_TEXT 65
const char *wire_key_text(struct wire_bytes key, char out[WIRE_KEY_TEXT]);

#endif

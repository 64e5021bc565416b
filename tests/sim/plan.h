/*
 * What a seed stands for: the pipeline's configuration, its data, and how often what goes wrong.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "broker.h"
#include "role/scorer.h"
#include "role/trainer.h"

#define SIM_RECORDS_MAX 256
#define SIM_ROWS_MAX 96
#define SIM_D_MAX 5
#define SIM_WIDTH_MAX (SIM_D_MAX + 3)

struct sim_plan {
    uint32_t scorers, trainers;
    uint32_t record_partitions, label_partitions;
    uint32_t d, classes, hidden; /* hidden: units of the one hidden layer; 0: none */
    uint32_t margins;            /* of a base of trees; 0: none. Rows have them behind the d */
    int learn_validation;        /* whether such trees learn from validation rows: 0, -1 */
    uint32_t records, initial, validation;
    enum wire_encoding records_encoding, labels_encoding;
    const struct fis_acquisition *algorithm;
    uint32_t labels_per_round, in_flight, heap, window_records, rounds;
    uint64_t budget, daily_budget;
    uint32_t votes, patience, idle_rounds;
    uint64_t label_deadline_ms, round_deadline_ms, window_ms;
    bool replace, pool;
    uint32_t batch, slots;
    int64_t commit_ms, session_ms;
    int64_t chaos_ms;   /* for so long things go wrong */
    int64_t wall_begin; /* milliseconds since 1970 */
    bool faulty, people_faulty, operated, compacted;
    int64_t validation_at; /* the validation rows change; 0: never */
    bool losing;           /* retention is too short: messages go unread */
    bool foreign;          /* others write onto the topics */
    bool growing;          /* partitions are added */
    bool hanging;          /* the broker loses the ends of transactions */
    bool failing;          /* messages are not delivered, or refused */
    int64_t reload_at;     /* the trainers get other limits; 0: never */
    bool cutting;          /* labels and candidates lose their tails, or are recreated */
    bool tails;            /* ledger, heads and models lose what came last */
    bool deleting;         /* retention on the memory, which should be compacted */
    bool alike;            /* records have the features of others */
};

enum sim_kind { SIM_GOOD, SIM_SHORT, SIM_NAN, SIM_TOMBSTONE };
struct sim_record {
    enum sim_kind kind;
    struct fis_id id;
    float x[SIM_D_MAX];
    uint32_t truth;
    int32_t partition;
    int64_t at;     /* when it is appended */
    int64_t offset; /* -1: not yet */
    struct wire_bytes value;
};

struct sim_data {
    struct wire_schema schema;
    struct fis_column columns[SIM_D_MAX];
    struct sim_record records[SIM_RECORDS_MAX];
    float initial_x[SIM_ROWS_MAX][SIM_WIDTH_MAX];
    uint32_t initial_y[SIM_ROWS_MAX];
    struct sim_validation {
        float x[SIM_ROWS_MAX * SIM_WIDTH_MAX];
        uint32_t y[SIM_ROWS_MAX], group[SIM_ROWS_MAX], n;
    } validation[2];
    uint32_t current; /* which of the two is on its topic */
    struct scoring_options scoring;
    struct scorer_options scorer;
    struct trainer_role_options trainer[2];
    uint32_t limits;   /* which of the two is in force */
    uint32_t appended; /* records that are on their topic */
};

/* The plan and the data of the world's seed. Records are appended as time goes on. */
void sim_plan_make(struct sim_world *w);
void sim_plan_text(const struct sim_plan *p, char *buf, size_t size);
const struct sim_record *sim_record_by_id(const struct sim_world *w, const struct fis_id *id);

#endif

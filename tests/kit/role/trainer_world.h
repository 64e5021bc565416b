/* The world around a trainer machine, for its tests: it remembers what is put out, runs the jobs
 * and answers from the true labels. */
#ifndef TESTS_KIT_ROLE_TRAINER_WORLD_H
#define TESTS_KIT_ROLE_TRAINER_WORLD_H

#include "kit/cmocka.h"
#include "fis/mem.h"
#include "kit/role/small_pipeline.h"
#include "wire/ledger.h"

#define D SMALL_D
#define MAX_IDS 4096
#define MAX_REQUESTS 2048
#define MAX_VERSIONS 96
#define MAX_VOTES 8
#define PARTITIONS 3

/* A ledger entry with all that it points to. */
struct item {
    struct wire_ledger_entry entry; /* state 0: none */
    uint64_t written;               /* rises with every one that is written */
    float x[D];
    char record[8];
    struct fis_vote votes[MAX_VOTES];
    char annotator[MAX_VOTES][8];
};

/* What the machine has put out, and what was handed to it meanwhile: what a commit makes last. */
struct role_output {
    struct item item[MAX_IDS]; /* by the record's number */
    uint64_t written, tombstones;
    struct {
        struct fis_id id;
        int cancelled;
        int64_t deadline_ms;
    } request[MAX_REQUESTS];
    uint32_t n_requests;
    unsigned char asked[MAX_IDS];
    struct wire_trainer_state state;
    struct wire_counted counted[PARTITIONS];
    char control_text[256];
    uint32_t states;
    unsigned char checkpoint[1 << 15];
    size_t learner, gate;
    uint64_t heads, last_head, head_scan, floors_sent;
    struct wire_floors floors; /* the newest */
    bool resends;              /* open requests may come again */
    bool forgets;              /* what was asked for may leave the ledger */
    struct wire_forgotten forgotten[8];
    char salt[FIS_ID_MAX];
    uint32_t n_forgotten;
    struct wire_pool_end ends[PARTITIONS];
    uint32_t n_ends;
    float head[64], served[64]; /* slabs */
    uint32_t n_versions;
    struct {
        int served, params_there;
        uint64_t previous;
        char reason[32];
        double accuracy;
        uint64_t labels;
        uint32_t rows;
        float params[64];
    } version[MAX_VERSIONS];
    uint32_t n_records, step;
    int64_t next[PARTITIONS]; /* offsets of the records */
    uint64_t ms;              /* that passed */
    int64_t wall_jump;
};

/* The world around the machine: it remembers what is put out, and answers from the true labels. */
struct world {
    struct trainer_role_options o;
    struct fis_encoder *encoder;
    struct trainer_role *role;
    uint32_t n_initial;
    uint32_t absurd_every; /* one record of so many has a feature that makes training blow up */
    uint64_t mono_began;   /* of this process */
    int job;
    uint32_t pools, restarts, tied, went_back, jumps;
    struct role_output output, kept; /* up to now, and as of the last commit */
};

struct trainer_time now_of(const struct world *w);

uint32_t number_of(const struct fis_id *id);

struct fis_id id_of(uint32_t number);

/* The i-th request that was made. */
const struct fis_id *open_id(const struct world *w, uint32_t i);

uint32_t requests(const struct world *w);

enum wire_ledger_state entry_state(const struct world *w, const struct fis_id *id);

void open_world(struct world *w, const struct trainer_role_options *o);

void load_world(struct world *w, uint32_t n_initial);

void close_world(struct world *w);

void commit(struct world *w);

void start(struct world *w);
/* All three: open, load, start. */
void start_world(struct world *w, const struct trainer_role_options *o, uint32_t n_initial);

void turn(struct world *w);

void idle(struct world *w);

void features(uint32_t number, float *x);

void progress(struct world *w, uint32_t partition, uint32_t n);

void offer_one(struct world *w, uint32_t number);

void offer(struct world *w, uint32_t n);

int answer(struct world *w, const struct fis_id *id, enum wire_label_status status, uint32_t y,
           const char *who);

int label(struct world *w, const struct fis_id *id, uint32_t y);

void command(struct world *w, enum wire_control_kind kind, uint64_t version,
             const struct fis_id *record);

/* And whether it was carried out. */
int control(struct world *w, enum wire_control_kind kind, uint64_t version,
            const struct fis_id *record);

uint32_t truth(const struct fis_id *id);

/* Rounds until nothing more is asked for. */
void run_rounds(struct world *w);

/* `after` goes on from what `before` has committed. */
void restore(struct world *after, struct world *before);

/* The process dies; another one goes on from what was committed, on another monotonic clock. */
void restart_bare(struct world *w); /* without a checkpoint */
void restart(struct world *w);

void play_round(struct world *w);

#endif

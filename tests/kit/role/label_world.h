/* A labelling queue with people, a clock and the topics that it reads and writes. */
#ifndef TEST_KIT_LABEL_WORLD_H
#define TEST_KIT_LABEL_WORLD_H

#include "fis/rng.h"
#include "kit/base/oom.h"
#include "kit/cmocka.h"
#include "role/label_queue.h"

#define WORLD_LEASE 60000

#define WORLD_HOLD 5000

#define WORLD_WALL INT64_C(1800000000000)

struct label_world {
    struct label_queue *q;
    struct trainer_time now;
    struct fis_error e;
};

struct fis_id world_id(const char *text);

void world_pass(struct label_world *w, uint64_t ms);

void world_asked(struct label_world *w, const char *id, uint32_t votes);

struct wire_label world_answer(const char *id, const char *who, int class_index);

/* "" or a word for what is not a record, else its id. */
const char *world_next(struct label_world *w, const char *who, bool idle);

enum label_outcome world_give(struct label_world *w, const char *id, const char *who,
                              int class_index);

enum label_outcome world_undo(struct label_world *w, const char *id, const char *who);

void world_on_topic(struct label_world *w, const char *id, const char *who, int class_index);

/* The next one that is due: "id annotator class". */
const char *world_sent(struct label_world *w, uint64_t *token);

struct label_progress world_progress(struct label_world *w, const char *who);

int world_set_up(void **state);

int world_tear_down(void **state);

#endif

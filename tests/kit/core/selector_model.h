/* A model of the selector that does all by looking at every record. */
#ifndef TEST_KIT_SELECTOR_MODEL_H
#define TEST_KIT_SELECTOR_MODEL_H

#include <math.h>

#include "core/request_table.h"
#include "fis/mem.h"
#include "fis/rng.h"
#include "fis/selector.h"
#include "kit/cmocka.h"
#include "kit/core/requests.h"

#define MODEL_D 2u

#define MODEL_RECORDS 70u

#define MODEL_LABELS 4u /* a round's */

#define MODEL_HEAP 9u

#define MODEL_FLIGHT 3u

enum model_state { NOWHERE, HELD, OPEN, ANSWERED, WITHDRAWN };

struct model_record {
    enum model_state state;
    int bare;             /* withdrawn, and the features are not known any more */
    bool kept, restored;  /* restored: its payload is not known */
    int refunded, placed; /* placed: has a place in the current round */
    int answered_now;     /* in the current round */
    uint32_t criterion, label;
    int copied; /* the copy says that it is held */
    float x[MODEL_D];
};

struct selector_model {
    struct model_record r[MODEL_RECORDS];
    uint32_t head; /* scores are a function of record and head */
    uint64_t budget, allowance;
    struct fis_selector *s;
    struct fis_rng rng;
    uint32_t round;
    uint32_t last_reported; /* 0: nothing yet; 1: a `gone`; 2: a `held` */
};

struct fis_id model_id(uint32_t i);

/* Few values, so that there are ties; a third is no candidate of criterion 0. */
float model_score(uint32_t head, uint32_t record, uint32_t criterion);

void model_candidate(const struct selector_model *m, uint32_t i, struct fis_candidate *c);

struct fis_selector *model_selector(const struct selector_model *m);

uint32_t model_placed(const struct selector_model *m, uint32_t criterion);

#endif

/*
 * A small pipeline for tests of the trainer: two classes, three numeric columns, two groups. The
 * class depends on a and b, and c is the group's shadow, so there is something to learn, and
 * something unfair to learn.
 */
#ifndef TESTS_KIT_ROLE_SMALL_PIPELINE_H
#define TESTS_KIT_ROLE_SMALL_PIPELINE_H

#include "fis/rng.h"
#include "role/trainer.h"

#define SMALL_D 3
#define SMALL_VALIDATION 600

extern const struct wire_schema small_schema;
extern const struct fis_column small_columns[SMALL_D];

struct trainer_role_options small_options(void);
struct fis_encoder *small_encoder(struct fis_error *e); /* of numbers as they are; NULL: NOMEM */
/* One row x [SMALL_D] and its class; group: NULL, or where its group goes. */
uint32_t small_draw(struct fis_rng *r, float *x, uint32_t *group);
/* n_initial rows, and the validation rows, to a role that was just made. */
void small_load(struct trainer_role *role, uint32_t n_initial);

#endif

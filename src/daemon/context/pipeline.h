/*
 * The configuration in the words of the layers below: schema, columns, options of the roles.
 * Owns: its column table; borrows the configuration. Immutable after pipeline_init.
 */
#ifndef DAEMON_PIPELINE_H
#define DAEMON_PIPELINE_H

#include "config/config.h"
#include "role/scorer.h"
#include "role/trainer.h"

struct pipeline {
    const struct config *cfg;
    struct fis_column *columns;
    uint32_t n_columns;
    uint32_t tree_margins;         /* of a base of trees; 0: none */
    struct wire_schema schema;     /* of records and labels */
    struct wire_schema initial;    /* with the initial set's label column */
    struct wire_schema validation; /* with its label column and the sensitive columns */
    struct fis_criteria criteria;
    enum wire_encoding records, labels;
    unsigned char noise_key[FIS_PRIVACY_KEY]; /* secret */
};

int pipeline_init(struct pipeline *p, const struct config *cfg, struct fis_error *e) FIS_MUST_CHECK;
void pipeline_done(struct pipeline *p);

enum fis_metric pipeline_metric(const struct config *cfg);
void pipeline_scorer(const struct pipeline *p, const char *name, struct scorer_options *o);
/* Without validation_rows and n_groups, which the session fills in. */
void pipeline_trainer(const struct pipeline *p, struct trainer_role_options *o);

#endif

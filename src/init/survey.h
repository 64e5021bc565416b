/*
 * What the columns of a labelled table are, and what a data scientist would say about them.
 *
 * Pure: no file, no output, no clock. Thread: one owner. Owns: columns, classes, groups; borrows
 * the table.
 */
#ifndef INIT_SURVEY_H
#define INIT_SURVEY_H

#include <stdbool.h>

#include "data/table.h"

#define INIT_SENSITIVE_MAX 4
#define INIT_GIVES_AWAY 0.95 /* area under the ROC curve of one column alone */

struct init_choice {
    const char *label;
    const char *id; /* NULL: a column named id, in any case, or none */
    const char *sensitive[INIT_SENSITIVE_MAX];
    uint32_t n_sensitive;
    const char *positive; /* NULL: the last class */
};

enum init_role {
    INIT_FEATURE,
    INIT_LABEL,
    INIT_ID,
    INIT_SENSITIVE,
    INIT_LEFT_OUT,
    INIT_UNKNOWN /* not in the table */
};

/* What may be wrong with a column; all but the last are reasons to leave it out. */
enum init_oddity {
    INIT_CONSTANT = 1,
    INIT_LIKE_AN_ID = 2,
    INIT_DATE = 4,
    INIT_UNFIT = 8,  /* JSON: most cells are neither a number nor a text */
    INIT_MANY = 16,  /* more categories than features.max_categories */
    INIT_COMMA = 32, /* numbers that are written with a comma */
    INIT_LEAK = 64
};

struct init_column {
    enum init_role role;
    unsigned odd;               /* of enum init_oddity */
    uint32_t missing, distinct; /* cells; values */
    double auc; /* of this column alone, the class that it separates best; .5 to 1. Of its values,
                   or of where it has one at all */
};

struct init_survey {
    const struct data_table *t;
    struct init_column *columns; /* [t->n_columns] */
    int label, id;               /* columns; id is -1 when there is none */
    int sensitive[INIT_SENSITIVE_MAX];
    uint32_t n_sensitive, n_classes, n_groups, positive;
    uint32_t *classes; /* [n_classes] codes of the label column: in numeric order, else by bytes */
    uint32_t *y;       /* [t->n] class, or DATA_MISSING */
    uint32_t
        *group; /* [t->n] combination of sensitive values, or DATA_MISSING when one is missing */
    uint32_t *cells;     /* [n_groups][n_classes] rows */
    uint32_t usable;     /* rows with a label and a group */
    uint32_t duplicates; /* rows whose features repeat an earlier row's */
    uint32_t same_id;    /* rows whose id is an earlier row's; they are not usable */
};

/* INPUT: a column that is not there or is used twice; fewer than 2 classes or more than
 * FIS_MAX_CLASSES; more than FIS_MAX_GROUPS groups; no such positive class. NOMEM. */
int init_survey(struct init_survey *s, const struct data_table *t, const struct init_choice *choice,
                struct fis_error *e) FIS_MUST_CHECK;
void init_survey_done(struct init_survey *s); /* fine when zeroed */

enum init_role init_role(const struct init_survey *s, const char *column);
/* A cell's text; "" when it is missing. */
const char *init_text(const struct data_table *t, int column, uint32_t row, size_t *length);
/* Text of a class, of a group ("sex=F, race=B"; cut when it is too long for `size`). */
const char *init_class(const struct init_survey *s, uint32_t k);
const char *init_group(const struct init_survey *s, uint32_t g, char *text, size_t size);

/* Rows of `other` whose features, by name, repeat a row of the surveyed table. */
int init_shared_rows(const struct init_survey *s, const struct data_table *other, uint32_t *shared,
                     struct fis_error *e) FIS_MUST_CHECK;
/* Rows of part `b` (init_split) whose features repeat a row of part `a`. */
int init_repeated_rows(const struct init_survey *s, const uint8_t *part, uint8_t a, uint8_t b,
                       uint32_t *repeated, struct fis_error *e) FIS_MUST_CHECK;

#endif

/*
 * Groups of people: one per combination of the sensitive columns' values that occurs. With several
 * sensitive columns the groups are their intersections. Values are compared as categories
 * (fis_value_category); one that schema->missing lists, or that is empty, is missing, and its row is
 * in no group. Where schema->declared has values for a column, others are refused.
 *
 * Index order is the order of the values' bytes, not of arrival, so it does not depend on how the
 * examples came. Names are for the trainer's own use: never to be logged, never to be sent.
 * Thread: one owner.
 */
#ifndef DATA_GROUPS_H
#define DATA_GROUPS_H

#include "wire/types.h"

#define DATA_GROUP_NAME_MAX 1024

struct data_groups {
    char **names; /* [n] sensitive; values joined by U+001F */
    uint32_t n;
};

/* Whether these values [schema->n_sensitive] can name a group: 0; 1: one is missing. INPUT: one has
 * a control character, is too long, or is not declared; says which column, and not the value. */
int data_groups_check(const struct wire_schema *schema, const struct fis_value *sensitive,
                      struct fis_error *e) FIS_MUST_CHECK;

/* The index, by order of arrival, of the group that these values are in; adds it when it is new.
 * 1: one is missing. INPUT: as data_groups_check, or more than FIS_MAX_GROUPS groups. */
int data_groups_add(struct data_groups *g, const struct wire_schema *schema,
                    const struct fis_value *sensitive, uint32_t *index,
                    struct fis_error *e) FIS_MUST_CHECK;
/* Sorts the groups and renumbers rows [n] accordingly. */
void data_groups_sort(struct data_groups *g, uint32_t *rows, uint32_t n);
/* Calls `empty` for each declared value that no group has, as "sex=F"; where all columns are
 * declared and each value occurs, for each combination that no group has, as "sex=F, race=B". */
typedef void data_empty_fn(void *ctx, const char *what);
void data_groups_empty(const struct data_groups *g, const struct wire_schema *schema,
                       data_empty_fn *empty, void *ctx);
void data_groups_done(struct data_groups *g);

#endif

/*
 * Groups of people: one per combination of the sensitive columns' values that occurs. With several
 * sensitive columns the groups are their intersections.
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

/* Whether these values can name a group. INPUT: one is missing (says which column), has a control
 * character, or is too long. */
int data_groups_check(const char *const *columns, const struct fis_value *sensitive,
                      uint32_t n_sensitive, struct fis_error *e) FIS_MUST_CHECK;

/* The index, by order of arrival, of the group that these values are in; adds it when it is new.
 * INPUT: as data_groups_check, or more than FIS_MAX_GROUPS groups. */
int data_groups_add(struct data_groups *g, const char *const *columns,
                    const struct fis_value *sensitive, uint32_t n_sensitive, uint32_t *index,
                    struct fis_error *e) FIS_MUST_CHECK;
/* Sorts the groups and renumbers rows [n] accordingly. */
void data_groups_sort(struct data_groups *g, uint32_t *rows, uint32_t n);
void data_groups_done(struct data_groups *g);

#endif

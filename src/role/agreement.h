/*
 * How far the people who label agree: Krippendorff's alpha for nominal data with missing answers
 * ("Computing Krippendorff's Alpha-Reliability", 2011, section C). 1: they agree; 0: as chance
 * would have it; below 0: less than that. NaN: it cannot be estimated, since there are no two
 * answers for a record, or all answers are the same class.
 *
 * Of a coincidence matrix only the diagonal and the margins are kept, which is all that nominal
 * alpha needs; of each person what they add to both, so alpha without them needs no second pass.
 *
 * Thread: one owner. Owns: names, until agreement_done.
 */
#ifndef ROLE_AGREEMENT_H
#define ROLE_AGREEMENT_H

#include "fis/error.h"
#include "fis/network.h"
#include "fis/request.h"

#define AGREEMENT_PEOPLE 256 /* followed one by one; what more people say counts in the whole */

struct agreement_sums {
    double same[FIS_MAX_CLASSES];  /* coincidences of a class with itself */
    double total[FIS_MAX_CLASSES]; /* answers of a class, in records with two or more */
};

struct agreement_person {
    char *name;
    struct agreement_sums adds; /* what their answers add to the whole */
    double pairs, alike;        /* other people's answers for the same records; those that agree */
    uint64_t answers;           /* in records with two or more */
};

struct agreement { /* all-zero is an empty one */
    struct agreement_sums all;
    struct agreement_person *people;
    uint32_t n_people;
    uint64_t records; /* with two or more answers */
};

void agreement_done(struct agreement *a);
/* Adds the answers for a record, one a person, or takes them out again. What is no label (skipped,
 * unsure) is a missing answer. NOMEM: nothing was added. */
int agreement_add(struct agreement *a, const struct fis_vote *votes, uint32_t n,
                  struct fis_error *e) FIS_MUST_CHECK;
void agreement_take(struct agreement *a, const struct fis_vote *votes, uint32_t n);

double agreement_alpha(const struct agreement *a);
/* Of one class against all others together. */
double agreement_of_class(const struct agreement *a, uint32_t class_index);
/* Of all others: what alpha would be without this person. */
double agreement_without(const struct agreement *a, const struct agreement_person *p);
/* What is shown of it: a copy. NaN: it cannot be estimated. */
#define AGREEMENT_SHOWN 50
struct agreement_view {
    uint64_t records;
    double alpha, by_class[FIS_MAX_CLASSES];
    uint32_t n_people; /* those that were met first */
    struct {
        char name[256];
        uint64_t answers;
        double share, without;
    } people[AGREEMENT_SHOWN];
};
void agreement_look(const struct agreement *a, struct agreement_view *out);

/* The share of other people's answers that theirs agree with; NaN: there are none. */
double agreement_share(const struct agreement_person *p);

#endif

/*
 * The selector: which records to ask labels for. It keeps one bounded heap per criterion of the
 * algorithm, the requests in flight, the ids already answered, and the round's and the budget's
 * counts. It knows nothing of models: scores come in with the candidates.
 *
 * algorithm   criteria (score: higher is better)                       candidate when
 * fis+        EKG = sum_k p_k min(0, infl_fair_k) over k with both      EKG < 0
 *             influences <= 0, score -EKG; and predictive entropy       always
 * ekg         -EKG                                                     EKG < 0
 * product     -EKG x entropy                                           EKG < 0
 * fis         -infl_fair at the proxy label (Algorithm 1)              both influences <= 0
 * random      a hash of the id and the seed                            always
 * entropy     predictive entropy (what the paper's program calls BALD) always
 *
 * Thread: one owner. Owns: copies of what it is offered.
 */
#ifndef FIS_SELECTOR_H
#define FIS_SELECTOR_H

#include "fis/heap.h"
#include "fis/influence.h"

enum fis_algorithm {
    FIS_ALGORITHM_FIS_PLUS = 1,
    FIS_ALGORITHM_FIS,
    FIS_ALGORITHM_EKG,
    FIS_ALGORITHM_PRODUCT,
    FIS_ALGORITHM_RANDOM,
    FIS_ALGORITHM_ENTROPY
};
const char *fis_algorithm_name(enum fis_algorithm a); /* "fis+", … */

#define FIS_MAX_CRITERIA 2
#define FIS_NOT_A_CANDIDATE                                                                        \
    (-1.0f / 0.0f) /* score of a criterion that does not want the record                           \
                    */

struct fis_criteria {
    enum fis_algorithm algorithm;
    int strategy;  /* 1 or 2: proxy labels of `fis` */
    uint64_t seed; /* random */
};
uint32_t fis_criteria_count(enum fis_algorithm a);                        /* 1 or 2 */
const char *fis_criterion_name(enum fis_algorithm a, uint32_t criterion); /* "ekg", "entropy", … */
/* scores [FIS_MAX_CRITERIA] of one record from p, infl_acc, infl_fair [K]. */
void fis_criteria_score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                        const float *infl_acc, const float *infl_fair, uint32_t classes,
                        float *scores);

struct fis_candidate {
    struct fis_id id;
    const float *x; /* [d], encoded */
    float scores[FIS_MAX_CRITERIA];
    const void *payload; /* opaque: what the label request shows to a person */
    size_t payload_length;
};

struct fis_selector_options {
    struct fis_criteria criteria;
    uint32_t d;
    uint32_t labels_per_round; /* r */
    uint32_t heap;             /* capacity of each criterion's heap; 0: 2 r */
    uint32_t in_flight;        /* 0: r */
    uint64_t budget;           /* labels in total; 0: unlimited */
};

struct fis_selector;
struct fis_selector *fis_selector_new(const struct fis_selector_options *o, struct fis_error *e);
void fis_selector_free(struct fis_selector *s);

/* Offers a candidate (copied when kept). 1: kept by at least one heap, 0: not good enough, or its
 * id is already held, asked for, answered or withdrawn. INPUT: a score that is NaN or +infinite, or
 * features that are not finite. */
int fis_selector_offer(struct fis_selector *s, const struct fis_candidate *c,
                       struct fis_error *e) FIS_MUST_CHECK;

/* A new head: `score` fills scores for n held candidates at a time (x: [n][d] gathered). All are
 * then offered anew to both heaps. INPUT: some scores were NaN or infinite; those candidates are
 * let go, and the others are in their places all the same. */
typedef void fis_rescore_fn(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                            float *scores /* [n][FIS_MAX_CRITERIA] */);
int fis_selector_rescore(struct fis_selector *s, fis_rescore_fn *score, void *arg,
                         struct fis_error *e) FIS_MUST_CHECK;

/* The next one to ask a label for. It is the turn of the criterion that has been given fewest in
 * this round, so that any prefix of a round holds both in equal parts; a criterion without
 * candidates leaves its turn to the other, and has it back when it finds some. Returns 1 and fills
 * *c (pointers valid until the label is taken) and *criterion, or 0: nothing to ask (heaps empty,
 * in-flight limit, round full, or budget spent; why: fis_selector_limit). The request counts at
 * once against the in-flight limit, the round and the budget. */
int fis_selector_ask(struct fis_selector *s, struct fis_candidate *c, uint32_t *criterion);
enum fis_limit {
    FIS_LIMIT_NONE,
    FIS_LIMIT_EMPTY,
    FIS_LIMIT_IN_FLIGHT,
    FIS_LIMIT_ROUND,
    FIS_LIMIT_BUDGET
};
enum fis_limit fis_selector_limit(const struct fis_selector *s);

/* A label arrives. ACCEPTED: first answer to an open request; *c is filled, and stays valid until
 * fis_selector_release(id). The others change nothing. */
enum fis_answer {
    FIS_ANSWER_ACCEPTED,
    FIS_ANSWER_UNKNOWN,
    FIS_ANSWER_DUPLICATE,
    FIS_ANSWER_CONTRADICTION
};
enum fis_answer fis_selector_answer(struct fis_selector *s, const struct fis_id *id, uint32_t label,
                                    struct fis_candidate *c, uint32_t *criterion);
void fis_selector_release(struct fis_selector *s, const struct fis_id *id);
/* The label of this answered id was not kept. For rounds that count kept labels (`fis`: Algorithm 1
 * goes on while fewer than r are kept) its place in the round is free again, once; it stays
 * answered and paid for. */
void fis_selector_not_kept(struct fis_selector *s, const struct fis_id *id);
/* A person skipped it, or its deadline passed: the slot in flight and the place in the round are
 * free again and the budget is given back; the id is not asked again. 1 when it was open. */
int fis_selector_withdraw(struct fis_selector *s, const struct fis_id *id);

/* Restoring a state: as if asked just now (label < 0; c whole), or asked, answered and released
 * (only c->id is read). Told twice is told once; limits are not checked. */
int fis_selector_restore(struct fis_selector *s, const struct fis_candidate *c, uint32_t criterion,
                         int64_t label, struct fis_error *e) FIS_MUST_CHECK;

void fis_selector_round_begin(struct fis_selector *s); /* the round's counts start at 0 */
struct fis_selector_counts {
    uint32_t held; /* candidates in the heaps (distinct) */
    uint32_t open; /* requests without an answer */
    uint32_t round_asked, round_answered;
    uint64_t asked, answered; /* in all; answered counts against the budget with open ones */
    uint64_t budget_left;     /* UINT64_MAX when unlimited */
};
struct fis_selector_counts fis_selector_counts(const struct fis_selector *s);

#endif

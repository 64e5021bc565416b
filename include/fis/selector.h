/*
 * The selector: which records to ask labels for. It keeps one bounded heap per criterion of the
 * acquisition, the requests in flight, the ids already answered, and the round's and the budget's
 * counts. It knows nothing of models: scores come in with the candidates.
 *
 * Thread: one owner. Owns: copies of what it is offered.
 */
#ifndef FIS_SELECTOR_H
#define FIS_SELECTOR_H

#include "fis/acquisition.h"
#include "fis/heap.h"
#include "fis/request.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    uint32_t margins; /* the last features, which follow from the others (trees of some time) */
    uint32_t labels_per_round; /* r */
    uint32_t heap;             /* capacity of each criterion's heap; 0: 2 r */
    uint32_t in_flight;        /* 0: r */
    uint64_t budget;           /* labels in total; 0: unlimited */
    bool distinct;             /* of candidates with equal features a heap holds the best, and one
                                  is asked for in a round; the others wait */
    bool rounds_of_kept;       /* what is set aside has no place in the round, as Algorithm 1 has
                                  it: it goes on while fewer than r are kept */
};

/* Equal features have equal ones (0 and -0 are equal); others differ, but for one case in 2^64.
 * Never 0. */
uint64_t fis_features_hash(const float *x, uint32_t d);

struct fis_selector;
struct fis_selector *fis_selector_new(const struct fis_selector_options *o, struct fis_error *e);
void fis_selector_free(struct fis_selector *s);

/* Offers a candidate (copied when kept). 1: kept by at least one heap, 0: not good enough, or its
 * id is already held, asked for, answered or given up, or one with its features is held that is
 * better (distinct). INPUT: a score that is NaN or +infinite, or
 * features that are not finite. */
int fis_selector_offer(struct fis_selector *s, const struct fis_candidate *c,
                       struct fis_error *e) FIS_MUST_CHECK;

/* What a candidate must reach in a criterion to be kept by its heap, as things are: scores
 * [FIS_MAX_CRITERIA], FIS_NOT_A_CANDIDATE where the heap has room. One that reaches none of them
 * would not be kept; until a request takes a candidate out, nothing lowers them. */
void fis_selector_floors(const struct fis_selector *s, float *scores);
uint32_t fis_selector_heap(const struct fis_selector *s); /* capacity of each heap */

/* A new head: `score` fills scores for n held candidates at a time (x: [n][d] gathered). All are
 * then offered again to both heaps. INPUT: some scores were NaN or infinite; those candidates are
 * dropped, and the others are in their places all the same. */
typedef void fis_rescore_fn(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                            float *scores /* [n][FIS_MAX_CRITERIA] */);
int fis_selector_rescore(struct fis_selector *s, fis_rescore_fn *score, void *arg,
                         struct fis_error *e) FIS_MUST_CHECK;

/* The next one to ask a label for. It is the turn of the criterion that has been given fewest in
 * this round, so that any prefix of a round holds both in equal parts; a criterion without
 * candidates leaves its turn to the other until it finds some. Returns 1 and fills
 * *c (pointers valid until the label is taken) and *criterion, or 0: nothing to ask (why:
 * fis_selector_limit, in this order). The request counts at once against the in-flight limit, the
 * round, the budget and the allowance. */
bool fis_selector_ask(struct fis_selector *s, struct fis_candidate *c, uint32_t *criterion);
enum fis_limit {
    FIS_LIMIT_NONE,
    FIS_LIMIT_EMPTY, /* the heaps are, or hold what waits for the next round */
    FIS_LIMIT_IN_FLIGHT,
    FIS_LIMIT_ROUND,
    FIS_LIMIT_BUDGET,
    FIS_LIMIT_ALLOWANCE
};
enum fis_limit fis_selector_limit(const struct fis_selector *s);
/* At most n more requests from now on, whatever becomes of them; UINT64_MAX: no such limit, as at
 * the beginning. */
void fis_selector_set_allowance(struct fis_selector *s, uint64_t n);
void fis_selector_set_clock(struct fis_selector *s, uint64_t ms); /* asked_at_ms of the next ones */

/* What is known of a record; NULL: nothing. The pointer is valid as long as the record is held,
 * asked for or done with. Its owner may set `required` and `votes`. */
struct fis_request *fis_selector_find(const struct fis_selector *s, const struct fis_id *id);
struct fis_request *fis_selector_oldest(const struct fis_selector *s); /* open; NULL: none is */
/* Whether its features are known: of one that is held, open, or given up in this process; *c as
 * fis_selector_ask gave it (no payload when given up), valid until the request is answered. */
bool fis_selector_features(const struct fis_selector *s, const struct fis_request *r,
                           struct fis_candidate *c);

/* Anything else than what is stated here is a BUG.
 * answer: the label of an open request, or late, of one given up (it is charged now when it was
 *   not). It counts in the round in which it comes. Features and votes are dropped.
 * give_up: an open request becomes EXPIRED, SKIPPED, CANCELLED or TIED: the slot in flight and the
 *   place in the round are free again, and the id is not asked again. refund: it is returned to
 *   the budget; else it stays charged. Features are kept for a late answer, the payload is not. */
void fis_selector_answer(struct fis_selector *s, struct fis_request *r, uint32_t class_index,
                         bool kept);
void fis_selector_give_up(struct fis_selector *s, struct fis_request *r, enum fis_request_state how,
                          bool refund);

/* forget: what is known of a record goes, in any state; what was asked for stays charged, unless it
 * was refunded, but its place in the round is free. Ids equal to it are new ones then. charge: n
 * more are paid for, of which nothing else is known: after a restart. */
void fis_selector_forget(struct fis_selector *s, struct fis_request *r);
void fis_selector_charge(struct fis_selector *s, uint64_t n);

/* The best n that this criterion's heap holds, best first; returns how many (256 at most). Pointers
 * are valid until the selector is next called. Linear in the heap. */
uint32_t fis_selector_best(const struct fis_selector *s, uint32_t criterion,
                           struct fis_candidate *out, uint32_t n);

/* What the heaps hold that was not reported before, and what was reported and is no longer held
 * without having been asked for: for a copy that is kept elsewhere. `gone` first, then `held`; an
 * id reported as held may be reported so again, with other features. The functions may not call the
 * selector. */
void fis_selector_changes(struct fis_selector *s, void (*gone)(void *arg, const struct fis_id *id),
                          void (*held)(void *arg, const struct fis_candidate *c), void *arg);
bool fis_selector_changed(const struct fis_selector *s); /* would changes() report anything */

/* Restoring a state, id by id, after fis_selector_round_begin: each in its last state. A second
 * time changes nothing, and a state that can only come before the known one is passed over. Limits
 * are not checked. INPUT: no such criterion.
 * held: a candidate that fis_selector_changes reported. It is in no heap before the next
 *   fis_selector_rescore, so its scores do not matter, and none is refused.
 * restore: OPEN or a later state, with id, criterion, round, asked_at_ms, class_index and refunded
 *   of `as`; *r is the request as it is then. x [d]: NULL of one given up is one without features;
 *   of an answered one it is read with distinct alone. */
int fis_selector_restore_held(struct fis_selector *s, const struct fis_candidate *c,
                              struct fis_error *e) FIS_MUST_CHECK;
int fis_selector_restore(struct fis_selector *s, const struct fis_request *as, const float *x,
                         struct fis_request **r, struct fis_error *e) FIS_MUST_CHECK;

/* What a restored open request, with features, shows to a person: fis_selector_features gives it
 * again. */
int fis_selector_set_payload(struct fis_selector *s, struct fis_request *r, const void *payload,
                             size_t length, struct fis_error *e) FIS_MUST_CHECK;

/* Another round, with its number: its counts start at 0. */
void fis_selector_round_begin(struct fis_selector *s, uint32_t round);
/* Another budget than it was made with: 0 is unlimited. What is less than what was spent already
 * leaves nothing. */
void fis_selector_set_budget(struct fis_selector *s, uint64_t budget);
/* Another limit of open requests; 0: r. Those that are open beyond it stay. */
void fis_selector_set_in_flight(struct fis_selector *s, uint32_t in_flight);
/* Requests use one criterion alone: its number, from 1; 0: all, in turns. */
void fis_selector_set_only(struct fis_selector *s, uint32_t criterion);
struct fis_selector_counts {
    uint32_t held; /* candidates in the heaps, each once */
    uint32_t open; /* requests without an answer */
    /* Places of the round that are taken: by requests, and by answers to older ones. */
    uint32_t round_asked, round_answered;
    uint64_t waiting;     /* held ones that wait for the next round (distinct) */
    uint64_t asked;       /* in all: open, answered and given up */
    uint64_t answered;    /* in all */
    uint64_t given_up;    /* without an answer so far */
    uint64_t charged;     /* counts against the budget besides the open ones */
    uint64_t budget_left; /* 0 also when late answers went over it; UINT64_MAX when unlimited */
};
struct fis_selector_counts fis_selector_counts(const struct fis_selector *s);

#ifdef __cplusplus
}
#endif

#endif

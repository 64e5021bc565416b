/* Inside the label queue: label_queue.c (requests, labels, people), label_lease.c (who is shown
 * what), label_answer.c (answers on their way). */
#ifndef ROLE_LABEL_QUEUE_IMPL_H
#define ROLE_LABEL_QUEUE_IMPL_H

#include "role/label_queue.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#include <uthash.h>

/* A label may be older than its request by so much, for clocks that differ. */
#define LABEL_CLOCKS_MS 60000

struct label_person {
    UT_hash_handle hh;
    int64_t *times; /* [n] of their answers, by the wall clock */
    uint32_t n;
    char name[];
};

enum label_stage { STAGE_HELD = 1, STAGE_SENDING, STAGE_RECORDED };
struct label_answer {
    struct label_person *who;
    enum wire_label_status status;
    uint32_t class_index;
    enum label_stage stage;
    int64_t at_ms;          /* by the wall clock: when it was given */
    int64_t seen_ms;        /* its message's time, or at_ms */
    uint64_t due_ms, token; /* HELD: until when; SENDING: of the report */
};

struct label_lease {
    struct label_person *who;
    uint64_t until_ms, number; /* number: a later one is higher */
};

struct label_item {
    UT_hash_handle hh;
    struct label_item *before, *after; /* in `open` or `early` */
    struct label_list *list;           /* the one of them that it is in, or NULL */
    struct fis_id id;
    bool requested, withdrawn, decided;
    bool pending, judged; /* in the queue's `pending`; its answers are in `agreement` */
    uint32_t round, votes;
    int64_t requested_at_ms, deadline_ms, asked_ms; /* asked_ms: the newest message's */
    void *payload;
    size_t payload_length;
    struct label_answer *answers;
    struct label_lease *leases;
    uint32_t n_answers, n_leases;
};

struct label_list {
    struct label_item *first, *last;
    uint32_t n;
};

struct label_queue {
    struct label_queue_options o;
    struct label_item *items; /* all, by id */
    struct label_person *people;
    struct label_list open;      /* requested, and answers are missing; the oldest first */
    struct label_list early;     /* labels of what nobody has requested yet */
    struct label_item **pending; /* with answers that are not recorded */
    uint32_t n_pending;
    uint64_t leases, tokens; /* given so far */
    struct agreement agreement;
};

struct label_item *label_item_find(const struct label_queue *q, const struct fis_id *id);
struct label_person *label_person_get(struct label_queue *q, const char *name, struct fis_error *e);
struct label_person *label_person_find(const struct label_queue *q, const char *name);
/* Where it belongs after a change: among the open ones or not. */
void label_item_place(struct label_queue *q, struct label_item *it);

bool label_answer_same(const struct label_answer *a, const struct wire_label *l);
/* Whether an answer counts for the request as it is now. */
bool label_answer_counts(const struct label_item *it, const struct label_answer *a);
uint32_t label_answers_count(const struct label_item *it);
struct label_answer *label_answer_of(const struct label_item *it, const struct label_person *who);
/* Before and after the answers of an item change. */
void label_agreement_take(struct label_queue *q, struct label_item *it);
void label_agreement_add(struct label_queue *q, struct label_item *it);
int label_answer_add(struct label_queue *q, struct label_item *it, const struct label_answer *a,
                     struct fis_error *e);
void label_answer_drop(struct label_item *it, struct label_answer *a);

void label_lease_end(struct label_item *it, const struct label_person *who);
int label_lease_give(struct label_queue *q, struct label_item *it, struct label_person *who,
                     uint64_t now_ms, struct fis_error *e);

#endif

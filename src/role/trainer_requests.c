#include "role/trainer_requests.h"

#include <string.h>

#include "fis/network.h"

static void free_request(struct trainer_request *r)
{
    for (uint32_t i = 0; i < r->n_votes; i++)
        fis_free((char *)(uintptr_t)r->votes[i].annotator);
    fis_free(r->votes);
    fis_free(r);
}

void trainer_requests_done(struct trainer_requests *t)
{
    struct trainer_request *r, *next;
    HASH_ITER (hh, t->table, r, next) {
        HASH_DEL(t->table, r);
        free_request(r);
    }
    *t = (struct trainer_requests){0};
}

struct trainer_request *trainer_request_find(const struct trainer_requests *t,
                                             const struct fis_id *id)
{
    struct trainer_request *r;
    HASH_FIND(hh, t->table, id->bytes, id->length, r);
    return r;
}

static int is_before(const struct trainer_request *a, const struct trainer_request *b)
{
    if (a->asked_at_ms != b->asked_at_ms)
        return a->asked_at_ms < b->asked_at_ms;
    return fis_id_compare(&a->id, &b->id) < 0;
}

/* By age, then by id: an order that is the same when they are told from a ledger. It is nearly the
 * end that it goes to when it has just been asked. */
static void open_up(struct trainer_requests *t, struct trainer_request *r)
{
    struct trainer_request *older = t->newest;
    while (older && is_before(r, older))
        older = older->older;
    r->older = older;
    r->newer = older ? older->newer : t->oldest;
    *(r->older ? &r->older->newer : &t->oldest) = r;
    *(r->newer ? &r->newer->older : &t->newest) = r;
}

struct trainer_request *trainer_request_add(struct trainer_requests *t, const struct fis_id *id,
                                            enum wire_ledger_state state, uint64_t asked_at_ms)
{
    struct trainer_request *r = trainer_request_find(t, id);
    if (r)
        return r;
    r = fis_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->id = *id;
    r->state = state;
    r->asked_at_ms = asked_at_ms;
    HASH_ADD_KEYPTR(hh, t->table, r->id.bytes, r->id.length, r);
    if (!r->hh.tbl) { /* how uthash says that it had no memory */
        fis_free(r);
        return NULL;
    }
    if (state == WIRE_REQUESTED)
        open_up(t, r);
    return r;
}

void trainer_request_close(struct trainer_requests *t, struct trainer_request *r)
{
    *(r->older ? &r->older->newer : &t->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &t->newest) = r->older;
    r->older = r->newer = NULL;
}

void trainer_request_remove(struct trainer_requests *t, struct trainer_request *r)
{
    if (r->state == WIRE_REQUESTED)
        trainer_request_close(t, r);
    HASH_DEL(t->table, r);
    free_request(r);
}

/* ---- votes ---------------------------------------------------------------------------------- */

struct wire_vote *trainer_request_vote_of(const struct trainer_request *r, const char *annotator)
{
    for (uint32_t i = 0; i < r->n_votes; i++)
        if (strcmp(r->votes[i].annotator, annotator) == 0)
            return &r->votes[i];
    return NULL;
}

int trainer_request_vote(struct trainer_request *r, const struct wire_vote *vote,
                         struct fis_error *e)
{
    char *annotator = fis_strdup(vote->annotator);
    struct wire_vote *votes =
        annotator ? fis_grow(r->votes, r->n_votes, r->n_votes + 1, sizeof *votes) : NULL;
    if (!votes) {
        fis_free(annotator);
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for an answer");
    }
    r->votes = votes;
    r->votes[r->n_votes] = *vote;
    r->votes[r->n_votes++].annotator = annotator;
    return 0;
}

enum trainer_decision trainer_request_decide(const struct trainer_request *r, uint32_t *class_index)
{
    uint32_t n[FIS_MAX_CLASSES] = {0}, top = 0, second = 0, best = 0;
    for (uint32_t i = 0; i < r->n_votes; i++)
        if (r->votes[i].status == WIRE_LABELLED && r->votes[i].class_index < FIS_MAX_CLASSES)
            n[r->votes[i].class_index]++;
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++) {
        if (n[k] > top) {
            second = top;
            top = n[k];
            best = k;
        } else if (n[k] > second) {
            second = n[k];
        }
    }
    uint32_t missing = r->wanted > r->n_votes ? r->wanted - r->n_votes : 0;
    if (top - second > missing) {
        *class_index = best;
        return TRAINER_DECIDED;
    }
    if (missing)
        return TRAINER_UNDECIDED;
    return top ? TRAINER_TIED : TRAINER_SKIPPED;
}

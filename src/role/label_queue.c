#include "fis/mem.h"
#include "role/label_queue_impl.h"

#include <string.h>

/* Labels that came before their request: topics are read side by side. */
#define EARLY_MAX 65536

/* ---- lists ----------------------------------------------------------------------------------- */

static void list_remove(struct label_item *it)
{
    struct label_list *l = it->list;
    if (!l)
        return;
    *(it->before ? &it->before->after : &l->first) = it->after;
    *(it->after ? &it->after->before : &l->last) = it->before;
    it->before = it->after = NULL;
    it->list = NULL;
    l->n--;
}

static void list_add(struct label_list *l, struct label_item *it, struct label_item *before)
{
    it->before = before;
    it->after = before ? before->after : l->first;
    *(it->after ? &it->after->before : &l->last) = it;
    *(before ? &before->after : &l->first) = it;
    it->list = l;
    l->n++;
}

/* It is not shown again. */
static void drop_payload(struct label_item *it)
{
    bool unsent = false;
    for (uint32_t i = 0; i < it->n_answers; i++)
        unsent |= it->answers[i].stage != STAGE_RECORDED;
    if (unsent && !it->withdrawn)
        return;
    fis_free(it->payload);
    it->payload = NULL;
    it->payload_length = 0;
}

void label_item_place(struct label_queue *q, struct label_item *it)
{
    bool open = it->requested && !it->withdrawn && label_answers_count(it) < it->votes;
    if (open && it->list != &q->open) {
        struct label_item *before = q->open.last;
        list_remove(it);
        while (before && before->requested_at_ms > it->requested_at_ms)
            before = before->before;
        list_add(&q->open, it, before);
    } else if (!open && it->list == &q->open) {
        list_remove(it);
    }
    if (it->requested && !open)
        drop_payload(it);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void item_free(struct label_item *it)
{
    fis_free(it->payload);
    fis_free(it->answers);
    fis_free(it->leases);
    fis_free(it);
}

struct label_queue *label_queue_new(const struct label_queue_options *o)
{
    struct label_queue *q = fis_calloc(1, sizeof *q);
    if (q)
        q->o = *o;
    return q;
}

void label_queue_set(struct label_queue *q, const struct label_queue_options *o)
{
    q->o = *o;
}

void label_queue_free(struct label_queue *q)
{
    struct label_item *it, *next_item;
    struct label_person *p, *next_person;
    if (!q)
        return;
    HASH_ITER (hh, q->items, it, next_item) {
        HASH_DEL(q->items, it);
        item_free(it);
    }
    HASH_ITER (hh, q->people, p, next_person) {
        HASH_DEL(q->people, p);
        fis_free(p->times);
        fis_free(p);
    }
    agreement_done(&q->agreement);
    fis_free(q->pending);
    fis_free(q);
}

struct label_item *label_item_find(const struct label_queue *q, const struct fis_id *id)
{
    struct label_item *it;
    HASH_FIND(hh, q->items, id->bytes, id->length, it);
    return it;
}

/* The oldest of those that nobody requests gives way. */
static void forget_early(struct label_queue *q)
{
    struct label_item *it = q->early.first;
    if (q->early.n < EARLY_MAX)
        return;
    list_remove(it);
    HASH_DEL(q->items, it);
    item_free(it);
}

static struct label_item *item_get(struct label_queue *q, const struct fis_id *id,
                                   struct fis_error *e)
{
    struct label_item *it = label_item_find(q, id);
    if (it)
        return it;
    it = fis_calloc(1, sizeof *it);
    if (it) {
        it->id = *id;
        HASH_ADD_KEYPTR(hh, q->items, it->id.bytes, it->id.length, it);
    }
    if (!it || !it->hh.tbl) {
        fis_free(it);
        fis_fail(e, FIS_NOMEM, "no memory for label requests");
        return NULL;
    }
    forget_early(q);
    list_add(&q->early, it, q->early.last);
    return it;
}

struct label_person *label_person_find(const struct label_queue *q, const char *name)
{
    struct label_person *p;
    HASH_FIND_STR(q->people, name, p);
    return p;
}

struct label_person *label_person_get(struct label_queue *q, const char *name, struct fis_error *e)
{
    struct label_person *p = label_person_find(q, name);
    size_t n = strlen(name) + 1;
    if (p)
        return p;
    p = fis_calloc(1, sizeof *p + n);
    if (p) {
        memcpy(p->name, name, n);
        HASH_ADD_KEYPTR(hh, q->people, p->name, n - 1, p);
    }
    if (!p || !p->hh.tbl) {
        fis_free(p);
        fis_fail(e, FIS_NOMEM, "no memory for an annotator");
        return NULL;
    }
    return p;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void withdraw(struct label_queue *q, struct label_item *it, const char *reason)
{
    it->withdrawn = true;
    it->decided = reason && strcmp(reason, "decided") == 0;
    it->n_leases = 0;
    label_item_place(q, it);
}

static int set_payload(struct label_item *it, struct wire_bytes payload, struct fis_error *e)
{
    void *copy = fis_alloc(payload.length ? payload.length : 1, 1);
    if (!copy)
        return fis_fail(e, FIS_NOMEM, "no memory for a label request");
    if (payload.length)
        memcpy(copy, payload.data, payload.length);
    fis_free(it->payload);
    it->payload = copy;
    it->payload_length = payload.length;
    return 0;
}

int label_queue_request(struct label_queue *q, const struct wire_label_request *r, int64_t at_ms,
                        struct wire_bytes payload, struct fis_error *e)
{
    struct label_item *it = item_get(q, &r->id, e);
    int rc = it ? 0 : -(int)FIS_NOMEM;
    if (!rc && !r->cancelled)
        rc = set_payload(it, payload, e);
    if (rc)
        return rc;
    label_agreement_take(q, it);
    if (it->list == &q->early)
        list_remove(it);
    it->requested = true;
    if (r->cancelled) {
        withdraw(q, it, r->reason);
    } else {
        it->withdrawn = it->decided = false;
        it->round = r->round;
        it->votes = r->votes ? r->votes : 1;
        it->requested_at_ms = r->requested_at_ms;
        it->deadline_ms = r->deadline_ms;
        it->asked_ms = at_ms > r->requested_at_ms ? at_ms : r->requested_at_ms;
        label_item_place(q, it);
    }
    label_agreement_add(q, it);
    return 0;
}

/* ---- answers that count ---------------------------------------------------------------------- */

bool label_answer_counts(const struct label_item *it, const struct label_answer *a)
{
    int64_t since = it->votes > 1 ? it->requested_at_ms : it->asked_ms;
    if (it->votes > 1 && !*a->who->name)
        return false; /* nobody knows whose it is */
    return a->stage != STAGE_RECORDED || a->seen_ms + LABEL_CLOCKS_MS >= since;
}

uint32_t label_answers_count(const struct label_item *it)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < it->n_answers; i++)
        n += label_answer_counts(it, &it->answers[i]);
    return n;
}

struct label_answer *label_answer_of(const struct label_item *it, const struct label_person *who)
{
    for (uint32_t i = 0; i < it->n_answers; i++)
        if (it->answers[i].who == who)
            return &it->answers[i];
    return NULL;
}

static uint32_t votes_of(const struct label_item *it, struct fis_vote votes[WIRE_VOTES])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < it->n_answers; i++) {
        const struct label_answer *a = &it->answers[i];
        if (a->stage == STAGE_RECORDED && label_answer_counts(it, a))
            votes[n++] = (struct fis_vote){a->who->name, a->status, a->class_index, a->at_ms};
    }
    return n;
}

void label_agreement_take(struct label_queue *q, struct label_item *it)
{
    struct fis_vote votes[WIRE_VOTES];
    if (it->judged)
        agreement_take(&q->agreement, votes, votes_of(it, votes));
    it->judged = false;
}

void label_agreement_add(struct label_queue *q, struct label_item *it)
{
    struct fis_vote votes[WIRE_VOTES];
    struct fis_error none; /* without memory the figure is without this record */
    it->judged = it->requested && !agreement_add(&q->agreement, votes, votes_of(it, votes), &none);
}

const struct agreement *label_queue_agreement(const struct label_queue *q)
{
    return &q->agreement;
}

/* ---- labels of the topic --------------------------------------------------------------------- */

bool label_answer_same(const struct label_answer *a, const struct wire_label *l)
{
    return a->status == l->status &&
           (l->status != WIRE_LABELLED || a->class_index == l->class_index);
}

/* The first on the topic is what counts, but for a label after skipped or unsure. */
static void meet_again(struct label_answer *a, const struct wire_label *l, int64_t at_ms)
{
    bool same = label_answer_same(a, l);
    bool better = a->status != WIRE_LABELLED && l->status == WIRE_LABELLED;
    if (a->stage == STAGE_SENDING && !same)
        return;
    if (same || better || a->stage == STAGE_HELD) {
        a->status = l->status;
        a->class_index = l->class_index;
        a->stage = STAGE_RECORDED;
        a->seen_ms = at_ms > a->seen_ms ? at_ms : a->seen_ms;
    }
}

/* Held answers of others, for which there is no place any more. */
static void drop_late(struct label_item *it)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < it->n_answers; i++)
        taken += it->answers[i].stage != STAGE_HELD && label_answer_counts(it, &it->answers[i]);
    for (uint32_t i = it->n_answers; it->requested && taken >= it->votes && i-- > 0;)
        if (it->answers[i].stage == STAGE_HELD)
            label_answer_drop(it, &it->answers[i]);
}

int label_queue_label(struct label_queue *q, const struct wire_label *l, int64_t at_ms,
                      struct fis_error *e)
{
    struct label_person *who = label_person_get(q, l->annotator ? l->annotator : "", e);
    struct label_item *it = who ? item_get(q, &l->id, e) : NULL;
    int rc = 0;
    if (!it)
        return -(int)FIS_NOMEM;
    struct label_answer *a = label_answer_of(it, who);
    label_agreement_take(q, it);
    if (a)
        meet_again(a, l, at_ms);
    else if (it->n_answers < WIRE_VOTES)
        rc = label_answer_add(q, it,
                              &(struct label_answer){
                                  .who = who,
                                  .status = l->status,
                                  .class_index = l->class_index,
                                  .stage = STAGE_RECORDED,
                                  .at_ms = l->labelled_at_ms ? l->labelled_at_ms : at_ms,
                                  .seen_ms = at_ms,
                              },
                              e);
    drop_late(it);
    label_agreement_add(q, it);
    label_item_place(q, it);
    return rc;
}

/* Answers on their way: held, sent, recorded. */
#include "fis/mem.h"
#include "role/label_queue_impl.h"

#include <string.h>

/* ---- keeping them ---------------------------------------------------------------------------- */

static bool has_unrecorded(const struct label_item *it)
{
    for (uint32_t i = 0; i < it->n_answers; i++)
        if (it->answers[i].stage != STAGE_RECORDED)
            return true;
    return false;
}

/* Among those that wait, as long as it has an answer that is not recorded. */
static int label_item_pend(struct label_queue *q, struct label_item *it, struct fis_error *e)
{
    if (it->pending)
        return 0;
    if (!fis_more(&q->pending, q->n_pending, sizeof *q->pending))
        return fis_fail(e, FIS_NOMEM, "no memory for an answer");
    q->pending[q->n_pending++] = it;
    it->pending = true;
    return 0;
}

static int note_time(struct label_person *p, int64_t at_ms, struct fis_error *e)
{
    if (!fis_more(&p->times, p->n, sizeof *p->times))
        return fis_fail(e, FIS_NOMEM, "no memory for an answer");
    p->times[p->n++] = at_ms;
    return 0;
}

static void forget_time(struct label_person *p, int64_t at_ms)
{
    uint32_t i = p->n;
    while (i > 0 && p->times[i - 1] != at_ms)
        i--;
    if (!i)
        return;
    memmove(&p->times[i - 1], &p->times[i], (p->n - i) * sizeof *p->times);
    p->n--;
}

int label_answer_add(struct label_queue *q, struct label_item *it, const struct label_answer *a,
                     struct fis_error *e)
{
    if (!fis_grow(&it->answers, it->n_answers, it->n_answers + 1u, sizeof *it->answers))
        return fis_fail(e, FIS_NOMEM, "no memory for an answer");
    if (a->stage != STAGE_RECORDED && label_item_pend(q, it, e))
        return -(int)FIS_NOMEM;
    if (note_time(a->who, a->at_ms, e))
        return -(int)FIS_NOMEM;
    it->answers[it->n_answers++] = *a;
    return 0;
}

void label_answer_drop(struct label_item *it, struct label_answer *a)
{
    forget_time(a->who, a->at_ms);
    *a = it->answers[--it->n_answers];
}

/* ---- answering ------------------------------------------------------------------------------- */

static enum label_outcome stage_of(const struct label_answer *a)
{
    return a->stage == STAGE_HELD      ? LABEL_HELD
           : a->stage == STAGE_SENDING ? LABEL_SENDING
                                       : LABEL_RECORDED;
}

static void hold(struct label_queue *q, struct label_answer *a, const struct wire_label *l,
                 struct trainer_time now)
{
    a->status = l->status;
    a->class_index = l->status == WIRE_LABELLED ? l->class_index : 0;
    a->stage = STAGE_HELD;
    a->due_ms = now.mono_ms + q->o.hold_ms;
    a->token = 0;
}

/* Another answer of the same person: as long as it is held, or after skipped and unsure. */
static int change(struct label_queue *q, struct label_item *it, struct label_answer *a,
                  const struct wire_label *l, struct trainer_time now, enum label_outcome *what,
                  struct fis_error *e)
{
    bool better = a->status != WIRE_LABELLED && l->status == WIRE_LABELLED;
    *what = LABEL_CONTRADICTS;
    if (a->stage != STAGE_HELD && !better)
        return 0;
    int rc = label_item_pend(q, it, e);
    if (rc)
        return rc;
    label_agreement_take(q, it);
    hold(q, a, l, now);
    label_agreement_add(q, it);
    *what = LABEL_HELD;
    return 0;
}

static int first(struct label_queue *q, struct label_item *it, struct label_person *who,
                 const struct wire_label *l, struct trainer_time now, enum label_outcome *what,
                 struct fis_error *e)
{
    struct label_answer *old = label_answer_of(it, who), a = {.who = who};
    *what = LABEL_DECIDED;
    if (it->decided || it->n_answers == WIRE_VOTES ||
        (it->votes && label_answers_count(it) >= it->votes))
        return 0;
    hold(q, &a, l, now);
    a.at_ms = a.seen_ms = now.wall_ms;
    int rc = label_answer_add(q, it, &a, e);
    if (rc)
        return rc;
    if (old) /* it does not count; the array may have moved */
        label_answer_drop(it, label_answer_of(it, who));
    label_lease_end(it, who);
    *what = LABEL_HELD;
    return 0;
}

bool label_queue_knows(const struct label_queue *q, const struct fis_id *id)
{
    const struct label_item *it = label_item_find(q, id);
    return it && it->requested;
}

int label_queue_answer(struct label_queue *q, const struct wire_label *l, struct trainer_time now,
                       enum label_outcome *what, uint64_t *left_ms, struct fis_error *e)
{
    struct label_item *it = label_item_find(q, &l->id);
    struct label_person *who = label_person_get(q, l->annotator, e);
    int rc = 0;
    if (!who)
        return -(int)FIS_NOMEM;
    *left_ms = 0;
    *what = LABEL_UNKNOWN;
    if (!label_queue_knows(q, &l->id))
        return 0;
    struct label_answer *a = label_answer_of(it, who);
    if (!a || !label_answer_counts(it, a))
        rc = first(q, it, who, l, now, what, e);
    else if (!label_answer_same(a, l))
        rc = change(q, it, a, l, now, what, e);
    else
        *what = stage_of(a);
    a = label_answer_of(it, who);
    if (*what == LABEL_HELD && a && a->due_ms > now.mono_ms)
        *left_ms = a->due_ms - now.mono_ms;
    label_item_place(q, it);
    return rc;
}

int label_queue_undo(struct label_queue *q, const struct fis_id *id, const char *annotator,
                     struct trainer_time now, enum label_outcome *what, struct fis_error *e)
{
    struct label_item *it = label_item_find(q, id);
    struct label_person *who = label_person_find(q, annotator);
    struct label_answer *a = it && who ? label_answer_of(it, who) : NULL;
    *what = a ? stage_of(a) : LABEL_UNKNOWN;
    if (*what != LABEL_HELD)
        return 0;
    int rc = it->withdrawn ? 0 : label_lease_give(q, it, who, now.mono_ms, e);
    if (rc)
        return rc;
    label_answer_drop(it, a);
    label_item_place(q, it);
    return 0;
}

/* ---- towards Kafka --------------------------------------------------------------------------- */

static bool is_due(const struct label_answer *a, bool all, uint64_t now_ms)
{
    return a->stage == STAGE_HELD && (all || a->due_ms <= now_ms);
}

static void settle(struct label_queue *q, uint32_t place)
{
    struct label_item *it = q->pending[place];
    if (has_unrecorded(it))
        return;
    it->pending = false;
    q->pending[place] = q->pending[--q->n_pending];
}

bool label_queue_send(struct label_queue *q, bool all, struct trainer_time now,
                      struct wire_label *out, uint64_t *token)
{
    for (uint32_t i = q->n_pending; i-- > 0; settle(q, i)) {
        struct label_item *it = q->pending[i];
        for (uint32_t k = 0; k < it->n_answers; k++) {
            struct label_answer *a = &it->answers[k];
            if (!is_due(a, all, now.mono_ms))
                continue;
            a->stage = STAGE_SENDING;
            a->token = *token = ++q->tokens;
            *out = (struct wire_label){
                .id = it->id,
                .status = a->status,
                .class_index = a->class_index,
                .annotator = a->who->name,
                .labelled_at_ms = a->at_ms,
            };
            return true;
        }
    }
    return false;
}

static struct label_answer *by_token(const struct label_queue *q, uint64_t token,
                                     struct label_item **item)
{
    for (uint32_t i = 0; i < q->n_pending; i++)
        for (uint32_t k = 0; k < q->pending[i]->n_answers; k++) {
            struct label_answer *a = &q->pending[i]->answers[k];
            if (a->stage == STAGE_SENDING && a->token == token) {
                *item = q->pending[i];
                return a;
            }
        }
    return NULL;
}

void label_queue_sent(struct label_queue *q, uint64_t token, bool ok, bool retry)
{
    struct label_item *it;
    struct label_answer *a = by_token(q, token, &it);
    if (!a)
        return; /* it was read from the topic already, or changed meanwhile */
    label_agreement_take(q, it);
    if (ok) {
        a->stage = STAGE_RECORDED;
    } else if (retry) {
        a->stage = STAGE_HELD;
        a->due_ms = 0;
    } else {
        label_answer_drop(it, a);
    }
    label_agreement_add(q, it);
    label_item_place(q, it);
}

uint32_t label_queue_pending(const struct label_queue *q)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->n_pending; i++)
        for (uint32_t k = 0; k < q->pending[i]->n_answers; k++)
            n += q->pending[i]->answers[k].stage != STAGE_RECORDED;
    return n;
}

/* Who is shown which record, and how far everybody is. */
#include "fis/mem.h"
#include "role/label_queue_impl.h"

static struct label_lease *lease_of(const struct label_item *it, const struct label_person *who)
{
    for (uint32_t i = 0; i < it->n_leases; i++)
        if (it->leases[i].who == who)
            return &it->leases[i];
    return NULL;
}

void label_lease_end(struct label_item *it, const struct label_person *who)
{
    struct label_lease *l = lease_of(it, who);
    if (l)
        *l = it->leases[--it->n_leases];
}

/* Leases that have ended go on as long as nobody takes the place: now somebody does. */
static void drop_ended(struct label_item *it, uint64_t now_ms)
{
    for (uint32_t i = it->n_leases; i-- > 0;)
        if (it->leases[i].until_ms <= now_ms)
            it->leases[i] = it->leases[--it->n_leases];
}

int label_lease_give(struct label_queue *q, struct label_item *it, struct label_person *who,
                     uint64_t now_ms, struct fis_error *e)
{
    struct label_lease *l = lease_of(it, who);
    if (!l) {
        drop_ended(it, now_ms);
        if (!fis_grow(&it->leases, it->n_leases, it->n_leases + 1u, sizeof *l))
            return fis_fail(e, FIS_NOMEM, "no memory for a lease");
        l = &it->leases[it->n_leases++];
    }
    *l = (struct label_lease){who, now_ms + q->o.lease_ms, ++q->leases};
    return 0;
}

/* Places that are taken by others: their answers, and leases that have not ended. */
static uint32_t taken(const struct label_item *it, const struct label_person *who, uint64_t now_ms)
{
    uint32_t n = label_answers_count(it);
    for (uint32_t i = 0; i < it->n_leases; i++)
        n += it->leases[i].who != who && it->leases[i].until_ms > now_ms;
    return n;
}

static bool has_answered(const struct label_item *it, const struct label_person *who)
{
    const struct label_answer *a = label_answer_of(it, who);
    return a && label_answer_counts(it, a);
}

/* Its withdrawal is about to come. */
static bool is_over(const struct label_item *it, struct trainer_time now)
{
    return it->deadline_ms && now.wall_ms >= it->deadline_ms;
}

static bool may_take(const struct label_item *it, const struct label_person *who,
                     struct trainer_time now)
{
    return !has_answered(it, who) && !is_over(it, now) && taken(it, who, now.mono_ms) < it->votes;
}

static void show(const struct label_item *it, const struct label_person *who, uint64_t now_ms,
                 struct label_task *out)
{
    const struct label_lease *l = lease_of(it, who);
    *out = (struct label_task){
        .id = &it->id,
        .round = it->round,
        .votes = it->votes,
        .answers = label_answers_count(it),
        .requested_at_ms = it->requested_at_ms,
        .deadline_ms = it->deadline_ms,
        .lease_ms = l && l->until_ms > now_ms ? l->until_ms - now_ms : 0,
        .payload = {it->payload, it->payload_length},
    };
}

/* What they have (the newest lease, when an answer was taken back), and the first that is free. */
static struct label_item *look(struct label_queue *q, const struct label_person *who,
                               struct trainer_time now, struct label_item **free)
{
    struct label_item *own = NULL;
    uint64_t newest = 0;
    *free = NULL;
    for (struct label_item *it = q->open.first; it; it = it->after) {
        const struct label_lease *l = lease_of(it, who);
        bool mine = may_take(it, who, now);
        if (l && !mine)
            label_lease_end(it, who);
        else if (l && l->number > newest) {
            own = it;
            newest = l->number;
        } else if (mine && !l && !*free)
            *free = it;
    }
    return own;
}

int label_queue_next(struct label_queue *q, const char *annotator, bool idle,
                     struct trainer_time now, enum label_next *what, struct label_task *out,
                     struct fis_error *e)
{
    struct label_person *who = label_person_get(q, annotator, e);
    struct label_item *free, *it = who ? look(q, who, now, &free) : NULL;
    if (!who)
        return -(int)FIS_NOMEM;
    if (idle && (!it || lease_of(it, who)->until_ms <= now.mono_ms)) {
        *what = LABEL_LAPSED;
        return 0;
    }
    it = it ? it : free;
    int rc = it && !idle ? label_lease_give(q, it, who, now.mono_ms, e) : 0;
    if (rc)
        return rc;
    *what = it ? LABEL_TASK : q->open.n ? LABEL_OTHERS_HAVE : LABEL_NONE_OPEN;
    if (it)
        show(it, who, now.mono_ms, out);
    return 0;
}

/* The newest answers are at the end, more or less: clocks of other tools may differ. */
static uint64_t done_since(const struct label_person *p, int64_t since_ms)
{
    const int64_t slack_ms = 3600 * 1000;
    uint64_t n = 0;
    for (uint32_t i = p->n; i-- > 0 && p->times[i] + slack_ms >= since_ms;)
        n += p->times[i] >= since_ms;
    return n;
}

void label_queue_progress(const struct label_queue *q, const char *annotator, int64_t since_ms,
                          struct trainer_time now, struct label_progress *out)
{
    const struct label_person *who = label_person_find(q, annotator);
    *out = (struct label_progress){0};
    for (const struct label_item *it = q->open.first; it; it = it->after) {
        bool mine = may_take(it, who, now), over = is_over(it, now);
        out->open += !over;
        out->mine += mine;
        out->others += !over && !mine && !has_answered(it, who);
    }
    if (who)
        out->done = done_since(who, since_ms);
}

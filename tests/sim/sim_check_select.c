/* What should have been picked: scored and ranked again, record by record, and compared with what a
 * round asked for first. */
#include <stdlib.h>
#include <string.h>

#include "sim_check_impl.h"
#include "wire/protobuf_codec.h"

/* ---- the log of candidates ----------------------------------------------------------------- */

bool check_reported(const struct sim_check *c, int32_t partition, int64_t offset)
{
    const struct sim_place at = {SIM_RECORDS, partition, offset};
    const struct sim_entry *m = sim_entry_at(c->w->broker, &at);
    return !m || !sim_readable(c->w->broker, m) || c->covered[partition][offset];
}

static void cover(struct sim_check *c, const struct wire_range *r)
{
    uint64_t records = 0, refused = 0, tombstones = 0;
    const int64_t most = SIM_OFFSETS_MAX;
    SIM_MUST(c->w,
             r->begin >= 0 && r->next >= r->begin &&
                 r->next <= sim_end(c->w->broker, SIM_RECORDS, r->partition) && r->next <= most,
             "progress of records/%d [%lld, %lld)", r->partition, (long long)r->begin,
             (long long)r->next);
    for (uint32_t i = 0; i < c->w->plan->records; i++) {
        const struct sim_record *rec = &c->w->data->records[i];
        if (rec->partition != r->partition || rec->offset < r->begin || rec->offset >= r->next)
            continue;
        c->covered[r->partition][rec->offset] = true;
        bool bad = rec->kind == SIM_SHORT || rec->kind == SIM_NAN;
        SIM_MUST(c->w, !bad || c->refused[r->partition][rec->offset],
                 "guarantee 8: records/%d@%lld cannot be scored, and is in no dead letter when "
                 "progress tells of it",
                 r->partition, (long long)rec->offset);
        records += rec->kind == SIM_GOOD;
        refused += bad;
        tombstones += rec->kind == SIM_TOMBSTONE;
    }
    SIM_MUST(c->w,
             c->w->plan->pool ||
                 (records == r->records && refused == r->refused && tombstones == r->tombstones),
             "progress of records/%d [%lld, %lld) says %llu records, %llu refused, %llu tombstones",
             r->partition, (long long)r->begin, (long long)r->next, (unsigned long long)r->records,
             (unsigned long long)r->refused, (unsigned long long)r->tombstones);
}

/* The first window ends where that many records were reported, each once. */
static void count_window(struct sim_check *c, const struct wire_range *r)
{
    int64_t *next = &c->window_counted[r->partition];
    if (r->next <= *next)
        return;
    uint64_t most = r->begin < *next ? (uint64_t)(r->next - *next) : UINT64_MAX;
    c->window_records += r->records < most ? r->records : most;
    *next = r->next;
}

static void offer_in_window(struct sim_check *c, const struct wire_candidate *k)
{
    struct wire_bytes id = {k->id.bytes, k->id.length};
    int fact = check_fact_of(c, id);
    SIM_MUST(c->w, fact >= 0, "a candidate of no record");
    if (!c->window_closed)
        c->in_window[fact] = true;
}

static void progress_of_scan(struct sim_check *c, const struct wire_progress *p)
{
    if (p->scan > c->scan) {
        c->scan = p->scan;
        memset(c->scanned, 0, sizeof c->scanned);
    }
    for (uint32_t i = 0; p->scan == c->scan && i < p->n_ranges; i++)
        if (p->ranges[i].next > c->scanned[p->ranges[i].partition])
            c->scanned[p->ranges[i].partition] = p->ranges[i].next;
}

static bool scan_over(const struct sim_check *c, uint64_t scan, const int64_t *ends)
{
    bool over = true;
    for (int p = 0; p < SIM_PARTITIONS; p++)
        over &= !ends[p] || (c->scan == scan && c->scanned[p] >= ends[p]);
    return over;
}

static void progress_in_window(struct sim_check *c, const struct wire_progress *p)
{
    progress_of_scan(c, p);
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        cover(c, &p->ranges[i]);
        if (c->window_closed || c->w->plan->pool)
            continue;
        count_window(c, &p->ranges[i]);
        for (uint32_t k = 0; k < c->w->plan->records; k++) {
            const struct sim_record *r = &c->w->data->records[k];
            int fact = check_fact_of(c, (struct wire_bytes){r->id.bytes, r->id.length});
            if (r->kind == SIM_GOOD && r->partition == p->ranges[i].partition &&
                r->offset >= p->ranges[i].begin && r->offset < p->ranges[i].next)
                c->in_window[fact] = true;
        }
    }
    c->window_closed |= c->window_records >= c->w->plan->window_records;
}

void check_offer(struct sim_check *c, const struct sim_entry *m)
{
    struct wire_message msg = sim_message(SIM_CANDIDATES, 0, m);
    struct wire_offer offer;
    struct fis_error e;
    fis_arena_reset(&c->arena);
    SIM_MUST(c->w, wire_offer_decode(&msg, &c->arena, &offer, &e) == WIRE_OK, "candidates: %s",
             e.text);
    for (uint32_t i = 0; i < offer.n_candidates; i++)
        offer_in_window(c, &offer.candidates[i]);
    if (offer.progress)
        progress_in_window(c, offer.progress);
}

/* ---- the ranking --------------------------------------------------------------------------- */

struct ranked {
    float score;
    int fact;
    const struct fis_id *id;
};

static int better(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return fis_id_compare(x->id, y->id);
}

/* One record, all by itself, under a head. */
static void score(struct sim_check *c, struct scoring_batch *b, const struct sim_record *r,
                  float *scores)
{
    struct sim_entry m = {
        .key = {r->id.bytes, r->id.length}, .value = r->value, .offset = r->offset};
    b->messages[0] = sim_message(SIM_RECORDS, r->partition, &m);
    b->n = 1;
    scoring_run(b);
    SIM_MUST(c->w, b->status[0] == WIRE_OK, "simulator: a good record is refused");
    memcpy(scores, b->scores, FIS_MAX_CRITERIA * sizeof *scores);
}

static bool is_due(const struct sim_check *c, uint32_t i, const int64_t *ends, bool first)
{
    const struct sim_record *r = &c->w->data->records[i];
    int fact = check_fact_of(c, (struct wire_bytes){r->id.bytes, r->id.length});
    if (r->kind != SIM_GOOD || c->facts[fact].forgotten || (c->facts[fact].asked && !first))
        return false;
    return c->w->plan->pool ? r->offset >= 0 && r->offset < ends[r->partition] : c->in_window[fact];
}

/* Each criterion's ranking; returns how many each has. Asked in this unit counts as not asked. */
static void rank(struct sim_check *c, struct scoring_head *head, const int64_t *ends,
                 const bool *now, struct ranked out[][SIM_RECORDS_MAX], uint32_t *n)
{
    struct scoring_batch b;
    struct fis_error e;
    bool seen[SIM_RECORDS_MAX] = {false};
    float s[FIS_MAX_CRITERIA];
    SIM_MUST(c->w,
             scoring_batch_init(&b, &c->w->data->scoring, &e) == 0 &&
                 scoring_batch_prepare(&b, head, NULL, &e) == 0,
             "simulator: %s", e.text);
    for (uint32_t i = 0; i < c->w->plan->records; i++) {
        const struct sim_record *r = &c->w->data->records[i];
        int fact = check_fact_of(c, (struct wire_bytes){r->id.bytes, r->id.length});
        if (seen[fact] || !is_due(c, i, ends, now[fact]))
            continue;
        seen[fact] = true;
        score(c, &b, r, s);
        for (uint32_t k = 0; k < fis_criteria_count(c->w->plan->algorithm); k++)
            if (s[k] > FIS_NOT_A_CANDIDATE)
                out[k][n[k]++] = (struct ranked){s[k], fact, &r->id};
    }
    scoring_batch_done(&b);
    for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
        qsort(out[k], n[k], sizeof out[k][0], better);
}

static bool alike(const struct sim_check *c, int a, int b)
{
    const struct sim_record *all = c->w->data->records;
    return memcmp(all[a].x, all[b].x, c->w->plan->d * sizeof *all->x) == 0;
}

/* It and all with its features, of which one is asked for in a round. */
static void take(const struct sim_check *c, int fact, bool *taken)
{
    for (int i = 0; i < (int)c->w->plan->records; i++)
        taken[i] |= alike(c, i, fact);
}

/* In turns, the criterion that was given fewest first. */
static int next_pick(const struct sim_check *c, struct ranked lists[][SIM_RECORDS_MAX],
                     const uint32_t *n, uint32_t *at, uint32_t *given, bool *taken)
{
    for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
        while (at[k] < n[k] && taken[lists[k][at[k]].fact])
            at[k]++;
    bool first = at[0] < n[0], second = at[1] < n[1];
    if (!first && !second)
        return -1;
    uint32_t k = !first ? 1 : !second ? 0 : given[1] < given[0] ? 1 : 0;
    if (c->state.undetectable && c->w->plan->algorithm->for_accuracy) { /* by that one alone */
        k = c->w->plan->algorithm->for_accuracy - 1;
        if (at[k] == n[k])
            return -1;
    }
    given[k]++;
    take(c, lists[k][at[k]].fact, taken);
    return lists[k][at[k]].fact;
}

static void compare(struct sim_check *c, struct scoring_head *head, const int64_t *ends,
                    const int *asked, uint32_t n_asked)
{
    struct ranked(*lists)[SIM_RECORDS_MAX] = sim_alloc(c->w, FIS_MAX_CRITERIA * sizeof *lists);
    bool now[SIM_RECORDS_MAX] = {false}, taken[SIM_RECORDS_MAX] = {false};
    uint32_t n[FIS_MAX_CRITERIA] = {0}, at[FIS_MAX_CRITERIA] = {0}, given[FIS_MAX_CRITERIA] = {0};
    for (uint32_t i = 0; i < n_asked; i++)
        now[asked[i]] = true;
    rank(c, head, ends, now, lists, n);
    for (uint32_t i = 0; i < n_asked; i++) {
        int expected = next_pick(c, lists, n, at, given, taken);
        if (expected < 0)
            return; /* nothing was left of the window: this came later */
        SIM_MUST(c->w, expected == asked[i],
                 "guarantee 2: round %u asks for record %d as its number %u; the best is record %d",
                 c->round_of_last_ask, asked[i], i, expected);
    }
}

/* Of the records with one id: one that can be scored. */
static const struct sim_record *good_one(const struct sim_check *c, int fact)
{
    const struct sim_record *all = c->w->data->records;
    for (uint32_t i = (uint32_t)fact; i < c->w->plan->records; i++)
        if (all[i].kind == SIM_GOOD && fis_id_compare(&all[i].id, &all[fact].id) == 0)
            return &all[i];
    sim_violated(c->w, "record %d is a candidate, and none of this id can be scored", fact);
}

/* Whether one with its features was asked for in this round, or (late) its answer counts there. */
static bool waits(const struct sim_check *c, int fact, uint32_t round, bool late)
{
    for (int i = 0; i < (int)c->w->plan->records; i++) {
        const struct check_fact *f = &c->facts[i];
        if (i != fact && f->asked && (f->asked_round == round || (late && f->round == round)) &&
            alike(c, i, fact))
            return true;
    }
    return c->unit.gone >= 0 && c->unit.gone != fact && c->unit.gone_round == round &&
           alike(c, c->unit.gone, fact);
}

/* What is asked for is at least as good as all that was held before and is held still, by the
 * criterion that picked it, under the head that the request names. */
static void check_held(struct sim_check *c, struct scoring_batch *b, const struct check_ask *a)
{
    const struct sim_record *records = c->w->data->records;
    float s[FIS_MAX_CRITERIA], h[FIS_MAX_CRITERIA];
    score(c, b, good_one(c, a->fact), s);
    for (int i = 0; i < (int)c->w->plan->records; i++) {
        if (!c->was_held[i] || !c->facts[i].in_heap || waits(c, i, a->round, true))
            continue;
        score(c, b, good_one(c, i), h);
        struct ranked asked = {s[a->criterion], a->fact, &records[a->fact].id};
        struct ranked held = {h[a->criterion], i, &records[i].id};
        SIM_MUST(
            c->w, better(&asked, &held) < 0,
            "guarantee 2: record %d (%.9g) is asked for by criterion %u under head %llu, while "
            "record %d (%.9g) is held",
            a->fact, (double)asked.score, a->criterion, (unsigned long long)a->head_version, i,
            (double)held.score);
    }
}

static void check_all_held(struct sim_check *c)
{
    const struct check_unit *u = &c->unit;
    struct scoring_batch b;
    struct fis_error e;
    SIM_MUST(c->w, scoring_batch_init(&b, &c->w->data->scoring, &e) == 0, "simulator: %s", e.text);
    for (uint32_t i = 0; i < u->n_asked; i++) {
        const struct check_ask *a = &u->asked[i];
        SIM_MUST(c->w, !waits(c, a->fact, a->round, false),
                 "record %d is asked for in round %u, and so was one with its features", a->fact,
                 a->round);
        struct scoring_head *head = c->recent[a->head_version % CHECK_HEADS].head;
        if (!head || head->version != a->head_version)
            continue;
        SIM_MUST(c->w, scoring_batch_prepare(&b, head, NULL, &e) == 0, "simulator: %s", e.text);
        check_held(c, &b, a);
    }
    scoring_batch_done(&b);
}

/* Answers that came late, in a round that did not ask for them, take a criterion's turn. */
static bool late_answers(const struct sim_check *c, uint32_t round)
{
    for (uint32_t i = 0; i < c->w->plan->records; i++) {
        const struct check_fact *f = &c->facts[i];
        if (f->asked && f->round == round && f->asked_round != round)
            return true;
    }
    return false;
}

/* The first requests of a round, if they can be determined: of one head, and not held up by a
 * pause. */
void check_selected(struct sim_check *c)
{
    const struct check_unit *u = &c->unit;
    int asked[CHECK_LETTERS];
    uint32_t n = 0, round = c->round_of_last_ask;
    if (u->n_asked)
        check_all_held(c);
    if (!u->n_asked || round <= c->round_checked)
        return;
    bool whole = true;
    uint64_t version = 0;
    for (uint32_t i = 0; i < u->n_asked; i++) {
        const struct check_ask *a = &u->asked[i];
        version = n ? version : a->head_version;
        whole &= a->round == round;
        if (a->head_version == version && a->clock == u->asked[0].clock) /* at one blow */
            asked[n++] = a->fact;
    }
    c->round_checked = round;
    bool stream = !c->w->plan->pool;
    if (!whole || c->ever_paused || c->window_unsure || (stream && c->w->data->current) ||
        late_answers(c, round) || (stream && (round > 1 || c->w->plan->window_ms)))
        return;
    uint64_t at = version % CHECK_HEADS;
    if (!c->recent[at].head || c->recent[at].head->version != version ||
        (!stream && !c->recent[at].scan))
        return;
    SIM_MUST(c->w, !stream || c->window_closed,
             "the first window is not full, but labels are asked for");
    bool over = stream || scan_over(c, c->recent[at].scan, c->recent[at].ends);
    SIM_MUST(c->w, over || c->w->plan->budget, "the scan is not over, but labels are asked for");
    if (!over) /* the budget was in people's hands, and some of it came back */
        return;
    compare(c, c->recent[at].head, c->recent[at].ends, asked, n);
}

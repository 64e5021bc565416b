#include "role/scorer.h"

#include <assert.h>

#include "base/planted.h"
#include "role/scorer_impl.h"

static int open_slots(struct scorer *m, struct fis_error *e)
{
    m->places = fis_alloc(m->o.batch, sizeof *m->places);
    int ok = m->places != NULL;
    for (uint32_t i = 0; ok && i < m->o.slots; i++) {
        m->slots[i].parts = fis_alloc(m->o.batch, sizeof *m->slots[i].parts);
        m->slots[i].ranges = fis_alloc(2 * (size_t)m->o.batch, sizeof *m->slots[i].ranges);
        m->slots[i].sends = fis_alloc(m->o.batch, sizeof *m->slots[i].sends);
        ok = m->slots[i].parts && m->slots[i].ranges && m->slots[i].sends;
    }
    return ok ? 0 : fis_fail(e, FIS_NOMEM, "scorer: no memory for batches of %u", m->o.batch);
}

struct scorer *scorer_new(const struct scorer_options *o, const struct scorer_out *out,
                          struct fis_error *e)
{
    assert(o->slots >= 1 && o->slots <= SCORER_MAX_SLOTS && o->batch > 0);
    struct scorer *m = fis_calloc(1, sizeof *m);
    if (!m) {
        fis_fail(e, FIS_NOMEM, "scorer: no memory");
        return NULL;
    }
    m->o = *o;
    m->out = *out;
    if (open_slots(m, e) < 0 || (o->pool && !(m->asked = asked_new(o->ledger_bytes, e)))) {
        scorer_free(m);
        return NULL;
    }
    return m;
}

void scorer_free(struct scorer *m)
{
    if (!m)
        return;
    scorer_best_done(m);
    for (uint32_t i = 0; i < m->o.slots; i++) {
        fis_free(m->slots[i].parts);
        fis_free(m->slots[i].ranges);
        fis_free(m->slots[i].sends);
    }
    fis_free(m->places);
    fis_free(m->recreated);
    fis_free(m->partitions);
    fis_free(m->end_ranges);
    asked_free(m->asked);
    fis_free(m);
}

/* ---- batches ------------------------------------------------------------------------------- */

int scorer_free_slot(const struct scorer *m)
{
    if (!m->have_head || m->stopping || (m->o.pool && !m->scanning))
        return -1;
    for (uint32_t i = 0; i < m->o.slots; i++)
        if (m->slots[i].state == SLOT_FREE)
            return (int)i;
    return -1;
}

uint32_t scorer_under_way(const struct scorer *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->o.slots; i++)
        n += m->slots[i].state > SLOT_READING;
    return n;
}

void scorer_reading(struct scorer *m, uint32_t slot, const struct scoring_batch *b)
{
    struct slot *s = &m->slots[slot];
    assert(m->have_head && (s->state == SLOT_FREE || s->state == SLOT_READING));
    if (s->state == SLOT_FREE) {
        s->state = SLOT_READING;
        s->order = m->next_order++;
        s->scan = m->scan;
        s->noted = s->n_parts = 0;
    }
    scorer_parts_note(m, s, b);
}

/* Floors only rise until another head comes, and then it is scored again. */
static void score(struct scorer *m, uint32_t slot)
{
    float floors[FIS_MAX_CRITERIA];
    scorer_best_floors(m, floors);
    m->slots[slot].state = SLOT_SCORING;
    m->slots[slot].heads = m->counts.heads;
    m->out.score(m->out.ctx, slot, floors);
}

void scorer_batch(struct scorer *m, uint32_t slot, const struct scoring_batch *b)
{
    scorer_reading(m, slot, b);
    score(m, slot);
}

/* Whether it is to be offered. */
static int admitted(struct scorer *m, struct scoring_batch *b, uint32_t i)
{
    if (b->unseen)
        m->counts.unseen += b->records[i]->unseen;
    if (m->asked && asked_has(m->asked, &b->records[i]->id)) {
        m->counts.asked++;
        return 0;
    }
    const float *scores = scoring_scores(b, i);
    const struct fis_id *id = &b->records[i]->id;
    uint64_t features = 0;
    if (!scorer_best_reaches(m, scores, id))
        return 0;
    if (m->selection.distinct) { /* margins of trees follow from the rest */
        const struct fis_encoder *enc = b->head->encoder;
        uint32_t margins = fis_encoder_has_trees(enc) ? fis_encoder_margins(enc) : 0;
        features = fis_features_hash(scoring_candidate(b, i).x, b->d - margins);
    }
    return scorer_best_admit(m, scores, id, features);
}

static void handle_message(struct scorer *m, struct slot *s, struct scoring_batch *b, uint32_t i)
{
    const struct wire_message *message = &b->messages[i];
    if (m->o.pool && scorer_scan_beyond(m, message))
        return;
    scorer_range_add(m, s, message, b->status[i]);
    if (b->status[i] == WIRE_TOMBSTONE) {
        m->counts.tombstones++;
    } else if (b->status[i] == WIRE_OK) {
        m->counts.records++;
        if (admitted(m, b, i)) {
            scoring_fetch(message); /* it is sent soon, and was scored some time ago */
            s->sends[s->n_sends++] = i;
        }
    } else {
        m->counts.refused++;
        if (m->o.pool && !scorer_scan_refuses(m, message))
            return;
        s->letters++;
        s->sends[s->n_sends++] = i;
    }
}

static struct wire_progress progress_of(const struct scorer *m, const struct slot *s)
{
    return (struct wire_progress){.scorer = m->o.name,
                                  .head_version = s->head_version,
                                  .scan = s->scan,
                                  .ranges = s->ranges,
                                  .n_ranges = s->n_ranges};
}

/* All is out. Progress goes the way of the candidates and cannot overtake them; it could overtake
 * letters. */
static void end_sends(struct scorer *m, struct slot *s)
{
    if (PLANTED(progress_early)) {
        struct wire_progress early = progress_of(m, s);
        m->ends_unacked++;
        m->out.progress(m->out.ctx, scorer_no_slot(m), &early);
    }
    s->state = s->letters && s->unacked ? SLOT_LETTERS : SLOT_OFFERED;
    scorer_advance(m);
}

void scorer_scored(struct scorer *m, uint32_t slot, struct scoring_batch *b)
{
    struct slot *s = &m->slots[slot];
    assert(s->state == SLOT_SCORING && b->n == s->noted);
    if (scorer_scan_stale(m, s)) {
        s->state = SLOT_SETTLED;
        scorer_advance(m);
        return;
    }
    if (s->heads != m->counts.heads) {
        score(m, slot);
        return;
    }
    s->state = SLOT_SENDS;
    s->batch = b;
    s->turn = m->next_turn++;
    s->head_version = b->head_version;
    s->unacked = s->letters = s->n_ranges = s->n_sends = s->sent = 0;
    for (uint32_t i = 0; i < b->n; i++)
        handle_message(m, s, b, i);
    scorer_best_floors(m, s->floors);
    if (!s->n_sends)
        end_sends(m, s);
}

/* Better ones may have come later in its batch, or to the trainer since. */
static bool is_best(const struct scorer *m, const struct slot *s, uint32_t i)
{
    const float *scores = scoring_scores(s->batch, i);
    bool newest = s->heads == m->counts.heads;
    int best = 0;
    for (uint32_t c = 0; c < m->criteria; c++)
        best |= scores[c] > FIS_NOT_A_CANDIDATE && scores[c] >= s->floors[c] &&
                (!newest || scores[c] >= m->floors[c]);
    return best && !scorer_scan_stale(m, s);
}

/* The slot whose messages go out now: in the order in which thresholds rose by them. */
static int next_send(const struct scorer *m)
{
    int found = -1;
    for (uint32_t i = 0; i < m->o.slots; i++)
        if (m->slots[i].state == SLOT_SENDS &&
            (found < 0 || m->slots[i].turn < m->slots[found].turn))
            found = (int)i;
    return found;
}

static uint32_t send_some(struct scorer *m, uint32_t slot, uint32_t most)
{
    struct slot *s = &m->slots[slot];
    uint32_t n = 0;
    for (; n < most && s->sent < s->n_sends; s->sent++) {
        uint32_t i = s->sends[s->sent];
        int offer = s->batch->status[i] == WIRE_OK;
        if (offer && !is_best(m, s, i))
            continue;
        m->counts.offered += (uint32_t)offer;
        s->unacked++;
        n++;
        (offer ? m->out.offer : m->out.refuse)(m->out.ctx, slot, i);
    }
    if (s->sent == s->n_sends)
        end_sends(m, s);
    return n;
}

uint32_t scorer_send(struct scorer *m, uint32_t most)
{
    uint32_t n = 0;
    for (int slot; n < most && (slot = next_send(m)) >= 0;)
        n += send_some(m, (uint32_t)slot, most - n);
    return n;
}

/* ---- order --------------------------------------------------------------------------------- */

uint32_t scorer_no_slot(const struct scorer *m)
{
    return m->o.slots;
}

void scorer_acked(struct scorer *m, uint32_t slot, uint32_t n)
{
    if (slot == scorer_no_slot(m)) {
        assert(m->ends_unacked >= n);
        m->ends_unacked -= n;
        return;
    }
    struct slot *s = &m->slots[slot];
    assert(s->state >= SLOT_SENDS && s->state < SLOT_SETTLED && s->unacked >= n);
    s->unacked -= n;
    if (s->state == SLOT_LETTERS && !s->unacked)
        s->state = SLOT_OFFERED;
    if (s->state == SLOT_PROGRESS && !s->unacked)
        s->state = SLOT_SETTLED;
    if (s->state > SLOT_LETTERS)
        scorer_advance(m);
}

/* The slot that was read first of those read after `order`, or -1. */
static int next_slot(const struct scorer *m, uint64_t order)
{
    int found = -1;
    for (uint32_t i = 0; i < m->o.slots; i++)
        if (m->slots[i].state != SLOT_FREE && m->slots[i].order >= order &&
            (found < 0 || m->slots[i].order < m->slots[found].order))
            found = (int)i;
    return found;
}

static void send_progress(struct scorer *m, uint32_t slot)
{
    struct slot *s = &m->slots[slot];
    struct wire_progress p = progress_of(m, s);
    if (scorer_scan_stale(m, s) || !s->n_ranges) {
        s->state = s->unacked ? SLOT_PROGRESS : SLOT_SETTLED;
        return;
    }
    if (m->o.pool)
        scorer_scan_reported(m, s);
    s->state = SLOT_PROGRESS;
    s->unacked++;
    m->out.progress(m->out.ctx, slot, &p);
}

/* Progress goes out, and offsets are released, in the order of reading: they must not overtake
 * each other. */
static void advance_once(struct scorer *m)
{
    int slot;
    for (uint64_t order = 0; (slot = next_slot(m, order)) >= 0;) {
        struct slot *s = &m->slots[slot];
        order = s->order + 1;
        if (s->state < SLOT_OFFERED)
            break;
        if (s->state == SLOT_OFFERED)
            send_progress(m, (uint32_t)slot);
    }
    while ((slot = next_slot(m, 0)) >= 0 && m->slots[slot].state == SLOT_SETTLED) {
        uint32_t n = scorer_places(m, &m->slots[slot], m->places);
        m->slots[slot].state = SLOT_FREE;
        m->out.release(m->out.ctx, (uint32_t)slot, m->places, n);
    }
    if (m->o.pool)
        scorer_scan_tell(m);
}

void scorer_advance(struct scorer *m)
{
    m->again = true;
    if (m->advancing)
        return; /* what was called from here acknowledged something at once */
    m->advancing = true;
    while (m->again) {
        m->again = false;
        advance_once(m);
    }
    m->advancing = false;
}

/* ---- what happens beside ------------------------------------------------------------------- */

int scorer_head(struct scorer *m, const struct wire_head *head, struct fis_error *e)
{
    if (scorer_best_begin(m, &head->selection, e) < 0 ||
        (m->o.pool && scorer_scan_head(m, head, e) < 0))
        return -FIS_NOMEM;
    m->head_version = head->version;
    m->head_created_at_ms = head->created_at_ms;
    m->have_head = true;
    m->counts.heads++;
    if (m->o.pool) {
        scorer_scan_begin(m);
        scorer_advance(m); /* what waits for progress of an older scan need not wait */
    }
    return 0;
}

void scorer_floors(struct scorer *m, const struct wire_floors *f)
{
    /* Two heads have one number when delivery is at least once and a trainer was suspended. */
    if (f->head_version != m->head_version || f->created_at_ms != m->head_created_at_ms)
        return;
    for (uint32_t c = 0; c < m->criteria; c++)
        if (f->scores[c] > m->floors[c])
            m->floors[c] = f->scores[c];
}

int scorer_ledger(struct scorer *m, const struct wire_message *message, struct fis_error *e)
{
    assert(m->asked);
    int rc = asked_take(m->asked, message, e);
    if (!rc)
        scorer_scan_begin(m);
    return rc;
}

void scorer_revoked(struct scorer *m, const int32_t *partitions, uint32_t n)
{
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = 0; i < m->o.slots; i++) {
            struct slot *s = &m->slots[i];
            for (uint32_t k = 0; s->state != SLOT_FREE && k < s->n_parts; k++)
                if (s->parts[k].partition == partitions[p])
                    s->parts[k].commit = PLANTED(revoked_committed);
        }
        scorer_recreated_forget(m, partitions[p]); /* its next owner learns the same */
        scorer_scan_revoked(m, partitions[p]);
    }
}

int scorer_reset(struct scorer *m, int32_t partition, int64_t first, uint64_t lost, int recreated,
                 struct fis_error *e)
{
    if (recreated && scorer_recreated(m, partition, first, e) < 0)
        return -FIS_NOMEM;
    m->counts.lost += lost;
    return 0;
}

void scorer_stop(struct scorer *m)
{
    m->stopping = true;
}

bool scorer_idle(const struct scorer *m)
{
    return next_slot(m, 0) < 0 && !m->ends_unacked;
}

const struct scorer_counts *scorer_counts(const struct scorer *m)
{
    return &m->counts;
}

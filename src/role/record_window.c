/* What scorers offer, how far they are, and when a window is full. */
#include "role/trainer_impl.h"

#include <string.h>

#include "base/decimal.h"
#include "base/planted.h"

/* ---- offers --------------------------------------------------------------------------------- */

/* A candidate scored under another head than ours is scored again: they are few. */
static void own_scores(struct trainer_role *m, const struct wire_candidate *c, float *scores)
{
    const struct fis_id *id = &c->id;
    if (c->head_version == m->state.head_version || PLANTED(stale_scores))
        memcpy(scores, c->scores, sizeof c->scores);
    else
        trainer_score_rows(m, c->x, &id, 1, scores);
}

int trainer_role_offer(struct trainer_role *m, const struct wire_candidate *c, struct fis_error *e)
{
    if (c->d != fis_shape_inputs(&m->shape))
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "candidate has %s, %u are required",
                          DECIMAL_COUNT(c->d, "feature"), fis_shape_inputs(&m->shape));
    if (forgotten_has(&m->forgotten, &c->id) && !PLANTED(forgotten_again))
        return 0;
    int rc = m->out.askable ? m->out.askable(m->out.ctx, c->encoding, c->record, e) : 0;
    if (rc < 0)
        return rc;
    struct fis_candidate held = {.id = c->id, .x = c->x};
    unsigned char small[4096], *payload = small;
    held.payload_length = c->record.length + 1;
    if (held.payload_length > sizeof small && !(payload = fis_alloc(held.payload_length, 1)))
        return fis_fail(e, FIS_NOMEM, "candidate: no memory for %zu bytes", held.payload_length);
    payload[0] = (unsigned char)c->encoding;
    if (c->record.length)
        memcpy(payload + 1, c->record.data, c->record.length);
    held.payload = payload;
    own_scores(m, c, held.scores);
    int kept = fis_selector_offer(m->selector, &held, e);
    if (payload != small)
        fis_free(payload);
    m->counts.candidates++;
    m->window.offered++;
    return kept < 0 ? kept : 0;
}

/* ---- progress ------------------------------------------------------------------------------- */

static struct wire_counted *counted_of(struct trainer_role *m, const struct wire_range *r)
{
    uint32_t n = m->state.n_counted;
    for (uint32_t i = 0; i < n; i++)
        if (m->counted[i].partition == r->partition)
            return &m->counted[i];
    if (!fis_grow(&m->counted, n, n + 1, sizeof *m->counted)) {
        fis_fail(&m->failed, FIS_NOMEM, "trainer: no memory for %u partitions", n + 1);
        return NULL;
    }
    m->state.n_counted = n + 1;
    m->counted[n] = (struct wire_counted){r->partition, r->begin};
    return &m->counted[n];
}

static uint64_t at_most(uint64_t n, int64_t limit)
{
    return n < (uint64_t)limit ? n : (uint64_t)limit;
}

/* What of the range is new. A range that was counted in part has that many more at the most. */
static void count_range(struct trainer_role *m, const struct wire_range *r)
{
    struct wire_counted *c = counted_of(m, r);
    int recreated = c && r->begin == r->next; /* a recreated partition begins there */
    if (recreated)
        c->next = r->next;
    m->dirty |= recreated;
    if (!c || (r->next <= c->next && !PLANTED(progress_twice)))
        return;
    int64_t more = r->begin < c->next && !PLANTED(progress_twice) ? r->next - c->next : INT64_MAX;
    uint64_t records = at_most(r->records, more);
    m->counts.records += records;
    m->counts.refused += at_most(r->refused, more);
    m->counts.tombstones += at_most(r->tombstones, more);
    m->state.window_records += records;
    m->window.scored += records;
    c->next = r->next > c->next ? r->next : c->next;
    m->dirty = true;
}

static void scan_range(struct trainer_role *m, const struct wire_range *r)
{
    m->counts.records += r->records;
    m->counts.refused += r->refused;
    m->counts.tombstones += r->tombstones;
    m->state.window_records += r->records;
    m->window.scored += r->records;
    m->dirty = true;
    m->scan.at_ms = m->state.clock_ms + TRAINER_SILENT_SCAN_MS;
    for (uint32_t i = 0; i < m->scan.n; i++)
        if (m->scan.ends[i].partition == r->partition &&
            r->next >= m->scan.ends[i].end - PLANTED(scan_short) && !m->scan.done[i]) {
            m->scan.done[i] = 1;
            m->scan.left--;
        }
}

void trainer_role_progress(struct trainer_role *m, const struct wire_progress *p)
{
    for (uint32_t i = 0; i < p->n_ranges; i++)
        if (!m->o.pool)
            count_range(m, &p->ranges[i]);
        else if (m->scan.step == SCAN_ON && p->scan == m->scan.version)
            scan_range(m, &p->ranges[i]);
}

bool trainer_window_full(const struct trainer_role *m)
{
    if (m->o.pool)
        return m->scan.step == SCAN_ON && m->scan.left == 0;
    return m->state.window_records >= m->o.window_records;
}

/* The time of a window begins with its first candidate: what comes after a quiet time is chosen
 * from as many as before. */
bool trainer_window_over(struct trainer_role *m)
{
    if (trainer_window_full(m))
        return true;
    if (m->o.pool || !m->o.window_ms)
        return false;
    if (fis_selector_counts(m->selector).held == 0)
        m->state.phase_began_ms = m->state.clock_ms;
    return m->state.clock_ms - m->state.phase_began_ms >= m->o.window_ms;
}

void trainer_close_window(struct trainer_role *m)
{
    m->state.window_records = 0; /* what comes from now on belongs to the next window */
    m->scan.step = SCAN_NONE;
    trainer_note(m, "round", "round=%u scored=%llu candidates=%llu held=%u", m->state.round,
                 (unsigned long long)m->window.scored, (unsigned long long)m->window.offered,
                 fis_selector_counts(m->selector).held);
    memset(&m->window, 0, sizeof m->window);
    trainer_begin_phase(m, PHASE_LABEL);
}

/* ---- scans of the pool ---------------------------------------------------------------------- */

void trainer_scan_after(struct trainer_role *m, uint64_t ms)
{
    m->scan.step = SCAN_LATER;
    m->scan.at_ms = m->state.clock_ms + ms;
    m->scan.if_grown = ms > 0;
}

/* A broker may lose what it has acknowledged, and the scorers do not know. */
static void scan_again(struct trainer_role *m)
{
    trainer_note(
        m, "scan",
        "round=%u text=\"no scorer has reported progress for %d s: the scan starts again\"",
        m->state.round, TRAINER_SILENT_SCAN_MS / 1000);
    trainer_scan_after(m, 0);
}

void trainer_scan_turn(struct trainer_role *m)
{
    if (m->state.clock_ms < m->scan.at_ms)
        return;
    if (m->scan.step == SCAN_ON && m->scan.left > 0 && !PLANTED(scan_waits))
        scan_again(m);
    if (m->scan.step != SCAN_LATER)
        return;
    m->scan.step = SCAN_WANTED;
    m->out.pool(m->out.ctx);
}

void trainer_role_candidates_lost(struct trainer_role *m)
{
    if (m->scan.step != SCAN_ON || m->scan.left == 0)
        return;
    trainer_note(
        m, "scan",
        "round=%u text=\"candidates were deleted before they were read: the scan starts again\"",
        m->state.round);
    trainer_scan_after(m, 0);
}

void trainer_window_done(struct trainer_role *m)
{
    fis_free(m->counted);
    fis_free(m->scan.ends);
    fis_free(m->scan.done);
}

static bool has_grown(const struct trainer_role *m, const struct wire_pool_end *ends, uint32_t n)
{
    uint32_t same = 0, now = 0;
    for (uint32_t i = 0; i < n; i++) {
        now += ends[i].end > 0;
        for (uint32_t k = 0; k < m->scan.n; k++)
            same += m->scan.ends[k].partition == ends[i].partition &&
                    m->scan.ends[k].end == ends[i].end;
    }
    return same != now || now != m->scan.n;
}

int trainer_role_pool(struct trainer_role *m, const struct wire_pool_end *ends, uint32_t n,
                      struct trainer_time now, struct fis_error *e)
{
    if (m->scan.step != SCAN_WANTED)
        return 0;
    trainer_tick(m, now);
    if (m->scan.if_grown && !has_grown(m, ends, n)) {
        trainer_scan_after(m, TRAINER_IDLE_SCAN_MS);
        return 0;
    }
    struct wire_pool_end *copy = fis_alloc(n + 1, sizeof *copy);
    unsigned char *done = fis_calloc(n + 1, 1);
    if (!copy || !done) {
        fis_free(copy);
        fis_free(done);
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for %u partitions", n);
    }
    fis_free(m->scan.ends);
    fis_free(m->scan.done);
    m->scan.ends = copy;
    m->scan.done = done;
    m->scan.n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (ends[i].end > 0)
            copy[m->scan.n++] = ends[i];
    m->scan.left = m->scan.n;
    m->scan.step = SCAN_ON;
    m->scan.at_ms = m->state.clock_ms + TRAINER_SILENT_SCAN_MS;
    m->scan.version = m->state.head_version + 1;
    m->state.window_records = 0;
    trainer_send_head(m, now);
    trainer_note(m, "scan", "round=%u head=%llu partitions=%u", m->state.round,
                 (unsigned long long)m->scan.version, m->scan.n);
    return 0;
}

int trainer_role_offers(struct trainer_role *m, const struct wire_offer *offer, struct fis_error *e)
{
    int refused = 0;
    for (uint32_t i = 0; i < offer->n_candidates; i++) {
        struct fis_error why;
        int rc = trainer_role_offer(m, &offer->candidates[i], &why);
        if (rc == 0 || (rc == -FIS_INPUT && refused))
            continue;
        *e = why;
        if (rc != -FIS_INPUT)
            return rc;
        refused = 1;
    }
    if (offer->progress)
        trainer_role_progress(m, offer->progress);
    return refused ? -FIS_INPUT : 0;
}

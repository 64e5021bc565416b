/* The pipeline's clock and its days; and what is sent before a commit. */
#include "role/trainer_impl.h"

#include "base/planted.h"
#include "wire/ledger.h"

#define DAY_MS 86400000
/* By so much the wall clock may part from the monotonic one before that is written down. Unwritten,
 * it would count as time that passed between two trainers. */
#define DRIFT_MS 1000
#define JUMP_MS 10000

/* ---- time ----------------------------------------------------------------------------------- */

static int64_t day_of(int64_t wall_ms)
{
    return wall_ms / DAY_MS - (wall_ms % DAY_MS < 0);
}

/* A date is never gone back to, and each is counted once: where the wall clock will not go on, 24
 * hours of the pipeline's clock are a day. */
static void renew_day(struct trainer_role *m, int64_t wall_ms)
{
    struct wire_trainer_state *s = &m->state;
    int64_t today = day_of(wall_ms);
    if (today > s->day || (PLANTED(day_twice) && today != s->day))
        s->day = today;
    else if (s->clock_ms - s->day_began_ms >= DAY_MS)
        s->day++;
    else
        return;
    s->day_asked = 0;
    s->day_began_ms = s->clock_ms;
    m->dirty |= m->o.daily_budget != 0;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

static void watch_wall(struct trainer_role *m, struct trainer_time now)
{
    int64_t ahead = now.wall_ms - (int64_t)now.mono_ms;
    if (!m->clock_on)
        m->wall_ahead = m->written_ahead = ahead;
    if (distance(ahead, m->wall_ahead) >= JUMP_MS)
        trainer_note(
            m, "clock_jump",
            "ms=%lld text=\"the wall clock moved; deadlines and windows do not depend on it\"",
            (long long)(ahead - m->wall_ahead));
    m->wall_ahead = ahead;
    m->dirty |= distance(ahead, m->written_ahead) >= DRIFT_MS;
}

void trainer_tick(struct trainer_role *m, struct trainer_time now)
{
    if (PLANTED(clock_by_wall) && m->clock_on && now.wall_ms - (int64_t)now.mono_ms > m->wall_ahead)
        m->state.clock_ms += (uint64_t)(now.wall_ms - (int64_t)now.mono_ms - m->wall_ahead);
    watch_wall(m, now);
    if (m->clock_on && now.mono_ms > m->mono_ms)
        m->state.clock_ms += now.mono_ms - m->mono_ms;
    if (!m->clock_on || now.mono_ms > m->mono_ms)
        m->mono_ms = now.mono_ms;
    m->clock_on = true;
    renew_day(m, now.wall_ms);
}

/* ---- before a commit ------------------------------------------------------------------------ */

static void say_gone(void *arg, const struct fis_id *id)
{
    struct trainer_role *m = arg;
    m->out.unheld(m->out.ctx, id);
}

static void say_held(void *arg, const struct fis_candidate *c)
{
    struct trainer_role *m = arg;
    const unsigned char *payload = c->payload;
    if (PLANTED(heap_not_written))
        return;
    struct wire_ledger_entry entry = {
        .id = c->id,
        .state = WIRE_IN_HEAP,
        .round = m->state.round,
        .x = c->x,
        .d = fis_shape_inputs(&m->shape),
    };
    if (c->payload_length) {
        entry.encoding = (enum wire_encoding)payload[0];
        entry.record = (struct wire_bytes){payload + 1, c->payload_length - 1};
    }
    m->out.ledger(m->out.ctx, &entry);
}

static void say_state(struct trainer_role *m, struct trainer_time now)
{
    static const enum wire_phase phases[] = {
        [PHASE_COLLECT] = WIRE_PHASE_COLLECT,
        [PHASE_LABEL] = WIRE_PHASE_LABEL,
        [PHASE_DONE] = WIRE_PHASE_DONE,
    };
    struct wire_trainer_state *s = &m->state;
    s->phase = phases[m->phase];
    s->val0 = fis_gate_val0(m->gate);
    s->trained = (double)(m->this_round.bought - m->untrained);
    s->wall_ms = now.wall_ms;
    s->counted = m->counted;
    s->requested = fis_selector_counts(m->selector).asked + m->forgotten.n;
    s->control_id = m->control_id;
    s->control_text = m->control_text;
    m->written_ahead = m->wall_ahead;
    m->dirty = false;
    m->out.state(m->out.ctx, s);
}

void trainer_say_all(struct trainer_role *m, struct trainer_time now)
{
    if (fis_selector_changed(m->selector)) {
        fis_selector_changes(m->selector, say_gone, say_held, m);
        trainer_send_floors(m);
        m->dirty = true;
    }
    if (m->dirty)
        say_state(m, now);
}

int trainer_role_flush(struct trainer_role *m, struct trainer_time now, struct fis_error *e)
{
    if (m->failed.kind != FIS_OK) {
        if (e)
            *e = m->failed;
        return -(int)m->failed.kind;
    }
    if (m->job || m->phase == PHASE_NEW)
        return 0; /* all is sent before a job begins */
    trainer_tick(m, now);
    trainer_say_all(m, now);
    return 0;
}

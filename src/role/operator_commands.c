/* The operator's commands. Each ends in an outcome: done, or refused with the reason. */
#include "role/trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct outcome {
    int ok;
    struct fis_error
        text; /* its text; FIS_PRINTF's checks and the care for odd bytes come with it */
};

#define DONE(o, ...) ((o)->ok = 1, fis_fail(&(o)->text, FIS_OK, __VA_ARGS__))
#define REFUSED(o, ...) ((o)->ok = 0, fis_fail(&(o)->text, FIS_INPUT, __VA_ARGS__))

uint64_t trainer_role_named_version(const struct trainer_role *m, const struct wire_control *c)
{
    if (c->kind == WIRE_CONTROL_ROLLBACK && c->version == 0)
        return m->state.previous_version;
    return c->kind == WIRE_CONTROL_ROLLBACK || c->kind == WIRE_CONTROL_PROMOTE ? c->version : 0;
}

/* A resume also ends what patience has ended: idle rounds count from 0. */
static void pause_asking(struct trainer_role *m, uint32_t on, struct outcome *o)
{
    int same = m->state.paused == on;
    m->state.paused = on;
    if (!on && trainer_out_of_patience(m)) {
        m->state.idle_rounds = 0;
        if (trainer_go_on(m, "resumed: selection.patience counts from 0")) {
            DONE(o, "labels are requested again, round %u", m->state.round);
            return;
        }
    }
    DONE(o, "%s%s", same ? "already " : "", on ? "paused: no label is requested" : "not paused");
}

static void pin(struct trainer_role *m, uint32_t on, struct outcome *o)
{
    m->state.pinned = on;
    fis_gate_hold(m->gate, on);
    DONE(o, on ? "version %llu stays, whatever the gate says" : "version %llu is no longer pinned",
         (unsigned long long)m->state.served_version);
}

static void cancel(struct trainer_role *m, const struct wire_control *c, struct trainer_time now,
                   struct outcome *o)
{
    struct fis_request *r = c->record.length ? fis_selector_find(m->selector, &c->record) : NULL;
    if (!r || r->state != FIS_OPEN) {
        REFUSED(o, "there is no open request for this record");
        return;
    }
    trainer_give_up(m, r, FIS_CANCELLED, true, "cancelled", now);
    DONE(o, "the request is withdrawn");
}

static void cancel_all(struct trainer_role *m, struct trainer_time now, struct outcome *o)
{
    struct fis_request *r;
    uint32_t n = 0;
    for (; (r = fis_selector_oldest(m->selector)); n++)
        trainer_give_up(m, r, FIS_CANCELLED, true, "cancelled", now);
    DONE(o, "%u request%s withdrawn", n, n == 1 ? " is" : "s are");
}

static void resend(struct trainer_role *m, const struct wire_control *c, struct trainer_time now,
                   struct outcome *o)
{
    const struct fis_request *one = fis_selector_find(m->selector, &c->record);
    const struct fis_request *r = c->record.length ? one : fis_selector_oldest(m->selector);
    uint32_t sent = 0, unknown = 0;
    if (c->record.length && (!r || r->state != FIS_OPEN)) {
        REFUSED(o, "there is no open request for this record");
        return;
    }
    for (; r; r = c->record.length ? NULL : r->newer) {
        bool there = trainer_resend(m, r, now);
        sent += there;
        unknown += !there;
    }
    if (unknown)
        REFUSED(o,
                "%u sent again; of %u the ledger has no record: cancel them, and others are "
                "requested",
                sent, unknown);
    else
        DONE(o, "%u request%s sent again", sent, sent == 1 ? " is" : "s are");
}

static const char *what_it_was(enum fis_request_state s)
{
    return fis_is_answered(s)   ? "labelled"
           : fis_is_given_up(s) ? "requested without an answer"
           : s == FIS_OPEN      ? "requested"
                                : "a candidate";
}

/* Nothing that is kept may name it: neither the outcome nor a note. The checkpoint is of rows that
 * it is one of: the state names the next one, which was never sent. */
static int forget(struct trainer_role *m, const struct wire_control *c, struct trainer_time now,
                  struct outcome *o, struct fis_error *e)
{
    struct fis_request *r = fis_selector_find(m->selector, &c->record);
    struct forgotten *all = &m->forgotten;
    struct wire_forgotten one = {.salt = {all->salt, all->salt_length}, .at_ms = now.wall_ms};
    if (forgotten_has(all, &c->record)) {
        DONE(o, "it was forgotten before");
        return 0;
    }
    if (!r) {
        REFUSED(o, "the trainer has no such record: it is no candidate, and was not requested");
        return 0;
    }
    enum fis_request_state was = r->state;
    if (!all->salt_length)
        one.salt = (struct wire_bytes){c->command.bytes, c->command.length};
    wire_forgotten_mark(one.salt, &c->record, one.mark);
    one.charged = was == FIS_OPEN || fis_is_answered(was) || (fis_is_given_up(was) && !r->refunded);
    int rc = forgotten_add(all, &one, e);
    if (rc < 0)
        return rc;
    if (was == FIS_OPEN)
        trainer_send_cancelled(m, r, "forgotten", now);
    fis_selector_forget(m->selector, r);
    m->out.unheld(m->out.ctx, &c->record);
    m->out.forgotten(m->out.ctx, &one);
    if (fis_is_answered(was))
        m->state.checkpoint++;
    m->stale |= was >= FIS_OPEN;
    DONE(o, "the record, which was %s, is forgotten", what_it_was(was));
    return 0;
}

/* Why this version cannot be served; 1 when it can, and *accuracy is then its accuracy now. */
static bool may_serve(struct trainer_role *m, const struct wire_control *c,
                      const struct wire_model *v, double *accuracy, struct outcome *o)
{
    unsigned long long named = trainer_role_named_version(m, c);
    double least = trainer_floor(m);
    if (!named)
        REFUSED(o, "nothing was served before version %llu, which stays",
                (unsigned long long)m->state.served_version);
    else if (named == m->state.served_version)
        REFUSED(o, "version %llu is what is served", named);
    else if (!v || v->version != named)
        REFUSED(o, "there is no version %llu", named);
    else if (c->kind == WIRE_CONTROL_ROLLBACK && !v->served)
        REFUSED(o, "version %llu was never served: promote it", named);
    else if (!v->params)
        REFUSED(o, "version %llu has no parameters", named);
    else if (!fis_shape_equal(&v->shape, &m->shape))
        REFUSED(o, "version %llu is a network of another shape", named);
    else if (!((*accuracy = trainer_accuracy(m, v->params, fis_encoder_trees(v->encoder))) >=
               least))
        REFUSED(o, "version %llu has accuracy %.4f on all validation rows now; the floor is %.4f",
                named, *accuracy, least);
    else
        return true;
    return false;
}

/* Its record has the metrics of the version whose weights it is, of the rows that judged that; what
 * the floor was held against is all rows, as they are now. */
static void tell_served(const struct trainer_role *m, const struct wire_model *v, double accuracy,
                        uint64_t previous, struct outcome *o)
{
    unsigned long long new = m->state.model_version + 1, old = v->version;
    char judged[64] = "", next[64] = "nothing was served before";
    if (isfinite(v->metrics.accuracy))
        snprintf(judged, sizeof judged, "%.4f as it was judged, ", v->metrics.accuracy);
    if (previous)
        snprintf(next, sizeof next, "a rollback goes to version %llu",
                 (unsigned long long)previous);
    DONE(o,
         "version %llu is served: the weights of version %llu, accuracy %s%.4f on all validation "
         "rows now; %s",
         new, old, judged, accuracy, next);
}

/* The log is only ever added to: what was there before goes out under a new number. */
static int serve_again(struct trainer_role *m, const struct wire_control *c,
                       const struct wire_model *v, struct trainer_time now, struct outcome *o,
                       struct fis_error *e)
{
    double accuracy = 0;
    bool back = c->kind == WIRE_CONTROL_ROLLBACK;
    if (!may_serve(m, c, v, &accuracy, o))
        return 0;
    memcpy(m->published, v->params, fis_shape_params(&m->shape) * sizeof *m->published);
    fis_gate_restore(m->gate, fis_gate_val0(m->gate), m->published, m->state.looks);
    if (trainer_serve_base(m, fis_encoder_trees(v->encoder), e) < 0)
        return -(int)FIS_NOMEM;
    m->state.served_accuracy = accuracy;
    m->state.failures = 0;
    tell_served(m, v, accuracy, back ? v->previous : m->state.served_version, o);
    trainer_send_again(m, v, back, o->text.text, now);
    return trainer_send_checkpoint(m, e);
}

static int carry_out(struct trainer_role *m, const struct wire_control *c,
                     const struct wire_model *v, struct trainer_time now, struct outcome *o,
                     struct fis_error *e)
{
    switch (c->kind) {
    case WIRE_CONTROL_PAUSE:
    case WIRE_CONTROL_RESUME:
        pause_asking(m, c->kind == WIRE_CONTROL_PAUSE, o);
        return 0;
    case WIRE_CONTROL_CANCEL:
        cancel(m, c, now, o);
        return 0;
    case WIRE_CONTROL_CANCEL_ALL:
        cancel_all(m, now, o);
        return 0;
    case WIRE_CONTROL_RESEND:
        resend(m, c, now, o);
        return 0;
    case WIRE_CONTROL_FORGET:
        return forget(m, c, now, o, e);
    case WIRE_CONTROL_PIN:
    case WIRE_CONTROL_UNPIN:
        pin(m, c->kind == WIRE_CONTROL_PIN, o);
        return 0;
    case WIRE_CONTROL_ROLLBACK:
    case WIRE_CONTROL_PROMOTE:
        return serve_again(m, c, v, now, o, e);
    }
    REFUSED(o, "no such command");
    return 0;
}

/* Who gave the command chose the id: it must stay one word of a line. */
static void word(char *out, size_t size, const char *id)
{
    size_t n = 0;
    for (; *id && n + 1 < size; id++)
        out[n++] = *id > ' ' && *id <= '~' && *id != '"' && *id != '\\' ? *id : '?';
    out[n] = 0;
}

int trainer_role_control(struct trainer_role *m, const struct wire_control *c,
                         const struct wire_model *version, struct trainer_time now,
                         struct fis_error *e)
{
    struct outcome o = {0};
    char id[FIS_ID_MAX + 1] = {0};
    memcpy(id, c->command.bytes, c->command.length);
    if (*id && strcmp(id, m->control_id) == 0)
        return 0; /* a repeated command has no effect */
    trainer_tick(m, now);
    int rc = carry_out(m, c, version, now, &o, e);
    if (rc < 0)
        return rc;
    memcpy(m->control_id, id, sizeof id);
    snprintf(m->control_text, sizeof m->control_text, "%s", o.text.text);
    m->state.control_ok = o.ok;
    m->dirty = true;
    char shown[128];
    word(shown, sizeof shown, id);
    trainer_note(m, "control", "command=%s ok=%d id=%s text=\"%s\"", wire_control_name(c->kind),
                 o.ok, shown, m->control_text);
    return 0;
}

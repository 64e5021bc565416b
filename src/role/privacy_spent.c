/* The trainer role's account of noise on directions: kept in the state, so that it is committed
 * with the heads that it is about. */
#include "role/trainer_impl.h"

#include <math.h>

struct wire_privacy trainer_privacy(const struct trainer_role *m)
{
    struct fis_privacy_account spent = fis_learner_privacy(m->learner);
    if (!spent.refreshes && !spent.exact)
        return (struct wire_privacy){0};
    int on = m->o.privacy.noise > 0;
    const struct wire_privacy *before = &m->state.privacy;
    struct wire_privacy p = {
        .refreshes = spent.refreshes,
        .exact = spent.exact,
        .tag = spent.tag,
        .rho = spent.rho,
        .noise = on ? m->o.privacy.noise : before->noise,
        .clip = on ? m->o.privacy.clip : before->clip,
        .delta = on ? m->o.privacy_delta : before->delta,
    };
    p.epsilon = spent.exact ? (double)NAN : fis_privacy_epsilon(p.rho, p.delta);
    return p;
}

/* Heads that went out before noise was turned on were exact. */
void trainer_restore_privacy(struct trainer_role *m, const struct wire_trainer_state *s)
{
    const struct wire_privacy *p = &s->privacy;
    int exact_before = m->o.privacy.noise > 0 && s->head_version && !p->refreshes && !p->exact;
    struct fis_privacy_account spent = {
        .refreshes = p->refreshes,
        .exact = exact_before ? 1 : p->exact,
        .rho = p->rho,
        .tag = p->tag,
    };
    fis_learner_set_privacy(m->learner, &spent);
}

void trainer_note_privacy(struct trainer_role *m)
{
    const struct wire_privacy *p = &m->state.privacy;
    if (!p->refreshes)
        return;
    if (p->exact)
        trainer_note(m, "privacy",
                     "refreshes=%llu exact=%llu rho=%.4g epsilon=none text=\"directions without "
                     "noise went out, so no epsilon holds\"",
                     (unsigned long long)p->refreshes, (unsigned long long)p->exact, p->rho);
    else
        trainer_note(m, "privacy", "refreshes=%llu rho=%.4g epsilon=%.4g delta=%.3g noise=%.4g",
                     (unsigned long long)p->refreshes, p->rho, p->epsilon, p->delta, p->noise);
}

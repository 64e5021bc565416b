/* The trainer role going on where another stopped: its state, then the ledger's entries. */
#include "role/trainer_role.h"

#include <math.h>
#include <string.h>

int trainer_role_restore_state(struct trainer_role *m, const struct wire_trainer_state *s,
                               const float *anchor, const float *served, struct fis_error *e)
{
    if (!isfinite(s->val0))
        return fis_fail(e, FIS_FATAL, "ledger: VAL_0 is not finite");
    m->state = *s;
    m->state.window_records = 0; /* the window's candidates come again: see the header */
    memcpy(m->published, served, fis_shape_params(&m->shape) * sizeof *served);
    fis_trainer_set_anchor(m->learner, anchor);
    fis_gate_restore(m->gate, s->val0, served, s->looks);
    m->restored = 1;
    return 0;
}

static int is_bought(enum wire_ledger_state s)
{
    return s == WIRE_ACCEPTED || s == WIRE_SET_ASIDE;
}

static int check_entry(const struct trainer_role *m, const struct wire_ledger_entry *entry,
                       struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&m->shape);
    if ((is_bought(entry->state) || entry->state == WIRE_REQUESTED) && entry->d != d)
        return fis_fail(e, FIS_FATAL,
                        "ledger: an entry has %u features, this pipeline has %u: the columns were "
                        "changed",
                        entry->d, d);
    if (is_bought(entry->state) && entry->class_index >= m->o.schema->n_classes)
        return fis_fail(e, FIS_FATAL,
                        "ledger: an entry has class %u, this pipeline has %u classes: they were "
                        "changed",
                        entry->class_index, m->o.schema->n_classes);
    return 0;
}

/* Asked for and given up: the id is remembered, so that it is not asked for again. */
static int restore_withdrawn(struct trainer_role *m, const struct wire_ledger_entry *entry,
                             struct fis_error *e)
{
    int whole = entry->d == fis_shape_inputs(&m->shape);
    struct fis_candidate c = {.id = entry->id, .x = whole ? entry->x : NULL};
    return fis_selector_restore_withdrawn(m->selector, &c, 0, 1, e);
}

static int restore_bought(struct trainer_role *m, const struct wire_ledger_entry *entry,
                          struct fis_error *e)
{
    uint32_t index;
    if (fis_trainer_add_bought(m->learner, entry->x, entry->class_index, &index, e) < 0)
        return -1;
    if (entry->round == m->state.round)
        trainer_count_label(m, &entry->id, entry->class_index, entry->state == WIRE_ACCEPTED);
    return 0;
}

/* Labels of the round that the newest head was trained on already are not trained on again. */
static void restore_progress(struct trainer_role *m)
{
    double trained = m->state.trained;
    uint32_t bought = m->this_round.bought, known = 0;
    if (trained > 0)
        known = trained < bought ? (uint32_t)trained : bought;
    uint32_t progress = trainer_round_progress(m);
    m->untrained = bought - known;
    m->steps_done = trainer_share_of_steps(m, known < progress ? known : progress);
}

int trainer_role_restore_entry(struct trainer_role *m, const struct wire_ledger_entry *entry,
                               struct fis_error *e)
{
    int known_criterion = entry->criterion < fis_criteria_count(m->o.selector.criteria.algorithm);
    if (entry->state == WIRE_IN_HEAP)
        return 0; /* nothing was asked: the candidate comes again */
    if (check_entry(m, entry, e) < 0)
        return -1;
    if (entry->round >= m->state.round && !m->in_restored_round) {
        fis_selector_round_begin(m->selector);
        m->in_restored_round = 1;
    }
    if (!is_bought(entry->state) && entry->state != WIRE_REQUESTED)
        return restore_withdrawn(m, entry, e);
    /* The algorithm may be another one now, with fewer criteria. */
    struct fis_candidate c = {.id = entry->id, .x = entry->x};
    int64_t label = is_bought(entry->state) ? (int64_t)entry->class_index : -1;
    if (fis_selector_restore(m->selector, &c, known_criterion ? entry->criterion : 0, label, e) < 0)
        return -1;
    if (label >= 0 && restore_bought(m, entry, e) < 0)
        return -1;
    restore_progress(m);
    return 0;
}

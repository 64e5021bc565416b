/*
 * A look into the trainer role, for what is shown to people: what it holds and waits for. Nothing
 * is changed by it. No feature and no record is given out.
 *
 * Thread: the role's owner; not while a job runs.
 */
#ifndef ROLE_TRAINER_VIEW_H
#define ROLE_TRAINER_VIEW_H

#include "role/agreement.h"
#include "role/asking.h"
#include "role/trainer.h"

struct trainer_best { /* a candidate that is held */
    struct fis_id id;
    uint32_t criterion, rank; /* rank: 1 is the next to be asked for by this criterion */
    float score;              /* by the criterion; higher is better */
};
struct trainer_open { /* a request without an answer */
    struct fis_id id;
    uint32_t round, votes; /* votes: answers so far, where several are required */
    uint64_t age_ms;
};

uint32_t trainer_view_criteria(const struct trainer_role *m);
const char *trainer_view_criterion(const struct trainer_role *m, uint32_t criterion); /* its name */
/* The best n (64 at most) of one criterion; returns how many. */
uint32_t trainer_view_best(const struct trainer_role *m, uint32_t criterion,
                           struct trainer_best *out, uint32_t n);
/* The n oldest. */
uint32_t trainer_view_open(const struct trainer_role *m, struct trainer_open *out, uint32_t n);

struct trainer_view {
    enum trainer_job job; /* that runs or was asked for; 0: none */
    double val0;          /* NaN: there is none yet */
    uint32_t validation_rows, groups;
    uint32_t smallest_cell;                /* rows that judge, in it: fis_gate_smallest_cell */
    double detectable;        /* fis_gate_detectable of them; NaN: nothing, or not known */
    uint64_t validation_sets; /* how often rows were put in force */
    const char *control_id, *control_text; /* the last command and what became of it; "" */
    bool control_ok;
    struct asking asking; /* whether labels are requested, and why not */
    struct agreement_view agreement;
};
/* Texts are valid until the role is next called. */
void trainer_view(const struct trainer_role *m, int64_t wall_ms, struct trainer_view *out);

#endif

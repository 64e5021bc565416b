/*
 * Variants: what an experiment changes of a run, as text. "epsilon=0.01 delay=1" is both the name
 * that results carry (lab_key.variant) and what makes the run: a variant is applied from its name
 * alone, so that results read back are of the same runs.
 *
 * Settings (lab_variant_setting lists them): of lab_options and its protocol; budget=FACTOR of the
 * labels of a round; validation=SHARE, which keeps that share of the validation rows while the test
 * rows stay the same; and those of lab/noise.h.
 */
#ifndef LAB_EXP_VARIANT_H
#define LAB_EXP_VARIANT_H

#include "lab/noise.h"
#include "lab/run.h"

struct lab_variant {
    struct lab_options options;
    struct lab_noise_options noise;
    double validation, budget; /* 1 */
    struct lab_hooks hooks;
};

/* `base` changed by settings, separated by spaces; "" is none. INPUT: a name or a value that is not
 * allowed, with those that are. */
int lab_variant_make(const char *settings, const struct lab_options *base,
                     const struct lab_task *task, struct lab_variant *out,
                     struct fis_error *e) FIS_MUST_CHECK;
/* What a run of this variant hooks in; NULL: nothing. Borrows *v, for the run; runs on several
 * threads may share it. */
const struct lab_hooks *lab_variant_hooks(struct lab_variant *v);
/* The settings there are; NULL ends. */
const char *lab_variant_setting(uint32_t i, const char **help);

#endif

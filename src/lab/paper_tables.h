/*
 * The numbers of the paper's tables, as printed there ("Fairness Without Harm: An Influence-Guided
 * Active Sampling Approach", NeurIPS 2024, appendix): test accuracy and violation, means over three
 * seeds, with deviations in the main tables alone. The budgets' results are figures there, without
 * numbers. For sex on Adult the paper has no table.
 */
#ifndef LAB_PAPER_TABLES_H
#define LAB_PAPER_TABLES_H

#include <stdint.h>

#include "fis/fairness.h"

enum lab_paper_table { LAB_PAPER_MAIN, LAB_PAPER_VALIDATION_SIZE, LAB_PAPER_RANDOM_VAL };

struct lab_paper_value {
    double accuracy, accuracy_std, violation, violation_std; /* std NaN: not given */
};

struct lab_paper_row {
    enum lab_paper_table table;
    const char *task, *method; /* our names; its BALD is "bald" */
    double validation;         /* share of its validation set: 1, 1/2, 1/4, 1/5, 1/20 */
    struct lab_paper_value dp, eop, eod;
};

const struct lab_paper_row *lab_paper_rows(uint32_t *n);
/* NULL when the paper has none. */
const struct lab_paper_value *lab_paper_find(enum lab_paper_table table, const char *task,
                                             const char *method, double validation,
                                             enum fis_metric metric);

#endif

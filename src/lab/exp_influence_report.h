/* Checks of influence over tasks, metrics and seeds: correlations as a table, points as plots. */
#ifndef LAB_EXP_INFLUENCE_REPORT_H
#define LAB_EXP_INFLUENCE_REPORT_H

#include "lab/exp_influence.h"
#include "lab/report.h"

/* One check. */
struct lab_influence_record {
    char task[64];
    enum fis_metric metric;
    enum lab_regime regime;
    uint64_t seed;
    struct lab_influence result;
};

/* A task and metric over its seeds: Spearman's correlations. */
struct lab_influence_cell {
    const char *task; /* borrowed from the records */
    enum fis_metric metric;
    enum lab_regime regime;
    uint32_t examples, retrained;
    struct lab_stat step_accuracy, step_fairness, retrain_accuracy, retrain_fairness,
        curvature_accuracy, curvature_fairness;
};
/* In the order of first occurrence; *n of at most n_records cells. *cells is the caller's
 * (fis_free). */
int lab_influence_cells(const struct lab_influence_record *records, uint32_t n_records,
                        struct lab_influence_cell **cells, uint32_t *n,
                        struct fis_error *e) FIS_MUST_CHECK;
int lab_influence_markdown(const struct lab_influence_cell *cells, uint32_t n,
                           struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;
/* {"cells":[{"task","metric","regime","seeds","examples","retrained","step":{"accuracy":{mean,std},
 * "fairness":…},"retrain":…,"curvature":…}]} */
int lab_influence_json(const struct lab_influence_cell *cells, uint32_t n, struct byte_buffer *out,
                       struct fis_error *e) FIS_MUST_CHECK;
/* Scatter plots of the first seed of each task and metric (SVG, PNG): estimate against step and
 * against retraining, of accuracy and fairness. RETRY: no gnuplot. */
int lab_influence_plots(const struct lab_influence_record *records, uint32_t n, const char *folder,
                        struct fis_error *e) FIS_MUST_CHECK;

#endif

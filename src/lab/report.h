/*
 * What many runs say together: means and deviations over seeds, paired differences against a
 * method with 95 % confidence intervals (Student's t over seeds), summaries over cells.
 */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include <stdio.h>

#include "lab/result.h"

struct lab_stat {
    uint32_t n;
    double mean, std; /* n - 1; NaN for one */
    double low, high; /* 95 % interval of the mean */
};
void lab_stat_of(const double *values, uint32_t n, struct lab_stat *out);

/* A cell: one task, metric, method, variant and regime, over its seeds. */
struct lab_cell {
    char task[64], method[48], variant[96];
    enum fis_metric metric;
    enum lab_regime regime;
    uint32_t seeds, n_validation;
    struct lab_stat accuracy, violation, labels, kept, seconds;
    /* Paired by seed, against the same cell of the reference method; n = 0 when it is not there. */
    struct lab_stat accuracy_difference, violation_difference;
    double violation_ratio; /* of the means; NaN without a reference */
    bool material;   /* random's violation is .03 or more, and two standard errors of its mean */
    uint32_t fairer; /* seeds in which it is fairer than the reference */
    uint32_t n_path; /* mean over seeds, when all have it */
    struct lab_point path[LAB_ROUNDS_MAX];
};

enum lab_cells { LAB_CELLS_ALL, LAB_CELLS_MATERIAL, LAB_CELLS_OTHER, LAB_CELLS };

/* Means over some of the cells of a method, against the reference. */
struct lab_means {
    uint32_t cells;
    double accuracy_difference;  /* arithmetic mean */
    double violation_ratio;      /* geometric mean */
    double violation_difference; /* arithmetic mean */
    double cells_fairer;         /* share of seeds and cells */
};

/* Per method, over the cells with n_validation >= 1,000. */
struct lab_summary {
    char method[48], variant[96];
    enum lab_regime regime;
    struct lab_means over[LAB_CELLS];
    struct lab_stat accuracy_over_seeds; /* differences by seed, each a mean over all cells */
};

struct lab_report {
    const char *reference; /* borrowed */
    struct lab_cell *cells;
    uint32_t n_cells;
    struct lab_summary *summaries;
    uint32_t n_summaries;
};

/* What was published and the anchor below it apart: behind each of the n records one of method
 * "NAME anchor", with the anchor's figures. Records of methods that publish their anchor have none.
 */
int lab_report_anchors(const struct lab_record *records, uint32_t n, struct lab_record **out,
                       uint32_t *n_out, struct fis_error *e) FIS_MUST_CHECK;

/* metrics: which ones are asked for (records whose metric is 0 count for each of them). Cells are
 * in the order of first occurrence: task, regime, metric, method. */
int lab_report_make(const struct lab_record *records, uint32_t n, const enum fis_metric *metrics,
                    uint32_t n_metrics, const char *reference, struct lab_report *out,
                    struct fis_error *e) FIS_MUST_CHECK;
void lab_report_done(struct lab_report *r);

/* {"cells":[…],"summary":{…}} */
int lab_report_json(const struct lab_report *r, struct byte_buffer *out,
                    struct fis_error *e) FIS_MUST_CHECK;
int lab_report_markdown(const struct lab_report *r, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;
/* Plots (SVG and PNG) by gnuplot into a folder. RETRY when gnuplot is not there. */
int lab_report_plots(const struct lab_report *r, const char *folder,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif

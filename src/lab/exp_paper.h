/*
 * The paper's protocol, and its tables beside ours.
 *
 * What it needs other than the defaults is in lab_paper_differences; its training epochs
 * are dealt out over ten rounds, the least number it names, and are epochs over the initial rows.
 * Its program does not do what its text says on Adult and COMPAS (see lab_paper_note), so its
 * numbers there are shown and not aimed at.
 */
#ifndef LAB_EXP_PAPER_H
#define LAB_EXP_PAPER_H

#include "lab/paper_tables.h"
#include "lab/report.h"

/* A row of a table: the paper's number, when it has one, and ours, when it was run. */
struct lab_paper_line {
    enum lab_paper_table table;
    char task[64], method[48];
    enum fis_metric metric;
    double validation;
    const struct lab_paper_value *paper; /* NULL: none */
    struct lab_stat accuracy, violation; /* n = 0: not run */
};

/* All lines of one table, in the order of ours, then the paper's that were not run. *out is owned
 * by the caller (fis_free). */
int lab_paper_compare(enum lab_paper_table table, const struct lab_report *r,
                      struct lab_paper_line **out, uint32_t *n, struct fis_error *e) FIS_MUST_CHECK;
const char *lab_paper_title(enum lab_paper_table table);
/* Why tabular numbers differ; paragraphs, lines of at most 100. */
const char *lab_paper_note(void);
/* How the protocol differs from the defaults; lines of at most 100. */
const char *lab_paper_differences(void);
/* All tables and the curves over budgets as Markdown, with the note. */
int lab_paper_markdown(const struct lab_report *r, struct byte_buffer *out,
                       struct fis_error *e) FIS_MUST_CHECK;

#endif

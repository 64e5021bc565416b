/*
 * One version with all that is known of it. Groups have numbers only: what they stand for is
 * sensitive and never leaves the trainer.
 */
#include <math.h>

#include "cli/models.h"
#include "base/decimal.h"
#include "cli/screen.h"

static const char *clean(const char *text, char out[512])
{
    snprintf(out, 512, "%s", text ? text : "");
    screen_clean(out);
    return out;
}

static void print_changes(const struct wire_model *m)
{
    char name[512], to[512], from[512];
    for (uint32_t i = 0; i < m->n_changes; i++) {
        const struct wire_change *c = &m->changes[i];
        printf("  %-12s from version %llu on: %s %s (was %s)\n", "changed",
               (unsigned long long)c->version, clean(c->name, name), clean(c->to, to),
               clean(c->from, from));
    }
}

static void print_head(const struct wire_model *m)
{
    char text[512], when[32];
    printf("version %llu of %s: %s\n", (unsigned long long)m->version, clean(m->pipeline, text),
           models_verdict(m));
    printf("  %-12s %s\n", "made at", screen_time(m->created_at_ms, when));
    if (m->parent)
        printf("  %-12s %llu\n", "follows", (unsigned long long)m->parent);
    if (m->served && m->previous != m->parent)
        printf("  %-12s goes to version %llu\n", "rollback", (unsigned long long)m->previous);
    printf("  %-12s %s", "gate", models_reason(m, text));
    printf(": %s\n", clean(m->reason_text, text));
    printf("  %-12s round %u, head %llu, seed %llu, %s\n", "from", m->round,
           (unsigned long long)m->head_version, (unsigned long long)m->seed,
           clean(m->algorithm, text));
    printf("  %-12s %llu bought, %llu kept\n", "labels", (unsigned long long)m->labels_bought,
           (unsigned long long)m->labels_kept);
    print_changes(m);
    const struct wire_privacy *p = &m->privacy;
    if (p->exact)
        printf("  %-12s none: %llu %s had no noise\n", "epsilon", (unsigned long long)p->exact,
               decimal_agree(p->exact, "refresh", "refreshes"));
    else if (p->refreshes)
        printf("  %-12s %.4g for delta %.3g: directions, %llu %s with noise %.4g\n", "epsilon",
               p->epsilon, p->delta, (unsigned long long)p->refreshes,
               decimal_agree(p->refreshes, "refresh", "refreshes"), p->noise);
    printf("  %-12s %s%s\n", "network", fis_shape_text(&m->shape, (char[FIS_SHAPE_TEXT]){0}),
           m->params ? "" : " (no weights)");
}

static void print_gate(const struct wire_model *m)
{
    char a[16], b[16], c[16], d[16];
    printf("\ngate on %s\n", clean(m->metric, (char[512]){0}));
    printf("  %-12s %s (the warm-up had %s; epsilon %.4g)\n", "floor", screen_rate(m->floor, a),
           screen_rate(m->val0, b), m->epsilon);
    if (isfinite(m->difference))
        printf("  %-12s %.4f, standard error %.4f\n", "fairer by", m->difference, m->difference_se);
    printf("  %-12s %s on the line from the anchor (accuracy %s, EOd %s)\n", "weights",
           screen_rate(m->interpolation, a), screen_rate(m->anchor.n ? m->anchor.accuracy : NAN, c),
           screen_rate(m->anchor.n ? m->anchor.equalized_odds : NAN, d));
    printf("  %-12s %s%s\n", "least cell", DECIMAL_COUNT(m->smallest_cell, "row"),
           m->warn_cell ? ": few, and uncertain" : "");
    if (isfinite(m->detectable))
        printf("  %-12s %.4f: these rows cannot distinguish a smaller gap from none\n",
               "detectable", m->detectable);
    printf("  %-12s %u\n", "looks so far", m->looks);
}

static void print_metrics(const struct wire_model *m)
{
    const struct fis_metrics *x = &m->metrics;
    static const char *const names[WIRE_METRICS] = {
        "accuracy",          "balanced accuracy",     "demographic parity",
        "equal opportunity", "equalized odds (mean)", "equalized odds (max)",
        "risk disparity"};
    char text[48];
    printf("\non %u validation rows of the gate (n/e: not estimable)\n", x->n);
    for (enum wire_metric i = 0; i < WIRE_METRICS; i++)
        printf("  %-22s %s\n", names[i], models_metric(x, &m->intervals, i, text));
    if (x->n && x->predicted_classes == 1)
        printf("  a constant predictor: every row gets the same class\n");
}

static int print_groups(const struct wire_model *m, struct fis_error *e)
{
    static const char *const heads[] = {">  group",       ">rows", ">accuracy",
                                        ">positive rate", ">TPR",  ">FPR"};
    struct screen_table t;
    char text[16];
    screen_table_init(&t, heads, 6);
    for (uint32_t g = 0; g < m->metrics.n_groups && g < FIS_MAX_GROUPS; g++) {
        const struct fis_group_metrics *x = &m->metrics.group[g];
        const double rates[] = {x->accuracy, x->positive_rate, x->tpr, x->fpr};
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%u", g);
        screen_table_cell(&t, 1, "%u", x->n);
        for (uint32_t i = 0; i < 4; i++)
            screen_table_cell(&t, 2 + i, "%s", screen_rate(rates[i], text));
    }
    printf("\n");
    return screen_table_print(&t, stdout) ? fis_fail(e, FIS_NOMEM, "no memory for the table") : 0;
}

static void print_recall(const struct wire_model *m)
{
    char rate[16], name[512];
    printf("\nrecall of each class\n");
    for (uint32_t k = 0; k < m->metrics.classes && k < m->n_classes; k++)
        printf("  %-22s %s%s\n", clean(m->classes[k], name),
               screen_rate(m->metrics.recall[k], rate), k == m->positive ? "  (positive)" : "");
}

int models_show(const struct wire_model *m, bool json, bool weights, struct fis_error *e)
{
    if (json || weights) {
        struct byte_buffer line = {0};
        int rc = wire_model_json(m, &line, weights, e);
        if (!rc)
            printf("%.*s\n", (int)line.length, (const char *)line.data);
        byte_buffer_done(&line);
        return rc;
    }
    print_head(m);
    print_gate(m);
    if (!m->metrics.n)
        return 0;
    print_metrics(m);
    int rc = print_groups(m, e);
    if (!rc)
        print_recall(m);
    return rc;
}

/*
 * The table of versions. On a terminal too narrow for it the intervals go on a second line.
 */
#include <math.h>
#include <string.h>

#include "cli/models.h"
#include "cli/screen.h"

enum { WIDE = 118 };

static const enum wire_metric metrics[] = {WIRE_ACCURACY, WIRE_DEMOGRAPHIC_PARITY,
                                           WIRE_EQUAL_OPPORTUNITY, WIRE_EQUALIZED_ODDS};

static double value_of(const struct wire_model *m, int i)
{
    return wire_metric_of(&m->metrics, metrics[i]);
}

static void start_row(struct screen_table *t, const struct wire_model *m)
{
    screen_table_row(t);
    screen_table_cell(t, 0, "%llu", (unsigned long long)m->version);
    screen_table_cell(t, 1, "%u", m->round);
}

static void end_row(struct screen_table *t, const struct wire_model *m, uint32_t column)
{
    screen_table_cell(t, column, "%llu", (unsigned long long)m->labels_bought);
    screen_table_cell(t, column + 1, "%llu", (unsigned long long)m->labels_kept);
}

static void wide_row(struct screen_table *t, const struct wire_model *m)
{
    char text[64];
    start_row(t, m);
    screen_table_cell(t, 2, "%s: %s", models_verdict(m), models_reason(m, text));
    for (int i = 0; i < 4; i++)
        screen_table_cell(t, 3 + (uint32_t)i, "%s",
                          models_metric(&m->metrics, &m->intervals, metrics[i], text));
    end_row(t, m, 7);
}

static void narrow_rows(struct screen_table *t, const struct wire_model *m)
{
    char text[64], low[16], high[16];
    start_row(t, m);
    screen_table_cell(t, 2, "%s", models_verdict(m));
    for (int i = 0; i < 4; i++)
        screen_table_cell(t, 3 + (uint32_t)i, "%s", screen_rate(value_of(m, i), text));
    end_row(t, m, 7);
    screen_table_row(t);
    screen_table_cell(t, 2, "%s", models_reason(m, text));
    for (int i = 0; i < 4; i++) {
        const struct fis_interval *in = wire_interval_of(&m->intervals, metrics[i]);
        if (isfinite(value_of(m, i)) && isfinite(in->low))
            screen_table_cell(t, 3 + (uint32_t)i, "%s–%s", screen_rate(in->low, low),
                              screen_rate(in->high, high));
    }
}

static int print_json(const struct models *m, struct fis_error *e)
{
    struct byte_buffer line = {0};
    int rc = 0;
    for (uint32_t i = 0; !rc && i < m->n; i++) {
        line.length = 0;
        rc = wire_model_json(&m->items[i].model, &line, 0, e);
        if (!rc)
            printf("%.*s\n", (int)line.length, (const char *)line.data);
    }
    byte_buffer_done(&line);
    return rc;
}

int models_list(const struct models *m, bool json, struct fis_error *e)
{
    static const char *const wide_heads[] = {"version", "round", "verdict", "accuracy", "DP",
                                             "EOp",     "EOd",   ">labels", ">kept"};
    static const char *const narrow_heads[] = {">ver", ">rnd", "verdict", ">accuracy", ">DP",
                                               ">EOp", ">EOd", ">labels", ">kept"};
    int columns = screen_columns(stdout);
    bool wide = columns == 0 || columns >= WIDE;
    struct screen_table t;
    if (json)
        return print_json(m, e);
    if (!m->n) {
        printf("no versions yet; fisctl doctor finds the reason\n");
        return 0;
    }
    screen_table_init(&t, wide ? wide_heads : narrow_heads, 9);
    bool unknown = false;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct wire_model *v = &m->items[i].model;
        if (wide)
            wide_row(&t, v);
        else
            narrow_rows(&t, v);
        for (int k = 0; k < 4; k++)
            unknown = unknown || !isfinite(value_of(v, k));
    }
    if (screen_table_print(&t, stdout))
        return fis_fail(e, FIS_NOMEM, "no memory for the table");
    const struct wire_model *served = models_served(m);
    if (served)
        printf("served now: version %llu\n", (unsigned long long)served->version);
    printf("on validation rows, with 95 %% intervals; DP, EOp, EOd are gaps: 0 is fair\n");
    if (unknown)
        printf("n/e: not estimable, nobody in a cell that it needs\n");
    return 0;
}

/*
 * Two versions side by side. On rows of a file the differences have intervals: both versions see
 * the same rows in each resample, which tells much smaller differences apart than two intervals
 * that are laid beside each other.
 */
#include <math.h>
#include <string.h>

#include "cli/models.h"
#include "cli/screen.h"
#include "fis/mem.h"

enum { FEW_ROWS = 30 };

/* Whose rates are compared: of groups, of those with the positive class (each, for more than two),
 * of these and the others. */
enum cells { NO_CELLS, OF_GROUP, OF_CLASS, OF_BOTH };

static const struct metric {
    const char *title;
    enum cells cells;
} metrics[WIRE_METRICS] = {
    {"accuracy", NO_CELLS},
    {"balanced accuracy", NO_CELLS},
    {"DP", OF_GROUP},
    {"EOp", OF_CLASS},
    {"EOd", OF_BOTH},
    {"EOd max", OF_BOTH},
    {"risk disparity", NO_CELLS},
};

struct side {
    const struct wire_model *model;
    const struct fis_metrics *metrics;
    const struct fis_metrics_intervals *intervals;
    struct models_result measured; /* with a file */
};

struct comparison {
    const struct models_evaluation *v;
    struct side side[2];
    struct fis_interval difference[WIRE_METRICS]; /* of the second less the first; with a file */
};

static double difference_of(const struct comparison *c, enum wire_metric i)
{
    return wire_metric_of(c->side[1].metrics, i) - wire_metric_of(c->side[0].metrics, i);
}

/* ---- differences on the same rows ----------------------------------------------------------- */

/* Resampling is certain of a cell of one row. The variance that two rows more in each small cell
 * would bring, on which versions differ as a coin falls (Agresti and Min, 2005). */
static double variance_of_few(const struct comparison *c, enum cells cells)
{
    const struct data_examples *x = &c->side[0].measured.rows;
    const uint32_t classes = fis_shape_classes(&c->side[0].model->shape);
    const uint32_t positive = c->side[0].model->positive;
    double sum = 0;
    for (uint32_t cell = 0; cells && cell < x->names.n * classes; cell++) {
        const uint32_t g = cell / classes, k = cell % classes;
        double rows = 0;
        if (cells == OF_GROUP ? k > 0 : cells == OF_CLASS && classes == 2 && k != positive)
            continue;
        for (uint32_t i = 0; i < x->n; i++)
            rows += x->groups[i] == g && (cells == OF_GROUP || x->labels[i] == k);
        if (rows < FEW_ROWS)
            sum += 1 / ((rows + 2) * (rows + 2));
    }
    return sum;
}

/* The difference and 1.96 times its deviation over resamples to each side. The resamples' own
 * quantiles may leave it out: a largest gap is larger in most of them. */
static struct fis_interval interval_of(double difference, const double *values, uint32_t n,
                                       double more)
{
    uint32_t kept = 0;
    double mean = 0, square = 0;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            const double off = values[i] - mean; /* Welford's update */
            mean += off / ++kept;
            square += off * (values[i] - mean);
        }
    if (kept < 2)
        return (struct fis_interval){NAN, NAN, NAN};
    const double se = sqrt(square / (kept - 1) + more), half = FIS_INTERVAL_Z * se;
    return (struct fis_interval){difference - half, difference + half, se};
}

static void metrics_on(const struct side *s, const uint32_t *rows, struct fis_metrics *out)
{
    const struct models_result *r = &s->measured;
    fis_metrics_eval(r->predictions, r->logits, r->rows.labels, r->rows.groups, rows, r->rows.n,
                     fis_shape_classes(&s->model->shape), r->rows.names.n, s->model->positive, out);
}

static int resample(struct comparison *c, struct fis_error *e)
{
    const uint32_t n = c->side[0].measured.rows.n, times = c->v->resamples;
    uint32_t *rows = fis_alloc(n, sizeof *rows);
    double *values = fis_alloc((size_t)WIRE_METRICS * times, sizeof *values);
    struct fis_metrics *m = fis_alloc(2, sizeof *m);
    struct fis_rng rng;
    int rc = rows && values && m ? 0 : fis_fail(e, FIS_NOMEM, "no memory for %u rows", n);
    fis_rng_seed(&rng, 1, 1);
    for (uint32_t t = 0; !rc && t < times; t++) {
        for (uint32_t i = 0; i < n; i++)
            rows[i] = fis_rng_below(&rng, n);
        for (int s = 0; s < 2; s++)
            metrics_on(&c->side[s], rows, &m[s]);
        for (enum wire_metric i = 0; i < WIRE_METRICS; i++)
            values[(size_t)i * times + t] = wire_metric_of(&m[1], i) - wire_metric_of(&m[0], i);
    }
    for (enum wire_metric i = 0; !rc && i < WIRE_METRICS; i++)
        c->difference[i] = interval_of(difference_of(c, i), values + (size_t)i * times, times,
                                       variance_of_few(c, metrics[i].cells));
    fis_free(rows);
    fis_free(values);
    fis_free(m);
    return rc;
}

static int measure(struct comparison *c, struct fis_error *e)
{
    int rc = 0;
    for (int s = 0; !rc && s < 2; s++) {
        struct side *side = &c->side[s];
        rc = models_measure(c->v, side->model, &side->measured, e);
        side->metrics = &side->measured.metrics;
        side->intervals = &side->measured.intervals;
    }
    if (!rc && (c->side[0].measured.rows.n != c->side[1].measured.rows.n ||
                fis_shape_classes(&c->side[0].model->shape) !=
                    fis_shape_classes(&c->side[1].model->shape)))
        rc = fis_fail(e, FIS_INPUT, "%s: the versions do not see the same rows", c->v->test);
    return rc ? rc : resample(c, e);
}

/* ---- output --------------------------------------------------------------------------------- */

/* "+.004", "-.012" */
static const char *signed_text(double x, char out[24])
{
    char rate[16];
    if (!isfinite(x))
        return strcpy(out, "n/e");
    screen_rate(fabs(x), rate);
    snprintf(out, 24, "%s%s", x < 0 ? "-" : "+", rate);
    return out;
}

static const char *difference_text(double x, const struct fis_interval *in, char out[80])
{
    char a[24], low[24], high[24];
    if (isfinite(x) && isfinite(in->low))
        snprintf(out, 80, "%s [%s, %s]", signed_text(x, a), signed_text(in->low, low),
                 signed_text(in->high, high));
    else
        snprintf(out, 80, "%s", signed_text(x, a));
    return out;
}

static void metric_row(struct screen_table *t, const struct comparison *c, enum wire_metric i)
{
    char text[80];
    screen_table_row(t);
    screen_table_cell(t, 0, "%s", metrics[i].title);
    for (uint32_t s = 0; s < 2; s++)
        screen_table_cell(t, 1 + s, "%s",
                          models_metric(c->side[s].metrics, c->side[s].intervals, i, text));
    screen_table_cell(t, 3, "%s", difference_text(difference_of(c, i), &c->difference[i], text));
}

static double group_rate(const struct comparison *c, int s, uint32_t g, int what)
{
    if (g >= c->side[s].metrics->n_groups)
        return (double)NAN;
    const struct fis_group_metrics *x = &c->side[s].metrics->group[g];
    const double rates[] = {x->accuracy, x->positive_rate, x->tpr, x->fpr};
    return rates[what];
}

static uint32_t groups_of(const struct comparison *c)
{
    uint32_t a = c->side[0].metrics->n_groups, b = c->side[1].metrics->n_groups;
    uint32_t n = a > b ? a : b;
    return n < FIS_MAX_GROUPS ? n : FIS_MAX_GROUPS;
}

static void group_rows(struct screen_table *t, const struct comparison *c, uint32_t g)
{
    static const char *const names[] = {"accuracy", "positive rate", "TPR", "FPR"};
    char a[24];
    for (int what = 0; what < 4; what++) {
        double x[2] = {group_rate(c, 0, g, what), group_rate(c, 1, g, what)};
        screen_table_row(t);
        screen_table_cell(t, 0, "group %u: %s", g, names[what]);
        for (uint32_t s = 0; s < 2; s++)
            screen_table_cell(t, 1 + s, "%s", screen_rate(x[s], a));
        screen_table_cell(t, 3, "%s", signed_text(x[1] - x[0], a));
    }
}

static const char *title_of(const struct comparison *c, int s, char out[48])
{
    uint64_t version = c->side[s].model->version;
    snprintf(out, 48, "version %llu%s", (unsigned long long)version,
             version == c->v->served ? " (served)" : "");
    return out;
}

static int print_table(const struct comparison *c, struct fis_error *e)
{
    char a[48], b[48];
    const char *const heads[] = {"", title_of(c, 0, a), title_of(c, 1, b), "difference"};
    struct screen_table t;
    screen_table_init(&t, heads, 4);
    screen_table_row(&t);
    screen_table_cell(&t, 0, "rows");
    for (uint32_t s = 0; s < 2; s++)
        screen_table_cell(&t, 1 + s, "%u", c->side[s].metrics->n);
    for (enum wire_metric i = 0; i < WIRE_METRICS; i++)
        metric_row(&t, c, i);
    for (uint32_t g = 0; g < groups_of(c); g++)
        group_rows(&t, c, g);
    if (screen_table_print(&t, stdout))
        return fis_fail(e, FIS_NOMEM, "no memory for the table");
    if (c->v->test)
        printf("on the rows of %s, with 95 %% intervals; of the differences, with both versions on "
               "the same resamples\n",
               c->v->test);
    else
        printf("on the gate's validation rows when each was judged, with 95 %% intervals; models "
               "compare --data FILE gives the differences theirs\n");
    return 0;
}

static void put_side(struct wire_json_put *p, const struct comparison *c, int s)
{
    const struct fis_metrics *m = c->side[s].metrics;
    uint64_t version = c->side[s].model->version;
    wire_put_open(p, s ? "b" : "a", '{');
    wire_put_count(p, "version", version);
    wire_put_bool(p, "served", version == c->v->served);
    wire_put_count(p, "rows", m->n);
    for (enum wire_metric i = 0; i < WIRE_METRICS; i++)
        wire_put_number(p, wire_metric_numbers[i].name, wire_metric_of(m, i), 6);
    wire_put_open(p, "groups", '[');
    for (uint32_t g = 0; g < m->n_groups && g < FIS_MAX_GROUPS; g++) {
        wire_put_open(p, NULL, '{');
        wire_put_count(p, "rows", m->group[g].n);
        wire_put_numbers(p, wire_group_numbers, &m->group[g], 6);
        wire_put_close(p, '}');
    }
    wire_put_close(p, ']');
    wire_put_close(p, '}');
}

static int print_json(const struct comparison *c, struct fis_error *e)
{
    struct byte_buffer line = {0};
    struct wire_json_put p = wire_put(&line, e);
    wire_put_open(&p, NULL, '{');
    for (int s = 0; s < 2; s++)
        put_side(&p, c, s);
    wire_put_open(&p, "difference", '{');
    for (enum wire_metric i = 0; i < WIRE_METRICS; i++) {
        wire_put_open(&p, wire_metric_numbers[i].name, '{');
        wire_put_number(&p, "value", difference_of(c, i), 6);
        wire_put_number(&p, "low", c->difference[i].low, 6);
        wire_put_number(&p, "high", c->difference[i].high, 6);
        wire_put_close(&p, '}');
    }
    wire_put_close(&p, '}');
    if (c->v->more)
        c->v->more(c->v, c->side[0].model, c->side[1].model, &p);
    wire_put_close(&p, '}');
    int rc = screen_json(&p);
    byte_buffer_done(&line);
    return rc;
}

int models_compare(const struct models_evaluation *v, const struct wire_model *a,
                   const struct wire_model *b, struct fis_error *e)
{
    struct comparison *c = fis_calloc(1, sizeof *c);
    if (!c)
        return fis_fail(e, FIS_NOMEM, "no memory for a comparison");
    c->v = v;
    for (int i = 0; i < WIRE_METRICS; i++)
        c->difference[i] = (struct fis_interval){NAN, NAN, NAN};
    for (int s = 0; s < 2; s++) {
        const struct wire_model *m = s ? b : a;
        c->side[s].model = m;
        c->side[s].metrics = &m->metrics;
        c->side[s].intervals = &m->intervals;
    }
    int rc = v->test ? measure(c, e) : 0;
    if (!rc)
        rc = v->json ? print_json(c, e) : print_table(c, e);
    if (!rc && v->more && !v->json)
        v->more(v, a, b, NULL);
    for (int s = 0; s < 2; s++)
        models_result_done(&c->side[s].measured);
    fis_free(c);
    return rc;
}

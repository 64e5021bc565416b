#include "wire/model_card.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "wire/model_json_impl.h"
#include "wire/model_parts.h"

/* Text as it is written; the first failure is kept. */
struct page {
    struct byte_buffer *out;
    struct fis_error *e;
    int rc;
};

static void put(struct page *p, const char *format, ...) FIS_PRINTF(2, 3);
static void put(struct page *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!p->rc)
        p->rc = byte_buffer_vprintf(p->out, p->e, format, list);
    va_end(list);
}

/* A name, escaped, so that it is nothing but text. */
static void put_name(struct page *p, const char *name)
{
    for (const char *c = name ? name : ""; *c; c++)
        if (*c == '\x1f')
            put(p, ", ");
        else if ((unsigned char)*c < ' ' || *c == 0x7f)
            put(p, "?");
        else
            put(p, "%s%c", strchr("\\`*_{}[]<>#|!&", *c) ? "\\" : "", *c);
}

static const char *rate(double x, char text[16])
{
    if (!isfinite(x))
        return strcpy(text, "n/e");
    snprintf(text, 16, "%.3f", x);
    return text;
}

/* The 95 % interval of a share of n rows (Wilson 1927, with the score test). NaN: not estimable. */
static struct fis_interval share_interval(double p, uint32_t n)
{
    const double z = 1.959964, z2 = z * z;
    if (!n || !isfinite(p))
        return (struct fis_interval){NAN, NAN, NAN};
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4.0 * n * n));
    return (struct fis_interval){middle - half, middle + half, (double)NAN};
}

/* ---- what the figures cannot say ------------------------------------------------------------- */

enum { LIMITS = 12, LIMIT_TEXT = 400 };
struct limits {
    uint32_t n;
    char text[LIMITS][LIMIT_TEXT];
};

static void add(struct limits *l, const char *format, ...) FIS_PRINTF(2, 3);
static void add(struct limits *l, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (l->n < LIMITS)
        vsnprintf(l->text[l->n++], LIMIT_TEXT, format, list);
    va_end(list);
}

static void find_limits(const struct wire_model *m, struct limits *l)
{
    *l = (struct limits){0};
    if (!m->metrics.n)
        add(l, "Nothing was measured.");
    else
        add(l,
            "The figures are of %u validation rows; of records that are distributed otherwise they "
            "say little (alarm drift).",
            m->metrics.n);
    if (m->metrics.n && m->smallest_cell)
        add(l, "The smallest cell that the metric needs has %u rows%s.", m->smallest_cell,
            m->warn_cell ? ": few, so the figures of its group are uncertain" : "");
    if (isfinite(m->detectable))
        add(l, "A gap below %.4f cannot be distinguished from none by these rows%s.", m->detectable,
            m->undetectable ? "; that of the model before publication is: they show no gap to close"
                            : "");
    if (m->looks > 1)
        add(l,
            "The same rows have judged %u times: the figures of the best of so many are "
            "optimistic. A test set of one's own (fisctl models evaluate) is not.",
            m->looks);
    if (m->metrics.n && m->metrics.predicted_classes == 1)
        add(l, "It is a constant predictor: every validation row gets the same class.");
    add(l, "Groups are those of the validation set; others, and groups within them, were not "
           "measured.");
    add(l, "Labels count as true: a bias of those who labelled is neither seen nor removed.");
    if (m->privacy.exact || !m->privacy.refreshes)
        add(l, "Directions had no noise: selection and weights may reveal facts about single "
               "validation rows.");
}

static const char *const not_for[] = {
    "Decisions about people other than those that initial and validation set are drawn from.",
    "Finding out a sensitive attribute of a person, or decisions by one.",
    "Decisions with legal or similarly grave effect that no person can review and change.",
    "Claims of fairness by measures, groups or data that this card does not show.",
};
enum { NOT_FOR = sizeof not_for / sizeof *not_for };

static const char *rejected = "Serving: the gate has rejected it.";

static const char *base_of(const struct wire_model *m)
{
    if (!m->shape.margins)
        return "none";
    return m->trees || (m->encoder && fis_encoder_has_trees(m->encoder)) ? "trees" : "column";
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void put_head(struct page *p, const struct wire_model *m)
{
    char when[32] = "";
    time_t seconds = (time_t)(m->created_at_ms / 1000);
    struct tm t;
    if (gmtime_r(&seconds, &t))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &t);
    put(p, "# Model card: ");
    put_name(p, m->pipeline);
    put(p, ", version %" PRIu64 "\n\n%s on %s", m->version, m->served ? "Published" : "Rejected",
        when);
    if (m->parent)
        put(p, "; follows version %" PRIu64, m->parent);
    put(p,
        ". Written by fisd from the version itself.\n\n## Model\n\n| | |\n|---|---|\n| classes | ");
    for (uint32_t k = 0; k < m->n_classes; k++) {
        put(p, "%s", k ? ", " : "");
        put_name(p, m->classes[k]);
    }
    put(p, " |\n| positive class | ");
    put_name(p, m->classes[m->positive]);
    put(p, " |\n| network | %s |\n| base | %s |\n| weights | ",
        fis_shape_text(&m->shape, (char[FIS_SHAPE_TEXT]){0}), base_of(m));
    if (m->params)
        put(p, "%zu", fis_shape_params(&m->shape));
    else
        put(p, "none are kept");
    put(p, " |\n");
}

static void put_data(struct page *p, const struct wire_model *m)
{
    struct fis_encoder_column_state s;
    put(p, "\n## Data\n\nSensitive attributes are in the validation set alone: no column of the "
           "model, and not needed to predict.\n");
    put(p,
        "\n| labels | bought | kept | round |\n|---|---:|---:|---:|\n| | %" PRIu64 " | %" PRIu64
        " | %u |\n",
        m->labels_bought, m->labels_kept, m->round);
    if (!m->encoder || m->shape.vit.height)
        return;
    uint32_t n = fis_encoder_columns(m->encoder);
    put(p, "\n| column | type | of the initial set |\n|---|---|---|\n");
    for (uint32_t i = 0; i < n && i < 200; i++) {
        fis_encoder_state(m->encoder, i, &s);
        put(p, "| ");
        put_name(p, s.column.name);
        if (s.column.type == FIS_CATEGORICAL)
            put(p, " | categorical | categories: %u |\n", s.n_categories);
        else if (s.column.scale == FIS_SCALE_STANDARD && !fis_encoder_constant(m->encoder, i))
            put(p, " | numeric | mean %.4g, deviation %.4g%s |\n", s.mean, s.deviation,
                s.missing_indicator ? ", with missing values" : "");
        else if (s.column.scale == FIS_SCALE_STANDARD)
            put(p, " | numeric | always %.6g |\n", s.mean);
        else
            put(p, " | %s | not scaled |\n",
                s.column.scale == FIS_SCALE_NONE ? "numeric" : "score of the base");
    }
    if (n > 200)
        put(p, "| … | | %u columns in all |\n", n);
}

static void put_metrics(struct page *p, const struct wire_model *m)
{
    char a[16], low[16], high[16];
    put(p,
        "\n## Figures\n\nOn the %u validation rows of the gate. A gap is the largest difference "
        "between groups; 0 is fair. n/e: not estimable. Intervals: %.0f %%, of shares of a group "
        "by "
        "Wilson's formula.\n\n"
        "| | value | interval |\n|---|---:|---|\n",
        m->metrics.n, (m->intervals.level > 0 ? m->intervals.level : .95) * 100);
    for (enum wire_metric k = 0; k < WIRE_METRICS; k++) {
        const struct fis_interval *i = wire_interval_of(&m->intervals, k);
        put(p, "| %s%s | %s | ", wire_metric_numbers[k].name,
            k == wire_metric_named(m->metric) ? " (the gate's)" : "",
            rate(wire_metric_of(&m->metrics, k), a));
        if (isfinite(i->low) && isfinite(i->high))
            put(p, "%s to %s", rate(i->low, low), rate(i->high, high));
        put(p, " |\n");
    }
}

static void put_share(struct page *p, double x, uint32_t n)
{
    char a[16], low[16], high[16];
    struct fis_interval i = share_interval(x, n);
    put(p, " | %s", rate(x, a));
    if (isfinite(i.low))
        put(p, " (%s to %s)", rate(i.low, low), rate(i.high, high));
}

static void put_groups(struct page *p, const struct wire_model *m, struct wire_group_names groups)
{
    char a[2][16];
    put(p, "\n| group | rows | accuracy | positive rate | TPR | FPR "
           "|\n|---|---:|---:|---:|---:|---:|\n");
    for (uint32_t g = 0; g < m->metrics.n_groups && g < FIS_MAX_GROUPS; g++) {
        const struct fis_group_metrics *x = &m->metrics.group[g];
        put(p, "| ");
        if (g < groups.n)
            put_name(p, groups.names[g]);
        else
            put(p, "%u", g);
        put(p, " | %u", x->n);
        put_share(p, x->accuracy, x->n);
        put_share(p, x->positive_rate, x->n);
        put(p, " | %s | %s |\n", rate(x->tpr, a[0]), rate(x->fpr, a[1]));
    }
    if (!groups.n)
        put(p, "\nWhich group a number stands for is sensitive: the trainer's validation set has "
               "it.\n");
}

static void put_gate(struct page *p, const struct wire_model *m)
{
    char a[16];
    put(p, "\n## Gate and lineage\n\n| | |\n|---|---|\n| verdict | %s: ", m->verdict);
    put_name(p, m->reason_text);
    put(p, " |\n| metric | ");
    put_name(p, m->metric);
    put(p, " |\n| least accuracy allowed | %s |\n", rate(m->floor, a));
    put(p, "| accuracy of the first version | %s |\n| epsilon | %g |\n", rate(m->val0, a),
        m->epsilon);
    put(p, "| interpolation | %s |\n", rate(m->interpolation, a));
    put(p, "| judged so far | %s |\n| algorithm | ", DECIMAL_COUNT(m->looks, "time"));
    put_name(p, m->algorithm);
    put(p, " |\n| head, seed | %" PRIu64 ", %" PRIu64 " |\n", m->head_version, m->seed);
    if (m->privacy.exact || !m->privacy.refreshes)
        put(p, "| differential privacy | none |\n");
    else
        put(p, "| differential privacy | epsilon %.4g for delta %.3g |\n", m->privacy.epsilon,
            m->privacy.delta);
    for (uint32_t i = 0; i < m->n_changes; i++) {
        put(p, "| changed, version %" PRIu64 " on | ", m->changes[i].version);
        put_name(p, m->changes[i].name);
        put(p, " |\n");
    }
}

static void put_limits(struct page *p, const struct wire_model *m)
{
    struct limits l;
    find_limits(m, &l);
    put(p, "\n## Limits\n\n");
    for (uint32_t i = 0; i < l.n; i++)
        put(p, "- %s\n", l.text[i]);
    put(p, "\n## Not for\n\n");
    if (!m->served)
        put(p, "- %s\n", rejected);
    for (size_t i = 0; i < NOT_FOR; i++)
        put(p, "- %s\n", not_for[i]);
}

int wire_model_card_text(const struct wire_model *m, struct wire_group_names groups,
                         struct byte_buffer *out, struct fis_error *e)
{
    struct page p = {.out = out, .e = e};
    size_t start = out->length;
    if (!m->n_classes || m->positive >= m->n_classes)
        return fis_fail(e, FIS_INPUT, "positive is class %u of %u", m->positive, m->n_classes);
    put_head(&p, m);
    put_data(&p, m);
    if (m->metrics.n) {
        put_metrics(&p, m);
        put_groups(&p, m, groups);
    }
    put_gate(&p, m);
    put_limits(&p, m);
    if (p.rc)
        out->length = start;
    return p.rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *texts_of(const struct wire_model *m)
{
    json_t *all = json_array();
    if (!m->served)
        json_array_append_new(all, json_string(rejected));
    for (size_t i = 0; i < NOT_FOR; i++)
        json_array_append_new(all, json_string(not_for[i]));
    return all;
}

static json_t *limits_of(const struct wire_model *m)
{
    struct limits l;
    json_t *all = json_array();
    find_limits(m, &l);
    for (uint32_t i = 0; i < l.n; i++)
        json_array_append_new(all, json_string(l.text[i]));
    return all;
}

static json_t *names_of(struct wire_group_names groups)
{
    json_t *all = groups.n ? json_array() : json_null();
    for (uint32_t g = 0; g < groups.n; g++)
        if (json_array_append_new(all, json_string(groups.names[g])))
            json_array_append_new(all, json_null()); /* no UTF-8 */
    return all;
}

static json_t *share_of(double x, uint32_t n)
{
    struct fis_interval i = share_interval(x, n);
    return isfinite(i.low) ? json_pack("[f, f]", i.low, i.high) : json_null();
}

static json_t *shares_of(const struct wire_model *m)
{
    json_t *all = json_array();
    for (uint32_t g = 0; g < m->metrics.n_groups && g < FIS_MAX_GROUPS; g++) {
        const struct fis_group_metrics *x = &m->metrics.group[g];
        json_array_append_new(all, json_pack("{s:o, s:o}", "accuracy", share_of(x->accuracy, x->n),
                                             "positive_rate", share_of(x->positive_rate, x->n)));
    }
    return all;
}

int wire_model_card_json(const struct wire_model *m, struct wire_group_names groups,
                         struct byte_buffer *out, struct fis_error *e)
{
    uint32_t columns = m->encoder ? fis_encoder_columns(m->encoder) : 0;
    json_t *card =
        json_pack("{s:s, s:{s:i, s:i}, s:o, s:o, s:o, s:o}", "base", base_of(m), "data", "columns",
                  (int)columns, "validation_rows", (int)m->metrics.n, "groups", names_of(groups),
                  "group_intervals", shares_of(m), "limits", limits_of(m), "not_for", texts_of(m));
    if (!card)
        return fis_fail(e, FIS_NOMEM, "no memory for a model card");
    return wire_model_json_with(m, "card", card, false, out, e);
}

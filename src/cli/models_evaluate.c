/*
 * Versions on labelled rows of a file. Each encodes the rows with its own encoder, as a program
 * that serves it would.
 */

#include "cli/models.h"
#include "base/decimal.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "fis/mem.h"

enum { ROWS = 1024 };

static int load(const struct models_evaluation *v, const struct wire_model *m,
                struct data_examples *out, struct fis_error *e)
{
    uint32_t n = fis_encoder_columns(m->encoder);
    struct fis_column *columns = fis_calloc(n, sizeof *columns);
    if (!columns)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", n);
    for (uint32_t i = 0; i < n; i++)
        columns[i] = *fis_encoder_column(m->encoder, i);
    const struct data_source source = {.path = v->test,
                                       .how = cli_reading(v->cli, &v->read),
                                       .schema = &v->cli->schema,
                                       .columns = columns,
                                       .n_columns = n,
                                       .with_sensitive = 1};
    int rc = data_examples_load(&source, m->encoder, out, e);
    fis_free(columns);
    return rc;
}

static int forward(const struct wire_model *m, const struct data_examples *x, float *logits,
                   struct fis_error *e)
{
    uint32_t classes = fis_shape_classes(&m->shape);
    struct fis_scratch *s = fis_scratch_new(&m->shape, ROWS, 0);
    if (!s)
        return fis_fail(e, FIS_NOMEM, "no memory for %d rows", ROWS);
    for (uint32_t i = 0; i < x->n; i += ROWS) {
        uint32_t n = x->n - i < ROWS ? x->n - i : ROWS;
        fis_network_forward(&m->shape, m->params, x->x + (size_t)i * x->d, n, s,
                            logits + (size_t)i * classes);
    }
    fis_scratch_free(s);
    return 0;
}

static int measure(const struct wire_model *m, struct models_result *out, struct fis_error *e)
{
    const struct data_examples *x = &out->rows;
    uint32_t classes = fis_shape_classes(&m->shape);
    out->logits = fis_alloc((size_t)x->n * classes, sizeof *out->logits);
    out->predictions = fis_alloc(x->n, sizeof *out->predictions);
    if (!out->logits || !out->predictions)
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", x->n);
    int rc = forward(m, x, out->logits, e);
    if (rc)
        return rc;
    fis_predict(out->logits, x->n, classes, out->predictions);
    fis_metrics_eval(out->predictions, out->logits, x->labels, x->groups, NULL, x->n, classes,
                     x->names.n, m->positive, &out->metrics);
    fis_metrics_enclose(out->predictions, out->logits, x->labels, x->groups, x->n, classes,
                        x->names.n, m->positive, FIS_HALF_WIDTH, &out->intervals);
    return 0;
}

int models_measure(const struct models_evaluation *v, const struct wire_model *m,
                   struct models_result *out, struct fis_error *e)
{
    *out = (struct models_result){.version = m->version};
    if (!m->params || !m->encoder)
        return fis_fail(e, FIS_INPUT, "version %llu has no weights: it was rejected",
                        (unsigned long long)m->version);
    if (m->n_classes != v->cli->schema.n_classes)
        return fis_fail(e, FIS_INPUT, "version %llu has %u classes, the configuration %u",
                        (unsigned long long)m->version, m->n_classes, v->cli->schema.n_classes);
    int rc = load(v, m, &out->rows, e);
    if (!rc)
        rc = measure(m, out, e);
    if (rc)
        models_result_done(out);
    return rc;
}

void models_result_done(struct models_result *r)
{
    data_examples_done(&r->rows);
    fis_free(r->logits);
    fis_free(r->predictions);
    *r = (struct models_result){0};
}

static int print_json(const struct models_evaluation *v, const struct models_result *r,
                      struct fis_error *e)
{
    struct byte_buffer line = {0};
    struct wire_json_put p = wire_put(&line, e);
    wire_put_open(&p, NULL, '{');
    wire_put_count(&p, "version", r->version);
    wire_put_bool(&p, "served", r->version == v->served);
    wire_put_count(&p, "rows", r->rows.n);
    wire_put_numbers(&p, wire_metric_numbers, &r->metrics, 6);
    wire_put_open(&p, "intervals", '{');
    wire_put_number(&p, "level", .95, 6);
    for (enum wire_metric k = 0; k < WIRE_METRICS; k++) {
        if (!wire_metric_numbers[k].interval)
            continue;
        const struct fis_interval *i = wire_interval_of(&r->intervals, k);
        wire_put_open(&p, wire_metric_numbers[k].name, '[');
        wire_put_number(&p, NULL, i->low, 6);
        wire_put_number(&p, NULL, i->high, 6);
        wire_put_close(&p, ']');
    }
    wire_put_close(&p, '}');
    wire_put_close(&p, '}');
    int rc = screen_json(&p);
    byte_buffer_done(&line);
    return rc;
}

static void add_row(struct screen_table *t, const struct models_evaluation *v,
                    const struct models_result *r)
{
    char text[48];
    screen_table_row(t);
    screen_table_cell(t, 0, "%llu%s", (unsigned long long)r->version,
                      r->version == v->served ? " (served)" : "");
    for (enum wire_metric i = 0; i <= WIRE_EQUALIZED_ODDS_MAX; i++)
        screen_table_cell(t, 1 + i, "%s", models_metric(&r->metrics, &r->intervals, i, text));
}

int models_evaluate(const struct models_evaluation *v, const struct wire_model *const *versions,
                    uint32_t n, struct fis_error *e)
{
    static const char *const heads[] = {"version", "accuracy", "balanced", "DP",
                                        "EOp",     "EOd",      "EOd max"};
    struct screen_table t;
    struct models_result r = {0};
    uint32_t rows = 0;
    int rc = 0;
    if (!v->json)
        screen_table_init(&t, heads, 7);
    for (uint32_t i = 0; !rc && i < n; i++) {
        rc = models_measure(v, versions[i], &r, e);
        if (!rc && v->json)
            rc = print_json(v, &r, e);
        else if (!rc)
            add_row(&t, v, &r);
        rows = r.rows.n;
        models_result_done(&r);
    }
    if (v->json)
        return rc;
    if (!rc)
        printf("on %s of %s, with 95 %% intervals\n", DECIMAL_COUNT(rows, "row"), v->test);
    int printed = screen_table_print(&t, stdout);
    return !rc && printed ? fis_fail(e, FIS_NOMEM, "no memory for the table") : rc;
}

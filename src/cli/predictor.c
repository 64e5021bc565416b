#include "cli/predictor.h"

#include "fis/loss.h"
#include "fis/mem.h"

static int name_columns(struct predictor *p, const struct cli *c, struct fis_error *e)
{
    const struct fis_encoder *enc = p->model->encoder;
    uint32_t n = fis_encoder_columns(enc);
    p->columns = fis_calloc((size_t)n + 1, sizeof *p->columns);
    p->values = fis_calloc((size_t)n + 1, sizeof *p->values);
    if (!p->columns || !p->values)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", n);
    for (uint32_t i = 0; i < n; i++) {
        const struct fis_column *column = fis_encoder_column(enc, i);
        p->columns[i] = (struct data_column){
            .name = column->name, .cell = column->type == FIS_NUMERIC ? DATA_NUMBER : DATA_STRING};
    }
    p->columns[n] =
        (struct data_column){.name = c->cfg.records.id, .cell = DATA_TEXT, .optional = true};
    p->data.columns = p->columns;
    p->data.n_columns = n + 1;
    return 0;
}

int predictor_open(struct predictor *p, const struct cli *c, const struct wire_model *m,
                   const char *path, const struct data_reading *how, struct fis_error *e)
{
    *p = (struct predictor){
        .model = m,
        .path = path,
        .data = {.how = cli_reading(c, how), .images = c->schema.image.height ? &c->schema : NULL}};
    if (!m->params || !m->encoder)
        return fis_fail(e, FIS_INPUT, "version %llu has no weights: it was rejected",
                        (unsigned long long)m->version);
    int rc = name_columns(p, c, e);
    if (rc)
        return rc;
    p->x = fis_calloc(fis_encoder_dimension(m->encoder), sizeof *p->x);
    p->probability = fis_calloc(m->n_classes, sizeof *p->probability);
    p->scratch = fis_scratch_new(&m->shape, 1, 0);
    if (!p->x || !p->probability || !p->scratch)
        return fis_fail(e, FIS_NOMEM, "no memory for a row");
    p->rows = data_rows_open(p->path, &p->data, e);
    return p->rows ? 0 : -(int)e->kind;
}

void predictor_close(struct predictor *p)
{
    if (p->rows)
        data_rows_close(p->rows);
    fis_scratch_free(p->scratch);
    fis_free(p->columns);
    fis_free(p->values);
    fis_free(p->x);
    fis_free(p->probability);
    *p = (struct predictor){0};
}

int predictor_next(struct predictor *p, struct fis_error *e)
{
    const struct wire_model *m = p->model;
    uint32_t unseen = 0;
    int rc = data_rows_next(p->rows, p->values, e);
    if (rc != 1)
        return rc;
    rc = fis_encoder_encode(m->encoder, p->values, p->x, &unseen, e);
    if (rc)
        return fis_error_prefix(e, "%s: line %llu", p->path,
                                (unsigned long long)data_rows_line(p->rows));
    p->unseen += unseen;
    p->id = &p->values[p->data.n_columns - 1];
    fis_network_forward(&m->shape, m->params, p->x, 1, p->scratch, p->probability);
    fis_predict(p->probability, 1, m->n_classes, &p->best);
    fis_softmax(p->probability, 1, m->n_classes, p->probability);
    return 1;
}

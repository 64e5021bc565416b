/*
 * fisctl predict: class and probabilities of rows, by a version that the pipeline has published.
 */
#include "cli/command_table.h"

#include <string.h>

#include "cli/models.h"
#include "fis/loss.h"
#include "fis/mem.h"
#include "wire/csv.h"
#include "wire/json_text.h"

struct options {
    const char *version;
    bool json;
    struct data_reading read;
};

/* One row at a time: what comes down a pipe is answered at once. */
struct predict {
    const struct cli *cli;
    const struct wire_model *model;
    const char *path;
    struct data_rows *rows;
    struct data_options data;
    struct data_column *columns; /* the encoder's, then the id */
    struct fis_value *values;
    float *x, *probability; /* [dimension], [n_classes] */
    struct fis_scratch *scratch;
    struct wire_buffer line;
    uint64_t unseen; /* cells with a category that the version does not know */
    bool json, flush;
};

static int name_columns(struct predict *p, struct fis_error *e)
{
    const struct fis_encoder *enc = p->model->encoder;
    uint32_t n = fis_encoder_columns(enc);
    p->columns = fis_calloc((size_t)n + 1, sizeof *p->columns);
    p->values = fis_calloc((size_t)n + 1, sizeof *p->values);
    if (!p->columns || !p->values)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", n);
    for (uint32_t i = 0; i < n; i++) {
        const struct fis_column *c = fis_encoder_column(enc, i);
        p->columns[i] = (struct data_column){
            .name = c->name, .cell = c->type == FIS_NUMERIC ? DATA_NUMBER : DATA_STRING};
    }
    p->columns[n] =
        (struct data_column){.name = p->cli->cfg.records.id, .cell = DATA_TEXT, .optional = true};
    p->data.columns = p->columns;
    p->data.n_columns = n + 1;
    return 0;
}

static int predict_open(struct predict *p, struct fis_error *e)
{
    const struct wire_model *m = p->model;
    if (!m->params || !m->encoder)
        return fis_fail(e, FIS_INPUT, "version %llu has no weights: it was rejected",
                        (unsigned long long)m->version);
    int rc = name_columns(p, e);
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

static void predict_close(struct predict *p)
{
    if (p->rows)
        data_rows_close(p->rows);
    fis_scratch_free(p->scratch);
    wire_buffer_done(&p->line);
    fis_free(p->columns);
    fis_free(p->values);
    fis_free(p->x);
    fis_free(p->probability);
}

static void put_header(const struct predict *p)
{
    fputs("id,class", stdout);
    for (uint32_t k = 0; k < p->model->n_classes; k++) {
        const char *name = p->cli->schema.classes[k];
        fputs(",probability_", stdout);
        wire_csv_put(stdout, name, strlen(name));
    }
    putchar('\n');
}

static void put_csv(const struct predict *p, const struct fis_value *id, uint32_t best)
{
    const char *name = p->cli->schema.classes[best];
    if (id->kind == FIS_VALUE_TEXT)
        wire_csv_put(stdout, id->text, id->length);
    putchar(',');
    wire_csv_put(stdout, name, strlen(name));
    for (uint32_t k = 0; k < p->model->n_classes; k++)
        printf(",%.7g", (double)p->probability[k]);
    putchar('\n');
}

static int append_json(struct predict *p, const struct fis_value *id, uint32_t best,
                       struct fis_error *e)
{
    char number[32];
    int rc = wire_json_append(&p->line, "{\"id\":", e);
    if (!rc)
        rc = id->kind == FIS_VALUE_TEXT ? wire_json_escape(&p->line, id->text, id->length, e)
                                        : wire_json_append(&p->line, "null", e);
    if (!rc)
        rc = wire_json_append(&p->line, ",\"class\":", e);
    const char *const *classes = p->cli->schema.classes;
    if (!rc)
        rc = wire_json_escape(&p->line, classes[best], strlen(classes[best]), e);
    if (!rc)
        rc = wire_json_append(&p->line, ",\"probabilities\":{", e);
    for (uint32_t k = 0; !rc && k < p->model->n_classes; k++) {
        rc = wire_json_escape(&p->line, classes[k], strlen(classes[k]), e);
        snprintf(number, sizeof number, ":%.7g%s", (double)p->probability[k],
                 k + 1 < p->model->n_classes ? "," : "");
        if (!rc)
            rc = wire_json_append(&p->line, number, e);
    }
    return rc ? rc : wire_json_append(&p->line, "}}\n", e);
}

static int predict_row(struct predict *p, struct fis_error *e)
{
    const struct wire_model *m = p->model;
    const struct fis_value *id = &p->values[p->data.n_columns - 1];
    uint32_t unseen = 0, best;
    int rc = fis_encoder_encode(m->encoder, p->values, p->x, &unseen, e);
    if (rc)
        return fis_error_prefix(e, "%s: line %llu", p->path,
                                (unsigned long long)data_rows_line(p->rows));
    p->unseen += unseen;
    fis_network_forward(&m->shape, m->params, p->x, 1, p->scratch, p->probability);
    fis_predict(p->probability, 1, m->n_classes, &best);
    fis_softmax(p->probability, 1, m->n_classes, p->probability);
    p->line.length = 0;
    if (!p->json)
        put_csv(p, id, best);
    else if ((rc = append_json(p, id, best, e)))
        return rc;
    else
        fwrite(p->line.data, 1, p->line.length, stdout);
    if ((p->flush && fflush(stdout)) || ferror(stdout))
        return fis_fail(e, FIS_FATAL, "standard output cannot be written");
    return 0;
}

static int predict_all(struct predict *p, struct cli *c, struct fis_error *e)
{
    int rc = 0;
    if (!p->json)
        put_header(p);
    while (!rc && !cli_stopping(c) && (rc = data_rows_next(p->rows, p->values, e)) == 1)
        rc = predict_row(p, e);
    if (p->unseen)
        cli_say("%llu cells have a category that version %llu has not seen",
                (unsigned long long)p->unseen, (unsigned long long)p->model->version);
    return rc;
}

static int predict(struct cli *c, const struct options *o, const struct models *m, const char *path,
                   struct fis_error *e)
{
    struct predict p = {.cli = c,
                        .json = o->json,
                        .flush = !strcmp(path, CLI_STDIN),
                        .path = path,
                        .data = {.how = cli_reading(c, &o->read)},
                        .model = models_chosen(m, o->version ? o->version : "served", e)};
    if (!p.model)
        return -(int)e->kind;
    int rc = predict_open(&p, e);
    if (!rc)
        rc = predict_all(&p, c, e);
    predict_close(&p);
    return rc;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    struct models m = {0};
    struct fis_error e;
    const char *path;
    enum cli_parsed parsed = cli_parse_file(c, self, argc, argv, &o, &path);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    int rc = cli_open(c, &e);
    if (!rc)
        rc = models_init(&m, &e);
    if (!rc)
        rc = models_read(&m, c, &e);
    if (!rc)
        rc = predict(c, &o, &m, path, &e);
    models_done(&m);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct cli_option options[] = {
    {"version", 'v', CLI_TEXT, offsetof(struct options, version), "N",
     "a number, or served; default served"},
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a line"},
    CLI_READING_OPTIONS(struct options, read),
    {.name = NULL},
};

const struct cli_command cmd_predict = {
    .name = "predict",
    .arguments = "FILE [options]",
    .summary = "class and probabilities of the rows of a file, by a published version",
    .text = "Reads the rows of FILE (CSV with a header, or JSON lines; - is standard input, with\n"
            "--format) and writes for each its id (records.id, where the file has it), the class\n"
            "and the probability of each class: CSV with a header, or JSON lines. The version's\n"
            "own encoder is used; other columns are passed over. Rows of standard input are\n"
            "answered one by one.\n\n"
            "A row that cannot be read ends it: exit code 1, with the line.",
    .options = options,
    .run = run,
};

/*
 * fisctl predict: class and probabilities of rows, by a version that the pipeline has published.
 */
#include "cli/command_table.h"

#include <string.h>

#include "base/decimal.h"
#include "cli/models.h"
#include "cli/predictor.h"
#include "cli/screen.h"
#include "wire/csv.h"

struct options {
    const char *version;
    bool json;
    struct data_reading read;
};

/* One row at a time: what comes down a pipe is answered at once. */
struct predict {
    const struct cli *cli;
    struct predictor row;
    struct byte_buffer line;
    bool json, flush;
};

static void put_header(const struct predict *p)
{
    fputs("id,class", stdout);
    for (uint32_t k = 0; k < p->row.model->n_classes; k++) {
        const char *name = p->cli->schema.classes[k];
        fputs(",probability_", stdout);
        wire_csv_put(stdout, name, strlen(name));
    }
    putchar('\n');
}

static void put_csv(const struct predict *p)
{
    const struct fis_value *id = p->row.id;
    const char *name = p->cli->schema.classes[p->row.best];
    if (id->kind == FIS_VALUE_TEXT)
        wire_csv_put(stdout, id->text, id->length);
    putchar(',');
    wire_csv_put(stdout, name, strlen(name));
    for (uint32_t k = 0; k < p->row.model->n_classes; k++)
        printf(",%.7g", (double)p->row.probability[k]);
    putchar('\n');
}

static int put_json(struct predict *p, struct fis_error *e)
{
    const struct fis_value *id = p->row.id;
    const char *const *classes = p->cli->schema.classes;
    struct wire_json_put j = wire_put(&p->line, e);
    wire_put_open(&j, NULL, '{');
    if (id->kind == FIS_VALUE_TEXT)
        wire_put_bytes(&j, "id", id->text, id->length);
    else
        wire_put_text(&j, "id", NULL);
    wire_put_text(&j, "class", classes[p->row.best]);
    wire_put_open(&j, "probabilities", '{');
    for (uint32_t k = 0; k < p->row.model->n_classes; k++)
        wire_put_number(&j, classes[k], (double)p->row.probability[k], 7);
    wire_put_close(&j, '}');
    wire_put_close(&j, '}');
    return screen_json(&j);
}

static int put_row(struct predict *p, struct fis_error *e)
{
    int rc = p->json ? put_json(p, e) : 0;
    if (rc)
        return rc;
    if (!p->json)
        put_csv(p);
    if (p->flush)
        (void)fflush(stdout); /* what fails is reported at the end of the command */
    return 0;
}

static int predict_all(struct predict *p, struct cli *c, struct fis_error *e)
{
    int rc = 0;
    if (!p->json)
        put_header(p);
    while (!rc && !ferror(stdout) && !cli_stopping(c) && (rc = predictor_next(&p->row, e)) == 1)
        rc = put_row(p, e);
    if (p->row.unseen)
        cli_say("of a category that version %llu has not seen: %s",
                (unsigned long long)p->row.model->version, DECIMAL_COUNT(p->row.unseen, "cell"));
    return rc;
}

static int predict(struct cli *c, const struct options *o, const struct models *m, const char *path,
                   struct fis_error *e)
{
    struct predict p = {.cli = c, .json = o->json, .flush = !strcmp(path, CLI_STDIN)};
    const struct wire_model *v = models_chosen(m, o->version ? o->version : "served", e);
    if (!v)
        return -(int)e->kind;
    int rc = predictor_open(&p.row, c, v, path, &o->read, e);
    if (!rc)
        rc = predict_all(&p, c, e);
    predictor_close(&p.row);
    byte_buffer_done(&p.line);
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

static const struct command_option options[] = {
    {"version", 'v', CLI_TEXT, offsetof(struct options, version), "N",
     "a number, or served; default served"},
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a line"},
    CLI_READING_OPTIONS(struct options, read),
    {.name = NULL},
};

const struct cli_command cmd_predict = {
    .name = "predict",
    .arguments = "FILE [options]",
    .summary = "class and probabilities for the rows of a file, by a published version",
    .text = "Reads the rows of FILE (CSV with a header, or JSON lines; - is standard input, with\n"
            "--format) and writes for each its id (records.id, where the file has it), the class\n"
            "and the probability of each class: CSV with a header, or JSON lines. The version's\n"
            "own encoder is used; other columns are passed over. Rows of standard input are\n"
            "answered one by one.\n\n"
            "A row that cannot be read ends the command: exit code 1, with the line.",
    .options = options,
    .run = run,
};

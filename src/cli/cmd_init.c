/*
 * fisctl init: from a table of labelled rows to a configuration, and what should be known of the
 * table before a pipeline is built on it.
 */
#include "cli/init_impl.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/secret.h"
#include "fis/defaults.h"
#include "fis/mem.h"

enum { INITIAL_MOST = 2000, VALIDATION_MOST = 5000 };

/* ---- what is written ------------------------------------------------------------------------- */

static void choose_sizes(struct init *n)
{
    const uint32_t rows = n->s.usable;
    uint64_t validation = n->o->stream ? rows * 2ull / 5 : rows / 4;
    validation = validation > VALIDATION_MOST ? VALIDATION_MOST : validation;
    /* Below gate.min_rows only the first version is published: so many, if half the table has them.
     */
    if (validation < FIS_DEFAULT_MIN_ROWS)
        validation = rows / 2 < FIS_DEFAULT_MIN_ROWS ? rows / 2 : FIS_DEFAULT_MIN_ROWS;
    validation = n->o->validation ? n->o->validation : validation;
    n->n_validation = (uint32_t)(validation > rows ? rows : validation);
    uint64_t initial = n->o->stream ? rows : rows / 10;
    initial = !n->o->stream && initial > INITIAL_MOST ? INITIAL_MOST : initial;
    initial = n->o->initial ? n->o->initial : initial;
    uint32_t left = rows - n->n_validation;
    n->n_initial = (uint32_t)(initial > left ? left : initial);
}

/* The files of rows, in the order in which they are written; those of a stream that is elsewhere
 * are left out. */
static const struct part {
    const char *name;
    enum init_part which;
    unsigned parts;
    bool streamed;
} parts[] = {
    {"initial.csv", INIT_INITIAL, INIT_FEATURES | INIT_LABELS, false},
    {"validation.csv", INIT_VALIDATION, INIT_FEATURES | INIT_LABELS | INIT_GROUPS, false},
    {"stream.csv", INIT_STREAM, INIT_FEATURES | INIT_SHOWN, true},
    {"answers.csv", INIT_STREAM, INIT_LABELS, true},
};
enum { PARTS = sizeof parts / sizeof *parts };

static bool is_written(const struct init *n, int i)
{
    return n->o->split && (!parts[i].streamed || !n->o->stream);
}

static const char *path_of(const struct init *n, int i, char out[INIT_PATH + INIT_TEXT])
{
    snprintf(out, INIT_PATH + INIT_TEXT, "%s%s%s", strcmp(n->folder, ".") ? n->folder : "",
             strcmp(n->folder, ".") ? "/" : "", parts[i].name);
    return out;
}

/* Before anything is reported: what cannot be written is refused with nothing half done. */
static int can_write(const struct init *n, struct fis_error *e)
{
    char path[INIT_PATH + INIT_TEXT];
    int rc = init_can_write(n->config, e);
    for (int i = 0; !rc && i < PARTS; i++)
        if (is_written(n, i))
            rc = init_can_write(path_of(n, i, path), e);
    return rc;
}

static int write_part(const struct init *n, int i, struct fis_error *e)
{
    char path[INIT_PATH + INIT_TEXT];
    uint64_t rows = 0;
    int rc =
        init_write_rows(&n->s, n->part, parts[i].which, parts[i].parts, path_of(n, i, path), e);
    for (uint32_t r = 0; r < n->table->n; r++)
        rows += n->part[r] == parts[i].which;
    if (!rc)
        printf("wrote       %s, %s\n", path, DECIMAL_COUNT(rows, "row"));
    return rc;
}

static int write_split(struct init *n, struct cli *c, struct fis_error *e)
{
    char path[INIT_PATH + INIT_TEXT];
    n->part = fis_calloc(n->table->n, 1);
    if (!n->part)
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", n->table->n);
    int rc = init_split(&n->s, n->n_initial, n->n_validation, n->o->seed, n->part, e), done = 0;
    for (int i = 0; !rc && i < PARTS; i++) {
        if (cli_stopping(c))
            rc = fis_fail(e, FIS_INPUT, "interrupted: nothing is written");
        else if (is_written(n, i))
            rc = write_part(n, i, e);
        done += !rc;
    }
    for (int i = 0; rc && i < done; i++)
        if (is_written(n, i))
            unlink(path_of(n, i, path));
    return rc;
}

/* Properties for the configuration: a secret only as the name of its file. */
static struct init_properties properties(const struct config_properties *all,
                                         struct init_property *out)
{
    struct init_properties to = {.items = out};
    for (uint32_t i = 0; i < all->count; i++) {
        const struct config_property *p = &all->items[i];
        if (!strcmp(p->name, "bootstrap.servers"))
            continue;
        const char *value = p->from ? p->from : secret_value(p->name) ? NULL : p->value;
        out[to.n++] = (struct init_property){p->name, value};
        if (!value)
            printf(
                "look at     %s is not copied into the configuration: write it to a file, and name "
                "that there (file:/path)\n",
                p->name);
    }
    return to;
}

static int write_all(struct init *n, struct cli *c, struct fis_error *e)
{
    const uint32_t n_kafka = c->cfg.kafka.count;
    struct init_property *all = fis_calloc((size_t)n_kafka + n->registry.count + 1, sizeof *all);
    if (!all)
        return fis_fail(e, FIS_NOMEM, "no memory for the properties");
    struct init_pipeline p = {.name = n->name,
                              .initial = "initial.csv",
                              .validation = "validation.csv",
                              .broker = cli_broker(c),
                              .kafka = properties(&c->cfg.kafka, all),
                              .topic = n->is_topic ? n->o->stream : NULL,
                              .framed = n->framed,
                              .registry = properties(&n->registry, all + n_kafka),
                              .stream = n->stream,
                              .pool = !n->is_topic};
    int rc = n->o->split ? write_split(n, c, e) : 0;
    if (!rc && n->o->split)
        rc = init_report_split(n, e);
    if (!rc)
        rc = init_write_config(&n->s, &p, n->config, e);
    fis_free(all);
    if (rc)
        return rc;
    printf("wrote       %s\n", n->config);
    if (!n->o->split)
        printf("next        write %s/initial.csv and validation.csv, or run this with --split\n",
               n->folder);
    printf("next        fisd --check-config %s\n", n->config);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "Adult people (2).csv" -> "adult-people-2" */
static void name_pipeline(struct init *n)
{
    char path[INIT_PATH];
    size_t at = 0;
    snprintf(path, sizeof path, "%s", n->path);
    const char *base = n->o->pipeline ? n->o->pipeline : basename(path);
    for (const char *p = base; *p && at + 1 < 60; p++) {
        if (!n->o->pipeline && *p == '.' && p != base)
            break;
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_' ||
                     (n->o->pipeline && ((*p >= 'A' && *p <= 'Z') || *p == '.' || *p == '-'));
        if (plain)
            n->name[at++] = *p;
        else if (*p >= 'A' && *p <= 'Z')
            n->name[at++] = (char)(*p + 'a' - 'A');
        else if (at && n->name[at - 1] != '-')
            n->name[at++] = '-';
    }
    while (at && n->name[at - 1] == '-')
        at--;
    n->name[at] = 0;
    if (!at)
        snprintf(n->name, sizeof n->name, "pipeline");
}

static void name_files(struct init *n)
{
    char path[INIT_PATH];
    if (n->o->output)
        snprintf(n->config, sizeof n->config, "%s", n->o->output);
    else
        snprintf(n->config, sizeof n->config, "%s.yaml", n->name);
    snprintf(path, sizeof path, "%s", n->config);
    snprintf(n->folder, sizeof n->folder, "%s", dirname(path));
}

static bool is_file(const char *name)
{
    static const char *const ends[] = {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (length > n && !strcmp(name + length - n, ends[i]))
            return true;
    }
    return strchr(name, '/') || !access(name, F_OK);
}

/* A column that is asked for is there even if it is the index without a name. */
static int read_tables(struct init *n, struct cli *c, const struct init_choice *choice,
                       struct fis_error *e)
{
    struct data_column asked[INIT_SENSITIVE_MAX + 2] = {{.name = choice->label}};
    struct data_options how = {.how = n->o->read, .columns = asked, .n_columns = 1};
    for (uint32_t i = 0; i < choice->n_sensitive; i++)
        asked[how.n_columns++].name = choice->sensitive[i];
    if (choice->id)
        asked[how.n_columns++].name = choice->id;
    for (uint32_t i = 0; i < how.n_columns; i++) {
        asked[i].cell = DATA_STRING;
        asked[i].optional = true;
    }
    const char *stream = n->o->stream;
    n->is_topic = stream && !is_file(stream);
    if (n->registry.count && !n->is_topic)
        return fis_fail(e, FIS_INPUT, "--registry: found no --stream TOPIC whose records it has");
    n->table = data_table_read(n->path, &how, e);
    if (!n->table)
        return -(int)e->kind;
    if (n->is_topic)
        return cli_broker(c) ? init_sample(n, c, e) : 0;
    n->stream = stream ? data_table_read(stream, &how, e) : NULL;
    return stream && !n->stream ? -(int)e->kind : 0;
}

static int survey(struct init *n, struct cli *c, char *sensitive, struct fis_error *e)
{
    struct init_choice choice = {.label = n->o->label, .id = n->o->id, .positive = n->o->positive};
    for (char *rest = sensitive, *name; (name = strsep(&rest, ","));) {
        if (choice.n_sensitive == INIT_SENSITIVE_MAX)
            return fis_fail(e, FIS_INPUT, "--sensitive: at most %d columns", INIT_SENSITIVE_MAX);
        name += strspn(name, " ");
        for (size_t k = strlen(name); k && name[k - 1] == ' ';)
            name[--k] = 0;
        choice.sensitive[choice.n_sensitive++] = name;
    }
    int rc = read_tables(n, c, &choice, e);
    if (rc)
        return rc;
    rc = init_survey(&n->s, n->table, &choice, e);
    if (rc)
        return fis_error_prefix(e, "%s", n->path);
    return n->s.usable ? 0 : fis_fail(e, FIS_INPUT, "%s: no row has a label and a group", n->path);
}

/* A configuration with what --registry has; NULL without memory. */
static char *registry_text(const struct init *n, size_t *length)
{
    char *text = NULL;
    struct init_property *items = fis_calloc(n->registry.count, sizeof *items);
    FILE *f = items ? open_memstream(&text, length) : NULL;
    for (uint32_t i = 0; f && i < n->registry.count; i++)
        items[i] = (struct init_property){n->registry.items[i].name, n->registry.items[i].value};
    if (f) {
        fputs("pipeline: init\nroles: [scorer]\nclasses: [a, b]\ncolumns: [{name: a}]\nrecords:\n",
              f);
        init_write_registry(&(struct init_properties){items, n->registry.count}, f);
    }
    bool good = f && !fclose(f);
    fis_free(items);
    return good ? text : NULL;
}

/* What --registry has, into c->cfg: read and checked as in a configuration. */
static int take_registry(const struct init *n, struct cli *c, struct fis_error *e)
{
    struct config whole = {0};
    size_t length = 0;
    char *text = registry_text(n, &length), why[FIS_ERROR_TEXT];
    if (!text)
        return fis_fail(e, FIS_NOMEM, "no memory for --registry");
    int rc = config_load_text("", text, length, &whole, NULL, e);
    explicit_bzero(text, length);
    free(text);
    if (rc) { /* less the place in a text that nobody wrote */
        const char *place = strstr(e->text, ": ");
        snprintf(why, sizeof why, "%s", place ? place + 2 : e->text);
        return fis_fail(e, e->kind, "--registry: %s", why);
    }
    c->cfg.records.registry = whole.records.registry;
    whole.records.registry = (struct config_registry){0};
    config_done(&whole);
    return 0;
}

static int init(struct init *n, struct cli *c, char *sensitive, struct fis_error *e)
{
    int rc = cli_take_kafka(c, e);
    if (!rc)
        rc = cli_take_properties(&n->o->registry, "registry", "url", NULL, &n->registry, e);
    if (!rc && n->registry.count)
        rc = take_registry(n, c, e);
    if (!rc)
        rc = survey(n, c, sensitive, e);
    if (rc)
        return rc;
    name_pipeline(n);
    name_files(n);
    choose_sizes(n);
    rc = can_write(n, e);
    if (rc)
        return rc;
    printf("%s: %s, %s\n", n->path, DECIMAL_COUNT(n->table->n, "row"),
           DECIMAL_COUNT(n->table->n_columns, "column"));
    rc = init_report(n, e);
    return rc ? rc : write_all(n, c, e);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct init_options o = {.seed = 1};
    struct fis_error e;
    const char *path;
    enum cli_parsed parsed = cli_parse_file(c, self, argc, argv, &o, &path);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (!o.label || !o.sensitive)
        return cli_usage(self, "--label NAME and --sensitive NAME[,NAME] are required");
    struct init n = {.o = &o, .path = path};
    char *sensitive = fis_strdup(o.sensitive);
    int rc = sensitive ? init(&n, c, sensitive, &e) : fis_fail(&e, FIS_NOMEM, "no memory");
    init_survey_done(&n.s);
    data_table_free(n.table);
    data_table_free(n.stream);
    config_properties_done(&n.registry);
    fis_free(n.part);
    fis_free(sensitive);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"label", 'l', CLI_TEXT, offsetof(struct init_options, label), "NAME",
     "the column with the label"},
    {"sensitive", 's', CLI_TEXT, offsetof(struct init_options, sensitive), "NAMES",
     "the sensitive columns, with commas between them"},
    {"split", 0, CLI_FLAG, offsetof(struct init_options, split), NULL,
     "write initial.csv and validation.csv, and without --stream stream.csv and answers.csv"},
    {"stream", 0, CLI_TEXT, offsetof(struct init_options, stream), "FILE|TOPIC",
     "the unlabelled records: a file, or a topic that exists; with -b (and -X, for TLS or a login) "
     "its first 5,000 records are looked at"},
    {"registry", 0, CLI_PROPERTY, offsetof(struct init_options, registry), "URL|NAME=VALUE|FILE",
     "the schema registry by which the topic's records are read: Avro, protobuf or JSON. For a "
     "login or TLS again with an option of records.registry (user=NAME, password=file:PATH, "
     "ca_file=PATH, tls_cert=PATH, tls_key=PATH), or a file with one a line"},
    {"id", 0, CLI_TEXT, offsetof(struct init_options, id), "NAME",
     "the column with the id of a row; default id, where there is one"},
    {"positive", 0, CLI_TEXT, offsetof(struct init_options, positive), "CLASS",
     "the desirable outcome; default the last class"},
    {"initial", 0, CLI_COUNT, offsetof(struct init_options, initial), "N",
     "--split: rows of initial.csv; default a tenth, 2,000 at most; with --stream the rest"},
    {"validation", 0, CLI_COUNT, offsetof(struct init_options, validation), "N",
     "--split: rows of validation.csv; default a quarter, with --stream two fifths, 5,000 at most; "
     "of "
     "a small table 500, or half"},
    {"seed", 0, CLI_COUNT, offsetof(struct init_options, seed), "N",
     "--split: of the draw; default 1"},
    {"pipeline", 'p', CLI_TEXT, offsetof(struct init_options, pipeline), "NAME",
     "name of the pipeline; default from the name of FILE"},
    {"output", 'o', CLI_TEXT, offsetof(struct init_options, output), "FILE",
     "the configuration; default PIPELINE.yaml. The rows are written beside it"},
    CLI_READING_OPTIONS(struct init_options, read),
    {.name = NULL},
};

const struct cli_command cmd_init = {
    .name = "init",
    .arguments = "FILE --label NAME --sensitive NAME[,NAME] [options]",
    .summary = "write a configuration for a table of labelled rows, and report on the table",
    .text =
        "Reads FILE, CSV with a header or JSON lines, gzip or not, with a label and the\n"
        "sensitive columns, and writes a configuration with all other columns as features\n"
        "(members of nested objects as address.city). Columns with one value, ids, dates and\n"
        "what no column can hold are left out. Reports classes, groups, cells that do not fit\n"
        "their column, columns that reveal the label, rows that repeat, rows that the stream has\n"
        "too and other differences from it, and the smallest gap that the validation set can\n"
        "detect.\n\n"
        "With --split the rows are divided into files, each group and class in the same\n"
        "proportion. No file is overwritten. Only a sample of a topic requires a broker.",
    .options = options,
    .run = run,
};

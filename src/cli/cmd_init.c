/*
 * fisctl init: from a table of labelled rows to a configuration, and what should be known of the
 * table before a pipeline is built on it.
 */
#include "cli/command_table.h"

#include <libgen.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "base/decimal.h"
#include "init/init_files.h"

enum {
    INITIAL_MOST = 2000,
    VALIDATION_MOST = 5000,
    TEXT = 256,
    PATH = 4096,
    CODES_MOST = 12, /* distinct whole numbers that may be codes */
    NAMES_SHOWN = 8
};

struct options {
    const char *label, *sensitive, *id, *positive, *stream, *pipeline, *output;
    uint64_t initial, validation, seed;
    bool split;
    struct data_reading read;
};

struct init {
    const struct options *o;
    const char *path;                 /* of the table */
    struct data_table *table, *stream; /* stream: NULL when it is a topic, or not given */
    struct init_survey s;
    uint8_t *part;                    /* [rows] with --split */
    uint32_t n_initial, n_validation; /* rows of the files */
    char name[TEXT], folder[PATH], config[PATH];
};

/* ---- what is there --------------------------------------------------------------------------- */

static const char *count(uint64_t n)
{
    static char text[4][DECIMAL_GROUPED];
    static unsigned at;
    return decimal_grouped(n, text[at++ % 4]);
}

static void print_classes(const struct init_survey *s)
{
    printf("classes    ");
    for (uint32_t k = 0; k < s->n_classes; k++) {
        uint64_t n = 0;
        for (uint32_t g = 0; g < s->n_groups; g++)
            n += s->cells[g * s->n_classes + k];
        printf("%s %s %s (%.1f %%%s)", k ? "," : "", init_class(s, k), count(n),
               100. * (double)n / s->usable, k == s->positive ? ", positive" : "");
    }
    putchar('\n');
}

static void print_groups(const struct init_survey *s)
{
    char text[TEXT];
    for (uint32_t g = 0; g < s->n_groups; g++) {
        printf("%-11s %s:", g ? "" : "groups", init_group(s, g, text, sizeof text));
        for (uint32_t k = 0; k < s->n_classes; k++)
            printf("%s %s %s", k ? "," : "", init_class(s, k),
                   count(s->cells[g * s->n_classes + k]));
        putchar('\n');
    }
}

static bool may_be_codes(const struct data_table_column *c)
{
    if (c->type != FIS_NUMERIC || c->n_values < 3 || c->n_values > CODES_MOST)
        return false;
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].number != (double)(int64_t)c->values[i].number)
            return false;
    return true;
}

static bool has(const struct init_survey *s, uint32_t i, unsigned odd)
{
    const struct init_column *c = &s->columns[i];
    return odd ? (c->odd & odd) != 0 : c->role == INIT_FEATURE && may_be_codes(&s->t->columns[i]);
}

/* "title: a, b, c and 4 more; advice", when there are any. odd 0: what may be codes. */
static void print_columns(const struct init_survey *s, unsigned odd, const char *title,
                          const char *advice)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++) {
        if (!has(s, i, odd))
            continue;
        if (n < NAMES_SHOWN)
            printf("%s%s", n ? ", " : title, s->t->columns[i].name);
        if (n < NAMES_SHOWN && odd == INIT_LEAK)
            printf(" (AUC %.3f)", s->columns[i].auc);
        n++;
    }
    if (n > NAMES_SHOWN)
        printf(" and %u more", n - NAMES_SHOWN);
    if (n)
        printf("; %s\n", advice);
}

static void print_features(const struct init_survey *s)
{
    uint32_t numeric = 0, categorical = 0, missing = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        if (s->columns[i].role == INIT_FEATURE) {
            *(s->t->columns[i].type == FIS_NUMERIC ? &numeric : &categorical) += 1;
            missing += s->columns[i].missing > 0;
        }
    printf("features    %u numeric, %u categorical; %u have missing values\n", numeric, categorical,
           missing);
    print_columns(s, INIT_CONSTANT, "left out    one value in all rows: ", "nothing to learn");
    print_columns(s, INIT_LIKE_AN_ID,
                  "left out    a different value in every row: ", "an id is nothing to learn from");
    print_columns(s, INIT_DATE, "left out    dates: ", "derive numbers from them");
    print_columns(s, INIT_LEAK, "look at     separates the classes almost alone: ",
                  "is it known when the decision is made? If not, leave it out");
    print_columns(s, 0,
                  "look at     few whole numbers: ", "if they are codes, add type: categorical");
}

static void print_rows(const struct init *n)
{
    const struct init_survey *s = &n->s;
    if (s->usable < s->t->n)
        printf("look at     %s rows have no label or no %s: they are not used\n",
               count(s->t->n - s->usable), n->o->sensitive);
    if (s->duplicates)
        printf("look at     %s rows repeat the features of an earlier one\n", count(s->duplicates));
}

/* Rows of a group in the validation set, of one class or (n_classes) of all. */
static double cell(const struct init *n, uint32_t g, uint32_t k)
{
    double rows = 0;
    for (uint32_t c = 0; c < n->s.n_classes; c++)
        if (k == n->s.n_classes || k == c)
            rows += n->s.cells[g * n->s.n_classes + c];
    return rows * n->n_validation / n->s.usable;
}

/* The smallest gap between any two groups that differs from none; NAN: in no case. */
static double detectable(const struct init *n, uint32_t k, double rate)
{
    double two[2] = {INFINITY, INFINITY};
    for (uint32_t g = 0; g < n->s.n_groups; g++) {
        double rows = cell(n, g, k);
        if (rows < two[0]) {
            two[1] = two[0];
            two[0] = rows;
        } else if (rows < two[1]) {
            two[1] = rows;
        }
    }
    double gap = two[0] > 0 ? init_detectable(rate, two[0], two[1]) : NAN;
    return gap < 1 ? gap : NAN;
}

static void print_gap(const char *metric, double gap)
{
    if (isnan(gap))
        printf(" %s none", metric);
    else
        printf(" %s %.3f", metric, gap);
}

/* What the validation set can show: its cells are the table's, in proportion. */
static void print_power(const struct init *n)
{
    const struct init_survey *s = &n->s;
    char text[TEXT];
    double positive = 0;
    printf("validation  %s rows", count(n->n_validation));
    if (s->n_groups < 2) {
        printf("\nlook at     there is one group: no gap can be measured\n");
        return;
    }
    for (uint32_t g = 0; g < s->n_groups; g++)
        positive += s->cells[g * s->n_classes + s->positive];
    printf(
        "; the smallest gap that they can tell from none (5 %% level, power 80 %%):\n           ");
    print_gap("demographic_parity", detectable(n, s->n_classes, positive / s->usable));
    print_gap("equal_opportunity", detectable(n, s->positive, .5));
    putchar('\n');
    for (uint32_t g = 0; g < s->n_groups; g++)
        if (cell(n, g, s->positive) < FIS_DEFAULT_MIN_CELL)
            printf(
                "look at     %s: %.0f positive validation rows; under %d (gate.min_cell) nothing "
                "is published: merge groups, or collect more\n",
                init_group(s, g, text, sizeof text), cell(n, g, s->positive), FIS_DEFAULT_MIN_CELL);
}

static int print_stream(const struct init *n, struct fis_error *e)
{
    uint32_t shared, absent = 0;
    struct fis_error ignored;
    if (!n->stream)
        return 0;
    int rc = init_shared_rows(&n->s, n->stream, &shared, e);
    for (uint32_t i = 0; !rc && i < n->table->n_columns; i++)
        if (n->s.columns[i].role == INIT_FEATURE &&
            data_table_find(n->stream, n->table->columns[i].name, &ignored) < 0) {
            printf("look at     column %s is not in %s\n", n->table->columns[i].name, n->o->stream);
            absent++;
        }
    if (!rc && shared && !absent)
        printf("look at     %s of %s rows of %s are in %s too\n", count(shared),
               count(n->stream->n), n->o->stream, n->path);
    return rc;
}

/* ---- what is written ------------------------------------------------------------------------- */

static void choose_sizes(struct init *n)
{
    const uint32_t rows = n->s.usable;
    uint64_t validation = n->o->stream ? rows * 2ull / 5 : rows / 4;
    validation = validation > VALIDATION_MOST ? VALIDATION_MOST : validation;
    validation = n->o->validation ? n->o->validation : validation;
    n->n_validation = (uint32_t)(validation > rows ? rows : validation);
    uint64_t initial = n->o->stream ? rows : rows / 10;
    initial = !n->o->stream && initial > INITIAL_MOST ? INITIAL_MOST : initial;
    initial = n->o->initial ? n->o->initial : initial;
    uint32_t left = rows - n->n_validation;
    n->n_initial = (uint32_t)(initial > left ? left : initial);
}

static int write_part(const struct init *n, enum init_part which, unsigned parts, const char *name,
                      struct fis_error *e)
{
    char path[PATH + TEXT];
    uint64_t rows = 0;
    snprintf(path, sizeof path, "%s%s%s", strcmp(n->folder, ".") ? n->folder : "",
             strcmp(n->folder, ".") ? "/" : "", name);
    int rc = init_write_rows(&n->s, n->part, which, parts, path, e);
    for (uint32_t r = 0; r < n->table->n; r++)
        rows += n->part[r] == which;
    if (!rc)
        printf("wrote       %s, %s rows\n", path, count(rows));
    return rc;
}

static int write_split(struct init *n, struct fis_error *e)
{
    n->part = fis_calloc(n->table->n, 1);
    if (!n->part)
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", n->table->n);
    int rc = init_split(&n->s, n->n_initial, n->n_validation, n->o->seed, n->part, e);
    if (!rc)
        rc = write_part(n, INIT_INITIAL, INIT_FEATURES | INIT_LABELS, "initial.csv", e);
    if (!rc)
        rc = write_part(n, INIT_VALIDATION, INIT_FEATURES | INIT_LABELS | INIT_GROUPS,
                        "validation.csv", e);
    if (!rc && !n->o->stream)
        rc = write_part(n, INIT_STREAM, INIT_FEATURES | INIT_SHOWN, "stream.csv", e);
    if (!rc && !n->o->stream)
        rc = write_part(n, INIT_STREAM, INIT_LABELS, "answers.csv", e);
    return rc;
}

static int write_all(struct init *n, const struct cli *c, struct fis_error *e)
{
    struct init_pipeline p = {.name = n->name,
                              .initial = "initial.csv",
                              .validation = "validation.csv",
                              .bootstrap = c->bootstrap,
                              .topic = n->o->stream && !n->stream ? n->o->stream : NULL,
                              .pool = !n->o->stream || n->stream};
    int rc = n->o->split ? write_split(n, e) : 0;
    if (!rc)
        rc = init_write_config(&n->s, &p, n->config, e);
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
    char path[PATH];
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
    char path[PATH];
    if (n->o->output)
        snprintf(n->config, sizeof n->config, "%s", n->o->output);
    else
        snprintf(n->config, sizeof n->config, "%s.yaml", n->name);
    snprintf(path, sizeof path, "%s", n->config);
    snprintf(n->folder, sizeof n->folder, "%s", dirname(path));
}

static int survey(struct init *n, char *sensitive, struct fis_error *e)
{
    struct init_choice choice = {.label = n->o->label, .id = n->o->id, .positive = n->o->positive};
    for (char *rest = sensitive, *name; (name = strsep(&rest, ","));) {
        if (choice.n_sensitive == INIT_SENSITIVE_MAX)
            return fis_fail(e, FIS_INPUT, "--sensitive: at most %d columns", INIT_SENSITIVE_MAX);
        choice.sensitive[choice.n_sensitive++] = name;
    }
    const struct data_options how = {.how = n->o->read};
    n->table = data_table_read(n->path, &how, e);
    if (n->table && n->o->stream && !access(n->o->stream, F_OK))
        n->stream = data_table_read(n->o->stream, &how, e);
    if (!n->table || (n->o->stream && !n->stream && !access(n->o->stream, F_OK)))
        return -(int)e->kind;
    int rc = init_survey(&n->s, n->table, &choice, e);
    if (rc)
        return fis_error_prefix(e, "%s", n->path);
    return n->s.usable ? 0 : fis_fail(e, FIS_INPUT, "%s: no row has a label and a group", n->path);
}

static int init(struct init *n, const struct cli *c, char *sensitive, struct fis_error *e)
{
    int rc = survey(n, sensitive, e);
    if (rc)
        return rc;
    name_pipeline(n);
    name_files(n);
    choose_sizes(n);
    printf("%s: %s rows, %u columns\n", n->path, count(n->table->n), n->table->n_columns);
    print_classes(&n->s);
    print_groups(&n->s);
    print_features(&n->s);
    print_rows(n);
    print_power(n);
    rc = print_stream(n, e);
    return rc ? rc : write_all(n, c, e);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.seed = 1};
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
    fis_free(n.part);
    fis_free(sensitive);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct cli_option options[] = {
    {"label", 'l', CLI_TEXT, offsetof(struct options, label), "NAME", "the column with the label"},
    {"sensitive", 's', CLI_TEXT, offsetof(struct options, sensitive), "NAMES",
     "the sensitive columns, with commas between them"},
    {"split", 0, CLI_FLAG, offsetof(struct options, split), NULL,
     "write initial.csv and validation.csv, and without --stream stream.csv and answers.csv"},
    {"stream", 0, CLI_TEXT, offsetof(struct options, stream), "FILE|TOPIC",
     "the unlabelled records: a file, or a topic that exists"},
    {"id", 0, CLI_TEXT, offsetof(struct options, id), "NAME",
     "the column with the id of a row; default id, where there is one"},
    {"positive", 0, CLI_TEXT, offsetof(struct options, positive), "CLASS",
     "the desirable outcome; default the last class"},
    {"initial", 0, CLI_COUNT, offsetof(struct options, initial), "N",
     "--split: rows of initial.csv; default a tenth, 2,000 at most; with --stream the rest"},
    {"validation", 0, CLI_COUNT, offsetof(struct options, validation), "N",
     "--split: rows of validation.csv; default a quarter, with --stream two fifths, 5,000 at most"},
    {"seed", 0, CLI_COUNT, offsetof(struct options, seed), "N", "--split: of the draw; default 1"},
    {"pipeline", 'p', CLI_TEXT, offsetof(struct options, pipeline), "NAME",
     "name of the pipeline; default from the name of FILE"},
    {"output", 'o', CLI_TEXT, offsetof(struct options, output), "FILE",
     "the configuration; default PIPELINE.yaml. The rows are written beside it"},
    CLI_READING_OPTIONS(struct options, read),
    {.name = NULL},
};

const struct cli_command cmd_init = {
    .name = "init",
    .arguments = "FILE --label NAME --sensitive NAME[,NAME] [options]",
    .summary = "write a configuration for a table of labelled rows, and report on the table",
    .text =
        "Reads FILE, a CSV file with a header, a label and the sensitive columns, and writes a\n"
        "configuration with all other columns as features. Columns with one value, ids and\n"
        "dates are left out. Reported are classes, groups, columns that give the label away,\n"
        "rows that repeat, rows that the stream has too, and how large a gap the validation\n"
        "set can tell from none.\n\n"
        "With --split the rows are divided into files, each group and class by the same\n"
        "shares. No file is overwritten. No broker is needed.",
    .options = options,
    .run = run,
};

/*
 * fisctl models: what versions there are, what is known of one, how they do on other rows, and
 * which one is served.
 */
#include "cli/command_table.h"

#include <string.h>

#include "base/decimal.h"
#include "cli/control.h"
#include "cli/models.h"
#include "fis/mem.h"

#define WAIT_S 60
enum { RESAMPLES = 500 };

struct options {
    bool weights, onnx;
    const char *version, *test, *to, *on, *output;
    struct data_reading read;
    struct control_options control;
};

/* What is asked of the versions; args are those behind the name. */
typedef int verb_fn(const struct cli *c, const struct models *m, const struct options *o,
                    char **args, struct fis_error *e);

static int list(const struct cli *c, const struct models *m, const struct options *o, char **args,
                struct fis_error *e)
{
    (void)c;
    (void)args;
    return models_list(m, o->control.json, e);
}

static int show(const struct cli *c, const struct models *m, const struct options *o, char **args,
                struct fis_error *e)
{
    const struct wire_model *v = models_chosen(m, args[0], e);
    (void)c;
    return v ? models_show(v, o->control.json, o->weights, e) : -(int)e->kind;
}

static int export(const struct cli *c, const struct models *m, const struct options *o, char **args,
                  struct fis_error *e)
{
    const struct wire_model *v = models_chosen(m, args[0] ? args[0] : "served", e);
    (void)c;
    return v ? models_export(v, o->output, e) : -(int)e->kind;
}

static int card(const struct cli *c, const struct models *m, const struct options *o, char **args,
                struct fis_error *e)
{
    const struct wire_model *v = models_chosen(m, args[0] ? args[0] : "served", e);
    (void)c;
    return v ? models_card(v, o->control.json, e) : -(int)e->kind;
}

static struct models_evaluation evaluation_of(const struct cli *c, const struct models *m,
                                              const struct options *o)
{
    const struct wire_model *served = models_served(m);
    return (struct models_evaluation){.cli = c,
                                      .test = o->test,
                                      .on = o->on,
                                      .read = o->read,
                                      .resamples = RESAMPLES,
                                      .json = o->control.json,
                                      .served = served ? served->version : 0};
}

/* "all": those with weights; else the one that is meant. */
static int evaluate(const struct cli *c, const struct models *m, const struct options *o,
                    char **args, struct fis_error *e)
{
    const struct models_evaluation v = evaluation_of(c, m, o);
    const char *version = o->version ? o->version : "all";
    (void)args;
    if (strcmp(version, "all") || !m->n) {
        const struct wire_model *one = models_chosen(m, version, e);
        return one ? models_evaluate(&v, &one, 1, e) : -(int)e->kind;
    }
    const struct wire_model **all = fis_calloc(m->n, sizeof(const struct wire_model *));
    uint32_t n = 0;
    if (!all)
        return fis_fail(e, FIS_NOMEM, "no memory for %u versions", m->n);
    for (uint32_t i = 0; i < m->n; i++)
        if (m->items[i].model.params && m->items[i].encoder)
            all[n++] = &m->items[i].model;
    int rc = models_evaluate(&v, all, n, e);
    fis_free(all);
    return rc;
}

static int two(const struct cli *c, const struct models *m, const struct options *o, char **args,
               int (*run)(const struct models_evaluation *, const struct wire_model *,
                          const struct wire_model *, struct fis_error *),
               struct fis_error *e)
{
    const struct models_evaluation v = evaluation_of(c, m, o);
    const struct wire_model *a = models_chosen(m, args[0], e);
    const struct wire_model *b = a ? models_chosen(m, args[1], e) : NULL;
    return b ? run(&v, a, b, e) : -(int)e->kind;
}

static int compare(const struct cli *c, const struct models *m, const struct options *o,
                   char **args, struct fis_error *e)
{
    return two(c, m, o, args, models_compare, e);
}

static int diff(const struct cli *c, const struct models *m, const struct options *o, char **args,
                struct fis_error *e)
{
    return two(c, m, o, args, models_diff, e);
}

struct verb {
    const char *name;
    int least, most; /* arguments */
    const char *usage;
    verb_fn *run;                   /* on the versions; NULL: a command to the trainer */
    enum wire_control_kind command; /* which */
};
static const struct verb verbs[] = {
    {"list", 0, 0, "list takes no argument", list, 0},
    {"show", 1, 1, "show requires one VERSION (a number, or served)", show, 0},
    {"evaluate", 0, 0, "evaluate takes its options only", evaluate, 0},
    {"compare", 2, 2, "compare requires two versions (numbers, or served)", compare, 0},
    {"diff", 2, 2, "diff requires two versions (numbers, or served)", diff, 0},
    {"card", 0, 1, "card takes one VERSION at most (a number, or served)", card, 0},
    {"export", 0, 1, "export takes one VERSION at most (a number, or served)", export, 0},
    {"pin", 0, 0, "pin takes no argument: what is served stays", NULL, WIRE_CONTROL_PIN},
    {"unpin", 0, 0, "unpin takes no argument", NULL, WIRE_CONTROL_UNPIN},
    {"rollback", 0, 1, "rollback takes one VERSION at most", NULL, WIRE_CONTROL_ROLLBACK},
    {"promote", 1, 1, "promote requires one VERSION", NULL, WIRE_CONTROL_PROMOTE},
};
enum { VERBS = sizeof verbs / sizeof *verbs };
#define VERB_NAMES                                                                                 \
    "list, show, evaluate, compare, diff, card, export, pin, unpin, rollback or promote"

static int with_models(struct cli *c, const struct verb *verb, const struct options *o, char **args)
{
    struct fis_error e;
    struct models m = {0};
    int rc = cli_open(c, &e);
    if (!rc)
        rc = models_init(&m, &e);
    if (!rc)
        rc = models_read(&m, c, &e);
    if (!rc && m.refused)
        cli_say("passed over: %s on %s; the first: %s", DECIMAL_COUNT(m.refused, "message"),
                c->cfg.topics.models, m.first.text);
    if (!rc)
        rc = verb->run(c, &m, o, args, &e);
    models_done(&m);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static int with_trainer(struct cli *c, const struct cli_command *self, const struct verb *verb,
                        struct options *o, const char *version)
{
    uint64_t number = 0;
    if (o->to && (version || verb->command != WIRE_CONTROL_ROLLBACK))
        return cli_usage(self, "--to is of rollback, in place of VERSION");
    version = o->to ? o->to : version;
    if (version && cli_count(version, &number))
        return cli_usage(self, "VERSION: found '%s', allowed a number from 1", version);
    return control_run(c, verb->command, NULL, 0, number, &o->control);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.control.wait_ms = 1000 * WAIT_S};
    int first, i = 0;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc == first)
        return cli_usage(self, VERB_NAMES " is expected");
    while (i < VERBS && strcmp(verbs[i].name, argv[first]))
        i++;
    if (i == VERBS)
        return cli_usage(self, "found '%s', allowed " VERB_NAMES, argv[first]);
    int n = argc - first - 1;
    if (n < verbs[i].least || n > verbs[i].most)
        return cli_usage(self, "%s", verbs[i].usage);
    if (verbs[i].command)
        return with_trainer(c, self, &verbs[i], &o, n ? argv[first + 1] : NULL);
    if (verbs[i].run == evaluate && !o.test)
        return cli_usage(self, "evaluate requires --test FILE");
    if (verbs[i].run == export && !o.onnx)
        return cli_usage(self, "export requires the format: --onnx");
    return with_models(c, &verbs[i], &o, argv + first + 1);
}

static const struct command_option options[] = {
    {"weights", 'w', CLI_FLAG, offsetof(struct options, weights), NULL,
     "show: JSON, with the parameters"},
    {"version", 'v', CLI_TEXT, offsetof(struct options, version), "N",
     "evaluate: a number, served, or all that were published; default all"},
    {"test", 't', CLI_TEXT, offsetof(struct options, test), "FILE",
     "evaluate: labelled rows, CSV or JSON lines"},
    {"data", 'd', CLI_TEXT, offsetof(struct options, test), "FILE",
     "compare: the same; without it, by the gate's validation rows"},
    {"on", 0, CLI_TEXT, offsetof(struct options, on), "FILE",
     "diff: rows, CSV or JSON lines, on which to count the predictions that differ"},
    {"onnx", 0, CLI_FLAG, offsetof(struct options, onnx), NULL, "export: as ONNX"},
    {"output", 'o', CLI_TEXT, offsetof(struct options, output), "FILE",
     "export: to this file; default standard output"},
    CLI_READING_OPTIONS(struct options, read),
    {"to", 0, CLI_TEXT, offsetof(struct options, to), "N",
     "rollback: the version whose weights are served again; default the one before"},
    CLI_CONTROL_OPTIONS(struct options, control, 0, WAIT_S),
    {.name = NULL},
};

const struct cli_command cmd_models = {
    .name = "models",
    .arguments = "list|show VERSION|evaluate --test FILE|compare A B [--data FILE]|\n"
                 "       diff A B [--on FILE]|card [VERSION]|export [VERSION] --onnx|\n"
                 "       pin|unpin|rollback [VERSION]|promote VERSION [options]",
    .summary = "list, show, compare and export model versions; pin, roll back, promote",
    .text =
        "list      all versions: the gate's verdict and reason, accuracy and fairness on the\n"
        "          validation rows with 95 % intervals, labels bought and kept\n"
        "show      everything about one version (a number, or served)\n"
        "evaluate  versions on the rows of a file with the label and the sensitive columns of the\n"
        "          validation set\n"
        "compare   two versions side by side, also group by group: by the gate's figures, or on\n"
        "          the rows of a file, then with an interval for each difference\n"
        "diff      what changed from version A to B: accuracy, gaps, groups, labels,\n"
        "          configuration, weights, and predictions on the rows of a file\n"
        "card      the model card of a version (default: served), Markdown or with --json\n"
        "export    a version (default: served) as a file for other programs: with --onnx for\n"
        "          onnxruntime and others; columns in, class and probabilities out\n"
        "pin       keeps the served version, whatever the gate decides, until unpin\n"
        "rollback  serves an earlier served version again, under a new number: the previous one,\n"
        "          with each further rollback the one before that, or the one of --to\n"
        "promote   serves a rejected or an older version, under a new number\n\n"
        "The last four are commands to the trainer, which refuses a version below the floor of\n"
        "accuracy. Exit code 0: done; 1: refused, with the reason; 3: no trainer has taken the\n"
        "command yet; the next one will.\n\n"
        "DP, EOp: largest gap between groups of the positive rate, of the true positive rate.\n"
        "EOd: mean of the largest gaps of true and of false positive rates; EOd max: the\n"
        "larger of the two (Fairlearn's equalized odds difference). 0 is fair.",
    .options = options,
    .run = run,
};

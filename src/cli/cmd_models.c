/*
 * fisctl models: what versions there are, what is known of one, how they do on other rows.
 */
#include "cli/commands.h"

#include <string.h>

#include "cli/models.h"
#include "fis/mem.h"

enum { TIMEOUT_MS = 15000, RESAMPLES = 500 };

struct options {
    bool json, weights;
    const char *version, *test;
};

static const struct wire_model *chosen(const struct models *m, const char *text,
                                       struct fis_error *e)
{
    uint64_t number;
    const struct wire_model *v = NULL;
    if (!m->n) {
        fis_fail(e, FIS_INPUT, "there are no versions yet");
        return NULL;
    }
    if (!strcmp(text, "served")) {
        v = models_served(m);
        if (!v)
            fis_fail(e, FIS_INPUT, "no version has been served yet");
    } else if (cli_count(text, &number)) {
        fis_fail(e, FIS_INPUT, "version: found '%s', allowed a number or served", text);
    } else {
        v = models_version(m, number);
        if (!v)
            fis_fail(e, FIS_INPUT, "there is no version %s; the newest is %llu", text,
                     (unsigned long long)m->items[m->n - 1].model.version);
    }
    return v;
}

static int show(const struct models *m, const struct options *o, const char *version,
                struct fis_error *e)
{
    const struct wire_model *v = chosen(m, version, e);
    return v ? models_show(v, o->json, o->weights, e) : -(int)e->class;
}

/* "all": those with weights; else the one that is meant. */
static int evaluate(const struct cli *c, const struct models *m, const struct options *o,
                    struct fis_error *e)
{
    const struct wire_model *served = models_served(m);
    const uint64_t served_version = served ? served->version : 0;
    const struct models_evaluation v = {.cli = c,
                                        .test = o->test,
                                        .resamples = RESAMPLES,
                                        .json = o->json,
                                        .served = &served_version};
    const char *version = o->version ? o->version : "all";
    if (strcmp(version, "all") || !m->n) {
        const struct wire_model *one = chosen(m, version, e);
        return one ? models_evaluate(&v, &one, 1, e) : -(int)e->class;
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

static int with_models(struct cli *c, const struct options *o, char **argv)
{
    struct fis_error e;
    struct models m = {0};
    int rc = cli_open(c, &e);
    if (!rc)
        rc = models_init(&m, &e);
    if (!rc)
        rc = models_read(&m, c, TIMEOUT_MS, &e);
    if (!rc && m.refused)
        cli_say("%llu messages on %s are passed over; the first: %s", (unsigned long long)m.refused,
                c->cfg.topics.models, m.first.text);
    if (!rc && !strcmp(argv[0], "list"))
        rc = models_list(&m, o->json, &e);
    else if (!rc && !strcmp(argv[0], "show"))
        rc = show(&m, o, argv[1], &e);
    else if (!rc)
        rc = evaluate(c, &m, o, &e);
    models_done(&m);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    static const struct {
        const char *name;
        int arguments;
        const char *wanted;
    } verbs[] = {{"list", 1, "list takes no argument"},
                 {"show", 2, "show wants one VERSION (a number, or served)"},
                 {"evaluate", 1, "evaluate takes its options only"}};
    struct options o = {0};
    int first, i = 0;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc == first)
        return cli_usage(self, "one of list, show and evaluate is wanted");
    while (i < 3 && strcmp(verbs[i].name, argv[first]))
        i++;
    if (i == 3)
        return cli_usage(self, "found '%s', allowed list, show, evaluate", argv[first]);
    if (argc - first != verbs[i].arguments)
        return cli_usage(self, "%s", verbs[i].wanted);
    if (i == 2 && !o.test)
        return cli_usage(self, "evaluate wants --test FILE");
    return with_models(c, &o, argv + first);
}

static const struct cli_option options[] = {
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a line"},
    {"weights", 'w', CLI_FLAG, offsetof(struct options, weights), NULL,
     "show: JSON, with the parameters"},
    {"version", 'v', CLI_TEXT, offsetof(struct options, version), "N",
     "evaluate: a number, served, or all that were published; default all"},
    {"test", 't', CLI_TEXT, offsetof(struct options, test), "FILE",
     "evaluate: labelled rows, CSV or JSON lines"},
    {.name = NULL},
};

const struct cli_command cmd_models = {
    .name = "models",
    .arguments = "list|show VERSION|evaluate --test FILE [options]",
    .summary = "list model versions, show one, evaluate them on rows of a file",
    .text = "list      all versions: the gate's verdict and reason, accuracy and fairness on the\n"
            "          validation rows with 95 % intervals, labels bought and kept\n"
            "show      one version (a number, or served) with all that is known of it\n"
            "evaluate  versions on the rows of a file that has the label and the sensitive\n"
            "          columns of the validation set\n\n"
            "DP, EOp: largest gap between groups of the positive rate, of the true positive rate.\n"
            "EOd: mean of the largest gaps of true and of false positive rates; EOd max: the\n"
            "larger of the two (Fairlearn's equalized odds difference). 0 is fair.",
    .options = options,
    .run = run,
};

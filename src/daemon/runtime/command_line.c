#include "daemon/runtime/command_line.h"

#include <stdlib.h>

#include "fis/version.h"

#define AT(field) offsetof(struct command_line, field)

/* Kind: an action; 0: none, and a flag that is none is a bool at the offset. */
const struct command_option command_line_options[] = {
    {"config", 'c', COMMAND_RUN, 0, "FILE",
     "the configuration (default: $FISD_CONFIG, else ./fisd.yaml)"},
    {"embedded", 0, COMMAND_RUN, AT(embedded), NULL,
     "start an in-process broker for trials; its data ends with the process"},
    {"check-config", 0, COMMAND_CHECK, 0, "[=FILE]",
     "check the configuration and its files, report every mistake, and exit"},
    {"print-config", 0, COMMAND_PRINT, 0, NULL, "print every option with its default and meaning"},
    {"effective", 0, COMMAND_RUN, AT(effective), NULL,
     "with --print-config: the values of FILE in force"},
    {"reference", 0, COMMAND_RUN, AT(reference), NULL,
     "with --print-config: as a table in Markdown"},
    {"man", 0, COMMAND_RUN, AT(man), NULL, "with --print-config: as the manual page fisd.yaml(5)"},
    {"print-metrics", 0, COMMAND_PRINT_METRICS, 0, NULL,
     "print every metric with its meaning, in Markdown"},
    {"print-alarms", 0, COMMAND_PRINT_ALARMS, 0, NULL,
     "print every alarm with its meaning, in Markdown"},
    {"print-dead-letters", 0, COMMAND_PRINT_DEAD_LETTERS, 0, NULL,
     "print the reasons for dead letters, with the action for each, in Markdown"},
    {"print-man", 0, COMMAND_PRINT_MAN, 0, NULL, "print the manual page fisd(8)"},
    {"print-completion", 0, COMMAND_PRINT_COMPLETION, 0, NULL, "print the completion for bash"},
    {"version", 'V', COMMAND_VERSION, 0, NULL, "print the version, and that of librdkafka"},
    {"help", 'h', COMMAND_HELP, 0, NULL, "print this help"},
    {.name = NULL},
};

static const char usage[] =
    "fisd " FIS_VERSION ": fairer classifiers from a stream, without harm to accuracy\n"
    "\n"
    "usage: fisd [-c FILE] [--embedded]     run until SIGTERM\n"
    "       fisd --check-config [FILE]      check the configuration\n"
    "       fisd --print-config             every option with its default and meaning\n"
    "\n";

static const char ends[] =
    "\nSIGTERM and SIGINT drain, commit and exit 0 (a second one exits at once); SIGHUP reads the\n"
    "configuration again. Exit status: 0 stopped and drained, 1 failed or not drained, 2 bad\n"
    "usage or configuration.\n";

void command_line_help(FILE *out)
{
    fputs(usage, out);
    command_options_help(out, command_line_options);
    fputs(ends, out);
}

/* ---- parsing ------------------------------------------------------------------------------- */

static const char *take(void *ctx, const struct command_option *o, const char *value)
{
    struct command_line *c = ctx;
    if (value)
        c->config = value;
    if (o->kind)
        c->action = (enum command_action)o->kind;
    else if (!o->argument)
        *(bool *)((char *)c + o->offset) = true;
    /* With these two it is no matter what else there is. */
    return c->action == COMMAND_VERSION || c->action == COMMAND_HELP ? "" : NULL;
}

/* What there is beside the options. */
static int check(struct command_line *c, int argc, char **argv, int at, struct fis_error *e)
{
    const int forms = c->effective + c->reference + c->man;
    if (c->action == COMMAND_VERSION || c->action == COMMAND_HELP)
        return 0;
    if (at < argc && (c->action == COMMAND_CHECK || c->action == COMMAND_PRINT))
        c->config = argv[at++];
    if (at < argc)
        return fis_fail(e, FIS_INPUT, "found '%s', only options are allowed", argv[at]);
    if (forms > 1 || (forms && c->action != COMMAND_PRINT))
        return fis_fail(e, FIS_INPUT, "--%s goes with --print-config%s",
                        c->effective   ? "effective"
                        : c->reference ? "reference"
                                       : "man",
                        forms > 1 ? ", and with no other form" : "");
    return 0;
}

int command_line_parse(int argc, char **argv, struct command_line *out)
{
    const struct command_option *const tables[COMMAND_TABLES] = {command_line_options};
    struct command_line c = {.config = getenv("FISD_CONFIG")};
    struct fis_error e;
    if (!c.config || !*c.config)
        c.config = "fisd.yaml";
    int rc = command_options_read(tables, false, argc, argv, take, &c, &e);
    if (rc >= 0)
        rc = check(&c, argc, argv, rc, &e);
    if (rc < 0) {
        fprintf(stderr, "fisd: %s\ntry: fisd --help\n", e.text);
        return 2;
    }
    *out = c;
    return 0;
}

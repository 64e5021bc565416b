#include "daemon/runtime/command_line.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "fis/version.h"

const struct command_option command_options[] = {
    {"config", 'c', "FILE", false, NULL,
     "the configuration (default: $FISD_CONFIG, else ./fisd.yaml)"},
    {"embedded", 0, NULL, false, NULL,
     "start an in-process broker for trials; its data ends with the process"},
    {"check-config", 0, "FILE", true, NULL,
     "check the configuration and its files, report every mistake, and exit"},
    {"print-config", 0, NULL, false, NULL, "print every option with its default and meaning"},
    {"effective", 0, NULL, false, "print-config", "the values of FILE in force"},
    {"reference", 0, NULL, false, "print-config", "as a table in Markdown"},
    {"man", 0, NULL, false, "print-config", "as the manual page fisd.yaml(5)"},
    {"print-metrics", 0, NULL, false, NULL, "print every metric with its meaning, in Markdown"},
    {"print-alarms", 0, NULL, false, NULL, "print every alarm with its meaning, in Markdown"},
    {"print-dead-letters", 0, NULL, false, NULL,
     "print the reasons for dead letters, with the action for each, in Markdown"},
    {"print-man", 0, NULL, false, NULL, "print the manual page fisd(8)"},
    {"print-completion", 0, NULL, false, NULL, "print the completion for bash"},
    {"version", 'V', NULL, false, NULL, "print the version, and that of librdkafka"},
    {"help", 'h', NULL, false, NULL, "print this help"},
    {.name = NULL},
};
enum { OPTIONS = sizeof command_options / sizeof *command_options, LONG = 256 };

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
    for (const struct command_option *o = command_options; o->name; o++) {
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        const char *before = !o->argument ? "" : o->optional ? "[=" : " ";
        snprintf(left, sizeof left, "%s--%s%s%s%s", letter, o->name, before,
                 o->argument ? o->argument : "", o->optional ? "]" : "");
        fprintf(out, "  %-26s %s%s%s%s\n", left, o->of ? "with --" : "", o->of ? o->of : "",
                o->of ? ": " : "", o->help);
    }
    fputs(ends, out);
}

/* ---- parsing ------------------------------------------------------------------------------- */

static void take(struct command_line *c, const char *name)
{
    static const struct {
        const char *name;
        enum command_action action;
    } actions[] = {
        {"check-config", COMMAND_CHECK},
        {"print-config", COMMAND_PRINT},
        {"print-man", COMMAND_PRINT_MAN},
        {"print-completion", COMMAND_PRINT_COMPLETION},
        {"print-metrics", COMMAND_PRINT_METRICS},
        {"print-alarms", COMMAND_PRINT_ALARMS},
        {"print-dead-letters", COMMAND_PRINT_DEAD_LETTERS},
        {"version", COMMAND_VERSION},
        {"help", COMMAND_HELP},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(name, actions[i].name))
            c->action = actions[i].action;
    if (optarg)
        c->config = optarg;
    c->embedded |= !strcmp(name, "embedded");
    c->effective |= !strcmp(name, "effective");
    c->reference |= !strcmp(name, "reference");
    c->man |= !strcmp(name, "man");
}

static const struct command_option *option_of(int letter)
{
    if (letter >= LONG)
        return &command_options[letter - LONG];
    for (const struct command_option *o = command_options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static int wrong(const char *what, const char *text)
{
    fprintf(stderr, "fisd: %s '%s'; see fisd --help\n", what, text);
    return 2;
}

static int check(const struct command_line *c, int argc, char **argv)
{
    int forms = c->effective + c->reference + c->man;
    const char *form = c->effective ? "effective" : c->reference ? "reference" : "man";
    if (optind < argc)
        return wrong("unexpected argument", argv[optind]);
    if (forms > 1 || (forms && c->action != COMMAND_PRINT)) {
        fprintf(stderr, "fisd: --%s goes with --print-config%s; see fisd --help\n", form,
                forms > 1 ? ", and with no other form" : "");
        return 2;
    }
    return 0;
}

int command_line_parse(int argc, char **argv, struct command_line *out)
{
    struct option longs[OPTIONS] = {0};
    struct command_line c = {.config = getenv("FISD_CONFIG")};
    char shorts[2 * OPTIONS + 1] = "";
    int letter;
    if (!c.config || !*c.config)
        c.config = "fisd.yaml";
    for (int i = 0; command_options[i].name; i++) {
        const struct command_option *o = &command_options[i];
        int argument = !o->argument  ? no_argument
                       : o->optional ? optional_argument
                                     : required_argument;
        longs[i] = (struct option){o->name, argument, NULL, LONG + i};
        if (o->letter)
            snprintf(shorts + strlen(shorts), 3, "%c%s", o->letter, o->argument ? ":" : "");
    }
    while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct command_option *o = option_of(letter);
        if (!o)
            return 2; /* getopt has printed why */
        take(&c, o->name);
        if (c.action == COMMAND_VERSION || c.action == COMMAND_HELP)
            break; /* whatever else there is */
    }
    if (c.action == COMMAND_VERSION || c.action == COMMAND_HELP) {
        *out = c;
        return 0;
    }
    if (optind < argc && (c.action == COMMAND_CHECK || c.action == COMMAND_PRINT))
        c.config = argv[optind++];
    int status = check(&c, argc, argv);
    if (!status)
        *out = c;
    return status;
}

/*
 * fisd.yaml(5), from the option table.
 */
#include "base/roff.h"
#include "config/option.h"

#include <string.h>

static const char description[] =
    "The configuration of a pipeline for fisd(8) and fisctl(1): one YAML file. A relative file "
    "name in it is looked for where the configuration is. A value is the text that stands in the "
    "file: no, yes, 0 and null are names like any other. ${NAME} in a value is replaced by the "
    "environment variable NAME; $${ stands for a plain ${.\n\n"
    "An unknown key, a key that is given twice, and a value that is not allowed are refused, with "
    "file, line and column; fisd --check-config tries a file, and fisd --print-config prints one "
    "with every option and its default.\n\n"
    "Options are given by section and name: what is called topics.prefix below is prefix under "
    "topics. Those marked with SIGHUP change while fisd runs when it gets that signal "
    "(systemctl reload); the others wait for a restart, and the log names those that differ.";

static const char example[] = "pipeline: credit\n"
                              "kafka: {bootstrap.servers: \"localhost:9092\"}\n"
                              "classes: [\"no\", \"yes\"]\n"
                              "columns:\n"
                              "  - {name: amount}\n"
                              "  - {name: purpose, type: categorical}\n"
                              "initial: {file: initial.csv, label: granted}\n"
                              "validation: {file: validation.csv, label: granted,\n"
                              "             sensitive: [sex]}\n"
                              "fairness: {metric: equal_opportunity}\n"
                              "selection: {labels_per_round: 128, budget: 2000}\n";

static void write_option(FILE *out, const struct option *o)
{
    char allowed[256];
    config_allowed(o, allowed, sizeof allowed);
    roff_item(out, o->key, NULL);
    roff_text(out, o->meaning);
    fputs(".RS\n.PP\nAllowed: ", out);
    roff_words(out, allowed);
    fputs(".\n", out);
    if (o->standard) {
        fputs("Default: \\fB", out);
        roff_words(out, o->standard);
        fputs("\\fR.\n", out);
    } else if (o->otherwise) {
        fputs("When absent: ", out);
        roff_words(out, o->otherwise);
        fputs(".\n", out);
    } else {
        fputs(o->need == NEED_ALWAYS ? "Required.\n" : "Required where it applies.\n", out);
    }
    fputs(o->live ? "SIGHUP reloads it.\n.RE\n" : ".RE\n", out);
}

void config_write_man(FILE *out)
{
    size_t section = 0;
    roff_begin(out, "fisd.yaml", 5, "configuration of a pipeline of fisd");
    roff_section(out, "DESCRIPTION");
    roff_text(out, description);
    roff_section(out, "OPTIONS");
    for (const struct option *o = config_options; o->key; o++) {
        size_t length = config_section_length(o->key);
        if (length && (!section || strncmp(o->key, o[-1].key, length + 1) != 0)) {
            char title[64];
            snprintf(title, sizeof title, "%.*s", (int)length, o->key);
            roff_subsection(out, title);
        }
        section = length;
        write_option(out, o);
        if (o->kind == KIND_ITEMS)
            for (const struct option *c = o->items; c->key; c++)
                write_option(out, c);
    }
    roff_section(out, "EXAMPLE");
    fputs(".nf\n", out);
    roff_words(out, example);
    fputs(".fi\n", out);
    roff_section(out, "SEE ALSO");
    fputs(".BR fisd (8),\n.BR fisctl (1)\n", out);
}

/*
 * fisd(8) and fisd's completion for bash, from the table of its command line.
 */
#include "base/roff.h"
#include "daemon/runtime/command_line.h"

static const struct roff_entry signals[] = {
    {"SIGTERM, SIGINT",
     "Finish what is in flight, commit it, leave the group, and exit 0. A second one exits at "
     "once. runtime.shutdown_timeout bounds the time."},
    {"SIGHUP",
     "Read the configuration again. What can change while fisd runs is put in force; what cannot "
     "is named in the log and keeps its old value until a restart; fisd.yaml(5) marks the "
     "options. A file with a mistake changes nothing."},
};

static const struct roff_entry statuses[] = {
    {"0", "Stopped and drained: everything that was done is committed."},
    {"1", "A role failed, or the time to drain was over. A start goes on from the ledger."},
    {"2", "Bad usage or configuration; a restart does not help."},
};

static const struct roff_entry variables[] = {
    {"FISD_CONFIG", "The configuration, when no option names one."},
    {"NOTIFY_SOCKET, WATCHDOG_USEC",
     "Set by systemd: fisd reports that it is ready, its state, a reload and its stop, and feeds "
     "the watchdog while its loop runs."},
};

static const char description[] =
    "fisd reads unlabelled records from a Kafka topic, asks people to label the few whose labels "
    "would lower both the loss and the unfairness of a classifier, trains on the answers, and "
    "publishes a new version of the model only when its accuracy on a held-out validation set is "
    "kept. The sensitive attribute is needed on that validation set alone.\n\n"
    "A process plays one role or both: a scorer finds the records worth a label, and any number "
    "of them share the stream; of trainers one leads, and the others stand by. State lives in "
    "Kafka: a process may be killed at any time, and any machine can go on.\n\n"
    "fisctl(1) works on a pipeline: it makes topics, answers label requests, shows and rolls back "
    "versions.";

static const char units[] =
    "systemctl start fisd@loans runs /etc/fisd/loans.yaml as user fisd, one instance for each "
    "configuration. systemctl status shows what it is doing; systemctl reload sends SIGHUP after "
    "the configuration has passed its check.\n\n"
    "The unit is ready (for systemctl start, and for units that come after it) when the roles "
    "run, and at the latest after 20 seconds: an unreachable broker is waited for.";

void manual_write_page(FILE *out)
{
    roff_begin(out, "fisd", 8, "make a classifier fairer from a stream, without harm to accuracy");
    roff_section(out, "SYNOPSIS");
    fputs(
        ".B fisd\n[\\fB\\-c\\fR \\fIFILE\\fR] [\\fB\\-\\-embedded\\fR]\n.br\n"
        ".B fisd \\-\\-check\\-config\n[\\fIFILE\\fR]\n.br\n"
        ".B fisd \\-\\-print\\-config\n"
        "[\\fB\\-\\-reference\\fR | \\fB\\-\\-man\\fR | \\fB\\-\\-effective\\fR [\\fIFILE\\fR]]\n",
        out);
    roff_section(out, "DESCRIPTION");
    roff_text(out, description);
    roff_section(out, "OPTIONS");
    command_options_man(out, command_line_options);
    roff_entries(out, "SIGNALS", signals, sizeof signals / sizeof *signals);
    roff_entries(out, "EXIT STATUS", statuses, sizeof statuses / sizeof *statuses);
    roff_entries(out, "ENVIRONMENT", variables, sizeof variables / sizeof *variables);
    roff_section(out, "SYSTEMD");
    roff_text(out, units);
    roff_section(out, "SEE ALSO");
    fputs(".BR fisctl (1),\n.BR fisd.yaml (5),\n.BR systemctl (1)\n", out);
}

void manual_write_completion(FILE *out)
{
    fputs("# bash completion of fisd, written by fisd --print-completion\n"
          "_fisd()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local files='",
          out);
    command_options_words(out, command_line_options, COMMAND_WORDS_FILES);
    fputs(" ' words='", out);
    command_options_words(out, command_line_options, COMMAND_WORDS_ALL);
    fputs("'\n    compopt -o filenames 2>/dev/null\n"
          "    COMPREPLY=()\n"
          "    if [[ $files == *\" $prev \"* ]]; then COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    elif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); fi\n"
          "}\ncomplete -F _fisd fisd\n",
          out);
}

/*
 * fisctl(1) and fisctl's completion for bash, from the tables of its commands.
 */
#include <string.h>

#include "base/roff.h"
#include "cli/command_table.h"

/* ---- the manual page ----------------------------------------------------------------------- */

static void write_command(FILE *out, const struct cli_command *c)
{
    char name[64];
    snprintf(name, sizeof name, "fisctl %s", c->name);
    roff_subsection(out, name);
    fputs(".B fisctl ", out);
    roff_words(out, c->name);
    fputc('\n', out);
    roff_text(out, c->arguments);
    fputs(".PP\n", out);
    roff_text(out, c->text);
    command_options_man(out, c->options);
    for (int i = 0; c->commands && c->commands[i]; i++)
        write_command(out, c->commands[i]);
}

static const char description[] =
    "fisctl works on a pipeline of fisd(8) through its topics, and reads the same configuration, "
    "fisd.yaml(5). It makes and checks topics, sends records, answers label requests from a file "
    "or at the terminal, shows, compares and rolls back model versions, pauses and resumes "
    "requests, "
    "and runs whole experiments offline.\n\n"
    "Commands to the trainer are sent on the topic control: each writer of it can give "
    "commands, and each is logged.";

static const struct roff_entry statuses[] = {
    {"0", "Done."},
    {"1", "It failed; the reason is on standard error."},
    {"2", "Wrong usage."},
    {"3", "A command to the trainer was sent and is not taken yet."},
};

void cli_write_man(FILE *out)
{
    roff_begin(out, "fisctl", 1, "command-line tool for a pipeline of fisd");
    roff_section(out, "SYNOPSIS");
    fputs(
        ".B fisctl\n[\\fB\\-c\\fR \\fICONFIG\\fR] [\\fB\\-b\\fR \\fIHOST:PORT\\fR] \\fICOMMAND\\fR "
        "[\\fIarguments\\fR]\n",
        out);
    roff_section(out, "DESCRIPTION");
    roff_text(out, description);
    roff_section(out, "OPTIONS");
    fputs("Before or after the command:\n", out);
    command_options_man(out, cli_common);
    fputs(".PP\nWithout a command:\n", out);
    command_options_man(out, cli_leading_options);
    roff_section(out, "COMMANDS");
    for (int i = 0; cli_commands[i]; i++)
        write_command(out, cli_commands[i]);
    roff_entries(out, "EXIT STATUS", statuses, sizeof statuses / sizeof *statuses);
    roff_section(out, "ENVIRONMENT");
    roff_item(out, "FISD_CONFIG", NULL);
    fputs("The configuration, when no option names one.\n", out);
    roff_section(out, "SEE ALSO");
    fputs(".BR fisd (8),\n.BR fisd.yaml (5)\n", out);
}

/* ---- completion ---------------------------------------------------------------------------- */

static void word(FILE *out, const char *text, size_t n)
{
    fprintf(out, " %.*s", (int)n, text);
}

/* The verbs of a usage line, "list|show VERSION|pin [options]": what stands first in each part. A
 * line without a bar has none. */
static void verb_words(FILE *out, const char *arguments)
{
    bool more = strcspn(arguments, "|") < strcspn(arguments, "[");
    while (more) {
        arguments += strspn(arguments, " \n");
        word(out, arguments, strcspn(arguments, "| \n["));
        more = false;
        for (int depth = 0; *arguments && !more; arguments++) {
            depth += (*arguments == '[') - (*arguments == ']');
            more = *arguments == '|' && depth == 0;
        }
    }
}

static void write_options(FILE *out, const struct command_option *o, enum command_words which)
{
    command_options_words(out, o, which);
    command_options_words(out, cli_common, which);
}

/* One case of the shell: the words that may come, and what kind of argument an option has. */
static void write_case(FILE *out, const struct command_option *options)
{
    write_options(out, options, COMMAND_WORDS_ALL);
    fputs("'\n        files='", out);
    write_options(out, options, COMMAND_WORDS_FILES);
    fputs(" ' values='", out);
    write_options(out, options, COMMAND_WORDS_VALUES);
    fputs(" ' ;;\n", out);
}

static void write_words(FILE *out, const struct cli_command *c)
{
    fprintf(out, "    '%s') words='", c->name);
    verb_words(out, c->arguments);
    for (int i = 0; c->commands && c->commands[i]; i++) {
        const char *name = strrchr(c->commands[i]->name, ' ') + 1;
        word(out, name, strlen(name));
    }
    write_case(out, c->options);
    for (int i = 0; c->commands && c->commands[i]; i++)
        write_words(out, c->commands[i]);
}

void cli_write_completion(FILE *out)
{
    fputs("# bash completion of fisctl, written by fisctl --print-completion\n"
          "_fisctl()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command= words= files= values= i\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        -c | --config | -b | --bootstrap | -X | --kafka) ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *) if [[ ! $command ]]; then command=${COMP_WORDS[i]}\n"
          "           elif [[ $command == lab ]]; then command+=\" ${COMP_WORDS[i]}\"; fi ;;\n"
          "        esac\n"
          "    done\n"
          "    case $command in\n"
          "    '') words='",
          out);
    for (int i = 0; cli_commands[i]; i++)
        word(out, cli_commands[i]->name, strlen(cli_commands[i]->name));
    write_case(out, cli_leading_options);
    for (int i = 0; cli_commands[i]; i++)
        write_words(out, cli_commands[i]);
    fputs("    esac\n"
          "    COMPREPLY=()\n"
          "    if [[ $files == *\" $prev \"* ]]; then\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    elif [[ $values != *\" $prev \"* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "        [[ ${#COMPREPLY[@]} == 0 && $cur != -* ]] && COMPREPLY=($(compgen -f -- "
          "\"$cur\"))\n"
          "    fi\n"
          "    return 0\n"
          "}\ncomplete -F _fisctl fisctl\n",
          out);
}

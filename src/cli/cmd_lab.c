/* fisctl lab: experiments on whole data sets, offline. */
#include "cli/cmd_lab_exp.h"

#include <string.h>

static const struct cli_command *const commands[] = {
    &cmd_lab_run,   &cmd_lab_paper,  &cmd_lab_ablate,    &cmd_lab_noise,
    &cmd_lab_delay, &cmd_lab_stream, &cmd_lab_influence, NULL,
};
enum { COMMANDS = sizeof commands / sizeof *commands - 1 };

/* "lab run" is the command's name; what is reported is the last word. */
static const char *word(const struct cli_command *command)
{
    return strrchr(command->name, ' ') + 1;
}

static void help(FILE *out)
{
    fprintf(out, "usage: fisctl lab COMMAND [options]\n\n%s\n\ncommands:\n", cmd_lab.text);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-16s %s\n", word(commands[i]), commands[i]->summary);
    fputs("\nfisctl lab COMMAND --help tells a command's options.\n", out);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        help(stdout);
        return CLI_DONE;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], word(commands[i])))
            return commands[i]->run(c, commands[i], argc - 1, argv + 1);
    return cli_usage(self, "no command '%s'", argv[1]);
}

const struct cli_command cmd_lab = {
    .name = "lab",
    .arguments = "COMMAND [options]",
    .summary = "experiments on whole data sets, without a broker",
    .text =
        "Experiments on whole data sets, offline: the selector, trainer, gate and encoder of\n"
        "fisd, with a data set for the stream and withheld labels for the people. No pipeline,\n"
        "no broker and no configuration are needed.",
    .commands = commands,
    .run = run,
};

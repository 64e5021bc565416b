#include "cli/commands.h"

#include <string.h>

#include "fis/version.h"

static const struct cli_command *const commands[] = {
    &cmd_topics, &cmd_replay, &cmd_label, &cmd_labels, &cmd_models, &cmd_watch, &cmd_lab,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *out)
{
    fputs("usage: fisctl [-c CONFIG] [-b HOST:PORT] COMMAND [arguments]\n\n"
          "Works on a pipeline of fisd through its topics, and reads the same configuration file.\n"
          "\ncommands:\n",
          out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\noptions, before or after the command:\n"
          "  -c, --config FILE          the pipeline's configuration; default $FISD_CONFIG, else\n"
          "                             fisd.yaml\n"
          "  -b, --bootstrap HOST:PORT  the broker; default kafka.bootstrap.servers of the\n"
          "                             configuration, else the embedded one that runs\n"
          "  -h, --help                 this help; fisctl COMMAND --help for a command's\n"
          "  -V, --version              the version\n"
          "\nexit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong usage,\n"
          "3 a command to the trainer was sent and is not taken yet\n",
          out);
}

static int run(struct cli *c, int argc, char **argv)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (!strcmp(commands[i]->name, argv[0])) {
            int code = commands[i]->run(c, commands[i], argc, argv);
            cli_done(c);
            /* A full disk or a closed pipe must not look like success. */
            if (fflush(stdout) || ferror(stdout)) {
                cli_say("standard output cannot be written");
                return code ? code : CLI_FAILED;
            }
            return code;
        }
    }
    cli_say("no command '%s'; there are topics, replay, label, labels, models, watch and lab",
            argv[0]);
    return CLI_USAGE;
}

int cli_main(int argc, char **argv)
{
    struct cli c;
    bool version = false;
    int at;
    cli_init(&c);
    enum cli_parsed parsed = cli_parse_leading(&c, argc, argv, &version, &at);
    if (parsed == CLI_HELP)
        help(stdout);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (version) {
        printf("fisctl %s\n", FIS_VERSION);
        return CLI_DONE;
    }
    if (at == argc) {
        help(stderr);
        return CLI_USAGE;
    }
    return run(&c, argc - at, argv + at);
}

#include "cli/command_table.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fis/network.h"
#include "fis/version.h"
#include "stream/library.h"

const struct cli_command *const cli_commands[] = {
    &cmd_init,   &cmd_doctor,  &cmd_topics, &cmd_replay, &cmd_label,  &cmd_labels,
    &cmd_ledger, &cmd_explain, &cmd_forget, &cmd_tap,    &cmd_models, &cmd_predict,
    &cmd_status, &cmd_watch,   &cmd_lab,    NULL,
};

static void help(FILE *out)
{
    fputs("usage: fisctl [-c CONFIG] [-b HOST:PORT] COMMAND [arguments]\n\n"
          "Works on a pipeline of fisd through its topics, and reads the same configuration file.\n"
          "\ncommands:\n",
          out);
    for (int i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-8s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fputs("\noptions, before or after the command:\n", out);
    command_options_help(out, cli_common);
    command_options_help(out, cli_leading_options);
    fputs("\nexit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong usage,\n"
          "3 a command to the trainer was sent and is not taken yet\n",
          out);
}

static void print_version(void)
{
    char library[64];
    stream_library_text(library, sizeof library);
    printf("fisctl " FIS_VERSION " (%s)\n", library);
}

/* The reader of a pipe has ended, as head does: no trouble of anybody. */
static bool reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

static int run(struct cli *c, int argc, char **argv)
{
    for (int i = 0; cli_commands[i]; i++) {
        if (!strcmp(cli_commands[i]->name, argv[0])) {
            int code = cli_commands[i]->run(c, cli_commands[i], argc, argv);
            cli_done(c);
            /* A full disk or a closed pipe must not look like success. */
            if (fflush(stdout) || ferror(stdout)) {
                if (!reader_gone())
                    cli_say("standard output cannot be written");
                return code ? code : CLI_FAILED;
            }
            return code;
        }
    }
    cli_say("no command '%s'; fisctl --help lists them", argv[0]);
    return CLI_USAGE;
}

static int print(const struct cli_leading *leading)
{
    if (leading->version)
        print_version();
    else if (leading->man)
        cli_write_man(stdout);
    else
        cli_write_completion(stdout);
    return fflush(stdout) ? CLI_FAILED : CLI_DONE;
}

int cli_main(int argc, char **argv)
{
    struct cli c;
    struct cli_leading leading = {0};
    int at;
    log_reserve_descriptors();
    cli_init(&c);
    fis_flush_denormals(); /* as fisd: what the lab computes is the same to the last bit */
    enum cli_parsed parsed = cli_parse_leading(&c, argc, argv, &leading, &at);
    if (parsed == CLI_HELP) {
        help(stdout);
        return fflush(stdout) ? CLI_FAILED : CLI_DONE;
    }
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (leading.version || leading.man || leading.completion)
        return print(&leading);
    if (at == argc) {
        help(stderr);
        return CLI_USAGE;
    }
    return run(&c, argc - at, argv + at);
}

/*
 * fisctl forget: takes records of a person out of everything that the trainer keeps.
 */
#include "cli/command_table.h"

#include "cli/control.h"

#define WAIT_S 60

struct options {
    struct control_options control;
};

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.control.wait_ms = 1000 * WAIT_S};
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (first == argc)
        return cli_usage(self, "the ID of at least one record is required");
    return control_records(c, self, WIRE_CONTROL_FORGET, argc - first, argv + first, &o.control);
}

static const struct cli_option options[] = {
    CLI_CONTROL_OPTIONS(struct options, control, 'w', WAIT_S),
    {.name = NULL},
};

const struct cli_command cmd_forget = {
    .name = "forget",
    .arguments = "ID… [options]",
    .summary = "take a person's record out of all that the trainer keeps",
    .text =
        "The record leaves candidates, open requests (a withdrawal is sent), ledger and\n"
        "training rows, with its label and the votes for it; the next checkpoint and the next\n"
        "version are made without it. The budget stays spent. The ledger keeps a mark of it,\n"
        "from which the id does not follow, so that it is not asked about again. Where a label\n"
        "or a request goes, the trainer restarts from the ledger, which takes seconds. What stays "
        "elsewhere, and for how long, is in docs/operations.md\n"
        "(\"Erase a person\").\n\n"
        "A command to the trainer. Exit code 0: it has done it, now or before; 1: it knows\n"
        "nothing of the record; 3: no trainer has taken it yet, but it will.",
    .options = options,
    .run = run,
};

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

static const struct command_option options[] = {
    CLI_CONTROL_OPTIONS(struct options, control, 'w', WAIT_S),
    {.name = NULL},
};

const struct cli_command cmd_forget = {
    .name = "forget",
    .arguments = "ID… [options]",
    .summary = "remove the records of a person from all that the trainer keeps",
    .text =
        "Removes records from candidates, open requests (a withdrawal is sent), ledger and\n"
        "training rows, with their labels and votes. The next checkpoint and the next version\n"
        "are made without them. The budget stays spent. The ledger keeps a mark of each, from\n"
        "which the id cannot be derived, so that the record is not requested again. Where a\n"
        "label or a request is removed, the trainer restarts from the ledger, which takes\n"
        "seconds. docs/operations.md (\"Erase a person\") lists what remains elsewhere, and for\n"
        "how long.\n\n"
        "A command to the trainer. Exit code 0: done, now or before; 1: the trainer has no such\n"
        "record; 3: no trainer has taken the command yet; the next one will.",
    .options = options,
    .run = run,
};

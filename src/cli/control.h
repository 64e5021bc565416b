/*
 * Commands to the trainer: they go to the topic control, and what became of one is in the
 * trainer's state on the ledger.
 * Thread: one.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "cli/options.h"
#include "fis/defaults.h"

struct control_options {
    const char *by, *reason; /* by NULL: the user's name; reason NULL: none */
    uint64_t wait_ms;        /* for the outcome */
    bool json;
};

/* The options of a command to the trainer, into a struct control_options among its values. Of
 * --wait: its letter, or 0, and the default, a number of seconds. */
/* clang-format off */
#define CLI_CONTROL_OPTIONS(type, member, letter, seconds)                                         \
    {"json", 'j', CLI_FLAG, offsetof(type, member.json), NULL, "one JSON object a line"},          \
    {"reason", 'r', CLI_TEXT, offsetof(type, member.reason), "TEXT",                               \
     "reason of a command to the trainer; it is stored with the command, so it should not name a person"},      \
    {"by", 0, CLI_TEXT, offsetof(type, member.by), "NAME",                                         \
     "the name of its sender; default that of the user"},                                                \
    {"wait", letter, CLI_SECONDS, offsetof(type, member.wait_ms), "SECONDS",                       \
     "how long to wait for the trainer's answer; default " FIS_DEFAULT_TEXT(seconds)}
/* clang-format on */

/* Sends the commands for `records` [n] (or one without a record when n is 0), one after another,
 * and prints what became of each. The exit code: the worst of them. */
int control_run(struct cli *cli, enum wire_control_kind kind, const struct fis_id *records,
                uint32_t n, uint64_t version, const struct control_options *o);
/* The same for the ids of a command line, of the command `self`. */
int control_records(struct cli *c, const struct cli_command *self, enum wire_control_kind kind,
                    int n, char **ids, const struct control_options *o);

#endif

/* The commands, one a file (cmd_NAME.c), and what main does with them. */
#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

#include "cli/options.h"

extern const struct cli_command cmd_init, cmd_doctor, cmd_explain, cmd_forget, cmd_tap, cmd_ledger,
    cmd_topics, cmd_replay, cmd_label, cmd_labels, cmd_models, cmd_predict, cmd_status, cmd_watch,
    cmd_lab;

extern const struct cli_command *const cli_commands[]; /* NULL at the end */

int cli_main(int argc, char **argv);

/* cli/fisctl_manual.c: fisctl(1), and the completion for bash. */
void cli_write_man(FILE *out);
void cli_write_completion(FILE *out);

#endif

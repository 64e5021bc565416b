/*
 * fisd's command line (base/command_option.h).
 * Thread: getopt keeps global state; one at a time.
 */
#ifndef DAEMON_COMMAND_LINE_H
#define DAEMON_COMMAND_LINE_H

#include "base/command_option.h"

enum command_action {
    COMMAND_RUN,
    COMMAND_CHECK,            /* --check-config */
    COMMAND_PRINT,            /* --print-config; `effective`, `reference` and `man` say how */
    COMMAND_PRINT_MAN,        /* fisd(8) */
    COMMAND_PRINT_COMPLETION, /* for bash */
    COMMAND_PRINT_METRICS,    /* a table in Markdown */
    COMMAND_PRINT_ALARMS,
    COMMAND_PRINT_DEAD_LETTERS, /* the same */
    COMMAND_VERSION,
    COMMAND_HELP
};

struct command_line {
    enum command_action action;
    const char *config; /* borrowed from argv or the environment */
    bool effective, reference, man, embedded;
};

extern const struct command_option command_line_options[];

/* 0, or the exit status 2: what is wrong is on standard error. */
int command_line_parse(int argc, char **argv, struct command_line *out);
void command_line_help(FILE *out);

/* daemon/runtime/fisd_manual.c */
void manual_write_page(FILE *out);       /* fisd(8) */
void manual_write_completion(FILE *out); /* of bash */

#endif

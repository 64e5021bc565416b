/*
 * Options of a command line: one const table gives the parsing, the help, the manual page and the
 * words of the shell's completion.
 * Thread: getopt keeps global state; one at a time.
 */
#ifndef BASE_COMMAND_OPTION_H
#define BASE_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fis/error.h"

struct command_option {
    const char *name;     /* long; NULL ends the table */
    char letter;          /* 0: none */
    int kind;             /* what the program takes it for */
    size_t offset;        /* where the program keeps it */
    const char *argument; /* for the help; NULL for a flag; "[=FILE]": it may be absent */
    const char *help;
};
#define COMMAND_OPTIONS_MAX 40 /* in all tables of one command line */
#define COMMAND_TABLES 3

/* Takes one, with its value or NULL. NULL: go on; "": no further (help); else what is allowed in
 * place of the value. */
typedef const char *command_take_fn(void *ctx, const struct command_option *o, const char *value);

/* Options may stand anywhere, but when they lead: then the first argument that is none ends them.
 * argv[0] is a name. Arguments are moved to the end, and the index of the first is returned.
 * INPUT: no such option, a value that is absent or not allowed. A table may be NULL. */
int command_options_read(const struct command_option *const tables[COMMAND_TABLES], bool lead,
                         int argc, char **argv, command_take_fn *take, void *ctx,
                         struct fis_error *e) FIS_MUST_CHECK;

/* A line or more for each, at most 79 wide; of a manual page; for the completion, " -c --config":
 * those that expect a file, those that expect another value, or all. */
void command_options_help(FILE *out, const struct command_option *o);
void command_options_man(FILE *out, const struct command_option *o);
enum command_words { COMMAND_WORDS_ALL, COMMAND_WORDS_FILES, COMMAND_WORDS_VALUES };
void command_options_words(FILE *out, const struct command_option *o, enum command_words which);

#endif

/* Lines from standard input, waited for without losing interruption. Owns: its buffer. */
#ifndef CLI_LINE_INPUT_H
#define CLI_LINE_INPUT_H

#include "cli/cli.h"

struct line_input {
    char text[4096];
    size_t length, taken;
    bool end;
};

/* The next line without its end, valid until the next call; NULL at the end of input or when it is
 * time to stop. A line longer than the buffer comes in pieces. */
const char *line_input_next(struct line_input *in, struct cli *c);
/* Whether the input is at its end (closed, or /dev/null), without waiting. */
bool line_input_ended(struct line_input *in);

#endif

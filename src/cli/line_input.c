#include "cli/line_input.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static char *whole_line(struct line_input *in)
{
    char *line = in->text + in->taken;
    size_t n = in->length - in->taken;
    char *stop = memchr(line, '\n', n);
    if (!stop && !(in->end && n) && n < sizeof in->text - 1)
        return NULL;
    size_t length = stop ? (size_t)(stop - line) : n;
    in->taken += length + (stop ? 1 : 0);
    line[length] = 0;
    return line;
}

static void fill(struct line_input *in)
{
    ssize_t n = read(STDIN_FILENO, in->text + in->length, sizeof in->text - 1 - in->length);
    if (n <= 0)
        in->end = true;
    else
        in->length += (size_t)n;
}

const char *line_input_next(struct line_input *in, struct cli *c)
{
    for (;;) {
        /* What was taken makes room, so that a line always fits as far as the buffer goes. */
        if (in->taken > 0 && !memchr(in->text + in->taken, '\n', in->length - in->taken)) {
            memmove(in->text, in->text + in->taken, in->length - in->taken);
            in->length -= in->taken;
            in->taken = 0;
        }
        char *line = whole_line(in);
        if (line || in->end)
            return line;
        if (cli_stopping(c))
            return NULL;
        if (!cli_wait(c, STDIN_FILENO, 200))
            continue;
        fill(in);
    }
}

bool line_input_ended(struct line_input *in)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (in->taken == in->length && !in->end && poll(&p, 1, 0) > 0) {
        in->taken = in->length = 0;
        fill(in);
    }
    return in->end && in->taken == in->length;
}

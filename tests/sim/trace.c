/* The trace of a run: one line an event, the last ones kept for when something goes wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "world.h"

#define LINES (sizeof((struct sim_trace *)0)->lines / sizeof((struct sim_trace *)0)->lines[0])

void sim_note(struct sim_world *w, const char *who, const char *format, ...)
{
    struct sim_trace *t = w->trace;
    if (!t)
        return;
    char *line = t->lines[t->next++ % LINES];
    int n = snprintf(line, sizeof t->lines[0], "%8.3f %-10s ", (double)w->now / 1000, who);
    va_list ap;
    va_start(ap, format);
    vsnprintf(line + n, sizeof t->lines[0] - (size_t)n, format, ap);
    va_end(ap);
    t->hash = XXH3_64bits_withSeed(line, strlen(line), t->hash);
    if (t->live)
        puts(line);
}

void sim_trace_print(const struct sim_trace *t, uint32_t lines)
{
    uint32_t n = t->next < LINES ? t->next : (uint32_t)LINES;
    n = n < lines ? n : lines;
    for (uint32_t i = t->next - n; i != t->next; i++)
        printf("  %s\n", t->lines[i % LINES]);
}

void sim_violated(struct sim_world *w, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(w->violation, sizeof w->violation, format, ap);
    va_end(ap);
    sim_note(w, "VIOLATED", "%.180s", w->violation);
    longjmp(w->out, 1);
}

#include "base/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "fis/version.h"

static void put_char(FILE *out, char c)
{
    switch (c) {
    case '\\':
        fputs("\\e", out);
        break;
    case '-': /* a hyphen would not be found by who searches for an option */
        fputs("\\-", out);
        break;
    case '\'':
        fputs("\\(aq", out);
        break;
    case '`':
        fputs("\\(ga", out);
        break;
    case '^':
        fputs("\\(ha", out);
        break;
    case '~':
        fputs("\\(ti", out);
        break;
    default:
        fputc(c, out);
    }
}

static void put(FILE *out, const char *text, size_t n)
{
    /* A point at the beginning of a line is a request. */
    if (n && *text == '.')
        fputs("\\&", out);
    for (size_t i = 0; i < n; i++)
        put_char(out, text[i]);
}

void roff_words(FILE *out, const char *text)
{
    put(out, text, strlen(text));
}

void roff_begin(FILE *out, const char *name, int section, const char *what)
{
    fputs(".\\\" Written by the program itself, from its tables.\n.TH ", out);
    for (const char *s = name; *s; s++)
        fputc(toupper((unsigned char)*s), out);
    fprintf(out, " %d \"\" \"fisd " FIS_VERSION "\" \"fisd\"\n", section);
    /* Words are not cut: most of the long ones are keys and options. */
    fputs(".nh\n.ad l\n", out);
    roff_section(out, "NAME");
    roff_words(out, name);
    fputs(" \\- ", out);
    roff_words(out, what);
    fputc('\n', out);
}

static void heading(FILE *out, const char *request, const char *title)
{
    fprintf(out, "%s \"", request);
    for (; *title; title++)
        if (*title == '"')
            fputs("\\(dq", out);
        else
            put_char(out, *title);
    fputs("\"\n", out);
}

void roff_section(FILE *out, const char *title)
{
    heading(out, ".SH", title);
}

void roff_subsection(FILE *out, const char *title)
{
    heading(out, ".SS", title);
}

/* Up to the empty line or the end. */
static size_t paragraph_length(const char *text)
{
    const char *end = strstr(text, "\n\n");
    return end ? (size_t)(end - text) : strlen(text);
}

static bool laid_out(const char *text, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == ' ' && text[i + 1] == ' ')
            return true;
    return false;
}

static void lines(FILE *out, const char *text, size_t n)
{
    while (n) {
        const char *end = memchr(text, '\n', n);
        size_t length = end ? (size_t)(end - text) : n;
        put(out, text, length);
        fputc('\n', out);
        length += end != NULL;
        text += length;
        n -= length;
    }
}

void roff_text(FILE *out, const char *text)
{
    for (const char *between = ""; *text; between = ".PP\n") {
        size_t n = paragraph_length(text);
        bool as_is = laid_out(text, n);
        fputs(between, out);
        fputs(as_is ? ".nf\n" : "", out);
        lines(out, text, n);
        fputs(as_is ? ".fi\n" : "", out);
        text += n;
        text += strspn(text, "\n");
    }
}

static void argument_of(FILE *out, const char *argument)
{
    if (!argument)
        return;
    fputs(" \\fI", out);
    roff_words(out, argument);
    fputs("\\fR", out);
}

void roff_item(FILE *out, const char *title, const char *argument)
{
    fputs(".TP\n\\fB", out);
    roff_words(out, title);
    fputs("\\fR", out);
    argument_of(out, argument);
    fputc('\n', out);
}

void roff_entries(FILE *out, const char *title, const struct roff_entry *all, size_t n)
{
    roff_section(out, title);
    for (size_t i = 0; i < n; i++) {
        roff_item(out, all[i].title, NULL);
        roff_text(out, all[i].text);
    }
}

void roff_option(FILE *out, char letter, const char *name, const char *argument)
{
    fputs(".TP\n", out);
    if (letter)
        fprintf(out, "\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    roff_words(out, name);
    fputs("\\fR", out);
    argument_of(out, argument);
    fputc('\n', out);
}

#include "base/command_option.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/roff.h"

/* ---- reading -------------------------------------------------------------------------------- */

enum { LONG = 256 };

/* The tables in getopt's form; `which` leads back. */
struct forms {
    struct option longs[COMMAND_OPTIONS_MAX + 1];
    const struct command_option *which[COMMAND_OPTIONS_MAX];
    char shorts[2 * COMMAND_OPTIONS_MAX + 3];
    int n;
};

static bool is_optional(const struct command_option *o)
{
    return o->argument && *o->argument == '[';
}

static void add(struct forms *f, const struct command_option *o)
{
    for (; o && o->name; o++) {
        assert(f->n < COMMAND_OPTIONS_MAX);
        const int argument = !o->argument     ? no_argument
                             : is_optional(o) ? optional_argument
                                              : required_argument;
        f->longs[f->n] = (struct option){o->name, argument, NULL, LONG + f->n};
        f->which[f->n++] = o;
        if (o->letter)
            snprintf(f->shorts + strlen(f->shorts), 3, "%c%s", o->letter, argument ? ":" : "");
    }
}

static const struct command_option *option_of(const struct forms *f, int letter)
{
    if (letter >= LONG)
        return f->which[letter - LONG];
    for (int i = 0; i < f->n; i++)
        if (f->which[i]->letter == letter)
            return f->which[i];
    return NULL;
}

int command_options_read(const struct command_option *const tables[COMMAND_TABLES], bool lead,
                         int argc, char **argv, command_take_fn *take, void *ctx,
                         struct fis_error *e)
{
    struct forms f = {.shorts = ":"};
    int letter;
    if (lead)
        memcpy(f.shorts, "+:", 3);
    for (int i = 0; i < COMMAND_TABLES; i++)
        add(&f, tables[i]);
    optind = 0; /* glibc: start again */
    while ((letter = getopt_long(argc, argv, f.shorts, f.longs, NULL)) != -1) {
        const struct command_option *o = option_of(&f, letter);
        if (!o)
            return fis_fail(e, FIS_INPUT, letter == ':' ? "%s requires a value" : "no option %s",
                            argv[optind - 1]);
        const char *allowed = take(ctx, o, optarg);
        if (allowed && !*allowed)
            break;
        if (allowed)
            return fis_fail(e, FIS_INPUT, "--%s: found '%s', allowed %s", o->name,
                            optarg ? optarg : "", allowed);
    }
    return optind;
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { HELP_COLUMN = 28, HELP_WIDTH = 79 };

/* "  -c, --config FILE" with what it means, which is wrapped. */
static void write_help(FILE *out, const struct command_option *o)
{
    char letter[8] = "    ", left[80];
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name,
             o->argument && !is_optional(o) ? " " : "", o->argument ? o->argument : "");
    int at = fprintf(out, "%-*s", HELP_COLUMN - 1, left);
    for (const char *word = o->help; *word;) {
        size_t n = strcspn(word, " ");
        if (at + 1 + (int)n > HELP_WIDTH)
            at = fprintf(out, "\n%*s", HELP_COLUMN - 1, "") - 1;
        at += fprintf(out, " %.*s", (int)n, word);
        word += n;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

void command_options_help(FILE *out, const struct command_option *o)
{
    for (; o && o->name; o++)
        write_help(out, o);
}

void command_options_man(FILE *out, const struct command_option *o)
{
    for (; o && o->name; o++) {
        roff_option(out, o->letter, o->name, o->argument);
        roff_text(out, o->help);
    }
}

static bool has_words(const struct command_option *o, enum command_words which)
{
    const bool file = o->argument && (strstr(o->argument, "FILE") || strstr(o->argument, "DIR"));
    return which == COMMAND_WORDS_ALL || (o->argument && file == (which == COMMAND_WORDS_FILES));
}

void command_options_words(FILE *out, const struct command_option *o, enum command_words which)
{
    for (; o && o->name; o++) {
        if (!has_words(o, which))
            continue;
        if (o->letter)
            fprintf(out, " -%c", o->letter);
        fprintf(out, " --%s", o->name);
    }
}

#include "cli/options.h"

#include <getopt.h>
#include <string.h>

#include "base/decimal.h"
#include "wire/csv.h"

int cli_count(const char *text, uint64_t *out)
{
    uint64_t n;
    if (decimal_whole(text, strlen(text), UINT64_MAX, &n) || !n)
        return -1;
    *out = n;
    return 0;
}

int cli_rate(const char *text, double *out)
{
    size_t length = strlen(text);
    double rate;
    if (length > 2 && !strcmp(text + length - 2, "/s"))
        length -= 2;
    if (decimal_read(text, length, &rate) || !(rate > 0) || !(rate <= 1e9))
        return -1;
    *out = rate;
    return 0;
}

int cli_duration(const char *text, double unit_ms, uint64_t *out)
{
    static const struct {
        const char *suffix;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}};
    size_t length = strspn(text, "0123456789.");
    double number;
    if (text[length]) {
        size_t i = 0;
        while (i < 4 && strcmp(text + length, units[i].suffix))
            i++;
        if (i == 4)
            return -1;
        unit_ms = units[i].ms;
    }
    if (decimal_read(text, length, &number) || !(number >= 0) || !(number * unit_ms <= 1e12))
        return -1;
    *out = (uint64_t)(number * unit_ms + .5);
    return 0;
}

struct data_reading cli_reading(const struct cli *c, const struct data_reading *given)
{
    struct data_reading how = given ? *given : (struct data_reading){0};
    how.standard_delimiter =
        wire_csv_delimiter(config_choice("csv.delimiter", c->cfg.csv.delimiter));
    how.unnamed = c->cfg.csv.unnamed;
    how.numeric_text = c->cfg.records.numeric_text;
    return how;
}

const struct cli_option cli_common[] = {
    {"config", 'c', CLI_TEXT, offsetof(struct cli, config_path), "FILE",
     "the pipeline's configuration; default $FISD_CONFIG, else fisd.yaml"},
    {"bootstrap", 'b', CLI_TEXT, offsetof(struct cli, bootstrap), "HOST:PORT",
     "the broker; default kafka.bootstrap.servers, else the embedded one that runs"},
    {"kafka", 'X', CLI_PROPERTY, offsetof(struct cli, given), "NAME=VALUE|FILE",
     "a property of librdkafka, or a file with one a line, beside those of the configuration; may "
     "be repeated. For a password: NAME=file:PATH"},
    {.name = NULL},
};

enum { HELP_COLUMN = 28, HELP_WIDTH = 79 };

/* An option with what it means, which is wrapped. */
static void print_option(const char *left, const char *help, FILE *out)
{
    int at = fprintf(out, "%-*s", HELP_COLUMN - 1, left);
    for (const char *word = help; *word;) {
        size_t n = strcspn(word, " ");
        if (at + 1 + (int)n > HELP_WIDTH)
            at = fprintf(out, "\n%*s", HELP_COLUMN - 1, "") - 1;
        at += fprintf(out, " %.*s", (int)n, word);
        word += n;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

static void print_options(const struct cli_option *o, FILE *out)
{
    for (; o && o->name; o++) {
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        print_option(left, o->help, out);
    }
}

void cli_help(const struct cli_command *command, FILE *out)
{
    fprintf(out, "usage: fisctl %s %s\n\n%s\n\noptions:\n", command->name, command->arguments,
            command->text);
    print_options(command->options, out);
    print_options(cli_common, out);
    print_option("  -h, --help", "this help", out);
}

int cli_usage(const struct cli_command *command, const char *format, ...)
{
    va_list ap;
    const char *space = *command->name ? " " : "";
    fprintf(stderr, "fisctl%s%s: ", space, command->name);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, "\ntry: fisctl%s%s --help\n", space, command->name);
    return CLI_USAGE;
}

/* NULL, or what is allowed instead. */
static const char *store(const struct cli_option *o, void *values, const char *text)
{
    char *at = (char *)values + o->offset;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)at = true;
        return NULL;
    case CLI_PROPERTY: {
        struct cli_properties *list = (struct cli_properties *)(void *)at;
        if (list->n == CLI_PROPERTIES_MAX)
            return "at most " CLI_PROPERTIES_MOST " of them: a FILE has any number";
        list->items[list->n++] = text;
        return *text ? NULL : "NAME=VALUE or a FILE";
    }
    case CLI_TEXT:
        *(const char **)(void *)at = text;
        return *text ? NULL : "a text that is not empty";
    case CLI_COUNT:
        return cli_count(text, (uint64_t *)(void *)at) ? "a whole number of at least 1" : NULL;
    case CLI_RATE:
        return cli_rate(text, (double *)(void *)at) ? "a number a second above 0: 1500 or 1500/s"
                                                    : NULL;
    case CLI_FORMAT:
        return data_format_of(text, (enum data_format *)(void *)at, NULL) ? "csv, tsv, jsonl"
                                                                          : NULL;
    case CLI_DELIMITER:
        *at = wire_csv_delimiter(text);
        return *at ? NULL : "comma, semicolon, tab, pipe";
    case CLI_MILLIS:
        return cli_duration(text, 1, (uint64_t *)(void *)at) ? "a time: 50 (milliseconds), 2s, 1m"
                                                             : NULL;
    case CLI_SECONDS:
        return cli_duration(text, 1e3, (uint64_t *)(void *)at) ? "a time: 5 (seconds), 250ms, 2m"
                                                               : NULL;
    }
    return "nothing";
}

/* The tables of a command and of all commands in getopt's form; `which` leads back. */
struct parser {
    struct option longs[CLI_OPTIONS_MAX + 4];
    const struct cli_option *which[CLI_OPTIONS_MAX + 4];
    char shorts[2 * CLI_OPTIONS_MAX + 8];
    int n;
};

static void add_options(struct parser *p, const struct cli_option *o)
{
    for (; o && o->name && p->n < CLI_OPTIONS_MAX; o++) {
        int argument = o->kind != CLI_FLAG;
        p->longs[p->n] = (struct option){o->name, argument, NULL, 1000 + p->n};
        p->which[p->n++] = o;
        if (o->letter)
            snprintf(p->shorts + strlen(p->shorts), 3, "%c%s", o->letter, argument ? ":" : "");
    }
}

static const struct cli_option *found(const struct parser *p, int letter)
{
    if (letter >= 1000)
        return p->which[letter - 1000];
    for (int i = 0; i < p->n; i++)
        if (p->which[i]->letter == letter)
            return p->which[i];
    return NULL;
}

static bool is_common(const struct cli_option *o)
{
    return o >= cli_common && o < cli_common + sizeof cli_common / sizeof *cli_common;
}

static enum cli_parsed parse(struct cli *c, const struct cli_command *command, struct parser *p,
                             int argc, char **argv, void *values)
{
    int letter;
    add_options(p, command->options);
    add_options(p, cli_common);
    p->longs[p->n] = (struct option){"help", no_argument, NULL, 'h'};
    optind = 0; /* glibc: start again */
    while ((letter = getopt_long(argc, argv, p->shorts, p->longs, NULL)) != -1) {
        const struct cli_option *o = found(p, letter);
        if (letter == 'h')
            return CLI_HELP;
        if (letter == ':' || !o) {
            cli_usage(command, letter == ':' ? "%s requires a value" : "no option %s",
                      argv[optind - 1]);
            return CLI_WRONG;
        }
        const char *allowed = store(o, is_common(o) ? (void *)c : values, optarg ? optarg : "");
        if (allowed) {
            cli_usage(command, "--%s: found '%s', allowed %s", o->name, optarg, allowed);
            return CLI_WRONG;
        }
    }
    return CLI_GO;
}

enum cli_parsed cli_parse(struct cli *c, const struct cli_command *command, int argc, char **argv,
                          void *values, int *first)
{
    struct parser p = {.shorts = ":h"};
    enum cli_parsed parsed = parse(c, command, &p, argc, argv, values);
    if (parsed == CLI_HELP)
        cli_help(command, stdout);
    *first = optind;
    return parsed;
}

enum cli_parsed cli_parse_options(struct cli *c, const struct cli_command *command, int argc,
                                  char **argv, void *values)
{
    int first;
    enum cli_parsed parsed = cli_parse(c, command, argc, argv, values, &first);
    if (parsed != CLI_GO || first == argc)
        return parsed;
    cli_usage(command, "found '%s', only options are allowed", argv[first]);
    return CLI_WRONG;
}

enum cli_parsed cli_parse_file(struct cli *c, const struct cli_command *command, int argc,
                               char **argv, void *values, const char **path)
{
    int first;
    enum cli_parsed parsed = cli_parse(c, command, argc, argv, values, &first);
    if (parsed != CLI_GO)
        return parsed;
    if (argc - first != 1) {
        cli_usage(command, argc > first ? "only one FILE is allowed" : "a FILE is required");
        return CLI_WRONG;
    }
    *path = strcmp(argv[first], "-") ? argv[first] : CLI_STDIN;
    return CLI_GO;
}

const struct cli_option cli_leading_options[] = {
    {"version", 'V', CLI_FLAG, offsetof(struct cli_leading, version), NULL, "the version"},
    {"print-man", 0, CLI_FLAG, offsetof(struct cli_leading, man), NULL, "this manual page"},
    {"print-completion", 0, CLI_FLAG, offsetof(struct cli_leading, completion), NULL,
     "the completion for bash"},
    {.name = NULL},
};

enum cli_parsed cli_parse_leading(struct cli *c, int argc, char **argv, struct cli_leading *leading,
                                  int *first)
{
    static const struct cli_command command = {.name = "", .options = cli_leading_options};
    struct parser p = {.shorts = "+:h"};
    enum cli_parsed parsed = parse(c, &command, &p, argc, argv, leading);
    *first = optind;
    return parsed;
}

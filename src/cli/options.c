#include "cli/options.h"

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

const struct command_option cli_common[] = {
    {"config", 'c', CLI_TEXT, offsetof(struct cli, config_path), "FILE",
     "the pipeline's configuration; default $FISD_CONFIG, else fisd.yaml"},
    {"bootstrap", 'b', CLI_TEXT, offsetof(struct cli, bootstrap), "HOST:PORT",
     "the broker; default kafka.bootstrap.servers, else the embedded one that runs"},
    {"kafka", 'X', CLI_PROPERTY, offsetof(struct cli, given), "NAME=VALUE|FILE",
     "a property of librdkafka, or a file with one a line, beside those of the configuration; may "
     "be repeated. For a password: NAME=file:PATH"},
    {"help", 'h', CLI_HELPING, 0, NULL, "this help; after a command, the help of that command"},
    {.name = NULL},
};

void cli_help(const struct cli_command *command, FILE *out)
{
    fprintf(out, "usage: fisctl %s %s\n\n%s\n\noptions:\n", command->name, command->arguments,
            command->text);
    command_options_help(out, command->options);
    command_options_help(out, cli_common);
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
static const char *store(const struct command_option *o, void *values, const char *text)
{
    char *at = (char *)values + o->offset;
    switch ((enum cli_kind)o->kind) {
    case CLI_HELPING:
        return "";
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

struct parse {
    struct cli *c;
    void *values;
    bool help;
};

static const char *take(void *ctx, const struct command_option *o, const char *value)
{
    struct parse *p = ctx;
    const bool common = o >= cli_common && o < cli_common + sizeof cli_common / sizeof *cli_common;
    p->help = o->kind == CLI_HELPING;
    return store(o, common ? (void *)p->c : p->values, value ? value : "");
}

static enum cli_parsed parse(struct cli *c, const struct cli_command *command, bool lead, int argc,
                             char **argv, void *values, int *first)
{
    const struct command_option *const tables[COMMAND_TABLES] = {command->options, cli_common};
    struct parse p = {.c = c, .values = values};
    struct fis_error e;
    *first = command_options_read(tables, lead, argc, argv, take, &p, &e);
    if (*first >= 0)
        return p.help ? CLI_HELP : CLI_GO;
    cli_usage(command, "%s", e.text);
    return CLI_WRONG;
}

enum cli_parsed cli_parse(struct cli *c, const struct cli_command *command, int argc, char **argv,
                          void *values, int *first)
{
    enum cli_parsed parsed = parse(c, command, false, argc, argv, values, first);
    if (parsed == CLI_HELP)
        cli_help(command, stdout);
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

const struct command_option cli_leading_options[] = {
    {"version", 'V', CLI_FLAG, offsetof(struct cli_leading, version), NULL,
     "the version, and that of librdkafka"},
    {"print-man", 0, CLI_FLAG, offsetof(struct cli_leading, man), NULL,
     "the manual page fisctl(1)"},
    {"print-completion", 0, CLI_FLAG, offsetof(struct cli_leading, completion), NULL,
     "the completion for bash"},
    {.name = NULL},
};

enum cli_parsed cli_parse_leading(struct cli *c, int argc, char **argv, struct cli_leading *leading,
                                  int *first)
{
    static const struct cli_command command = {.name = "", .options = cli_leading_options};
    return parse(c, &command, true, argc, argv, leading, first);
}

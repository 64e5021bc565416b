/*
 * Options of a command (base/command_option.h): what kinds there are, and those of all commands.
 * Thread: getopt keeps global state; one at a time.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/command_option.h"
#include "cli/cli.h"
#include "data/rows.h"

enum cli_kind {
    CLI_FLAG = 1,  /* bool */
    CLI_TEXT,      /* const char *, borrowed from argv */
    CLI_COUNT,     /* uint64_t, at least 1 */
    CLI_RATE,      /* double, a second: "1500" or "1500/s" */
    CLI_MILLIS,    /* uint64_t ms: "50", "50ms", "2s", "1m" */
    CLI_FORMAT,    /* enum data_format */
    CLI_DELIMITER, /* char: comma, semicolon, tab, pipe, or the character itself */
    CLI_SECONDS,   /* uint64_t ms: "5", "0.5", "250ms", "2m" */
    CLI_PROPERTY,  /* struct cli_properties: each time one more, NAME=VALUE or FILE */
    CLI_HELPING    /* the help */
};

struct cli_command {
    const char *name;
    const char *arguments; /* of the usage line: "FILE [options]" */
    const char *summary;   /* one line */
    const char *text;      /* paragraphs for --help, wrapped at 79 */
    const struct command_option *options;
    const struct cli_command *const *commands; /* its own, NULL at the end; or NULL */
    int (*run)(struct cli *c, const struct cli_command *self, int argc, char **argv);
};

/* Of all commands; name NULL at the end. */
extern const struct command_option cli_common[];

/* What cli_parse says. */
enum cli_parsed { CLI_GO = 0, CLI_HELP, CLI_WRONG };

/* argv[0] is the command's name. Options may stand anywhere; those of all commands (-c, -b, -h)
 * are taken too. `values` is the command's struct, defaults filled in. Positional arguments are
 * moved to the end, *first is the index of the first one. Errors and help are printed. */
enum cli_parsed cli_parse(struct cli *c, const struct cli_command *command, int argc, char **argv,
                          void *values, int *first) FIS_MUST_CHECK;
/* Of a command that takes options only. */
enum cli_parsed cli_parse_options(struct cli *c, const struct cli_command *command, int argc,
                                  char **argv, void *values) FIS_MUST_CHECK;
/* The same for what stands before the command: the common options and these, up to the first
 * argument that is none. Help is not printed. */
struct cli_leading {
    bool version, man, completion;
};
extern const struct command_option cli_leading_options[];
enum cli_parsed cli_parse_leading(struct cli *c, int argc, char **argv, struct cli_leading *leading,
                                  int *first) FIS_MUST_CHECK;
/* Of a command that takes one FILE, which is *path; "-" is CLI_STDIN. */
#define CLI_STDIN "/dev/stdin"
enum cli_parsed cli_parse_file(struct cli *c, const struct cli_command *command, int argc,
                               char **argv, void *values, const char **path) FIS_MUST_CHECK;

/* The options of a command that reads rows, into a struct data_reading among its values. */
#define CLI_READING_OPTIONS(type, member)                                                          \
    {"format",   'f',                                                                              \
     CLI_FORMAT, offsetof(type, member.format),                                                    \
     "NAME",     "csv, tsv or jsonl; default by the name of the file"},                            \
    {                                                                                              \
        "delimiter", 0, CLI_DELIMITER, offsetof(type, member.delimiter), "NAME",                   \
            "of CSV: comma, semicolon, tab, pipe; default csv.delimiter, in .tsv a tab"            \
    }
/* These (NULL: none given), and what the configuration has of how files are written. */
struct data_reading cli_reading(const struct cli *c, const struct data_reading *given);

/* The exit code of what is not CLI_GO. */
static inline int cli_parsed_exit(enum cli_parsed p)
{
    return p == CLI_HELP ? CLI_DONE : CLI_USAGE;
}

void cli_help(const struct cli_command *command, FILE *out);
/* "fisctl NAME: …, try --help"; CLI_USAGE. */
int cli_usage(const struct cli_command *command, const char *format, ...) FIS_PRINTF(2, 3);

/* 0, or -1 with nothing written. For their tests, and for `watch --until`. */
int cli_count(const char *text, uint64_t *out) FIS_MUST_CHECK;
int cli_rate(const char *text, double *out) FIS_MUST_CHECK;
int cli_duration(const char *text, double unit_ms, uint64_t *out) FIS_MUST_CHECK;

#endif

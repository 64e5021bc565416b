/* fisd: the command line. */
#include <cblas.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/runtime.h"
#include "fis/version.h"
#include "wire/json_codec.h"

static const char usage[] =
    "fisd " FIS_VERSION ": fairer classifiers from a stream, without harm to accuracy\n"
    "\n"
    "usage: fisd [-c FILE] [--embedded]     run until SIGTERM\n"
    "       fisd --check-config [FILE]      read the configuration, say what is wrong\n"
    "       fisd --print-config             every option with its default and meaning\n"
    "\n"
    "  -c, --config FILE     the configuration (default: $FISD_CONFIG, else ./fisd.yaml)\n"
    "      --embedded        start an in-process broker, for trying: nothing survives\n"
    "      --effective       with --print-config: the values of FILE in force\n"
    "      --reference       with --print-config: as a table in Markdown\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "SIGTERM and SIGINT drain, commit and exit 0 (a second one exits at once); SIGHUP changes\n"
    "nothing. Exit status: 0 stopped and drained, 1 failed or not drained, 2 bad usage or\n"
    "configuration.\n";

struct command {
    const char *config;
    bool check, print, effective, reference, embedded;
};

static int report(const char *path, const struct config_problems *problems,
                  const struct fis_error *e)
{
    if (problems->count == 0)
        fprintf(stderr, "fisd: %s\n", e->text);
    uint32_t shown = problems->count < CONFIG_PROBLEMS_MAX ? problems->count : CONFIG_PROBLEMS_MAX;
    for (uint32_t i = 0; i < shown; i++)
        fprintf(stderr, "fisd: %s\n", problems->text[i]);
    if (problems->count > shown)
        fprintf(stderr, "fisd: %s: %u more\n", path, problems->count - shown);
    return 2;
}

static int with_config(const struct command *c)
{
    struct config cfg;
    struct config_problems problems = {0};
    struct fis_error e;
    if (config_load_all(c->config, &cfg, &problems, &e) < 0)
        return report(c->config, &problems, &e);
    int status = 0;
    if (c->check) {
        printf("%s: ok\n", c->config);
    } else if (c->print) {
        config_print(&cfg, stdout);
    } else if (!c->embedded && !config_kafka(&cfg, "bootstrap.servers")) {
        fprintf(stderr,
                "fisd: %s: key 'kafka.bootstrap.servers': found nothing, allowed host:port "
                "of a broker (or start with --embedded)\n",
                c->config);
        status = 2;
    } else {
        log_set_level((enum log_level)cfg.log.level);
        status = runtime_run(&cfg, c->embedded);
    }
    config_done(&cfg);
    return status;
}

static int run(const struct command *c)
{
    if (c->print && c->reference)
        config_write_markdown(stdout);
    else if (c->print && !c->effective)
        config_write_defaults(stdout);
    else
        return with_config(c);
    return fflush(stdout) == 0 ? 0 : 1;
}

enum { OPT_CHECK = 256, OPT_PRINT, OPT_EFFECTIVE, OPT_REFERENCE, OPT_EMBEDDED };

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check-config", optional_argument, NULL, OPT_CHECK},
    {"print-config", no_argument, NULL, OPT_PRINT},
    {"effective", no_argument, NULL, OPT_EFFECTIVE},
    {"reference", no_argument, NULL, OPT_REFERENCE},
    {"embedded", no_argument, NULL, OPT_EMBEDDED},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct command *c)
{
    int o;
    while ((o = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1) {
        switch (o) {
        case 'c':
            c->config = optarg;
            break;
        case OPT_CHECK:
            c->check = true;
            if (optarg)
                c->config = optarg;
            break;
        case OPT_PRINT:
            c->print = true;
            break;
        case OPT_EFFECTIVE:
            c->effective = true;
            break;
        case OPT_REFERENCE:
            c->reference = true;
            break;
        case OPT_EMBEDDED:
            c->embedded = true;
            break;
        case 'V':
            puts("fisd " FIS_VERSION);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            return 2;
        }
    }
    if (optind < argc && (c->check || c->print))
        c->config = argv[optind++];
    if (optind < argc) {
        fprintf(stderr, "fisd: unexpected argument '%s'; see fisd --help\n", argv[optind]);
        return 2;
    }
    if ((c->effective || c->reference) && !c->print) {
        fprintf(stderr, "fisd: --%s goes with --print-config; see fisd --help\n",
                c->effective ? "effective" : "reference");
        return 2;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct command c = {.config = getenv("FISD_CONFIG")};
    if (!c.config || !*c.config)
        c.config = "fisd.yaml";
    int status = parse(argc, argv, &c);
    if (status >= 0)
        return status;
    /* Work is spread over processes and workers; a BLAS call uses the thread that makes it. */
    openblas_set_num_threads(1);
    signal(SIGPIPE, SIG_IGN);
    wire_json_init();
    return run(&c);
}

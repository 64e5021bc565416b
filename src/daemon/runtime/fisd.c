/* fisd: what the command line asks for. */
#include <cblas.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "binding/binding.h"
#include "daemon/monitor/alarms.h"
#include "daemon/runtime/command_line.h"
#include "daemon/context/dead_letter.h"
#include "daemon/runtime/example_files.h"
#include "daemon/monitor/metrics.h"
#include "daemon/monitor/monitor_http_files.h"
#include "daemon/runtime/runtime.h"
#include "fis/network.h"
#include "fis/version.h"
#include "stream/clients_check.h"
#include "stream/library.h"
#include "wire/json_codec.h"

#define PROPERTIES_MAX 500 /* of the option kafka */

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

/* Whether each property is right by itself. */
static bool look_at_kafka(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    bool right = true;
    for (uint32_t i = 0; i < cfg->kafka.count; i++) {
        const struct config_property *p = &cfg->kafka.items[i];
        char key[300];
        struct fis_error e;
        snprintf(key, sizeof key, "kafka.%s", p->name);
        if (stream_property_check(&(struct stream_property){p->name, p->value}, &e) < 0) {
            refuse(ctx, key, e.text);
            right = false;
        }
    }
    return right;
}

/* The property that an error is about: the first that it names. */
static const char *to_blame(const struct config *cfg, const struct fis_error *e)
{
    for (uint32_t i = 0; i < cfg->kafka.count; i++)
        if (strstr(e->text, cfg->kafka.items[i].name))
            return cfg->kafka.items[i].name;
    return NULL;
}

/* What is right by itself may be refused by a client, or beside others. */
static void look_at_clients(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    struct stream_property all[PROPERTIES_MAX];
    struct fis_error e;
    uint32_t n = binding_properties(cfg, all);
    if (stream_clients_check(all, n, cfg->delivery == CONFIG_EXACTLY_ONCE, &e) == 0)
        return;
    const char *name = to_blame(cfg, &e);
    char key[300];
    snprintf(key, sizeof key, "kafka%s%.280s", name ? "." : "", name ? name : "");
    refuse(ctx, key, e.text);
}

static void look_at_all(const struct config *cfg, bool check, config_refuse_fn *refuse, void *ctx)
{
    example_files_look(cfg, check, refuse, ctx);
    if (look_at_kafka(cfg, refuse, ctx))
        look_at_clients(cfg, refuse, ctx);
    http_files_look(cfg, refuse, ctx);
}

static void look_for_start(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    look_at_all(cfg, false, refuse, ctx);
}

/* What the one refuses the other does too. */
static void look_for_check(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    look_at_all(cfg, true, refuse, ctx);
}

static int with_config(const struct command_line *c)
{
    struct config cfg;
    struct config_problems problems = {0};
    struct fis_error e;
    config_look_fn *look = c->action == COMMAND_PRINT   ? NULL
                           : c->action == COMMAND_CHECK ? look_for_check
                                                        : look_for_start;
    if (config_load_look(c->config, look, &cfg, &problems, &e) < 0)
        return report(c->config, &problems, &e);
    int status = 0;
    if (c->action == COMMAND_CHECK) {
        printf("%s: ok\n", c->config);
    } else if (c->action == COMMAND_PRINT) {
        config_print(&cfg, stdout);
        status = fflush(stdout) == 0 ? 0 : 1;
    } else if (!c->embedded && !config_kafka(&cfg, "bootstrap.servers")) {
        fprintf(stderr,
                "fisd: %s: key 'kafka.bootstrap.servers': found nothing, allowed host:port "
                "of a broker (or start with --embedded)\n",
                c->config);
        status = 2;
    } else {
        log_set_level((enum log_level)cfg.log.level);
        runtime_run(&cfg, c->config, c->embedded);
    }
    config_done(&cfg);
    return status;
}

static void print_version(void)
{
    char library[64];
    stream_library_text(library, sizeof library);
    printf("fisd " FIS_VERSION " (%s)\n", library);
}

static int print(const struct command_line *c)
{
    if (c->action == COMMAND_HELP)
        command_line_help(stdout);
    else if (c->action == COMMAND_VERSION)
        print_version();
    else if (c->action == COMMAND_PRINT_MAN)
        manual_write_page(stdout);
    else if (c->action == COMMAND_PRINT_COMPLETION)
        manual_write_completion(stdout);
    else if (c->action == COMMAND_PRINT_METRICS)
        metrics_write_markdown(stdout);
    else if (c->action == COMMAND_PRINT_ALARMS)
        alarms_write_markdown(stdout);
    else if (c->action == COMMAND_PRINT_DEAD_LETTERS)
        dead_letter_write_markdown(stdout);
    else if (c->reference)
        config_write_markdown(stdout);
    else if (c->man)
        config_write_man(stdout);
    else
        config_write_defaults(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

/* For jemalloc, which the environment's MALLOC_CONF overrules: what was not used for a second goes
 * back to the kernel, when memory is next asked for or given back. A queue of records that fills
 * and empties all the time keeps its memory. */
const char *malloc_conf = "dirty_decay_ms:1000,muzzy_decay_ms:0";

int main(int argc, char **argv)
{
    struct command_line c;
    log_reserve_descriptors();
    int status = command_line_parse(argc, argv, &c);
    if (status)
        return status;
    if (c.action >= COMMAND_PRINT && !c.effective)
        return print(&c);
    /* Work is spread over processes and workers; a BLAS call uses the thread that makes it. */
    openblas_set_num_threads(1);
    fis_flush_denormals();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* until the loop takes it: the file is about to be read */
    wire_json_init();
    return with_config(&c);
}

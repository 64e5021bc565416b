/*
 * fisctl doctor: checks all that a pipeline depends on, and prints how to correct it.
 */
#include "cli/command_table.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "cli/doctor.h"

struct options {
    bool json;
};

/* ---- configuration and files ------------------------------------------------------------------
 */

/* All problems of the file at once; true when it can be used. */
static bool check_configuration(struct doctor *d)
{
    struct config cfg = {0};
    struct config_problems problems;
    struct fis_error e;
    if (config_load_all(d->cli->config_path, &cfg, &problems, &e)) {
        uint32_t n = problems.count < CONFIG_PROBLEMS_MAX ? problems.count : CONFIG_PROBLEMS_MAX;
        for (uint32_t i = 0; i < n; i++)
            doctor_say(d, DOCTOR_FAULT, "configuration", "%s", problems.text[i]);
        if (!n)
            doctor_say(d, DOCTOR_FAULT, "configuration", "%s", e.text);
        return false;
    }
    config_done(&cfg);
    doctor_say(d, DOCTOR_OK, "configuration", "%s can be read", d->cli->config_path);
    return true;
}

static uint32_t check_file(struct doctor *d, const char *key, const char *path)
{
    if (!path || !strncmp(path, "credential:", 11) || !access(path, R_OK))
        return 0;
    doctor_say(d, DOCTOR_FAULT, "files", "%s: %s: %s", key, path, strerror(errno));
    return 1;
}

static void doctor_files(struct doctor *d)
{
    const struct config *cfg = &d->cli->cfg;
    uint32_t bad = 0;
    bool trainer = (cfg->roles & CONFIG_TRAINER) != 0;
    if (trainer && cfg->initial.source == CONFIG_FILE)
        bad += check_file(d, "initial.file", cfg->initial.file);
    if (trainer && cfg->validation.source == CONFIG_FILE)
        bad += check_file(d, "validation.file", cfg->validation.file);
    bad += check_file(d, "http.token_file", cfg->http.token_file);
    bad += check_file(d, "http.tls_cert", cfg->http.tls_cert);
    bad += check_file(d, "http.tls_key", cfg->http.tls_key);
    bad += check_file(d, "webhook.ca_file", cfg->webhook.ca_file);
    bad += check_file(d, "records.registry.ca_file", cfg->records.registry.ca_file);
    bad += check_file(d, "records.registry.tls_cert", cfg->records.registry.tls_cert);
    bad += check_file(d, "records.registry.tls_key", cfg->records.registry.tls_key);
    for (uint32_t i = 0; i < cfg->kafka.count; i++) {
        const struct config_property *p = &cfg->kafka.items[i];
        if (config_property_is_path(p->name, p->value))
            bad += check_file(d, p->name, p->value);
    }
    if (bad)
        return;
    doctor_command(d, "fisd --check-config %s", d->cli->config_path);
    doctor_say(d, DOCTOR_OK, "files",
               "all exist; the contents of those of examples are checked by");
}

/* ---- the command ------------------------------------------------------------------------------
 */

static void check_broker(struct doctor *d)
{
    static void (*const checks[])(struct doctor *) = {
        doctor_replicas,  doctor_retention, doctor_limits,       doctor_rights, doctor_members,
        doctor_selection, doctor_lag,       doctor_transactions, doctor_clock};
    if (!doctor_topics(d))
        return;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && !cli_stopping(d->cli); i++)
        checks[i](d);
}

static int examine(struct doctor *d)
{
    struct fis_error e;
    char faults[64], warnings[64];
    if (check_configuration(d)) {
        int rc = cli_open(d->cli, &e);
        if (rc)
            doctor_say(d, DOCTOR_FAULT, "broker", "%s", e.text);
        else
            doctor_files(d);
        if (!rc)
            doctor_registry(d);
        if (!rc)
            check_broker(d);
    }
    if (!d->json)
        printf("\n%s, %s\n", decimal_counted(d->count[DOCTOR_FAULT], "fault", faults),
               decimal_counted(d->count[DOCTOR_WARN], "warning", warnings));
    if (cli_stopping(d->cli))
        cli_say("interrupted: not everything was checked");
    return d->count[DOCTOR_FAULT] || cli_stopping(d->cli) ? CLI_FAILED : CLI_DONE;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    struct doctor d = {.cli = c};
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    d.json = o.json;
    return examine(&d);
}

static const struct command_option options[] = {
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a finding"},
    {.name = NULL},
};

const struct cli_command cmd_doctor = {
    .name = "doctor",
    .arguments = "[options]",
    .summary = "check all that the pipeline depends on, and print how to correct it",
    .text =
        "Checks the configuration, its files, the schema registry, the broker, the topics\n"
        "(partitions, cleanup policies, replicas, retention, limits), the rights of this\n"
        "principal for the roles of the configuration, groups and lag, open transactions and\n"
        "clocks. Prints every finding: ok, warning or fault, with the command that corrects it.\n"
        "Changes nothing: rights are tested by requests that the broker authorizes and then\n"
        "refuses for another reason.\n\n"
        "Exit code 0: no fault; 1: at least one.",
    .options = options,
    .run = run,
};

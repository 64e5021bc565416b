/* The schema registry, for records whose encoding is by it. */
#include <stdio.h>

#include "cli/doctor.h"
#include "cli/schemas.h"
#include "config/topic_list.h"

/* Which schema a topic's newest records probably have: the subject by the usual naming strategy. */
static bool check_subject(struct doctor *d, struct cli_schemas *s, const char *topic)
{
    char subject[300];
    uint32_t version, id;
    struct wire_format *format = NULL;
    struct fis_error e;
    snprintf(subject, sizeof subject, "%s-value", topic);
    int rc = registry_subject(s->registry, subject, &version, &id, &e);
    if (rc == -(int)FIS_INPUT) {
        doctor_say(d, DOCTOR_WARN, "registry",
                   "no subject %s: no schema is registered yet, or the writer names subjects in "
                   "another way (%s)",
                   subject, e.text);
        return true;
    }
    if (!rc)
        rc = registry_fetch(s->registry, id, &format, &e);
    wire_format_free(format);
    if (rc)
        doctor_say(d, DOCTOR_FAULT, "registry", "%s", e.text);
    else
        doctor_say(d, DOCTOR_OK, "registry",
                   "%s: subject %s, version %u, schema id %u, which can be read",
                   registry_host(s->registry), subject, version, id);
    return rc == 0 || e.kind == FIS_INPUT;
}

void doctor_registry(struct doctor *d)
{
    const struct config *cfg = &d->cli->cfg;
    const char *topics[CONFIG_RECORDS_MAX];
    struct cli_schemas s;
    struct fis_error e;
    if (cfg->records.encoding != CONFIG_REGISTRY || !(cfg->roles & CONFIG_SCORER))
        return;
    if (cli_schemas_open(&s, d->cli, &e)) {
        doctor_say(d, DOCTOR_FAULT, "registry", "%s", e.text);
        return;
    }
    uint32_t n = config_record_topics(cfg, topics);
    for (uint32_t i = 0; i < n && check_subject(d, &s, topics[i]); i++)
        ;
    cli_schemas_close(&s);
}

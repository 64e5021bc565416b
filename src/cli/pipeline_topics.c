#include "cli/pipeline_topics.h"

#include <string.h>

#include "base/decimal.h"
#include "cli/ledger_view.h"
#include "cli/line_input.h"
#include "cli/models.h"
#include "cli/screen.h"
#include "fis/mem.h"

uint32_t pipeline_topics(const struct cli *c, bool create,
                         struct config_topic list[CONFIG_TOPICS_MAX],
                         struct stream_topic out[CONFIG_TOPICS_MAX])
{
    uint32_t n = config_topics_list(&c->cfg, list);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = binding_topic(&list[i]);
        if (!list[i].yours || create)
            continue;
        /* The user's own topics may be kept and split as their owner likes. */
        out[i].partitions = -1;
        if (!list[i].compact)
            out[i].cleanup = STREAM_CLEANUP_ANY;
    }
    return n;
}

int pipeline_members_read(const struct cli *c, struct pipeline_members *m, struct fis_error *e)
{
    char scorers[CONFIG_GROUP_MAX], trainers[CONFIG_GROUP_MAX];
    config_scorer_group(&c->cfg, scorers);
    config_trainer_group(&c->cfg, trainers);
    int rc = stream_group_members(&c->client, scorers, cli_answer_ms(c), &m->scorers, e);
    return rc ? rc : stream_group_members(&c->client, trainers, cli_answer_ms(c), &m->trainers, e);
}

/* ---- deletion ------------------------------------------------------------------------------ */

struct deletion {
    struct cli *cli;
    const char *names[CONFIG_TOPICS_MAX]; /* that exist */
    uint32_t n;
    bool named; /* by the operator */
};

/* "labels" or "credit.labels": the part behind the last dot is the option's, with '-' for '_'. */
static bool is_called(const struct cli *c, const struct config_topic *t, const char *name)
{
    const char *prefix = c->cfg.topics.prefix;
    size_t length = strlen(prefix);
    bool usual = !strncmp(t->name, prefix, length) && t->name[length] == '.';
    return !strcmp(t->name, name) || (usual && !strcmp(t->name + length + 1, name));
}

static const struct config_topic *find_topic(const struct cli *c, const struct config_topic *list,
                                             uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_called(c, &list[i], name))
            return &list[i];
    return NULL;
}

/* Which of the pipeline's topics are meant: chosen [CONFIG_TOPICS_MAX]. */
static int choose(const struct cli *c, const struct config_topic *list, uint32_t n, char **names,
                  int count, bool *chosen, struct fis_error *e)
{
    for (uint32_t i = 0; i < n; i++)
        chosen[i] = count == 0 && !list[i].yours;
    for (int k = 0; k < count; k++) {
        const struct config_topic *t = find_topic(c, list, n, names[k]);
        if (!t)
            return fis_fail(e, FIS_INPUT, "%s is not a topic of pipeline '%s': fisctl topics check",
                            names[k], c->cfg.pipeline);
        chosen[t - list] = true;
    }
    return 0;
}

static int print_ledger(struct cli *c, struct fis_error *e)
{
    struct ledger_view v;
    int rc = ledger_view_read(&v, c, e);
    if (!rc)
        printf("With the ledger: %s paid for, %s, and the trainer's memory.\n",
               DECIMAL_COUNT(v.count[WIRE_ACCEPTED] + v.count[WIRE_SET_ASIDE], "label"),
               DECIMAL_COUNT(v.count[WIRE_REQUESTED], "open request"));
    ledger_view_done(&v);
    return rc;
}

static int print_models(struct cli *c, struct fis_error *e)
{
    struct models m;
    int rc = models_init(&m, e);
    if (!rc)
        rc = models_read(&m, c, e);
    const struct wire_model *served = rc ? NULL : models_served(&m);
    char versions[64];
    if (served)
        printf("With the models: %s; version %llu is served.\n",
               decimal_counted(m.n, "version", versions), (unsigned long long)served->version);
    models_done(&m);
    return rc;
}

static int count_messages(const struct cli *c, const char *topic, uint64_t *sum,
                          struct fis_error *e)
{
    struct stream_end *ends;
    uint32_t n;
    int rc = stream_topic_ends(&c->client, topic, cli_answer_ms(c), &ends, &n, e);
    *sum = 0;
    for (uint32_t i = 0; !rc && i < n; i++)
        *sum += (uint64_t)(ends[i].high - ends[i].low);
    if (!rc)
        fis_free(ends);
    return rc;
}

static bool has_topic(const struct deletion *d, const char *name)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (!strcmp(d->names[i], name))
            return true;
    return false;
}

static int print_losses(const struct deletion *d, struct fis_error *e)
{
    static const char *const headings[] = {"topic", ">messages at most"};
    struct screen_table t;
    char digits[DECIMAL_GROUPED];
    int rc = 0;
    screen_table_init(&t, headings, 2);
    for (uint32_t i = 0; !rc && i < d->n; i++) {
        uint64_t messages;
        rc = count_messages(d->cli, d->names[i], &messages, e);
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%s", d->names[i]);
        screen_table_cell(&t, 1, "%s", rc ? "" : decimal_grouped(messages, digits));
    }
    if (screen_table_print(&t, stdout) && !rc)
        rc = fis_fail(e, FIS_NOMEM, "no memory for the table");
    if (!rc && has_topic(d, d->cli->cfg.topics.ledger))
        rc = print_ledger(d->cli, e);
    if (!rc && has_topic(d, d->cli->cfg.topics.models))
        rc = print_models(d->cli, e);
    return rc;
}

static int confirm(struct cli *c, struct fis_error *e)
{
    struct line_input in = {0};
    if (line_input_ended(&in))
        return fis_fail(e, FIS_INPUT,
                        "nothing was deleted: standard input is no terminal; give --yes");
    printf("Type %s to delete them for good: ", c->cfg.pipeline);
    fflush(stdout);
    const char *line = line_input_next(&in, c);
    return line && !strcmp(line, c->cfg.pipeline) ? 0
                                                  : fis_fail(e, FIS_INPUT, "nothing was deleted");
}

/* Deleted under a member a topic may come back empty, made by the broker for who asks for it. */
static int nobody_runs(const struct cli *c, struct fis_error *e)
{
    struct pipeline_members m;
    char scorers[64], trainers[64];
    int rc = pipeline_members_read(c, &m, e);
    if (rc || !(m.scorers + m.trainers))
        return rc;
    return fis_fail(e, FIS_INPUT,
                    "nothing was deleted: running of pipeline '%s': %s and %s; stop them first "
                    "(one that was killed counts until its session ends, a minute at most)",
                    c->cfg.pipeline, decimal_counted(m.scorers, "scorer", scorers),
                    decimal_counted(m.trainers, "trainer", trainers));
}

static int delete_groups(const struct cli *c, struct fis_error *e)
{
    void (*const names[])(const struct config *, char *) = {
        config_scorer_group, config_trainer_group, config_webhook_group};
    char group[CONFIG_GROUP_MAX];
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !rc; i++) {
        names[i](&c->cfg, group);
        rc = stream_group_delete(&c->client, group, cli_answer_ms(c), e);
    }
    return rc;
}

static int delete_all(const struct deletion *d, struct fis_error *e)
{
    struct stream_topic_report reports[CONFIG_TOPICS_MAX];
    const struct cli *c = d->cli;
    int rc = stream_topics_delete(&c->client, d->names, d->n, cli_answer_ms(c), reports, e);
    for (uint32_t i = 0; i < d->n && (!rc || rc == -FIS_FATAL); i++)
        printf("%s: %s\n", d->names[i], reports[i].exists ? reports[i].text : "deleted");
    if (!rc && !d->named)
        printf(
            "%s and %s stay. To begin again with the same records, delete them too (fisctl topics "
            "delete records labels): fisctl label passes over a request that has an old label.\n",
            c->cfg.topics.records, c->cfg.topics.labels);
    return rc || d->named ? rc : delete_groups(c, e);
}

static int list_existing(struct deletion *d, const struct config_topic *list,
                         const struct stream_topic *topics, uint32_t n, const bool *chosen,
                         struct fis_error *e)
{
    struct stream_topic_report reports[CONFIG_TOPICS_MAX] = {0};
    int rc = stream_topics_check(&d->cli->client, topics, n, cli_answer_ms(d->cli), reports, e);
    for (uint32_t i = 0; !rc && i < n; i++)
        if (chosen[i] && reports[i].exists)
            d->names[d->n++] = list[i].name;
    return rc;
}

int pipeline_topics_delete(struct cli *c, char **names, int n, bool yes, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct deletion d = {.cli = c, .named = n > 0};
    bool chosen[CONFIG_TOPICS_MAX];
    uint32_t count = pipeline_topics(c, false, list, topics);
    if (c->embedded)
        return fis_fail(e, FIS_INPUT, "the topics of the embedded broker end with its fisd");
    int rc = choose(c, list, count, names, n, chosen, e);
    if (!rc)
        rc = nobody_runs(c, e);
    if (!rc)
        rc = list_existing(&d, list, topics, count, chosen, e);
    if (!rc && !d.n) {
        printf("There is nothing to delete.\n");
        return 0;
    }
    if (!rc)
        rc = print_losses(&d, e);
    if (!rc && !yes)
        rc = confirm(c, e);
    return rc ? rc : delete_all(&d, e);
}

/*
 * fisctl topics: creates and checks the topics of a pipeline.
 */
#include "cli/command_table.h"

#include <string.h>

#include "cli/screen.h"
#include "config/topic_list.h"
#include "stream/topics.h"

/* The embedded broker has no controller that could answer for policies: it is not waited for. */
enum { TIMEOUT_MS = 20000, EMBEDDED_MS = 1500 };

static uint32_t wanted_topics(const struct cli *c, bool create, struct config_topic *list,
                              struct stream_topic *out)
{
    uint32_t n = config_topics_list(&c->cfg, list);
    for (uint32_t i = 0; i < n; i++) {
        /* The user's own topics may be kept and split as their owner likes. */
        bool free_choice = list[i].yours && !create;
        out[i] = (struct stream_topic){
            .name = list[i].name,
            .partitions = free_choice ? -1 : (int32_t)list[i].partitions,
            .replication = (int16_t)list[i].replication,
            .cleanup = list[i].compact ? STREAM_CLEANUP_COMPACT
                       : free_choice   ? STREAM_CLEANUP_ANY
                                       : STREAM_CLEANUP_DELETE,
            /* Kafka refuses what is stamped an hour ahead, and a clock may be wrong by more. */
            .broker_time = !list[i].yours,
            .max_message_bytes = (int64_t)list[i].max_message_bytes,
        };
    }
    return n;
}

static const char *state_of(const struct stream_topic_report *r, bool create)
{
    if (r->text[0])
        return r->text;
    if (r->created)
        return "created";
    if (!r->exists)
        return "missing";
    return create ? "was there" : "ok";
}

static int print_topics(const struct config_topic *list, const struct stream_topic_report *reports,
                        uint32_t n, bool create, struct fis_error *e)
{
    static const char *const headings[] = {"topic", ">partitions", "cleanup", "state"};
    struct screen_table t;
    screen_table_init(&t, headings, 4);
    for (uint32_t i = 0; i < n; i++) {
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%s", list[i].name);
        screen_table_cell(&t, 1, "%d",
                          reports[i].partitions > 0 ? (int)reports[i].partitions
                                                    : (int)list[i].partitions);
        bool any = list[i].yours && !list[i].compact && !create;
        screen_table_cell(&t, 2, "%s", any ? "yours" : list[i].compact ? "compact" : "delete");
        screen_table_cell(&t, 3, "%s", state_of(&reports[i], create));
    }
    return screen_table_print(&t, stdout) ? fis_fail(e, FIS_NOMEM, "no memory for the table") : 0;
}

static int create_topics(struct cli *c, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct stream_topic_report reports[CONFIG_TOPICS_MAX] = {0};
    uint32_t n = wanted_topics(c, true, list, topics);
    int rc = c->embedded ? STREAM_TOPICS_UNSUPPORTED
                         : stream_topics_create(&c->client, topics, n, TIMEOUT_MS, reports, e);
    if (rc == STREAM_TOPICS_UNSUPPORTED) {
        printf("%s creates topics by itself when they are first used; nothing to do.\n",
               c->embedded ? "The embedded broker" : "This broker");
        return 0;
    }
    return rc ? rc : print_topics(list, reports, n, true, e);
}

/* A topic that takes less than the pipeline may send would refuse it when it comes. */
static int check_limits(const struct cli *c, const struct config_topic *list, uint32_t n,
                        struct stream_topic_report *reports, struct fis_error *e)
{
    const char *names[CONFIG_TOPICS_MAX];
    int64_t limits[CONFIG_TOPICS_MAX];
    for (uint32_t i = 0; i < n; i++)
        names[i] = list[i].name;
    int rc = stream_topics_limits(&c->client, names, n, TIMEOUT_MS, limits, e);
    for (uint32_t i = 0; !rc && i < n; i++) {
        struct stream_topic_report *r = &reports[i];
        int64_t wanted = (int64_t)list[i].max_message_bytes;
        size_t used = strlen(r->text);
        if (limits[i] <= 0 || limits[i] >= wanted)
            continue;
        r->differs = true;
        snprintf(r->text + used, sizeof r->text - used,
                 "%smax.message.bytes is %lld, expected %lld", used ? "; " : "",
                 (long long)limits[i], (long long)wanted);
    }
    return rc;
}

/* 0: all well; INPUT: something is missing or differs. */
static int check_topics(struct cli *c, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct stream_topic_report reports[CONFIG_TOPICS_MAX] = {0};
    uint32_t n = wanted_topics(c, false, list, topics), wrong = 0;
    int rc = stream_topics_check(&c->client, topics, n, c->embedded ? EMBEDDED_MS : TIMEOUT_MS,
                                 reports, e);
    if (!rc)
        rc = check_limits(c, list, n, reports, e);
    for (uint32_t i = 0; i < n; i++)
        wrong += !reports[i].exists || reports[i].differs;
    bool partial = rc == STREAM_TOPICS_UNSUPPORTED || (c->embedded && reports[n - 1].exists);
    if (rc < 0 && !partial)
        return rc;
    rc = print_topics(list, reports, n, false, e);
    if (rc)
        return rc;
    if (partial)
        printf("The broker does not tell cleanup policies%s: they were not checked.\n",
               c->embedded ? " (the embedded one keeps the last 5 MB of a partition)" : "");
    if (wrong)
        return fis_fail(e, FIS_INPUT, "%u of %u topics are missing or not as configured", wrong, n);
    return 0;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct fis_error e;
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, NULL, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc - first != 1)
        return cli_usage(self, "one of create and check is required");
    bool create = !strcmp(argv[first], "create");
    if (!create && strcmp(argv[first], "check"))
        return cli_usage(self, "found '%s', allowed create, check", argv[first]);
    int rc = cli_open(c, &e);
    if (!rc)
        rc = create ? create_topics(c, &e) : check_topics(c, &e);
    return rc ? cli_fail(&e) : CLI_DONE;
}

const struct cli_command cmd_topics = {
    .name = "topics",
    .arguments = "create|check [options]",
    .summary = "create the topics of the pipeline, or check them",
    .text = "create  makes the topics that are missing, with the partitions, the replication and\n"
            "        the cleanup policies that the pipeline needs; those that exist stay as they\n"
            "        are\n"
            "check   says of each topic whether it is there and as it should be; exit code 1 when\n"
            "        one is not\n\n"
            "The embedded broker makes topics on first use and cannot be asked for policies.",
    .run = run,
};

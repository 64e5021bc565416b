/*
 * fisctl topics: creates and checks the topics of a pipeline.
 */
#include "cli/command_table.h"

#include <string.h>

#include "cli/screen.h"
#include "config/topic_list.h"
#include "stream/topics.h"

/* The embedded broker has no controller that could answer for policies: it is not waited for. */
enum { TIMEOUT_MS = 20000, EMBEDDED_MS = 1500, COMMAND_BYTES = 1024 };

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
            .state = list[i].compact && !list[i].yours,
            /* Kafka refuses what is stamped an hour ahead, and a clock may be wrong by more. */
            .broker_time = !list[i].yours,
            .max_message_bytes = (int64_t)list[i].max_message_bytes,
        };
    }
    return n;
}

static const char *state_of(const struct stream_topic_report *r)
{
    if (r->text[0])
        return r->text;
    return r->created ? "created" : r->exists ? "ok" : "missing";
}

/* What is there, not what was asked for. */
static int print_topics(const struct config_topic *list, const struct stream_topic_report *reports,
                        uint32_t n, struct fis_error *e)
{
    static const char *const headings[] = {"topic", ">partitions", "cleanup", "state"};
    struct screen_table t;
    screen_table_init(&t, headings, 4);
    for (uint32_t i = 0; i < n; i++) {
        const struct stream_topic_report *r = &reports[i];
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%s", list[i].name);
        screen_table_cell(&t, 1, r->exists ? "%d" : "-", (int)r->partitions);
        screen_table_cell(&t, 2, "%s", r->kept.known ? r->kept.cleanup : "-");
        screen_table_cell(&t, 3, "%s", state_of(r));
    }
    return screen_table_print(&t, stdout) ? fis_fail(e, FIS_NOMEM, "no memory for the table") : 0;
}

static void print_commands(const struct cli *c, const struct stream_topic *topics,
                           const struct stream_topic_report *reports, uint32_t n)
{
    char command[COMMAND_BYTES];
    for (uint32_t i = 0; i < n; i++) {
        stream_topic_command(&topics[i], &reports[i], c->broker, command, sizeof command);
        if (command[0])
            printf("%s\n", command);
    }
}

/* 0: all well; INPUT: something is missing or differs. */
static int check_topics(struct cli *c, struct stream_topic_report *reports, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    uint32_t n = wanted_topics(c, false, list, topics), wrong = 0;
    int rc = stream_topics_check(&c->client, topics, n, c->embedded ? EMBEDDED_MS : TIMEOUT_MS,
                                 reports, e);
    for (uint32_t i = 0; i < n; i++)
        wrong += !reports[i].exists || reports[i].differs;
    bool partial = rc == STREAM_TOPICS_UNSUPPORTED || (c->embedded && reports[n - 1].exists);
    if (rc < 0 && !partial)
        return rc;
    rc = print_topics(list, reports, n, e);
    if (rc)
        return rc;
    if (partial)
        printf("The broker does not describe cleanup policies%s: they were not checked.\n",
               c->embedded ? " (the embedded one keeps the last 5 MB of a partition)" : "");
    print_commands(c, topics, reports, n);
    if (wrong)
        return fis_fail(e, FIS_INPUT, "%u of %u topics are missing or not as configured", wrong, n);
    return 0;
}

static int create_topics(struct cli *c, struct stream_topic_report *reports, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    uint32_t n = wanted_topics(c, true, list, topics);
    int rc = c->embedded ? STREAM_TOPICS_UNSUPPORTED
                         : stream_topics_create(&c->client, topics, n, TIMEOUT_MS, reports, e);
    if (rc == STREAM_TOPICS_UNSUPPORTED) {
        printf("%s creates topics by itself when they are first used; nothing to do.\n",
               c->embedded ? "The embedded broker" : "This broker");
        return 0;
    }
    return rc ? rc : check_topics(c, reports, e);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct stream_topic_report reports[CONFIG_TOPICS_MAX] = {0};
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
        rc = create ? create_topics(c, reports, &e) : check_topics(c, reports, &e);
    return rc ? cli_fail(&e) : CLI_DONE;
}

const struct cli_command cmd_topics = {
    .name = "topics",
    .arguments = "create|check [options]",
    .summary = "create the topics of the pipeline, or check them",
    .text =
        "create  makes the topics that are missing, with the partitions, the replication and\n"
        "        the cleanup policies that the pipeline needs; those that exist stay as they\n"
        "        are. Then as check\n"
        "check   shows each topic as it is, and the command that sets what is not as it should\n"
        "        be; exit code 1 when a topic is missing or differs\n\n"
        "The embedded broker makes topics on first use and cannot be asked for policies.",
    .run = run,
};

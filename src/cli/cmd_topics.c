/*
 * fisctl topics: creates, checks and deletes the topics of a pipeline.
 */
#include "cli/command_table.h"

#include <string.h>

#include "cli/pipeline_topics.h"
#include "cli/screen.h"

/* The embedded broker has no controller that could answer for policies: it is not waited for. */
enum { COMMAND_BYTES = 1024 };

struct options {
    bool yes;
};

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
    uint32_t n = pipeline_topics(c, false, list, topics), wrong = 0;
    int rc = stream_topics_check(&c->client, topics, n, cli_answer_ms(c), reports, e);
    for (uint32_t i = 0; i < n; i++)
        wrong += !reports[i].exists || reports[i].differs;
    bool partial = rc == STREAM_TOPICS_UNSUPPORTED;
    if (rc < 0)
        return rc;
    rc = print_topics(list, reports, n, e);
    if (rc)
        return rc;
    if (partial)
        printf("The broker does not describe cleanup policies%s: they were not checked.\n",
               c->embedded ? " (the embedded one keeps the last 5 MB of a partition)" : "");
    print_commands(c, topics, reports, n);
    if (wrong)
        return fis_fail(e, FIS_INPUT, "missing or not as configured: %u of %u topics", wrong, n);
    return 0;
}

static int create_topics(struct cli *c, struct stream_topic_report *reports, struct fis_error *e)
{
    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    uint32_t n = pipeline_topics(c, true, list, topics);
    int rc = c->embedded
                 ? STREAM_TOPICS_UNSUPPORTED
                 : stream_topics_create(&c->client, topics, n, cli_answer_ms(c), reports, e);
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
    struct options o = {0};
    struct fis_error e;
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    const char *verb = first < argc ? argv[first] : "";
    bool create = !strcmp(verb, "create"), remove = !strcmp(verb, "delete");
    int n = argc - first - 1;
    if (!create && !remove && strcmp(verb, "check"))
        return cli_usage(self, "found '%s', allowed create, check, delete", verb);
    if (!remove && (n > 0 || o.yes))
        return cli_usage(self, "%s takes no %s", verb, n > 0 ? "argument" : "--yes");
    int rc = cli_open(c, &e);
    if (!rc)
        rc = create   ? create_topics(c, reports, &e)
             : remove ? pipeline_topics_delete(c, argv + first + 1, n, o.yes, &e)
                      : check_topics(c, reports, &e);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"yes", 'y', CLI_FLAG, offsetof(struct options, yes), NULL, "delete: do not ask"},
    {.name = NULL},
};

const struct cli_command cmd_topics = {
    .name = "topics",
    .arguments = "create|check|delete [TOPIC…] [options]",
    .summary = "create the topics of the pipeline, check or delete them",
    .text =
        "create  creates the missing topics, with the partitions, the replication and the cleanup\n"
        "        policies that the pipeline needs; existing ones are not changed. Then as check\n"
        "check   shows each topic, and the command that corrects a setting; exit code 1 when a\n"
        "        topic is missing or differs\n"
        "delete  deletes the topics that fisd writes, or those that are named (labels, or\n"
        "        credit.labels), after showing what is lost with them. Records, labels and the\n"
        "        topics of examples are yours, and stay unless they are named. Refused while a\n"
        "        trainer or scorer of the pipeline runs. Without names the consumer groups are\n"
        "        deleted too, so that a pipeline of this name starts from the first record\n\n"
        "The embedded broker creates topics on first use and cannot report policies.",
    .options = options,
    .run = run,
};

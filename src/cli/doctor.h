/*
 * Checks of fisctl doctor. Each looks at one thing, reports all that it finds and how to correct
 * it, and changes nothing. Thread: one.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/pipeline_topics.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAULT };

#define DOCTOR_COMMAND 1024
struct doctor {
    struct cli *cli;
    bool json;
    unsigned count[3]; /* findings by level */
    struct fis_error failed;

    struct config_topic list[CONFIG_TOPICS_MAX];
    struct stream_topic topics[CONFIG_TOPICS_MAX];
    struct stream_topic_report reports[CONFIG_TOPICS_MAX];
    uint32_t n;
    struct pipeline_members members;
    bool ledger_hidden;           /* by an open transaction: its end cannot be read */
    char command[DOCTOR_COMMAND]; /* of the finding that comes next; "" when none corrects it */
};

/* One finding; takes d->command. */
void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *format,
                ...) FIS_PRINTF(4, 5);
void doctor_command(struct doctor *d, const char *format, ...) FIS_PRINTF(2, 3);
/* The command that sets one setting of a topic. */
void doctor_set_topic(struct doctor *d, const char *topic, const char *setting, long long value);

/* doctor_topics.c: false when there is no broker to ask. */
bool doctor_topics(struct doctor *d);
void doctor_replicas(struct doctor *d);
void doctor_retention(struct doctor *d);
void doctor_limits(struct doctor *d);
/* doctor_registry.c */
void doctor_registry(struct doctor *d);
/* doctor_access.c */
void doctor_rights(struct doctor *d);
/* doctor_flow.c */
void doctor_members(struct doctor *d);
void doctor_selection(struct doctor *d);
void doctor_lag(struct doctor *d);
void doctor_transactions(struct doctor *d);
void doctor_clock(struct doctor *d);

#endif

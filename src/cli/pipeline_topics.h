/*
 * The topics of the pipeline as the broker should have them, who uses them, and their deletion.
 */
#ifndef CLI_PIPELINE_TOPICS_H
#define CLI_PIPELINE_TOPICS_H

#include "cli/cli.h"
#include "config/topic_list.h"
#include "stream/topics.h"

/* How each is made (create), or what it may be at least; returns how many. */
uint32_t pipeline_topics(const struct cli *c, bool create,
                         struct config_topic list[CONFIG_TOPICS_MAX],
                         struct stream_topic out[CONFIG_TOPICS_MAX]);

/* Members of the groups of scorers and trainers. */
struct pipeline_members {
    uint32_t scorers, trainers;
};
int pipeline_members_read(const struct cli *c, struct pipeline_members *m,
                          struct fis_error *e) FIS_MUST_CHECK;

/* Those that fisd writes, or the named ones [n]: shows what is lost, asks unless `yes`, deletes.
 * INPUT: a name that is none, somebody uses them, or the answer was no. */
int pipeline_topics_delete(struct cli *c, char **names, int n, bool yes,
                           struct fis_error *e) FIS_MUST_CHECK;

#endif

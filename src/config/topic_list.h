/*
 * The topics of a pipeline, in one list: what fisd creates at its start, what `fisctl topics`
 * creates and checks. Thread: no state. Owns: nothing; names are the configuration's.
 */
#ifndef CONFIG_TOPIC_LIST_H
#define CONFIG_TOPIC_LIST_H

#include "config/config.h"

struct config_topic {
    const char *name;
    bool compact; /* cleanup.policy: compact, else delete */
    bool brief;   /* of the moment: minutes are enough */
    bool ordered; /* its order counts: what is written goes to the first partition */
    bool keyless; /* messages without a key come to it, which a compacted topic refuses */
    bool yours;   /* written by the user's own programs, who may have other plans for it */
    unsigned readers, writers; /* roles, as bits of enum config_role */
    uint32_t partitions;       /* for creating it; those whose order counts have one */
    uint32_t replication;
    uint64_t max_message_bytes; /* for creating it; 0: the broker's own limit will do */
};

#define CONFIG_TOPICS_MAX (11 + CONFIG_RECORDS_MAX)

/* Fills `out` with the topics that this configuration uses (initial and validation only when they
 * are read from a topic); returns how many. */
uint32_t config_topics_list(const struct config *cfg, struct config_topic out[CONFIG_TOPICS_MAX]);

/* The topics of records, in the order of the configuration; how many. */
uint32_t config_record_topics(const struct config *cfg, const char *out[CONFIG_RECORDS_MAX]);

#define CONFIG_RECORD_NUMBERS 0x8000
/* The number of each in wire_source, below that. It follows from the name, so that the order of the
 * list, what is added and what is removed make no difference, and processes with different lists
 * agree. */
void config_record_numbers(const struct config *cfg, uint32_t out[CONFIG_RECORDS_MAX]);

/* How long a record may be that a topic of fisd's own takes, with what is put around it, when the
 * topic takes messages of `limit` bytes. */
size_t config_record_room(const struct config *cfg, size_t limit);

/* The same of a chunk of a head, a version or a checkpoint. */
size_t config_chunk_room(size_t limit);

/* The consumer groups of the roles. The trainer's is its transactional id too, and hangs on what it
 * protects: every writer of a ledger has the same one, whatever its pipeline is called
 * (credit.ledger gives credit-trainer). */
#define CONFIG_GROUP_MAX 264
void config_scorer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX]);
void config_trainer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX]);
/* The webhook's, whose offset on models is what was delivered (credit-webhook). */
void config_webhook_group(const struct config *cfg, char out[CONFIG_GROUP_MAX]);

#endif

/*
 * Which topics there are and how they are kept. Some have one partition. Heads, models and ledger:
 * their readers need the order in which the trainer wrote. Candidates: a scorer's progress stands
 * behind the candidates it speaks of, and what a window holds follows from the log. Control: the
 * order of commands is their meaning.
 */
#include "config/topic_list.h"

#include <stdio.h>
#include <string.h>

enum {
    DELETE = 0,
    COMPACT = 1,
    OURS = 0,
    YOURS = 2,
    SINGLE = 4,
    RECORDS = 8,
    LETTERS = 16,
    BRIEF = 32
};

/* Kafka's own limit, and what is put around a record at most. */
static const uint64_t usual = 1u << 20, around = 64u << 10;
/* Dead letters are what others sent, and should arrive whole. */
static const uint64_t largest_letter = 16u << 20;

/* Ours carry the record and its features; yours the record alone. */
static uint64_t max_message_bytes(const struct config *cfg, int flags)
{
    uint64_t one = cfg->records.max_bytes, both = 2 * one + around;
    if (flags & LETTERS)
        return (both > largest_letter ? both : largest_letter) + around;
    if (!(flags & RECORDS) || (flags & YOURS && one <= usual) || both <= usual)
        return 0;
    return flags & YOURS ? one + around : both;
}

uint32_t config_topics_list(const struct config *cfg, struct config_topic out[CONFIG_TOPICS_MAX])
{
    const struct config_topics *t = &cfg->topics;
    const struct {
        const char *name;
        int flags;
        bool used;
    } all[CONFIG_TOPICS_MAX] = {
        {t->records, DELETE | YOURS | RECORDS, true},
        {t->candidates, DELETE | OURS | SINGLE | RECORDS, true},
        {t->label_requests, DELETE | OURS | RECORDS, true},
        {t->labels, DELETE | YOURS, true},
        {t->initial, COMPACT | YOURS | RECORDS, cfg->initial.source == CONFIG_TOPIC},
        {t->validation, COMPACT | YOURS | RECORDS, cfg->validation.source == CONFIG_TOPIC},
        {t->heads, COMPACT | OURS | SINGLE, true},
        {t->models, COMPACT | OURS | SINGLE, true},
        {t->ledger, COMPACT | OURS | SINGLE | RECORDS, true},
        {t->control, DELETE | OURS | SINGLE, true},
        {t->dead_letter, DELETE | OURS | LETTERS, true},
        {t->fleet, DELETE | OURS | SINGLE | BRIEF, true},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < CONFIG_TOPICS_MAX; i++) {
        if (!all[i].used)
            continue;
        out[n++] = (struct config_topic){
            .name = all[i].name,
            .compact = (all[i].flags & COMPACT) != 0,
            .brief = (all[i].flags & BRIEF) != 0,
            .yours = (all[i].flags & YOURS) != 0,
            .partitions = all[i].flags & SINGLE ? 1 : t->partitions,
            .replication = t->replication,
            .max_message_bytes = max_message_bytes(cfg, all[i].flags),
        };
    }
    return n;
}

void config_scorer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX])
{
    snprintf(out, CONFIG_GROUP_MAX, "%s-scorer", cfg->pipeline);
}

void config_trainer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX])
{
    static const char ending[] = ".ledger";
    const char *ledger = cfg->topics.ledger;
    size_t n = strlen(ledger), tail = sizeof ending - 1;
    n -= n > tail && strcmp(ledger + n - tail, ending) == 0 ? tail : 0;
    snprintf(out, CONFIG_GROUP_MAX, "%.*s-trainer", (int)n, ledger);
}

/*
 * Which topics there are and how they are kept. Heads, models and ledger have one partition: their
 * readers need the order in which the trainer wrote, and there is one trainer.
 */
#include "config/topics.h"

enum { DELETE = 0, COMPACT = 1, OURS = 0, YOURS = 2, SINGLE = 4 };

uint32_t config_topics_list(const struct config *cfg, struct config_topic out[CONFIG_TOPICS_MAX])
{
    const struct config_topics *t = &cfg->topics;
    const struct {
        const char *name;
        int flags;
        bool used;
    } all[CONFIG_TOPICS_MAX] = {
        {t->records, DELETE | YOURS, true},
        {t->candidates, DELETE | OURS, true},
        {t->label_requests, DELETE | OURS, true},
        {t->labels, DELETE | YOURS, true},
        {t->initial, COMPACT | YOURS, cfg->initial.source == CONFIG_TOPIC},
        {t->validation, COMPACT | YOURS, cfg->validation.source == CONFIG_TOPIC},
        {t->heads, COMPACT | OURS | SINGLE, true},
        {t->models, COMPACT | OURS | SINGLE, true},
        {t->ledger, COMPACT | OURS | SINGLE, true},
        {t->dead_letter, DELETE | OURS, true},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < CONFIG_TOPICS_MAX; i++) {
        if (!all[i].used)
            continue;
        out[n++] = (struct config_topic){
            .name = all[i].name,
            .compact = (all[i].flags & COMPACT) != 0,
            .yours = (all[i].flags & YOURS) != 0,
            .partitions = all[i].flags & SINGLE ? 1 : t->partitions,
            .replication = t->replication,
        };
    }
    return n;
}

/*
 * Which topics there are and how they are kept. Some have one partition. Heads, models and ledger:
 * their readers need the order in which the trainer wrote. Candidates: a scorer's progress stands
 * behind its candidates, and what a window holds follows from the log. Control: the
 * order of commands is their meaning.
 */
#include "config/topic_list.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

enum {
    DELETE = 0,
    COMPACT = 1,
    OURS = 0,
    YOURS = 2,
    SINGLE = 4,
    RECORDS = 8,
    LETTERS = 16,
    BRIEF = 32,
    KEYLESS = 64
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

struct row {
    const char *name;
    int flags;
    bool used;
    unsigned readers, writers; /* docs/threat-model.md has them as a table */
};

static struct config_topic topic_of(const struct config *cfg, const struct row *r)
{
    const struct config_topics *t = &cfg->topics;
    return (struct config_topic){
        .name = r->name,
        .compact = (r->flags & COMPACT) != 0,
        .brief = (r->flags & BRIEF) != 0,
        .ordered = (r->flags & SINGLE) != 0 && r->name != t->control,
        .keyless = (r->flags & KEYLESS) != 0,
        .yours = (r->flags & YOURS) != 0,
        .readers = r->readers,
        .writers = r->writers,
        .partitions = r->flags & SINGLE ? 1 : t->partitions,
        .replication = t->replication,
        .max_message_bytes = max_message_bytes(cfg, r->flags),
    };
}

uint32_t config_topics_list(const struct config *cfg, struct config_topic out[CONFIG_TOPICS_MAX])
{
    const struct config_topics *t = &cfg->topics;
    const unsigned s = CONFIG_SCORER, tr = CONFIG_TRAINER;
    const struct row all[] = {
        {t->records, DELETE | YOURS | RECORDS, true, s, 0},
        {t->candidates, DELETE | OURS | SINGLE | RECORDS | KEYLESS, true, tr, s},
        {t->label_requests, DELETE | OURS | RECORDS, true, 0, tr},
        {t->labels, DELETE | YOURS, true, tr, 0},
        {t->initial, COMPACT | YOURS | RECORDS, cfg->initial.source == CONFIG_TOPIC, tr, 0},
        {t->validation, COMPACT | YOURS | RECORDS, cfg->validation.source == CONFIG_TOPIC, tr, 0},
        {t->heads, COMPACT | OURS | SINGLE, true, s | tr, tr},
        {t->models, COMPACT | OURS | SINGLE, true, s | tr, tr},
        {t->ledger, COMPACT | OURS | SINGLE | RECORDS, true,
         cfg->selection.mode == CONFIG_POOL ? s | tr : tr, tr},
        {t->control, DELETE | OURS | SINGLE, true, tr, 0},
        {t->dead_letter, DELETE | OURS | LETTERS | KEYLESS, true, 0, s | tr},
        {t->fleet, DELETE | OURS | SINGLE | BRIEF, true, s | tr, s | tr},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].used)
            out[n++] = topic_of(cfg, &all[i]);
    /* Those behind the first are as the first, which is out[0]. */
    for (uint32_t i = 0; i < t->more_records.count; i++) {
        out[n] = out[0];
        out[n++].name = t->more_records.items[i];
    }
    return n;
}

uint32_t config_record_topics(const struct config *cfg, const char *out[CONFIG_RECORDS_MAX])
{
    uint32_t n = 0;
    out[n++] = cfg->topics.records;
    for (uint32_t i = 0; i < cfg->topics.more_records.count; i++)
        out[n++] = cfg->topics.more_records.items[i];
    return n;
}

/* 0 is the number of the topic with the usual name. */
static uint32_t number_of_name(const struct config *cfg, const char *name)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 s;
    size_t prefix = strlen(cfg->topics.prefix);
    if (strncmp(name, cfg->topics.prefix, prefix) == 0 && strcmp(name + prefix, ".records") == 0)
        return 0;
    sha256_begin(&s);
    sha256_add(&s, name, strlen(name));
    sha256_end(&s, digest);
    return 1 + ((uint32_t)digest[0] << 8 | digest[1]) % (CONFIG_RECORD_NUMBERS - 1);
}

/* Of names that meet in one number, the first in the alphabet has it. */
void config_record_numbers(const struct config *cfg, uint32_t out[CONFIG_RECORDS_MAX])
{
    const char *names[CONFIG_RECORDS_MAX];
    uint32_t n = config_record_topics(cfg, names), given[CONFIG_RECORDS_MAX];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t next = n;
        for (uint32_t i = 0; i < n; i++)
            if (names[i] && (next == n || strcmp(names[i], names[next]) < 0))
                next = i;
        given[k] = number_of_name(cfg, names[next]);
        for (uint32_t i = 0; i < k; i++)
            if (given[i] == given[k]) {
                given[k] = given[k] % (CONFIG_RECORD_NUMBERS - 1) + 1;
                i = UINT32_MAX; /* compared with all of them again */
            }
        out[next] = given[k];
        names[next] = NULL;
    }
}

/* What is put around a record, columns and classes aside: ids, names, scores, Kafka's framing. */
#define AROUND ((size_t)8192)

size_t config_record_room(const struct config *cfg, size_t limit)
{
    size_t more = AROUND + 18 * (size_t)cfg->columns.count;
    for (uint32_t k = 0; k < cfg->classes.count; k++)
        more += 8 + 6 * strlen(cfg->classes.items[k]);
    return limit > more ? limit - more : 0;
}

size_t config_chunk_room(size_t limit)
{
    return limit > 2 * AROUND ? limit - AROUND : limit / 2;
}

void config_scorer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX])
{
    snprintf(out, CONFIG_GROUP_MAX, "%s-scorer", cfg->pipeline);
}

static void group_of_ledger(const struct config *cfg, const char *role, char out[CONFIG_GROUP_MAX])
{
    static const char ending[] = ".ledger";
    const char *ledger = cfg->topics.ledger;
    size_t n = strlen(ledger), tail = sizeof ending - 1;
    n -= n > tail && strcmp(ledger + n - tail, ending) == 0 ? tail : 0;
    snprintf(out, CONFIG_GROUP_MAX, "%.*s-%s", (int)n, ledger, role);
}

void config_trainer_group(const struct config *cfg, char out[CONFIG_GROUP_MAX])
{
    group_of_ledger(cfg, "trainer", out);
}

void config_webhook_group(const struct config *cfg, char out[CONFIG_GROUP_MAX])
{
    group_of_ledger(cfg, "webhook", out);
}

/* Seeds of the configuration: a small whole one, and variations of it. */
#include <string.h>

#include "seeds.h"

#define HEAD "pipeline: p\nclasses: [no, yes]\n"
#define KAFKA "kafka: {bootstrap.servers: b}\n"
#define FILES                                                                                      \
    "initial: {file: i.csv, label: y}\nvalidation: {file: v.csv, label: y, sensitive: [s]}\n"
#define COLUMNS "columns:\n  - {name: a}\n  - {name: b, type: categorical}\n"

struct seed {
    const char *name, *text;
};

static const struct seed seeds[] = {
    {"whole", HEAD COLUMNS FILES KAFKA},
    {"dimension", HEAD "dimension: 3\nrecords: {encoding: raw}\n" FILES KAFKA},
    {"scorer", HEAD COLUMNS "roles: [scorer]\n" KAFKA},
    {"topic", HEAD COLUMNS "initial: {source: topic, label: y}\n"
                           "validation: {source: topic, label: y, sensitive: [s, t]}\n" KAFKA},
    {"password", HEAD COLUMNS FILES "kafka:\n  sasl.password: Zq17\n  bootstrap.servers: b\n"},
    {"password-list", HEAD COLUMNS FILES
     "kafka:\n  sasl.password: Zq17\n  bootstrap.servers: b\n  sasl.password: [x]\n"},
    {"environment",
     HEAD COLUMNS FILES "kafka: {bootstrap.servers: \"${HOME}:9092\", client.id: \"$${x}\"}\n"},
    {"selection", HEAD COLUMNS FILES KAFKA
     "selection: {algorithm: fis, strategy: 1, labels_per_round: 16, rounds: 3, budget: 40,\n"
     "  in_flight: 8, window_records: 200, window_time: 2s, heap: 64, round_deadline: 10m, seed: "
     "7}\n"},
    {"scale-out", HEAD COLUMNS FILES KAFKA
     "selection: {mode: pool, daily_budget: 10}\n"
     "labels: {deadline: 2h, replace: true, votes: 3}\ngate: {patience: 2}\n"},
    {"training", HEAD COLUMNS FILES KAFKA "training: {hidden: [8, 4], learning_rate: 0.01, "
                                          "momentum: .9, weight_decay: 1e-4, batch: 32,\n"
                                          "  warm_up_epochs: 2, steps_per_round: 10, publication: "
                                          "mixed, mix: 0.5, average_every: 5}\n"},
    {"privacy", HEAD COLUMNS FILES
     "kafka: {bootstrap.servers: b, sasl.password: \"file:/etc/hostname\", client.id: "
     "credential:x}\n"
     "privacy: {noise: 1.5, clip: 1, delta: 1e-5, key: \"0123456789abcdef0123456789abcdef\"}\n"},
    {"gate", HEAD COLUMNS FILES KAFKA "gate: {epsilon: 0.01, min_rows: 500, "
                                      "precondition: \"off\", replace: always}\n"
                                      "fairness: {metric: equalized_odds}\npositive: \"yes\"\n"},
    {"topics", HEAD COLUMNS FILES KAFKA
     "topics: {prefix: x, records: in, partitions: 3, replication: 1, create: false}\n"
     "log: {level: debug}\nruntime: {workers: 2}\nscorer: {batch: 64}\n"},
    {"anchors", HEAD "columns: &c\n  - &a {name: a}\n  - *a\n" FILES KAFKA "topics: *c\n"},
    {"unknown", HEAD COLUMNS FILES KAFKA "selectoin: {seed: 1}\n"},
    {"twice", HEAD HEAD COLUMNS FILES KAFKA},
    {"documents", HEAD COLUMNS FILES KAFKA "---\n" HEAD},
    {"block",
     "pipeline: |\n  p\nclasses:\n  - 'it''s'\n  - \"\\x41\\n\\u20ac\"\n" COLUMNS FILES KAFKA},
    {"broken", HEAD "columns: [\n"},
    {"missing", "classes: [a]\n"},
    {"no-map", "[1, 2]\n"},
    {"tags", HEAD COLUMNS FILES KAFKA "delivery: !!str at_least_once\nroles: !x [trainer]\n"},
};

void seeds_config(void)
{
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        seed_write("config", seeds[i].name, seeds[i].text, strlen(seeds[i].text));
}

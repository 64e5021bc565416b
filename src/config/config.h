/*
 * The configuration of a pipeline: one YAML file, read through one table of options (table.c)
 * that also gives the defaults, the ranges, `fisd --print-config` and the reference manual.
 *
 * What a caller gets is complete: every default is filled in, topic names are whole, relative
 * file names have been joined to the directory of the configuration file, and the values that
 * depend on others (in_flight, heap, publication, positive) are settled. Nothing is left to guess.
 *
 * A scalar is the text that stands in the file: `no`, `yes`, `0` and `null` are class names like
 * any other, never truth values. ${NAME} in a value is replaced by the environment variable NAME;
 * $${ stands for a plain ${. A value of `kafka`, and privacy.key, may stand elsewhere: "file:/path"
 * is the text of that file less its last line end, "credential:name" that of a systemd credential.
 *
 * Errors: class FIS_INPUT, text "file:line:column: key 'a.b': found X, allowed Y". A text shows
 * the value as written, before ${NAME} is replaced, and never one of the map `kafka`.
 * Thread: a loaded configuration is read-only and may be shared.
 * Owns: every string and list in struct config belongs to it; config_done frees them.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fis/error.h"

enum config_role { CONFIG_SCORER = 1, CONFIG_TRAINER = 2 }; /* bits of config.roles */
enum config_delivery { CONFIG_EXACTLY_ONCE, CONFIG_AT_LEAST_ONCE };
enum config_encoding { CONFIG_JSON, CONFIG_PROTOBUF, CONFIG_RAW, CONFIG_REGISTRY };
enum config_column_type { CONFIG_NUMERIC, CONFIG_CATEGORICAL };
/* The last two are a base's; they follow model.base.scale, and no column of the file has them. */
enum config_scale {
    CONFIG_SCALE_STANDARD,
    CONFIG_SCALE_NONE,
    CONFIG_SCALE_LOGIT,
    CONFIG_SCALE_PROBABILITY
};
enum config_base { CONFIG_BASE_NONE, CONFIG_BASE_COLUMN, CONFIG_BASE_TREES };
enum config_delimiter { CONFIG_COMMA, CONFIG_SEMICOLON, CONFIG_TAB, CONFIG_PIPE };
enum config_source { CONFIG_FILE, CONFIG_TOPIC };
enum config_metric {
    CONFIG_DEMOGRAPHIC_PARITY,
    CONFIG_EQUAL_OPPORTUNITY,
    CONFIG_EQUALIZED_ODDS,
    CONFIG_RISK_DISPARITY
};
enum config_algorithm {
    CONFIG_FIS_PLUS,
    CONFIG_FIS,
    CONFIG_EKG,
    CONFIG_PRODUCT,
    CONFIG_RANDOM,
    CONFIG_ENTROPY
};
enum config_mode { CONFIG_STREAM, CONFIG_POOL };
enum config_publication { CONFIG_LINE, CONFIG_PLAIN, CONFIG_MIXED };
enum config_switch { CONFIG_AUTO, CONFIG_ON, CONFIG_OFF };
enum config_replace { CONFIG_FAIRER, CONFIG_ALWAYS };
enum config_protect { CONFIG_PROTECT_COMMANDS, CONFIG_PROTECT_ALL };
enum config_log_level { CONFIG_DEBUG, CONFIG_INFO, CONFIG_WARN, CONFIG_ERROR };

#define CONFIG_LAYERS_MAX 6

struct config_names {
    uint32_t count;
    char **items; /* in the order of the file */
};

struct config_layers {
    uint32_t count;
    uint32_t items[CONFIG_LAYERS_MAX]; /* width of each hidden layer */
};

struct config_column {
    char *name;
    int type;  /* enum config_column_type */
    int scale; /* enum config_scale; has a meaning for numeric columns only */
};

/* The model below the network (fis/network.h). */
enum config_model { CONFIG_MLP, CONFIG_VIT };
enum config_pool_of { CONFIG_POOL_MEAN, CONFIG_POOL_TOKEN };
enum config_optimizer { CONFIG_SGD, CONFIG_ADAMW };

struct config_network {
    int type;                   /* enum config_model */
    struct config_layers image; /* of a transformer: height, width, channels */
    uint32_t patch, width, depth, heads, mlp;
    int pool;              /* enum config_pool_of */
    uint32_t score_layers; /* 0: all dense layers */
};

struct config_base_model {
    int type; /* enum config_base */
    char *name;
    struct config_names names;
    int scale; /* 0 logit, 1 probability */
    uint32_t trees, patience, depth;
    double rate, sample, columns, growth;
};

struct config_columns {
    uint32_t count;
    struct config_column *items;
};

/* A column as the labelling page shows it. */
enum config_show_as { CONFIG_SHOW_TEXT, CONFIG_SHOW_IMAGE, CONFIG_SHOW_LINK };
struct config_show {
    char *column, *name, *help, *template; /* NULL: none */
    int as;                                /* enum config_show_as */
};
struct config_shows {
    uint32_t count;
    struct config_show *items;
};

struct config_property {
    char *name, *value;
    char *from; /* "file:…" or "credential:…", when the value was read there; else NULL */
};

struct config_properties {
    uint32_t count;
    struct config_property *items;
};

#define CONFIG_RECORDS_MAX 16 /* topics of records */

struct config_topics {
    char *prefix;
    struct config_names more_records; /* behind `records`, when it is a list */
    char *records, *candidates, *label_requests, *labels, *validation, *initial, *heads, *models,
        *ledger, *control, *dead_letter, *fleet;
    uint32_t partitions, replication;
    bool create;
    uint64_t max_chunk; /* bytes */
};

enum config_framing { CONFIG_FRAMING_AUTO, CONFIG_FRAMING_NONE, CONFIG_FRAMING_CONFLUENT };

enum config_unknown { CONFIG_REFUSE, CONFIG_IGNORE, CONFIG_PASS };

/* Where schemas of records are. */
struct config_registry {
    char *url;                /* NULL: none */
    char *ca_file;            /* NULL: the system's certificates */
    char *tls_cert, *tls_key; /* of this client; NULL: none */
    char *user, *password;    /* NULL: none */
    uint64_t timeout;         /* ms, of a request */
};

struct config_records {
    int encoding; /* enum config_encoding */
    int framing;  /* enum config_framing */
    struct config_layers message_index;
    uint64_t max_bytes;  /* a larger record goes to the dead-letter topic */
    uint32_t max_pixels; /* of an image */
    char *id;            /* the column that holds the record's id */
    int unknown;         /* enum config_unknown: of columns in none of the lists */
    struct config_names refuse, ignore, passthrough; /* columns that are no features */
    bool numeric_text; /* JSON: "41" is a number in a numeric column */
    struct config_registry registry;
};

struct config_labels {
    int encoding; /* CONFIG_JSON or CONFIG_PROTOBUF */
    int framing;  /* enum config_framing */
    struct config_layers message_index;
    uint64_t deadline;        /* ms; 0: none */
    bool replace;             /* what expired is not charged, and another record is asked for */
    uint32_t votes;           /* 1 or more */
    bool page;                /* this process serves the labelling page */
    char *annotators;         /* file of names and tokens; NULL: anybody on this machine */
    char *question;           /* NULL: the label column's name */
    struct config_shows show; /* none: every column of a record */
    uint64_t lease, undo;     /* ms */
};

struct config_features {
    uint32_t max_categories;
    double max_unseen; /* share of rows */
};

struct config_csv {
    int delimiter; /* enum config_delimiter: of the CSV files below */
    char *unnamed; /* name of a first column that has none */
};

struct config_initial {
    int source; /* enum config_source */
    char *file; /* NULL when the source is a topic or this process does not train */
    char *label;
};

struct config_validation {
    int source;
    char *file;
    char *label;
    struct config_names sensitive; /* empty only when this process does not train */
    struct config_names missing;
    struct config_names groups; /* "column=value"; none: whatever occurs */
};

struct config_fairness {
    int metric;    /* enum config_metric */
    double target; /* an alarm tells when what is served has a larger gap; 0: none */
};

/* When an alarm is raised (daemon/monitor/alarms.h). */
struct config_alarms {
    uint64_t label_age;      /* ms, of an open request; 0: never */
    uint64_t starved;        /* ms without anything to ask for; 0: never */
    double budget_left;      /* share of the budget; 0: only when it is spent */
    uint32_t rejected;       /* versions in a row; 0: never */
    uint64_t validation_age; /* ms; 0: never */
    double drift;            /* population stability index of a column; 0: never */
    double rate_moved;       /* of a group's P(yhat = positive); 0: never */
    double dead_letters;     /* share of what was read; 0: never */
};

struct config_selection {
    int mode;                  /* enum config_mode */
    int algorithm;             /* enum config_algorithm */
    uint32_t strategy;         /* 1 or 2 */
    uint32_t labels_per_round; /* r */
    uint32_t rounds;           /* 0: no limit */
    uint64_t budget;           /* labels in all; 0: no limit */
    uint64_t daily_budget;     /* requests of a day (UTC); 0: no limit */
    uint32_t patience;         /* rounds that publish nothing; 0: no limit */
    uint32_t in_flight;        /* never 0 after loading */
    uint32_t window_records;
    uint64_t window_time; /* ms; 0: off */
    bool distinct;
    uint32_t heap;           /* never 0 after loading */
    uint64_t round_deadline; /* ms; 0: none */
    uint64_t seed;
};

struct config_training {
    struct config_layers hidden;
    int optimizer; /* enum config_optimizer */
    uint32_t rise; /* steps */
    bool flip;
    uint32_t shift; /* pixels */
    double learning_rate, momentum, weight_decay;
    uint32_t batch, warm_up_epochs, steps_per_round;
    int publication; /* enum config_publication */
    double mix;
    uint32_t average_every, fresh_steps;
    int learn_validation; /* enum config_switch */
    uint64_t seed;
};

struct config_gate {
    double epsilon;
    uint32_t min_rows, min_cell, warn_cell;
    int precondition; /* enum config_switch */
    int replace;      /* enum config_replace */
    double standard_errors;
    uint32_t bootstrap;
    uint32_t patience; /* verdicts; 0: off */
};

struct config_scorer {
    uint32_t batch, batches_in_flight;
    uint64_t queue_bytes;
};

struct config_privacy {
    double noise; /* 0: off */
    double clip, delta;
    char *key; /* secret; NULL: one is drawn by each process */
};

struct config_runtime {
    uint64_t commit_interval, shutdown_timeout; /* ms */
    uint32_t workers;
};

struct config_http {
    char *listen;                          /* "auto", "off", or host:port */
    char *url;                             /* that others reach it by; NULL: as it listens */
    char *token_file, *tls_cert, *tls_key; /* a path, or credential:name; NULL: none */
    int protect;                           /* enum config_protect */
    bool group_names;
    uint32_t max_connections;
    uint64_t timeout; /* ms */
};

/* Where published versions are reported to. */
struct config_webhook {
    char *url, *secret; /* NULL: none */
    char *ca_file;      /* NULL: the system's certificates */
    uint64_t timeout;   /* ms, of an attempt */
};

struct config_log {
    int level; /* enum config_log_level */
};

struct config {
    char *pipeline;
    unsigned roles; /* bits of enum config_role; never 0 */
    int delivery;   /* enum config_delivery */
    struct config_properties kafka;
    struct config_topics topics;
    struct config_records records;
    struct config_labels labels;
    struct config_names classes;
    char *positive;
    char *accept_change;     /* NULL: none */
    uint32_t positive_class; /* index of `positive` in classes */
    /* Filled in (f0, f1, …) when `dimension` was given; then come the base's. */
    struct config_columns columns;
    uint32_t dimension; /* 0 unless given */
    struct config_features features;
    struct config_csv csv;
    struct config_initial initial;
    struct config_validation validation;
    struct config_fairness fairness;
    struct config_selection selection;
    struct config_network model;
    struct config_base_model base;
    struct config_training training;
    struct config_gate gate;
    struct config_scorer scorer;
    struct config_privacy privacy;
    struct config_runtime runtime;
    struct config_http http;
    struct config_webhook webhook;
    struct config_alarms alarms;
    struct config_log log;
};

/* Everything that is wrong with a file, in its order, as far as there is room. */
#define CONFIG_PROBLEMS_MAX 20
struct config_problems {
    uint32_t count; /* how many there are; texts beyond CONFIG_PROBLEMS_MAX are not kept */
    char text[CONFIG_PROBLEMS_MAX][FIS_ERROR_TEXT];
};

/* Reads `path`. `e` gets the first problem. *cfg is written on success only, and then needs
 * config_done. The second form also lists the other problems (`problems` may be NULL). */
int config_load(const char *path, struct config *cfg, struct fis_error *e) FIS_MUST_CHECK;
int config_load_all(const char *path, struct config *cfg, struct config_problems *problems,
                    struct fis_error *e) FIS_MUST_CHECK;

/* What a configuration names may be wrong: files, certificates. `look` is given it at the end,
 * unless there are mistakes in what the files depend on (an option with a mistake elsewhere has its
 * default), and refuses what cannot be used: `text` is "found …, allowed …", and becomes
 * a problem at the place of `key` (an option, or "kafka." and a property). For who uses what is
 * named: a program that only reads the same file must not be stopped by it. */
typedef void config_refuse_fn(void *ctx, const char *key, const char *text);
typedef void config_look_fn(const struct config *cfg, config_refuse_fn *refuse, void *ctx);
int config_load_look(const char *path, config_look_fn *look, struct config *cfg,
                     struct config_problems *problems, struct fis_error *e) FIS_MUST_CHECK;

/* The same from memory; `name` stands for the path in messages and for relative file names. */
int config_load_text(const char *name, const char *text, size_t length, struct config *cfg,
                     struct config_problems *problems, struct fis_error *e) FIS_MUST_CHECK;

/* Frees what the configuration owns and zeroes it; a zeroed one is fine. */
void config_done(struct config *cfg);

/* The value of a librdkafka property given in the map `kafka`, or NULL. */
const char *config_kafka(const struct config *cfg, const char *property);
/* Whether this value of a property, of kafka or of records.registry, is a path. */
bool config_property_is_path(const char *property, const char *value);
/* Sets one, as the map would; "file:/path" is read. INPUT, NOMEM; a text shows no value. */
int config_property_set(struct config_properties *p, const char *property, const char *value,
                        struct fis_error *e) FIS_MUST_CHECK;
void config_properties_done(struct config_properties *p); /* zeroes it */

/* The text of a file (NULL: none) less its last line's end; "credential:name" is one that systemd
 * hands over. For config_free_secret, which zeroes it first. INPUT "found …, allowed …", NOMEM. */
int config_file_text(const char *file, char **out, struct fis_error *e) FIS_MUST_CHECK;
void config_free_secret(char *text); /* NULL is fine */

/* How a value of an enumeration is written in the file, by its key: config_choice(
 * "selection.algorithm", CONFIG_FIS_PLUS) is "fis+". NULL for what does not exist. */
const char *config_choice(const char *key, int value);

/* Every option with meaning, allowed values and default, as YAML that loads once the required
 * keys (lines that start with '#' and no space) are filled in. */
void config_write_defaults(FILE *out);

/* The configuration in force, as YAML. Kafka properties that hold secrets show as "***". */
void config_print(const struct config *cfg, FILE *out);

/* The reference table for the manual, in Markdown; the manual page fisd.yaml(5). */
void config_write_markdown(FILE *out);
void config_write_man(FILE *out);

/* ---- reload --------------------------------------------------------------------------------- */

/* Keys, ", " between them; what is too much for the text ends in "…". */
#define CONFIG_KEYS_TEXT 400
struct config_changes {
    uint32_t taken, kept;
    char taken_keys[CONFIG_KEYS_TEXT]; /* in force now */
    char kept_keys[CONFIG_KEYS_TEXT];  /* differ, and wait for a restart */
};

/* Puts what differs in `next` and may change while fisd runs into `cfg`; the rest of `cfg` stays.
 * Thread: nobody may be reading those options. */
void config_adopt(struct config *cfg, const struct config *next, struct config_changes *out);

#endif

/*
 * Every option there is. Parser, checks, defaults, `fisd --print-config` and the manual read this
 * table; an option that is not here does not exist.
 */
#include "config/option.h"

#include <string.h>

#include "fis/defaults.h"

#define AT(field) offsetof(struct config, field)

#define NAMES_OF(...) ((const char *const[]){__VA_ARGS__, NULL})

#define TEXT(longest) .kind = KIND_STRING, .min = 1, .max = (longest)
#define TOPIC_NAME(field, dashed, what)                                                            \
    {                                                                                              \
        .key = "topics." #field, .kind = KIND_STRING, .charset = CHARS_TOPIC, .min = 1,            \
        .max = 249, .offset = AT(topics.field), .example = "credit." dashed,                       \
        .otherwise = "<prefix>." dashed, .meaning = what                                           \
    }
#define COUNT(least, most) .kind = KIND_COUNT, .min = (least), .max = (most)
#define BIG(least, most) .kind = KIND_BIG, .min = (least), .max = (most)
#define SIZE(least, most) .kind = KIND_SIZE, .min = (least), .max = (most)
#define DURATION(least, most) .kind = KIND_DURATION, .min = (least), .max = (most)
#define CHOICE(...) .kind = KIND_CHOICE, .choices = NAMES_OF(__VA_ARGS__)
/* A default that lab and daemon share. */
#define STANDARD(name) .standard = FIS_DEFAULT_TEXT(FIS_DEFAULT_##name)
#define ROWS_FOR_AUTO FIS_DEFAULT_TEXT(FIS_DEFAULT_ROWS_FOR_AUTO)
#define REAL(least, most) .kind = KIND_REAL, .low = (least), .high = (most)

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define MINUTE UINT64_C(60000)
#define YEAR (365 * 24 * 60 * MINUTE)

/* clang-format off */
const struct option config_options[] = {
    {.key = "pipeline", TEXT(64), .charset = CHARS_TOPIC, .offset = AT(pipeline),
     .need = NEED_ALWAYS, .example = "credit",
     .meaning = "Name of the pipeline, the owner of its ledger, heads and models: another pipeline "
                "is refused there. It names topics and the scorers' group, so it must differ from "
                "every other pipeline on the same brokers."},
    {.key = "roles", .kind = KIND_FLAGS, .choices = NAMES_OF("scorer", "trainer"),
     .min = 1, .max = 2, .offset = AT(roles), .standard = "[scorer, trainer]",
     .meaning = "What this process does. Scorers find the records worth a label; run as many as "
                "you like. One trainer leads; the others stand by, follow what it writes, and "
                "take over when it stops or dies."},
    {.key = "delivery", CHOICE("exactly_once", "at_least_once"), .offset = AT(delivery),
     .standard = "exactly_once",
     .meaning = "exactly_once uses Kafka transactions: no label is requested twice, whatever is "
                "killed. at_least_once may request one twice after a crash; the embedded broker "
                "requires it."},
    {.key = "classes", .kind = KIND_NAMES, .min = 2, .max = 64, .offset = AT(classes),
     .need = NEED_ALWAYS, .example = "[\"no\", \"yes\"]",
     .meaning = "The labels, in the order of the model's outputs. A class is the text as written: "
                "no, yes, 0 and 1 are names like any other."},
    {.key = "positive", TEXT(255), .offset = AT(positive), .example = "\"yes\"",
     .otherwise = "the last of classes",
     .meaning = "The class whose rates the fairness metrics compare."},
    {.key = "accept_change", TEXT(16), .offset = AT(accept_change), .example = "1f0c9a2e",
     .otherwise = "a changed pipeline is refused",
     .meaning = "The code of a change of metric, positive class, sensitive columns or algorithm of a "
                "pipeline that has state: versions before and after cannot be compared. The start "
                "that refuses the change shows its code; the lineage of later versions records it. "
                "It holds for this one change and can stay."},
    {.key = "columns", .kind = KIND_ITEMS, .min = 1, .max = 4096, .offset = AT(columns),
     .items = config_column_options, .item_size = sizeof(struct config_column),
     .need = NEED_SOMETIMES, .example = "[{name: age}, {name: job, type: categorical}]",
     .meaning = "The features of a record, by the names they have in JSON and CSV; a member of a "
                "nested JSON object by its path, address.city. Either columns or dimension must be "
                "given."},
    {.key = "dimension", COUNT(1, 65536), .offset = AT(dimension), .example = "32",
     .otherwise = "columns name the features",
     .meaning = "Shorthand for this number of numeric columns, f0, f1, ..."},

    {.key = "kafka", .kind = KIND_PROPERTIES, .min = 0, .max = 500, .offset = AT(kafka),
     .example = "{bootstrap.servers: \"localhost:9092\"}", .otherwise = "librdkafka's own defaults",
     .meaning = "Properties passed to librdkafka unchanged. bootstrap.servers is required without "
                "the embedded broker. For passwords: the value file:/path stands for the text of "
                "that file, credential:name for that of a systemd credential."},

    {.key = "topics.prefix", TEXT(200), .charset = CHARS_TOPIC, .offset = AT(topics.prefix),
     .example = "credit", .otherwise = "the name of the pipeline",
     .meaning = "Prefix of the names of topics that are not set individually."},
    {.key = "topics.records", .kind = KIND_STRING, .charset = CHARS_TOPIC, .min = 1, .max = 249,
     .offset = AT(topics.records), .also = AT(topics.more_records), .example = "credit.records",
     .otherwise = "<prefix>.records",
     .meaning = "The unlabelled records, written by you. A list of up to 16 topics: all are read, by "
                "the same scorers. Further ones are added at its end, since windows count by the "
                "place in the list."},
    TOPIC_NAME(candidates, "candidates", "What scorers offer to the trainer."),
    TOPIC_NAME(label_requests, "label-requests", "Requests to label records, and withdrawals."),
    TOPIC_NAME(labels, "labels", "The answers, written by the labelling tool."),
    TOPIC_NAME(validation, "validation",
               "Validation examples with their sensitive attributes; for the trainer alone."),
    TOPIC_NAME(initial, "initial", "Initial labelled examples."),
    TOPIC_NAME(heads, "heads", "What scorers follow: network and directions."),
    TOPIC_NAME(models, "models", "Model versions, published and rejected."),
    TOPIC_NAME(ledger, "ledger", "The trainer's state: what was requested, answered and spent."),
    TOPIC_NAME(control, "control", "The operator's commands, written by fisctl."),
    TOPIC_NAME(dead_letter, "dead-letter", "Input that was refused, with the reason."),
    TOPIC_NAME(fleet, "fleet", "What each process of the pipeline does, for the others to show."),
    {.key = "topics.create", .kind = KIND_BOOL, .offset = AT(topics.create), .standard = "true",
     .meaning = "Whether topics that do not exist are created at the start."},
    {.key = "topics.partitions", COUNT(1, 10000), .offset = AT(topics.partitions), .standard = "3",
     .meaning = "Partitions of records, label requests, labels, examples and dead letters when "
                "they are created; at most this number of scorers can work at a time. Candidates, "
                "heads, models, ledger, control and fleet always have one."},
    {.key = "topics.replication", COUNT(1, 10), .offset = AT(topics.replication), .standard = "1",
     .meaning = "Replicas of the topics that are created; 3 on a production cluster."},
    {.key = "topics.max_chunk", SIZE(KIB, 900 * KIB), .offset = AT(topics.max_chunk),
     .standard = "512KiB",
     .meaning = "Largest message of heads and models; what is larger is sent in pieces. Below the "
                "broker's message.max.bytes."},

    {.key = "records.encoding", CHOICE("json", "protobuf", "raw"), .offset = AT(records.encoding),
     .standard = "json",
     .meaning = "json: an object with named columns; protobuf: fis.Record; raw: one little-endian "
                "float32 per column. The last two require that all columns are numeric."},
    {.key = "records.max_bytes", SIZE(64, 16 * MIB), .offset = AT(records.max_bytes),
     .standard = "1MiB", .meaning = "A larger record goes to the dead-letter topic unread."},
    {.key = "records.framing", CHOICE("auto", "none", "confluent"), .offset = AT(records.framing),
     .standard = "auto",
     .meaning = "Whether records and examples have the frame of Confluent's serializers (a zero "
                "byte, a schema id, in protobuf the path of the message): auto: protobuf with or "
                "without it, JSON without; none: it is refused; confluent: all have it, JSON too. "
                "What does not fit goes to the dead-letter topic."},
    {.key = "records.message_index", .kind = KIND_LAYERS, .min = 0, .max = CONFIG_LAYERS_MAX,
     .item_min = 0, .item_max = 65535, .offset = AT(records.message_index), .standard = "[]",
     .meaning = "The path of the message in its schema that a frame of protobuf must have; []: as "
                "in proto/fis.proto (Record: 0), or 0."},
    {.key = "records.id", TEXT(255), .offset = AT(records.id), .standard = "id",
     .meaning = "The column with the record's id in JSON and CSV; without it the id is the key of "
                "the message, or else its place in the topic."},

    {.key = "records.passthrough", .kind = KIND_NAMES, .min = 1, .max = 256,
     .offset = AT(records.passthrough), .example = "[photo_url]", .otherwise = "none",
     .meaning = "Columns of JSON records that are no features and that label requests show."},
    {.key = "records.ignore", .kind = KIND_NAMES, .min = 1, .max = 256,
     .offset = AT(records.ignore), .example = "[trace_id]", .otherwise = "none",
     .meaning = "Columns of JSON records that are not read, and are taken out of a record before it "
                "is offered: neither the model nor a labeller sees them. A sensitive column may be "
                "one."},
    {.key = "records.refuse", .kind = KIND_NAMES, .min = 1, .max = 256,
     .offset = AT(records.refuse), .example = "[password]", .otherwise = "none",
     .meaning = "Columns with which a JSON record goes to the dead-letter topic, whatever "
                "records.unknown is."},
    {.key = "records.unknown", CHOICE("refuse", "ignore", "pass"), .offset = AT(records.unknown),
     .standard = "refuse",
     .meaning = "What is done with a column of a JSON record that is no feature and in none of "
                "these lists. refuse: the record goes to the dead-letter topic, so that a misspelt "
                "column is noticed. ignore: as records.ignore. pass: as records.passthrough, but a "
                "sensitive column is refused."},
    {.key = "records.numeric_text", .kind = KIND_BOOL, .offset = AT(records.numeric_text),
     .standard = "false",
     .meaning = "In JSON, a text that is a decimal number (\"41\") is that number in a numeric "
                "column, and an empty text a missing value. false: such a record is refused."},

    {.key = "labels.encoding", CHOICE("json", "protobuf"), .offset = AT(labels.encoding),
     .standard = "json", .meaning = "Encoding of label requests and of labels."},
    {.key = "labels.framing", CHOICE("auto", "none", "confluent"), .offset = AT(labels.framing),
     .standard = "auto", .meaning = "As records.framing, of labels. Label requests have no frame."},
    {.key = "labels.message_index", .kind = KIND_LAYERS, .min = 0, .max = CONFIG_LAYERS_MAX,
     .item_min = 0, .item_max = 65535, .offset = AT(labels.message_index), .standard = "[]",
     .meaning = "As records.message_index, of labels (Label: 9)."},
    {.key = "labels.deadline", DURATION(0, YEAR), .offset = AT(labels.deadline), .standard = "0",
     .live = true,
     .meaning = "A request that is not answered within this time expires: it is withdrawn on the "
                "topic, and another one may take its place. A late answer is still used. 0: it "
                "never expires. A changed deadline applies to open requests too, whose message "
                "shows the old one."},
    {.key = "labels.replace", .kind = KIND_BOOL, .offset = AT(labels.replace),
     .standard = "false",
     .live = true,
     .meaning = "Refund expired requests to the budget, so that other records are requested "
                "instead."},
    {.key = "labels.votes", COUNT(1, 99), .offset = AT(labels.votes), .standard = "1",
     .meaning = "Answers required for a record, each from a different annotator; the class with "
                "most answers is the label. Above 1, every label must name its annotator, and a "
                "request is withdrawn once the missing answers cannot change the label. A changed "
                "number applies to later requests. Budgets count records, not votes."},
    {.key = "labels.page", .kind = KIND_BOOL, .offset = AT(labels.page), .standard = "false",
     .meaning = "Serve the labelling page at /label (docs/labelling.md); a process of any role can. "
                "Beyond loopback it requires TLS and labels.annotators."},
    {.key = "labels.annotators", TEXT(4095), .offset = AT(labels.annotators),
     .example = "/etc/fisd/annotators", .otherwise = "people on this machine enter a name",
     .meaning = "File with the people who may use the labelling page: on each line a name, white "
                "space, and a token of 16 characters or more; # begins a comment. Or "
                "credential:name for a systemd credential. Read again on SIGHUP."},
    {.key = "labels.show", .kind = KIND_ITEMS, .min = 1, .max = 1000, .offset = AT(labels.show),
     .items = config_show_options, .item_size = sizeof(struct config_show),
     .example = "[{column: income, name: Yearly income, help: before tax}]",
     .otherwise = "all columns of the record",
     .meaning = "What the labelling page shows of a record, in this order."},
    {.key = "labels.lease", DURATION(5000, 24 * 60 * MINUTE), .offset = AT(labels.lease),
     .standard = "5m", .live = true,
     .meaning = "How long a record on the labelling page is kept for a person who does nothing; "
                "then somebody else may be shown it."},
    {.key = "labels.undo", DURATION(0, 5 * MINUTE), .offset = AT(labels.undo), .standard = "5s",
     .live = true,
     .meaning = "How long an answer on the labelling page can be taken back before it is sent."},

    {.key = "features.max_categories", COUNT(2, 10000), .offset = AT(features.max_categories),
     .standard = "1000",
     .meaning = "Maximum number of categories of a column in the initial set; more are an error, "
                "since such a column is probably an id."},
    {.key = "features.max_unseen", REAL(0, 1), .offset = AT(features.max_unseen),
     .standard = "0.05", .live = true,
     .meaning = "A warning and the alarm categories_unseen, when a larger share of the validation "
                "or initial rows has a category of a column that the encoder was not fitted on: "
                "codes that were renamed, or another coding."},

    {.key = "csv.delimiter", CHOICE("comma", "semicolon", "tab", "pipe"),
     .offset = AT(csv.delimiter), .standard = "comma",
     .meaning = "What separates the columns of initial.file, validation.file and the CSV files that "
                "fisctl reads. A file named .tsv has tabs."},

    {.key = "csv.unnamed", TEXT(255), .offset = AT(csv.unnamed), .standard = "\"Unnamed: 0\"",
     .meaning = "What a first column without a name is called: the index that pandas and R write. "
                "It is passed over, unless records.id, columns or another option has this name."},

    {.key = "initial.source", CHOICE("file", "topic"), .offset = AT(initial.source),
     .standard = "file", .meaning = "Where the trainer reads the initial labelled set."},
    {.key = "initial.file", TEXT(4095), .offset = AT(initial.file), .need = NEED_SOMETIMES,
     .example = "initial.csv",
     .meaning = "CSV or JSON lines with the columns and the label; a relative name is resolved "
                "against the directory of this file. Required by a trainer if the source is file."},
    {.key = "initial.label", TEXT(255), .offset = AT(initial.label), .standard = "label",
     .meaning = "The column with the label."},

    {.key = "validation.source", CHOICE("file", "topic"), .offset = AT(validation.source),
     .standard = "file", .meaning = "Where the trainer reads the validation set."},
    {.key = "validation.file", TEXT(4095), .offset = AT(validation.file), .need = NEED_SOMETIMES,
     .example = "validation.csv",
     .meaning = "As initial.file, with the sensitive columns."},
    {.key = "validation.label", TEXT(255), .offset = AT(validation.label), .standard = "label",
     .meaning = "The column with the label."},
    {.key = "validation.sensitive", .kind = KIND_NAMES, .min = 1, .max = 8,
     .offset = AT(validation.sensitive), .need = NEED_SOMETIMES, .example = "[sex]",
     .meaning = "The columns whose values form the groups to be treated alike; several form one "
                "group per combination. Read from the validation set alone, never a feature. "
                "Required by a trainer."},
    {.key = "validation.missing", .kind = KIND_NAMES, .min = 0, .max = 64,
     .offset = AT(validation.missing), .standard = "[NA, N/A, nan, NaN, \"null\", \"?\"]",
     .meaning = "What a sensitive column has where the value is not known, beside nothing. A row "
                "without one of its values is in no group: it is left out, and counted."},
    {.key = "validation.groups", .kind = KIND_NAMES, .min = 1, .max = 256,
     .offset = AT(validation.groups), .example = "[sex=F, sex=M]",
     .otherwise = "the values that occur",
     .meaning = "The values that sensitive columns may have, as column=value. Where a column has "
                "some here, any other value is refused; a value, or a combination of values, that "
                "no row has is reported at start."},

    {.key = "fairness.metric",
     CHOICE("demographic_parity", "equal_opportunity", "equalized_odds", "risk_disparity"),
     .offset = AT(fairness.metric), .standard = "equalized_odds",
     .meaning = "The gap between groups to reduce."},
    {.key = "fairness.target", REAL(0, 1e9), .offset = AT(fairness.target), .standard = "0",
     .live = true,
     .meaning = "The acceptable gap: an alarm is raised while the served version has a larger "
                "one. The gate does not use it. 0: no alarm."},

    {.key = "selection.mode", CHOICE("stream", "pool"), .offset = AT(selection.mode),
     .standard = "stream",
     .meaning = "stream: records are scored once, as they arrive, and labels are requested for "
                "the best of a window. pool: each round scores the whole records topic again, up "
                "to its end when the round begins, and labels are requested for the best of it. "
                "An exhausted pool is checked every 10 s, and scanned when it has grown."},
    {.key = "selection.algorithm", CHOICE("fis+", "fis", "ekg", "product", "random", "entropy"),
     .offset = AT(selection.algorithm), .standard = FIS_DEFAULT_ACQUISITION,
     .meaning = "How records are selected: fis+ half by expected gain for fairness and half by "
                "entropy; fis as published; ekg by expected gain alone; product by gain times "
                "entropy; entropy and random for comparison."},
    {.key = "selection.strategy", COUNT(1, 2), .offset = AT(selection.strategy), STANDARD(STRATEGY),
     .meaning = "Proxy label of the algorithm fis: 1, the class with the least accuracy "
                "influence; 2, the predicted class."},
    {.key = "selection.labels_per_round", COUNT(1, 65536),
     .offset = AT(selection.labels_per_round), STANDARD(LABELS_PER_ROUND),
     .meaning = "Labels bought in a round (with fis: labels accepted, as fisctl labels shows); a "
                "round ends with the gate's verdict on a new version."},
    {.key = "selection.rounds", COUNT(0, 1000000000), .offset = AT(selection.rounds),
     .standard = "0", .live = true,
     .meaning = "Rounds with labels after which the trainer stops asking; 0: no limit."},
    {.key = "selection.patience", COUNT(0, 1000000), .offset = AT(selection.patience),
     .standard = "0", .live = true,
     .meaning = "Rounds in a row that published no version (a pinned one counts as published), "
                "after which the trainer stops asking and the rest of the budget is saved; "
                "`fisctl labels resume` goes on. 0: never."},
    {.key = "selection.budget", BIG(0, UINT64_C(1000000000000)), .offset = AT(selection.budget),
     .standard = "0", .live = true,
     .meaning = "Labels bought in total; 0: no limit."},
    {.key = "selection.daily_budget", BIG(0, UINT64_C(1000000000000)),
     .offset = AT(selection.daily_budget), .standard = "0",
     .live = true,
     .meaning = "Labels requested per day (UTC), not more than budget; 0: no limit."},
    {.key = "selection.in_flight", COUNT(0, 65536), .offset = AT(selection.in_flight),
     .standard = "0", .live = true,
     .meaning = "Maximum number of open label requests; 0: labels_per_round."},
    {.key = "selection.window_records", COUNT(1, 1000000000),
     .offset = AT(selection.window_records), .standard = "10000",
     .live = true,
     .meaning = "Records scored before labels are requested for the best of them; in mode stream."},
    {.key = "selection.window_time", DURATION(0, YEAR), .offset = AT(selection.window_time),
     .live = true,
     .standard = "1h",
     .meaning = "A window also closes this long after its first candidate, full or not, so that "
                "labels are requested for a thin stream too; 0: only when full. In mode stream."},
    {.key = "selection.heap", COUNT(0, 1000000), .offset = AT(selection.heap), .standard = "0",
     .meaning = "Candidates held per criterion; 0: twice labels_per_round. At least "
                "labels_per_round."},
    {.key = "selection.distinct", .kind = KIND_BOOL, .offset = AT(selection.distinct), .standard = "true",
     .meaning = "Of records with equal encoded features one is requested in a round; the others wait "
                "(mode pool: for the next scan; mode stream: for others like them to come)."},
    {.key = "selection.round_deadline", DURATION(0, YEAR), .offset = AT(selection.round_deadline),
     .standard = "0",
     .live = true,
     .meaning = "A round ends after this time with the labels received so far, if any; its "
                "requests stay open. 0: it waits for all."},
    {.key = "selection.seed", BIG(0, UINT64_MAX), .offset = AT(selection.seed), STANDARD(SEED),
     .meaning = "Seed of random choices in the selection."},

    {.key = "model.type", CHOICE("mlp", "vit"), .offset = AT(model.type), .standard = "mlp",
     .meaning = "mlp: dense layers (training.hidden) on the features. vit: a vision transformer "
                "below them; a record is then an image of model.image, given as that many numbers "
                "(features), and columns and dimension are not given."},
    {.key = "model.image", .kind = KIND_LAYERS, .min = 3, .max = 3, .item_min = 1,
     .item_max = 1024, .offset = AT(model.image), .example = "[28, 28, 3]",
     .otherwise = "required with type: vit",
     .meaning = "Height, width and channels of an image; at most 65,536 numbers, in this order."},
    {.key = "model.patch", COUNT(1, 1024), .offset = AT(model.patch), .standard = "8",
     .meaning = "With type: vit, the side of a patch; it divides height and width."},
    {.key = "model.width", COUNT(1, 4096), .offset = AT(model.width), .standard = "64",
     .meaning = "With type: vit, numbers of a token."},
    {.key = "model.depth", COUNT(1, 64), .offset = AT(model.depth), .standard = "4",
     .meaning = "With type: vit, its blocks."},
    {.key = "model.heads", COUNT(1, 64), .offset = AT(model.heads), .standard = "4",
     .meaning = "With type: vit, attention heads of a block; they divide width."},
    {.key = "model.mlp", COUNT(1, 16384), .offset = AT(model.mlp), .standard = "128",
     .meaning = "With type: vit, hidden units of a block."},
    {.key = "model.pool", CHOICE("mean", "token"), .offset = AT(model.pool), .standard = "mean",
     .meaning = "With type: vit, what goes on to the dense layers: the mean over the tokens, or a "
                "class token."},
    {.key = "model.score_layers", COUNT(0, CONFIG_LAYERS_MAX + 1), .offset = AT(model.score_layers),
     .standard = "0",
     .meaning = "How many of the last dense layers a record's influence is taken through; 0: all. "
                "It is never taken through a transformer."},
    {.key = "model.base.type", CHOICE("none", "column", "trees"), .offset = AT(base.type),
     .example = "trees",
     .otherwise = "trees; none with dimension (embeddings), and for the algorithm fis",
     .meaning = "A model whose predictions fisd corrects, as logits = base + network; the first "
                "version is the base itself, so accuracy is kept against it. column: the model "
                "that you have in production, whose score each record, initial row and validation "
                "row has. trees: gradient-boosted trees that fisd fits itself (XGBoost)."},
    {.key = "model.base.name", TEXT(255), .offset = AT(base.name), .example = "score",
     .otherwise = "required with type: column and two classes",
     .meaning = "The column of the score of the second of classes, which must be the positive one. "
                "It is not listed in columns; in vectors of numbers (protobuf, raw) it is the "
                "last. A record without it goes to the dead-letter topic."},
    {.key = "model.base.names", .kind = KIND_NAMES, .min = 3, .max = 64, .offset = AT(base.names),
     .example = "[score_a, score_b, score_c]",
     .otherwise = "required with type: column and more classes",
     .meaning = "The same with more than two classes: the columns of their scores, in the order "
                "of classes."},
    {.key = "model.base.scale", CHOICE("logit", "probability"), .offset = AT(base.scale),
     .standard = "probability",
     .meaning = "What the score is: a logit (log odds), cut off at -30 and 30; or a probability, "
                "cut off at 0.000001 and 0.999999, while one that is below 0 or above 1 goes to "
                "the dead-letter topic."},
    {.key = "model.base.trees", COUNT(1, 10000), .offset = AT(base.trees), STANDARD(TREES),
     .meaning = "With type: trees, how many at most; with more than two classes, of each class."},
    {.key = "model.base.patience", COUNT(0, 10000), .offset = AT(base.patience),
     STANDARD(TREE_PATIENCE),
     .meaning = "With trees: their number is where the loss is least of rows that they were not "
                "fitted to, in five folds; a fold stops after so many trees without a smaller loss. "
                "0: always model.base.trees."},
    {.key = "model.base.depth", COUNT(1, 8), .offset = AT(base.depth), STANDARD(TREE_DEPTH),
     .meaning = "With trees: their depth."},
    {.key = "model.base.rate", REAL(0, 1), .above = true, .offset = AT(base.rate),
     STANDARD(TREE_RATE), .meaning = "With trees: their learning rate."},
    {.key = "model.base.sample", REAL(0, 1), .above = true, .offset = AT(base.sample),
     STANDARD(TREE_SAMPLE),
     .meaning = "With trees: the share of the rows, and of the columns, that each is fitted to."},
    {.key = "model.base.growth", REAL(0, 1000), .offset = AT(base.growth), STANDARD(TREE_GROWTH),
     .meaning = "With trees: they are fitted again, at the end of a round, when the labelled rows "
                "have grown by this share; 0: each round."},

    {.key = "training.hidden", .kind = KIND_LAYERS, .min = 0, .max = CONFIG_LAYERS_MAX,
     .item_min = 1, .item_max = 8192, .offset = AT(training.hidden),
     .standard = "[" FIS_DEFAULT_TEXT(FIS_DEFAULT_HIDDEN) "]",
     .meaning = "Widths of the hidden layers; [] is a linear model."},
    {.key = "training.optimizer", CHOICE("sgd", "adamw"), .offset = AT(training.optimizer),
     .example = "sgd", .otherwise = "adamw with model.type: vit, sgd else",
     .meaning = "sgd: gradient descent with Nesterov momentum. adamw: AdamW, whose rate falls by "
                "half a cosine to a tenth in each round; with it learning_rate is 0.003 and "
                "weight_decay 0.05 unless they are given."},
    {.key = "training.warm_up_steps", COUNT(0, 1000000), .offset = AT(training.rise),
     STANDARD(WARM_UP_STEPS), .meaning = "With adamw, steps over which the rate rises at first."},
    {.key = "training.flip", .kind = KIND_BOOL, .offset = AT(training.flip), .standard = "false",
     .meaning = "With model.type: vit, training sees each image flipped left to right half of the "
                "times."},
    {.key = "training.shift", COUNT(0, 64), .offset = AT(training.shift), .standard = "0",
     .meaning = "With model.type: vit, training sees each image moved by up to so many pixels."},
    {.key = "training.learning_rate", REAL(0, 1e9), .above = true,
     .offset = AT(training.learning_rate), STANDARD(LEARNING_RATE),
     .meaning = "Learning rate."},
    {.key = "training.momentum", REAL(0, 1), .below = true, .offset = AT(training.momentum),
     STANDARD(MOMENTUM), .meaning = "Nesterov momentum."},
    {.key = "training.weight_decay", REAL(0, 1), .offset = AT(training.weight_decay),
     STANDARD(WEIGHT_DECAY), .meaning = "Weight decay (L2)."},
    {.key = "training.batch", COUNT(1, 65536), .offset = AT(training.batch), STANDARD(BATCH),
     .meaning = "Examples per training step."},
    {.key = "training.warm_up_epochs", COUNT(0, 10000), .offset = AT(training.warm_up_epochs),
     .example = FIS_DEFAULT_TEXT(FIS_DEFAULT_WARM_UP_EPOCHS),
     .otherwise = FIS_DEFAULT_TEXT(FIS_DEFAULT_WARM_UP_EPOCHS) "; over a base "
                  FIS_DEFAULT_TEXT(FIS_DEFAULT_WARM_UP_EPOCHS_OVER_BASE),
     .meaning = "Passes over the initial labelled set before the first label is requested."},
    {.key = "training.steps_per_round", COUNT(1, 1000000), .offset = AT(training.steps_per_round),
     .example = FIS_DEFAULT_TEXT(FIS_DEFAULT_STEPS_PER_ROUND),
     .otherwise = FIS_DEFAULT_TEXT(FIS_DEFAULT_STEPS_PER_ROUND) "; over a base "
                  FIS_DEFAULT_TEXT(FIS_DEFAULT_STEPS_OVER_BASE),
     .meaning = "Training steps in a round of the network that scores records, which is not the "
                "published one (fresh_steps)."},
    {.key = "training.publication", CHOICE("line", "plain", "mixed"),
     .offset = AT(training.publication), .example = "line",
     .otherwise = "line for fis+, ekg and product; mixed for fis; plain for random and entropy",
     .meaning = "line: one model on all labels, published from the fairest point of the Newton "
                "line that keeps its accuracy; plain: the same model as it is; mixed: one model "
                "on old and kept labels, as it is."},
    {.key = "training.mix", REAL(0, 1), .offset = AT(training.mix), STANDARD(MIX),
     .meaning = "With publication: mixed, the share of each batch drawn from the kept labels."},
    {.key = "training.average_every", COUNT(1, 1000000), .offset = AT(training.average_every),
     STANDARD(AVERAGE_EVERY),
     .meaning = "The weights offered at the end of a round are the mean of snapshots taken after "
                "each such number of steps."},
    {.key = "training.fresh_steps", COUNT(0, 1000000), .offset = AT(training.fresh_steps),
     STANDARD(FRESH_STEPS),
     .meaning = "Most training steps of the network that a version is made of: it begins afresh each "
                "round and learns from all labels. 0: the one that learns step by step is taken. Not "
                "with publication: mixed, nor on a line with privacy.noise."},
    {.key = "training.learn_validation", CHOICE("auto", "on", "off"),
     .offset = AT(training.learn_validation), .standard = "auto",
     .meaning = "With publication: line, whether that network learns from the labels of validation "
                "rows too (never from groups); each row is judged by one that has not seen it. auto: "
                "while there are fewer labels than validation rows. Never with privacy.noise."},
    {.key = "training.seed", BIG(0, UINT64_MAX), .offset = AT(training.seed), STANDARD(SEED),
     .meaning = "Seed of the first weights and of the order of examples."},

    {.key = "gate.epsilon", REAL(0, 1), .offset = AT(gate.epsilon), STANDARD(EPSILON),
     .meaning = "How much accuracy a version may lose, as estimated, and still be published: "
                "against the newest model as it is; with publication: plain or mixed, against the "
                "first version."},
    {.key = "gate.min_rows", COUNT(0, 1000000000), .offset = AT(gate.min_rows), STANDARD(MIN_ROWS),
     .meaning = "With fewer validation rows no version after the first is published."},
    {.key = "gate.min_cell", COUNT(1, 1000000), .offset = AT(gate.min_cell), STANDARD(MIN_CELL),
     .meaning = "The same, if a cell (a group, or a group and class) that the metric needs has "
                "fewer rows."},
    {.key = "gate.warn_cell", COUNT(1, 1000000), .offset = AT(gate.warn_cell), STANDARD(WARN_CELL),
     .meaning = "An alarm is raised when such a cell has fewer rows."},
    {.key = "gate.precondition", CHOICE("auto", "on", "off"), .offset = AT(gate.precondition),
     .standard = "auto",
     .meaning = "Whether directions are scaled by the curvature of the last layer. auto: on from "
                ROWS_FOR_AUTO " rows, but not with privacy.noise."},
    {.key = "gate.replace", CHOICE("fairer", "always"), .offset = AT(gate.replace),
     .standard = "fairer",
     .meaning = "fairer: a version replaces the served one if it is fairer by more than "
                "standard_errors, or if the served one has fallen below the floor; always: every "
                "version that keeps accuracy does."},
    {.key = "gate.standard_errors", REAL(0, 10), .offset = AT(gate.standard_errors),
     STANDARD(STANDARD_ERRORS), .meaning = "See gate.replace."},
    {.key = "gate.bootstrap", COUNT(20, 10000), .offset = AT(gate.bootstrap), STANDARD(RESAMPLES),
     .meaning = "Bootstrap samples for the standard error of a difference."},
    {.key = "gate.patience", COUNT(0, 1000000), .offset = AT(gate.patience), STANDARD(PATIENCE),
     .live = true,
     .meaning = "After this number of versions in a row that were rejected below the accuracy "
                "floor or as not finite, training returns to the served model; 0: never."},

    {.key = "scorer.batch", COUNT(1, 65536), .offset = AT(scorer.batch), .standard = "4096",
     .meaning = "Maximum number of records scored together."},
    {.key = "scorer.batches_in_flight", COUNT(1, 16), .offset = AT(scorer.batches_in_flight),
     .standard = "16",
     .meaning = "Batches in work at a time, from reading to the acknowledgement of the offers; "
                "the consumer waits for a free one."},
    {.key = "scorer.queue_bytes", SIZE(64 * KIB, 2048 * MIB), .offset = AT(scorer.queue_bytes),
     .standard = "32MiB", .meaning = "Maximum bytes of records fetched ahead of scoring."},

    {.key = "privacy.noise", REAL(0, 1e6), .offset = AT(privacy.noise), .standard = "0",
     .meaning = "Noise on the directions in heads, in units of what one validation example can "
                "change (docs/threat-model.md); directions are then of the last layer alone. 0: "
                "no noise."},
    {.key = "privacy.clip", REAL(0, 1e6), .above = true, .offset = AT(privacy.clip),
     STANDARD(CLIP),
     .meaning = "With noise: gradients of an example are clipped to this length. Best is a small "
                "value that clips nearly all, so that every example has the same weight."},
    {.key = "privacy.delta", REAL(0, 1), .above = true, .below = true, .offset = AT(privacy.delta),
     STANDARD(DELTA), .meaning = "With noise: the delta for which epsilon is shown; well below "
                                 "one over the number of validation examples."},
    {.key = "privacy.key", .kind = KIND_STRING, .min = 32, .max = 4096, .secret = true,
     .offset = AT(privacy.key),
     .example = "file:/etc/fisd/noise.key",
     .otherwise = "a random key per process; each restart then costs as much privacy as a refresh",
     .meaning = "With noise: the secret from which it is derived, the same for all trainers of "
                "the pipeline; a text, file:/path, or credential:name. It can remove the noise, "
                "together with the ledger."},

    {.key = "runtime.commit_interval", DURATION(10, MINUTE),
     .offset = AT(runtime.commit_interval), .standard = "200ms",
     .live = true,
     .meaning = "Interval between commits to Kafka."},
    {.key = "runtime.shutdown_timeout", DURATION(1000, 25000),
     .offset = AT(runtime.shutdown_timeout), .standard = "20s",
     .live = true,
     .meaning = "Maximum time from SIGTERM to the end of the process."},
    {.key = "runtime.workers", COUNT(1, 64), .offset = AT(runtime.workers), .standard = "1",
     .meaning = "Threads for scoring and training."},

    {.key = "http.listen", TEXT(64), .offset = AT(http.listen), .standard = "auto",
     .meaning = "Where dashboard, metrics and API are served: an IP address and a port. auto: "
                "127.0.0.1:9464 or, when that is taken, the next free port (the log says which). "
                "off: nowhere. Listening beyond loopback requires TLS and a token."},
    {.key = "http.url", TEXT(255), .offset = AT(http.url), .example = "https://fisd-1.example.com/",
     .otherwise = "made of the address that it listens on",
     .meaning = "The address of this process's dashboard as browsers reach it (http:// or "
                "https://): the dashboards of the pipeline's other processes link to it. Set it "
                "behind a proxy, or in a container."},
    {.key = "http.token_file", TEXT(4095), .offset = AT(http.token_file),
     .example = "/etc/fisd/http.token", .otherwise = "no commands by HTTP",
     .meaning = "File whose first line is the bearer token (16 characters or more) that commands "
                "require, or credential:name for a systemd credential. Read again on SIGHUP."},
    {.key = "http.protect", CHOICE("commands", "all"), .offset = AT(http.protect),
     .standard = "commands",
     .meaning = "What requires the token: commands, or metrics and API too. The health pages and "
                "the dashboard's files never do."},
    {.key = "http.tls_cert", TEXT(4095), .offset = AT(http.tls_cert),
     .example = "/etc/fisd/http.crt", .otherwise = "plain HTTP",
     .meaning = "Certificate (and chain) in PEM: a file, or credential:name."},
    {.key = "http.tls_key", TEXT(4095), .offset = AT(http.tls_key), .example = "/etc/fisd/http.key",
     .otherwise = "plain HTTP", .meaning = "Its key in PEM: a file, or credential:name."},
    {.key = "http.max_connections", COUNT(1, 1000), .offset = AT(http.max_connections),
     .standard = "32", .meaning = "Maximum number of connections; further ones wait."},
    {.key = "http.timeout", DURATION(100, 10 * MINUTE), .offset = AT(http.timeout),
     .standard = "10s",
     .meaning = "Maximum duration of a request with its response, and of an idle connection."},
    {.key = "http.group_names", .kind = KIND_BOOL, .offset = AT(http.group_names),
     .standard = "false",
     .meaning = "Show groups by the values of the sensitive columns instead of by number."},

    {.key = "webhook.url", .kind = KIND_STRING, .min = 8, .max = 2048, .secret = true,
     .offset = AT(webhook.url), .example = "https://ci.example.com/hooks/fisd",
     .otherwise = "no webhook",
     .meaning = "Where the leading trainer posts each published version (docs/models.md): http:// "
                "or https://; a text, file:/path, or credential:name, since it may hold a secret. "
                "Redirects are not followed."},
    {.key = "webhook.secret", .kind = KIND_STRING, .min = 16, .max = 4096, .secret = true,
     .offset = AT(webhook.secret), .example = "file:/etc/fisd/webhook.secret",
     .otherwise = "no signature",
     .meaning = "Key of the signature (HMAC-SHA256 of the body) that each delivery carries; a text, "
                "file:/path, credential:name, or ${NAME} of the environment."},
    {.key = "webhook.ca_file", TEXT(4095), .offset = AT(webhook.ca_file),
     .example = "/etc/fisd/ca.crt", .otherwise = "the system's certificates",
     .meaning = "Certificates in PEM that the server's must lead to."},
    {.key = "webhook.timeout", DURATION(100, 5 * MINUTE), .offset = AT(webhook.timeout),
     .standard = "10s", .meaning = "Maximum duration of an attempt to deliver."},

    {.key = "alarms.label_age", DURATION(0, YEAR), .offset = AT(alarms.label_age),
     .standard = "1d", .live = true,
     .meaning = "labels_stuck: a request has been open for this long. 0: no such alarm."},
    {.key = "alarms.starved", DURATION(0, YEAR), .offset = AT(alarms.starved), .standard = "15m",
     .live = true,
     .meaning = "labels_starved: for this long there has been budget and no candidate. 0: no such "
                "alarm."},
    {.key = "alarms.budget_left", REAL(0, 1), .offset = AT(alarms.budget_left), .standard = "0.1",
     .live = true,
     .meaning = "budget_low, daily_budget_low: less than this share of selection.budget, or of "
                "selection.daily_budget, is left; an exhausted budget always raises it."},
    {.key = "alarms.rejected", COUNT(0, 1000000), .offset = AT(alarms.rejected), .standard = "5",
     .live = true,
     .meaning = "gate_rejecting: this number of versions in a row were rejected. 0: no such "
                "alarm."},
    {.key = "alarms.validation_age", DURATION(0, 10 * YEAR), .offset = AT(alarms.validation_age),
     .standard = "90d", .live = true,
     .meaning = "validation_stale: the newest validation row (or the file) is this old. 0: no "
                "such alarm."},
    {.key = "alarms.drift", REAL(0, 1000), .offset = AT(alarms.drift), .standard = "0.25",
     .live = true,
     .meaning = "drift: a column of the records has a population stability index above this, "
                "against the initial set. 0: no such alarm."},
    {.key = "alarms.rate_moved", REAL(0, 1), .offset = AT(alarms.rate_moved), .standard = "0.1",
     .live = true,
     .meaning = "group_rate_moved: P(yhat = positive) of a group differs by more than this, and "
                "by more than three standard errors, between the served version and an earlier "
                "one. 0: no such alarm."},
    {.key = "alarms.dead_letters", REAL(0, 1), .offset = AT(alarms.dead_letters),
     .standard = "0.01", .live = true,
     .meaning = "dead_letters: more than this share of the messages of five minutes, and at least "
                "ten, were refused. 0: no such alarm."},

    {.key = "log.level", CHOICE("debug", "info", "warn", "error"), .offset = AT(log.level),
     .standard = "info", .live = true,
     .meaning = "Minimum level of log lines."},
    {.key = NULL},
};

const struct option config_column_options[] = {
    {.key = "columns[].name", TEXT(255), .offset = offsetof(struct config_column, name),
     .need = NEED_ALWAYS, .example = "age", .meaning = "Name of the column."},
    {.key = "columns[].type", CHOICE("numeric", "categorical"),
     .offset = offsetof(struct config_column, type), .standard = "numeric",
     .meaning = "categorical: one input per category of the initial set, and one for unseen "
                "categories."},
    {.key = "columns[].scale", CHOICE("standard", "none"),
     .offset = offsetof(struct config_column, scale), .standard = "standard",
     .meaning = "standard: minus the mean, divided by the standard deviation, of the initial set; "
                "numeric columns only."},
    {.key = NULL},
};

const struct option config_show_options[] = {
    {.key = "labels.show[].column", TEXT(255), .offset = offsetof(struct config_show, column),
     .need = NEED_ALWAYS, .example = "income",
     .meaning = "A column of the record, one of records.passthrough, or an attribute."},
    {.key = "labels.show[].name", TEXT(255), .offset = offsetof(struct config_show, name),
     .example = "Yearly income", .otherwise = "the column's",
     .meaning = "What people read in its place."},
    {.key = "labels.show[].help", TEXT(1000), .offset = offsetof(struct config_show, help),
     .example = "before tax", .otherwise = "none", .meaning = "A sentence beside the name."},
    {.key = "labels.show[].as", CHOICE("text", "image", "link"),
     .offset = offsetof(struct config_show, as), .standard = "text",
     .meaning = "image: the picture at an http or https address, or in a data: URL; link: an http "
                "or https address; a value that is none is shown as text."},
    {.key = "labels.show[].template", TEXT(1000), .offset = offsetof(struct config_show, template),
     .example = "https://scans.example/{scan}.jpg", .otherwise = "the value as it is",
     .meaning = "Text with {column} in places: the value of that column, as part of an address with "
                "what is special there escaped. An address begins with http:// or https:// and a "
                "host without {column}."},
    {.key = NULL},
};
/* clang-format on */

const struct option *config_table_of(const char *key)
{
    const char *item = strstr(key, "[].");
    for (const struct option *o = config_options; item && o->key; o++)
        if (o->items && !strncmp(o->key, key, (size_t)(item - key)) && !o->key[item - key])
            return o->items;
    return config_options;
}

const struct option *config_find_option(const char *key)
{
    for (const struct option *o = config_table_of(key); o->key; o++)
        if (!strcmp(o->key, key))
            return o;
    return NULL;
}

const char *config_choice(const char *key, int value)
{
    const struct option *o = config_find_option(key);
    if (!o || !o->choices || value < 0)
        return NULL;
    for (int i = 0; o->choices[i]; i++)
        if (i == value)
            return o->choices[i];
    return NULL;
}

size_t config_section_length(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? (size_t)(dot - key) : 0;
}

const char *config_leaf(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

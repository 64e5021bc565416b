/*
 * Good files: what is given, what is not, and what follows from it.
 */
#include "kit/config/config_text.h"

static void test_defaults(void **state)
{
    (void)state;
    struct config c = config_text_load("/etc/fisd/p.yaml", CONFIG_TEXT_LEAST);
    assert_string_equal(c.pipeline, "p");
    assert_int_equal(c.roles, CONFIG_SCORER | CONFIG_TRAINER);
    assert_int_equal(c.delivery, CONFIG_EXACTLY_ONCE);
    assert_string_equal(c.topics.prefix, "p");
    assert_string_equal(c.topics.records, "p.records");
    assert_string_equal(c.topics.label_requests, "p.label-requests");
    assert_string_equal(c.topics.dead_letter, "p.dead-letter");
    assert_int_equal(c.topics.partitions, 3);
    assert_true(c.topics.create);
    assert_int_equal(c.topics.max_chunk, 512 * 1024);
    assert_int_equal(c.records.max_bytes, 1 << 20);
    assert_string_equal(c.records.id, "id");
    assert_string_equal(c.positive, "yes");
    assert_int_equal(c.positive_class, 1);
    assert_int_equal(c.columns.count, 2);
    assert_int_equal(c.columns.items[1].type, CONFIG_CATEGORICAL);
    assert_int_equal(c.features.max_categories, 1000);
    assert_string_equal(c.initial.file, "/etc/fisd/i.csv");
    assert_string_equal(c.validation.label, "label");
    assert_int_equal(c.fairness.metric, CONFIG_EQUALIZED_ODDS);
    assert_int_equal(c.selection.algorithm, CONFIG_FIS_PLUS);
    assert_int_equal(c.selection.in_flight, 128);
    assert_int_equal(c.selection.heap, 256);
    assert_int_equal(c.selection.window_records, 10000);
    assert_int_equal(c.selection.mode, CONFIG_STREAM);
    assert_true(c.selection.daily_budget == 0 && c.labels.deadline == 0 && !c.labels.replace);
    assert_int_equal(c.labels.votes, 1);
    assert_int_equal(c.gate.patience, 5);
    assert_string_equal(c.topics.control, "p.control");
    assert_int_equal(c.training.hidden.count, 1);
    assert_int_equal(c.training.hidden.items[0], 64);
    assert_true(c.training.weight_decay > .000499 && c.training.weight_decay < .000501);
    assert_int_equal(c.training.publication, CONFIG_LINE);
    assert_int_equal(c.gate.bootstrap, 200);
    assert_int_equal(c.scorer.queue_bytes, 32 << 20);
    assert_int_equal(c.runtime.commit_interval, 200);
    assert_int_equal(c.runtime.shutdown_timeout, 20000);
    assert_int_equal(c.log.level, CONFIG_INFO);
    config_done(&c);
    assert_null(c.pipeline);
    config_done(&c);
}

static void test_given(void **state)
{
    (void)state;
    struct config c = config_text_load(
        "p.yaml", CONFIG_TEXT_LEAST
        "roles: [trainer]\ntopics: {prefix: q, labels: answers}\nselection:\n"
        "  algorithm: fis\n  strategy: 2\n  labels_per_round: 64\n  window_time: 2h\n"
        "  seed: 18446744073709551615\n"
        "training: {hidden: [], learning_rate: 1e6, momentum: .5}\n"
        "gate: {min_cell: 200}\nrecords: {max_bytes: 2MB}\npositive: no\n");
    assert_int_equal(c.roles, CONFIG_TRAINER);
    assert_string_equal(c.topics.labels, "answers");
    assert_string_equal(c.topics.ledger, "q.ledger");
    assert_int_equal(c.selection.window_time, 7200000);
    assert_true(c.selection.seed == UINT64_MAX);
    assert_int_equal(c.selection.in_flight, 64);
    assert_int_equal(c.training.publication, CONFIG_MIXED);
    assert_int_equal(c.training.hidden.count, 0);
    assert_true(c.training.learning_rate > 999999 && c.training.learning_rate < 1000001);
    assert_int_equal(c.gate.warn_cell, 200);
    assert_int_equal(c.records.max_bytes, 2000000);
    assert_int_equal(c.positive_class, 0);
    assert_string_equal(c.initial.file, "i.csv");
    config_done(&c);
}

static void test_the_life_of_labels(void **state)
{
    (void)state;
    struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST
                                       "selection: {mode: pool, budget: 9, daily_budget: 9}\n"
                                       "labels: {deadline: 2h, replace: true, votes: 99}\n"
                                       "gate: {patience: 0}\ntopics: {control: commands}\n");
    assert_int_equal(c.selection.mode, CONFIG_POOL);
    assert_int_equal(c.selection.daily_budget, 9);
    assert_true(c.labels.deadline == 7200000 && c.labels.replace && c.labels.votes == 99);
    assert_int_equal(c.gate.patience, 0);
    assert_string_equal(c.topics.control, "commands");
    char *text = config_text_effective(&c);
    struct config again = config_text_load("p.yaml", text);
    assert_int_equal(again.selection.mode, CONFIG_POOL);
    assert_int_equal(again.labels.votes, 99);
    free(text);
    config_done(&again);
    config_done(&c);
    c = config_text_load("p.yaml", CONFIG_TEXT_LEAST "selection: {daily_budget: 9}\n");
    assert_int_equal(c.selection.daily_budget, 9);
    config_done(&c);
}

static const struct config_topic *find_topic(const struct config_topic *list, uint32_t n,
                                             const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    fail_msg("no topic %s", name);
    return NULL;
}

static void test_topics(void **state)
{
    (void)state;
    struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST "topics: {partitions: 7}\n");
    struct config_topic list[CONFIG_TOPICS_MAX];
    uint32_t n = config_topics_list(&c, list);
    static const char *const single[] = {"p.candidates", "p.heads",   "p.models",
                                         "p.ledger",     "p.control", "p.fleet"};
    static const char *const many[] = {"p.records", "p.label-requests", "p.labels",
                                       "p.dead-letter"};
    assert_int_equal(n, 10);
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        assert_int_equal(find_topic(list, n, single[i])->partitions, 1);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        assert_int_equal(find_topic(list, n, many[i])->partitions, 7);
    assert_false(find_topic(list, n, "p.control")->compact);
    assert_true(find_topic(list, n, "p.ledger")->compact);
    assert_true(find_topic(list, n, "p.fleet")->brief && !find_topic(list, n, "p.control")->brief);
    config_done(&c);
}

static void test_scorer_needs_no_sets(void **state)
{
    (void)state;
    struct config c = config_text_load(
        "p.yaml", "pipeline: p\nroles: [scorer]\nclasses: [a, b, c]\ndimension: 3\n"
                  "records: {encoding: raw}\nselection:\n");
    assert_int_equal(c.columns.count, 3);
    assert_string_equal(c.columns.items[2].name, "f2");
    assert_int_equal(c.dimension, 3);
    assert_null(c.initial.file);
    config_done(&c);
}

static void test_images(void **state)
{
    (void)state;
    struct config c =
        config_text_load("p.yaml", "pipeline: p\nroles: [scorer]\nclasses: [a, b]\n"
                                   "model: {type: vit, image: [8, 12, 3], patch: 4, width: 8}\n");
    assert_int_equal(c.dimension, 288);
    assert_int_equal(c.columns.count, 288);
    assert_int_equal(c.columns.items[0].scale, CONFIG_SCALE_STANDARD);
    assert_int_equal(c.model.heads, 4);
    assert_int_equal(c.training.optimizer, CONFIG_ADAMW);
    assert_true(c.training.learning_rate == .003 && c.training.weight_decay == .05);
    assert_int_equal(c.records.max_pixels, 1 << 24);
    config_done(&c);
}

static void test_class_names(void **state)
{
    (void)state;
    struct config c = config_text_load(
        "p.yaml", "\xef\xbb\xbfpipeline: p\r\nroles: [scorer]\r\ndimension: 1\r\n"
                  "classes: [no, yes, 0, 1, 10, 1.5, null, ~, true, \"<=50K\", J\xc3\xbcrgen]\r\n");
    static const char *const want[] = {"no",   "yes", "0",    "1",     "10",           "1.5",
                                       "null", "~",   "true", "<=50K", "J\xc3\xbcrgen"};
    assert_int_equal(c.classes.count, 11);
    for (uint32_t i = 0; i < 11; i++)
        assert_string_equal(c.classes.items[i], want[i]);
    config_done(&c);
}

static void test_kafka(void **state)
{
    (void)state;
    assert_int_equal(setenv("FIS_TEST_SECRET", "pa:ss $x", 1), 0);
    struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST
                                       "kafka:\n  bootstrap.servers: a:1,b:2\n"
                                       "  enable.ssl.certificate.verification: false\n"
                                       "  max.poll.interval.ms: 10000\n"
                                       "  sasl.password: \"<${FIS_TEST_SECRET}>\"\n"
                                       "  ssl.key.pem: |\n    one\n    two\n"
                                       "  client.id: $${x}\n");
    assert_string_equal(config_kafka(&c, "bootstrap.servers"), "a:1,b:2");
    assert_string_equal(config_kafka(&c, "enable.ssl.certificate.verification"), "false");
    assert_string_equal(config_kafka(&c, "max.poll.interval.ms"), "10000");
    assert_string_equal(config_kafka(&c, "sasl.password"), "<pa:ss $x>");
    assert_string_equal(config_kafka(&c, "ssl.key.pem"), "one\ntwo\n");
    assert_string_equal(config_kafka(&c, "client.id"), "${x}");
    assert_null(config_kafka(&c, "acks"));
    char *text = config_text_effective(&c);
    assert_null(strstr(text, "pa:ss"));
    assert_null(strstr(text, "two"));
    assert_non_null(strstr(text, "\"sasl.password\": \"***\""));
    assert_non_null(strstr(text, "\"client.id\": \"$${x}\""));
    free(text);
    config_done(&c);
}

static void test_alias(void **state)
{
    (void)state;
    struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST
                                       "topics: {partitions: &n 7, replication: *n}\n");
    assert_int_equal(c.topics.replication, 7);
    config_done(&c);
}

static void test_base_follows_the_columns(void **state)
{
    (void)state;
    struct config c =
        config_text_load("p.yaml", CONFIG_TEXT_LEAST "model: {base: {type: column, name: s}}\n");
    char *printed = config_text_effective(&c);
    struct config again = config_text_load("p.yaml", printed);
    for (int i = 0; i < 2; i++) {
        const struct config_columns *columns = i ? &again.columns : &c.columns;
        const struct config_column *last = &columns->items[columns->count - 1];
        assert_true(columns->count >= 2);
        assert_string_equal(last->name, "s");
        assert_int_equal(last->scale, CONFIG_SCALE_PROBABILITY);
        assert_int_equal(columns->items[columns->count - 2].scale, CONFIG_SCALE_STANDARD);
    }
    free(printed);
    config_done(&c);
    config_done(&again);
    c = config_text_load("p.yaml",
                         "pipeline: p\nroles: [scorer]\nclasses: [a, b, c]\ndimension: 2\n"
                         "model.base: {type: column, names: [x, y, z], scale: logit}\n");
    assert_int_equal(c.columns.count, 5);
    assert_string_equal(c.columns.items[4].name, "z");
    assert_int_equal(c.columns.items[2].scale, CONFIG_SCALE_LOGIT);
    config_done(&c);
}

static void test_show(void **state)
{
    (void)state;
    static const char page[] = CONFIG_TEXT_LEAST
        "records: {passthrough: [scan]}\n"
        "labels:\n"
        "  page: true\n"
        "  annotators: people\n"
        "  show:\n"
        "    - {column: b, name: \"Job \\\"now\\\"\", help: as stated}\n"
        "    - {column: scan, as: image, template: \"https://x.example/{scan}/{id}.jpg\"}\n"
        "    - {column: a, template: \"{a} years\"}\n";
    struct config c = config_text_load("/etc/fisd/p.yaml", page), again;
    const struct config_shows *show = &c.labels.show;
    assert_int_equal(show->count, 3);
    assert_string_equal(show->items[0].name, "Job \"now\"");
    assert_string_equal(show->items[0].help, "as stated");
    assert_int_equal(show->items[1].as, CONFIG_SHOW_IMAGE);
    assert_null(show->items[1].name);
    assert_string_equal(show->items[2].template, "{a} years");
    assert_string_equal(c.labels.annotators, "/etc/fisd/people");
    char *text = config_text_effective(&c);
    again = config_text_load("/etc/fisd/p.yaml", text);
    struct config_changes changes;
    config_adopt(&c, &again, &changes);
    assert_int_equal(changes.taken + changes.kept, 0);
    again.labels.show.items[2].as = CONFIG_SHOW_LINK;
    config_adopt(&c, &again, &changes);
    assert_string_equal(changes.kept_keys, "labels.show");
    config_done(&again);
    config_done(&c);
    free(text);
}

static void test_files(void **state)
{
    (void)state;
    struct fis_error e = {0};
    struct config c;
    if (config_load("config/example.yaml", &c, &e))
        fail_msg("%s", e.text);
    assert_string_equal(c.initial.file, "config/initial.csv");
    config_done(&c);
    if (config_load("config/adult.yaml", &c, &e))
        fail_msg("%s", e.text);
    assert_int_equal(c.columns.count, 13);
    assert_string_equal(c.classes.items[0], "<=50K");
    assert_int_equal(c.selection.budget, 1280);
    config_done(&c);
    assert_int_equal(config_load("config/none.yaml", &c, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "config/none.yaml: cannot be opened"));
    assert_int_equal(config_load("config", &c, &e), -FIS_INPUT);
    assert_int_equal(config_load("config", &c, NULL), -FIS_INPUT);
}

/* Every option differs, one at a time: those that are live are taken, and no other. */
static void test_adopt_takes_what_is_live(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"log: {level: warn}", "log.level"},
        {"runtime: {shutdown_timeout: 3s}", "runtime.shutdown_timeout"},
        {"labels: {replace: true}", "labels.replace"},
        {"gate: {patience: 9}", "gate.patience"},
        {"gate: {epsilon: 0.01}", NULL},
        {"roles: [trainer]", NULL},
        {"training: {hidden: [8]}", NULL},
        {"kafka: {bootstrap.servers: 'h:1', sasl.password: x}", NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[2048];
        struct config_changes changes;
        struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST),
                      before = config_text_load("p.yaml", CONFIG_TEXT_LEAST);
        snprintf(text, sizeof text, "%s%s\n", CONFIG_TEXT_LEAST, lines[i][0]);
        struct config next = config_text_load("p.yaml", text);
        config_adopt(&c, &next, &changes);
        assert_int_equal(changes.taken, lines[i][1] != NULL);
        assert_int_equal(changes.kept, lines[i][1] == NULL);
        assert_string_equal(changes.taken_keys, lines[i][1] ? lines[i][1] : "");
        if (lines[i][1]) {
            config_adopt(&c, &next, &changes);
            assert_int_equal(changes.taken + changes.kept, 0);
            config_adopt(&c, &before, &changes);
            assert_int_equal(changes.taken, 1);
        } else {
            assert_memory_equal(changes.kept_keys, lines[i][0], strcspn(lines[i][0], ":"));
            config_adopt(&c, &before, &changes);
            assert_int_equal(changes.taken + changes.kept, 0);
        }
        config_done(&next);
        config_done(&before);
        config_done(&c);
    }
}

static void test_adopt_names_many(void **state)
{
    (void)state;
    struct config c = config_text_load("p.yaml", CONFIG_TEXT_LEAST), none = {0};
    struct config_changes changes;
    config_adopt(&c, &none, &changes);
    assert_true(changes.kept > 20);
    size_t length = strlen(changes.kept_keys);
    assert_true(length < CONFIG_KEYS_TEXT);
    assert_string_equal(changes.kept_keys + length - strlen(", …"), ", …");
    config_done(&c);
}

/* A list of topics of records: the first stands for those that know one. */
static void test_several_topics_of_records(void **state)
{
    static const char text[] = CONFIG_TEXT_LEAST "topics: {records: [p.one, p.two, p.three]}\n";
    (void)state;
    struct config c, again;
    struct fis_error e;
    const char *topics[CONFIG_RECORDS_MAX];
    struct config_topic all[CONFIG_TOPICS_MAX];
    assert_int_equal(config_load_text("t.yaml", text, sizeof text - 1, &c, NULL, &e), 0);
    assert_int_equal(config_record_topics(&c, topics), 3);
    assert_string_equal(topics[0], "p.one");
    assert_string_equal(topics[2], "p.three");
    assert_string_equal(c.topics.labels, "p.labels");
    uint32_t n = config_topics_list(&c, all), found = 0;
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            found +=
                !strcmp(all[i].name, topics[k]) && all[i].yours && all[i].readers == CONFIG_SCORER;
    assert_int_equal(found, 3);
    /* What is printed loads as the same; a reload notices another list. */
    char *printed = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&printed, &length);
    config_print(&c, out);
    fclose(out);
    assert_int_equal(config_load_text("t.yaml", printed, length, &again, NULL, &e), 0);
    assert_int_equal(config_record_topics(&again, topics), 3);
    assert_string_equal(topics[1], "p.two");
    struct config_changes changes;
    config_adopt(&c, &again, &changes);
    assert_int_equal(changes.kept, 0);
    again.topics.more_records.count--;
    config_adopt(&c, &again, &changes);
    assert_int_equal(changes.kept, 1);
    assert_string_equal(changes.kept_keys, "topics.records");
    again.topics.more_records.count++;
    free(printed);
    config_done(&c);
    config_done(&again);
}

static void numbers_of(const char *records, uint32_t numbers[CONFIG_RECORDS_MAX])
{
    char text[1024];
    struct config c;
    struct fis_error e;
    int n = snprintf(text, sizeof text, CONFIG_TEXT_LEAST "topics: {records: %s}\n", records);
    assert_int_equal(config_load_text("t.yaml", text, (size_t)n, &c, NULL, &e), 0);
    config_record_numbers(&c, numbers);
    config_done(&c);
}

/* A topic keeps its number whatever is before it in the list, and what was removed. */
static void test_numbers_of_topics(void **state)
{
    (void)state;
    uint32_t one[CONFIG_RECORDS_MAX], all[CONFIG_RECORDS_MAX], other[CONFIG_RECORDS_MAX];
    numbers_of("p.records", one);
    assert_int_equal(one[0], 0);
    numbers_of("[p.one, p.records, p.two]", all);
    assert_int_equal(all[1], 0);
    assert_int_not_equal(all[0], all[2]);
    assert_in_range(all[0], 1, CONFIG_RECORD_NUMBERS - 1);
    numbers_of("[p.two, p.one]", other);
    assert_int_equal(other[0], all[2]);
    assert_int_equal(other[1], all[0]);
    numbers_of("p.two", one);
    assert_int_equal(one[0], all[2]);
    /* These two meet. */
    numbers_of("[p.t299, p.t219]", all);
    assert_int_equal(all[1], 3778);
    assert_int_equal(all[0], 3779);
    numbers_of("[p.t219, p.t299]", other);
    assert_int_equal(other[0], 3778);
    assert_int_equal(other[1], 3779);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_topics),
        cmocka_unit_test(test_several_topics_of_records),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_the_life_of_labels),
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_scorer_needs_no_sets),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_class_names),
        cmocka_unit_test(test_kafka),
        cmocka_unit_test(test_alias),
        cmocka_unit_test(test_base_follows_the_columns),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_adopt_takes_what_is_live),
        cmocka_unit_test(test_adopt_names_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

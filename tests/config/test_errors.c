/*
 * Bad files: each is refused, at its line and column, with what was found and what is allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "config/option.h"
#include "fis/mem.h"

#define LEAST                                                                                      \
    "pipeline: p\n"                                                                                \
    "classes: [\"no\", \"yes\"]\n"                                                                 \
    "columns: [{name: a}, {name: b, type: categorical}]\n"                                         \
    "initial: {file: i.csv}\n"                                                                     \
    "validation: {file: v.csv, sensitive: [sex]}\n"
/* What is added to LEAST begins at line 6. */
#define VIT "pipeline: p\nroles: [scorer]\nclasses: [a, b]\n"
#define SCORER "pipeline: p\nroles: [scorer]\ndimension: 2\n"
/* What is added to SCORER begins at line 4 and needs classes. */

struct bad {
    const char *text;
    const char *place; /* ":line:column: " */
    const char *says[3];
};

static const struct bad bads[] = {
    /* unknown keys */
    {LEAST "selection:\n  budgett: 5\n",
     ":7:3: ",
     {"key 'selection.budgett': found an unknown key", "'selection.budget'?"}},
    {LEAST "selectoin:\n  budget: 5\n", ":6:1: ", {"'selectoin'", "'selection'?"}},
    {LEAST "labels_per_round: 5\n", ":6:1: ", {"'selection.labels_per_round'?"}},
    {LEAST "gate: {\n  labels_per_round: 5}\n", ":7:3: ", {"'selection.labels_per_round'?"}},
    {LEAST "selection.budget: 5\n", ":6:1: ", {"'selection.budget' as a section and a key in it"}},
    {LEAST "model.base: {type: column, name: a}\n", ":6:34: ", {"a base's score is no feature"}},
    {LEAST "model: {base: {type: column}}\n", ":6:22: ", {"with model.base.name, and no names"}},
    {"pipeline: p\ndimension: 2\nclasses: [a, b, c, d, e, f, g, h]\npositive: a\n"
     "model: {base: {type: trees, trees: 8193}}\n"
     "initial: {file: i.csv}\nvalidation: {file: v.csv, sensitive: [sex]}\n",
     ":5:36: ",
     {"8193", "at most 8192 of each of 8 classes"}},
    {LEAST "model: {base: {name: s}}\n", ":6:22: ", {"none without model.base.type: column"}},
    {LEAST "model: {base: {type: column, name: s}}\npositive: \"no\"\n",
     ":7:11: ",
     {"whose score is of that class"}},
    {LEAST "model: {base: {types: none}}\n", ":6:16: ", {"'model.base.type'?"}},
    {LEAST "model: 3\n", ":6:8: ", {"a mapping with the keys of this section"}},
    {LEAST "model: {base: {scale: logit}}\nmodel.base: {scale: logit}\n",
     ":7:1: ",
     {"it a second time"}},
    {LEAST "log: {zzzzzzzzz: 5}\n", ":6:7: ", {"unknown key, allowed level"}},
    {LEAST "wwwwwwwww: 5\n", ":6:1: ", {"allowed pipeline, roles, delivery, classes"}},
    {"columns: [{nmae: x}]\n", ":1:12: ", {"key 'columns[0].nmae'", "'columns[].name'?"}},
    {LEAST "<<: {a: b}\n", ":6:1: ", {"'<<': found an unknown key"}},
    /* the labelling page */
    {LEAST "labels: {show: [{colum: a}]}\n",
     ":6:18: ",
     {"'labels.show[0].colum'", "'labels.show[].column'?"}},
    {LEAST "labels: {show: [{name: a}]}\n", ":6:17: ", {"'labels.show[0].column': found nothing"}},
    {LEAST "labels: {show: [{column: a}, {column: a}]}\n", ":6:30: ", {"a name that an earlier"}},
    {LEAST "labels: {show: [{column: a}, {column: c}]}\n",
     ":6:30: ",
     {"a column that no record has"}},
    {LEAST "labels: {show: [{column: sex}]}\n", ":6:17: ", {"a column that no record has"}},
    {LEAST "labels: {show: [{column: a, as: html}]}\n", ":6:33: ", {"allowed text, image or link"}},
    {LEAST "labels: {show: [{column: a, as: link, template: \"javascript:{a}\"}]}\n",
     ":6:17: ",
     {"a template that is no address"}},
    {LEAST "labels: {show: [{column: a, as: image, template: \"https://{a}/x\"}]}\n",
     ":6:17: ",
     {"no address"}},
    {LEAST "labels: {show: [{column: a, as: image, template: \"https://x.example{a}\"}]}\n",
     ":6:17: ",
     {"no address"}},
    {LEAST "labels: {show: [{column: a, as: image, template: \"https://me@x/{a}\"}]}\n",
     ":6:17: ",
     {"no address"}},
    {LEAST "labels: {show: [{column: a, template: \"{a} of {c}\"}]}\n",
     ":6:17: ",
     {"other braces"}},
    {LEAST "labels: {show: [{column: a, template: \"{a\"}]}\n", ":6:17: ", {"other braces"}},
    {LEAST "labels: {page: true}\nhttp: {listen: off}\n", ":6:16: ", {"http.listen: off"}},
    {LEAST "labels: {page: true, annotators: f}\nhttp: {listen: \"0.0.0.0:80\"}\n",
     ":6:16: ",
     {"with http.tls_cert and labels.annotators"}},
    {LEAST "labels: {page: true}\nhttp: {listen: \"[::]:80\", tls_cert: c, tls_key: k}\n",
     ":6:16: ",
     {"with http.tls_cert and labels.annotators"}},
    {LEAST "labels: {page: true}\nhttp: {protect: all, token_file: t}\n",
     ":6:16: ",
     {"http.protect: all, allowed that with labels.annotators"}},
    {LEAST "labels: {page: true, framing: confluent}\n", ":6:16: ", {"labels.framing: confluent"}},
    /* several topics of records */
    {LEAST "topics: {records: [a, p.labels]}\n", ":6:23: ", {"the name of topics.labels"}},
    {LEAST "topics: {records: [a, a]}\n", ":6:23: ", {"second time"}},
    {LEAST "topics: {records: []}\n", ":6:", {"a list of 0"}},
    {LEAST "topics: {records: [a, \"b c\"]}\n", ":6:23: ", {"'b c'"}},
    {LEAST "topics: {labels: [a, b]}\n", ":6:", {"key 'topics.labels'"}},
    /* what becomes of columns */
    {LEAST "records: {ignore: [a]}\n", ":6:20: ", {"'a', which columns has too"}},
    {LEAST "records: {ignore: [x], refuse: [x]}\n", ":6:33: ", {"which records.ignore has too"}},
    {LEAST "records: {passthrough: [sex]}\n", ":5:", {"not on the stream"}},
    {LEAST "records: {unknown: drop}\n", ":6:20: ", {"refuse, ignore or pass"}},
    /* keys that come twice */
    {LEAST "pipeline: q\n", ":6:1: ", {"key 'pipeline': found it a second time"}},
    {LEAST "gate: {epsilon: 0, epsilon: 0}\n", ":6:20: ", {"'gate.epsilon'", "second time"}},
    {LEAST "gate:\ngate:\n", ":7:1: ", {"key 'gate'", "second time"}},
    {LEAST "kafka:\n  a.b: 1\n  a.b: 2\n", ":8:3: ", {"key 'kafka.a.b'", "second time"}},
    {"columns: [{name: x, name: y}]\n", ":1:21: ", {"'columns[0].name'", "second time"}},
    /* wrong types */
    {LEAST "topics: {partitions: x}\n",
     ":6:22: ",
     {"key 'topics.partitions': found 'x'", "allowed a whole number from 1 to 10000"}},
    {LEAST "topics: {partitions: [3]}\n", ":6:22: ", {"found a list, allowed a whole number"}},
    {LEAST "topics: {partitions: {a: 3}}\n", ":6:22: ", {"found a mapping"}},
    {LEAST "topics: {partitions: }\n", ":6:10: ", {"found nothing"}},
    {LEAST "topics: {partitions: ''}\n", ":6:22: ", {"found ''"}},
    {LEAST "topics: {partitions: !!int 3}\n", ":6:28: ", {"found a tag"}},
    {LEAST "topics: {create: yes}\n", ":6:18: ", {"found 'yes', allowed true or false"}},
    {LEAST "topics: 3\n", ":6:9: ", {"key 'topics': found '3', allowed a mapping"}},
    {LEAST "topics: [3]\n", ":6:9: ", {"key 'topics': found a list"}},
    {LEAST "roles: scorer\n", ":6:8: ", {"found 'scorer', allowed a list of scorer or trainer"}},
    {LEAST "training: {hidden: 64}\n", ":6:20: ", {"found '64', allowed a list of 0 to 6"}},
    {LEAST "kafka: [a]\n", ":6:8: ", {"found a list, allowed a mapping of librdkafka"}},
    {LEAST "kafka: {a: [b]}\n", ":6:12: ", {"key 'kafka.a': found a list"}},
    {"columns: {a: numeric}\n", ":1:10: ", {"found a mapping, allowed a list of 1 to 4096"}},
    {"columns: [age]\n", ":1:11: ", {"'columns[0]': found 'age'"}},
    {"- pipeline\n", ":1:1: ", {"found a list, allowed a mapping of keys"}},
    {"pipeline\n", ":1:1: ", {"found a text, allowed a mapping of keys"}},
    {LEAST "? [a, b]\n: 3\n", ":6:3: ", {"found a key that is no name"}},
    {LEAST "log: {level: *nothing}\n", ":6:14: ", {"found an alias without its anchor"}},
    /* numbers */
    {LEAST "topics: {partitions: 0}\n", ":6:22: ", {"found '0'"}},
    {LEAST "topics: {partitions: 10001}\n", ":6:22: ", {"found '10001'"}},
    {LEAST "topics: {partitions: -1}\n", ":6:22: ", {"found '-1'"}},
    {LEAST "topics: {partitions: 12abc}\n", ":6:22: ", {"found '12abc'"}},
    {LEAST "topics: {partitions: 010}\n", ":6:22: ", {"found '010'"}},
    {LEAST "topics: {partitions: 0x10}\n", ":6:22: ", {"found '0x10'"}},
    {LEAST "topics: {partitions: 1e3}\n", ":6:22: ", {"found '1e3'"}},
    {LEAST "topics: {partitions: 4294967297}\n", ":6:22: ", {"found '4294967297'"}},
    {LEAST "topics: {partitions: \" 3\"}\n", ":6:22: ", {"found ' 3'"}},
    {LEAST "selection: {seed: 18446744073709551616}\n", ":6:19: ", {"'18446744073709551616'"}},
    {LEAST "training: {learning_rate: 0}\n", ":6:27: ", {"found '0', allowed a number above 0"}},
    {LEAST "training: {learning_rate: 1e999}\n", ":6:27: ", {"found '1e999'"}},
    {LEAST "training: {learning_rate: .nan}\n", ":6:27: ", {"found '.nan'"}},
    {LEAST "training: {learning_rate: NaN}\n", ":6:27: ", {"found 'NaN'"}},
    {LEAST "training: {learning_rate: inf}\n", ":6:27: ", {"found 'inf'"}},
    {LEAST "training: {learning_rate: 0x1p-3}\n", ":6:27: ", {"found '0x1p-3'"}},
    {LEAST "training: {learning_rate: .}\n", ":6:27: ", {"found '.'"}},
    {LEAST "training: {momentum: 1}\n",
     ":6:22: ",
     {"found '1', allowed a number from 0 to below 1"}},
    {LEAST "gate: {epsilon: 1.01}\n", ":6:17: ", {"found '1.01', allowed a number from 0 to 1"}},
    {LEAST "gate: {epsilon: -0.1}\n", ":6:17: ", {"found '-0.1'"}},
    {LEAST "training: {hidden: [8, 0]}\n", ":6:24: ", {"'training.hidden[1]': found '0'", "8192"}},
    {LEAST "training: {hidden: [1,1,1,1,1,1,1]}\n", ":6:20: ", {"found a list of 7"}},
    /* durations and sizes */
    {LEAST "runtime: {commit_interval: 5}\n",
     ":6:28: ",
     {"found '5', allowed a duration from 10ms"}},
    {LEAST "runtime: {commit_interval: 9ms}\n", ":6:28: ", {"found '9ms'"}},
    {LEAST "runtime: {commit_interval: 2m}\n", ":6:28: ", {"found '2m'"}},
    {LEAST "runtime: {commit_interval: 1.5s}\n", ":6:28: ", {"found '1.5s'"}},
    {LEAST "runtime: {commit_interval: s}\n", ":6:28: ", {"found 's'"}},
    {LEAST "selection: {window_time: 18446744073709551615d}\n", ":6:26: ", {"allowed a duration"}},
    {LEAST "records: {max_bytes: 17MiB}\n", ":6:22: ", {"allowed a size from 64 to 16MiB"}},
    {LEAST "records: {max_bytes: 1Mib}\n", ":6:22: ", {"found '1Mib'"}},
    /* choices and lists */
    {LEAST "fairness: {metric: equalised_odds}\n",
     ":6:20: ",
     {"found 'equalised_odds'", "demographic_parity, equal_opportunity, equalized_odds or risk"}},
    {LEAST "labels: {encoding: raw}\n", ":6:20: ", {"found 'raw', allowed json or protobuf"}},
    {LEAST "roles: []\n", ":6:8: ", {"found a list of 0"}},
    {LEAST "roles: [scorer, scorer]\n", ":6:17: ", {"'roles[1]': found 'scorer' a second time"}},
    {SCORER "classes: [a]\n", ":4:10: ", {"found a list of 1, allowed a list of 2 to 64"}},
    {SCORER "classes: [a, b, a]\n", ":4:17: ", {"'classes[2]': found 'a' a second time"}},
    {SCORER "classes: [a, '']\n", ":4:14: ", {"'classes[1]': found ''"}},
    {SCORER "classes: [a, \"x\\ty\"]\n", ":4:14: ", {"'classes[1]'"}},
    {SCORER "classes: [a, \"x\\0y\"]\n", ":4:14: ", {"found a text with a zero byte"}},
    {SCORER "classes: [a, b]\npositive: c\n", ":5:11: ", {"found 'c', allowed one of classes"}},
    {"pipeline: a/b\n", ":1:11: ", {"found 'a/b', allowed 1 to 64 of the characters"}},
    {"pipeline: ..\n", ":1:11: ", {"found '..'"}},
    {"columns: [{type: numeric}]\n", ":1:11: ", {"'columns[0].name': found nothing"}},
    {"columns: [{name: x}, {name: x}]\n", ":1:22: ", {"'columns[1]': found a name that an earl"}},
    {"columns: [{name: x, scale: none, type: categorical}]\n",
     ":1:28: ",
     {"'columns[0].scale'", "numeric columns only"}},
    /* the environment */
    {LEAST "log: {level: \"${FIS_TEST_NOT_SET}\"}\n",
     ":6:14: ",
     {"found ${FIS_TEST_NOT_SET}, allowed a variable that is set"}},
    {LEAST "log:\n  level: ${}\n", ":7:10: ", {"found ${}"}},
    {LEAST "log:\n  level: ${FIS_TEST_BAD\n", ":7:10: ", {"allowed a variable that is set"}},
    {LEAST "log:\n  level: ${FIS_TEST_BAD}\n",
     ":7:10: ",
     {"found '${FIS_TEST_BAD}', allowed debug"}},
    /* what is missing */
    {"", ":1:1: ", {"key 'pipeline': found nothing, allowed 1 to 64 of the characters"}},
    {"# nothing\n", ":1:1: ", {"key 'pipeline': found nothing"}},
    {SCORER, ":1:1: ", {"key 'classes': found nothing"}},
    {"pipeline: p\nroles: [scorer]\nclasses: [a, b]\n",
     ":1:1: ",
     {"columns, a list of", "dimension"}},
    {"pipeline: p\nclasses: [a, b]\ndimension: 1\ninitial:\n  label: y\n",
     ":4:1: ",
     {"key 'initial.file': found nothing"}},
    {"pipeline: p\nclasses: [a, b]\ndimension: 1\ninitial: {file: i}\nvalidation: {file: v}\n",
     ":5:1: ",
     {"key 'validation.sensitive': found nothing"}},
    /* what does not agree */
    {LEAST "dimension: 3\n", ":6:12: ", {"'dimension': found columns besides"}},
    {VIT "model: {type: vit}\n", ":4:1: ", {"'model.image': found nothing", "[height, width,"}},
    {VIT "model: {image: [8, 8, 1]}\n", ":4:16: ", {"none with model.type: mlp"}},
    {VIT "model: {type: vit, image: [8, 9, 1], patch: 4}\n",
     ":4:45: ",
     {"'model.patch': found 4", "a divisor of the image's width, 9"}},
    {VIT "model: {type: vit, image: [8, 8, 1], width: 10}\n",
     ":4:1: ",
     {"'model.heads': found 4", "a divisor of model.width, 10"}},
    {VIT "model: {type: vit, image: [800, 800, 1]}\n",
     ":4:27: ",
     {"'model.image': found more than 65536 numbers"}},
    {VIT "dimension: 3\nmodel: {type: vit, image: [8, 8, 1]}\n",
     ":5:27: ",
     {"'model.image': found dimension besides"}},
    {LEAST "records: {encoding: registry}\n", ":6:21: ", {"no records.registry.url"}},
    {LEAST "records: {registry: {url: \"http://r\"}}\n", ":6:27: ", {"records.encoding: registry"}},
    {LEAST "records: {encoding: registry, registry: {url: \"ftp://r:1/\"}}\n",
     ":6:47: ",
     {"another scheme", "https://HOST"}},
    {LEAST "records: {encoding: registry, registry: {url: \"http://me:Zq17@r\"}}\n",
     ":6:47: ",
     {"a user within the URL", "records.registry.user"}},
    {LEAST "records: {encoding: registry, registry: {url: \"http://r\", user: me}}\n",
     ":6:65: ",
     {"no records.registry.password"}},
    {LEAST "records: {encoding: registry, framing: none, registry: {url: \"http://r\"}}\n",
     ":6:40: ",
     {"auto or confluent"}},
    {LEAST "records: {encoding: raw}\n", ":3:22: ", {"'columns[1]'", "records.encoding: raw"}},
    {SCORER "classes: [a, b]\nvalidation: {sensitive: [f1]}\n",
     ":5:26: ",
     {"'validation.sensitive[0]': found 'f1', which is one of columns",
      "a sensitive column is never a feature"}},
    {SCORER "classes: [a, b]\nvalidation: {label: y, sensitive: [x, y]}\n",
     ":5:39: ",
     {"'validation.sensitive[1]': found 'y', which is validation.label"}},
    {SCORER "classes: [a, b]\ninitial: {label: f0}\n", ":5:18: ", {"label is never a feature"}},
    {"pipeline: p\nclasses: [a, b]\ndimension: 1\ninitial: {source: topic, file: x}\n"
     "validation: {file: v, sensitive: [s]}\n",
     ":4:32: ",
     {"'initial.file': found a file, allowed none with initial.source: topic"}},
    {LEAST "topics: {labels: p.models}\n", ":6:18: ", {"the name of topics.models"}},
    {LEAST "selection: {strategy: 2}\n", ":6:23: ", {"found 2, allowed 1"}},
    {LEAST "selection: {heap: 5}\n", ":6:19: ", {"fewer than labels_per_round"}},
    {LEAST "selection: {budget: 9, daily_budget: 10}\n",
     ":6:38: ",
     {"'selection.daily_budget': found more than selection.budget, allowed as many or fewer"}},
    {LEAST "selection: {mode: pool, window_records: 9}\n",
     ":6:41: ",
     {"'selection.window_records': found a window, allowed none with selection.mode: pool"}},
    {LEAST "selection: {window_time: 1s, mode: pool}\n",
     ":6:26: ",
     {"'selection.window_time': found a window, allowed none with selection.mode: pool"}},
    {LEAST "selection: {mode: batch}\n", ":6:19: ", {"found 'batch', allowed stream or pool"}},
    {LEAST "labels: {votes: 0}\n", ":6:17: ", {"found '0', allowed a whole number from 1 to 99"}},
    {LEAST "labels: {votes: 100}\n", ":6:17: ", {"found '100'"}},
    {LEAST "labels: {deadline: -1s}\n", ":6:20: ", {"found '-1s'"}},
    {LEAST "labels: {replace: 1}\n", ":6:19: ", {"found '1', allowed true or false"}},
    {LEAST "topics: {control: p.labels}\n", ":6:19: ", {"the name of topics.labels"}},
    {LEAST "gate: {warn_cell: 5}\n", ":6:19: ", {"fewer than gate.min_cell"}},
    {LEAST "http: {listen: \"127.0.0.1:99999\"}\n",
     ":6:16: ",
     {"'http.listen': found '127.0.0.1:99999', allowed auto, off, or an IP address", "to 65535"}},
    {LEAST "http: {url: \"ftp://example.org/\"}\n",
     ":6:13: ",
     {"found 'ftp://example.org/'", "begins with http:// or https://"}},
    {LEAST "http: {listen: \"example.org:80\"}\n", ":6:16: ", {"found 'example.org:80'"}},
    {LEAST "http: {listen: \"[::1:80\"}\n", ":6:16: ", {"found '[::1:80'"}},
    {LEAST "http: {listen: \"127.0.0.1:\"}\n", ":6:16: ", {"found '127.0.0.1:'"}},
    {LEAST "http: {listen: 9464}\n", ":6:16: ", {"found '9464'"}},
    /* what is no YAML, or more of it */
    {LEAST "gate: [1\n", ":7:1: ", {"found what is no YAML: "}},
    {"pipeline: \"p\nclasses: x", ":1:11: ", {"found what is no YAML: "}},
    {"pipeline: p\n\tx: y\n", ":1:11: ", {"found what is no YAML: "}},
    {LEAST "---\npipeline: q\n", ":7:1: ", {"found a second document, allowed one"}},
    {"pipeline: p\xff\n", ":1:12: ", {"found the byte 0xff, allowed UTF-8"}},
    {"a: \xc3\xbc\xc0\xaf\n", ":1:5: ", {"found the byte 0xc0"}},
    {"a: b\n c: \x01\n", ":2:5: ", {"found the byte 0x01"}},
};

static void test_bad_documents(void **state)
{
    (void)state;
    assert_int_equal(setenv("FIS_TEST_BAD", "s3cret", 1), 0);
    int wrong = 0;
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        const struct bad *b = &bads[i];
        struct config cfg;
        struct fis_error e = {0};
        char place[64];
        snprintf(place, sizeof place, "dir/p.yaml%s", b->place);
        int rc = config_load_text("dir/p.yaml", b->text, strlen(b->text), &cfg, NULL, &e);
        bool ok = rc == -FIS_INPUT && e.kind == FIS_INPUT && !strncmp(e.text, place, strlen(place));
        for (size_t k = 0; k < 3 && b->says[k]; k++)
            ok = ok && strstr(e.text, b->says[k]);
        ok = ok && !strstr(e.text, "s3cret");
        if (!ok)
            print_error("%zu: rc %d, expected %s %s\n%s\n", i, rc, b->place, b->says[0], e.text);
        wrong += !ok;
        if (!rc)
            config_done(&cfg);
    }
    assert_int_equal(wrong, 0);
}

static void test_all_problems_are_listed(void **state)
{
    (void)state;
    static const char text[] = "pipeline: a/b\nclases: [a, b]\ngate: {epsilon: 2}\n";
    struct config cfg;
    struct config_problems p;
    struct fis_error e;
    assert_int_equal(config_load_text("f", text, sizeof text - 1, &cfg, &p, &e), -FIS_INPUT);
    assert_int_equal(p.count, 3 + 5);
    assert_string_equal(e.text, p.text[0]);
    assert_non_null(strstr(p.text[1], "f:2:1: key 'clases'"));
    assert_non_null(strstr(p.text[2], "f:3:17: key 'gate.epsilon'"));
    assert_non_null(strstr(p.text[3], "key 'classes': found nothing"));
}

static void test_more_problems_than_room(void **state)
{
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "x%d: 1\n", i);
    struct config cfg;
    struct config_problems p;
    assert_int_equal(config_load_text("f", text, strlen(text), &cfg, &p, NULL), -FIS_INPUT);
    assert_true(p.count >= 100);
    assert_non_null(strstr(p.text[CONFIG_PROBLEMS_MAX - 1], "f:20:1: "));
}

static void test_secrets_stay_out_of_errors(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "kafka: hunter2\n", "kafka: {sasl.password: \"hunter2\\0\"}\n",
        "kafka: {sasl.password: \"hunter2\\x01\"}\n", "kafka: {sasl.password: !x hunter2}\n",
        "sasl.password: hunter2\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct config cfg;
        struct config_problems p;
        assert_int_equal(config_load_text("f", texts[i], strlen(texts[i]), &cfg, &p, NULL),
                         -FIS_INPUT);
        assert_true(p.count > 0);
        for (uint32_t k = 0; k < p.count && k < CONFIG_PROBLEMS_MAX; k++)
            assert_null(strstr(p.text[k], "hunter"));
    }
    assert_true(secret_name("sasl.password"));
    assert_true(secret_name("ssl.KEY.pem"));
    assert_true(secret_name("sasl.oauthbearer.client.secret"));
    assert_false(secret_name("bootstrap.servers"));
}

static void test_long_names_leave_room(void **state)
{
    (void)state;
    char name[2000];
    memset(name, 'd', sizeof name);
    memcpy(name + sizeof name - 8, "/p.yaml", 8);
    struct config cfg;
    struct fis_error e;
    assert_int_equal(config_load_text(name, "pipeline: a/b\n", 14, &cfg, NULL, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "/p.yaml:1:11: key 'pipeline': found 'a/b', allowed 1 to 64"));
}

static void test_depth_and_aliases_are_bounded(void **state)
{
    (void)state;
    struct config cfg;
    struct fis_error e;
    char deep[20000];
    memset(deep, '[', sizeof deep);
    assert_int_equal(config_load_text("f", deep, sizeof deep, &cfg, NULL, &e), -FIS_INPUT);
    /* Each level stands for ten of the one before: copying them would never end. */
    char bomb[2000] = "a0: &a0 [x]\n";
    for (int i = 1; i < 20; i++)
        snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb),
                 "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1, i - 1);
    snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb), "classes: *a19\n");
    assert_int_equal(config_load_text("f", bomb, strlen(bomb), &cfg, NULL, &e), -FIS_INPUT);
    static const char self[] = "gate: &g\n  epsilon: *g\ncolumns: &c [*c, *c]\n";
    assert_int_equal(config_load_text("f", self, sizeof self - 1, &cfg, NULL, &e), -FIS_INPUT);
}

/* Every beginning of the example, and every single byte of it spoilt: refused or read, and in
 * the sanitizer build without a leak or a stray access. */
static void test_damaged_examples(void **state)
{
    (void)state;
    char text[8192];
    FILE *in = fopen("config/example.yaml", "rb");
    assert_non_null(in);
    size_t length = fread(text, 1, sizeof text, in);
    assert_int_equal(fclose(in), 0);
    assert_true(length > 500 && length < sizeof text);
    size_t read = 0;
    for (size_t n = 0; n <= length; n++) {
        struct config cfg;
        struct fis_error e = {0};
        if (config_load_text("f", text, n, &cfg, NULL, &e) == 0) {
            read++;
            config_done(&cfg);
        } else {
            assert_int_equal(e.kind, FIS_INPUT);
        }
    }
    assert_true(read > 0 && read < length / 2);
    static const char spoil[] = "\xff\0:[{\"&*-\n";
    for (size_t n = 0; n < length; n++) {
        struct config cfg;
        char was = text[n];
        text[n] = spoil[n % (sizeof spoil - 1)];
        if (config_load_text("f", text, length, &cfg, NULL, NULL) == 0)
            config_done(&cfg);
        text[n] = was;
    }
}

static void test_memory_is_refused(void **state)
{
    (void)state;
    static const char text[] = LEAST "kafka: {a: b}\npositive: yes\n";
    struct config cfg;
    struct fis_error e;
    int rc = -1;
    for (uint64_t n = 0; rc && n < 1000; n++) {
        fis_mem_refuse_after(n);
        rc = config_load_text("f", text, sizeof text - 1, &cfg, NULL, &e);
        fis_mem_refuse_after(UINT64_MAX);
        if (rc)
            assert_int_equal(e.kind, FIS_NOMEM);
    }
    assert_int_equal(rc, 0);
    config_done(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_documents),
        cmocka_unit_test(test_all_problems_are_listed),
        cmocka_unit_test(test_more_problems_than_room),
        cmocka_unit_test(test_secrets_stay_out_of_errors),
        cmocka_unit_test(test_long_names_leave_room),
        cmocka_unit_test(test_depth_and_aliases_are_bounded),
        cmocka_unit_test(test_damaged_examples),
        cmocka_unit_test(test_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

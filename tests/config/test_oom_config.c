/*
 * Configurations under every refused allocation of mem.h: NOMEM each time, and nothing is left
 * behind. What libfyaml and the C library allocate does not go through mem.h and is not refused.
 */
#include <unistd.h>

#include "kit/cmocka.h"

#include "kit/base/oom.h"
#include "config/config.h"

/* Something of each kind that takes memory. */
static const char text[] = "pipeline: p\n"
                           "classes: [no, yes, maybe]\n"
                           "kafka: {bootstrap.servers: \"$${b\", sasl.password: x, client.id: c}\n"
                           "topics: {records: in}\n"
                           "columns:\n"
                           "  - {name: a}\n"
                           "  - {name: b, type: categorical}\n"
                           "records: {passthrough: [note, more]}\n"
                           "initial: {file: i.csv, label: y}\n"
                           "validation: {file: sub/v.csv, label: y, sensitive: [s, t]}\n"
                           "training: {hidden: [8, 4]}\n";
static const char by_dimension[] = "pipeline: p\n"
                                   "classes: [no, yes]\n"
                                   "kafka: {bootstrap.servers: b}\n"
                                   "dimension: 5\n"
                                   "initial: {source: topic, label: y}\n"
                                   "validation: {source: topic, label: y, sensitive: [s]}\n";

static void check(const struct config *cfg, const char *from)
{
    assert_string_equal(cfg->pipeline, "p");
    assert_string_equal(cfg->topics.labels, "p.labels");
    if (from != text) {
        assert_int_equal(cfg->columns.count, 5);
        return;
    }
    assert_string_equal(cfg->initial.file, "/etc/fisd/i.csv");
    assert_string_equal(cfg->positive, "maybe");
    assert_string_equal(config_kafka(cfg, "bootstrap.servers"), "${b");
}

static int load(void *arg, struct fis_error *e)
{
    const char *from = arg;
    struct config cfg, untouched;
    memset(&cfg, 0x5a, sizeof cfg);
    untouched = cfg;
    int rc = config_load_text("/etc/fisd/p.yaml", from, strlen(from), &cfg, NULL, e);
    if (rc) {
        assert_memory_equal(&cfg, &untouched, sizeof cfg);
        return rc;
    }
    check(&cfg, from);
    config_done(&cfg);
    return 0;
}

/* Problems that were found before memory ran out do not hide that it did. */
static int load_bad(void *arg, struct fis_error *e)
{
    static const char bad[] = "pipeline: p\nclasses: [no, no]\ncolumns: [{name: a}, {name: a}]\n";
    struct config cfg;
    struct config_problems problems = {0};
    (void)arg;
    int rc = config_load_text("p.yaml", bad, sizeof bad - 1, &cfg, &problems, e);
    if (rc == -FIS_INPUT) {
        assert_true(problems.count >= 2);
        return 0;
    }
    return rc;
}

static int load_file(void *arg, struct fis_error *e)
{
    struct config cfg;
    int rc = config_load(arg, &cfg, e);
    if (rc == 0)
        config_done(&cfg);
    return rc;
}

static void texts(void **state)
{
    (void)state;
    assert_true(oom_run(load, (void *)(uintptr_t)text) > 50);
    assert_true(oom_run(load, (void *)(uintptr_t)by_dimension) > 50);
}

static void bad_text(void **state)
{
    (void)state;
    assert_true(oom_run(load_bad, NULL) > 20);
}

static void file(void **state)
{
    char path[] = "/tmp/fis-config-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(close(fd), 0);
    assert_true(oom_run(load_file, path) > 50);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(bad_text),
        cmocka_unit_test(file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Secrets that stand in files and in systemd's credentials: read, never shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fis/mem.h"
#include "kit/config/config_text.h"

#define LEAST                                                                                      \
    "pipeline: p\nclasses: [\"no\", \"yes\"]\ncolumns: [{name: a}]\n"                              \
    "initial: {file: i.csv}\nvalidation: {file: v.csv, sensitive: [sex]}\n"
#define SECRET "hunter2-hunter2-hunter2-hunter2-hunter2"

static char directory[64];

static void write_file(const char *name, const char *bytes, size_t length)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
}

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/fisd-secret.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    write_file("plain", SECRET, sizeof SECRET - 1);
    write_file("line", SECRET "\r\n", sizeof SECRET + 1);
    write_file("empty", "\n\n", 2);
    write_file("zero", SECRET "\0x", sizeof SECRET + 1);
    write_file("binary", SECRET "\xff", sizeof SECRET);
    write_file("short", "hunter2", 7);
    static char long_one[70000];
    memset(long_one, 'h', sizeof long_one);
    write_file("long", long_one, sizeof long_one);
    return setenv("CREDENTIALS_DIRECTORY", directory, 1);
}

static int drop_directory(void **state)
{
    (void)state;
    static const char *const files[] = {"plain",  "line",  "empty", "zero",
                                        "binary", "short", "long"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        unlink(path);
    }
    return rmdir(directory);
}

static int load_as(const char *name, const char *line, struct config *cfg, struct fis_error *e)
{
    char text[1024];
    snprintf(text, sizeof text, LEAST "%s\n", line);
    memset(e, 0, sizeof *e);
    return config_load_text(name, text, strlen(text), cfg, NULL, e);
}

/* LEAST and one more line, with %s for the directory. 0, or the error's class negative. */
static int load(const char *line, struct config *cfg, struct fis_error *e)
{
    char name[128], more[512];
    snprintf(more, sizeof more, line, directory);
    snprintf(name, sizeof name, "%s/c.yaml", directory);
    return load_as(name, more, cfg, e);
}

static void test_what_stands_elsewhere_is_read(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "kafka: {sasl.password: \"file:%s/plain\"}", "kafka: {sasl.password: \"file:%s/line\"}",
        "kafka: {sasl.password: file:line}", "kafka: {sasl.password: credential:line}",
        "kafka: {sasl.password: \"credential:plain\"}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct config c;
        struct fis_error e;
        assert_int_equal(load(lines[i], &c, &e), 0);
        assert_string_equal(config_kafka(&c, "sasl.password"), SECRET);
        char *text = config_text_effective(&c);
        assert_null(strstr(text, "hunter2"));
        assert_non_null(strstr(text, i < 3 ? "file:" : "credential:"));
        free(text);
        config_done(&c);
    }
}

static void test_the_key_of_noise(void **state)
{
    (void)state;
    static const char *const lines[] = {"privacy: {key: " SECRET "}", "privacy: {key: file:line}",
                                        "privacy: {key: credential:plain}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct config c;
        struct fis_error e;
        assert_int_equal(load(lines[i], &c, &e), 0);
        assert_string_equal(c.privacy.key, SECRET);
        char *text = config_text_effective(&c);
        assert_null(strstr(text, "hunter2"));
        assert_non_null(strstr(text, "key: \"***\""));
        free(text);
        config_done(&c);
    }
}

/* What no name of a secret stands for, but what was read from a file, is not shown either. */
static void test_any_property_from_a_file_is_a_secret(void **state)
{
    (void)state;
    struct config c;
    struct fis_error e;
    assert_int_equal(load("kafka: {sasl.username: file:line, client.id: me}", &c, &e), 0);
    assert_string_equal(config_kafka(&c, "sasl.username"), SECRET);
    char *text = config_text_effective(&c);
    assert_null(strstr(text, "hunter2"));
    assert_non_null(strstr(text, "\"sasl.username\": \"file:line\""));
    assert_non_null(strstr(text, "\"client.id\": \"me\""));
    free(text);
    config_done(&c);
}

/* Paths of properties start where all others do; what is no path stays as it is. */
static void test_a_relative_path_starts_at_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *name, *given, *path;
    } all[] = {{"ssl.ca.location", "ca.pem", "/d/ca.pem"},
               {"ssl.certificate.location", "tls/me.pem", "/d/tls/me.pem"},
               {"ssl.key.location", "../me.key", "/d/../me.key"},
               {"ssl.keystore.location", "/abs/k.p12", "/abs/k.p12"},
               {"ssl.crl.location", "crl", "/d/crl"},
               {"sasl.kerberos.keytab", "me.keytab", "/d/me.keytab"},
               {"sasl.oauthbearer.assertion.file", "a.jwt", "/d/a.jwt"},
               {"sasl.kerberos.keytab", "FILE:/etc/me.keytab", "FILE:/etc/me.keytab"},
               {"ssl.ca.location", "probe", "probe"},
               {"ssl.engine.location", "engine.so", "engine.so"},
               {"ssl.engine.location", "./engine.so", "/d/./engine.so"},
               {"ssl.ca.location", "file:ca.pem", "/d/ca.pem"},
               {"ssl.ca.location", "file:/abs/ca.pem", "/abs/ca.pem"},
               {"client.id", "me", "me"},
               {"sasl.kerberos.kinit.cmd", "kinit", "kinit"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char line[200];
        struct config c;
        struct fis_error e;
        snprintf(line, sizeof line, "kafka: {%s: \"%s\"}", all[i].name, all[i].given);
        assert_int_equal(load_as("/d/c.yaml", line, &c, &e), 0);
        assert_string_equal(config_kafka(&c, all[i].name), all[i].path);
        config_done(&c);
        assert_int_equal(load_as("c.yaml", line, &c, &e), 0);
        const char *given = all[i].given;
        assert_string_equal(config_kafka(&c, all[i].name),
                            given + (strncmp(given, "file:", 5) ? 0 : 5));
        config_done(&c);
    }
}

/* Who knows "file:" from passwords writes it before a path too; a credential is a file. */
static void test_a_path_may_be_written_like_a_secret(void **state)
{
    (void)state;
    char path[96];
    struct config c;
    struct fis_error e;
    snprintf(path, sizeof path, "%s/plain", directory);
    assert_int_equal(load("kafka: {ssl.key.location: credential:plain}", &c, &e), 0);
    assert_string_equal(config_kafka(&c, "ssl.key.location"), path);
    assert_int_equal(config_property_set(&c.kafka, "ssl.key.location", "file:/a", &e), 0);
    assert_string_equal(config_kafka(&c, "ssl.key.location"), "/a");
    config_done(&c);
    assert_int_equal(load("http: {token_file: file:plain, tls_cert: \"file:%s/plain\"}\n"
                          "webhook: {ca_file: file:ca.pem}",
                          &c, &e),
                     -FIS_INPUT); /* a certificate without its key, and no more */
    assert_non_null(strstr(e.text, "tls_key"));
    assert_int_equal(load("http: {token_file: file:plain}\n"
                          "labels: {annotators: \"file:%s/plain\"}",
                          &c, &e),
                     0);
    assert_string_equal(c.http.token_file, path);
    assert_string_equal(c.labels.annotators, path);
    char *text;
    assert_int_equal(config_file_text(c.http.token_file, &text, &e), 0);
    assert_string_equal(text, SECRET);
    config_free_secret(text);
    config_done(&c);
    assert_int_equal(config_file_text("credential:binary", &text, &e), 0);
    config_free_secret(text);
    assert_int_equal(config_file_text("credential:../plain", &text, &e), -FIS_INPUT);
}

static void test_trouble_names_the_file_and_shows_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *part;
    } bad[] = {
        {"kafka: {sasl.password: file:gone}", "No such file"},
        {"kafka: {sasl.password: file:empty}", "(empty)"},
        {"kafka: {sasl.password: file:zero}", "zero byte"},
        {"kafka: {sasl.password: file:binary}", "(no text)"},
        {"kafka: {sasl.password: file:long}", "too long"},
        {"kafka: {sasl.password: \"file:%s\"}", "cannot be read"},
        {"kafka: {sasl.password: \"file:\"}", "a name that is none"},
        {"kafka: {ssl.ca.location: \"file:\"}", "a name that is none"},
        {"kafka: {sasl.password: \"credential:../plain\"}", "a name that is none"},
        {"kafka: {sasl.password: \"credential:\"}", "a name that is none"},
        {"kafka: {sasl.password: \"credential:gone\"}", "No such file"},
        {"privacy: {key: file:short}", "32"},
        {"privacy: {key: hunter2}", "32"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct config c;
        struct fis_error e;
        assert_int_equal(load(bad[i].line, &c, &e), -FIS_INPUT);
        if (!strstr(e.text, bad[i].part))
            fail_msg("'%s' is not in: %s", bad[i].part, e.text);
        assert_non_null(strstr(e.text, "c.yaml:6:"));
        assert_null(strstr(e.text, "hunter2"));
    }
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    struct config c;
    struct fis_error e;
    assert_int_equal(load("kafka: {sasl.password: credential:plain}", &c, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "LoadCredential="));
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", directory, 1), 0);
}

/* One property more, as from a command line. */
static void set_properties(void **state)
{
    (void)state;
    struct config c = {0};
    struct fis_error e;
    char path[] = "/tmp/fisd-secret-XXXXXX", from[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "word\n", 5) == 5);
    close(fd);
    snprintf(from, sizeof from, "file:%s", path);
    assert_int_equal(config_property_set(&c.kafka, "client.id", "a", &e), 0);
    assert_int_equal(config_property_set(&c.kafka, "sasl.password", from, &e), 0);
    assert_int_equal(config_property_set(&c.kafka, "client.id", "b", &e), 0);
    assert_int_equal(c.kafka.count, 2);
    assert_string_equal(config_kafka(&c, "client.id"), "b");
    assert_string_equal(config_kafka(&c, "sasl.password"), "word");
    assert_string_equal(c.kafka.items[1].from, from);
    assert_null(c.kafka.items[0].from);
    assert_int_equal(config_property_set(&c.kafka, "client.id", "a\x01b", &e), -FIS_INPUT);
    assert_int_equal(config_property_set(&c.kafka, "sasl.password", "file:/none/there", &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "sasl.password: found the file '/none/there'"));
    assert_string_equal(config_kafka(&c, "sasl.password"), "word");
    for (uint64_t n = 0; n < 4; n++) {
        fis_mem_refuse_after(n);
        assert_int_equal(config_property_set(&c.kafka, "security.protocol", "SSL", &e),
                         n < 3 ? -FIS_NOMEM : 0);
        fis_mem_refuse_after(UINT64_MAX);
    }
    unlink(path);
    config_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stands_elsewhere_is_read),
        cmocka_unit_test(test_the_key_of_noise),
        cmocka_unit_test(test_any_property_from_a_file_is_a_secret),
        cmocka_unit_test(test_a_relative_path_starts_at_the_file),
        cmocka_unit_test(test_a_path_may_be_written_like_a_secret),
        cmocka_unit_test(test_trouble_names_the_file_and_shows_nothing),
        cmocka_unit_test(set_properties),
    };
    return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

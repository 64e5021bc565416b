/* What can be a list of brokers, and what librdkafka would have passed over without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "stream/conf.h"

static const char *refused(const char *list, const char *protocol)
{
    static struct fis_error e;
    assert_int_equal(stream_brokers_check(list, protocol, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "bootstrap.servers"));
    assert_non_null(strstr(e.text, "allowed HOST or HOST:PORT"));
    return e.text;
}

static void lists_that_librdkafka_reads(void **state)
{
    (void)state;
    static const char *const good[] = {"h",
                                       "h:1",
                                       "kafka-0.kafka_x.svc:65535",
                                       "10.0.0.1:9092",
                                       "a:1,b,c:3",
                                       "a:1, b:2",
                                       "::1",
                                       "fe80::1%eth0",
                                       "[::1]",
                                       "[2001:db8::2]:9092",
                                       "[fe80::1%eth0]:9092,h",
                                       "PLAINTEXT://h:9092",
                                       "plaintext://h,Plaintext://[::1]:1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct fis_error e = {0};
        if (stream_brokers_check(good[i], "plaintext", &e))
            fail_msg("%s: %s", good[i], e.text);
    }
    assert_int_equal(stream_brokers_check("SASL_SSL://h:1", "sasl_ssl", NULL), 0);
    assert_int_equal(stream_brokers_check("SSL://h:1,SASL_PLAINTEXT://g", NULL, NULL), 0);
}

static void what_is_no_list(void **state)
{
    (void)state;
    static const struct {
        const char *list, *says;
    } bad[] = {{"", "an empty entry"},
               {"a,,b", "'a,,b' (an empty entry)"},
               {"a:1,", "an empty entry"},
               {", a", "an empty entry"},
               {"http://a:1", "'http://a:1' (a scheme that Kafka does not have)"},
               {"a:1,https://b", "'https://b'"},
               {"://a", "a scheme"},
               {"SSL://a", "security.protocol"},
               {"SASL://a", "a scheme that Kafka does not have"},
               {"PLAINTEXT://", "no host"},
               {":9092", "no host"},
               {"a:", "no port"},
               {"a:0", "a port that is none"},
               {"a:65536", "a port that is none"},
               {"a:70000", "'a:70000'"},
               {"a:00000000001", "a port that is none"},
               {"a:-1", "no number"},
               {"a:9092 ", "a space"},
               {"a:kafka", "no number"},
               {"PLAINTEXT://a:9092/x", "no number"},
               {"a/x", "a character"},
               {"a b", "a space"},
               {"a:1 b:2", "a space"},
               {"a;b", "a character"},
               {"h\xc3\xa9:1", "a character"},
               {"a:1:2", "neither a host nor IPv6"},
               {"[::1", "no ']'"},
               {"[a]:1", "neither a host nor IPv6"},
               {"[::1]9092", "more behind ']'"},
               {"[::1]:", "no port"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!strstr(refused(bad[i].list, "plaintext"), bad[i].says))
            fail_msg("%s: %s", bad[i].list, refused(bad[i].list, "plaintext"));
    assert_null(strstr(refused("https://me:hunter2@h:1", NULL), "hunter2"));
}

static void as_one_of_several_properties(void **state)
{
    (void)state;
    const struct stream_property p[] = {{"bootstrap.servers", "SSL://h:1"},
                                        {"security.protocol", "SSL"},
                                        {"metadata.broker.list", "http://h"}};
    const char *out = NULL;
    struct fis_error e;
    assert_int_equal(stream_property_check(&p[0], &e), 0);
    assert_int_equal(stream_property_check(&p[2], &e), -FIS_INPUT);
    assert_int_equal(stream_brokers_find(p, 2, &out, &e), 0);
    assert_string_equal(out, "SSL://h:1");
    assert_int_equal(stream_brokers_find(p, 1, &out, &e), -FIS_INPUT);
    assert_int_equal(stream_brokers_find(p + 2, 1, &out, &e), -FIS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_that_librdkafka_reads),
                                       cmocka_unit_test(what_is_no_list),
                                       cmocka_unit_test(as_one_of_several_properties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

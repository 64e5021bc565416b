/* What a process reports of itself. */
#include "kit/wire/binary.h"

#include "base/utf8.h"
#include "wire/json_arena.h"
#include "wire/process.h"

static enum wire_decoded decode(const void *bytes, size_t length, struct wire_process *out)
{
    struct wire_message m = message_of("a", 1, bytes, length);
    struct fis_error e;
    return wire_process_decode(&m, out, &e);
}

static enum wire_decoded decode_text(const char *text, struct wire_process *out)
{
    return decode(text, strlen(text), out);
}

static struct wire_process sample(void)
{
    return (struct wire_process){
        .name = "p-host-1",
        .pipeline = "p",
        .host = "host",
        .version = "0.1.0",
        .address = "https://host:9464/",
        .started_at_ms = 1700000000000,
        .interval_ms = 5000,
        .ready = true,
        .doing = "scoring",
        .alarm = {"drift", "unfair"},
        .n_alarms = 2,
        .scores = true,
        .trains = true,
        .leads = true,
        .state = "lead",
        .scorer = {3, 1000, 2, 12.5, -1, 7},
        .leading = {.round = 4,
                    .phase = "collect",
                    .asking = "window",
                    .asking_text = "waiting: 7,682 of 10,000 records of the window",
                    .pinned = true,
                    .served_version = 3,
                    .asked = 40,
                    .open = 8,
                    .answered = 32,
                    .kept = 20,
                    .budget = 100,
                    .budget_left = 60},
    };
}

static void round_trip(void **state)
{
    struct wire_process in = sample(), out;
    struct byte_buffer bytes = {0}, again = {0};
    struct fis_error e;
    (void)state;
    for (int roles = 1; roles < 4; roles++) {
        in = sample();
        if (!(in.scores = roles & 1))
            in.scorer = (struct wire_process_scorer){.lag = -1};
        if (!(in.trains = in.leads = (roles & 2) != 0)) {
            memset(in.state, 0, sizeof in.state);
            in.leading = (struct wire_process_leading){0};
        }
        bytes.length = 0;
        assert_int_equal(wire_process_encode(&in, &bytes, &e), 0);
        assert_int_equal(decode(bytes.data, bytes.length, &out), WIRE_OK);
        assert_int_equal(wire_process_encode(&out, &again, &e), 0);
        assert_int_equal(bytes.length, again.length);
        assert_memory_equal(bytes.data, again.data, again.length);
        assert_int_equal(out.scorer.lag, -1);
        again.length = 0;
    }
    byte_buffer_done(&bytes);
    byte_buffer_done(&again);
}

/* A page makes links of addresses; nothing else may come out of them. */
static void only_web_addresses(void **state)
{
    static const char *const bad[] = {"javascript:alert(1)", "ftp://x/", "//x", "HTTP://x", "x"};
    struct wire_process out;
    char text[200];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{\"name\":\"a\",\"pipeline\":\"p\",\"address\":\"%s\"}",
                 bad[i]);
        assert_int_equal(decode_text(text, &out), WIRE_OK);
        assert_string_equal(out.address, "");
    }
}

static void anything_may_be_there(void **state)
{
    static const char *const refused[] = {"",
                                          "[]",
                                          "{",
                                          "{}",
                                          "{\"name\":\"a\"}",
                                          "{\"pipeline\":\"p\"}",
                                          "{\"name\":7,\"pipeline\":\"p\"}"};
    static const char odd[] =
        "{\"name\":\"a\",\"pipeline\":\"p\",\"host\":7,\"alarms\":{\"x\":1},\"ready\":1,"
        "\"interval_ms\":-5,\"scorer\":{\"records\":\"9\",\"lag\":-7,\"partitions\":9999999999,"
        "\"records_per_second\":-4},\"trainer\":{\"leads\":\"yes\",\"leading\":[1]},\"more\":{}}";
    struct wire_process out;
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(decode_text(refused[i], &out), WIRE_BAD);
    assert_int_equal(decode(NULL, 0, &out), WIRE_TOMBSTONE);
    assert_int_equal(decode_text(odd, &out), WIRE_OK);
    assert_true(out.scores && out.trains && !out.leads && !out.ready);
    assert_int_equal(out.scorer.records, 0);
    assert_int_equal(out.scorer.lag, -1);
    assert_int_equal(out.scorer.partitions, INT32_MAX);
    assert_true(out.scorer.per_second == 0);
    assert_int_equal(out.n_alarms + out.interval_ms, 0);
}

static void texts_are_cut_at_characters(void **state)
{
    struct wire_process in = sample(), out;
    struct byte_buffer bytes = {0};
    struct fis_error e;
    char text[4096];
    (void)state;
    /* 256 bytes of two-byte characters behind one: the room ends within one */
    size_t n =
        (size_t)snprintf(text, sizeof text, "{\"name\":\"a\",\"pipeline\":\"p\",\"doing\":\"x");
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "ü");
    snprintf(text + n, sizeof text - n, "\"}");
    assert_int_equal(decode_text(text, &out), WIRE_OK);
    assert_int_equal(utf8_prefix(out.doing, strlen(out.doing)), strlen(out.doing));
    assert_true(strlen(out.doing) > WIRE_PROCESS_TEXT - 4);
    /* what a writer has cut within a character is written without it */
    memcpy(in.doing, "abc\xc3", 5);
    assert_int_equal(wire_process_encode(&in, &bytes, &e), 0);
    assert_int_equal(decode(bytes.data, bytes.length, &out), WIRE_OK);
    assert_string_equal(out.doing, "abc");
    byte_buffer_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(only_web_addresses),
        cmocka_unit_test(anything_may_be_there),
        cmocka_unit_test(texts_are_cut_at_characters),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The transaction machine: every state with every event, against a table of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "stream/txn.h"

/* One row a state, one letter an event, in the order of the enums; a letter is the next state:
 * Init Ready Open Committing Broken Aborting Expired Fenced X(fatal); '.' not allowed, '=' stays.
 */
static const char *const expected[STREAM_TXN_STATES] = {
    /*              i b c a s ok re ab ex fe fa */
    [STREAM_TXN_NONE] = "I.......EFX",       [STREAM_TXN_INIT] = "=....R=.EFX",
    [STREAM_TXN_READY] = ".O..A...EFX",      [STREAM_TXN_OPEN] = "..CA...BEFX",
    [STREAM_TXN_COMMITTING] = "..=..R=BEFX", [STREAM_TXN_BROKEN] = "...A...=EFX",
    [STREAM_TXN_ABORTING] = "...==R=BEFX",   [STREAM_TXN_EXPIRED] = ".......==FX",
    [STREAM_TXN_FENCED] = ".........==",     [STREAM_TXN_FATAL] = ".........==",
};

static enum stream_txn_state next_state(enum stream_txn_state s, char c)
{
    static const char letters[] = "IROCBAEFX";
    static const enum stream_txn_state states[] = {
        STREAM_TXN_INIT,       STREAM_TXN_READY,  STREAM_TXN_OPEN,
        STREAM_TXN_COMMITTING, STREAM_TXN_BROKEN, STREAM_TXN_ABORTING,
        STREAM_TXN_EXPIRED,    STREAM_TXN_FENCED, STREAM_TXN_FATAL};
    return c == '=' ? s : states[strchr(letters, c) - letters];
}

static void every_state_and_event(void **state)
{
    (void)state;
    for (int s = 0; s < STREAM_TXN_STATES; s++) {
        assert_int_equal(strlen(expected[s]), STREAM_TXN_EVENTS);
        for (int ev = 0; ev < STREAM_TXN_EVENTS; ev++) {
            struct stream_txn t = {(enum stream_txn_state)s};
            struct fis_error e = {0};
            int rc = stream_txn_step(&t, (enum stream_txn_event)ev, &e);
            char want = expected[s][ev];
            if (want == '.') {
                int final = s == STREAM_TXN_FENCED || s == STREAM_TXN_FATAL;
                int class = final ? FIS_FATAL : s == STREAM_TXN_EXPIRED ? FIS_ABORT_TXN : FIS_INPUT;
                assert_int_equal(rc, -class);
                assert_int_equal(t.state, s);
                assert_non_null(strstr(e.text, stream_txn_event_name((enum stream_txn_event)ev)));
            } else {
                assert_int_equal(rc, 0);
                assert_int_equal(t.state, next_state((enum stream_txn_state)s, want));
            }
        }
    }
}

static void names(void **state)
{
    (void)state;
    for (int a = 0; a < STREAM_TXN_STATES; a++) {
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(stream_txn_state_name((enum stream_txn_state)a),
                                    stream_txn_state_name((enum stream_txn_state)b));
        }
    }
    struct stream_txn t = {STREAM_TXN_FENCED};
    struct fis_error e;
    assert_int_equal(stream_txn_step(&t, STREAM_TXN_DO_BEGIN, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "taken over"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_and_event),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The log on a pipe: logging never waits, what is lost is counted, one kind is summed up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static int saved, pipe_read;
static char text[8 << 20];

static int set_up(void **state)
{
    int ends[2];
    (void)state;
    saved = dup(STDERR_FILENO);
    if (saved < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return -1;
    pipe_read = ends[0];
    struct fis_error e;
    return close(ends[1]) == 0 ? log_start(&e) : -1;
}

/* Until the pipe has no writer. */
static void read_all(void)
{
    size_t n = 0;
    ssize_t got;
    dup2(saved, STDERR_FILENO);
    while ((got = read(pipe_read, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
}

static int tear_down(void **state)
{
    (void)state;
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_read);
    return 0;
}

static uint64_t lines_with(const char *what)
{
    uint64_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void one_kind_is_summed_up(void **state)
{
    (void)state;
    struct log_counts before = log_counts();
    for (int i = 0; i < 2 * LOG_FIRST + 7; i++)
        log_line(LOG_LEVEL_WARN, "refused", "number=%d", i);
    log_line(LOG_LEVEL_ERROR, "refused", "text=\"of another level\"");
    log_line(LOG_LEVEL_WARN, "other", "text=\"of another event\"");
    log_stop();
    read_all();
    assert_int_equal(lines_with(" refused number="), LOG_FIRST);
    assert_int_equal(lines_with(" warn refused repeated=107 "), 1);
    assert_int_equal(lines_with(" error refused "), 1);
    assert_int_equal(lines_with(" warn other "), 1);
    assert_int_equal(log_counts().summed - before.summed, LOG_FIRST + 7);
    assert_int_equal(log_counts().written - before.written, LOG_FIRST + 3);
}

static void fields_of(char *out, size_t size, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    log_fields_v(out, size, format, ap);
    va_end(ap);
}

/* Through two layers a text is what it was: its quotes end no field. */
static void fields_are_escaped_once(void **state)
{
    char fields[64];
    (void)state;
    fields_of(fields, sizeof fields, "id=%d text=\"%s\"", 7, "a \"b\" \\ \n=c");
    log_line(LOG_LEVEL_WARN, "outer", "%s", fields);
    fields_of(fields, 20, "text=\"%s\"", "longer than there is room");
    log_line(LOG_LEVEL_WARN, "cut", "%s", fields);
    log_stop();
    read_all();
    assert_int_equal(lines_with(" outer id=7 text=\"a \\\"b\\\" \\\\ ?=c\"\n"), 1);
    assert_int_equal(lines_with(" cut text=\"longer tha\"\n"), 1);
}

/* Debug lines are not summed up: 20,000 of them are more than pipe and buffer hold. */
#define MANY 20000

/* How many of them are lost, while nobody reads. */
static uint64_t flood(void)
{
    uint64_t before = log_counts().lost;
    log_set_level(LOG_LEVEL_DEBUG);
    for (int i = 0; i < MANY; i++)
        log_line(LOG_LEVEL_DEBUG, "flood", "number=%d text=\"%060d\"", i, i);
    uint64_t lost = log_counts().lost - before;
    assert_true(lost > 0 && lost < MANY);
    return lost;
}

static void read_until(const char *what)
{
    size_t n = 0;
    for (text[0] = 0; n + 65536 < sizeof text && !strstr(text, what); text[n] = 0) {
        ssize_t got = read(pipe_read, text + n, 65536);
        assert_true(got > 0);
        n += (size_t)got;
    }
}

static void what_is_lost_is_reported(void **state)
{
    (void)state;
    char report[64];
    uint64_t lost = flood();
    snprintf(report, sizeof report, " warn log lost=%llu ", (unsigned long long)lost);
    read_until(report);
    assert_int_equal(lines_with(" debug flood "), MANY - lost);
    int last = -1, n;
    for (const char *at = text; (at = strstr(at, " number=")); last = n) {
        n = atoi(at += sizeof " number=" - 1);
        assert_true(n > last);
    }
    log_stop();
    read_all();
}

/* It returns, although the buffer is full. */
static void the_end_does_not_wait_for_a_reader(void **state)
{
    char last[32];
    (void)state;
    snprintf(last, sizeof last, " number=%d ", (int)(MANY - flood() - 1));
    log_stop();
    read_until(last); /* what the buffer held is written, and the thread ends */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_kind_is_summed_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_are_escaped_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_lost_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_does_not_wait_for_a_reader, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

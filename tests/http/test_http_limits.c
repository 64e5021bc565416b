/* What the server bounds: sizes, times, connections. */
#include "kit/http/http_world.h"

static void bounds_the_body(void **state)
{
    struct http_world *f = *state;
    char q[4096], body[2048];
    const char *auth = "Authorization: Bearer " HTTP_TOKEN "\r\n";
    memset(body, 'x', sizeof body);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HTTP_HOST "%sContent-Length: 1000\r\n" HTTP_CLOSE "%.*s",
             auth, HTTP_MAX_BODY, body);
    assert_int_equal(http_status_of(http_ask(f, q)), 200);
    assert_int_equal(f->body_length, HTTP_MAX_BODY);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HTTP_HOST "%sContent-Length: 1001\r\n" HTTP_CLOSE "%.*s",
             auth, HTTP_MAX_BODY + 1, body);
    assert_int_equal(http_status_of(http_ask(f, q)), 413);
    /* Without a length it is counted. */
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HTTP_HOST "%sTransfer-Encoding: chunked\r\n" HTTP_CLOSE
             "3e9\r\n%.*s\r\n0\r\n\r\n",
             auth, HTTP_MAX_BODY + 1, body);
    assert_int_equal(http_status_of(http_ask(f, q)), 413);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HTTP_HOST "%sTransfer-Encoding: chunked\r\n" HTTP_CLOSE
             "3e8\r\n%.*s\r\n0\r\n\r\n",
             auth, HTTP_MAX_BODY, body);
    assert_int_equal(http_status_of(http_ask(f, q)), 200);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HTTP_HOST
             "%sContent-Length: 99999999999999999999999\r\n" HTTP_CLOSE,
             auth);
    assert_true(http_status_of(http_ask(f, q)) >= 400 || !http_status_of(http_ask(f, q)));
    assert_int_equal(f->calls, 2);
}

/* Neither closes the door for others. */
static void bounds_headers(void **state)
{
    struct http_world *f = *state;
    size_t n = 100000;
    char *q = malloc(n + 200);
    int at = sprintf(q, "GET /hello HTTP/1.1\r\n" HTTP_HOST "X: ");
    memset(q + at, 'y', n);
    strcpy(q + at + n, "\r\n" HTTP_CLOSE);
    int status = http_status_of(http_ask(f, q));
    assert_true(status == 431 || status == 413 || status == 0);
    at = sprintf(q, "GET /hello?");
    memset(q + at, 'z', n);
    strcpy(q + at + n, " HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    status = http_status_of(http_ask(f, q));
    assert_true(status == 414 || status == 431 || status == 0);
    assert_int_equal(f->calls, 0);
    assert_int_equal(http_status_of(http_ask(f, "GET /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     200);
    free(q);
}

/* How long until it is closed on our side. */
static uint64_t drip(struct http_world *f, const char *first, char again, uint64_t every_ms)
{
    int fd = http_dial(f);
    char rest_of_it[256];
    uint64_t began = uv_hrtime() / 1000000;
    http_send(f, fd, first, strlen(first));
    for (;;) {
        if (http_await(f, fd, POLLIN, (int)every_ms)) {
            if (recv(fd, rest_of_it, sizeof rest_of_it, 0) <= 0)
                break;
            continue;
        }
        if (again && send(fd, &again, 1, MSG_NOSIGNAL) < 0)
            break;
        assert_true(uv_hrtime() / 1000000 - began < HTTP_PATIENCE_MS);
    }
    close(fd);
    return uv_hrtime() / 1000000 - began;
}

static void gives_up_on_the_slow(void **state)
{
    struct http_world *f = *state;
    assert_in_range(drip(f, "", 0, 50), HTTP_TIMEOUT_MS - 50, 3 * HTTP_TIMEOUT_MS);
    assert_in_range(drip(f, "G", 'E', 50), HTTP_TIMEOUT_MS - 50, 4 * HTTP_TIMEOUT_MS);
    assert_in_range(drip(f, "GET /hello HTTP/1.1\r\n" HTTP_HOST "X: ", 'y', 50),
                    HTTP_TIMEOUT_MS - 50, 4 * HTTP_TIMEOUT_MS);
    assert_in_range(drip(f,
                         "POST /echo HTTP/1.1\r\n" HTTP_HOST "Authorization: Bearer " HTTP_TOKEN
                         "\r\nContent-Length: 900\r\n\r\n",
                         'b', 50),
                    HTTP_TIMEOUT_MS - 50, 4 * HTTP_TIMEOUT_MS);
    assert_int_equal(f->calls, 0);
    assert_true(http_server_counts(f->server)->timed_out >= 1);
}

/* The time counts from the first byte, not from the end of the first line. */
static void counts_a_slow_first_line(void **state)
{
    struct http_world *f = *state;
    int fd = http_dial(f);
    for (const char *c = "GET /hello HTTP/1.1\r\n" HTTP_HOST "X: "; *c; c++) {
        if (send(fd, c, 1, MSG_NOSIGNAL) < 0)
            break;
        if (*c != '\n')
            http_await(f, fd, POLLIN, HTTP_TIMEOUT_MS * 3 / 4 / 40);
    }
    uint64_t began = uv_hrtime() / 1000000;
    while (http_server_counts(f->server)->open > 0) {
        uv_run(&f->loop, UV_RUN_ONCE);
        assert_true(uv_hrtime() / 1000000 - began < HTTP_PATIENCE_MS);
    }
    assert_in_range(uv_hrtime() / 1000000 - began, 0, HTTP_TIMEOUT_MS - 20);
    close(fd);
}

/* Nor from when the connection opened: one that was idle has all its time for the next request. */
static void counts_from_the_first_byte(void **state)
{
    struct http_world *f = *state;
    char a[4096];
    int fd = http_dial(f);
    http_await(f, fd, POLLIN, HTTP_TIMEOUT_MS * 5 / 8);
    for (int i = 0; i < 2; i++) {
        http_send(f, fd, "GET /hello", 10);
        http_await(f, fd, POLLIN, HTTP_TIMEOUT_MS * 5 / 8);
        const char *q = " HTTP/1.1\r\n" HTTP_HOST "\r\n";
        http_send(f, fd, q, strlen(q));
        http_receive(f, fd, a, sizeof a, "\"}");
        assert_int_equal(http_status_of(a), 200);
        http_await(f, fd, POLLIN, HTTP_TIMEOUT_MS / 2);
    }
    close(fd);
}

/* Who asks for much and reads nothing. */
static void gives_up_on_those_who_do_not_read(void **state)
{
    struct http_world *f = *state;
    int fd = http_dial(f), small = 2048;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const char *q = "GET /large HTTP/1.1\r\n" HTTP_HOST "\r\n";
    http_send(f, fd, q, strlen(q));
    uint64_t began = uv_hrtime() / 1000000;
    while (http_server_counts(f->server)->open == 0 || uv_hrtime() / 1000000 - began < 100)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    while (http_server_counts(f->server)->open > 0) {
        uv_run(&f->loop, UV_RUN_ONCE);
        assert_true(uv_hrtime() / 1000000 - began < HTTP_PATIENCE_MS);
    }
    close(fd);
}

static void bounds_connections(void **state)
{
    struct http_world *f = *state;
    int fds[20];
    for (int i = 0; i < 20; i++) {
        fds[i] = http_dial(f);
        http_send(f, fds[i], "GET", 3);
    }
    for (int i = 0; i < 200; i++) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_true(http_server_counts(f->server)->open <= 8);
    }
    /* When their time is over, others have their turn. */
    const char *a = http_ask(f, "GET /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 200);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
}

static void survives_rubbish(void **state)
{
    struct http_world *f = *state;
    static const char *const lines[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /hello\r\n\r\n",
        "GET /hello HTTP/9.9\r\n\r\n",
        "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost\r\n\r\n",
        "GET /hello HTTP/1.1\r\n: x\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 7\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET http://localhost/hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /%zz%%%1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello?%=&&==&=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int status = http_status_of(http_ask(f, lines[i]));
        assert_true(status == 0 || (status >= 200 && status < 600));
        assert_true(status < 500 || status == 501 || status == 505);
    }
    /* Bytes of no meaning, the same each time. */
    uint32_t x = 12345;
    for (int round = 0; round < 300; round++) {
        char junk[200];
        size_t n = 1 + (size_t)round % 150;
        for (size_t i = 0; i < n; i++) {
            x = x * 1664525 + 1013904223;
            junk[i] = (char)(x >> 24);
        }
        if (round % 3 == 0)
            memcpy(junk, "GET /hello", n < 10 ? n : 10);
        int fd = http_dial(f);
        http_send(f, fd, junk, n);
        shutdown(fd, SHUT_WR);
        for (int k = 0; k < 3; k++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        close(fd);
    }
    assert_int_equal(http_status_of(http_ask(f, "GET /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(bounds_the_body),
        HTTP_TEST(bounds_headers),
        HTTP_TEST(gives_up_on_the_slow),
        HTTP_TEST(counts_a_slow_first_line),
        HTTP_TEST(counts_from_the_first_byte),
        HTTP_TEST(gives_up_on_those_who_do_not_read),
        HTTP_TEST(bounds_connections),
        HTTP_TEST(survives_rubbish),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}

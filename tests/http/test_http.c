/* The server, from outside: raw sockets against it on a loop of its own, in this thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/http.h"

#define TOKEN "0123456789abcdef-token"
#define MAX_BODY 1000
#define TIMEOUT_MS 400
#define PATIENCE_MS 8000

struct fixture {
    uv_loop_t loop;
    struct http_server *server;
    int calls;
    size_t body_length;
};

/* ---- what is served -------------------------------------------------------------------------- */

static void hello(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct fixture *f = ctx;
    const char *name = http_query(r, "name");
    f->calls++;
    http_text(out, "{\"hello\":");
    http_json_text(out, name ? name : "", name ? strlen(name) : 0);
    http_text(out, "}");
}

static void echo(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct fixture *f = ctx;
    f->calls++;
    f->body_length = r->body_length;
    out->type = "text/plain";
    http_write(out, r->body, r->body_length);
}

static void rest(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    http_printf(out, "[%s]", r->rest);
}

static void fixed(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    out->type = "text/html";
    out->fixed = "<html>";
    out->fixed_length = 6;
    out->cacheable = true;
}

static void large(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    for (int i = 0; i < 200000; i++)
        http_text(out, "0123456789");
}

static const struct http_route routes[] = {
    {HTTP_GET, "/hello", false, HTTP_OPEN, hello, NULL},
    {HTTP_GET, "/read", false, HTTP_READ, hello, NULL},
    {HTTP_POST, "/echo", false, HTTP_COMMAND, echo, NULL},
    {HTTP_GET, "/below/", true, HTTP_OPEN, rest, NULL},
    {HTTP_GET, "/", false, HTTP_OPEN, fixed, NULL},
    {HTTP_GET, "/large", false, HTTP_OPEN, large, NULL},
};

/* ---- a client -------------------------------------------------------------------------------- */

static struct http_options options(struct fixture *f)
{
    return (struct http_options){
        .listen = "127.0.0.1:0",
        .token = TOKEN,
        .max_connections = 8,
        .timeout_ms = TIMEOUT_MS,
        .max_body = MAX_BODY,
        .routes = routes,
        .route_count = sizeof routes / sizeof *routes,
        .ctx = f,
    };
}

static int open_with(struct fixture *f, const struct http_options *o)
{
    struct fis_error e;
    uv_loop_init(&f->loop);
    int rc = http_server_start(&f->server, &f->loop, o, &e);
    if (rc < 0)
        print_message("# %s\n", e.text);
    return rc;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct http_options o = options(f);
    *state = f;
    return open_with(f, &o);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_server_stop(f->server);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&f->loop), 0); /* no handle is left */
    free(f);
    return 0;
}

static int dial(const struct fixture *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    const char *colon = strrchr(http_server_address(f->server), ':');
    a.sin_port = htons((uint16_t)atoi(colon + 1));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        assert_int_equal(errno, EINPROGRESS);
    return fd;
}

/* The loop goes on until `fd` can be read or written, or the time is over. */
static bool await(struct fixture *f, int fd, short events, int ms)
{
    uint64_t until = uv_hrtime() / 1000000 + (uint64_t)ms;
    struct pollfd p = {.fd = fd, .events = events};
    while (poll(&p, 1, 2) <= 0) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        if (uv_hrtime() / 1000000 >= until)
            return false;
    }
    return true;
}

static void send_bytes(struct fixture *f, int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        assert_true(await(f, fd, POLLOUT, PATIENCE_MS));
        ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);
        if (k < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* it has had enough */
        if (k < 0)
            assert_true(errno == EAGAIN);
        bytes += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

/* All up to the end of the connection, or what was asked for is there. */
static size_t receive(struct fixture *f, int fd, char *out, size_t room, const char *until)
{
    size_t n = 0;
    out[0] = 0;
    while (n + 1 < room && await(f, fd, POLLIN, PATIENCE_MS)) {
        ssize_t k = recv(fd, out + n, room - n - 1, 0);
        if (k <= 0)
            break;
        n += (size_t)k;
        out[n] = 0;
        if (until && strstr(out, until))
            break;
    }
    return n;
}

static const char *ask(struct fixture *f, const char *text)
{
    static char answer[1 << 16];
    int fd = dial(f);
    send_bytes(f, fd, text, strlen(text));
    receive(f, fd, answer, sizeof answer, NULL);
    close(fd);
    return answer;
}

static int status_of(const char *answer)
{
    int status = 0;
    sscanf(answer, "HTTP/1.1 %d", &status);
    return status;
}

#define CLOSE "Connection: close\r\n\r\n"
#define HOST "Host: localhost\r\n"

/* ---- tests ----------------------------------------------------------------------------------- */

static void serves(void **state)
{
    struct fixture *f = *state;
    const char *a = ask(f, "GET /hello?name=a%22b%0A HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 200);
    assert_non_null(strstr(a, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(a, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(a, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(a, "frame-ancestors 'none'"));
    assert_null(strstr(a, "Access-Control"));
    assert_non_null(strstr(a, "\r\n\r\n{\"hello\":\"a\\\"b\\u000a\"}"));
    a = ask(f, "GET / HTTP/1.1\r\n" HOST CLOSE);
    assert_non_null(strstr(a, "max-age="));
    assert_non_null(strstr(a, "<html>"));
    assert_non_null(strstr(ask(f, "GET /below/a/b HTTP/1.1\r\n" HOST CLOSE), "[a/b]"));
    assert_int_equal(http_server_counts(f->server)->by_class[2], 3);
}

static void heads_have_no_body(void **state)
{
    const char *a = ask(*state, "HEAD / HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 200);
    assert_non_null(strstr(a, "Content-Length: 6\r\n"));
    assert_null(strstr(a, "<html>"));
}

static void serves_much(void **state)
{
    struct fixture *f = *state;
    size_t room = 3u << 20;
    char *all = malloc(room);
    int fd = dial(f);
    const char *q = "GET /large HTTP/1.1\r\n" HOST CLOSE;
    send_bytes(f, fd, q, strlen(q));
    size_t n = receive(f, fd, all, room, NULL);
    char *body = strstr(all, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(n - (size_t)(body + 4 - all), 2000000);
    close(fd);
    free(all);
}

static void keeps_a_connection(void **state)
{
    struct fixture *f = *state;
    char answer[8192];
    int fd = dial(f);
    for (int i = 0; i < 5; i++) {
        const char *q = "GET /hello HTTP/1.1\r\n" HOST "\r\n";
        send_bytes(f, fd, q, strlen(q));
        receive(f, fd, answer, sizeof answer, "\"\"}");
        assert_int_equal(status_of(answer), 200);
    }
    assert_int_equal(http_server_counts(f->server)->connections, 1);
    close(fd);
}

static void says_what_is_wrong(void **state)
{
    struct fixture *f = *state;
    const char *a = ask(f, "GET /nothing HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 404);
    assert_non_null(strstr(a, "application/problem+json"));
    assert_non_null(strstr(a, "{\"title\":\"Not Found\",\"status\":404,\"detail\":"));
    a = ask(f, "DELETE /hello HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 405);
    assert_non_null(strstr(a, "Allow: GET, HEAD\r\n"));
    a = ask(f, "GET /echo HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 405);
    assert_non_null(strstr(a, "Allow: POST\r\n"));
    assert_int_equal(status_of(ask(f, "BREW /hello HTTP/1.1\r\n" HOST CLOSE)), 405);
    assert_int_equal(status_of(ask(f, "GET /hello%00x HTTP/1.1\r\n" HOST CLOSE)), 404);
    assert_int_equal(status_of(ask(f, "GET //hello HTTP/1.1\r\n" HOST CLOSE)), 404);
    assert_int_equal(status_of(ask(f, "GET /hello/../read HTTP/1.1\r\n" HOST CLOSE)), 404);
    assert_int_equal(f->calls, 0);
}

static void wants_the_token(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *header;
        int status;
    } cases[] = {
        {"", 401},
        {"Authorization: " TOKEN "\r\n", 401},
        {"Authorization: Basic " TOKEN "\r\n", 401},
        {"Authorization: Bearer \r\n", 401},
        {"Authorization: Bearer " TOKEN "x\r\n", 401},
        {"Authorization: Bearer 0123456789abcdef-toke\r\n", 401},
        {"Authorization: Bearer 0123456789abcdef-tokem\r\n", 401},
        {"Authorization: Bearer " TOKEN TOKEN "\r\n", 401},
        {"Authorization: Bearer " TOKEN "\r\n", 200},
        {"authorization: bearer " TOKEN "\r\n", 200},
    };
    int good = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char q[512];
        snprintf(q, sizeof q, "POST /echo HTTP/1.1\r\n" HOST "%sContent-Length: 2\r\n" CLOSE "hi",
                 cases[i].header);
        const char *a = ask(f, q);
        assert_int_equal(status_of(a), cases[i].status);
        assert_null(strstr(a, TOKEN));
        if (cases[i].status == 401)
            assert_non_null(strstr(a, "WWW-Authenticate: Bearer"));
        good += cases[i].status == 200;
        assert_int_equal(f->calls, good);
    }
    assert_int_equal(status_of(ask(f, "GET /read HTTP/1.1\r\n" HOST CLOSE)), 200);
}

static void token_can_change(void **state)
{
    struct fixture *f = *state;
    struct fis_error e;
    const char *q = "POST /echo HTTP/1.1\r\n" HOST "Authorization: Bearer another-token-here\r\n"
                    "Content-Length: 0\r\n" CLOSE;
    assert_int_equal(status_of(ask(f, q)), 401);
    assert_int_equal(http_server_set_token(f->server, "short", &e), -FIS_INPUT);
    assert_null(strstr(e.text, "short"));
    assert_false(http_server_token_is(f->server, "another-token-here"));
    assert_int_equal(http_server_set_token(f->server, "another-token-here", &e), 0);
    assert_true(http_server_token_is(f->server, "another-token-here"));
    assert_false(http_server_token_is(f->server, NULL));
    assert_int_equal(status_of(ask(f, q)), 200);
    assert_int_equal(http_server_set_token(f->server, NULL, &e), 0);
    const char *a = ask(f, q);
    assert_int_equal(status_of(a), 403);
    assert_non_null(strstr(a, "http.token_file"));
}

static void protects_reads(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct http_options o = options(f);
    o.protect_reads = true;
    assert_int_equal(open_with(f, &o), 0);
    assert_int_equal(status_of(ask(f, "GET /read HTTP/1.1\r\n" HOST CLOSE)), 401);
    assert_int_equal(status_of(ask(f, "GET /hello HTTP/1.1\r\n" HOST CLOSE)), 200);
    assert_int_equal(status_of(ask(f, "GET /read HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN
                                      "\r\n" CLOSE)),
                     200);
    void *mine = f;
    tear_down(&mine);
    (void)state;
}

static void knows_its_host(void **state)
{
    struct fixture *f = *state;
    static const char *const good[] = {"localhost",    "localhost:9464", "127.0.0.1",
                                       "127.0.0.1:80", "[::1]",          "[::1]:9464"};
    static const char *const bad[] = {"evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
                                      "[::1",         "localhost@evil",         "a b"};
    char q[256];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(q, sizeof q, "GET /hello HTTP/1.1\r\nHost: %s\r\n" CLOSE, good[i]);
        assert_int_equal(status_of(ask(f, q)), 200);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(q, sizeof q, "GET /hello HTTP/1.1\r\nHost: %s\r\n" CLOSE, bad[i]);
        assert_int_equal(status_of(ask(f, q)), 421);
    }
}

static void bounds_the_body(void **state)
{
    struct fixture *f = *state;
    char q[4096], body[2048];
    const char *auth = "Authorization: Bearer " TOKEN "\r\n";
    memset(body, 'x', sizeof body);
    snprintf(q, sizeof q, "POST /echo HTTP/1.1\r\n" HOST "%sContent-Length: 1000\r\n" CLOSE "%.*s",
             auth, MAX_BODY, body);
    assert_int_equal(status_of(ask(f, q)), 200);
    assert_int_equal(f->body_length, MAX_BODY);
    snprintf(q, sizeof q, "POST /echo HTTP/1.1\r\n" HOST "%sContent-Length: 1001\r\n" CLOSE "%.*s",
             auth, MAX_BODY + 1, body);
    assert_int_equal(status_of(ask(f, q)), 413);
    /* Without a length it is counted. */
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HOST "%sTransfer-Encoding: chunked\r\n" CLOSE
             "3e9\r\n%.*s\r\n0\r\n\r\n",
             auth, MAX_BODY + 1, body);
    assert_int_equal(status_of(ask(f, q)), 413);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HOST "%sTransfer-Encoding: chunked\r\n" CLOSE
             "3e8\r\n%.*s\r\n0\r\n\r\n",
             auth, MAX_BODY, body);
    assert_int_equal(status_of(ask(f, q)), 200);
    snprintf(q, sizeof q,
             "POST /echo HTTP/1.1\r\n" HOST "%sContent-Length: 99999999999999999999999\r\n" CLOSE,
             auth);
    assert_true(status_of(ask(f, q)) >= 400 || !status_of(ask(f, q)));
    assert_int_equal(f->calls, 2);
}

/* Neither closes the door for others. */
static void bounds_headers(void **state)
{
    struct fixture *f = *state;
    size_t n = 100000;
    char *q = malloc(n + 200);
    int at = sprintf(q, "GET /hello HTTP/1.1\r\n" HOST "X: ");
    memset(q + at, 'y', n);
    strcpy(q + at + n, "\r\n" CLOSE);
    int status = status_of(ask(f, q));
    assert_true(status == 431 || status == 413 || status == 0);
    at = sprintf(q, "GET /hello?");
    memset(q + at, 'z', n);
    strcpy(q + at + n, " HTTP/1.1\r\n" HOST CLOSE);
    status = status_of(ask(f, q));
    assert_true(status == 414 || status == 431 || status == 0);
    assert_int_equal(f->calls, 0);
    assert_int_equal(status_of(ask(f, "GET /hello HTTP/1.1\r\n" HOST CLOSE)), 200);
    free(q);
}

/* How long until it is closed on our side. */
static uint64_t drip(struct fixture *f, const char *first, char again, uint64_t every_ms)
{
    int fd = dial(f);
    char rest_of_it[256];
    uint64_t began = uv_hrtime() / 1000000;
    send_bytes(f, fd, first, strlen(first));
    for (;;) {
        if (await(f, fd, POLLIN, (int)every_ms)) {
            if (recv(fd, rest_of_it, sizeof rest_of_it, 0) <= 0)
                break;
            continue;
        }
        if (again && send(fd, &again, 1, MSG_NOSIGNAL) < 0)
            break;
        assert_true(uv_hrtime() / 1000000 - began < PATIENCE_MS);
    }
    close(fd);
    return uv_hrtime() / 1000000 - began;
}

static void gives_up_on_the_slow(void **state)
{
    struct fixture *f = *state;
    assert_in_range(drip(f, "", 0, 50), TIMEOUT_MS - 50, 3 * TIMEOUT_MS);
    assert_in_range(drip(f, "G", 'E', 50), TIMEOUT_MS - 50, 4 * TIMEOUT_MS);
    assert_in_range(drip(f, "GET /hello HTTP/1.1\r\n" HOST "X: ", 'y', 50), TIMEOUT_MS - 50,
                    4 * TIMEOUT_MS);
    assert_in_range(drip(f,
                         "POST /echo HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN
                         "\r\nContent-Length: 900\r\n\r\n",
                         'b', 50),
                    TIMEOUT_MS - 50, 4 * TIMEOUT_MS);
    assert_int_equal(f->calls, 0);
    assert_true(http_server_counts(f->server)->timed_out >= 1);
}

/* The time counts from the first byte, not from the end of the first line. */
static void counts_a_slow_first_line(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f);
    for (const char *c = "GET /hello HTTP/1.1\r\n" HOST "X: "; *c; c++) {
        if (send(fd, c, 1, MSG_NOSIGNAL) < 0)
            break;
        if (*c != '\n')
            await(f, fd, POLLIN, TIMEOUT_MS * 3 / 4 / 40);
    }
    uint64_t began = uv_hrtime() / 1000000;
    while (http_server_counts(f->server)->open > 0) {
        uv_run(&f->loop, UV_RUN_ONCE);
        assert_true(uv_hrtime() / 1000000 - began < PATIENCE_MS);
    }
    assert_in_range(uv_hrtime() / 1000000 - began, 0, TIMEOUT_MS - 20);
    close(fd);
}

/* Nor from when the connection opened: one that was idle has all its time for the next request. */
static void counts_from_the_first_byte(void **state)
{
    struct fixture *f = *state;
    char a[4096];
    int fd = dial(f);
    await(f, fd, POLLIN, TIMEOUT_MS * 5 / 8);
    for (int i = 0; i < 2; i++) {
        send_bytes(f, fd, "GET /hello", 10);
        await(f, fd, POLLIN, TIMEOUT_MS * 5 / 8);
        const char *q = " HTTP/1.1\r\n" HOST "\r\n";
        send_bytes(f, fd, q, strlen(q));
        receive(f, fd, a, sizeof a, "\"}");
        assert_int_equal(status_of(a), 200);
        await(f, fd, POLLIN, TIMEOUT_MS / 2);
    }
    close(fd);
}

/* Who asks for much and reads nothing. */
static void gives_up_on_those_who_do_not_read(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f), small = 2048;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const char *q = "GET /large HTTP/1.1\r\n" HOST "\r\n";
    send_bytes(f, fd, q, strlen(q));
    uint64_t began = uv_hrtime() / 1000000;
    while (http_server_counts(f->server)->open == 0 || uv_hrtime() / 1000000 - began < 100)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    while (http_server_counts(f->server)->open > 0) {
        uv_run(&f->loop, UV_RUN_ONCE);
        assert_true(uv_hrtime() / 1000000 - began < PATIENCE_MS);
    }
    close(fd);
}

static void bounds_connections(void **state)
{
    struct fixture *f = *state;
    int fds[20];
    for (int i = 0; i < 20; i++) {
        fds[i] = dial(f);
        send_bytes(f, fds[i], "GET", 3);
    }
    for (int i = 0; i < 200; i++) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_true(http_server_counts(f->server)->open <= 8);
    }
    /* When their time is over, others have their turn. */
    const char *a = ask(f, "GET /hello HTTP/1.1\r\n" HOST CLOSE);
    assert_int_equal(status_of(a), 200);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
}

static void survives_rubbish(void **state)
{
    struct fixture *f = *state;
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
        int status = status_of(ask(f, lines[i]));
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
        int fd = dial(f);
        send_bytes(f, fd, junk, n);
        shutdown(fd, SHUT_WR);
        for (int k = 0; k < 3; k++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        close(fd);
    }
    assert_int_equal(status_of(ask(f, "GET /hello HTTP/1.1\r\n" HOST CLOSE)), 200);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void refuses_addresses(void **state)
{
    static const char *const bad[] = {"",        "9464",       "localhost", "example.org:80",
                                      ":9464",   "1.2.3:80",   "::1:80",    "127.0.0.1:65536",
                                      "[::1]80", "127.0.0.1:", "[]:80",     "127.0.0.1:+80"};
    struct fixture f = {0};
    struct http_options o = options(&f);
    struct fis_error e;
    (void)state;
    uv_loop_init(&f.loop);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.listen = bad[i];
        assert_int_equal(http_server_start(&f.server, &f.loop, &o, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "http.listen"));
    }
    uv_loop_close(&f.loop);
}

static void finds_a_free_port(void **state)
{
    struct fixture *f = *state, g = {0};
    struct http_options o = options(&g);
    struct fis_error e;
    o.listen = http_server_address(f->server);
    uv_loop_init(&g.loop);
    assert_int_equal(http_server_start(&g.server, &g.loop, &o, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "in use"));
    o.tries = 20;
    assert_int_equal(http_server_start(&g.server, &g.loop, &o, &e), 0);
    assert_string_not_equal(http_server_address(g.server), o.listen);
    assert_true(http_server_loopback(g.server));
    http_server_stop(g.server);
    while (uv_run(&g.loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&g.loop), 0);
}

static void refuses_bad_certificates(void **state)
{
    struct fixture f = {0};
    struct http_options o = options(&f);
    struct fis_error e;
    (void)state;
    uv_loop_init(&f.loop);
    o.cert = o.key = "not a certificate";
    assert_int_equal(http_server_start(&f.server, &f.loop, &o, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "certificate"));
    print_message("# %s\n", e.text);
    assert_int_equal(uv_loop_close(&f.loop), 0);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(serves),
        WITH(heads_have_no_body),
        WITH(serves_much),
        WITH(keeps_a_connection),
        WITH(says_what_is_wrong),
        WITH(wants_the_token),
        WITH(token_can_change),
        cmocka_unit_test(protects_reads),
        WITH(knows_its_host),
        WITH(bounds_the_body),
        WITH(bounds_headers),
        WITH(gives_up_on_the_slow),
        WITH(counts_a_slow_first_line),
        WITH(counts_from_the_first_byte),
        WITH(gives_up_on_those_who_do_not_read),
        WITH(bounds_connections),
        WITH(survives_rubbish),
        cmocka_unit_test(refuses_addresses),
        WITH(finds_a_free_port),
        cmocka_unit_test(refuses_bad_certificates),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}

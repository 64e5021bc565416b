/* The server, from outside: raw sockets against it on a loop of its own, in this thread. */
#include "kit/http/http_world.h"

/* ---- tests ----------------------------------------------------------------------------------- */
static void serves(void **state)
{
    struct http_world *f = *state;
    const char *a = http_ask(f, "GET /hello?name=a%22b%0A HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 200);
    assert_non_null(strstr(a, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(a, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(a, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(a, "frame-ancestors 'none'"));
    assert_null(strstr(a, "Access-Control"));
    assert_non_null(strstr(a, "\r\n\r\n{\"hello\":\"a\\\"b\\u000a\"}"));
    a = http_ask(f, "GET / HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_non_null(strstr(a, "max-age="));
    assert_non_null(strstr(a, "<html>"));
    assert_non_null(
        strstr(http_ask(f, "GET /below/a/b HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE), "[a/b]"));
    assert_int_equal(http_server_counts(f->server)->by_class[2], 3);
}

static void heads_have_no_body(void **state)
{
    const char *a = http_ask(*state, "HEAD / HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 200);
    assert_non_null(strstr(a, "Content-Length: 6\r\n"));
    assert_null(strstr(a, "<html>"));
}

static void serves_much(void **state)
{
    struct http_world *f = *state;
    size_t room = 3u << 20;
    char *all = malloc(room);
    int fd = http_dial(f);
    const char *q = "GET /large HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE;
    http_send(f, fd, q, strlen(q));
    size_t n = http_receive(f, fd, all, room, NULL);
    char *body = strstr(all, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(n - (size_t)(body + 4 - all), 2000000);
    close(fd);
    free(all);
}

static void keeps_a_connection(void **state)
{
    struct http_world *f = *state;
    char answer[8192];
    int fd = http_dial(f);
    for (int i = 0; i < 5; i++) {
        const char *q = "GET /hello HTTP/1.1\r\n" HTTP_HOST "\r\n";
        http_send(f, fd, q, strlen(q));
        http_receive(f, fd, answer, sizeof answer, "\"\"}");
        assert_int_equal(http_status_of(answer), 200);
    }
    assert_int_equal(http_server_counts(f->server)->connections, 1);
    close(fd);
}

static void says_what_is_wrong(void **state)
{
    struct http_world *f = *state;
    const char *a = http_ask(f, "GET /nothing HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 404);
    assert_non_null(strstr(a, "application/problem+json"));
    assert_non_null(strstr(a, "{\"title\":\"Not Found\",\"status\":404,\"detail\":"));
    a = http_ask(f, "DELETE /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 405);
    assert_non_null(strstr(a, "Allow: GET, HEAD\r\n"));
    a = http_ask(f, "GET /echo HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE);
    assert_int_equal(http_status_of(a), 405);
    assert_non_null(strstr(a, "Allow: POST\r\n"));
    assert_int_equal(http_status_of(http_ask(f, "BREW /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     405);
    assert_int_equal(
        http_status_of(http_ask(f, "GET /hello%00x HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)), 404);
    assert_int_equal(http_status_of(http_ask(f, "GET //hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     404);
    assert_int_equal(
        http_status_of(http_ask(f, "GET /hello/../read HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)), 404);
    assert_int_equal(f->calls, 0);
}

static void requires_the_token(void **state)
{
    struct http_world *f = *state;
    static const struct {
        const char *header;
        int status;
    } cases[] = {
        {"", 401},
        {"Authorization: " HTTP_TOKEN "\r\n", 401},
        {"Authorization: Basic " HTTP_TOKEN "\r\n", 401},
        {"Authorization: Bearer \r\n", 401},
        {"Authorization: Bearer " HTTP_TOKEN "x\r\n", 401},
        {"Authorization: Bearer 0123456789abcdef-toke\r\n", 401},
        {"Authorization: Bearer 0123456789abcdef-tokem\r\n", 401},
        {"Authorization: Bearer " HTTP_TOKEN HTTP_TOKEN "\r\n", 401},
        {"Authorization: Bearer " HTTP_TOKEN "\r\n", 200},
        {"authorization: bearer " HTTP_TOKEN "\r\n", 200},
    };
    int good = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char q[512];
        snprintf(q, sizeof q,
                 "POST /echo HTTP/1.1\r\n" HTTP_HOST "%sContent-Length: 2\r\n" HTTP_CLOSE "hi",
                 cases[i].header);
        const char *a = http_ask(f, q);
        assert_int_equal(http_status_of(a), cases[i].status);
        assert_null(strstr(a, HTTP_TOKEN));
        if (cases[i].status == 401)
            assert_non_null(strstr(a, "WWW-Authenticate: Bearer"));
        good += cases[i].status == 200;
        assert_int_equal(f->calls, good);
    }
    assert_int_equal(http_status_of(http_ask(f, "GET /read HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     200);
}

static void token_can_change(void **state)
{
    struct http_world *f = *state;
    struct fis_error e;
    const char *q =
        "POST /echo HTTP/1.1\r\n" HTTP_HOST "Authorization: Bearer another-token-here\r\n"
        "Content-Length: 0\r\n" HTTP_CLOSE;
    assert_int_equal(http_status_of(http_ask(f, q)), 401);
    assert_int_equal(http_server_set_token(f->server, "short", &e), -FIS_INPUT);
    assert_null(strstr(e.text, "short"));
    assert_false(http_server_token_is(f->server, "another-token-here"));
    assert_int_equal(http_server_set_token(f->server, "another-token-here", &e), 0);
    assert_true(http_server_token_is(f->server, "another-token-here"));
    assert_false(http_server_token_is(f->server, NULL));
    assert_int_equal(http_status_of(http_ask(f, q)), 200);
    assert_int_equal(http_server_set_token(f->server, NULL, &e), 0);
    const char *a = http_ask(f, q);
    assert_int_equal(http_status_of(a), 403);
    assert_non_null(strstr(a, "http.token_file"));
}

static void protects_reads(void **state)
{
    struct http_world *f = calloc(1, sizeof *f);
    struct http_options o = http_world_options(f);
    o.protect_reads = true;
    assert_int_equal(http_world_open(f, &o), 0);
    assert_int_equal(http_status_of(http_ask(f, "GET /read HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     401);
    assert_int_equal(http_status_of(http_ask(f, "GET /hello HTTP/1.1\r\n" HTTP_HOST HTTP_CLOSE)),
                     200);
    assert_int_equal(
        http_status_of(http_ask(f, "GET /read HTTP/1.1\r\n" HTTP_HOST
                                   "Authorization: Bearer " HTTP_TOKEN "\r\n" HTTP_CLOSE)),
        200);
    void *mine = f;
    http_world_tear_down(&mine);
    (void)state;
}

static void knows_its_host(void **state)
{
    struct http_world *f = *state;
    static const char *const good[] = {"localhost",    "localhost:9464", "127.0.0.1",
                                       "127.0.0.1:80", "[::1]",          "[::1]:9464"};
    static const char *const bad[] = {"evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
                                      "[::1",         "localhost@evil",         "a b"};
    char q[256];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(q, sizeof q, "GET /hello HTTP/1.1\r\nHost: %s\r\n" HTTP_CLOSE, good[i]);
        assert_int_equal(http_status_of(http_ask(f, q)), 200);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(q, sizeof q, "GET /hello HTTP/1.1\r\nHost: %s\r\n" HTTP_CLOSE, bad[i]);
        assert_int_equal(http_status_of(http_ask(f, q)), 421);
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */
static void refuses_addresses(void **state)
{
    static const char *const bad[] = {"",        "9464",       "localhost", "example.org:80",
                                      ":9464",   "1.2.3:80",   "::1:80",    "127.0.0.1:65536",
                                      "[::1]80", "127.0.0.1:", "[]:80",     "127.0.0.1:+80"};
    struct http_world f = {0};
    struct http_options o = http_world_options(&f);
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
    struct http_world *f = *state, g = {0};
    struct http_options o = http_world_options(&g);
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
    struct http_world f = {0};
    struct http_options o = http_world_options(&f);
    struct fis_error e;
    (void)state;
    uv_loop_init(&f.loop);
    o.cert = o.key = "not a certificate";
    assert_int_equal(http_server_start(&f.server, &f.loop, &o, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "certificate"));
    print_message("# %s\n", e.text);
    assert_int_equal(uv_loop_close(&f.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(serves),
        HTTP_TEST(heads_have_no_body),
        HTTP_TEST(serves_much),
        HTTP_TEST(keeps_a_connection),
        HTTP_TEST(says_what_is_wrong),
        HTTP_TEST(requires_the_token),
        HTTP_TEST(token_can_change),
        cmocka_unit_test(protects_reads),
        HTTP_TEST(knows_its_host),
        cmocka_unit_test(refuses_addresses),
        HTTP_TEST(finds_a_free_port),
        cmocka_unit_test(refuses_bad_certificates),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}

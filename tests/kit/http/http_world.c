#include "kit/http/http_world.h"

static void hello(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct http_world *f = ctx;
    const char *name = http_query(r, "name");
    f->calls++;
    http_text(out, "{\"hello\":");
    http_json_text(out, name ? name : "", name ? strlen(name) : 0);
    http_text(out, "}");
}

static void echo(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct http_world *f = ctx;
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

struct http_options http_world_options(struct http_world *f)
{
    return (struct http_options){
        .listen = "127.0.0.1:0",
        .token = HTTP_TOKEN,
        .max_connections = 8,
        .timeout_ms = HTTP_TIMEOUT_MS,
        .max_body = HTTP_MAX_BODY,
        .routes = routes,
        .route_count = sizeof routes / sizeof *routes,
        .ctx = f,
    };
}

int http_world_open(struct http_world *f, const struct http_options *o)
{
    struct fis_error e;
    uv_loop_init(&f->loop);
    int rc = http_server_start(&f->server, &f->loop, o, &e);
    if (rc < 0)
        print_message("# %s\n", e.text);
    return rc;
}

int http_world_set_up(void **state)
{
    struct http_world *f = calloc(1, sizeof *f);
    struct http_options o = http_world_options(f);
    *state = f;
    return http_world_open(f, &o);
}

int http_world_tear_down(void **state)
{
    struct http_world *f = *state;
    http_server_stop(f->server);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&f->loop), 0); /* no handle is left */
    free(f);
    return 0;
}

int http_dial(const struct http_world *f)
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

bool http_await(struct http_world *f, int fd, short events, int ms)
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

void http_send(struct http_world *f, int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        assert_true(http_await(f, fd, POLLOUT, HTTP_PATIENCE_MS));
        ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);
        if (k < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* it has had enough */
        if (k < 0)
            assert_true(errno == EAGAIN);
        bytes += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
}

size_t http_receive(struct http_world *f, int fd, char *out, size_t room, const char *until)
{
    size_t n = 0;
    out[0] = 0;
    while (n + 1 < room && http_await(f, fd, POLLIN, HTTP_PATIENCE_MS)) {
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

const char *http_ask(struct http_world *f, const char *text)
{
    static char answer[1 << 16];
    int fd = http_dial(f);
    http_send(f, fd, text, strlen(text));
    http_receive(f, fd, answer, sizeof answer, NULL);
    close(fd);
    return answer;
}

int http_status_of(const char *answer)
{
    int status = 0;
    sscanf(answer, "HTTP/1.1 %d", &status);
    return status;
}

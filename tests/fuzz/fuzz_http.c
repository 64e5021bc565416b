/*
 * HTTP, from the first byte on a connection to the commands' JSON: the server of src/http on a
 * socket pair, with the pages and commands of the daemon that read what the client says. No command
 * is sent on, as no broker has answer.
 *
 * What must hold: the connection ends when the client has sent all; what is answered is HTTP; no
 * command is looked at without the token; and the token is in no answer, though the request has it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common.h"

#include "daemon/monitor/api.h"
#include "daemon/monitor/dashboard.h"
#include "fis/mem.h"
#include "http/http_impl.h"

#define TOKEN "token-of-" FUZZ_MARKER "-letters"
#define MOST_TURNS 5000
#define MOST_ANSWERED ((size_t)4 << 20)

static const struct http_route routes[] = {
    {HTTP_GET, "/", false, HTTP_OPEN, dashboard_serve, NULL},
    {HTTP_GET, DASHBOARD_BELOW, true, HTTP_OPEN, dashboard_serve, NULL},
    {HTTP_GET, "/api/v1/versions/", true, HTTP_READ, api_version, NULL},
    {HTTP_GET, "/api/v1/models/", true, HTTP_READ, api_model, NULL},
    API_PAGE("commands", api_commands),
    {HTTP_GET, "/api/v1/commands/", true, HTTP_READ, api_command, NULL},
    API_COMMAND("pause", PAUSE, "", false),
    API_COMMAND("rollback", ROLLBACK, "version", false),
    API_COMMAND("promote", PROMOTE, "version", true),
    API_COMMAND("cancel", CANCEL, "id", true),
};

static struct config config;
static uv_loop_t loop;
static struct context context;
static struct monitor *monitor;

static void begin(void)
{
    struct fis_error e;
    struct http_options o = {
        .listen = "127.0.0.1:0",
        .token = TOKEN,
        .protect_reads = false,
        .max_connections = 4,
        .timeout_ms = 100,
        .max_body = 4096,
        .routes = routes,
        .route_count = sizeof routes / sizeof *routes,
    };
    monitor = fis_calloc(1, sizeof *monitor);
    FUZZ_HOLDS(monitor && uv_loop_init(&loop) == 0);
    context.cfg = &config;
    context.loop = &loop;
    monitor->ctx = &context;
    monitor->versions = version_log_new(&e);
    o.ctx = monitor;
    if (!monitor->versions || http_server_start(&monitor->http, &loop, &o, &e) < 0)
        FUZZ_FAIL("the server does not start: %s", e.text);
}

/* As a client that has connected; the other end. */
static int connect_to(struct http_server *s)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int pair[2], room = 1 << 20;
    FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    FUZZ_HOLDS(MHD_add_connection(s->mhd, pair[1], (struct sockaddr *)&from, sizeof from) ==
               MHD_YES);
    return pair[0];
}

/* Until the server has closed; how much it has sent. The client closes its half a few turns after
 * it has sent all: a library that is notified of changes only does not see an end that comes with
 * the last bytes, and such a connection lives on to the end of its time. */
static size_t receive(int fd, char *answer)
{
    size_t n = 0;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        if (turn == 4)
            shutdown(fd, SHUT_WR);
        uv_run(&loop, UV_RUN_NOWAIT);
        ssize_t got = recv(fd, answer + n, MOST_ANSWERED - n, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return n;
        if (got > 0)
            n += (size_t)got;
        else if (turn > 20)
            poll(NULL, 0, 1);
    }
    FUZZ_FAIL("the connection stays open after the client has sent all");
}

static bool has(const char *text, size_t n, const char *what)
{
    size_t m = strlen(what);
    for (size_t i = 0; i + m <= n; i++)
        if (memcmp(text + i, what, m) == 0)
            return true;
    return false;
}

static void check(const char *answer, size_t n, const char *asked, size_t size)
{
    if (n && (n < 12 || memcmp(answer, "HTTP/1.", 7) != 0))
        FUZZ_FAIL("an answer that is no HTTP: %.*s", (int)(n < 80 ? n : 80), answer);
    FUZZ_HOLDS(fuzz_markers(answer, n) == 0);
    /* What a command says once it was read: the token must have come. */
    if (has(answer, n, "no broker has answered yet") || has(answer, n, "one JSON object"))
        FUZZ_HOLDS(has(asked, size, TOKEN));
    FUZZ_HOLDS(commands_at(&monitor->commands, 0) == NULL);
    for (int turn = 0; turn < MOST_TURNS && monitor->http->counts.open; turn++)
        uv_run(&loop, UV_RUN_NOWAIT); /* a silent client is closed soon */
    FUZZ_HOLDS(monitor->http->counts.open == 0 && !monitor->http->connections);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *answer;
    if (!answer) {
        begin();
        answer = malloc(MOST_ANSWERED);
    }
    if (!answer || size > 65536)
        return 0;
    int fd = connect_to(monitor->http);
    FUZZ_HOLDS(send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size);
    size_t n = receive(fd, answer);
    close(fd);
    check(answer, n, (const char *)data, size);
    return 0;
}

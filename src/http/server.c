/* The server's life, and its place on the loop: the library's descriptor says when there is
 * something to do, its timeout when it must be called without that. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fis/mem.h"
#include "base/decimal.h"
#include "http/http_impl.h"

/* Of a connection: request line, headers and the headers of the answer. */
#define CONNECTION_BYTES ((size_t)32 << 10)
/* How often connections are looked at whose time may be over. The library must be called now
 * and then in any case: it listens again, after all connections were taken, when it is. */
#define SWEEP_MS 250

/* ---- connections ----------------------------------------------------------------------------- */

static void connected(struct http_server *s, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_connection *c = fis_calloc(1, sizeof *c);
    *context = c;
    s->counts.connections++;
    s->counts.open++;
    if (!c)
        return; /* nobody watches its time but the library, which sees idleness only */
    c->fd = fd ? fd->connect_fd : -1;
    c->since_ms = uv_now(s->timer.loop);
    c->after = s->connections;
    if (c->after)
        c->after->before = c;
    s->connections = c;
}

static void disconnected(struct http_server *s, void **context)
{
    struct http_connection *c = *context;
    s->counts.open--;
    *context = NULL;
    if (!c)
        return;
    if (c->before)
        c->before->after = c->after;
    else
        s->connections = c->after;
    if (c->after)
        c->after->before = c->before;
    fis_free(c);
}

static void notify(void *cls, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        connected(cls, connection, context);
    else
        disconnected(cls, context);
}

static struct http_connection *context_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

/* Who sends its first line slowly must gain nothing, and the library calls when it has all of it.
 * So the socket is looked at before the library reads from it. */
static void look_for_first_byte(struct http_connection *c, uint64_t now)
{
    char byte;
    if (c->began || recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        return;
    c->since_ms = now;
    c->began = true;
}

/* The first line is there, and so was its first byte, if it did not come just before it was read.
 */
static void *request_begins(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct http_server *s = cls;
    struct http_connection *c = context_of(connection);
    (void)uri;
    if (c && !c->began)
        c->since_ms = uv_now(s->timer.loop);
    if (c)
        c->began = c->in_request = true;
    return NULL;
}

static void request_ends(void *cls, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode how)
{
    struct http_server *s = cls;
    struct http_connection *c = context_of(connection);
    if (c) {
        c->since_ms = uv_now(s->timer.loop);
        c->began = c->in_request = false;
    }
    http_request_over(s, connection, request, how);
}

/* The library only knows idleness; who sends a byte now and then would never be idle. */
static void sweep(struct http_server *s)
{
    uint64_t now = uv_now(s->timer.loop);
    for (struct http_connection *c = s->connections; c; c = c->after) {
        if (c->fd < 0)
            continue;
        look_for_first_byte(c, now);
        if (now - c->since_ms < s->o.timeout_ms)
            continue;
        s->counts.timed_out += c->in_request;
        shutdown(c->fd, SHUT_RDWR); /* the library sees the end, and closes it */
        c->fd = -1;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *t);

static void run(struct http_server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;
    uv_update_time(s->timer.loop);
    sweep(s);
    MHD_run(s->mhd);
    if (MHD_get_timeout(s->mhd, &ms) != MHD_YES || ms > SWEEP_MS)
        ms = SWEEP_MS;
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

static void on_timer(uv_timer_t *t)
{
    run(t->data);
}

static void on_poll(uv_poll_t *p, int status, int events)
{
    (void)status;
    (void)events;
    run(p->data);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void release(struct http_server *s)
{
    /* The library's memory is not ours: a token must not stay in what is given back. */
    if (s->token)
        memset(s->token, 0, strlen(s->token));
    fis_free(s->token);
    fis_free(s->cert);
    fis_free(s->key);
    fis_free(s);
}

static void on_closed(uv_handle_t *h)
{
    struct http_server *s = h->data;
    if (--s->handles == 0)
        release(s);
}

static void on_library_log(void *cls, const char *format, va_list ap)
{
    struct http_server *s = cls;
    char text[256];
    vsnprintf(text, sizeof text, format, ap);
    text[strcspn(text, "\r\n")] = 0;
    fis_fail(&s->mhd_error, FIS_INPUT, "%s", text);
}

static struct MHD_Daemon *start(struct http_server *s, int fd)
{
    unsigned flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | (s->cert ? MHD_USE_TLS : 0);
    unsigned seconds = (unsigned)(s->o.timeout_ms / 1000 + 1);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)HTTP_TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_serve, s, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, s,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, s->o.max_connections, MHD_OPTION_CONNECTION_TIMEOUT, seconds,
        MHD_OPTION_NOTIFY_CONNECTION, notify, s, MHD_OPTION_NOTIFY_COMPLETED, request_ends, s,
        MHD_OPTION_URI_LOG_CALLBACK, request_begins, s, MHD_OPTION_UNESCAPE_CALLBACK, http_unescape,
        s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, s->cert ? tls : none, MHD_OPTION_END);
}

static int copy_texts(struct http_server *s, struct fis_error *e)
{
    const struct http_options *o = &s->o;
    s->token = o->token ? fis_strdup(o->token) : NULL;
    s->cert = o->cert ? fis_strdup(o->cert) : NULL;
    s->key = o->key ? fis_strdup(o->key) : NULL;
    if ((o->token && !s->token) || (o->cert && !s->cert) || (o->key && !s->key))
        return fis_fail(e, FIS_NOMEM, "http: no memory");
    return 0;
}

static int watch(struct http_server *s, uv_loop_t *loop, struct fis_error *e)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || uv_poll_init(loop, &s->poll, info->epoll_fd) != 0)
        return fis_fail(e, FIS_FATAL, "http: the server cannot be watched");
    uv_timer_init(loop, &s->timer);
    s->poll.data = s->timer.data = s;
    s->handles = 2;
    uv_poll_start(&s->poll, UV_READABLE, on_poll);
    return 0;
}

static int open_all(struct http_server *s, uv_loop_t *loop, struct fis_error *e)
{
    int fd, rc;
    if ((s->o.token && (rc = http_token_check(s->o.token, e)) < 0) || (rc = copy_texts(s, e)) < 0 ||
        (rc = http_listen(&s->o, &fd, s->address, &s->loopback, e)) < 0)
        return rc;
    s->mhd = start(s, fd);
    if (!s->mhd) {
        close(fd);
        return fis_fail(e, FIS_INPUT, "http: %s%s", s->cert ? "certificate or key: " : "",
                        s->mhd_error.kind ? s->mhd_error.text : "the server does not start");
    }
    return watch(s, loop, e);
}

int http_server_start(struct http_server **out, uv_loop_t *loop, const struct http_options *o,
                      struct fis_error *e)
{
    struct http_server *s = fis_calloc(1, sizeof *s);
    if (!s)
        return fis_fail(e, FIS_NOMEM, "http: no memory");
    s->o = *o;
    int rc = open_all(s, loop, e);
    if (rc < 0) {
        if (s->mhd)
            MHD_stop_daemon(s->mhd);
        release(s);
        return rc;
    }
    s->o.token = s->o.cert = s->o.key = NULL; /* the caller's may go */
    *out = s;
    return 0;
}

void http_server_stop(struct http_server *s)
{
    if (!s || s->stopping)
        return;
    s->stopping = true;
    uv_poll_stop(&s->poll);
    uv_timer_stop(&s->timer);
    MHD_stop_daemon(s->mhd);
    uv_close((uv_handle_t *)&s->poll, on_closed);
    uv_close((uv_handle_t *)&s->timer, on_closed);
}

/* ---- small ones ------------------------------------------------------------------------------ */

int http_token_check(const char *token, struct fis_error *e)
{
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return fis_fail(e, FIS_INPUT,
                            "the token has a character that is not visible ASCII, at %zu", i + 1);
    if (n < HTTP_TOKEN_MIN || n > HTTP_TOKEN_MAX)
        return fis_fail(e, FIS_INPUT, "the token has %s, allowed %d to %d",
                        DECIMAL_COUNT(n, "character"), HTTP_TOKEN_MIN, HTTP_TOKEN_MAX);
    return 0;
}

int http_server_set_token(struct http_server *s, const char *token, struct fis_error *e)
{
    char *copy = NULL;
    int rc = token ? http_token_check(token, e) : 0;
    if (rc < 0)
        return rc;
    if (token && !(copy = fis_strdup(token)))
        return fis_fail(e, FIS_NOMEM, "http: no memory");
    if (s->token)
        memset(s->token, 0, strlen(s->token));
    fis_free(s->token);
    s->token = copy;
    return 0;
}

bool http_server_token_is(const struct http_server *s, const char *token)
{
    return s->token && token ? strcmp(s->token, token) == 0 : s->token == token;
}

const char *http_server_address(const struct http_server *s)
{
    return s->address;
}

bool http_server_loopback(const struct http_server *s)
{
    return s->loopback;
}

bool http_server_tls(const struct http_server *s)
{
    return s->cert != NULL;
}

const struct http_counts *http_server_counts(const struct http_server *s)
{
    return &s->counts;
}

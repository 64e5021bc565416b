/* What a request meets: is the host ours, is there such a page, may it be had, is it too long; and
 * then the handler. */
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "fis/mem.h"
#include "http/http_impl.h"

struct request {
    const struct http_route *route;
    size_t prefix; /* of the path that belongs to the route */
    unsigned char *body;
    size_t length, room;
    unsigned refused; /* status, when the body is too long or there is no memory */
};

/* Every answer: nothing is kept, guessed, framed or fetched from elsewhere. */
static const char *const headers[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
};
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char *http_query(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        return (c | 32) - 'a' + 10;
    return -1;
}

/* %00 stays as it is: a text ends at a NUL, and "/metrics%00x" is not "/metrics". */
size_t http_unescape(void *cls, struct MHD_Connection *connection, char *s)
{
    char *out = s;
    (void)cls;
    (void)connection;
    for (const char *in = s; *in; in++) {
        int high = *in == '%' ? hex(in[1]) : -1, low = high >= 0 ? hex(in[2]) : -1;
        if (low >= 0 && (high || low)) {
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = 0;
    return (size_t)(out - s);
}

static bool matches(const struct http_route *t, const char *path)
{
    return t->below ? strncmp(path, t->path, strlen(t->path)) == 0 : strcmp(path, t->path) == 0;
}

/* ---- answering ------------------------------------------------------------------------------- */

static struct MHD_Response *response_of(struct http_reply *r)
{
    if (r->fixed)
        return MHD_create_response_from_buffer(r->fixed_length, (void *)(uintptr_t)r->fixed,
                                               MHD_RESPMEM_PERSISTENT);
    if (!r->body.data)
        return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(r->body.length, r->body.data, fis_free);
    if (response)
        r->body = (struct byte_buffer){0}; /* it is the response's now */
    return response;
}

static void allow(struct http_server *s, struct MHD_Response *response, const char *path)
{
    bool get = false, post = false;
    for (size_t i = 0; i < s->o.route_count; i++) {
        const struct http_route *t = &s->o.routes[i];
        get |= t->method == HTTP_GET && matches(t, path);
        post |= t->method == HTTP_POST && matches(t, path);
    }
    MHD_add_response_header(response, "Allow",
                            get && post ? "GET, HEAD, POST"
                            : get       ? "GET, HEAD"
                                        : "POST");
}

static enum MHD_Result answer(struct http_server *s, struct MHD_Connection *connection,
                              const char *path, struct http_reply *r)
{
    if (r->no_memory) {
        byte_buffer_done(&r->body);
        r->no_memory = false;
        http_problem(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory for the answer");
    }
    struct MHD_Response *response = response_of(r);
    byte_buffer_done(&r->body);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", r->type);
    MHD_add_response_header(response, "Cache-Control",
                            r->fixed && r->cacheable ? "private, max-age=300" : "no-store");
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    MHD_add_response_header(response, "Content-Security-Policy", r->policy ? r->policy : policy);
    if (r->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"fisd\"");
    if (r->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        allow(s, response, path);
    s->counts.by_class[r->status / 100 % 6]++;
    enum MHD_Result result = MHD_queue_response(connection, r->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- may it be had ----------------------------------------------------------------------------
 */

/* An IP address or localhost, with or without a port. */
static bool names_this_machine(const char *host)
{
    char name[64];
    struct in6_addr v6;
    struct in_addr v4;
    size_t n = strlen(host);
    if (n >= sizeof name)
        return false;
    memcpy(name, host, n + 1);
    if (name[0] == '[') {
        char *end = strchr(name, ']');
        if (!end)
            return false;
        *end = 0;
        return inet_pton(AF_INET6, name + 1, &v6) == 1;
    }
    name[strcspn(name, ":")] = 0;
    return strcmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &v4) == 1;
}

static bool host_ok(const struct http_server *s, const struct http_request *q,
                    struct http_reply *out)
{
    const char *host = http_header(q, "Host");
    if (!s->loopback || !host || names_this_machine(host))
        return true;
    http_problem(out, MHD_HTTP_MISDIRECTED_REQUEST,
                 "this listens on a loopback address, and answers to localhost or an IP address "
                 "as the host only");
    return false;
}

const char *http_bearer(const struct http_request *r)
{
    const char *given = http_header(r, "Authorization");
    return given && strncasecmp(given, "Bearer ", 7) == 0 ? given + 7 : NULL;
}

bool http_same_token(const char *token, const char *given)
{
    size_t n = strlen(token), m = strlen(given);
    volatile unsigned char differ = n != m;
    for (size_t i = 0; i < m; i++)
        differ |= (unsigned char)(token[i % n] ^ given[i]);
    return !differ;
}

static bool allowed(const struct http_server *s, const struct http_route *t,
                    const struct http_request *q, struct http_reply *out)
{
    if (t->access == HTTP_OPEN || (t->access == HTTP_READ && !s->o.protect_reads))
        return true;
    if (!s->token) {
        http_problem(out, MHD_HTTP_FORBIDDEN,
                     "no token is configured (http.token_file), so nobody may do this here");
        return false;
    }
    const char *given = http_bearer(q);
    if (given && http_same_token(s->token, given))
        return true;
    http_problem(out, MHD_HTTP_UNAUTHORIZED,
                 http_header(q, "Authorization") ? "the bearer token does not match"
                                                 : "this needs the header Authorization: Bearer "
                                                   "with the token");
    return false;
}

static bool short_enough(const struct http_server *s, const struct http_request *q,
                         struct http_reply *out)
{
    const char *length = http_header(q, "Content-Length");
    if (!length || strtoull(length, NULL, 10) <= s->o.max_body)
        return true;
    http_problem(out, MHD_HTTP_CONTENT_TOO_LARGE, "the body has more than %zu bytes",
                 s->o.max_body);
    return false;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static enum http_method method_of(const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return HTTP_GET;
    return strcmp(method, "POST") == 0 ? HTTP_POST : 0;
}

static const struct http_route *find(const struct http_server *s, const struct http_request *q,
                                     struct http_reply *out)
{
    bool path = false;
    for (size_t i = 0; i < s->o.route_count; i++) {
        const struct http_route *t = &s->o.routes[i];
        if (!matches(t, q->path))
            continue;
        if (t->method == q->method)
            return t;
        path = true;
    }
    if (path)
        http_problem(out, MHD_HTTP_METHOD_NOT_ALLOWED, "this method is not for this path");
    else
        http_problem(out, MHD_HTTP_NOT_FOUND, "there is nothing at this path");
    return NULL;
}

/* The headers are there: everything that can be refused without the body is refused now. */
static const struct http_route *admit(const struct http_server *s, const struct http_request *q,
                                      struct http_reply *out)
{
    if (!host_ok(s, q, out))
        return NULL;
    const struct http_route *t = find(s, q, out);
    return t && allowed(s, t, q, out) && short_enough(s, q, out) ? t : NULL;
}

/* ---- a request --------------------------------------------------------------------------------
 */

static enum MHD_Result begin(struct http_server *s, struct http_request *q, void **request,
                             struct http_reply *out)
{
    const struct http_route *t = admit(s, q, out);
    struct request *r = t ? fis_calloc(1, sizeof *r) : NULL;
    if (t && !r)
        http_problem(out, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory for the request");
    if (!r)
        return answer(s, q->connection, q->path, out);
    r->route = t;
    r->prefix = strlen(t->path);
    *request = r;
    return MHD_YES;
}

/* What is sent without a length is counted here. It is read to its end, or to the end of its time,
 * and dropped. */
static void take_body(struct http_server *s, struct request *r, const char *data, size_t n)
{
    if (r->refused)
        return;
    if (n > s->o.max_body - r->length) {
        r->refused = MHD_HTTP_CONTENT_TOO_LARGE;
        return;
    }
    if (r->room - r->length < n + 1) {
        size_t room = r->length + n + 1;
        if (!fis_grow(&r->body, r->length, room, 1)) {
            r->refused = MHD_HTTP_INTERNAL_SERVER_ERROR;
            return;
        }
        r->room = room;
    }
    memcpy(r->body + r->length, data, n);
    r->length += n;
}

enum MHD_Result http_serve(void *cls, struct MHD_Connection *connection, const char *url,
                           const char *method, const char *version, const char *upload_data,
                           size_t *upload_data_size, void **request)
{
    struct http_server *s = cls;
    struct http_reply out = {.status = MHD_HTTP_OK, .type = HTTP_JSON};
    struct http_request q = {
        .method = method_of(method), .path = url, .rest = "", .connection = connection};
    struct request *r = *request;
    (void)version;
    if (!r)
        return begin(s, &q, request, &out);
    if (*upload_data_size) {
        take_body(s, r, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return MHD_YES;
    }
    q.route = r->route;
    q.rest = url + r->prefix;
    q.body = r->body ? r->body : (const void *)"";
    q.body_length = r->length;
    if (r->refused)
        http_problem(&out, r->refused, "the body cannot be taken; it may have %zu bytes",
                     s->o.max_body);
    else
        r->route->handle(s->o.ctx, &q, &out);
    return answer(s, connection, url, &out);
}

void http_request_over(void *cls, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode how)
{
    struct request *r = *request;
    (void)cls;
    (void)connection;
    (void)how;
    if (!r)
        return;
    fis_free(r->body);
    fis_free(r);
    *request = NULL;
}

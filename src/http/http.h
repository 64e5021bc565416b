/*
 * A small HTTP/1.1 server on a libuv loop: libmicrohttpd, driven by its epoll descriptor, so that
 * handlers run on the loop's thread and need no lock. It knows nothing of fisd: a table of routes
 * says what is served.
 *
 * What holds for every client:
 * - A request must be over, from its first byte to the last of the answer, within `timeout_ms`, and
 *   a connection that is idle so long is closed: one that drips bytes gains nothing.
 * - At most `max_connections` at a time (more wait in the kernel's queue), `max_body` bytes of body
 *   (413), 16 KiB of request line and headers (414, 431).
 * - Bound to loopback, it answers only to names of this machine (an IP address, localhost): a page
 *   of somebody else whose name was made to lead here gets 421.
 * - Answers carry no-store, nosniff and a content security policy; there is no CORS.
 * - The bearer token is compared in constant time. It is never logged and in no answer.
 *
 * Routes are GET (HEAD comes with it) or POST. What fails is answered by a problem document
 * (RFC 9457, application/problem+json): {"title", "status", "detail"}.
 *
 * Thread: the loop's. Owns: its sockets, copies of token and certificates.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/byte_buffer.h"
#include "fis/error.h"

enum http_method { HTTP_GET = 1, HTTP_POST };

/* Who may have it: anyone; with the token where reads are protected; with the token in any case
 * (without one configured: nobody, 403). */
enum http_access { HTTP_OPEN = 1, HTTP_READ, HTTP_COMMAND };

struct http_route;
struct http_request {
    enum http_method method;
    const char *path; /* decoded, without the query */
    const struct http_route *route;
    const char *rest; /* what stands behind the path of a `below` route; else "" */
    const void *body;
    size_t body_length;
    void *connection; /* the server's */
};
/* The (first) value of a parameter of the query, decoded, or of a header; NULL: it is not there. */
const char *http_query(const struct http_request *r, const char *name);
const char *http_header(const struct http_request *r, const char *name);

/* What a handler writes. At first: status 200, JSON, empty. */
struct http_reply {
    unsigned status;
    const char *type;  /* content type; a text that outlives the server */
    const void *fixed; /* the body, when it outlives the server; else what was written */
    size_t fixed_length;
    bool cacheable;     /* `fixed` is the same as long as the process runs */
    const char *policy; /* content security policy, a text that outlives the server; NULL: the
                           server's, which allows nothing from elsewhere */
    struct byte_buffer body;
    bool no_memory; /* a write failed: 500 goes out */
};
#define HTTP_JSON "application/json"
void http_write(struct http_reply *out, const void *bytes, size_t length);
void http_text(struct http_reply *out, const char *text);
void http_printf(struct http_reply *out, const char *format, ...) FIS_PRINTF(2, 3);
/* `text` as a JSON string with its quotes; what is no UTF-8 becomes '?'. */
void http_json_text(struct http_reply *out, const char *text, size_t length);
/* Drops what was written, and makes it a problem document. */
void http_problem(struct http_reply *out, unsigned status, const char *format, ...)
    FIS_PRINTF(3, 4);

typedef void http_handler_fn(void *ctx, const struct http_request *r, struct http_reply *out);

struct http_route {
    enum http_method method;
    const char *path; /* exact; with `below`, it and what begins with it ("/a/" for "/a/7") */
    bool below;
    enum http_access access;
    http_handler_fn *handle;
    const void *arg; /* the handler's own: r->route->arg */
};

struct http_options {
    const char *listen;       /* "host:port"; an IP address ([::1]:80) or localhost; port 0: any */
    uint32_t tries;           /* ports to try, upwards, when one is taken; 0 is 1 */
    const char *token;        /* NULL: none */
    bool protect_reads;       /* HTTP_READ requires the token */
    const char *cert, *key;   /* PEM texts; NULL: no TLS */
    uint32_t max_connections; /* 1 or more */
    uint64_t timeout_ms;
    size_t max_body;
    const struct http_route *routes; /* borrowed */
    size_t route_count;
    void *ctx;
};

/* What it has done, for metrics. */
struct http_counts {
    uint64_t connections, timed_out;
    uint64_t by_class[6]; /* answers by status / 100 */
    uint32_t open;        /* connections now */
};

struct http_server;
/* INPUT: an address that is none, or is taken; a certificate that cannot be used. */
int http_server_start(struct http_server **out, uv_loop_t *loop, const struct http_options *o,
                      struct fis_error *e) FIS_MUST_CHECK;
/* Another token (NULL: none) from now on. NOMEM: the old one stays. */
int http_server_set_token(struct http_server *s, const char *token,
                          struct fis_error *e) FIS_MUST_CHECK;
/* Whether this token (NULL: none) is the one in force. */
bool http_server_token_is(const struct http_server *s, const char *token);
/* "127.0.0.1:9464", with the port that was bound. */
const char *http_server_address(const struct http_server *s);
bool http_server_loopback(const struct http_server *s); /* bound to it */
bool http_server_tls(const struct http_server *s);
const struct http_counts *http_server_counts(const struct http_server *s);
/* Closes all connections; memory is freed as the loop closes its handles: run it once more. */
void http_server_stop(struct http_server *s); /* NULL is fine */

/* A token is 16 to 4096 visible ASCII characters, one line. INPUT: says what is wrong, never what
 * was found. */
int http_token_check(const char *token, struct fis_error *e) FIS_MUST_CHECK;
/* Whether a given token is the one; in a time that does not depend on where they differ. */
bool http_same_token(const char *token, const char *given);
/* The bearer token of a request; NULL: none. */
const char *http_bearer(const struct http_request *r);
/* PEM texts that a server could be started with. INPUT: "found …, allowed …". */
int http_tls_check(const char *cert, const char *key, struct fis_error *e) FIS_MUST_CHECK;

#endif

/* Inside src/http: address.c (what is listened to), server.c (life, the loop, connections),
 * tls.c (may a certificate be used), request.c (what a request meets on its way to a handler),
 * reply.c (what is written). */
#ifndef HTTP_IMPL_H
#define HTTP_IMPL_H

#include <microhttpd.h>

#include "http/http.h"

#define HTTP_ADDRESS 80
#define HTTP_TOKEN_MIN 16
#define HTTP_TOKEN_MAX 4096
#define HTTP_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct http_connection {
    struct http_connection *before, *after;
    int fd;
    uint64_t since_ms; /* when it opened, or its request began, or the last one was over */
    bool began;        /* a byte of a request has come */
    bool in_request;   /* its first line has */
};

struct http_server {
    struct http_options o;
    struct MHD_Daemon *mhd;
    uv_poll_t poll;
    uv_timer_t timer;
    int handles; /* of libuv's, that are not closed yet */
    bool loopback, stopping;
    char address[HTTP_ADDRESS];
    char *token, *cert, *key;
    struct http_connection *connections;
    struct http_counts counts;
    struct fis_error mhd_error; /* the library's last message while it started */
};

/* Binds and listens. *fd is the caller's. */
int http_listen(const struct http_options *o, int *fd, char address[HTTP_ADDRESS], bool *loopback,
                struct fis_error *e) FIS_MUST_CHECK;

/* The library's callbacks; cls is the server. */
enum MHD_Result http_serve(void *cls, struct MHD_Connection *connection, const char *url,
                           const char *method, const char *version, const char *upload_data,
                           size_t *upload_data_size, void **request);
void http_request_over(void *cls, struct MHD_Connection *connection, void **request,
                       enum MHD_RequestTerminationCode how);
size_t http_unescape(void *cls, struct MHD_Connection *connection, char *s);

#endif

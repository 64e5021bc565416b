/* A server on its loop, and a client of bytes. */
#ifndef TEST_KIT_HTTP_WORLD_H
#define TEST_KIT_HTTP_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http.h"
#include "kit/cmocka.h"

#define HTTP_TOKEN "0123456789abcdef-token"

#define HTTP_MAX_BODY 1000

#define HTTP_TIMEOUT_MS 400

#define HTTP_PATIENCE_MS 8000

struct http_world {
    uv_loop_t loop;
    struct http_server *server;
    int calls;
    size_t body_length;
};

struct http_options http_world_options(struct http_world *f);

int http_world_open(struct http_world *f, const struct http_options *o);

int http_world_set_up(void **state);

int http_world_tear_down(void **state);

int http_dial(const struct http_world *f);

/* The loop goes on until `fd` can be read or written, or the time is over. */
bool http_await(struct http_world *f, int fd, short events, int ms);

void http_send(struct http_world *f, int fd, const char *bytes, size_t n);

/* All up to the end of the connection, or what was asked for is there. */
size_t http_receive(struct http_world *f, int fd, char *out, size_t room, const char *until);

const char *http_ask(struct http_world *f, const char *text);

int http_status_of(const char *answer);

#define HTTP_CLOSE "Connection: close\r\n\r\n"

#define HTTP_HOST "Host: localhost\r\n"

#define HTTP_TEST(f) cmocka_unit_test_setup_teardown(f, http_world_set_up, http_world_tear_down)

#endif

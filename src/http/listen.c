/* What is listened to. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/decimal.h"
#include "http/http_impl.h"

#define BACKLOG 64

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int bad(const char *listen_to, struct fis_error *e)
{
    return fis_fail(e, FIS_INPUT,
                    "http.listen: found \"%s\", allowed an IP address or localhost, and a port: "
                    "127.0.0.1:9464, [::1]:9464, localhost:9464",
                    listen_to);
}

static int parse(const char *listen_to, union address *a, struct fis_error *e)
{
    char host[HTTP_ADDRESS];
    const char *colon = strrchr(listen_to, ':');
    uint64_t port;
    memset(a, 0, sizeof *a);
    if (!colon || (size_t)(colon - listen_to) >= sizeof host ||
        decimal_whole(colon + 1, strlen(colon + 1), 65535, &port))
        return bad(listen_to, e);
    size_t n = (size_t)(colon - listen_to);
    memcpy(host, listen_to, n);
    host[n] = 0;
    if (strcmp(host, "localhost") == 0)
        strcpy(host, "127.0.0.1");
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = 0;
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &a->v6.sin6_addr) == 1 ? 0 : bad(listen_to, e);
    }
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &a->v4.sin_addr) == 1 ? 0 : bad(listen_to, e);
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static void next_port(union address *a)
{
    in_port_t *p = a->any.sa_family == AF_INET6 ? &a->v6.sin6_port : &a->v4.sin_port;
    *p = htons((uint16_t)(ntohs(*p) + 1));
}

static int listen_on(const union address *a)
{
    int on = 1, fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    socklen_t size = a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
    if (bind(fd, &a->any, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void name_address(int fd, char out[HTTP_ADDRESS])
{
    union address a;
    char host[INET6_ADDRSTRLEN] = "?";
    socklen_t size = sizeof a;
    memset(&a, 0, sizeof a);
    getsockname(fd, &a.any, &size);
    if (a.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host);
        snprintf(out, HTTP_ADDRESS, "[%s]:%u", host, ntohs(a.v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host);
        snprintf(out, HTTP_ADDRESS, "%s:%u", host, ntohs(a.v4.sin_port));
    }
}

int http_listen(const struct http_options *o, int *fd, char address[HTTP_ADDRESS], bool *loopback,
                struct fis_error *e)
{
    union address a;
    int rc = parse(o->listen, &a, e), got = -1;
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; got < 0; i++) {
        got = listen_on(&a);
        if (got < 0 && (errno != EADDRINUSE || i + 1 >= o->tries))
            return fis_fail(
                e, FIS_INPUT, "http.listen: %s: %s%s%s", o->listen, strerror(errno),
                o->tries > 1 ? ", and so are the ports after it" : "",
                errno == EADDRINUSE ? "; end the process that has it, or set another port" : "");
        next_port(&a);
    }
    name_address(got, address);
    *loopback = is_loopback(&a);
    *fd = got;
    return 0;
}

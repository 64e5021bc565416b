#include "daemon/runtime/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* Fed this many times within the time that systemd waits. */
#define FEEDS 4

void notify_init(struct notify *n)
{
    uint64_t wait_us = 0;
    const char *socket = getenv("NOTIFY_SOCKET");
    *n = (struct notify){.on = socket && *socket};
    if (n->on && sd_watchdog_enabled(0, &wait_us) > 0)
        n->feed_ns = wait_us * 1000 / FEEDS;
}

/* sd_notify(3), which would wait for a manager that does not read: whether it was sent. */
static bool send_text(const struct notify *n, const char *text)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = n->on && path ? strlen(path) : 0;
    if (length == 0 || length >= sizeof to.sun_path)
        return false;
    memcpy(to.sun_path, path, length);
    if (path[0] == '@')
        to.sun_path[0] = 0;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t sent = fd < 0 ? -1
                          : sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                                   (const struct sockaddr *)&to, size);
    if (fd >= 0)
        close(fd);
    return sent >= 0;
}

void notify_ready(struct notify *n)
{
    if (!n->ready)
        n->ready = send_text(n, "READY=1");
}

void notify_alive(struct notify *n, uint64_t now_ns)
{
    if (!n->feed_ns || now_ns - n->fed_ns < n->feed_ns)
        return;
    if (send_text(n, "WATCHDOG=1"))
        n->fed_ns = now_ns;
}

void notify_status(struct notify *n, const char *text)
{
    char line[sizeof n->sent + sizeof "STATUS="];
    if (!n->on || !strncmp(n->sent, text, sizeof n->sent - 1))
        return;
    snprintf(line, sizeof line, "STATUS=%.*s", (int)sizeof n->sent - 1, text);
    if (send_text(n, line))
        snprintf(n->sent, sizeof n->sent, "%s", text);
}

void notify_reloading(struct notify *n, uint64_t now_ns)
{
    char text[80];
    /* systemd asks for the monotonic clock's microseconds, so that it can tell this reload from
     * an earlier one. */
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(now_ns / 1000));
    send_text(n, text);
}

void notify_reloaded(struct notify *n)
{
    n->ready = send_text(n, "READY=1");
}

void notify_stopping(struct notify *n)
{
    send_text(n, "STOPPING=1");
}

#include "daemon/runtime/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

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

/* A manager that does not listen is nothing to stop for. */
static void send_text(const struct notify *n, const char *text)
{
    if (n->on)
        (void)sd_notify(0, text);
}

void notify_ready(struct notify *n)
{
    if (n->ready)
        return;
    n->ready = true;
    send_text(n, "READY=1");
}

void notify_alive(struct notify *n, uint64_t now_ns)
{
    if (!n->feed_ns || now_ns - n->fed_ns < n->feed_ns)
        return;
    n->fed_ns = now_ns;
    send_text(n, "WATCHDOG=1");
}

void notify_status(struct notify *n, const char *text)
{
    char line[sizeof n->said + sizeof "STATUS="];
    if (!n->on || !strncmp(n->said, text, sizeof n->said - 1))
        return;
    snprintf(n->said, sizeof n->said, "%s", text);
    snprintf(line, sizeof line, "STATUS=%s", n->said);
    send_text(n, line);
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
    send_text(n, "READY=1");
}

void notify_stopping(struct notify *n)
{
    send_text(n, "STOPPING=1");
}

/*
 * What fisd tells systemd (sd_notify(3)): that it is ready, what it is doing, that it reloads, that
 * it stops, and that its loop turns. Without systemd ($NOTIFY_SOCKET is not set) nothing happens.
 * Nothing waits for a manager that does not read: readiness, status and watchdog are sent later.
 *
 * The watchdog is fed by notify_alive, which the loop's tick calls and nothing else: a job on a
 * worker may take as long as it likes, a loop that does not turn is noticed.
 *
 * Thread: the loop.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
    bool on, ready;
    uint64_t feed_ns, fed_ns; /* how often the watchdog is fed, 0: there is none; and when it was */
    char sent[256];           /* the status line that was sent last */
};

/* Reads the environment. */
void notify_init(struct notify *n);
void notify_ready(struct notify *n); /* once: later calls do nothing */
void notify_alive(struct notify *n, uint64_t now_ns);
/* A line for `systemctl status`; sent when it has changed. */
void notify_status(struct notify *n, const char *text);
/* Around a reload of the configuration. */
void notify_reloading(struct notify *n, uint64_t now_ns);
void notify_reloaded(struct notify *n);
void notify_stopping(struct notify *n);

#endif

/*
 * What makes a running fisd visible: the HTTP server, and what is remembered for it (versions,
 * throughput, librdkafka's statistics, commands that were given). Everything it shows it takes from
 * struct status.
 *
 * Listens from the very start, so that /healthz answers while a broker is waited for. A port that
 * is taken, or a token or certificate that cannot be used, is an error of the start; with
 * http.listen: auto the next free port is taken, and having none is a warning.
 *
 * Thread: the loop.
 */
#ifndef DAEMON_MONITOR_H
#define DAEMON_MONITOR_H

#include "daemon/runtime/runtime.h"
#include "daemon/monitor/status.h"

struct monitor;
int monitor_open(struct monitor **out, struct runtime *rt, struct fis_error *e) FIS_MUST_CHECK;
void monitor_stop(
    struct monitor *m); /* stops listening; the loop must run once more. NULL is fine */
void monitor_close(struct monitor *m); /* workers have ended, the loop too. NULL is fine */

void monitor_turn(struct monitor *m);
void monitor_tick(struct monitor *m);   /* once a second */
bool monitor_reload(struct monitor *m); /* reads the token again; true when it is another one now */

/* What others tell it; NULL is fine. */
void monitor_kafka_trouble(struct monitor *m, const char *text);
void monitor_model(void *monitor, const struct wire_model *v);
void monitor_state(void *monitor, const struct wire_trainer_state *s);
void monitor_stats(void *monitor, const char *client, const char *json, size_t length);
/* How old the validation rows in force are: the time of the newest, on the wall clock. */
void monitor_validation(struct monitor *m, int64_t newest_ms);
/* Names of the groups of the validation rows in force; copied only where they may be shown. */
void monitor_groups(struct monitor *m, const char *const *names, uint32_t n);
/* Those of rows that will be in force later: when they are others, groups go without names from now
 * on, since a version is not to be shown with the wrong ones. */
void monitor_other_groups(struct monitor *m, const char *const *names, uint32_t n);

#endif

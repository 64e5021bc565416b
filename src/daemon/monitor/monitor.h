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

#include "daemon/context/context.h"
#include "daemon/monitor/status.h"

struct monitor;
/* It becomes the context's observer. */
int monitor_open(struct monitor **out, struct context *ctx, struct fis_error *e) FIS_MUST_CHECK;
/* The roles have begun; NULL: not a role of this process. */
struct label_host;
void monitor_roles(struct monitor *m, struct scorer_host *scorer, struct trainer_host *trainer,
                   struct label_host *labels);
void monitor_stop(
    struct monitor *m); /* stops listening; the loop must run once more. NULL is fine */
void monitor_close(struct monitor *m); /* workers have ended, the loop too. NULL is fine */

void monitor_turn(struct monitor *m);
void monitor_tick(struct monitor *m);   /* once a second */
bool monitor_reload(struct monitor *m); /* reads the token again; true when it has changed */

#endif

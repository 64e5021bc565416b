/*
 * The dashboard's files, built in. They hold no data: what the page shows it reads from /api/v1, so
 * they may be had by anyone.
 *
 * Routes: GET "/" and, below, "/dashboard/". Thread: the loop. Owns: nothing.
 */
#ifndef DAEMON_DASHBOARD_H
#define DAEMON_DASHBOARD_H

#include "http/http.h"

#define DASHBOARD_BELOW "/dashboard/"

/* A http_handler_fn for both routes; ctx is not used. */
void dashboard_serve(void *ctx, const struct http_request *r, struct http_reply *out);

#endif

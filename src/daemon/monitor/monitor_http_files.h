/*
 * The files of http: token, certificate and its key, annotators. They are read before a start, by
 * --check-config too, so that a mistake has its place in the configuration; again by the server;
 * and the token again with each reload.
 */
#ifndef DAEMON_MONITOR_HTTP_FILES_H
#define DAEMON_MONITOR_HTTP_FILES_H

#include "config/config.h"
#include "daemon/monitor/annotators.h"

struct http_files {
    char *token, *cert, *key; /* NULL: not configured */
};
/* INPUT: "KEY: found …, allowed …"; nothing of what is in a file is in it. */
int http_files_read(const struct config_http *h, struct http_files *out,
                    struct fis_error *e) FIS_MUST_CHECK;
int http_files_token(const struct config_http *h, char **token, struct fis_error *e) FIS_MUST_CHECK;
/* labels.annotators, parsed; none are configured: an empty list. */
int http_files_annotators(const struct config *cfg, struct annotators *out,
                          struct fis_error *e) FIS_MUST_CHECK;
void http_files_done(struct http_files *f);

/* A config_look_fn: refuses what the server could not use. */
void http_files_look(const struct config *cfg, config_refuse_fn *refuse, void *ctx);

#endif

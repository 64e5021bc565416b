/*
 * One delivery of the webhook: the body, its signature, and the request.
 *
 * POST, application/json. Headers: X-Fisd-Delivery "<pipeline>/<version>", the same at each
 * attempt; with webhook.secret X-Fisd-Signature "sha256=<hex>", HMAC-SHA256 of the body. Redirects
 * are not followed. TLS certificates and names are verified.
 *
 * Thread: one owner. Owns: the connection.
 */
#ifndef DAEMON_WEBHOOK_POST_H
#define DAEMON_WEBHOOK_POST_H

#include "config/config.h"
#include "wire/types.h"

/* The body of a version; the caller's to free(). NULL: no memory. */
char *webhook_body(const struct wire_model *m);

struct webhook_post;
/* INPUT: libcurl cannot be used, or refuses the URL. `stopped` is asked once a second at least
 * while a request runs, and breaks it off. */
int webhook_post_open(struct webhook_post **out, const struct config *cfg,
                      bool (*stopped)(void *arg), void *arg, struct fis_error *e) FIS_MUST_CHECK;
void webhook_post_close(struct webhook_post *p);
/* Waits. RETRY: it was not delivered, and why; nothing of the URL but its host is in the text. */
int webhook_post_send(struct webhook_post *p, uint64_t version, const char *body,
                      struct fis_error *e) FIS_MUST_CHECK;
const char *webhook_post_host(const struct webhook_post *p);

#endif

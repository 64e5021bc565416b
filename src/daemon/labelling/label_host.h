/*
 * The label queue (role/label_queue.h) bound to Kafka: label requests, then labels, are read from
 * their beginnings, without a group, so every process that serves the page sees all of them;
 * answers go to the labels topic. What is read later is taken as it comes.
 *
 * Until both topics were read to the ends that they had, nobody can be shown anything: it would be
 * answered already.
 *
 * Thread: the loop. Owns: its clients and the queue.
 */
#ifndef DAEMON_LABEL_HOST_H
#define DAEMON_LABEL_HOST_H

#include "daemon/context/context.h"
#include "role/label_queue.h"
#include "wire/request_shown.h"

struct label_host;
int label_host_open(struct label_host **out, struct context *ctx,
                    struct fis_error *e) FIS_MUST_CHECK;
bool label_host_turn(struct label_host *h); /* true: there is more to do at once */
/* What is held is sent at once; stopped when Kafka has it all. */
void label_host_stop(struct label_host *h);
bool label_host_stopped(const struct label_host *h);
void label_host_close(struct label_host *h, int timeout_ms); /* blocks; NULL is fine */

struct label_queue *label_host_queue(struct label_host *h);
/* NULL: it can be asked; else what it waits for. */
const char *label_host_waits(const struct label_host *h);
/* The request behind a task, to be shown. INPUT: it cannot be. */
int label_host_show(const struct label_host *h, const struct label_task *t,
                    struct wire_request_shown *out, struct fis_error *e) FIS_MUST_CHECK;
/* A label as a person sends it, in the JSON of the labels topic; the id is needed. */
int label_host_read(struct label_host *h, const void *body, size_t length, struct wire_label *out,
                    struct fis_error *e) FIS_MUST_CHECK;
/* Takes labels.lease and labels.undo as they are now. */
void label_host_adjust(struct label_host *h);

#endif

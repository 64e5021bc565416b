/*
 * A schema registry, by Confluent's HTTP interface: GET /schemas/ids/ID, with
 * /subjects/NAME/versions/N for each schema that one refers to.
 *
 * Errors: INPUT is final: the registry has no such id, or the schema is not supported; all else
 * (not reached, a certificate that does not verify, a status that is no answer, malformed JSON) is
 * RETRY, so that records wait for a registry that is down, and are not refused.
 *
 * Thread: one at a time. Owns: the connection.
 */
#ifndef REGISTRY_REGISTRY_H
#define REGISTRY_REGISTRY_H

#include "wire/format.h"

struct registry_options {
    const char *url;
    const char *ca_file;           /* NULL: the system's certificates */
    const char *certificate, *key; /* files in PEM, or NULL */
    const char *user, *password;   /* or NULL */
    uint32_t timeout_ms;           /* of a request */
    bool (*stopped)(void *arg);    /* breaks off a request; asked by its thread */
    void *arg;
};

struct registry;
/* INPUT: libcurl cannot be used, or refuses the options. They must live as long as it does. The
 * first call is to be made while there is one thread. */
int registry_open(struct registry **out, const struct registry_options *o,
                  struct fis_error *e) FIS_MUST_CHECK;
void registry_close(struct registry *r); /* NULL is fine */
/* Waits. The schema with this id, compiled. */
int registry_fetch(struct registry *r, uint32_t id, struct wire_format **out,
                   struct fis_error *e) FIS_MUST_CHECK;
/* Waits. The newest version and its id. INPUT: no such subject. */
int registry_subject(struct registry *r, const char *subject, uint32_t *version, uint32_t *id,
                     struct fis_error *e) FIS_MUST_CHECK;
const char *registry_host(const struct registry *r);

#endif

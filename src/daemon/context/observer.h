/*
 * What hosts report for others to see: the monitor fills the struct in, and hosts call the
 * functions, which do nothing where nobody observes. Thread: the loop's.
 */
#ifndef DAEMON_OBSERVER_H
#define DAEMON_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

#include "wire/types.h"

struct observer {
    void (*model)(void *arg, const struct wire_model *v);         /* of the models topic */
    void (*state)(void *arg, const struct wire_trainer_state *s); /* of the ledger */
    /* What this trainer sends; and that all of it so far is committed, or never will be. */
    void (*sent_model)(void *arg, const struct wire_model *v);
    void (*sent_state)(void *arg, const struct wire_trainer_state *s);
    void (*sent_over)(void *arg, bool committed);
    void (*stats)(void *arg, const char *client, const char *json,
                  size_t length);                 /* librdkafka's */
    void (*trouble)(void *arg, const char *text); /* a transient error of Kafka */
    /* How old the validation rows in force are: the time of the newest, on the wall clock. */
    void (*validation)(void *arg, int64_t newest_ms);
    /* Names of the groups of the validation rows in force. */
    void (*groups)(void *arg, const char *const *names, uint32_t n);
    /* Those of rows that will be in force later. */
    void (*next_groups)(void *arg, const char *const *names, uint32_t n);
    void *arg;
};

void observe_model(const struct observer *o, const struct wire_model *v);
void observe_state(const struct observer *o, const struct wire_trainer_state *s);
void observe_sent_model(const struct observer *o, const struct wire_model *v);
void observe_sent_state(const struct observer *o, const struct wire_trainer_state *s);
void observe_sent_over(const struct observer *o, bool committed);
void observe_trouble(const struct observer *o, const char *text);
void observe_validation(const struct observer *o, int64_t newest_ms);
void observe_groups(const struct observer *o, const char *const *names, uint32_t n);
void observe_next_groups(const struct observer *o, const char *const *names, uint32_t n);

#endif

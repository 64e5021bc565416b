/*
 * The validation topic, followed for a role at work: what changed on it is in force from the next
 * round on. A set that cannot be used changes nothing, and is said. Thread: the loop.
 */
#ifndef DAEMON_TRAINER_VALIDATION_H
#define DAEMON_TRAINER_VALIDATION_H

#include "daemon/trainer/example_topic.h"
#include "daemon/context/observer.h"

int trainer_validation_follow(struct example_topic *t, const struct fis_encoder *encoder,
                              struct trainer_role *role, const struct observer *observer,
                              struct fis_error *e) FIS_MUST_CHECK;

#endif

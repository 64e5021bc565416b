/*
 * Dead letters: the original key and value, unchanged (a null value stays null), with where they
 * came from and why in Kafka headers: fis.error.topic, fis.error.partition, fis.error.offset,
 * fis.error.reason.
 */
#ifndef DAEMON_DEAD_LETTER_H
#define DAEMON_DEAD_LETTER_H

#include "stream/producer.h"
#include "wire/types.h"

int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const char *reason, uint64_t token, struct fis_error *e) FIS_MUST_CHECK;

#endif

/*
 * Dead letters: the original key and value, unchanged (a null value stays null), with where they
 * came from and why in Kafka headers: fis.error.topic, fis.error.partition, fis.error.offset,
 * fis.error.reason. What is longer than the topic takes is cut, the value first, and
 * fis.error.length then has the original length of the value (and fis.error.key_length that of the
 * key, when it was cut too): a message that no topic takes must not stop what follows it.
 */
#ifndef DAEMON_DEAD_LETTER_H
#define DAEMON_DEAD_LETTER_H

#include "stream/producer.h"
#include "wire/types.h"

/* limit: max.message.bytes of the topic; 0: none. */
int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const char *reason, size_t limit, uint64_t token,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif

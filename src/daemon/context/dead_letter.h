/*
 * Dead letters: the original key and value, unchanged (a null value stays null), with where they
 * came from and why in Kafka headers: fis.error.topic, fis.error.partition, fis.error.offset,
 * fis.error.reason (a text), fis.error.code (one of few words). What is longer than the topic takes
 * is cut, the value first, and fis.error.length then has the original length of the value (and
 * fis.error.key_length that of the key, when it was cut too): a message that no topic takes must
 * not stop what follows it.
 */
#ifndef DAEMON_DEAD_LETTER_H
#define DAEMON_DEAD_LETTER_H

#include <stdbool.h>
#include <stdio.h>

#include "stream/producer.h"
#include "wire/types.h"

/* limit: max.message.bytes of the topic; 0: none. */
int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const struct fis_error *why, size_t limit, uint64_t token,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Topics whose messages are refused. */
enum dead_letter_from {
    DEAD_RECORDS = 1 << 0,
    DEAD_LABELS = 1 << 1,
    DEAD_CANDIDATES = 1 << 2,
    DEAD_CONTROL = 1 << 3
};
struct dead_counts {
    uint64_t n[FIS_ERROR_CODES];
};
uint64_t dead_counts_sum(const struct dead_counts *c);
/* Whether a message of that topic can be refused with this code. */
bool dead_letter_possible(enum dead_letter_from from, enum fis_error_code code);
/* What each code means and what to do, a table in Markdown. */
void dead_letter_write_markdown(FILE *out);

#endif

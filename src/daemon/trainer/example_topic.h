/*
 * Labelled examples on a topic: the initial set, read to its end once; the validation set, followed
 * for as long as the trainer runs (a null value takes an example away).
 *
 * Messages are kept as they came, the newest of each id, and turned into rows on demand: the
 * encoder is only there once the initial set has been read. A message that cannot be read is
 * logged; its value goes nowhere, since it may hold sensitive attributes.
 * Thread: the loop. Owns: copies of messages.
 */
#ifndef DAEMON_EXAMPLE_TOPIC_H
#define DAEMON_EXAMPLE_TOPIC_H

#include "daemon/trainer/kafka_reader.h"
#include "data/examples.h"

struct example_topic;
/* session: learns the place of every message that was read (session_moved); NULL: nobody does. */
int example_topic_open(struct example_topic **out, struct context *ctx, const char *topic,
                       const struct wire_schema *schema, int with_sensitive,
                       struct session *session, struct fis_error *e) FIS_MUST_CHECK;
void example_topic_close(struct example_topic *t); /* NULL is fine */

/* Reads what is there. True when something changed. Negative errors are FATAL ones. */
int example_topic_turn(struct example_topic *t, bool *changed, struct fis_error *e) FIS_MUST_CHECK;
const char *example_topic_waits(const struct example_topic *t); /* see kafka_reader_waits */
bool example_topic_complete(const struct example_topic *t);     /* the end has been reached once */
uint32_t example_topic_count(const struct example_topic *t);
int64_t example_topic_newest(const struct example_topic *t); /* its timestamp; 0: there is none */

struct fis_encoder *example_topic_fit(struct example_topic *t, uint32_t max_categories,
                                      struct fis_error *e) FIS_MUST_CHECK;
/* Rows in the order of their ids. Ended with data_examples_done. */
int example_topic_build(struct example_topic *t, const struct fis_encoder *encoder,
                        struct data_examples *out, struct fis_error *e) FIS_MUST_CHECK;

#endif

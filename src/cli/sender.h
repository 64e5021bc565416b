/*
 * Sending messages and knowing what arrived.
 * Thread: one owner. Owns: the producer.
 */
#ifndef CLI_SENDER_H
#define CLI_SENDER_H

#include "cli/cli.h"
#include "stream/producer.h"

struct sender {
    struct cli *cli;
    struct stream_producer *producer;
    bool late;                       /* what was flushed did not arrive in time */
    uint64_t sent, arrived, refused; /* refused: reported as not delivered */
    struct fis_error first;          /* of the first one refused */
    struct fis_error trouble;        /* the newest general one, class FIS_OK when none */
};

int sender_open(struct sender *s, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
/* Waits while the queue is full. RETRY: the broker takes nothing, or it is time to stop; the
 * message was not sent. */
int sender_send(struct sender *s, const char *topic, const void *key, size_t key_length,
                const void *value, size_t value_length, struct fis_error *e) FIS_MUST_CHECK;
/* Takes the reports that are there. */
void sender_poll(struct sender *s);
/* Waits until all is reported: for cli_answer_ms where a broker has answered, else, and after an
 * interrupt or an earlier failure, for 10 s. Negative when not everything arrived. */
int sender_flush(struct sender *s, struct fis_error *e) FIS_MUST_CHECK;
/* Waits so, and closes. Negative with the reason when
 * not everything arrived. Closed already: 0. */
int sender_close(struct sender *s, struct fis_error *e) FIS_MUST_CHECK;

#endif

/*
 * The initial and the validation rows of a session, from files or topics. Files are read in one go,
 * which holds up the loop; topics turn by turn, and the validation topic is followed.
 *
 * Thread: the loop. Owns: the rows, until the role has them; the topics.
 */
#ifndef DAEMON_TRAINER_ROWS_H
#define DAEMON_TRAINER_ROWS_H

#include "daemon/trainer/example_topic.h"
#include "session/session.h"

struct trainer_rows {
    struct context *ctx;
    struct example_topic *initial_topic, *validation_topic;
    struct data_examples initial, validation;
    bool read; /* the validation rows were returned once */
    bool used; /* and taken */
};

/* Reads the files once, and keeps nothing: one that says it can lead has been able to. */
int trainer_rows_check(const struct pipeline *p, struct fis_error *e) FIS_MUST_CHECK;

/* As the ports of these names. */
int trainer_rows_initial(struct trainer_rows *r, struct fis_encoder **encoder,
                         struct session_rows *out, struct fis_error *e) FIS_MUST_CHECK;
int trainer_rows_validation(struct trainer_rows *r, const struct fis_encoder *encoder,
                            struct session *session, struct session_rows *out,
                            struct fis_error *e) FIS_MUST_CHECK;
/* The role has them: reports their groups and their age. */
void trainer_rows_validated(struct trainer_rows *r);
void trainer_rows_started(struct trainer_rows *r); /* the initial rows are not needed any more */
void trainer_rows_done(struct trainer_rows *r);    /* blocks where a topic is open */

#endif

/*
 * The initial and the validation rows of a session, from files or topics. Files are read in one go,
 * which holds up the loop; topics turn by turn, and the validation topic is followed.
 *
 * Thread: the loop. Owns: the rows, until the role has them; the topics.
 */
#ifndef DAEMON_TRAINER_ROWS_H
#define DAEMON_TRAINER_ROWS_H

#include "daemon/trainer/example_topic.h"
#include "daemon/trainer/trainer_status.h"
#include "session/session.h"

struct trainer_rows {
    struct context *ctx;
    struct example_topic *initial_topic, *validation_topic;
    struct data_examples initial, validation;
    bool read; /* the validation rows were returned once */
    bool used; /* and taken */
    struct trainer_unseen unseen[TRAINER_UNSEEN];
    uint32_t n_unseen;
    uint64_t left_out; /* validation rows */
    double majority;   /* of validation rows, the share of the most frequent class */
};

/* Reads the files once, and keeps nothing. Calls `note` for all that is wrong in them, with the
 * option that names the file; what is no fault is a warning. */
typedef void trainer_rows_note_fn(void *ctx, const char *key, bool fault, const char *text);
void trainer_rows_look(const struct pipeline *p, trainer_rows_note_fn *note, void *ctx);

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

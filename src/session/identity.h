/*
 * Whose memory a session may follow: the facts that make the versions of a pipeline comparable, and
 * what differs between two lists of them. A fact that one of both does not have is no difference:
 * it was written by another version of the program.
 *
 * Thread: one owner at a time. Owns: its texts.
 */
#ifndef SESSION_IDENTITY_H
#define SESSION_IDENTITY_H

#include <stdbool.h>

#include "fis/encoder.h"
#include "fis/network.h"
#include "wire/types.h"

#define IDENTITY_FACTS 10

/* Where the facts come from; what is NULL or 0 is not known, and no fact. */
struct identity_source {
    const char *pipeline, *network, *base, *positive, *metric, *algorithm;
    const struct fis_column *columns;
    const char *const *classes, *const *sensitive;
    const uint32_t *hidden;
    uint32_t n_columns, n_classes, n_sensitive, n_hidden;
};

struct identity {
    struct wire_fact facts[IDENTITY_FACTS];
    uint32_t n;
    struct wire_change *changes;
    uint32_t n_changes;
    struct byte_buffer text, change_text;
};

/* The first fact is the pipeline's name. NOMEM. */
int identity_init(struct identity *id, const struct identity_source *from,
                  struct fis_error *e) FIS_MUST_CHECK;
void identity_done(struct identity *id); /* all-zero is fine */

/* 0: nothing differs, or all that does may be changed and `accept` (NULL: none) is the code of this
 * change. FATAL: another pipeline, or a fact of it differs; the text names both, and has the
 * code when it may be changed. `where`: the topic. */
int identity_compare(const struct identity *id, const struct wire_fact *theirs, uint32_t n_theirs,
                     const char *accept, const char *where, struct fis_error *e) FIS_MUST_CHECK;

/* Goes on from theirs: their changes, and one for each fact that differs, from `version` on. */
int identity_take_over(struct identity *id, const struct wire_identity *theirs, uint64_t version,
                       struct fis_error *e) FIS_MUST_CHECK;
struct wire_identity identity_view(const struct identity *id); /* until the next call or done */

#endif

/*
 * The people who may use the labelling page, and their tokens: labels.annotators, a file with a
 * name and a token on each line. One name may have several tokens; a token has one name.
 *
 * Tokens are compared in a time that does not depend on where they differ, and are in no message.
 *
 * Thread: one owner. Owns: names and tokens, overwritten when they are freed.
 */
#ifndef DAEMON_MONITOR_ANNOTATORS_H
#define DAEMON_MONITOR_ANNOTATORS_H

#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

struct annotator {
    const char *name, *token; /* in the text of the file */
};
struct annotators { /* all-zero: none are configured */
    char *text;     /* as read, with ends of names and tokens made NUL */
    size_t length;
    struct annotator *all;
    uint32_t n;
};

/* Takes `text` (NUL-terminated), also when it fails. INPUT: "found …, allowed …", with the line and
 * without what is on it. */
int annotators_parse(struct annotators *a, char *take_text, struct fis_error *e) FIS_MUST_CHECK;
void annotators_done(struct annotators *a);
/* The name that a bearer token stands for; NULL: nobody's. */
const char *annotators_find(const struct annotators *a, const char *token);

#endif

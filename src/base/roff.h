/*
 * Manual pages: text for man(7). What is written here cannot be taken for a request of roff.
 * Thread: safe, on streams of one's own.
 */
#ifndef BASE_ROFF_H
#define BASE_ROFF_H

#include <stdio.h>

/* ".TH"; `name` in lower case. Then NAME: `what` in a line. */
void roff_begin(FILE *out, const char *name, int section, const char *what);
void roff_section(FILE *out, const char *title);
void roff_subsection(FILE *out, const char *title);

/* Running text: line breaks are spaces, an empty line begins a new paragraph. A paragraph that is
 * laid out with spaces (two in a row) stays as it is. */
void roff_text(FILE *out, const char *text);
/* The same without a break after it, for a part of a line. */
void roff_words(FILE *out, const char *text);

/* The title of an item, "-c, --config FILE": `argument` may be NULL and is set apart. What comes
 * next is its text. */
void roff_item(FILE *out, const char *title, const char *argument);

/* A section of `n` items with their texts. */
struct roff_entry {
    const char *title, *text;
};
void roff_entries(FILE *out, const char *title, const struct roff_entry *all, size_t n);

/* An option in the form of a title: "-c, --config" or "--config". */
void roff_option(FILE *out, char letter, const char *name, const char *argument);

#endif

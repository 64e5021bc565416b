/*
 * What a person may type when asked for a label. Pure.
 *
 * Classes are numbered from 1, unless a class is itself named by a number: then "1" would be
 * ambiguous, and only names are taken. The keys s, u, q become :s, :u, :q when a class is so
 * named. Names are taken exactly, spaces around them aside.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ask_answer { ASK_AGAIN = 0, ASK_CLASS, ASK_SKIP, ASK_UNSURE, ASK_QUIT };

struct ask {
    const char *const *classes;
    uint32_t n_classes;
    bool numbered;
    const char *prefix; /* of the keys: "" or ":" */
};

void ask_init(struct ask *a, const char *const *classes, uint32_t n_classes);
/* The line of choices: "1) no   2) yes   s) skip   u) unsure   q) quit", with its line break. */
void ask_print(const struct ask *a, FILE *out);
/* `class_index` is written for ASK_CLASS. */
enum ask_answer ask_read(const struct ask *a, const char *line, uint32_t *class_index);

#endif

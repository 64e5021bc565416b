/* Reads the text files of tests/golden: entries "name count" followed by count numbers. */
#ifndef TESTS_KIT_CORE_GOLDEN_FILE_H
#define TESTS_KIT_CORE_GOLDEN_FILE_H

#include <stdint.h>

#define GOLDEN_ENTRIES 1024

struct golden {
    uint32_t n;
    struct golden_entry {
        char name[40];
        uint32_t count;
        double *v;
    } entry[GOLDEN_ENTRIES];
};

void golden_free(struct golden *g);

/* NULL (and says why) when the file is missing or not as it should be. */
struct golden *golden_read(const char *path);

/* The entry `name` from entry `from` on; NULL when there is none. */
const struct golden_entry *golden_find(const struct golden *g, uint32_t from, const char *name);

#endif

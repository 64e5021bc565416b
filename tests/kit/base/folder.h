/* Files in a folder of the test's own, which is removed at the end. */
#ifndef TESTS_KIT_BASE_FOLDER_H
#define TESTS_KIT_BASE_FOLDER_H

#include <stddef.h>

/* What make_folder made. */
extern char folder[];

const char *put(const char *name, const char *text);

int make_folder(void);

/* The tests name their files here. */
int remove_folder(const char *const *names, size_t n);

#endif

/* Files for the tests of src/data, in a folder of their own that is removed at the end. */
#ifndef TESTS_DATA_FILE_H
#define TESTS_DATA_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/fis-data-XXXXXX";

/* Writes folder/name; the path lives until the next call. */
static inline const char *put_bytes(const char *name, const void *bytes, size_t length)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, length, f) != length || fclose(f))
        abort();
    return path;
}

static inline const char *put(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

static inline int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

/* The tests name their files here. */
static inline int remove_folder(const char *const *names, size_t n)
{
    char path[256];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

#endif

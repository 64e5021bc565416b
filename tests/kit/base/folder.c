#include "kit/base/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder[] = "/tmp/fis-data-XXXXXX";

/* Writes folder/name; the path lives until the next call. */
static const char *put_bytes(const char *name, const void *bytes, size_t length)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, length, f) != length || fclose(f))
        abort();
    return path;
}

const char *put(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

int remove_folder(const char *const *names, size_t n)
{
    char path[256];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

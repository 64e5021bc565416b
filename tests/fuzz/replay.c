/*
 * Runs a target over files: every file of the folders given. No input at all is a failure. Each
 * input lies in memory of exactly its length, so that the address sanitizer sees a read past it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common.h"

static int verbose;

static void run(const char *path, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    FILE *in = fopen(path, "rb");
    if (!bytes || !in || fread(bytes, 1, size, in) != size)
        FUZZ_FAIL("%s: cannot be read", path);
    fclose(in);
    if (verbose)
        fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
}

static unsigned run_folder(const char *folder)
{
    struct dirent **entries;
    unsigned count = 0;
    int n = scandir(folder, &entries, NULL, alphasort);
    if (n < 0)
        FUZZ_FAIL("%s: cannot be read", folder);
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat s;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (stat(path, &s) == 0 && S_ISREG(s.st_mode)) {
            run(path, (size_t)s.st_size);
            count++;
        }
        free(entries[i]);
    }
    free(entries);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    verbose = getenv("V") && strcmp(getenv("V"), "1") == 0;
    for (int i = 1; i < argc; i++)
        count += run_folder(argv[i]);
    if (!count) {
        fprintf(stderr, "usage: %s FOLDER...  (V=1: names each file); there was no input\n",
                argv[0]);
        return 1;
    }
    printf("%u inputs: no finding\n", count);
    return 0;
}

/* Writes the seeds of the corpus into the folder given: make fuzz-seeds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "seeds.h"

static const char *folder;

void seed_write(const char *target, const char *name, const void *bytes, size_t length)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/seed-%s", folder, target, name);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, length, out) != length || fclose(out)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 1;
    }
    folder = argv[1];
    seeds_text();
    seeds_config();
    seeds_protobuf();
    seeds_stored();
    seeds_http();
    seeds_format();
    return 0;
}

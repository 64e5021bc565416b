#include "daemon/runtime/example_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void look_at(const char *key, const char *path, config_refuse_fn *refuse, void *ctx)
{
    char text[FIS_ERROR_TEXT];
    struct stat s;
    const char *trouble = stat(path, &s) || access(path, R_OK) ? strerror(errno)
                          : S_ISDIR(s.st_mode)                 ? "a directory"
                                                               : NULL;
    if (!trouble)
        return;
    snprintf(text, sizeof text, "found the file '%.200s' (%s), allowed a file that can be read",
             path, trouble);
    refuse(ctx, key, text);
}

void example_files_look(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    if (!(cfg->roles & CONFIG_TRAINER))
        return;
    if (cfg->initial.source == CONFIG_FILE)
        look_at("initial.file", cfg->initial.file, refuse, ctx);
    if (cfg->validation.source == CONFIG_FILE)
        look_at("validation.file", cfg->validation.file, refuse, ctx);
}

#include "daemon/runtime/example_files.h"

#include <stdio.h>

#include "daemon/trainer/trainer_rows.h"

struct look {
    config_refuse_fn *refuse;
    void *ctx;
    bool warn;
};

static void note(void *look, const char *key, bool fault, const char *text)
{
    const struct look *l = look;
    char found[FIS_ERROR_TEXT + 8];
    snprintf(found, sizeof found, "found %s", text);
    if (fault)
        l->refuse(l->ctx, key, found);
    else if (l->warn)
        fprintf(stderr, "fisd: warning: %s\n", text);
}

void example_files_look(const struct config *cfg, bool warn, config_refuse_fn *refuse, void *ctx)
{
    struct look l = {.refuse = refuse, .ctx = ctx, .warn = warn};
    struct pipeline p;
    struct fis_error e;
    if (!(cfg->roles & CONFIG_TRAINER))
        return;
    if (pipeline_init(&p, cfg, &e) < 0)
        note(&l, "columns", true, e.text);
    else
        trainer_rows_look(&p, note, &l);
    pipeline_done(&p);
}

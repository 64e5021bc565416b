#include "lab/predictions.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lab/result.h"

static void put_number(FILE *f, const char *name, double v)
{
    if (isfinite(v))
        fprintf(f, ",\"%s\":%.17g", name, v);
    else
        fprintf(f, ",\"%s\":null", name);
}

/* Names need no escapes in JSON: tasks and methods that were found, and "/" is no file's. */
static void put_head(FILE *f, const struct lab_run *r, const struct fis_metrics *now)
{
    fprintf(f, "# {\"task\":\"%s\",\"method\":\"%s\",\"metric\":\"%s\",\"seed\":%llu",
            r->split->task->spec->fetched ? r->split->task->spec->name : "csv", r->method->name,
            lab_metric_short(r->o->metric), (unsigned long long)r->o->seed);
    fprintf(f, ",\"classes\":%u,\"groups\":%u,\"positive\":%u", r->classes,
            r->split->task->n_groups, r->split->task->positive);
    put_number(f, "accuracy", now->accuracy);
    put_number(f, "balanced_accuracy", now->balanced_accuracy);
    put_number(f, "dp", now->demographic_parity);
    put_number(f, "eop", now->equal_opportunity);
    put_number(f, "eod", now->equalized_odds);
    put_number(f, "eod_max", now->equalized_odds_max);
    fprintf(f, "}\nlabel,group,prediction\n");
}

static int write_file(const struct lab_run *r, const struct fis_metrics *now, const char *path,
                      struct fis_error *e)
{
    const struct lab_split *s = r->split;
    FILE *f = fopen(path, "w");
    if (!f)
        return fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    put_head(f, r, now);
    for (uint32_t i = 0; i < s->n_test; i++)
        fprintf(f, "%u,%u,%u\n", s->test_y[i], s->test_group[i], r->predictions[i]);
    int bad = ferror(f);
    return fclose(f) || bad ? fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno)) : 0;
}

static int round_end(void *arg, struct lab_run *r, struct fis_error *e)
{
    char path[4096], method[sizeof r->method->name];
    struct fis_metrics now;
    if (r->round + 1 < r->o->protocol.rounds)
        return 0;
    snprintf(method, sizeof method, "%s", r->method->name);
    for (char *at = method; (at = strchr(at, '/'));)
        *at = '-';
    if (snprintf(path, sizeof path, "%s/%s.%s.%s.%llu.csv", (const char *)arg,
                 r->split->task->spec->name, lab_metric_short(r->o->metric), method,
                 (unsigned long long)r->o->seed) >= (int)sizeof path)
        return fis_fail(e, FIS_INPUT, "predictions: the folder's name is too long");
    lab_evaluate(r, r->published, &now); /* leaves r->predictions */
    return write_file(r, &now, path, e);
}

struct lab_hooks lab_predictions_hooks(const char *folder)
{
    return (struct lab_hooks){.arg = (void *)(uintptr_t)folder, .round_end = round_end};
}

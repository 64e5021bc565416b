/* What the options of `fisctl lab` mean. */
#include "cli/cmd_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/exp_variant.h"
#include "lab/files.h"
#include "lab/predictions.h"
#include "base/decimal.h"

enum { NAME_MAX_BYTES = 128 };

/* The next name of a list with commas; NULL at the end. */
static const char *next_name(const char **list, char name[NAME_MAX_BYTES])
{
    size_t n;
    do {
        *list += **list == ',';
        n = strcspn(*list, ",");
        if (n == 0 && **list == 0)
            return NULL;
        snprintf(name, NAME_MAX_BYTES, "%.*s", (int)n, *list);
        *list += n;
    } while (n == 0);
    return name;
}

static int take_metrics(const char *list, struct cmd_lab_plan *p, struct fis_error *e)
{
    char name[NAME_MAX_BYTES];
    while (next_name(&list, name)) {
        enum fis_metric m;
        int seen = 0, r = lab_metric_find(name, &m, e);
        if (r < 0)
            return fis_error_prefix(e, "--metrics");
        for (uint32_t i = 0; i < p->n_metrics; i++)
            seen |= p->metrics[i] == m;
        if (!seen)
            p->metrics[p->n_metrics++] = m;
    }
    return p->n_metrics ? 0 : fis_fail(e, FIS_INPUT, "--metrics: no metric is named");
}

static int take_methods(const char *list, struct cmd_lab_plan *p, struct fis_error *e)
{
    char name[NAME_MAX_BYTES];
    while (next_name(&list, name)) {
        bool seen = false;
        if (p->n_methods == CMD_LAB_METHODS_MAX)
            return fis_fail(e, FIS_INPUT, "--methods: more than %d", CMD_LAB_METHODS_MAX);
        int r = lab_method_find(name, &p->methods[p->n_methods], e);
        if (r < 0)
            return fis_error_prefix(e, "--methods");
        for (uint32_t i = 0; i < p->n_methods; i++)
            seen |= strcmp(p->methods[i].name, name) == 0;
        p->n_methods += !seen;
    }
    return p->n_methods ? 0 : fis_fail(e, FIS_INPUT, "--methods: no method is named");
}

/* ---- tasks ---------------------------------------------------------------------------------- */

struct spec_list {
    const struct lab_task_spec *specs[CMD_LAB_TASKS_MAX];
    uint32_t n;
};

static int add_spec(struct spec_list *l, const struct lab_task_spec *spec, struct fis_error *e)
{
    if (!spec)
        return fis_error_prefix(e, "--tasks");
    for (uint32_t i = 0; i < l->n; i++)
        if (l->specs[i] == spec)
            return 0;
    if (l->n == CMD_LAB_TASKS_MAX)
        return fis_fail(e, FIS_INPUT, "--tasks: more than %d", CMD_LAB_TASKS_MAX);
    l->specs[l->n++] = spec;
    return 0;
}

static int take_tasks(const char *list, struct spec_list *l, struct fis_error *e)
{
    char name[NAME_MAX_BYTES];
    int r = 0;
    while (r == 0 && next_name(&list, name)) {
        if (l->n && l->specs[0]->layout == LAB_NPZ && !strcmp(name, l->specs[0]->name))
            continue;
        if (strcmp(name, "all"))
            r = add_spec(l, lab_task_find(name, e), e);
        for (int i = 0; r == 0 && !strcmp(name, "all") && lab_tasks_all[i]; i++)
            r = add_spec(l, lab_task_find(lab_tasks_all[i], e), e);
    }
    return r < 0 || l->n ? r : fis_fail(e, FIS_INPUT, "--tasks: no task is named");
}

/* A file of one's own is a task named as it is, without folder and ending. */
static int take_own(const struct cmd_lab_options *o, const char *file, struct cmd_lab_plan *p,
                    struct spec_list *l, struct fis_error *e)
{
    const char *slash = strrchr(file, '/');
    uint32_t n = 0;
    p->csv_name = fis_strdup(slash ? slash + 1 : file);
    p->csv_sensitive = fis_strdup(o->sensitive ? o->sensitive : "");
    if (!p->csv_name || !p->csv_sensitive)
        return fis_fail(e, FIS_NOMEM, "no memory");
    p->csv_name[strcspn(p->csv_name, ".")] = 0;
    p->csv = (struct lab_task_spec){.name = p->csv_name,
                                    .file = file,
                                    .read = &o->read,
                                    .label = o->label,
                                    .positive = o->positive,
                                    .leave_out = o->leave_out};
    for (char *at = strtok(p->csv_sensitive, ","); at; at = strtok(NULL, ",")) {
        if (n == 4)
            return fis_fail(e, FIS_INPUT, "--sensitive: more than 4 columns");
        p->csv.sensitive[n++] = at;
    }
    return add_spec(l, &p->csv, e);
}

static int take_csv(const struct cmd_lab_options *o, struct cmd_lab_plan *p, struct spec_list *l,
                    struct fis_error *e)
{
    if (!o->label || !o->sensitive)
        return fis_fail(e, FIS_INPUT, "--csv requires --label and --sensitive");
    int rc = take_own(o, o->csv, p, l, e);
    return rc || p->csv.sensitive[0] ? rc
                                     : fis_fail(e, FIS_INPUT, "--sensitive: no column is named");
}

static bool is_npz(const char *path)
{
    const size_t n = path ? strlen(path) : 0;
    return n > 4 && !strcmp(path + n - 4, ".npz");
}

static int take_npz(const struct cmd_lab_options *o, struct cmd_lab_plan *p, struct spec_list *l,
                    struct fis_error *e)
{
    if (o->csv || o->label)
        return fis_fail(e, FIS_INPUT, "--csv and --label are not for a .npz of --data");
    if (o->sensitive && !o->groups)
        return fis_fail(e, FIS_INPUT, "--sensitive names columns of --groups FILE");
    int rc = take_own(o, o->data, p, l, e);
    p->csv.layout = LAB_NPZ;
    p->csv.label = "label";
    if (!o->groups)
        p->csv.sensitive[0] = "group";
    return rc;
}

/* A folder is CelebA's. */
static int check_data(const struct cmd_lab_options *o, const struct spec_list *l,
                      struct fis_error *e)
{
    bool used = is_npz(o->data);
    for (uint32_t i = 0; i < l->n; i++)
        used |= l->specs[i]->layout == LAB_CELEBA;
    if (o->data && !used)
        return fis_fail(e, FIS_INPUT,
                        "--data: found '%s' and no task that reads it; allowed are a .npz, or the "
                        "folder of --tasks celeba-smiling-images and others",
                        o->data);
    if (o->groups && !is_npz(o->data))
        return fis_fail(e, FIS_INPUT, "--groups: only with a .npz of --data");
    return 0;
}

static const char *default_cache(char *path, size_t size)
{
    const char *own = getenv("FISD_CACHE"), *base = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (own && *own)
        return own;
    if (base && *base)
        snprintf(path, size, "%s/fisd", base);
    else
        snprintf(path, size, "%s/.cache/fisd", home && *home ? home : ".");
    return path;
}

/* What was read of a file of one's own: wrong types and codes are seen here, or nowhere. */
static void say_task(const struct lab_task *t)
{
    uint32_t sizes[FIS_MAX_GROUPS] = {0}, numeric = 0;
    char text[512] = "";
    for (uint32_t i = 0; i < t->n; i++)
        sizes[t->group[i]]++;
    for (uint32_t j = 0; j < t->n_features; j++) {
        const struct data_table_column *c = &t->table->columns[t->features[j]];
        numeric += c->type == FIS_NUMERIC;
        if (c->odd[0])
            cli_say("warning: %s: %s", t->spec->file, c->odd);
    }
    for (uint32_t k = 0; k < t->n_classes && strlen(text) + 90 < sizeof text; k++)
        snprintf(text + strlen(text), 90, "%s%.70s%s", k ? ", " : "", t->classes[k],
                 k == t->positive ? " (positive)" : "");
    cli_say("%s: %s, columns: %u numeric, %u categorical; label %s: %s", t->spec->file,
            DECIMAL_COUNT(t->n, "row"), numeric, t->n_features - numeric, t->spec->label, text);
    text[0] = 0;
    for (uint32_t g = 0; g < t->n_groups && strlen(text) + 20 < sizeof text; g++)
        snprintf(text + strlen(text), 20, "%s%u", g ? ", " : "", sizes[g]);
    cli_say("%s: %s of people, with rows: %s", t->spec->file, DECIMAL_COUNT(t->n_groups, "group"),
            text);
}

static void say_images(const struct lab_task *t)
{
    uint32_t of[3] = {0};
    for (uint32_t i = 0; t->images->part && i < t->n; i++)
        of[t->images->part[i]]++;
    char validation[32] = "";
    if (of[LAB_VALIDATION])
        snprintf(validation, sizeof validation, "%u for validation, ", of[LAB_VALIDATION]);
    cli_say("%s: %s of %u x %u x %u for training, %s%u for test%s; %u classes, %s", t->spec->name,
            DECIMAL_COUNT(of[LAB_TRAINING], "image"), t->images->height, t->images->width,
            t->images->channels, validation, of[LAB_TEST],
            of[LAB_VALIDATION] ? "" : " and validation", t->n_classes,
            DECIMAL_COUNT(t->n_groups, "group"));
}

static void say_tasks(const struct lab_tasks *all, bool csv)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->tasks[i]->images && all->tasks[i]->images->part)
            say_images(all->tasks[i]);
        else if (csv && i == 0)
            say_task(all->tasks[i]);
}

static void set_own_protocol(struct cmd_lab_plan *p, enum lab_regime regime)
{
    const struct lab_task *t = p->tasks.tasks[0];
    if (t->images)
        lab_protocol_for_images(t->images, regime, &p->csv.protocol[regime]);
    else
        lab_protocol_for(t->n, regime, &p->csv.protocol[regime]);
}

static int load_tasks(const struct cmd_lab_options *o, struct cmd_lab_plan *p, struct fis_error *e)
{
    struct spec_list l = {.n = 0};
    char path[4096];
    int r = 0;
    const bool own = o->csv || is_npz(o->data);
    const struct lab_places places = {o->cache ? o->cache : default_cache(path, sizeof path),
                                      o->data, o->groups};
    if (is_npz(o->data))
        r = take_npz(o, p, &l, e);
    else if (o->csv)
        r = take_csv(o, p, &l, e);
    if (r == 0 && (o->tasks || !own))
        r = take_tasks(o->tasks ? o->tasks : "all", &l, e);
    if (r == 0)
        r = check_data(o, &l, e);
    if (r == 0 && o->data)
        cli_say("reading images of %s", o->data);
    if (r == 0)
        r = lab_tasks_load(l.specs, l.n, &places, &p->tasks, e);
    if (r == 0)
        say_tasks(&p->tasks, o->csv != NULL);
    for (int i = 0; r == 0 && own && i < LAB_REGIMES; i++)
        set_own_protocol(p, (enum lab_regime)i);
    return r;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static int take_choices(const struct cmd_lab_options *o, struct cmd_lab_plan *p,
                        struct fis_error *e)
{
    p->epsilon = FIS_DEFAULT_EPSILON;
    if (o->epsilon && (decimal_read(o->epsilon, strlen(o->epsilon), &p->epsilon) < 0 ||
                       !(p->epsilon >= 0 && p->epsilon < 1)))
        return fis_fail(e, FIS_INPUT, "--epsilon: found '%s', allowed 0 to below 1", o->epsilon);
    p->publish = LAB_PUBLISH_ONCE;
    if (o->publish && !strcmp(o->publish, "every"))
        p->publish = LAB_PUBLISH_EVERY;
    else if (o->publish && strcmp(o->publish, "once"))
        return fis_fail(e, FIS_INPUT, "--publish: found '%s', allowed once, every", o->publish);
    if (o->predictions && o->files)
        return fis_fail(e, FIS_INPUT, "--files: not together with --predictions");
    if (o->files && mkdir(o->files, 0777) < 0 && errno != EEXIST)
        return fis_fail(e, FIS_INPUT, "--files: %s: %s", o->files, strerror(errno));
    if (o->predictions && mkdir(o->predictions, 0777) < 0 && errno != EEXIST)
        return fis_fail(e, FIS_INPUT, "--predictions: %s: %s", o->predictions, strerror(errno));
    p->hooks = o->files ? lab_files_hooks(o->files) : lab_predictions_hooks(o->predictions);
    p->regime_given = o->regime != NULL;
    return lab_regime_find(o->regime ? o->regime : "scarce", &p->regime, e);
}

int cmd_lab_plan_make(struct cmd_lab_options *o, struct cmd_lab_plan *p, struct fis_error *e)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *p = (struct cmd_lab_plan){.n_methods = 0};
    o->seeds = o->seeds ? o->seeds : 4;
    o->first_seed = o->first_seed ? o->first_seed : 1;
    o->threads = o->threads ? o->threads : cores > 0 ? (uint64_t)cores : 1;
    if (o->threads > 1024 || o->seeds > 100000 || o->first_seed > 1000000000)
        return fis_fail(e, FIS_INPUT,
                        "at most 1024 threads, 100,000 seeds, first seed 1,000,000,000");
    int r = take_choices(o, p, e);
    if (r == 0)
        r = take_metrics(o->metrics ? o->metrics : "eod", p, e);
    if (r == 0)
        r = take_methods(o->methods ? o->methods : "random,fis+", p, e);
    if (r == 0)
        r = load_tasks(o, p, e);
    if (r < 0)
        cmd_lab_plan_done(p);
    return r;
}

void cmd_lab_plan_done(struct cmd_lab_plan *p)
{
    lab_tasks_done(&p->tasks);
    fis_free(p->csv_name);
    fis_free(p->csv_sensitive);
    p->csv_name = p->csv_sensitive = NULL;
}

/* --set: what has an option of its own in lab/exp_variant.h, but for what hooks into a run. */
static int apply_settings(const struct cmd_lab_options *o, struct lab_job *job, struct fis_error *e)
{
    struct lab_variant v;
    if (!o->set)
        return 0;
    int r = lab_variant_make(o->set, &job->options, job->task, &v, e);
    if (r == 0 && lab_variant_hooks(&v))
        r = fis_fail(e, FIS_INPUT, "noise and validation are for fisctl lab noise and ablate");
    if (r < 0)
        return fis_error_prefix(e, "--set");
    job->options = v.options;
    return 0;
}

static int add_jobs(const struct cmd_lab_plan *p, const struct cmd_lab_options *o,
                    const struct lab_task *task, uint64_t seed, struct lab_batch *b,
                    struct fis_error *e)
{
    const enum lab_regime regime = task->spec->rich && !p->regime_given ? LAB_RICH : p->regime;
    int r = 0;
    for (uint32_t m = 0; r == 0 && m < p->n_methods; m++) {
        struct lab_job job = {.key = {.regime = regime}, .task = task, .method = p->methods[m]};
        lab_options_default(task->spec, regime, &job.options);
        job.options.seed = seed;
        job.hooks = o->predictions || o->files ? &p->hooks : NULL;
        job.options.publish = p->publish;
        job.options.epsilon = p->epsilon;
        job.options.one_pass = o->one_pass;
        job.options.path = o->path || o->plots;
        r = apply_settings(o, &job, e);
        if (r == 0)
            r = lab_batch_add_metrics(b, job, p->metrics, p->n_metrics, e);
    }
    return r;
}

int cmd_lab_plan_jobs(const struct cmd_lab_plan *p, const struct cmd_lab_options *o,
                      struct lab_batch *b, struct fis_error *e)
{
    int r = 0;
    for (uint64_t s = 0; r == 0 && s < o->seeds; s++)
        for (uint32_t t = 0; r == 0 && t < p->tasks.n; t++)
            r = add_jobs(p, o, p->tasks.tasks[t], o->first_seed + s, b, e);
    return r;
}

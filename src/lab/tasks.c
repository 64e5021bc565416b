/* Several tasks at once: their files fetched together, each table read once. */
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/batch.h"
#include "lab/fetch.h"

#define FILES_MAX 8
#define PATH_MAX_BYTES 4096
#define COLUMNS_MAX 8

static int fetch_all(const struct lab_task_spec *const *specs, uint32_t n, const char *cache,
                     struct fis_error *e)
{
    const char *files[FILES_MAX];
    unsigned n_files = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned at = 0;
        while (specs[i]->fetched && at < n_files && strcmp(files[at], specs[i]->file) != 0)
            at++;
        if (specs[i]->fetched && at == n_files && n_files + 1 < FILES_MAX) {
            files[n_files++] = specs[i]->file;
            if (specs[i]->images)
                files[n_files++] = specs[i]->images;
        }
    }
    return n_files ? lab_fetch(cache, files, n_files, e) : 0;
}

static struct data_table *read_table(const struct lab_task_spec *spec, const char *cache,
                                     struct fis_error *e)
{
    char path[PATH_MAX_BYTES];
    const struct data_options options = {.how =
                                             spec->read ? *spec->read : (struct data_reading){0}};
    snprintf(path, sizeof path, "%s%s%s", spec->fetched ? cache : "", spec->fetched ? "/" : "",
             spec->file);
    return data_table_read(path, &options, e);
}

/* ---- images ---------------------------------------------------------------------------------- */

static uint32_t add_name(const char **names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return n;
    if (n < COLUMNS_MAX)
        names[n++] = name;
    return n;
}

/* All columns that these tasks need of CelebA. */
static struct lab_images *read_celeba(const struct lab_task_spec *const *specs, uint32_t n,
                                      const char *folder, struct fis_error *e)
{
    const char *names[COLUMNS_MAX];
    const struct fis_vit *v = NULL;
    uint32_t n_names = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (specs[i]->layout != LAB_CELEBA)
            continue;
        v = &specs[i]->protocol[0].vit;
        n_names = add_name(names, n_names, specs[i]->label);
        for (uint32_t k = 0; k < 4 && specs[i]->sensitive[k]; k++)
            n_names = add_name(names, n_names, specs[i]->sensitive[k]);
    }
    return lab_images_celeba(folder, v, names, n_names, e);
}

static struct lab_images *read_npz(const struct lab_task_spec *spec,
                                   const struct lab_places *places, struct fis_error *e)
{
    uint32_t n = 0;
    while (n < 4 && spec->sensitive[n])
        n++;
    return lab_images_npz(places->data, places->groups, spec->sensitive, n, e);
}

static int read_images(struct lab_source *s, const struct lab_places *places, struct fis_error *e)
{
    char path[PATH_MAX_BYTES];
    if (!s->table || !s->spec->images)
        return s->table ? 0 : -(int)(e ? e->kind : FIS_INPUT);
    snprintf(path, sizeof path, "%s/%s", places->cache, s->spec->images);
    s->images = lab_images_pixels(path, s->table->n, &s->spec->protocol[0].vit, e);
    return s->images ? 0 : -(int)(e ? e->kind : FIS_INPUT);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int read_source(struct lab_source *s, const struct lab_task_spec *const *specs, uint32_t n,
                       const struct lab_places *places, struct fis_error *e)
{
    if (s->spec->layout == LAB_TABLE) {
        s->table = read_table(s->spec, places->cache, e);
        return read_images(s, places, e);
    }
    if (!places->data)
        return fis_fail(e, FIS_INPUT, "%s: --data names the folder of CelebA", s->spec->name);
    s->images = s->spec->layout == LAB_CELEBA ? read_celeba(specs, n, places->data, e)
                                              : read_npz(s->spec, places, e);
    s->table = s->images ? s->images->table : NULL;
    return s->table ? 0 : -(int)(e ? e->kind : FIS_INPUT);
}

static struct lab_source *source_of(struct lab_tasks *t, const struct lab_task_spec *spec)
{
    for (uint32_t i = 0; i < t->n_sources; i++) {
        const struct lab_task_spec *of = t->sources[i].spec;
        if (of->layout == spec->layout && (of->layout || strcmp(of->file, spec->file) == 0))
            return &t->sources[i];
    }
    t->sources[t->n_sources].spec = spec;
    return &t->sources[t->n_sources++];
}

int lab_tasks_load(const struct lab_task_spec *const *specs, uint32_t n,
                   const struct lab_places *places, struct lab_tasks *out, struct fis_error *e)
{
    struct lab_tasks t = {0};
    int rc = fetch_all(specs, n, places->cache, e);
    t.tasks = fis_calloc(n, sizeof *t.tasks);
    t.sources = fis_calloc(n, sizeof *t.sources);
    if (rc == 0 && (!t.tasks || !t.sources))
        rc = fis_fail(e, FIS_NOMEM, "tasks: no memory");
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct lab_source *s = source_of(&t, specs[i]);
        if (!s->table)
            rc = read_source(s, specs, n, places, e);
        if (rc == 0 && !(t.tasks[t.n++] = lab_task_open(specs[i], s->table, s->images, e)))
            rc = -(int)(e ? e->kind : FIS_INPUT);
    }
    if (rc < 0)
        lab_tasks_done(&t);
    else
        *out = t;
    return rc;
}

void lab_tasks_done(struct lab_tasks *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        lab_task_free(t->tasks[i]);
    for (uint32_t i = 0; t->sources && i < t->n_sources; i++) {
        if (!t->sources[i].images || !t->sources[i].images->table)
            data_table_free(t->sources[i].table);
        lab_images_free(t->sources[i].images);
    }
    fis_free(t->tasks);
    fis_free(t->sources);
    *t = (struct lab_tasks){0};
}

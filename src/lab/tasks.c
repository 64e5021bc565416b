/* Several tasks at once: their files fetched together, each table read once. */
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/batch.h"
#include "lab/fetch.h"

#define FILES_MAX 8
#define PATH_MAX_BYTES 4096

static int fetch_all(const struct lab_task_spec *const *specs, uint32_t n, const char *cache,
                     struct fis_error *e)
{
    const char *files[FILES_MAX];
    unsigned n_files = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned at = 0;
        while (at < n_files && strcmp(files[at], specs[i]->file) != 0)
            at++;
        if (specs[i]->fetched && at == n_files && n_files + 1 < FILES_MAX) {
            files[n_files++] = specs[i]->file;
            if (specs[i]->images)
                files[n_files++] = specs[i]->images;
        }
    }
    return n_files ? lab_fetch(cache, files, n_files, e) : 0;
}

static struct data_table *table_of(struct lab_tasks *t, const struct lab_task_spec *spec,
                                   const char *cache, struct fis_error *e)
{
    char path[PATH_MAX_BYTES];
    for (uint32_t i = 0; i < t->n_tables; i++)
        if (strcmp(t->files[i], spec->file) == 0)
            return t->tables[i];
    snprintf(path, sizeof path, "%s%s%s", spec->fetched ? cache : "", spec->fetched ? "/" : "",
             spec->file);
    const struct data_options options = {.how =
                                             spec->read ? *spec->read : (struct data_reading){0}};
    struct data_table *table = data_table_read(path, &options, e);
    if (table) {
        t->files[t->n_tables] = spec->file;
        t->tables[t->n_tables++] = table;
    }
    return table;
}

static int images_of(struct lab_task *t, const char *cache, struct fis_error *e)
{
    char path[PATH_MAX_BYTES];
    if (!t->spec->images)
        return 0;
    snprintf(path, sizeof path, "%s/%s", cache, t->spec->images);
    return lab_task_images(t, path, e);
}

int lab_tasks_load(const struct lab_task_spec *const *specs, uint32_t n, const char *cache,
                   struct lab_tasks *out, struct fis_error *e)
{
    struct lab_tasks t = {0};
    int rc = fetch_all(specs, n, cache, e);
    t.tasks = fis_calloc(n, sizeof *t.tasks);
    t.tables = fis_calloc(n, sizeof *t.tables);
    t.files = fis_calloc(n, sizeof *t.files);
    if (rc == 0 && (!t.tasks || !t.tables || !t.files))
        rc = fis_fail(e, FIS_NOMEM, "tasks: no memory");
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct data_table *table = table_of(&t, specs[i], cache, e);
        t.tasks[t.n] = table ? lab_task_open(specs[i], table, e) : NULL;
        if (!t.tasks[t.n]) {
            rc = -(int)(e ? e->kind : FIS_INPUT);
            break;
        }
        rc = images_of(t.tasks[t.n++], cache, e);
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
    for (uint32_t i = 0; i < t->n_tables; i++)
        data_table_free(t->tables[i]);
    fis_free(t->tasks);
    fis_free(t->tables);
    fis_free(t->files);
    *t = (struct lab_tasks){0};
}

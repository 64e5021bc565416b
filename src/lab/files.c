#include "lab/files.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/yaml.h"
#include "lab/result.h"
#include "wire/csv.h"
#include "wire/model.h"

static FILE *open_file(const char *folder, const struct lab_run *r, const char *name,
                       const char *mode, struct fis_error *e)
{
    char path[4096], method[sizeof r->method->name];
    snprintf(method, sizeof method, "%s", r->method->name);
    for (char *at = method; (at = strchr(at, '/'));)
        *at = '-';
    int n = snprintf(path, sizeof path, "%s/%s.%s.%s.%llu", folder, r->split->task->spec->name,
                     lab_metric_short(r->o->metric), method, (unsigned long long)r->o->seed);
    if (n < 0 || (size_t)n + strlen(name) + 2 > sizeof path) {
        fis_fail(e, FIS_INPUT, "files: the folder's name is too long");
        return NULL;
    }
    FILE *f = NULL;
    if (mkdir(path, 0777) == 0 || errno == EEXIST) {
        snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
        f = fopen(path, mode);
    }
    if (!f)
        fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    return f;
}

static int close_file(FILE *f, const char *name, struct fis_error *e)
{
    int bad = ferror(f);
    return fclose(f) || bad ? fis_fail(e, FIS_INPUT, "%s: %s", name, strerror(errno)) : 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void put_cell(FILE *f, const struct data_table_column *c, uint32_t row)
{
    const uint32_t code = c->codes[row];
    if (code == DATA_MISSING)
        return;
    const struct fis_value *v = &c->values[code];
    if (c->type == FIS_NUMERIC)
        fprintf(f, "%.17g", v->number);
    else
        wire_csv_put(f, v->text, v->length);
}

static const struct data_table_column *sensitive(const struct lab_task *t, uint32_t i)
{
    for (uint32_t k = 0; i < 4 && t->spec->sensitive[i] && k < t->table->n_columns; k++)
        if (strcmp(t->table->columns[k].name, t->spec->sensitive[i]) == 0)
            return &t->table->columns[k];
    return NULL;
}

enum parts { FEATURES = 1, LABEL = 2, GROUPS = 4 };

static void put_header(FILE *f, const struct lab_task *t, int parts)
{
    const struct data_table_column *c;
    fputs("id", f);
    for (uint32_t j = 0; parts & FEATURES && j < t->n_features; j++)
        fprintf(f, ",%s", t->table->columns[t->features[j]].name);
    const uint32_t numbers = t->images ? lab_images_numbers(t->images) : 0;
    for (uint32_t j = 0; parts & FEATURES && j < numbers; j++)
        fprintf(f, ",f%u", j);
    for (uint32_t j = 0; parts & GROUPS && (c = sensitive(t, j)); j++)
        fprintf(f, ",%s", c->name);
    fprintf(f, "%s%s\n", parts & LABEL ? "," : "", parts & LABEL ? t->spec->label : "");
}

/* As records have it, before an encoder, which fits its mean on every digit. */
static void put_image(FILE *f, const struct lab_images *images, uint32_t row)
{
    const uint32_t n = lab_images_numbers(images);
    for (uint32_t j = 0; j < n; j++)
        fprintf(f, ",%.17g", (double)FIS_PIXEL(images->pixels[(size_t)row * n + j]));
}

/* Ids are places among the rows of the file; those of the pool are the run's own. */
static int put_rows(const char *folder, const struct lab_run *r, const char *name,
                    const uint32_t *rows, uint32_t n, int parts, struct fis_error *e)
{
    const struct lab_task *t = r->split->task;
    const struct data_table_column *c;
    FILE *f = open_file(folder, r, name, "w", e);
    if (!f)
        return -(int)e->kind;
    put_header(f, t, parts);
    for (uint32_t i = 0; i < n; i++) {
        fprintf(f, "%u", i);
        for (uint32_t j = 0; parts & FEATURES && j < t->n_features; j++) {
            putc(',', f);
            put_cell(f, &t->table->columns[t->features[j]], rows[i]);
        }
        if (t->images && parts & FEATURES)
            put_image(f, t->images, rows[i]);
        for (uint32_t j = 0; parts & GROUPS && (c = sensitive(t, j)); j++) {
            putc(',', f);
            put_cell(f, c, rows[i]);
        }
        if (parts & LABEL) {
            putc(',', f);
            wire_csv_put(f, t->classes[t->y[rows[i]]], strlen(t->classes[t->y[rows[i]]]));
        }
        putc('\n', f);
    }
    return close_file(f, name, e);
}

/* ---- the configuration ---------------------------------------------------------------------- */

static void put_columns(FILE *f, const struct lab_task *t)
{
    const struct data_table_column *c;
    fputs("\nclasses: [", f);
    for (uint32_t k = 0; k < t->n_classes; k++) {
        fputs(k ? ", " : "", f);
        yaml_put(f, t->classes[k], false);
    }
    fputs("]\npositive: ", f);
    yaml_put(f, t->classes[t->positive], false);
    fputs(t->images ? "\n" : "\ncolumns:\n", f);
    for (uint32_t j = 0; j < t->n_features; j++) {
        const struct data_table_column *x = &t->table->columns[t->features[j]];
        fputs("  - {name: ", f);
        yaml_put(f, x->name, false);
        fprintf(f, "%s}\n", x->type == FIS_NUMERIC ? "" : ", type: categorical");
    }
    fprintf(f,
            "initial: {file: initial.csv, label: %s}\n"
            "validation: {file: validation.csv, label: %s, sensitive: [",
            t->spec->label, t->spec->label);
    for (uint32_t j = 0; (c = sensitive(t, j)); j++) {
        fputs(j ? ", " : "", f);
        yaml_put(f, c->name, false);
    }
    fputs("]}\n", f);
}

static void put_transformer(FILE *f, const struct lab_protocol *p)
{
    const struct fis_vit *v = &p->vit;
    fprintf(f,
            "model: {type: vit, image: [%u, %u, %u], patch: %u, width: %u, depth: %u, heads: %u, "
            "mlp: %u, pool: %s}\n",
            v->height, v->width, v->channels, v->patch, v->dim, v->depth, v->heads, v->mlp,
            v->token ? "token" : "mean");
}

/* What is not here has fisd's default, as in the run. */
static int put_config(const char *folder, const struct lab_run *r, struct fis_error *e)
{
    const struct lab_options *o = r->o;
    const struct lab_protocol *p = &o->protocol;
    FILE *f = open_file(folder, r, "fisd.yaml", "w", e);
    if (!f)
        return -(int)e->kind;
    fprintf(f, "pipeline: lab-%s\ndelivery: at_least_once\ntopics: {partitions: 1}",
            r->split->task->spec->name);
    put_columns(f, r->split->task);
    fprintf(f,
            "fairness: {metric: %s}\n"
            "selection: {mode: pool, algorithm: \"%s\", strategy: %d, labels_per_round: %u, "
            "rounds: %u, seed: %llu}\n",
            fis_metric_name(o->metric), r->method->acquisition->name, o->strategy,
            p->labels_per_round, p->rounds, (unsigned long long)o->seed);
    fprintf(f,
            "training: {hidden: [%u], optimizer: %s, warm_up_steps: %u, flip: %s, shift: %u, "
            "learning_rate: %.9g, momentum: %.9g, weight_decay: %.9g, "
            "batch: %u, warm_up_epochs: %u, steps_per_round: %u, publication: %s, fresh_steps: %u, "
            "mix: %.9g, seed: %llu}\n",
            p->hidden, p->adamw ? "adamw" : "sgd", p->rise, p->flip ? "true" : "false", p->shift,
            (double)p->learning_rate, (double)p->momentum, (double)p->weight_decay, p->batch,
            p->warm_up_epochs, p->steps_per_round,
            r->method->publication->mixed  ? "mixed"
            : r->method->publication->line ? "line"
                                           : "plain",
            o->fresh_steps, (double)o->mix, (unsigned long long)o->seed);
    if (p->vit.height)
        put_transformer(f, p);
    if (p->trees)
        fprintf(f,
                "model.base: {type: trees, trees: %u, patience: %u, depth: %u, rate: %.17g, "
                "sample: %.17g, columns: %.17g, growth: %.17g}\n",
                o->trees.n, o->trees.patience, o->trees.depth, o->trees.rate, o->trees.rows,
                o->trees.columns, o->trees.growth);
    else
        fputs("model.base: {type: none}\n", f);
    fprintf(f, "gate: {epsilon: %.17g, standard_errors: %.17g, replace: %s}\n", o->epsilon,
            o->standard_errors, o->publish == LAB_PUBLISH_EVERY ? "fairer" : "always");
    return close_file(f, "fisd.yaml", e);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static int begun(void *arg, struct lab_run *r, struct fis_error *e)
{
    const struct lab_split *s = r->split;
    int rc = put_config(arg, r, e);
    if (rc == 0)
        rc = put_rows(arg, r, "initial.csv", s->initial, s->n_initial, FEATURES | LABEL, e);
    if (rc == 0)
        rc = put_rows(arg, r, "validation.csv", s->validation, s->n_validation,
                      FEATURES | GROUPS | LABEL, e);
    if (rc == 0)
        rc = put_rows(arg, r, "pool.csv", s->pool, s->n_pool, FEATURES, e);
    if (rc == 0)
        rc = put_rows(arg, r, "answers.csv", s->pool, s->n_pool, LABEL, e);
    if (rc == 0)
        rc = put_rows(arg, r, "test.csv", s->test, s->n_test, FEATURES | GROUPS | LABEL, e);
    FILE *f = rc == 0 ? open_file(arg, r, "versions.jsonl", "w", e) : NULL;
    return f ? close_file(f, "versions.jsonl", e) : -(int)e->kind;
}

/* One line a version, as `fisctl models show --weights` has it. */
static int version(void *arg, struct lab_run *r, const struct wire_model *v, struct fis_error *e)
{
    struct byte_buffer line = {0};
    FILE *f = open_file(arg, r, "versions.jsonl", "a", e);
    if (!f)
        return -(int)e->kind;
    int rc = wire_model_json(v, &line, true, e);
    if (rc == 0)
        fprintf(f, "%.*s\n", (int)line.length, (const char *)line.data);
    byte_buffer_done(&line);
    int closed = close_file(f, "versions.jsonl", e);
    return rc < 0 ? rc : closed;
}

struct lab_hooks lab_files_hooks(const char *folder)
{
    return (struct lab_hooks){.arg = (void *)(uintptr_t)folder, .begun = begun, .version = version};
}

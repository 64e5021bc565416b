#include "daemon/trainer/trainer_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/context/closer.h"
#include "data/sets.h"
#include "wire/csv.h"

static struct session_rows view(const struct data_examples *x)
{
    return (struct session_rows){{x->n, x->d, x->x, x->labels, x->groups}, x->names.n};
}

/* ---- files --------------------------------------------------------------------------------- */

static struct data_source file_source(const struct pipeline *p, bool validation, data_note_fn *note,
                                      void *ctx)
{
    const struct config *cfg = p->cfg;
    return (struct data_source){
        .path = validation ? cfg->validation.file : cfg->initial.file,
        .how = {.standard_delimiter =
                    wire_csv_delimiter(config_choice("csv.delimiter", cfg->csv.delimiter)),
                .unnamed = cfg->csv.unnamed,
                .numeric_text = cfg->records.numeric_text},
        .schema = validation ? &p->validation : &p->initial,
        .columns = p->columns,
        .n_columns = p->n_columns,
        .tree_margins = p->tree_margins,
        .with_sensitive = validation,
        .note = note,
        .note_ctx = ctx,
    };
}

static void note_constants(const char *where, const struct fis_encoder *encoder, data_note_fn *note,
                           void *ctx)
{
    char text[FIS_ERROR_TEXT];
    for (uint32_t i = 0; i < fis_encoder_columns(encoder); i++)
        if (fis_encoder_constant(encoder, i)) {
            snprintf(text, sizeof text,
                     "%.160s: column %.100s has one value in all rows: it is encoded as 0, and any "
                     "other value later counts as drift",
                     where, fis_encoder_column(encoder, i)->name);
            note(ctx, false, text);
        }
}

static int load(const struct pipeline *p, const struct data_source *s, struct fis_encoder **encoder,
                struct data_examples *rows, struct fis_error *e)
{
    if (!*encoder) {
        if (!(*encoder = data_fit_encoder(s, p->cfg->features.max_categories, e)))
            return -1;
        note_constants(s->path, *encoder, s->note, s->note_ctx);
    }
    return data_examples_load(s, *encoder, rows, e) < 0 ? -1 : 0;
}

/* Of the file that is read: where its notes go. */
struct look {
    trainer_rows_note_fn *note;
    void *ctx;
    const char *key;
};

static void look_note(void *look, bool fault, const char *text)
{
    const struct look *l = look;
    l->note(l->ctx, l->key, fault, text);
}

/* What is wrong in a file is named by data_examples_load; what kept the encoder from being fitted
 * is not. True: the rows are there. */
static bool look_at(const struct pipeline *p, bool validation, struct look *l,
                    struct fis_encoder **encoder, struct data_examples *rows)
{
    struct fis_error e;
    struct data_source s = file_source(p, validation, look_note, l);
    l->key = validation ? "validation.file" : "initial.file";
    int rc = load(p, &s, encoder, rows, &e);
    if (rc && !*encoder)
        look_note(l, true, e.text);
    if (rc == 0 && validation && rows->names.n < 2)
        look_note(l, true, "the validation set has 1 group: fairness needs at least 2");
    return rc == 0;
}

/* Without a fitted encoder a column is one feature at least. */
static void look_at_size(const struct pipeline *p, const struct fis_encoder *encoder,
                         struct look *l)
{
    struct trainer_role_options o;
    struct fis_error e;
    pipeline_trainer(p, &o);
    l->key = o.vit.height ? "model.width" : "training.hidden";
    if (trainer_role_fits(&o, encoder ? fis_encoder_dimension(encoder) : p->n_columns, &e) < 0)
        look_note(l, true, e.text);
}

void trainer_rows_look(const struct pipeline *p, trainer_rows_note_fn *note, void *ctx)
{
    const struct config *cfg = p->cfg;
    struct look l = {.note = note, .ctx = ctx};
    struct fis_encoder *encoder = NULL;
    struct data_examples initial = {0}, validation = {0};
    struct fis_error e;
    struct data_sets sets = {.initial_name = cfg->initial.file,
                             .validation_name = cfg->validation.file,
                             .schema = &p->schema,
                             .metric = pipeline_metric(cfg),
                             .positive = cfg->positive_class,
                             .min_rows = cfg->gate.min_rows,
                             .min_cell = cfg->gate.min_cell};
    if (cfg->initial.source == CONFIG_FILE && look_at(p, false, &l, &encoder, &initial))
        sets.initial = &initial;
    if (cfg->validation.source == CONFIG_FILE && look_at(p, true, &l, &encoder, &validation))
        sets.validation = &validation;
    if (data_sets_look(&sets, look_note, &l, &e))
        look_note(&l, true, e.text);
    look_at_size(p, encoder, &l);
    data_examples_done(&initial);
    data_examples_done(&validation);
    fis_encoder_free(encoder);
}

static void log_note(void *ctx, bool fault, const char *text)
{
    (void)ctx;
    log_line(fault ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN, "rows", "text=\"%s\"", text);
}

/* ---- what the encoder has not seen ---------------------------------------------------------- */

/* Into the list of the largest; its new length. */
static uint32_t insert(struct trainer_unseen *list, uint32_t n, const struct trainer_unseen *u)
{
    uint32_t at = n;
    while (at > 0 && list[at - 1].share < u->share)
        at--;
    if (at == TRAINER_UNSEEN)
        return n;
    n += n < TRAINER_UNSEEN;
    memmove(list + at + 1, list + at, (n - at - 1) * sizeof *list);
    list[at] = *u;
    return n;
}

static double majority(const struct data_examples *x)
{
    uint32_t counts[FIS_MAX_CLASSES] = {0}, most = 0;
    for (uint32_t i = 0; i < x->n; i++)
        if (++counts[x->labels[i]] > most)
            most = counts[x->labels[i]];
    return x->n ? (double)most / x->n : 0;
}

/* In place of what was there of this set. */
static void take_unseen(struct trainer_rows *r, const char *set, const struct fis_encoder *encoder,
                        const struct data_examples *x)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_unseen; i++)
        if (strcmp(r->unseen[i].set, set) != 0)
            r->unseen[n++] = r->unseen[i];
    for (uint32_t i = 0; x->n && i < fis_encoder_columns(encoder); i++) {
        struct trainer_unseen u = {.set = set, .share = (double)x->unseen[i] / x->n};
        const char *column = fis_encoder_column(encoder, i)->name;
        if (u.share > r->ctx->cfg->features.max_unseen)
            log_line(LOG_LEVEL_WARN, "categories_unseen",
                     "set=%s column=\"%s\" rows=%llu of=%u text=\"these rows have a category that "
                     "the encoder was not fitted on; are the codes of both sets the same?\"",
                     set, column, (unsigned long long)x->unseen[i], x->n);
        snprintf(u.column, sizeof u.column, "%s", column);
        if (u.share > 0)
            n = insert(r->unseen, n, &u);
    }
    r->n_unseen = n;
}

/* ---- initial rows -------------------------------------------------------------------------- */

static void end_topic(void *topic)
{
    example_topic_close(topic);
}

/* 1: they are there; 0: not yet. */
static int initial_topic(struct trainer_rows *r, struct fis_encoder **encoder, struct fis_error *e)
{
    const struct config *cfg = r->ctx->cfg;
    bool changed;
    if (!r->initial_topic && example_topic_open(&r->initial_topic, r->ctx, cfg->topics.initial,
                                                &r->ctx->pipeline.initial, 0, NULL, e) < 0)
        return -1;
    if (example_topic_turn(r->initial_topic, &changed, e) < 0)
        return -1;
    if (!example_topic_complete(r->initial_topic))
        return 0;
    if (!*encoder &&
        !(*encoder = example_topic_fit(r->initial_topic, cfg->features.max_categories, e)))
        return -1;
    note_constants(cfg->topics.initial, *encoder, log_note, NULL);
    int rc = example_topic_build(r->initial_topic, *encoder, &r->initial, e);
    closer_take(r->ctx, end_topic, r->initial_topic, NULL, NULL);
    r->initial_topic = NULL;
    return rc < 0 ? -1 : 1;
}

int trainer_rows_initial(struct trainer_rows *r, struct fis_encoder **encoder,
                         struct session_rows *out, struct fis_error *e)
{
    const struct pipeline *p = &r->ctx->pipeline;
    struct data_source s = file_source(p, false, log_note, NULL);
    int rc = p->cfg->initial.source != CONFIG_FILE      ? initial_topic(r, encoder, e)
             : load(p, &s, encoder, &r->initial, e) < 0 ? -1
                                                        : 1;
    if (rc > 0) {
        take_unseen(r, "initial", *encoder, &r->initial);
        *out = view(&r->initial);
    }
    return rc;
}

void trainer_rows_started(struct trainer_rows *r)
{
    data_examples_done(&r->initial);
}

/* ---- validation rows ----------------------------------------------------------------------- */

static int validation_topic(struct trainer_rows *r, const struct fis_encoder *encoder,
                            struct session *session, struct fis_error *e)
{
    const char *name = r->ctx->cfg->topics.validation;
    bool changed = false;
    if (!r->validation_topic && example_topic_open(&r->validation_topic, r->ctx, name,
                                                   &r->ctx->pipeline.validation, 1, session, e) < 0)
        return -1;
    struct example_topic *t = r->validation_topic;
    int rc = example_topic_turn(t, &changed, e);
    if (rc < 0)
        return rc;
    if (r->read ? !changed : !example_topic_complete(t))
        return 0;
    if (!r->read && example_topic_count(t) == 0)
        return fis_fail(e, FIS_FATAL, "topic %s: there is no validation example to judge on", name);
    data_examples_done(&r->validation);
    rc = example_topic_build(t, encoder, &r->validation, e);
    return rc < 0 ? rc : 1;
}

static int validation_file(struct trainer_rows *r, const struct fis_encoder *encoder,
                           struct fis_error *e)
{
    struct fis_encoder *fitted = (struct fis_encoder *)encoder; /* there is one: none is fitted */
    struct data_source s = file_source(&r->ctx->pipeline, true, log_note, NULL);
    if (r->read)
        return 0;
    return load(&r->ctx->pipeline, &s, &fitted, &r->validation, e) < 0 ? -1 : 1;
}

int trainer_rows_validation(struct trainer_rows *r, const struct fis_encoder *encoder,
                            struct session *session, struct session_rows *out, struct fis_error *e)
{
    int rc = r->ctx->cfg->validation.source == CONFIG_FILE
                 ? validation_file(r, encoder, e)
                 : validation_topic(r, encoder, session, e);
    r->read |= rc > 0;
    if (rc > 0) {
        r->left_out = r->validation.left_out;
        r->majority = majority(&r->validation);
        take_unseen(r, "validation", encoder, &r->validation);
        *out = view(&r->validation);
    }
    return rc;
}

/* Of a file, when it was last written. */
static int64_t newest_ms(const struct trainer_rows *r)
{
    struct stat st;
    if (r->validation_topic)
        return example_topic_newest(r->validation_topic);
    if (stat(r->ctx->cfg->validation.file, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

void trainer_rows_validated(struct trainer_rows *r)
{
    const char *const *names = (const char *const *)r->validation.names.names;
    if (r->used)
        observe_next_groups(&r->ctx->observer, names, r->validation.names.n);
    else
        observe_groups(&r->ctx->observer, names, r->validation.names.n);
    observe_validation(&r->ctx->observer, newest_ms(r));
    r->used = true;
    data_examples_done(&r->validation);
}

void trainer_rows_done(struct trainer_rows *r)
{
    example_topic_close(r->initial_topic);
    example_topic_close(r->validation_topic);
    data_examples_done(&r->initial);
    data_examples_done(&r->validation);
    *r = (struct trainer_rows){.ctx = r->ctx};
}

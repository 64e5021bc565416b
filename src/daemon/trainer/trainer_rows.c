#include "daemon/trainer/trainer_rows.h"

#include <sys/stat.h>

#include "daemon/context/closer.h"
#include "wire/csv.h"

static struct session_rows view(const struct data_examples *x)
{
    return (struct session_rows){{x->n, x->d, x->x, x->labels, x->groups}, x->names.n};
}

/* ---- files --------------------------------------------------------------------------------- */

static int load(const struct pipeline *p, const char *path, const struct wire_schema *schema,
                int with_sensitive, struct fis_encoder **encoder, struct data_examples *rows,
                struct fis_error *e)
{
    struct data_source s = {.path = path,
                            .standard_delimiter = wire_csv_delimiter(
                                config_choice("csv.delimiter", p->cfg->csv.delimiter)),
                            .schema = schema,
                            .columns = p->columns,
                            .n_columns = p->n_columns,
                            .with_sensitive = with_sensitive};
    if (!*encoder && !(*encoder = data_fit_encoder(&s, p->cfg->features.max_categories, e)))
        return -1;
    return data_examples_load(&s, *encoder, rows, e) < 0 ? -1 : 0;
}

static int load_validation(const struct pipeline *p, struct fis_encoder **encoder,
                           struct data_examples *rows, struct fis_error *e)
{
    return load(p, p->cfg->validation.file, &p->validation, 1, encoder, rows, e);
}

/* The encoder of a session may come from the ledger: what this one refuses of a row, it refuses
 * whatever it was fitted on. */
int trainer_rows_check(const struct pipeline *p, struct fis_error *e)
{
    const struct config *cfg = p->cfg;
    struct fis_encoder *encoder = NULL;
    struct data_examples initial = {0}, validation = {0};
    int rc = 0;
    if (cfg->initial.source == CONFIG_FILE)
        rc = load(p, cfg->initial.file, &p->initial, 0, &encoder, &initial, e);
    if (rc == 0 && cfg->validation.source == CONFIG_FILE) {
        rc = load_validation(p, &encoder, &validation, e);
        if (rc == 0 && validation.names.n < 2)
            rc =
                fis_fail(e, FIS_FATAL, "the validation set has %u group: fairness needs at least 2",
                         validation.names.n);
    }
    data_examples_done(&initial);
    data_examples_done(&validation);
    fis_encoder_free(encoder);
    return rc;
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
    int rc = example_topic_build(r->initial_topic, *encoder, &r->initial, e);
    closer_take(r->ctx, end_topic, r->initial_topic, NULL, NULL);
    r->initial_topic = NULL;
    return rc < 0 ? -1 : 1;
}

int trainer_rows_initial(struct trainer_rows *r, struct fis_encoder **encoder,
                         struct session_rows *out, struct fis_error *e)
{
    const struct pipeline *p = &r->ctx->pipeline;
    int rc = p->cfg->initial.source != CONFIG_FILE ? initial_topic(r, encoder, e)
             : load(p, p->cfg->initial.file, &p->initial, 0, encoder, &r->initial, e) < 0 ? -1
                                                                                          : 1;
    if (rc > 0)
        *out = view(&r->initial);
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
    if (r->read)
        return 0;
    return load_validation(&r->ctx->pipeline, &fitted, &r->validation, e) < 0 ? -1 : 1;
}

int trainer_rows_validation(struct trainer_rows *r, const struct fis_encoder *encoder,
                            struct session *session, struct session_rows *out, struct fis_error *e)
{
    int rc = r->ctx->cfg->validation.source == CONFIG_FILE
                 ? validation_file(r, encoder, e)
                 : validation_topic(r, encoder, session, e);
    r->read |= rc > 0;
    if (rc > 0)
        *out = view(&r->validation);
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

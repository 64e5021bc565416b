#include "daemon/trainer/trainer_load.h"

#include <sys/stat.h>

#include "daemon/context/closer.h"
#include "daemon/trainer/trainer_files.h"

void trainer_load_init(struct trainer_load *l, struct context *ctx, const struct trainer_out *out,
                       struct memory *memory)
{
    *l = (struct trainer_load){.ctx = ctx,
                               .out = *out,
                               .memory = memory,
                               .step = LOAD_ENCODER,
                               .began_ms = context_now().mono_ms};
}

void trainer_load_done(struct trainer_load *l)
{
    example_topic_close(l->initial);
    example_topic_close(l->validation);
    data_examples_done(&l->initial_rows);
    data_examples_done(&l->validation_rows);
    fis_encoder_free(l->encoder);
    trainer_role_free(l->role);
    *l = (struct trainer_load){.step = LOAD_DONE};
}

struct fis_rows trainer_rows(const struct data_examples *x)
{
    return (struct fis_rows){x->n, x->d, x->x, x->labels, x->groups};
}

/* A step returns 1 when it is over, 0 to come back later, negative on errors. */

static int encoder_step(struct trainer_load *l, struct fis_error *e)
{
    const struct pipeline *p = &l->ctx->pipeline;
    if (!memory_found(l->memory))
        return 1;
    l->encoder = memory_take_encoder(l->memory, p->columns, p->n_columns, &p->schema, e);
    return l->encoder ? 1 : -1;
}

static int initial_file(struct trainer_load *l, struct fis_error *e)
{
    return trainer_files_initial(&l->ctx->pipeline, &l->encoder, &l->initial_rows, e) < 0 ? -1 : 1;
}

static void end_topic(void *topic)
{
    example_topic_close(topic);
}

static int initial_topic(struct trainer_load *l, struct fis_error *e)
{
    const struct config *cfg = l->ctx->cfg;
    bool changed;
    if (!l->initial && example_topic_open(&l->initial, l->ctx, cfg->topics.initial,
                                          &l->ctx->pipeline.initial, 0, e) < 0)
        return -1;
    if (example_topic_turn(l->initial, &changed, e) < 0)
        return -1;
    if (!example_topic_complete(l->initial))
        return 0;
    if (!l->encoder &&
        !(l->encoder = example_topic_fit(l->initial, cfg->features.max_categories, e)))
        return -1;
    int rc = example_topic_build(l->initial, l->encoder, &l->initial_rows, e);
    closer_take(l->ctx, end_topic, l->initial, NULL, NULL);
    l->initial = NULL;
    return rc < 0 ? -1 : 1;
}

static int initial_step(struct trainer_load *l, struct fis_error *e)
{
    const struct config *cfg = l->ctx->cfg;
    int rc = cfg->initial.source == CONFIG_FILE ? initial_file(l, e) : initial_topic(l, e);
    if (rc <= 0)
        return rc;
    const struct wire_schema *schema = &l->ctx->pipeline.schema;
    uint32_t by_class[FIS_MAX_CLASSES] = {0};
    for (uint32_t i = 0; i < l->initial_rows.n; i++)
        by_class[l->initial_rows.labels[i]]++;
    log_line(LOG_LEVEL_INFO, "initial", "rows=%u features=%u", l->initial_rows.n,
             l->initial_rows.d);
    for (uint32_t k = 0; k < schema->n_classes; k++)
        if (!by_class[k])
            log_line(LOG_LEVEL_WARN, "class_unseen",
                     "class=\"%s\" text=\"no initial example has this class: it is unseen until "
                     "labels bring it\"",
                     schema->classes[k]);
    return 1;
}

static int validation_file(struct trainer_load *l, struct fis_error *e)
{
    return trainer_files_validation(&l->ctx->pipeline, &l->encoder, &l->validation_rows, e) < 0 ? -1
                                                                                                : 1;
}

static int validation_topic(struct trainer_load *l, struct fis_error *e)
{
    bool changed;
    if (!l->validation && example_topic_open(&l->validation, l->ctx, l->ctx->cfg->topics.validation,
                                             &l->ctx->pipeline.validation, 1, e) < 0)
        return -1;
    if (example_topic_turn(l->validation, &changed, e) < 0)
        return -1;
    if (!example_topic_complete(l->validation))
        return 0;
    if (example_topic_count(l->validation) == 0)
        return fis_fail(e, FIS_FATAL, "topic %s: there is no validation example to judge on",
                        l->ctx->cfg->topics.validation);
    return example_topic_build(l->validation, l->encoder, &l->validation_rows, e) < 0 ? -1 : 1;
}

static int restore(struct trainer_load *l, struct fis_error *e)
{
    struct trainer_time now = context_now();
    const struct wire_trainer_state *s = memory_state(l->memory);
    static const char *const phases[] = {"none", "collect", "label", "done"};
    if (memory_apply(l->memory, l->role, now, e) < 0)
        return -1;
    const char *trouble = memory_checkpoint_trouble(l->memory);
    l->restore_ms = context_now().mono_ms - l->began_ms;
    l->entries = memory_entries(l->memory);
    l->bytes = memory_bytes(l->memory);
    log_line(LOG_LEVEL_INFO, "restored",
             "round=%u phase=%s head=%llu served=%llu entries=%llu bytes=%llu took_ms=%llu "
             "checkpoint=%s%s%s%s",
             s->round, phases[s->phase], (unsigned long long)s->head_version,
             (unsigned long long)s->served_version, (unsigned long long)memory_entries(l->memory),
             (unsigned long long)memory_bytes(l->memory),
             (unsigned long long)(context_now().mono_ms - l->began_ms), *trouble ? "no" : "yes",
             *trouble ? " reason=\"" : "", trouble, *trouble ? "\"" : "");
    return 0;
}

static int hand_over(struct trainer_load *l, struct fis_error *e)
{
    struct trainer_role_options o;
    struct fis_rows rows = trainer_rows(&l->validation_rows);
    const struct data_examples *x = &l->initial_rows;
    pipeline_trainer(&l->ctx->pipeline, rows.n, l->validation_rows.names.n, &o);
    l->role = trainer_role_new(&o, l->encoder, &l->out, e);
    if (!l->role)
        return -1;
    for (uint32_t i = 0; i < x->n; i++)
        if (trainer_role_initial(l->role, x->x + (size_t)i * x->d, x->labels[i], e) < 0)
            return -1;
    if (trainer_role_validation(l->role, &rows, l->validation_rows.names.n, e) < 0)
        return fis_error_prefix(e, "validation set");
    observe_groups(&l->ctx->observer, (const char *const *)l->validation_rows.names.names,
                   l->validation_rows.names.n);
    return memory_found(l->memory) ? restore(l, e) : 0;
}

/* Of a file, when it was last written. */
static void tell_age(const struct trainer_load *l)
{
    const struct config_validation *v = &l->ctx->cfg->validation;
    struct stat st;
    int64_t ms = 0;
    if (v->source != CONFIG_FILE)
        ms = example_topic_newest(l->validation);
    else if (stat(v->file, &st) == 0)
        ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    observe_validation(&l->ctx->observer, ms);
}

static int validation_step(struct trainer_load *l, struct fis_error *e)
{
    int rc = l->ctx->cfg->validation.source == CONFIG_FILE ? validation_file(l, e)
                                                           : validation_topic(l, e);
    if (rc <= 0)
        return rc;
    tell_age(l);
    log_line(LOG_LEVEL_INFO, "validation", "rows=%u groups=%u", l->validation_rows.n,
             l->validation_rows.names.n);
    if (l->validation_rows.n < l->ctx->cfg->gate.min_rows)
        log_line(LOG_LEVEL_WARN, "validation",
                 "rows=%u wanted=%u text=\"too few to judge by: labels will be asked for, but no "
                 "version after the first will be published (gate.min_rows)\"",
                 l->validation_rows.n, l->ctx->cfg->gate.min_rows);
    return hand_over(l, e) < 0 ? -1 : 1;
}

int trainer_load_turn(struct trainer_load *l, struct fis_error *e)
{
    for (;;) {
        int rc = 0;
        switch (l->step) {
        case LOAD_ENCODER:
            rc = encoder_step(l, e);
            break;
        case LOAD_INITIAL:
            rc = initial_step(l, e);
            break;
        case LOAD_VALIDATION:
            rc = validation_step(l, e);
            break;
        case LOAD_DONE:
            return 0;
        }
        if (rc <= 0)
            return rc;
        l->step++;
    }
}

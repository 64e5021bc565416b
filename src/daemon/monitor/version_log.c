#include "daemon/monitor/version_log.h"

#include <stdio.h>
#include <string.h>

#include "fis/gate.h"
#include "fis/mem.h"
#include "wire/model.h"

#define HELD 4 /* of a unit: a round's, and those of commands */

struct version_log {
    struct version_info held[HELD];
    uint32_t n_held;
    struct version_info kept[VERSION_LOG_MAX]; /* a ring */
    uint32_t count, next;
    uint64_t newest;
    struct version_reason reasons[VERSION_LOG_REASONS];
    uint32_t n_reasons, rejected_in_row;
    char rejected_as[32];
};

struct version_log *version_log_new(struct fis_error *e)
{
    struct version_log *l = fis_calloc(1, sizeof *l);
    if (!l)
        fis_fail(e, FIS_NOMEM, "no memory for the list of versions");
    return l;
}

void version_log_free(struct version_log *l)
{
    for (uint32_t i = 0; l && i < VERSION_LOG_MAX; i++)
        byte_buffer_done(&l->kept[i].model);
    if (l)
        version_log_settle(l, false);
    fis_free(l);
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void fill(struct version_info *v, const struct wire_model *m)
{
    *v = (struct version_info){
        .version = m->version,
        .parent = m->parent,
        .created_at_ms = m->created_at_ms,
        .served = m->served != 0,
        .epsilon = m->epsilon,
        .val0 = m->val0,
        .floor = m->floor,
        .difference = m->difference,
        .difference_se = m->difference_se,
        .detectable = m->detectable,
        .undetectable = m->undetectable,
        .interpolation = m->interpolation,
        .looks = m->looks,
        .smallest_cell = m->smallest_cell,
        .round = m->round,
        .warn_cell = m->warn_cell,
        .labels_bought = m->labels_bought,
        .labels_kept = m->labels_kept,
        .head_version = m->head_version,
        .metrics = m->metrics,
        .anchor = m->anchor,
        .intervals = m->intervals,
    };
    copy(v->verdict, sizeof v->verdict, m->verdict);
    copy(v->reason, sizeof v->reason, m->reason);
    copy(v->text, sizeof v->text, m->reason_text);
    copy(v->metric, sizeof v->metric, m->metric);
    copy(v->algorithm, sizeof v->algorithm, m->algorithm);
    if (wire_model_encode(m, &v->model, NULL))
        byte_buffer_done(&v->model); /* without memory its figures are shown all the same */
}

static void count_reason(struct version_log *l, const struct version_info *v)
{
    uint32_t i = 0;
    while (i < l->n_reasons && (strcmp(l->reasons[i].verdict, v->verdict) != 0 ||
                                strcmp(l->reasons[i].reason, v->reason) != 0))
        i++;
    if (i == VERSION_LOG_REASONS)
        i--; /* more than there are names for: the last stands for all others */
    if (i == l->n_reasons) {
        memcpy(l->reasons[i].verdict, v->verdict, sizeof v->verdict);
        memcpy(l->reasons[i].reason, v->reason, sizeof v->reason);
        l->n_reasons++;
    }
    l->reasons[i].count++;
}

static void count_row(struct version_log *l, const struct version_info *v)
{
    if (!v->served && strcmp(v->reason, fis_gate_reason_name(FIS_GATE_PINNED)) == 0)
        return;
    l->rejected_in_row = v->served ? 0 : l->rejected_in_row + 1;
    copy(l->rejected_as, sizeof l->rejected_as, v->served ? "" : v->reason);
}

/* Drops the oldest models that there is no room for; never the newest and what is served. */
static void make_room(struct version_log *l)
{
    const struct version_info *served = version_log_served(l);
    size_t bytes = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        struct version_info *v = &l->kept[(l->next + VERSION_LOG_MAX - 1 - i) % VERSION_LOG_MAX];
        bytes += v->model.capacity;
        if (bytes <= VERSION_LOG_BYTES || i == 0 || v == served)
            continue;
        bytes -= v->model.capacity;
        byte_buffer_done(&v->model);
    }
}

/* Takes the model. */
static void add(struct version_log *l, struct version_info *info)
{
    if (info->version <= l->newest) {
        byte_buffer_done(&info->model);
        return;
    }
    struct version_info *v = &l->kept[l->next];
    byte_buffer_done(&v->model);
    *v = *info;
    info->model = (struct byte_buffer){0};
    l->newest = v->version;
    l->next = (l->next + 1) % VERSION_LOG_MAX;
    if (l->count < VERSION_LOG_MAX)
        l->count++;
    count_row(l, v);
    count_reason(l, v);
    make_room(l);
}

void version_log_add(struct version_log *l, const struct wire_model *m)
{
    struct version_info v;
    fill(&v, m);
    add(l, &v);
}

void version_log_hold(struct version_log *l, const struct wire_model *m)
{
    if (l->n_held == HELD) /* more commands than anybody gives: the oldest is not waited for */
        version_log_settle(l, true);
    fill(&l->held[l->n_held++], m);
}

void version_log_settle(struct version_log *l, bool committed)
{
    for (uint32_t i = 0; i < l->n_held; i++) {
        if (committed)
            add(l, &l->held[i]);
        byte_buffer_done(&l->held[i].model);
    }
    l->n_held = 0;
}

uint32_t version_log_count(const struct version_log *l)
{
    return l->count;
}

const struct version_info *version_log_at(const struct version_log *l, uint32_t i)
{
    return i < l->count ? &l->kept[(l->next + VERSION_LOG_MAX - 1 - i) % VERSION_LOG_MAX] : NULL;
}

const struct version_info *version_log_find(const struct version_log *l, uint64_t version)
{
    const struct version_info *v;
    for (uint32_t i = 0; (v = version_log_at(l, i)); i++)
        if (v->version == version)
            return v;
    return NULL;
}

const struct version_info *version_log_served(const struct version_log *l)
{
    const struct version_info *v;
    for (uint32_t i = 0; (v = version_log_at(l, i)); i++)
        if (v->served)
            return v;
    return NULL;
}

const struct version_reason *version_log_reasons(const struct version_log *l, uint32_t *n)
{
    *n = l->n_reasons;
    return l->reasons;
}

uint32_t version_log_rejected_in_row(const struct version_log *l)
{
    return l->rejected_in_row;
}

const char *version_log_rejected_as(const struct version_log *l)
{
    return l->rejected_as;
}

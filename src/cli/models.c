#include "cli/models.h"

#include <math.h>
#include <string.h>

#include "cli/options.h"
#include "cli/screen.h"
#include "fis/mem.h"

enum { OPEN_VERSIONS = 8 };

int models_init(struct models *m, struct fis_error *e)
{
    *m = (struct models){.assembler = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0)};
    return m->assembler ? 0 : fis_fail(e, FIS_NOMEM, "no memory for model versions");
}

void models_done(struct models *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        wire_model_done(&m->items[i]);
    fis_free(m->items);
    if (m->assembler)
        wire_assembler_free(m->assembler);
    *m = (struct models){0};
}

static int refuse(struct models *m, const struct fis_error *why)
{
    if (!m->refused++)
        m->first = *why;
    return 0;
}

/* Where the version stands or belongs. */
static uint32_t place(const struct models *m, uint64_t version)
{
    uint32_t i = m->n;
    while (i > 0 && m->items[i - 1].model.version >= version)
        i--;
    return i;
}

static int insert(struct models *m, struct wire_model_owned *take, struct fis_error *e)
{
    uint32_t i = place(m, take->model.version);
    if (i < m->n && m->items[i].model.version == take->model.version) {
        wire_model_done(&m->items[i]);
        m->items[i] = *take;
        return 0;
    }
    if (!fis_more(&m->items, m->n, sizeof *m->items)) {
        wire_model_done(take);
        return fis_fail(e, FIS_NOMEM, "no memory for %u model versions", m->n + 1);
    }
    memmove(m->items + i + 1, m->items + i, (m->n - i) * sizeof *m->items);
    m->items[i] = *take;
    m->n++;
    return 0;
}

int models_take(struct models *m, const struct stream_message *message,
                const struct wire_model **version, struct fis_error *e)
{
    struct wire_bytes payload;
    struct wire_model_owned decoded;
    struct fis_error why;
    uint64_t number;
    int rc = wire_assembler_feed(m->assembler,
                                 (struct wire_bytes){message->value, message->value_length},
                                 &payload, &number, &why);
    if (rc > 0)
        rc = wire_model_decode(payload, &decoded, &why) ? -(int)why.kind : 1;
    if (rc == -FIS_NOMEM)
        return fis_fail(e, FIS_NOMEM, "%s", why.text);
    if (rc < 0)
        return refuse(m, &why);
    if (!rc)
        return 0;
    number = decoded.model.version;
    rc = insert(m, &decoded, e);
    if (!rc && version)
        *version = models_version(m, number);
    return rc ? rc : 1;
}

static int take(void *arg, const struct stream_message *m, struct fis_error *e)
{
    int rc = models_take(arg, m, NULL, e);
    return rc < 0 ? rc : 0;
}

int models_read(struct models *m, struct cli *c, struct fis_error *e)
{
    return topic_reader_all(c, c->cfg.topics.models, take, m, e);
}

const struct wire_model *models_version(const struct models *m, uint64_t version)
{
    uint32_t i = place(m, version);
    return i < m->n && m->items[i].model.version == version ? &m->items[i].model : NULL;
}

const struct wire_model *models_served(const struct models *m)
{
    for (uint32_t i = m->n; i > 0; i--)
        if (m->items[i - 1].model.served)
            return &m->items[i - 1].model;
    return NULL;
}

const char *models_verdict(const struct wire_model *m)
{
    return m->served ? "served" : "rejected";
}

const char *models_reason(const struct wire_model *m, char out[64])
{
    snprintf(out, 64, "%s", m->reason ? m->reason : "");
    for (char *p = out; *p; p++)
        if (*p == '_')
            *p = ' ';
    screen_clean(out);
    return out;
}

const char *models_metric(const struct fis_metrics *m, const struct fis_metrics_intervals *in,
                          enum wire_metric metric, char out[48])
{
    char v[16], low[16], high[16];
    const double value = wire_metric_of(m, metric);
    const struct fis_interval *i = wire_interval_of(in, metric);
    screen_rate(value, v);
    if (isfinite(value) && isfinite(i->low) && isfinite(i->high))
        snprintf(out, 48, "%s [%s, %s]", v, screen_rate(i->low, low), screen_rate(i->high, high));
    else
        snprintf(out, 48, "%s", v);
    return out;
}

const struct wire_model *models_chosen(const struct models *m, const char *text,
                                       struct fis_error *e)
{
    uint64_t number;
    const struct wire_model *v = NULL;
    if (!m->n) {
        fis_fail(e, FIS_INPUT, "there are no versions yet; fisctl doctor finds the reason");
        return NULL;
    }
    if (!strcmp(text, "served")) {
        v = models_served(m);
        if (!v)
            fis_fail(e, FIS_INPUT, "no version has been served yet");
    } else if (cli_count(text, &number)) {
        fis_fail(e, FIS_INPUT, "version: found '%s', allowed a number or served", text);
    } else {
        v = models_version(m, number);
        if (!v)
            fis_fail(e, FIS_INPUT, "there is no version %s; the newest is %llu", text,
                     (unsigned long long)m->items[m->n - 1].model.version);
    }
    return v;
}

#include "cli/live_head.h"

#include <string.h>

#include "config/schema.h"
#include "wire/head.h"

static int take(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct live_head *h = arg;
    struct wire_head_owned owned;
    struct wire_bytes payload;
    struct fis_error why;
    uint64_t version;
    int rc = wire_assembler_feed(h->assembler, (struct wire_bytes){m->value, m->value_length},
                                 &payload, &version, &why);
    if (rc > 0)
        rc = wire_head_decode(payload, &owned, &why) < 0 ? -(int)why.kind : 1;
    if (rc <= 0) {
        h->bad += rc < 0;
        return rc == -FIS_NOMEM ? fis_fail(e, FIS_NOMEM, "%s", why.text) : 0;
    }
    const struct wire_selection ours = config_selection(&h->cli->cfg);
    scoring_selection(&owned.head, &ours, h->difference);
    struct scoring_head *fresh = scoring_head_take(&owned);
    wire_head_done(&owned);
    if (!fresh)
        return fis_fail(e, FIS_NOMEM, "no memory for a head");
    scoring_head_unref(h->head);
    h->head = fresh;
    fis_scratch_free(h->scratch);
    h->scratch = fis_scratch_new(fis_panel_shape(fresh->panel), 1, FIS_DIRECTIONS);
    return h->scratch ? scoring_batch_prepare(&h->batch, fresh, NULL, e)
                      : fis_fail(e, FIS_NOMEM, "no memory for a head");
}

int live_head_follow(struct live_head *h, struct fis_error *e)
{
    struct stream_message m;
    int rc;
    while ((rc = topic_reader_next(&h->reader, 0, &m, e)) > 0)
        if ((rc = take(h, &m, e)) < 0)
            return rc;
    return rc;
}

int live_head_open(struct live_head *h, struct cli *c, struct fis_error *e)
{
    const char *topic = c->cfg.topics.heads;
    *h = (struct live_head){.cli = c, .schema = c->schema};
    h->schema.label_column = NULL;
    h->schema.sensitive = NULL;
    h->schema.n_sensitive = 0;
    h->options = (struct scoring_options){
        .schema = &h->schema,
        .encoding = c->records_encoding,
        .criteria = {.acquisition = fis_acquisition_find(
                         config_choice("selection.algorithm", c->cfg.selection.algorithm)),
                     .strategy = (int)c->cfg.selection.strategy},
        .capacity = 1,
    };
    h->assembler = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    int rc = h->options.encoding == WIRE_REGISTRY ? cli_schemas_open(&h->schemas, c, e) : 0;
    if (rc)
        return rc;
    rc = h->assembler ? scoring_batch_init(&h->batch, &h->options, e)
                      : fis_fail(e, FIS_NOMEM, "no memory for heads");
    if (!rc)
        rc = topic_reader_open(&h->reader, c, &topic, 1, e);
    if (!rc)
        rc = topic_reader_to_end(&h->reader, topic, take, h, e);
    return rc || h->head ? rc : fis_fail(e, FIS_INPUT, "%s: no trainer has sent a head yet", topic);
}

void live_head_close(struct live_head *h)
{
    topic_reader_close(&h->reader);
    scoring_batch_done(&h->batch);
    cli_schemas_close(&h->schemas);
    scoring_head_unref(h->head);
    fis_scratch_free(h->scratch);
    if (h->assembler)
        wire_assembler_free(h->assembler);
    *h = (struct live_head){0};
}

int live_head_score(struct live_head *h, const struct wire_message *m, struct live_score *out,
                    struct fis_error *e)
{
    struct scoring_batch *b = &h->batch;
    int rc = scoring_batch_prepare(b, h->head, NULL, e);
    if (rc)
        return rc;
    b->messages[0] = *m;
    b->n = 1;
    if (b->formats) {
        rc = cli_schemas_find(&h->schemas, m->value, &b->formats[0], &b->errors[0]);
        if (rc && b->errors[0].kind != FIS_INPUT)
            return fis_fail(e, b->errors[0].kind, "%s", b->errors[0].text);
    }
    scoring_run(b);
    *out = (struct live_score){.status = b->status[0], .head = h->head->version};
    if (out->status == WIRE_BAD)
        out->why = b->errors[0];
    if (out->status != WIRE_OK)
        return 0;
    struct wire_candidate k = scoring_candidate(b, 0);
    out->id = k.id;
    out->x = k.x;
    memcpy(out->scores, scoring_scores(b, 0), sizeof out->scores);
    fis_influence_batch(h->head->panel, k.x, 1, h->scratch, out->p, out->accuracy, out->fairness);
    for (uint32_t i = 1; i < h->schema.n_classes; i++)
        out->best = out->p[i] > out->p[out->best] ? i : out->best;
    return 0;
}

uint32_t live_head_criteria(const struct live_head *h)
{
    return fis_criteria_count(h->options.criteria.acquisition);
}

const char *live_head_criterion(const struct live_head *h, uint32_t i)
{
    return fis_criterion_name(h->options.criteria.acquisition, i);
}

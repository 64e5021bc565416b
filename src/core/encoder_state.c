#include "encoder_impl.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

size_t fis_encoder_feature_name(const struct fis_encoder *enc, uint32_t feature, char *buf,
                                size_t size)
{
    assert(enc->finished && feature < enc->d);
    if (feature >= enc->d - enc->tree_margins)
        return (size_t)snprintf(buf, size, "(base)");
    uint32_t low = 0, high = enc->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (enc->columns[middle].first <= feature)
            low = middle;
        else
            high = middle;
    }
    const struct encoder_column *c = &enc->columns[low];
    uint32_t k = feature - c->first;
    int n;
    if (c->pub.type == FIS_NUMERIC)
        n = snprintf(buf, size, k == 0 ? "%s" : "%s=(missing)", c->pub.name);
    else
        n = snprintf(buf, size, "%s=%s", c->pub.name,
                     k < c->n_categories    ? c->categories[k].text
                     : k == c->n_categories ? "(unseen)"
                                            : "(missing)");
    return n < 0 ? 0 : (size_t)n;
}

void fis_encoder_state(const struct fis_encoder *enc, uint32_t column,
                       struct fis_encoder_column_state *out)
{
    assert(enc->finished && column < enc->n);
    const struct encoder_column *c = &enc->columns[column];
    *out = (struct fis_encoder_column_state){
        .column = c->pub,
        .mean = c->mean,
        .deviation = c->deviation,
        .missing_indicator = c->missing_indicator,
        .n_categories = c->n_categories,
        .categories = c->texts,
    };
}

static int take_numeric(struct encoder_column *c, const struct fis_encoder_column_state *s,
                        struct fis_error *e)
{
    if (s->n_categories)
        return fis_fail(e, FIS_INPUT, "column %s: numeric, but with categories", c->pub.name);
    if (!isfinite(s->mean) || !isfinite(s->deviation) || !(s->deviation > 0.0))
        return fis_fail(e, FIS_INPUT,
                        "column %s: mean %g and deviation %g, finite and above 0 expected",
                        c->pub.name, s->mean, s->deviation);
    if (s->missing_indicator && c->pub.scale != FIS_SCALE_STANDARD)
        return fis_fail(e, FIS_INPUT, "column %s: not scaled, but with a missing indicator",
                        c->pub.name);
    c->mean = s->mean;
    c->deviation = s->deviation;
    c->missing_indicator = s->missing_indicator != 0;
    return 0;
}

static int take_categories(struct encoder_column *c, const struct fis_encoder_column_state *s,
                           struct fis_error *e)
{
    if (s->missing_indicator)
        return fis_fail(e, FIS_INPUT, "column %s: categorical, but with a missing indicator",
                        c->pub.name);
    c->deviation = 1.0;
    for (uint32_t k = 0; k < s->n_categories; k++) {
        /* An index is a category's meaning: a list in another order would be another encoder. */
        if (k > 0 && strcmp(s->categories[k - 1], s->categories[k]) >= 0)
            return fis_fail(e, FIS_INPUT, "column %s: category %u is not after the one before it",
                            c->pub.name, k);
        int rc = fis_encoder_insert(c, k, s->categories[k], strlen(s->categories[k]), e);
        if (rc)
            return rc;
    }
    return 0;
}

static int take_states(struct fis_encoder *enc, const struct fis_encoder_column_state *states,
                       struct fis_error *e)
{
    for (uint32_t i = 0; i < enc->n; i++) {
        struct encoder_column *c = &enc->columns[i];
        int rc = c->pub.type == FIS_NUMERIC ? take_numeric(c, &states[i], e)
                                            : take_categories(c, &states[i], e);
        if (rc)
            return rc;
    }
    return fis_encoder_freeze(enc, e);
}

struct fis_encoder *fis_encoder_from_states(const struct fis_encoder_column_state *states,
                                            uint32_t n, struct fis_error *e)
{
    return fis_encoder_over_trees(states, n, 0, e);
}

struct fis_encoder *fis_encoder_over_trees(const struct fis_encoder_column_state *states,
                                           uint32_t n, uint32_t margins, struct fis_error *e)
{
    struct fis_column *columns = fis_calloc(n ? n : 1, sizeof *columns);
    if (!columns) {
        fis_fail(e, FIS_NOMEM, "no memory for an encoder of %u columns", n);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        columns[i] = states[i].column;
    struct fis_encoder *enc = fis_encoder_new(columns, n, UINT32_MAX, e);
    fis_free(columns);
    if (enc && (fis_encoder_expect_trees(enc, margins, e) || take_states(enc, states, e))) {
        fis_encoder_free(enc);
        enc = NULL;
    }
    return enc;
}

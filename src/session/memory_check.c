#include "session/memory_impl.h"

#include "base/decimal.h"
#include "base/planted.h"

/* ---- whose it is ---------------------------------------------------------------------------- */

/* What an earlier program wrote says it by the newest head and served version. */
static int facts_of_versions(const struct memory *m, struct identity *out, struct fis_error *e)
{
    const struct wire_model *v = &m->served.model;
    const struct fis_encoder *enc = m->head.encoder;
    struct fis_column *columns = NULL;
    *out = (struct identity){0};
    if (!v->params)
        return 0;
    struct identity_source from = {
        .pipeline = v->pipeline,
        .classes = v->classes,
        .n_classes = v->n_classes,
        .positive = v->classes[v->positive],
        .metric = v->metric,
        .algorithm = v->algorithm,
        .hidden = v->shape.width + 1,
        .n_hidden = v->shape.n_layers - 1,
        .n_columns = enc ? fis_encoder_columns(enc) : 0,
    };
    if (from.n_columns && !(columns = fis_alloc(from.n_columns, sizeof *columns)))
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", from.n_columns);
    for (uint32_t i = 0; i < from.n_columns; i++)
        columns[i] = *fis_encoder_column(enc, i);
    from.columns = columns;
    int rc = identity_init(out, &from, e);
    fis_free(columns);
    return rc;
}

static int check_owner(const struct memory *m, enum memory_topic t, const char *theirs,
                       const struct identity *ours, struct fis_error *e)
{
    const struct wire_fact owner = {ours->facts[0].name, theirs};
    return theirs ? identity_compare(ours, &owner, 1, NULL, m->topics[t], e) : 0;
}

static int compare_state(struct memory *m, const struct identity *ours, const char *accept,
                         struct fis_error *e)
{
    struct wire_ledger_item item;
    struct identity own = {0};
    const struct kept *k = memory_kept_state(m);
    item.state.identity.n_facts = 0;
    int rc = k ? memory_decode(m, k, &m->arena, &item, e) : 0;
    struct wire_identity theirs = item.state.identity;
    if (rc == 0 && !theirs.n_facts) {
        rc = facts_of_versions(m, &own, e);
        theirs = identity_view(&own);
    }
    if (rc == 0)
        rc = identity_compare(ours, theirs.facts, theirs.n_facts, accept, m->topics[MEMORY_LEDGER],
                              e);
    identity_done(&own);
    return rc;
}

int memory_compare(struct memory *m, const struct identity *ours, const char *accept,
                   struct fis_error *e)
{
    if (!m->changed)
        return 0;
    int rc = compare_state(m, ours, accept, e);
    if (rc == 0)
        rc = check_owner(m, MEMORY_HEADS, m->head.head.pipeline, ours, e);
    if (rc == 0)
        rc = check_owner(m, MEMORY_MODELS, m->served.model.pipeline, ours, e);
    m->changed = rc != 0;
    return rc;
}

int memory_identity(const struct memory *m, struct identity *own, struct wire_identity *out,
                    struct fis_error *e)
{
    *own = (struct identity){0};
    *out = m->have_state ? m->state.identity : (struct wire_identity){0};
    if (out->n_facts)
        return 0;
    int rc = facts_of_versions(m, own, e);
    *out = identity_view(own);
    return rc;
}

/* ---- concluding ---------------------------------------------------------------------------- */

static int check_there(const struct memory *m, const struct wire_trainer_state *s,
                       struct fis_error *e)
{
    if (!m->head.slabs || (m->head.head.version < s->head_version && !PLANTED(tail_unnoticed)))
        return fis_fail(e, FIS_FATAL, "%s: head %llu of the ledger is not there (newest: %llu)",
                        m->topics[MEMORY_HEADS], (unsigned long long)s->head_version,
                        (unsigned long long)m->head.head.version);
    if ((m->served.model.version < s->served_version && !PLANTED(tail_unnoticed)) ||
        !m->served.model.params)
        return fis_fail(e, FIS_FATAL, "%s: served version %llu of the ledger is not there",
                        m->topics[MEMORY_MODELS], (unsigned long long)s->served_version);
    if (!m->not_atomic && m->newest_version < s->model_version && !PLANTED(tail_unnoticed))
        return fis_fail(e, FIS_FATAL, "%s: version %llu of the ledger is not there (newest: %llu)",
                        m->topics[MEMORY_MODELS], (unsigned long long)s->model_version,
                        (unsigned long long)m->newest_version);
    return 0;
}

static int check_newer(const struct memory *m, enum memory_topic t, uint64_t there, uint64_t ledger,
                       struct fis_error *e)
{
    const char *what = t == MEMORY_HEADS ? "head" : "version";
    if (m->not_atomic || there <= ledger)
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s: %s %llu is newer than the ledger %s, which knows %llu at most: the topics "
                    "are of different times. Recreate ledger, heads and models and restore all "
                    "three from one backup",
                    m->topics[t], what, (unsigned long long)there, m->topics[MEMORY_LEDGER],
                    (unsigned long long)ledger);
}

/* Without a state nothing can be there: the first one goes out with the first head and version. */
static int check_times(const struct memory *m, const struct wire_trainer_state *s,
                       struct fis_error *e)
{
    uint64_t head = s ? s->head_version : 0, version = s ? s->model_version : 0;
    int rc = check_newer(m, MEMORY_MODELS, m->newest_version, version, e);
    return rc ? rc : check_newer(m, MEMORY_HEADS, m->head.head.version, head, e);
}

/* In at_least_once a crash may leave what was sent before the first state. A transaction that was
 * aborted leaves offsets and nothing else. */
static int check_new(const struct memory *m, struct fis_error *e)
{
    uint64_t entries = HASH_COUNT(m->ledger);
    if (m->begin <= 0 && (m->not_atomic || !m->written))
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "%s holds %llu %s and no state, but was written before (it begins at "
                    "offset %lld): messages were deleted. Recreate ledger, heads and models and "
                    "restore all three from one backup; without one the pipeline starts from the "
                    "beginning",
                    m->topics[MEMORY_LEDGER], (unsigned long long)entries,
                    decimal_agree(entries, "entry", "entries"),
                    (long long)(m->begin > 0 ? m->begin : 0));
}

int memory_conclude(struct memory *m, struct fis_error *e)
{
    struct wire_ledger_item item;
    const struct kept *k = memory_kept_state(m);
    m->have_state = false;
    if (!k) {
        int new = check_times(m, NULL, e);
        return new ? new : check_new(m, e);
    }
    int rc = memory_decode(m, k, &m->state_arena, &item, e);
    if (rc == 0)
        rc = check_there(m, &item.state, e);
    if (rc == 0)
        rc = check_times(m, &item.state, e);
    if (rc < 0)
        return rc;
    m->state = item.state;
    m->have_state = true;
    return 0;
}

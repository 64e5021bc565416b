/* What a scorer shows. */
#include "daemon/scorer/scorer_host_impl.h"

uint32_t scorer_host_status(struct scorer_host *h, struct scorer_status *out, struct lag *lags,
                            uint32_t n)
{
    out->open = true;
    out->pool = h->pool;
    out->owned = h->owned;
    out->lag = h->owned ? stream_consumer_lag(h->records) : -1;
    out->counts = *scorer_counts(h->machine);
    out->dead = &h->dead;
    out->left_out = h->left_out;
    out->head_version = h->head ? h->head->version : 0;
    out->outstanding = stream_producer_outstanding(h->producer);
    out->waits_for = stream_producer_waits_for(h->producer);
    for (uint32_t i = 0; i < h->n_slots; i++)
        out->batches_in_flight += h->slots[i].read->count > 0;
    scorer_drift_show(h, &out->drift);
    if (h->schemas) {
        scorer_schemas_status(h->schemas, &out->registry);
        out->registry.on = true;
        out->registry.waiting = scorer_host_waiting(h);
    }
    out->batch_records = &h->batch_records;
    out->batch_seconds = &h->batch_seconds;
    out->latency_seconds = &h->latency_seconds;
    return lags_of(h->records, "scorer", h->topics, lags, n);
}

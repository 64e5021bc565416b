#include "daemon/trainer/trainer_status.h"

#include <string.h>

#include "daemon/trainer/trainer_host_impl.h"

static void show_refused(struct trainer_host *h, const struct session_status *s,
                         struct trainer_status *out)
{
    for (int k = 0; k < SESSION_BAD; k++) {
        memcpy(h->dead[k].n, s->refused[k], sizeof h->dead[k].n);
        out->dead[k] = &h->dead[k];
    }
    out->dead_labels = dead_counts_sum(&h->dead[SESSION_BAD_LABELS]);
    out->dead_offers = dead_counts_sum(&h->dead[SESSION_BAD_OFFERS]);
    out->dead_commands = dead_counts_sum(&h->dead[SESSION_BAD_COMMANDS]);
}

uint32_t trainer_host_status(struct trainer_host *h, struct trainer_status *out, struct lag *lags,
                             uint32_t n)
{
    struct session_status s;
    uint64_t now = context_now().mono_ms;
    session_status(h->session, &s);
    out->state = s.state;
    out->warm = s.warm;
    out->state_ms = now - s.since_ms;
    out->takeovers = s.led;
    out->ledger_entries = s.entries;
    out->ledger_bytes = s.bytes;
    if (h->outbox)
        out->outstanding = outbox_outstanding(h->outbox);
    out->running = s.running;
    if (!s.running)
        return 0;
    if (!s.busy)
        trainer_snapshot_take(&h->shown, session_role(h->session), now, out->want_best);
    trainer_snapshot_show(&h->shown, now, out);
    out->restore_ms = s.restore_ms;
    out->read = s.read;
    show_refused(h, &s, out);
    uint32_t found = kafka_reader_lags(h->readers[SESSION_READ_INPUT], lags, n);
    return found + kafka_reader_lags(h->readers[SESSION_READ_COMMANDS], lags + found, n - found);
}

/* The selector's memory, kept elsewhere: what is reported of it, and how it is taken back. */
#include "core/selector_impl.h"

bool fis_selector_changed(const struct fis_selector *s)
{
    return s->known.list[LIST_CHANGED].first != NULL;
}

void fis_selector_changes(struct fis_selector *s, void (*gone)(void *arg, const struct fis_id *id),
                          void (*held)(void *arg, const struct fis_candidate *c), void *arg)
{
    struct fis_request *r, *next;
    for (r = s->known.list[LIST_CHANGED].first; r; r = next) {
        next = r->newer;
        if (r->state != FIS_GONE)
            continue;
        gone(arg, &r->id);
        selector_move(s, entry_of(r), REQUEST_REPORT);
    }
    while ((r = s->known.list[LIST_CHANGED].first)) {
        struct fis_candidate c;
        selector_fill(s, entry_of(r), &c);
        held(arg, &c);
        selector_move(s, entry_of(r), REQUEST_REPORT);
    }
}

int fis_selector_restore_held(struct fis_selector *s, const struct fis_candidate *c,
                              struct fis_error *e)
{
    struct fis_candidate unscored = *c;
    struct entry *entry = known_find(&s->known, &c->id);
    if (entry && !request_may(entry->r.state, REQUEST_RECALL))
        return 0;
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        unscored.scores[i] = FIS_NOT_A_CANDIDATE;
    if (!(entry = selector_entry(s, &unscored, true, e)))
        return -FIS_NOMEM;
    selector_move(s, entry, REQUEST_RECALL);
    return 0;
}

/* What it became after it was asked for. */
static void restore_end(struct fis_selector *s, struct entry *entry, const struct fis_request *as)
{
    if (fis_is_given_up(as->state)) {
        fis_selector_give_up(s, &entry->r, as->state, as->refunded);
        return;
    }
    selector_answer(s, entry, as->class_index, as->state == FIS_ACCEPTED, as->round);
}

int fis_selector_restore(struct fis_selector *s, const struct fis_request *as, const float *x,
                         struct fis_request **r, struct fis_error *e)
{
    struct fis_candidate c = {.id = as->id, .x = x};
    struct entry *entry = known_find(&s->known, &as->id);
    enum fis_request_state known = entry ? entry->r.state : FIS_NONE;
    bool asks = request_may(known, REQUEST_ASK), answered = fis_is_answered(as->state);
    if (as->criterion >= s->n_heaps)
        return fis_fail(e, FIS_INPUT, "restored request %.*s: criterion %u: no such",
                        (int)as->id.length, as->id.bytes, as->criterion);
    if (asks && !(entry = selector_entry(s, &c, x && !answered, e)))
        return -FIS_NOMEM;
    if (asks)
        selector_open(s, entry, as->criterion, as->round, as->asked_at_ms);
    if (as->state != FIS_OPEN && request_may(entry->r.state, request_event_to(as->state)))
        restore_end(s, entry, as);
    *r = &entry->r;
    return 0;
}

int fis_selector_set_payload(struct fis_selector *s, struct fis_request *r, const void *payload,
                             size_t length, struct fis_error *e)
{
    struct entry *entry = entry_of(r);
    if (entry->slot == NO_SLOT)
        return 0;
    char *copy = fis_memdup(payload, length);
    if (!copy)
        return fis_fail(e, FIS_NOMEM, "selector: no memory for a request of %zu bytes", length);
    known_drop_payload(&s->known, entry);
    struct slot *slot = known_slot(&s->known, entry->slot);
    slot->payload = copy;
    slot->payload_length = length;
    return 0;
}

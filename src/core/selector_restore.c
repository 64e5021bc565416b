/* The selector's memory, kept elsewhere: what is to be told of it, and how it is taken back. */
#include "core/selector_impl.h"

#include <string.h>

int fis_selector_changed(const struct fis_selector *s)
{
    return s->known.changed_first != NULL;
}

void fis_selector_changes(struct fis_selector *s, void (*gone)(void *arg, const struct fis_id *id),
                          void (*held)(void *arg, const struct fis_candidate *c), void *arg)
{
    struct entry *entry, *next;
    for (entry = s->known.changed_first; entry; entry = next) {
        next = entry->changed_after;
        if (entry->state != KNOWN_GONE)
            continue;
        gone(arg, &entry->id);
        known_remove(&s->known, entry);
    }
    while ((entry = s->known.changed_first)) {
        struct fis_candidate c;
        selector_fill(s, entry, &c);
        held(arg, &c);
        entry->written = 1;
        known_told(&s->known, entry);
    }
}

/* Whether a state that comes before being asked is all that is known of it. */
static int never_asked(const struct entry *entry)
{
    return !entry || entry->state == KNOWN_HELD || entry->state == KNOWN_GONE;
}

int fis_selector_restore_held(struct fis_selector *s, const struct fis_candidate *c,
                              struct fis_error *e)
{
    struct fis_candidate unscored = *c;
    struct entry *entry = known_find(&s->known, &c->id);
    if (entry && entry->state != KNOWN_GONE)
        return 0;
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        unscored.scores[i] = FIS_NOT_A_CANDIDATE;
    if (!(entry = selector_entry(s, &unscored, 1, e)))
        return -FIS_NOMEM;
    known_told(&s->known, entry);
    entry->state = KNOWN_HELD;
    entry->written = 1;
    s->held++;
    return 0;
}

int fis_selector_restore(struct fis_selector *s, const struct fis_candidate *c, uint32_t criterion,
                         int64_t label, struct fis_error *e)
{
    struct entry *entry = known_find(&s->known, &c->id);
    if (criterion >= s->n_heaps || label > UINT32_MAX)
        return fis_fail(e, FIS_INPUT, "restored request %.*s: criterion %u, label %lld: no such",
                        (int)c->id.length, c->id.bytes, criterion, (long long)label);
    if (!never_asked(entry) &&
        (label < 0 || (entry->state != KNOWN_OPEN && entry->state != KNOWN_WITHDRAWN)))
        return 0; /* known already: told twice is told once */
    if (!(entry = selector_entry(s, c, label < 0, e)))
        return -FIS_NOMEM;
    if (entry->state != KNOWN_OPEN && entry->state != KNOWN_WITHDRAWN) {
        selector_let_go(s, entry);
        selector_count_request(s, entry, criterion, label < 0 && !s->restores_earlier);
    }
    if (label >= 0) {
        selector_count_answer(s, entry, (uint32_t)label, !s->restores_earlier);
        known_drop_slot(&s->known, entry);
        entry->state = KNOWN_DONE;
    }
    return 0;
}

int fis_selector_restore_withdrawn(struct fis_selector *s, const struct fis_candidate *c,
                                   uint32_t criterion, int refunded, struct fis_error *e)
{
    struct fis_candidate bare = *c;
    struct entry *entry = known_find(&s->known, &c->id);
    bare.payload = NULL;
    bare.payload_length = 0;
    if (criterion >= s->n_heaps)
        return fis_fail(e, FIS_INPUT, "restored request %.*s: criterion %u: no such",
                        (int)c->id.length, c->id.bytes, criterion);
    if (!never_asked(entry) && entry->state != KNOWN_OPEN)
        return 0;
    if (!(entry = selector_entry(s, &bare, c->x != NULL, e)))
        return -FIS_NOMEM;
    if (entry->state != KNOWN_OPEN) {
        selector_let_go(s, entry);
        selector_count_request(s, entry, criterion, 0);
    }
    selector_count_withdrawal(s, entry, refunded);
    return 0;
}

void fis_selector_restore_round(struct fis_selector *s, int current)
{
    s->restores_earlier = !current;
}

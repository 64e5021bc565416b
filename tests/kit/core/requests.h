/* Requests by id, as the selector's tests name them. */
#ifndef TESTS_KIT_CORE_REQUESTS_H
#define TESTS_KIT_CORE_REQUESTS_H

#include "fis/selector.h"

static inline enum fis_request_state state_of(const struct fis_selector *s, const struct fis_id *id)
{
    const struct fis_request *r = fis_selector_find(s, id);
    return r && r->state != FIS_GONE ? (enum fis_request_state)r->state : FIS_NONE;
}

/* Features of a request that may be answered. */
static inline bool peek(const struct fis_selector *s, const struct fis_id *id,
                        struct fis_candidate *c)
{
    const struct fis_request *r = fis_selector_find(s, id);
    return r && (r->state == FIS_OPEN || fis_is_given_up(r->state)) &&
           fis_selector_features(s, r, c);
}

static inline void answer_id(struct fis_selector *s, const struct fis_id *id, uint32_t label)
{
    fis_selector_answer(s, fis_selector_find(s, id), label, true);
}

static inline void give_up_id(struct fis_selector *s, const struct fis_id *id, bool refund)
{
    fis_selector_give_up(s, fis_selector_find(s, id), FIS_EXPIRED, refund);
}

/* As if it was asked for in round `round`, and came to `state`. */
static inline int restore_as(struct fis_selector *s, const struct fis_candidate *c,
                             uint32_t criterion, enum fis_request_state state, uint32_t round,
                             uint32_t label, bool refunded, struct fis_error *e)
{
    struct fis_request *r, as = {.id = c->id,
                                 .criterion = (uint8_t)criterion,
                                 .state = (uint8_t)state,
                                 .round = round,
                                 .class_index = label,
                                 .refunded = refunded};
    return fis_selector_restore(s, &as, c->x, &r, e);
}

#endif

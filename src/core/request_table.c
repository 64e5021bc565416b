#include "core/request_table.h"

#include <assert.h>

#define FORGET [REQUEST_FORGET] = 1 + FIS_NONE
#define ANSWERS                                                                                    \
    [REQUEST_ACCEPT] = 1 + FIS_ACCEPTED, [REQUEST_SET_ASIDE] = 1 + FIS_SET_ASIDE, FORGET

/* 1 + the next state; 0: it cannot happen. */
static const unsigned char table[FIS_REQUEST_STATES][REQUEST_EVENTS] = {
    [FIS_NONE] = {[REQUEST_OFFER] = 1 + FIS_HELD_NEW,
                  [REQUEST_RECALL] = 1 + FIS_HELD,
                  [REQUEST_ASK] = 1 + FIS_OPEN},
    [FIS_HELD_NEW] = {FORGET,
                      [REQUEST_EVICT] = 1 + FIS_NONE,
                      [REQUEST_REPORT] = 1 + FIS_HELD,
                      [REQUEST_ASK] = 1 + FIS_OPEN},
    [FIS_HELD_AGAIN] = {FORGET,
                        [REQUEST_EVICT] = 1 + FIS_GONE,
                        [REQUEST_REPORT] = 1 + FIS_HELD,
                        [REQUEST_ASK] = 1 + FIS_OPEN},
    [FIS_HELD] = {FORGET, [REQUEST_EVICT] = 1 + FIS_GONE, [REQUEST_ASK] = 1 + FIS_OPEN},
    [FIS_GONE] = {FORGET,
                  [REQUEST_OFFER] = 1 + FIS_HELD_AGAIN,
                  [REQUEST_REPORT] = 1 + FIS_NONE,
                  [REQUEST_RECALL] = 1 + FIS_HELD,
                  [REQUEST_ASK] = 1 + FIS_OPEN},
    [FIS_OPEN] = {ANSWERS, [REQUEST_EXPIRE] = 1 + FIS_EXPIRED, [REQUEST_SKIP] = 1 + FIS_SKIPPED,
                  [REQUEST_CANCEL] = 1 + FIS_CANCELLED, [REQUEST_TIE] = 1 + FIS_TIED},
    [FIS_ACCEPTED] = {FORGET},
    [FIS_SET_ASIDE] = {FORGET},
    [FIS_EXPIRED] = {ANSWERS},
    [FIS_SKIPPED] = {ANSWERS},
    [FIS_CANCELLED] = {ANSWERS},
    [FIS_TIED] = {ANSWERS},
};

#define GIVEN_UP                                                                                   \
    {                                                                                              \
        COUNT_GIVEN_UP, LIST_NONE, NEEDS_FEATURES, false                                           \
    }
static const struct request_traits traits[FIS_REQUEST_STATES] = {
    [FIS_NONE] = {COUNT_NONE, LIST_NONE, NEEDS_NOTHING, false},
    [FIS_HELD_NEW] = {COUNT_HELD, LIST_CHANGED, NEEDS_PAYLOAD, false},
    [FIS_HELD_AGAIN] = {COUNT_HELD, LIST_CHANGED, NEEDS_PAYLOAD, false},
    [FIS_HELD] = {COUNT_HELD, LIST_NONE, NEEDS_PAYLOAD, false},
    [FIS_GONE] = {COUNT_NONE, LIST_CHANGED, NEEDS_NOTHING, false},
    [FIS_OPEN] = {COUNT_OPEN, LIST_OPEN, NEEDS_PAYLOAD, true},
    [FIS_ACCEPTED] = {COUNT_ANSWERED, LIST_NONE, NEEDS_NOTHING, true},
    [FIS_SET_ASIDE] = {COUNT_ANSWERED, LIST_NONE, NEEDS_NOTHING, true},
    [FIS_EXPIRED] = GIVEN_UP,
    [FIS_SKIPPED] = GIVEN_UP,
    [FIS_CANCELLED] = GIVEN_UP,
    [FIS_TIED] = GIVEN_UP,
};

static const char *const names[FIS_REQUEST_STATES] = {
    "none",     "held new",  "held again", "held",    "gone",      "open",
    "accepted", "set aside", "expired",    "skipped", "cancelled", "tied",
};

bool request_may(enum fis_request_state s, enum request_event e)
{
    return table[s][e] != 0;
}

enum fis_request_state request_next(enum fis_request_state s, enum request_event e)
{
    assert(request_may(s, e));
    return (enum fis_request_state)(table[s][e] - 1);
}

const struct request_traits *request_traits(enum fis_request_state s)
{
    return &traits[s];
}

enum request_event request_event_to(enum fis_request_state s)
{
    assert(s >= FIS_OPEN && s <= FIS_TIED);
    return (enum request_event)((int)REQUEST_ASK + (int)s - (int)FIS_OPEN);
}

const char *fis_request_state_name(enum fis_request_state s)
{
    return s < FIS_REQUEST_STATES ? names[s] : "unknown";
}

/*
 * What may happen to a record's request, and what it becomes. Every cell that is not in the table
 * is a bug of the caller.
 */
#ifndef CORE_REQUEST_TABLE_H
#define CORE_REQUEST_TABLE_H

#include "fis/request.h"

enum request_event {
    REQUEST_OFFER,  /* good enough for a heap */
    REQUEST_EVICT,  /* better ones took its place in all heaps */
    REQUEST_REPORT, /* fis_selector_changes has reported it */
    REQUEST_RECALL, /* the copy kept elsewhere holds it */
    REQUEST_ASK,
    REQUEST_ACCEPT,
    REQUEST_SET_ASIDE,
    REQUEST_EXPIRE,
    REQUEST_SKIP,
    REQUEST_CANCEL,
    REQUEST_TIE,
    REQUEST_FORGET, /* nothing is to be known of it any more */
    REQUEST_EVENTS
};

/* What follows from being in a state; entering and leaving it keeps counts and lists. */
enum request_count { COUNT_NONE, COUNT_HELD, COUNT_OPEN, COUNT_ANSWERED, COUNT_GIVEN_UP, COUNTS };
enum request_list { LIST_NONE, LIST_CHANGED, LIST_OPEN, LISTS };
enum request_needs { NEEDS_NOTHING, NEEDS_FEATURES, NEEDS_PAYLOAD /* and features */ };
struct request_traits {
    enum request_count count; /* which count includes it */
    enum request_list list;   /* which list links it */
    enum request_needs needs; /* what is kept of the record */
    bool place;               /* has a place in its round */
};

bool request_may(enum fis_request_state s, enum request_event e);
enum fis_request_state request_next(enum fis_request_state s, enum request_event e); /* or BUG */
const struct request_traits *request_traits(enum fis_request_state s);
enum request_event request_event_to(enum fis_request_state s); /* OPEN and all that come later */

#endif

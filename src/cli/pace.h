/*
 * How fast replay may send: a rate, and a bound on what the scorers have not read yet. Pure: the
 * clock and the measured lag come in with the calls.
 *
 * The embedded broker keeps about 5 MB a partition and drops the rest, read or not. So at most
 * PACE_RECORDS a partition are left unread, and at most PACE_BYTES a partition, but never over
 * PACE_TOTAL in all: even if every record fell into one partition nothing would be lost.
 */
#ifndef CLI_PACE_H
#define CLI_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_RECORDS 2000u
#define PACE_BYTES 1000000u
#define PACE_TOTAL 3500000u
#define PACE_ASK_MS 150

struct pace {
    double rate;         /* a second; 0: no limit */
    uint32_t partitions; /* 0: unread records are not bounded */
    int64_t start_ms, asked_ms;
    uint64_t sent, bytes;
    uint64_t unread, unread_at; /* the last lag, and what had been sent by then */
};

void pace_init(struct pace *p, double rate, uint32_t partitions, int64_t now_ms);
/* Records that may be sent now; 0: wait. To be asked again after each, which tells the size. */
uint64_t pace_allowed(const struct pace *p, int64_t now_ms);
/* ms until pace_allowed may say more for the rate's sake: 1 .. 100. */
int pace_wait_ms(const struct pace *p, int64_t now_ms);
void pace_sent(struct pace *p, uint64_t bytes);
/* Whether the lag should be asked for now: rarely, or when the bound holds things up. */
bool pace_ask(const struct pace *p, int64_t now_ms);
/* What the broker says is unread; asked when `sent_then` records had been sent. */
void pace_lag(struct pace *p, uint64_t unread, uint64_t sent_then, int64_t now_ms);
/* What is unread now at most. */
uint64_t pace_unread(const struct pace *p);

#endif

/* Where a consumer is in each partition that it reads, for the monitor. Thread: the loop's. */
#ifndef DAEMON_LAGS_H
#define DAEMON_LAGS_H

#include <stdint.h>

struct lag {
    const char *role, *topic; /* "scorer", "trainer" */
    int32_t partition;
    int64_t next; /* offset that is read next; -1: nothing yet */
    int64_t lag;  /* messages up to the end; -1: not known yet */
};

/* Of a consumer (topics: its own names, by index): at most n of its partitions; how many. */
struct stream_consumer;
uint32_t lags_of(const struct stream_consumer *c, const char *role, const char *const *topics,
                 struct lag *out, uint32_t n);

#endif

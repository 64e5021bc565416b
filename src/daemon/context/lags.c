#include "daemon/context/lags.h"

#include "fis/mem.h"
#include "stream/consumer.h"

uint32_t lags_of(const struct stream_consumer *c, const char *role, const char *const *topics,
                 struct lag *out, uint32_t n)
{
    struct stream_place *places = n ? fis_alloc(n, sizeof *places) : NULL;
    if (!places)
        return 0;
    n = stream_consumer_places(c, places, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (struct lag){role, topics[places[i].topic], places[i].partition, places[i].next,
                              places[i].lag};
    fis_free(places);
    return n;
}

#include "stream/library.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <string.h>

const char *stream_library_version(void)
{
    return rd_kafka_version_str();
}

void stream_library_text(char *out, size_t size)
{
    const unsigned built = RD_KAFKA_VERSION;
    snprintf(out, size, "librdkafka %s, built with %u.%u.%u", rd_kafka_version_str(), built >> 24,
             built >> 16 & 0xff, built >> 8 & 0xff);
}

/* The values of a key that has two names, where the last one given counts. */
static bool has_text(const struct stream_property *p, size_t n, const char *key, const char *alias,
                     const char *text)
{
    const char *value = "";
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].key, key) == 0 || strcmp(p[i].key, alias) == 0)
            value = p[i].value;
    return strstr(value, text) != NULL;
}

size_t stream_library_caveats(const struct stream_property *p, size_t n, int version,
                              const char *out[STREAM_CAVEATS])
{
    static const struct {
        int fixed; /* the first version without it */
        const char *key, *alias, *has;
        const char *text;
    } faults[STREAM_CAVEATS] = {
        /* Its SCRAM appends the client's nonce to one that has it already; Kafka 3.8.1 to 3.9
         * accept that (librdkafka's pull request 4895). */
        {0x020601ff, "sasl.mechanisms", "sasl.mechanism", "SCRAM",
         "SCRAM of librdkafka before 2.6.1 cannot log in to Kafka 4, which reports invalid "
         "credentials: install librdkafka 2.6.1 or later, or use PLAIN over TLS or certificates"},
        /* Its issue 4783. */
        {0x020601ff, "partition.assignment.strategy", "", "cooperative-sticky",
         "cooperative-sticky of librdkafka before 2.6.1 can loop for ever in a rebalance: install "
         "librdkafka 2.6.1 or later, or leave partition.assignment.strategy out"},
    };
    size_t found = 0;
    version = version ? version : rd_kafka_version();
    for (size_t i = 0; i < STREAM_CAVEATS; i++)
        if (version < faults[i].fixed &&
            has_text(p, n, faults[i].key, faults[i].alias, faults[i].has))
            out[found++] = faults[i].text;
    return found;
}

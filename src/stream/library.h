/*
 * Which librdkafka this is, and which of its faults the configuration would meet. What fisd itself
 * works around, by version: docs/development.md.
 *
 * Thread: safe.
 */
#ifndef STREAM_LIBRARY_H
#define STREAM_LIBRARY_H

#include "stream/conf.h"

const char *stream_library_version(void); /* "2.12.1", of the loaded one */
/* "librdkafka 2.12.1, built with 2.0.2": the loaded one, and the one of the headers. */
void stream_library_text(char *out, size_t size);

/* Known faults that a client with these properties meets with a librdkafka of this version (as
 * rd_kafka_version() gives it; 0: the loaded one), as texts for the operator; each names a version
 * without the fault. Returns how many. */
#define STREAM_CAVEATS 2
size_t stream_library_caveats(const struct stream_property *p, size_t n, int version,
                              const char *out[STREAM_CAVEATS]);

#endif

/*
 * Records may come from several topics (topics.records). Where a partition is a number alone, in
 * progress, scans and what windows have counted, it is this one: the partition, and above it the
 * number of its topic (config_record_numbers). Thread: no state.
 */
#ifndef WIRE_SOURCE_H
#define WIRE_SOURCE_H

#include <stdint.h>

#define WIRE_SOURCE_BITS 16 /* of the partition */

static inline int32_t wire_source(uint32_t topic, int32_t partition)
{
    return (int32_t)(topic << WIRE_SOURCE_BITS | ((uint32_t)partition & 0xffff));
}

static inline uint32_t wire_source_topic(int32_t source)
{
    return (uint32_t)source >> WIRE_SOURCE_BITS;
}

static inline int32_t wire_source_partition(int32_t source)
{
    return source & 0xffff;
}

#endif

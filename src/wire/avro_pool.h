/*
 * libavro's memory while it parses a schema: all of it is given back at the end, since libavro
 * (1.11) loses what it has of a schema that it refuses, or that refers to itself. Thread: one at a
 * time: libavro's allocator is a global.
 */
#ifndef WIRE_AVRO_POOL_H
#define WIRE_AVRO_POOL_H

struct avro_block;
struct avro_pool {
    struct avro_block *blocks;
};
/* From here to the end what libavro takes is of the pool. */
void avro_pool_begin(struct avro_pool *p);
void avro_pool_end(struct avro_pool *p);

#endif

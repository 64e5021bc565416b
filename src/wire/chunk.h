/*
 * Messages longer than a Kafka message should be: cut into chunks with a checksum over the whole,
 * and put together again in whatever order the chunks arrive.
 */
#ifndef WIRE_CHUNK_H
#define WIRE_CHUNK_H

#include "wire/types.h"

#define WIRE_CHUNK_BYTES (512u * 1024u)
#define WIRE_CHUNK_TOTAL ((size_t)256 * 1024 * 1024)

struct wire_checksum { /* XXH3-128, seed 0 */
    uint64_t low, high;
};

/* Cutting: start, then next until it returns 0. The payload is borrowed until then. */
struct wire_chunks {
    uint64_t version;
    struct wire_bytes payload;
    struct wire_checksum checksum;
    uint32_t count, next; /* the chunk that wire_chunks_next wrote last is next - 1 */
    size_t max;
};
/* max: bytes of payload in a chunk. INPUT: over WIRE_CHUNK_TOTAL. */
int wire_chunks_start(struct wire_chunks *c, uint64_t version, struct wire_bytes payload,
                      size_t max, struct fis_error *e) FIS_MUST_CHECK;
/* 1: a chunk was appended to `out`; 0: there are no more; negative: NOMEM. */
int wire_chunks_next(struct wire_chunks *c, struct byte_buffer *out,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Floors, as a message of the heads' topic: to be sent behind the head that they are of. INPUT: one
 * is neither finite nor -inf. */
int wire_floors_encode(const struct wire_floors *f, struct byte_buffer *out,
                       struct fis_error *e) FIS_MUST_CHECK;

/* Keys, appended: "<pipeline>/<index>", "<version>/<index>" and "<pipeline>/floors". */
int wire_floors_key(const char *pipeline, struct byte_buffer *out,
                    struct fis_error *e) FIS_MUST_CHECK;
int wire_chunk_key_head(const char *pipeline, uint32_t index, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;
int wire_chunk_key_model(uint64_t version, uint32_t index, struct byte_buffer *out,
                         struct fis_error *e) FIS_MUST_CHECK;

/*
 * Putting together. NEWEST (heads): a chunk of a newer version drops what there is of older ones,
 * and chunks of versions older than the newest are ignored, as are those of one that is complete.
 * EACH (models): up to `versions` versions are open at a time; the lowest gives way. The chunks
 * held are at most max_total bytes (0: WIRE_CHUNK_TOTAL) in all.
 */
enum wire_assembly { WIRE_ASSEMBLE_NEWEST = 1, WIRE_ASSEMBLE_EACH };
struct wire_assembler;
struct wire_assembler *wire_assembler_new(enum wire_assembly mode, uint32_t versions,
                                          size_t max_total); /* NULL: no memory */
void wire_assembler_free(struct wire_assembler *a);
/* Feeds one message's value. 1: a version is complete: *payload (the assembler's, until the next
 * call) and *version are written. 0: not yet, or nothing new (a null value too). INPUT: not a
 * chunk, chunks that do not agree, too large, or a wrong checksum (the version is then dropped). A
 * chunk with another checksum than those before it begins its version again: the later write is the
 * valid one. */
int wire_assembler_feed(struct wire_assembler *a, struct wire_bytes chunk,
                        struct wire_bytes *payload, uint64_t *version,
                        struct fis_error *e) FIS_MUST_CHECK;
/* What was fed last, when it was floors (feed returned 0); else NULL. Until the next call. */
const struct wire_floors *wire_assembler_floors(const struct wire_assembler *a);
size_t wire_assembler_held(const struct wire_assembler *a); /* bytes of incomplete versions */

#endif

/*
 * Compiled schemas by id. An id stands for one schema for ever, so what is known stays; what a
 * registry has not, or is not supported, is refused for a minute, and asked for again then.
 * Bounded: ids come from the writers of records.
 * Thread: one at a time; the formats that it gives are immutable and live as long as it does.
 */
#ifndef REGISTRY_SCHEMA_CACHE_H
#define REGISTRY_SCHEMA_CACHE_H

#include "registry/registry.h"

#define SCHEMA_CACHE_KNOWN 4096u
#define SCHEMA_CACHE_REFUSED 4096u
#define SCHEMA_CACHE_REFUSED_MS 60000u

enum schema_state { SCHEMA_KNOWN, SCHEMA_REFUSED, SCHEMA_ASK };

struct schema_cache;
struct schema_cache *schema_cache_new(void); /* NULL: no memory */
void schema_cache_free(struct schema_cache *c);
/* KNOWN: *format; REFUSED: *e; ASK: fetch it, and take what came. */
enum schema_state schema_cache_find(struct schema_cache *c, uint32_t id, uint64_t now_ms,
                                    const struct wire_format **format, struct fis_error *e);
/* Takes the format, or NULL with why it is refused. NOMEM: the format is freed. */
int schema_cache_take(struct schema_cache *c, uint32_t id, struct wire_format *format,
                      const struct fis_error *why, uint64_t now_ms,
                      struct fis_error *e) FIS_MUST_CHECK;
uint32_t schema_cache_known(const struct schema_cache *c);

/* For a value that waits for its schema: find, and fetch where it is not known. INPUT, RETRY. */
int schema_cache_format(struct schema_cache *c, struct registry *r, struct wire_bytes value,
                        uint64_t now_ms, const struct wire_format **format,
                        struct fis_error *e) FIS_MUST_CHECK;

#endif

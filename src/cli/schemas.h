/*
 * Schemas of records (records.encoding: registry) for commands that read records.
 * Thread: one. Owns: the registry's client and what it has fetched.
 */
#ifndef CLI_SCHEMAS_H
#define CLI_SCHEMAS_H

#include "cli/cli.h"
#include "registry/schema_cache.h"

struct cli_schemas {
    struct registry *registry;
    struct schema_cache *cache;
};
int cli_schemas_open(struct cli_schemas *s, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
void cli_schemas_close(struct cli_schemas *s); /* one that is all 0 is fine */
/* Waits. The format of a framed value; NULL for a tombstone. INPUT: it has none; RETRY. */
int cli_schemas_find(struct cli_schemas *s, struct wire_bytes value,
                     const struct wire_format **format, struct fis_error *e) FIS_MUST_CHECK;

#endif

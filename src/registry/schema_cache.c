#include "registry/schema_cache.h"

#include <uthash.h>

#include "fis/mem.h"

struct entry {
    uint32_t id;
    struct wire_format *format; /* NULL: refused */
    uint64_t until_ms;          /* when it is refused */
    struct fis_error why;
    UT_hash_handle hh;
};

struct schema_cache {
    struct entry *known, *refused; /* in the order in which they came */
};

struct schema_cache *schema_cache_new(void)
{
    return fis_calloc(1, sizeof(struct schema_cache));
}

static void drop(struct entry **table, struct entry *x)
{
    HASH_DEL(*table, x);
    wire_format_free(x->format);
    fis_free(x);
}

void schema_cache_free(struct schema_cache *c)
{
    if (!c)
        return;
    while (c->known)
        drop(&c->known, c->known);
    while (c->refused)
        drop(&c->refused, c->refused);
    fis_free(c);
}

enum schema_state schema_cache_find(struct schema_cache *c, uint32_t id, uint64_t now_ms,
                                    const struct wire_format **format, struct fis_error *e)
{
    struct entry *x;
    HASH_FIND(hh, c->known, &id, sizeof id, x);
    if (x) {
        *format = x->format;
        return SCHEMA_KNOWN;
    }
    HASH_FIND(hh, c->refused, &id, sizeof id, x);
    if (x && now_ms < x->until_ms) {
        *e = x->why;
        return SCHEMA_REFUSED;
    }
    if (x)
        drop(&c->refused, x);
    return SCHEMA_ASK;
}

int schema_cache_take(struct schema_cache *c, uint32_t id, struct wire_format *format,
                      const struct fis_error *why, uint64_t now_ms, struct fis_error *e)
{
    struct fis_error full;
    if (format && HASH_COUNT(c->known) >= SCHEMA_CACHE_KNOWN) {
        fis_refuse(&full, FIS_CODE_UNKNOWN_SCHEMA, "schema id %u: more than %u schemas are in use",
                   id, SCHEMA_CACHE_KNOWN);
        wire_format_free(format);
        format = NULL;
        why = &full;
    }
    struct entry *x = fis_calloc(1, sizeof *x);
    if (!x) {
        wire_format_free(format);
        return fis_fail(e, FIS_NOMEM, "no memory for a schema");
    }
    *x = (struct entry){.id = id, .format = format, .until_ms = now_ms + SCHEMA_CACHE_REFUSED_MS};
    if (!format)
        x->why = *why;
    if (format)
        HASH_ADD(hh, c->known, id, sizeof x->id, x);
    else
        HASH_ADD(hh, c->refused, id, sizeof x->id, x);
    if (HASH_COUNT(c->refused) > SCHEMA_CACHE_REFUSED)
        drop(&c->refused, c->refused);
    return 0;
}

uint32_t schema_cache_known(const struct schema_cache *c)
{
    return HASH_COUNT(c->known);
}

int schema_cache_format(struct schema_cache *c, struct registry *r, struct wire_bytes value,
                        uint64_t now_ms, const struct wire_format **format, struct fis_error *e)
{
    uint32_t id;
    struct wire_format *got = NULL;
    struct fis_error none;
    int rc = wire_frame_id(value, &id, e);
    if (rc)
        return rc;
    switch (schema_cache_find(c, id, now_ms, format, e)) {
    case SCHEMA_KNOWN:
        return 0;
    case SCHEMA_REFUSED:
        return -(int)FIS_INPUT;
    case SCHEMA_ASK:
        break;
    }
    rc = registry_fetch(r, id, &got, e);
    if (rc && e->kind != FIS_INPUT)
        return rc;
    int kept = schema_cache_take(c, id, rc ? NULL : got, e, now_ms, rc ? &none : e);
    if (rc || kept)
        return rc ? rc : kept;
    return schema_cache_find(c, id, now_ms, format, e) == SCHEMA_KNOWN ? 0 : -(int)FIS_INPUT;
}

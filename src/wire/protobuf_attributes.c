/* What a record carries for the people who label it. */
#include <stdlib.h>
#include <string.h>

#include "fis.pb-c.h"

#include "wire/framing.h"
#include "wire/protobuf_codec.h"
#include "wire/protobuf_unpack.h"

/* By key; of the same key the one that came first. They lie in an array of their own, in order. */
static int by_key(const void *a, const void *b)
{
    Fis__V1__Record__AttributesEntry *const *x = a, *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);
    return order ? order : ((*x) > (*y)) - ((*x) < (*y));
}

int wire_protobuf_attributes(struct wire_bytes value, struct fis_arena *arena,
                             struct wire_named_values *out, struct fis_error *e)
{
    *out = (struct wire_named_values){0};
    int rc = wire_unframe_again(&value, e);
    if (rc)
        return rc;
    const Fis__V1__Record *r = wire_protobuf_unpack(&fis__v1__record__descriptor, value, arena, e);
    if (!r)
        return -FIS_INPUT;
    size_t n = r->n_attributes;
    const char **names = fis_arena_alloc(arena, n * sizeof *names);
    struct fis_value *values = fis_arena_alloc(arena, n * sizeof *values);
    if (!names || !values)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "%zu attributes take more than %zu bytes", n,
                          arena->size);
    if (n)
        qsort(r->attributes, n, sizeof *r->attributes, by_key);
    for (size_t i = 0; i < n; i++) {
        const Fis__V1__Record__AttributesEntry *a = r->attributes[i];
        if (i + 1 < n && strcmp(a->key, r->attributes[i + 1]->key) == 0)
            continue; /* the last one counts */
        names[out->n] = a->key;
        values[out->n++] = (struct fis_value){
            .kind = FIS_VALUE_TEXT, .text = a->value, .length = strlen(a->value)};
    }
    out->names = names;
    out->values = values;
    return 0;
}

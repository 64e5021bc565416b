#include "wire/protobuf_identity.h"

#include "wire/model_parts.h"

#define EACH_FACT (sizeof(Fis__V1__Fact) + sizeof(Fis__V1__Fact *))
#define EACH_CHANGE (sizeof(Fis__V1__Change) + sizeof(Fis__V1__Change *))

static char *text(const char *t)
{
    return (char *)(uintptr_t)(t ? t : "");
}

size_t wire_identity_scratch(const struct wire_identity *from)
{
    return from->n_facts * EACH_FACT + from->n_changes * EACH_CHANGE + 64;
}

int wire_facts_fill(const struct wire_identity *from, struct fis_arena *a, Fis__V1__Fact ***list,
                    size_t *n, struct fis_error *e)
{
    *n = 0;
    if (!from->n_facts)
        return 0;
    Fis__V1__Fact *all = fis_arena_alloc(a, from->n_facts * sizeof *all);
    *list = fis_arena_alloc(a, from->n_facts * sizeof **list);
    if (!all || !*list)
        return wire_scratch_full(a, e);
    for (; *n < from->n_facts; ++*n) {
        fis__v1__fact__init(&all[*n]);
        all[*n].name = text(from->facts[*n].name);
        all[*n].value = text(from->facts[*n].value);
        (*list)[*n] = &all[*n];
    }
    return 0;
}

int wire_changes_fill(const struct wire_change *from, uint32_t n_from, struct fis_arena *a,
                      Fis__V1__Change ***list, size_t *n, struct fis_error *e)
{
    *n = 0;
    if (!n_from)
        return 0;
    Fis__V1__Change *all = fis_arena_alloc(a, n_from * sizeof *all);
    *list = fis_arena_alloc(a, n_from * sizeof **list);
    if (!all || !*list)
        return wire_scratch_full(a, e);
    for (; *n < n_from; ++*n) {
        fis__v1__change__init(&all[*n]);
        all[*n].version = from[*n].version;
        all[*n].name = text(from[*n].name);
        all[*n].from = text(from[*n].from);
        all[*n].to = text(from[*n].to);
        (*list)[*n] = &all[*n];
    }
    return 0;
}

void wire_facts_read(Fis__V1__Fact *const *list, size_t n, struct wire_fact *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (struct wire_fact){list[i]->name, list[i]->value};
}

void wire_changes_read(Fis__V1__Change *const *list, size_t n, struct wire_change *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (struct wire_change){list[i]->version, list[i]->name, list[i]->from, list[i]->to};
}

#include "wire/json_arena.h"

#include <assert.h>
#include <jansson.h>

static _Thread_local struct fis_arena *current;
static _Thread_local int refused;

static void *take(size_t size)
{
    void *p = current ? fis_arena_alloc(current, size) : fis_alloc(size, 1);
    if (!p)
        refused = 1;
    return p;
}

static void release(void *p)
{
    const unsigned char *at = p;
    if (current && at >= current->base && at < current->base + current->size)
        return;
    fis_free(p);
}

void wire_json_init(void)
{
    json_set_alloc_funcs(take, release);
    /* Keys come from strangers: the hash must not be predictable. 0 asks for a random seed. */
    json_object_seed(0);
}

void wire_json_arena_enter(struct fis_arena *arena)
{
    assert(!current && arena);
    current = arena;
}

void wire_json_arena_leave(void)
{
    assert(current);
    current = NULL;
}

void wire_json_watch(void)
{
    refused = 0;
}

int wire_json_refused(void)
{
    return refused;
}

size_t wire_json_arena_size(void)
{
    return current ? current->size : 0;
}

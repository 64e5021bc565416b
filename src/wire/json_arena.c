#include "wire/json_arena.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

static _Thread_local struct fis_arena *current;
static _Thread_local int refused;

/*
 * Never NULL: jansson's lexer (2.14) does not look whether its buffer grew, and then reads and
 * writes past it. So what was refused is noted and the block comes from the heap after all; the
 * parse ends in good order, gives everything back, and wire_json_parse refuses its result. One
 * text's worth of blocks, of bounded size, is all that this can cost.
 */
static void *take(size_t size)
{
    void *p = current ? fis_arena_alloc(current, size) : fis_alloc(size, 1);
    if (p)
        return p;
    refused = 1;
    p = malloc(size ? size : 1);
    if (!p)
        abort();
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

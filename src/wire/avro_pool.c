#include "wire/avro_pool.h"

#include <avro.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

struct avro_block {
    struct avro_block *next, **at; /* at: what points here; NULL: of no pool */
    alignas(max_align_t) unsigned char bytes[];
};

static void unlink_block(struct avro_block *b)
{
    if (!b->at)
        return;
    *b->at = b->next;
    if (b->next)
        b->next->at = b->at;
}

static void link_block(struct avro_block *b, struct avro_pool *p)
{
    b->at = p ? &p->blocks : NULL;
    b->next = p ? p->blocks : NULL;
    if (b->next)
        b->next->at = &b->next;
    if (p)
        p->blocks = b;
}

/* As libavro has it: realloc, and free where size is 0. */
static void *allocate(void *pool, void *old, size_t old_size, size_t size)
{
    struct avro_block *b =
        old ? (void *)((unsigned char *)old - offsetof(struct avro_block, bytes)) : NULL;
    (void)old_size;
    if (size > PTRDIFF_MAX - sizeof *b)
        return NULL;
    if (b)
        unlink_block(b);
    if (size == 0) {
        free(b);
        return NULL;
    }
    struct avro_block *more = realloc(b, sizeof *b + size);
    if (more || b)
        link_block(more ? more : b, pool);
    return more ? more->bytes : NULL;
}

void avro_pool_begin(struct avro_pool *p)
{
    p->blocks = NULL;
    avro_set_allocator(allocate, p);
}

void avro_pool_end(struct avro_pool *p)
{
    avro_set_allocator(allocate, NULL);
    while (p->blocks) {
        struct avro_block *b = p->blocks;
        unlink_block(b);
        free(b);
    }
}

#include "fis/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t made;
static _Atomic uint64_t refuse_after = UINT64_MAX;
static _Atomic int refuse_once;

static bool refused(void)
{
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    uint64_t left = atomic_load_explicit(&refuse_after, memory_order_relaxed);
    if (left == UINT64_MAX)
        return false;
    if (left == 0) {
        if (refuse_once)
            atomic_store(&refuse_after, UINT64_MAX);
        return true;
    }
    atomic_store_explicit(&refuse_after, left - 1, memory_order_relaxed);
    return false;
}

void *fis_alloc(size_t count, size_t size)
{
    if (refused() || (size && count > (SIZE_MAX - 64) / size))
        return NULL;
    size_t bytes = (count * size + 63) & ~(size_t)63;
    return aligned_alloc(64, bytes ? bytes : 64);
}

void *fis_calloc(size_t count, size_t size)
{
    void *p = fis_alloc(count, size);
    if (p)
        memset(p, 0, count * size);
    return p;
}

bool fis_grow(void *list, size_t had, size_t count, size_t size)
{
    void *old, *p = fis_alloc(count, size);
    if (!p)
        return false;
    memcpy(&old, list, sizeof old);
    if (old)
        memcpy(p, old, (had < count ? had : count) * size);
    memcpy(list, &p, sizeof p);
    free(old);
    return true;
}

bool fis_more(void *list, size_t n, size_t size)
{
    if (n && (n < 8 || n & (n - 1)))
        return true;
    return n <= SIZE_MAX / 2 && fis_grow(list, n, n ? 2 * n : 8, size);
}

char *fis_memdup(const void *bytes, size_t length)
{
    char *p = fis_alloc(length + 1, 1);
    if (p) {
        if (length)
            memcpy(p, bytes, length);
        p[length] = 0;
    }
    return p;
}

char *fis_strdup(const char *s)
{
    return fis_memdup(s, strlen(s));
}

void fis_free(void *p)
{
    free(p);
}

void fis_mem_refuse_after(uint64_t n)
{
    atomic_store(&refuse_once, 0);
    atomic_store(&refuse_after, n);
}

void fis_mem_refuse_one(uint64_t n)
{
    atomic_store(&refuse_once, 1);
    atomic_store(&refuse_after, n);
}

bool fis_mem_refuses(void)
{
    return atomic_load(&refuse_after) != UINT64_MAX;
}

uint64_t fis_mem_count(void)
{
    return atomic_load(&made);
}

void *fis_arena_alloc(struct fis_arena *a, size_t bytes)
{
    size_t need = (bytes + 15) & ~(size_t)15;
    if (need < bytes || need > a->size - a->used)
        return NULL;
    void *p = a->base + a->used;
    a->used += need;
    if (a->used > a->high)
        a->high = a->used;
    return p;
}

void fis_arena_reset(struct fis_arena *a)
{
    a->used = 0;
}

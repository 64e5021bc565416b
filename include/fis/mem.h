/*
 * The memory seam: every allocation of libfis goes through here, so that a test can refuse the
 * n-th one and count the rest. fis_alloc returns memory aligned to 64 bytes (a cache line, and
 * what the vector units want); sizes are checked for overflow; all return NULL when memory is
 * refused. Thread: safe, but for fis_mem_refuse_after, which is for single-threaded tests.
 */
#ifndef FIS_MEM_H
#define FIS_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *fis_alloc(size_t count, size_t size);                             /* uninitialised */
void *fis_calloc(size_t count, size_t size);                            /* zeroed */
char *fis_strdup(const char *s);
char *fis_memdup(const void *bytes, size_t length); /* adds a terminating NUL */
void fis_free(void *p);                             /* NULL is fine */

/* Room for `count` elements in a list, of which the first `had` are kept. `list` is the address of
 * the pointer to it (NULL: it has none yet), which changes. False: no memory, and it is as it was.
 */
bool fis_grow(void *list, size_t had, size_t count, size_t size);
/* Room for one more than n, of a list that grows by this call alone: to twice as many where n is a
 * power of two, to 8 at first. */
bool fis_more(void *list, size_t n, size_t size);

/* Tests: the next `n` allocations succeed, and none after them; UINT64_MAX turns it off. */
void fis_mem_refuse_after(uint64_t n);
/* The next `n` succeed, the one after fails, and then all succeed again. */
void fis_mem_refuse_one(uint64_t n);
bool fis_mem_refuses(void); /* whether a refusal is still to come, or goes on */
/* Allocations made so far in this process. */
uint64_t fis_mem_count(void);

/* A bump arena over fixed storage: alloc never calls malloc; reset forgets everything. */
struct fis_arena {
    unsigned char *base;
    size_t size, used, high; /* high: the most ever used, for sizing */
};
void *fis_arena_alloc(struct fis_arena *a, size_t bytes); /* 16-byte aligned; NULL when full */
void fis_arena_reset(struct fis_arena *a);

#ifdef __cplusplus
}
#endif

#endif

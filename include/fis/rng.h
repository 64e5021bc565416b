/*
 * A small seeded generator (xoshiro256**, seeded through splitmix64; Blackman and Vigna, 2018).
 * The state is a plain value: copy it to fork a stream, store it to resume one.
 * Thread: one owner.
 */
#ifndef FIS_RNG_H
#define FIS_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fis_rng {
    uint64_t s[4];
};

/* `stream` gives independent sequences for one seed. */
void fis_rng_seed(struct fis_rng *r, uint64_t seed, uint64_t stream);
uint64_t fis_rng_u64(struct fis_rng *r);
uint32_t fis_rng_below(struct fis_rng *r, uint32_t n); /* 0 .. n-1, unbiased; n > 0 */
double fis_rng_unit(struct fis_rng *r);                /* [0, 1), 53 bits */
double fis_rng_normal(struct fis_rng *r);              /* mean 0, variance 1 */
/* A normal that is drawn again beyond 2, which shrinks its deviation to: */
#define FIS_RNG_TRUNCATED_DEVIATION 0.87962566103423978
double fis_rng_truncated(struct fis_rng *r);
void fis_rng_shuffle(struct fis_rng *r, uint32_t *items, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif

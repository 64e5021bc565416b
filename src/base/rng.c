#include "fis/rng.h"

#include <math.h>

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fis_rng_seed(struct fis_rng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed, y = stream ^ 0xd1b54a32d192ed03u;
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&x) ^ splitmix(&y);
}

uint64_t fis_rng_u64(struct fis_rng *r)
{
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint32_t fis_rng_below(struct fis_rng *r, uint32_t n)
{
    /* Lemire's multiply-and-reject: unbiased, and the division is rarely reached. */
    uint64_t m = (fis_rng_u64(r) >> 32) * n;
    if ((uint32_t)m < n) {
        uint32_t floor = (uint32_t)(-n) % n;
        while ((uint32_t)m < floor)
            m = (fis_rng_u64(r) >> 32) * n;
    }
    return (uint32_t)(m >> 32);
}

double fis_rng_unit(struct fis_rng *r)
{
    return (double)(fis_rng_u64(r) >> 11) * 0x1p-53;
}

double fis_rng_normal(struct fis_rng *r)
{
    /* Box and Muller; 1 - unit keeps the logarithm away from zero. */
    double u = 1.0 - fis_rng_unit(r), v = fis_rng_unit(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

double fis_rng_truncated(struct fis_rng *r)
{
    double z;
    do
        z = fis_rng_normal(r);
    while (fabs(z) > 2);
    return z;
}

void fis_rng_shuffle(struct fis_rng *r, uint32_t *items, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = fis_rng_below(r, i), t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

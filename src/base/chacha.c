#include "base/chacha.h"

#include <math.h>
#include <string.h>

static uint32_t rotate(uint32_t x, int by)
{
    return (x << by) | (x >> (32 - by));
}

static void quarter(uint32_t *x, int a, int b, int c, int d)
{
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 7);
}

static uint32_t word(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

void chacha_block(const unsigned char key[CHACHA_KEY], const uint32_t input[4],
                  unsigned char out[CHACHA_BLOCK])
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    for (int i = 0; i < 8; i++)
        start[4 + i] = word(key + 4 * i);
    memcpy(start + 12, input, 4 * sizeof *input);
    memcpy(x, start, sizeof x);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++)
            quarter(x, i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; i++)
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++) {
        uint32_t v = x[i] + start[i];
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = (unsigned char)(v >> 8 * j);
    }
}

void chacha_absorb(unsigned char key[CHACHA_KEY], const void *bytes, size_t length)
{
    unsigned char out[CHACHA_BLOCK];
    for (size_t at = 0; at <= length; at += 16) {
        unsigned char part[16] = {0};
        uint32_t input[4];
        memcpy(part, (const unsigned char *)bytes + at, length - at < 16 ? length - at : 16);
        for (int i = 0; i < 4; i++)
            input[i] = word(part + 4 * i);
        chacha_block(key, input, out);
        memcpy(key, out, CHACHA_KEY);
    }
    const uint32_t end[4] = {(uint32_t)length, (uint32_t)(length >> 32), 1, 1};
    chacha_block(key, end, out);
    memcpy(key, out, CHACHA_KEY);
}

void chacha_normal_init(struct chacha_normal *n, const unsigned char key[CHACHA_KEY],
                        uint64_t stream)
{
    *n = (struct chacha_normal){.stream = stream, .used = CHACHA_BLOCK};
    memcpy(n->key, key, CHACHA_KEY);
}

/* [0, 1), 53 bits. */
static double unit(struct chacha_normal *n)
{
    if (n->used == CHACHA_BLOCK) {
        const uint32_t input[4] = {(uint32_t)n->counter, (uint32_t)(n->counter >> 32),
                                   (uint32_t)n->stream, (uint32_t)(n->stream >> 32)};
        chacha_block(n->key, input, n->block);
        n->counter++;
        n->used = 0;
    }
    uint64_t v = (uint64_t)word(n->block + n->used) | (uint64_t)word(n->block + n->used + 4) << 32;
    n->used += 8;
    return (double)(v >> 11) * 0x1p-53;
}

double chacha_normal(struct chacha_normal *n)
{
    double u = 1.0 - unit(n), v = unit(n);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

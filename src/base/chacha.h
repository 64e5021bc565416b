/*
 * The block function of ChaCha20 (Bernstein, 2008; RFC 8439): 64 bytes from a key and 16 bytes of
 * input, which nobody without the key can tell from random ones.
 * Thread: safe.
 */
#ifndef BASE_CHACHA_H
#define BASE_CHACHA_H

#include <stddef.h>
#include <stdint.h>

#define CHACHA_KEY 32
#define CHACHA_BLOCK 64

void chacha_block(const unsigned char key[CHACHA_KEY], const uint32_t input[4],
                  unsigned char out[CHACHA_BLOCK]);

/* The key that follows from a key and bytes: their blocks of 16 taken in one after the other, and
 * their number. */
void chacha_absorb(unsigned char key[CHACHA_KEY], const void *bytes, size_t length);

/* Normal numbers (mean 0, deviation 1) from a key; `stream` gives independent ones. */
struct chacha_normal {
    unsigned char key[CHACHA_KEY], block[CHACHA_BLOCK];
    uint64_t stream, counter;
    unsigned used; /* bytes of the block */
};
void chacha_normal_init(struct chacha_normal *n, const unsigned char key[CHACHA_KEY],
                        uint64_t stream);
double chacha_normal(struct chacha_normal *n);

#endif

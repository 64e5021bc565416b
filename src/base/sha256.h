/*
 * SHA-256 (FIPS 180-4), and with it HMAC (RFC 2104): for signatures of what is sent, a few thousand
 * bytes at a time. Thread: safe.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};
void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, unsigned char out[SHA256_BYTES]);

void hmac_sha256(const void *key, size_t key_length, const void *bytes, size_t n,
                 unsigned char out[SHA256_BYTES]);

#endif

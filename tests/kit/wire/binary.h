/* What the tests of the binary codecs share: a pipeline of four numbers, an arena, spoiled bytes.
 */
#ifndef TESTS_KIT_WIRE_BINARY_H
#define TESTS_KIT_WIRE_BINARY_H

#include "kit/cmocka.h"

#include "fis.pb-c.h"
#include "fis/rng.h"
#include "wire/types.h"

/* Classes no and yes; the columns id, hired, sex and race; 4096 bytes at most. */
extern const struct wire_schema test_schema;

/* n numeric columns f0 .. that stay as they are. */
struct fis_encoder *plain_encoder(uint32_t n);

struct fis_arena test_arena(size_t size);

/* What a test of a codec begins its state with. */
struct codec {
    struct fis_arena arena;
    struct byte_buffer out;
    struct fis_error e;
};

/* Set-up: a state of so many bytes, zero but for its arena. */
int codec_up(void **state, size_t size, size_t arena);
int codec_down(void **state);

struct wire_message message_of(const void *key, size_t key_length, const void *value,
                               size_t length);

void assert_id(const struct fis_id *id, const char *text);

void assert_says(const struct fis_error *e, const char *part);

float random_float(struct fis_rng *r);

/* Calls `try` with copies that end where they end (for the address sanitizer): every truncation
 * but the whole, then `n` times the bytes with 1 to 4 of them changed, put in or left out. */
typedef void try_fn(void *arg, const unsigned char *bytes, size_t length);

void spoil(const void *bytes, size_t length, uint32_t n, try_fn *try, void *arg);

#endif

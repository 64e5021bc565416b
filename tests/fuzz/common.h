/*
 * What the fuzz targets share. A target is one function over untrusted bytes that either returns or
 * ends the process; besides the sanitizers' findings it ends it when a property does not hold.
 *
 * The same targets are linked to libFuzzer (`make fuzz`) and to a program that runs the files of
 * tests/fuzz/corpus (`make fuzz-replay`, a part of `make test`).
 */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include <stdint.h>
#include <string.h>

#include "wire/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* always 0 */

_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...) FIS_PRINTF(3, 4);
#define FUZZ_FAIL(...) fuzz_fail(__FILE__, __LINE__, __VA_ARGS__)
#define FUZZ_HOLDS(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            FUZZ_FAIL("does not hold: %s", #condition);                                            \
    } while (0)

/* An error must have a class and a text of one printable line. */
void fuzz_check_error(const struct fis_error *e);
/* The same for a function's result; 0 or more: nothing is checked. */
void fuzz_check_result(int rc, const struct fis_error *e);

/* Two classes, four numeric columns, sensitive columns sex and race. */
extern const struct wire_schema fuzz_schema;
#define FUZZ_COLUMNS 4u
const struct fis_encoder *fuzz_plain_encoder(void); /* f0 .. f3, as they are */
/* age (standard, may be missing), score (as it is), job (clerk, driver, nürse). */
const struct fis_encoder *fuzz_mixed_encoder(void);
#define FUZZ_MIXED_COLUMNS 3u
extern const struct fis_column fuzz_mixed_columns[FUZZ_MIXED_COLUMNS];
#define FUZZ_MIXED_D 8u

/*
 * The marker stands for a sensitive value or a password. When the input has it once and in the
 * place of such a value, no text that leaves the program may have it.
 */
#define FUZZ_MARKER "Zq17"
unsigned fuzz_markers(const void *bytes, size_t length);

/* Takes bytes off the front of the input. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};
uint8_t fuzz_byte(struct fuzz_input *in); /* 0 when there is none */

/*
 * A message out of the input. Its first byte says how long the key is (0 .. 63, none for 0),
 * with 64: the arena is a small one, with 128: the value is null. Key and value follow.
 */
struct fuzz_message {
    struct wire_message message;
    struct fis_arena arena; /* of exactly its size, for the address sanitizer */
};
void fuzz_message_take(struct fuzz_message *m, struct fuzz_input in);
void fuzz_message_done(struct fuzz_message *m);

struct fis_arena fuzz_arena(size_t size);
int fuzz_same_id(const struct fis_id *a, const struct fis_id *b);
int fuzz_same_bytes(struct wire_bytes a, struct wire_bytes b);
int fuzz_same_text(const char *a, const char *b); /* NULL is "" */
/* A message with this value, and the key of nothing. */
struct wire_message fuzz_message_of(struct wire_bytes value);

#endif

/* An encoder of both kinds of columns and random networks, for the tests of heads and models. */
#ifndef TESTS_KIT_WIRE_HEADS_H
#define TESTS_KIT_WIRE_HEADS_H

#include "kit/wire/binary.h"

/* d = 2 + 1 + (3 + 2) = 8: a number that may be missing, a plain one, a category. */
enum { MIXED_D = 8 };
struct fis_encoder *mixed_encoder(void);

void assert_same_encoder(const struct fis_encoder *a, const struct fis_encoder *b);

float *random_slab(const struct fis_shape *shape, uint64_t seed);

void assert_same_shape(const struct fis_shape *a, const struct fis_shape *b);

#endif

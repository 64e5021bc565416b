/* What cutting and putting together share. */
#ifndef WIRE_CHUNK_CHECKSUM_H
#define WIRE_CHUNK_CHECKSUM_H

#include "wire/chunk.h"

#define WIRE_CHUNK_COUNT (1u << 16) /* chunks of one version, at most */

struct wire_checksum wire_checksum_of(const void *bytes, size_t length);

#endif

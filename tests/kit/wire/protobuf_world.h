/* An encoder of four numbers, and protobuf records as bytes. */
#ifndef TEST_KIT_PROTOBUF_WORLD_H
#define TEST_KIT_PROTOBUF_WORLD_H

#include <math.h>

#include "kit/cmocka.h"
#include "kit/wire/binary.h"
#include "wire/protobuf_codec.h"

#define PROTOBUF_D 4

extern const float protobuf_expected[PROTOBUF_D];

/* Four ways to write one record, the id being r1 .. r4. */
#define F1 0x00, 0x00, 0x00, 0x3f

#define F2 0x00, 0x00, 0x80, 0xbf

#define F3 0x00, 0x00, 0x00, 0x00

#define F4 0x00, 0x00, 0x00, 0x40

extern const unsigned char protobuf_packed[22];

struct protobuf_world {
    struct wire_schema schema;
    struct fis_encoder *enc;
    struct fis_arena arena;
    float x[64];
    struct wire_record record;
    struct fis_error e;
};

int protobuf_world_up(void **state);

int protobuf_world_down(void **state);

enum wire_decoded protobuf_decode(struct protobuf_world *w, const struct wire_message *m);

enum wire_decoded protobuf_decode_bytes(struct protobuf_world *w, const void *bytes, size_t length);

void protobuf_assert_good(struct protobuf_world *w, const void *bytes, size_t length,
                          const char *id);

void protobuf_assert_bad(struct protobuf_world *w, const void *bytes, size_t length,
                         const char *says);

#endif

/* A pipeline of four columns and two classes, as the JSON codecs' tests have it. */
#ifndef TEST_KIT_JSON_WORLD_H
#define TEST_KIT_JSON_WORLD_H

#include "fis/mem.h"
#include "fis/rng.h"
#include "kit/cmocka.h"
#include "wire/json_codec.h"
#include "wire/json_impl.h"
#include "wire/json_text.h"

extern const struct fis_column json_columns[];

enum { JSON_COLUMNS = 4, JSON_D = 3 + 4 };

extern const char *const json_classes[];

extern const char *const json_sensitive[];

extern const char *const json_passthrough[];

extern const struct wire_schema json_schema;

extern struct fis_encoder *json_encoder;

extern _Alignas(64) unsigned char json_storage[1 << 16];

extern struct fis_arena json_arena;

int json_set_up(void **state);

int json_tear_down(void **state);

/* The bytes are copied to a block of just their size, so that reading past them is seen. */
struct wire_message json_message(const char *value, size_t length, const char *key);

enum wire_decoded json_record(const char *json, float *x, struct wire_record *r,
                              struct fis_error *e);

void json_id_is(const struct fis_id *id, const char *text);

enum wire_decoded json_label(const struct wire_schema *s, const char *json, struct wire_label *l,
                             struct fis_error *e);

struct wire_label_request json_request(const char *record);

#endif

/*
 * The `image` of a record or an example: from a message to the numbers of the columns, and to what
 * people are shown. image/image.h has how it is decoded. Errors are INPUT, or -FIS_NOMEM.
 * Thread: no state. Owns: nothing; results lie in the arena or the message.
 */
#ifndef WIRE_RECORD_IMAGE_H
#define WIRE_RECORD_IMAGE_H

#include "image/image.h"
#include "wire/protobuf_reader.h"
#include "wire/types.h"

#define WIRE_IMAGE "image" /* the member of a JSON object, and the column of a file */

struct wire_image {
    struct wire_bytes data;   /* NULL: there is none */
    struct image_shape shape; /* of raw bytes; all 0: data is a PNG or JPEG */
};

/* What the arena must have room for besides a record. */
size_t wire_image_arena(const struct wire_schema *schema);

/* A field of type Image. A second one is refused: a labeller would see one of them. */
int wire_image_read(const struct wire_reader *outer, const struct wire_field *f,
                    struct wire_image *image, struct fis_error *e) FIS_MUST_CHECK;
/* base64, with a "data:" and its type before it or not. */
int wire_image_of_text(struct wire_bytes text, struct fis_arena *arena, struct wire_image *image,
                       struct fis_error *e) FIS_MUST_CHECK;

/* numbers [schema->image.height][width][channels]. */
int wire_image_numbers(const struct wire_schema *schema, const struct wire_image *image,
                       struct fis_arena *arena, const float **numbers,
                       struct fis_error *e) FIS_MUST_CHECK;
/* The same as values of the columns. */
int wire_image_values(const struct wire_schema *schema, const struct wire_image *image,
                      struct fis_arena *arena, struct fis_value *values,
                      struct fis_error *e) FIS_MUST_CHECK;

/* A PNG or JPEG in base64, as a record in JSON has it; raw bytes become a PNG. */
int wire_image_text(const struct wire_schema *schema, const struct wire_image *image,
                    struct fis_arena *arena, struct wire_bytes *text,
                    struct fis_error *e) FIS_MUST_CHECK;

/* Bytes before the base64: a "data:" and its type, whatever it states; 0: there is none. */
size_t wire_image_prefix(const char *text, size_t length);
/* The type of a picture in base64, by its first bytes, "image/png" or "image/jpeg"; NULL: it is
 * none. */
const char *wire_image_type(const char *text, size_t length);
/* For a screen: "PNG, 12345 bytes". False: it is none. */
#define WIRE_IMAGE_SHOWN 48
bool wire_image_show(const char *text, size_t length, char *shown);

#endif

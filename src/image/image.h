/*
 * Images to bytes [height][width][channels] of the shape that a model requires, whatever shape they
 * come in. docs/images.md has what is read, and how, for each kind of image.
 *
 * In this order: limits are checked before anything is decoded; 16 bits become 8, a palette its
 * colours, transparency white; the orientation that EXIF states is applied; RGB becomes grey, or
 * grey RGB; then it is resized, each axis by itself: the mean over an area where it shrinks,
 * bilinear where it grows, as Pillow does with Image.BOX and Image.BILINEAR.
 *
 * Memory: rows one after the other, so some rows of the image and 4 bytes for each number of the
 * result; an image that is interlaced or turned, whole (up to 4 bytes a pixel); a progressive JPEG
 * 6 bytes a pixel. All of it is freed before the return.
 *
 * An image that cannot be read is an INPUT error: FIS_CODE_TOO_LONG beyond max_pixels, else
 * FIS_CODE_BAD_IMAGE. -FIS_NOMEM. Thread: no state.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

#define IMAGE_CHANNELS_MAX 4u
#define IMAGE_SIDE_MAX 65535u /* of what is decoded */

struct image_shape {
    uint32_t height, width, channels;
};
static inline size_t image_numbers(const struct image_shape *s)
{
    return (size_t)s->height * s->width * s->channels;
}

enum image_format { IMAGE_UNKNOWN, IMAGE_PNG, IMAGE_JPEG };
enum image_format image_format_of(const void *bytes, size_t length); /* by its first bytes */

/* PNG or JPEG to pixels [image_numbers(to)]; `to` has 1 channel, grey, or 3, RGB. */
int image_decode(const void *bytes, size_t length, const struct image_shape *to,
                 uint64_t max_pixels, unsigned char *pixels, struct fis_error *e) FIS_MUST_CHECK;
/* A byte for each number of `from`. Channels are those of `to`, or 1 for 3, or 3 for 1. */
int image_decode_raw(const void *bytes, size_t length, const struct image_shape *from,
                     const struct image_shape *to, uint64_t max_pixels, unsigned char *pixels,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Whether raw bytes can be an image of this shape. */
int image_check_raw(size_t length, const struct image_shape *from, uint64_t max_pixels,
                    struct fis_error *e) FIS_MUST_CHECK;

/* A PNG of pixels: grey, grey and alpha, RGB or RGBA by its channels. fis_free(*png). */
int image_encode_png(const unsigned char *pixels, const struct image_shape *s, unsigned char **png,
                     size_t *length, struct fis_error *e) FIS_MUST_CHECK;

/* 4 characters for each 3 bytes, with padding; out: image_base64_length, without a NUL. */
static inline size_t image_base64_length(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}
void image_base64_encode(const void *bytes, size_t length, char *out);
/* Into out, room for length / 4 * 3; it may be where the text is. How many bytes; negative: it is no
 * base64 with its padding, or has white space: -1 - the place of the first wrong character, which
 * is the length where that is no multiple of 4. */
long image_base64_decode(const char *text, size_t length, unsigned char *out);

#endif

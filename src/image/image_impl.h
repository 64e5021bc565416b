/* Inside the image layer: what its decoders share. */
#ifndef IMAGE_IMAGE_IMPL_H
#define IMAGE_IMAGE_IMPL_H

#include <stdbool.h>

#include "image/image.h"

#define IMAGE_REFUSE(e, ...) fis_refuse((e), FIS_CODE_BAD_IMAGE, __VA_ARGS__)

/* How an image was held, by EXIF: 1 upright; 2 to 8 are mirrored or turned; 5 to 8 swap the axes.
 */
#define IMAGE_UPRIGHT 1
/* tiff: what follows "Exif\0\0" of a JPEG, or an eXIf chunk. Upright when it does not say. */
int image_orientation(const unsigned char *tiff, size_t length);

/* INPUT: no pixels, too long a side, or more than max_pixels. */
int image_check_size(uint64_t height, uint64_t width, uint64_t max_pixels,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Where a decoder's rows go. Rows of 2 and 4 channels have alpha, unless `to` has as many. */
struct image_rows {
    struct image_shape from, to; /* as it is decoded, and what is required */
    int orientation;
    struct image_resize *resize;
    unsigned char *line, *turned; /* a row that is converted, and before that turned upright */
    unsigned char *whole;         /* [from]: an image that is not upright, or comes in passes */
};
/* By from, to and orientation; passes: each row comes more than once. */
int image_rows_start(struct image_rows *r, bool passes, struct fis_error *e) FIS_MUST_CHECK;
/* Where row y must be written; NULL: rows are added, from the first to the last. */
unsigned char *image_rows_place(const struct image_rows *r, uint32_t y);
void image_rows_add(struct image_rows *r, const unsigned char *row);
void image_rows_finish(struct image_rows *r, unsigned char *pixels);
void image_rows_done(struct image_rows *r); /* whatever of it was started */

/* Rows [from.width][channels] in, from the first to the last, to.height x to.width out. */
struct image_resize;
struct image_resize *image_resize_new(const struct image_shape *from, const struct image_shape *to,
                                      struct fis_error *e);
void image_resize_row(struct image_resize *r, const unsigned char *row);
void image_resize_finish(const struct image_resize *r, unsigned char *pixels);
void image_resize_free(struct image_resize *r);

int image_decode_png(const unsigned char *bytes, size_t length, const struct image_shape *to,
                     uint64_t max_pixels, unsigned char *pixels,
                     struct fis_error *e) FIS_MUST_CHECK;
int image_decode_jpeg(const unsigned char *bytes, size_t length, const struct image_shape *to,
                      uint64_t max_pixels, unsigned char *pixels,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif

#include <string.h>

#include "image_impl.h"

enum image_format image_format_of(const void *bytes, size_t length)
{
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff};
    if (length >= sizeof png && !memcmp(bytes, png, sizeof png))
        return IMAGE_PNG;
    return length >= sizeof jpeg && !memcmp(bytes, jpeg, sizeof jpeg) ? IMAGE_JPEG : IMAGE_UNKNOWN;
}

/* What people send in place of a PNG or JPEG. */
static const char *other_format(const unsigned char *b, size_t n)
{
    static const struct {
        const char *magic, *name;
        size_t at;
    } known[] = {
        {"GIF8", "a GIF", 0},       {"WEBP", "a WebP", 8},         {"BM", "a BMP", 0},
        {"II*", "a TIFF", 0},       {"MM\0*", "a TIFF", 0},        {"ftyp", "an AVIF or HEIF", 4},
        {"\0\0\1\0", "an icon", 0}, {"<svg", "an SVG", 0},         {"<?xml", "XML", 0},
        {"%PDF", "a PDF", 0},       {"\xff\x4f", "a JPEG 2000", 0}};
    static const unsigned char lengths[] = {4, 4, 2, 3, 4, 4, 4, 4, 5, 4, 2};
    for (size_t i = 0; i < sizeof lengths; i++)
        if (n >= known[i].at + lengths[i] && !memcmp(b + known[i].at, known[i].magic, lengths[i]))
            return known[i].name;
    return n ? "neither" : "no bytes";
}

int image_check_size(uint64_t height, uint64_t width, uint64_t max_pixels, struct fis_error *e)
{
    if (!height || !width)
        return IMAGE_REFUSE(e, "image: %llu x %llu has no pixels", (unsigned long long)height,
                            (unsigned long long)width);
    if (height > IMAGE_SIDE_MAX || width > IMAGE_SIDE_MAX || height * width > max_pixels)
        return fis_refuse(e, FIS_CODE_TOO_LONG,
                          "image: %llu x %llu pixels; at most %llu allowed (records.max_pixels), "
                          "and %u a side",
                          (unsigned long long)height, (unsigned long long)width,
                          (unsigned long long)max_pixels, IMAGE_SIDE_MAX);
    return 0;
}

int image_decode(const void *bytes, size_t length, const struct image_shape *to,
                 uint64_t max_pixels, unsigned char *pixels, struct fis_error *e)
{
    if (to->channels != 1 && to->channels != 3)
        return IMAGE_REFUSE(e, "image: a PNG or JPEG for %u channels; only raw bytes have them",
                            to->channels);
    switch (image_format_of(bytes, length)) {
    case IMAGE_PNG:
        return image_decode_png(bytes, length, to, max_pixels, pixels, e);
    case IMAGE_JPEG:
        return image_decode_jpeg(bytes, length, to, max_pixels, pixels, e);
    case IMAGE_UNKNOWN:
        break;
    }
    return IMAGE_REFUSE(e, "image: PNG or JPEG expected, %s found", other_format(bytes, length));
}

int image_check_raw(size_t length, const struct image_shape *from, uint64_t max_pixels,
                    struct fis_error *e)
{
    int rc = image_check_size(from->height, from->width, max_pixels, e);
    if (rc)
        return rc;
    if (!from->channels || from->channels > IMAGE_CHANNELS_MAX)
        return IMAGE_REFUSE(e, "image: raw bytes of %u channels, 1 to %u allowed", from->channels,
                            IMAGE_CHANNELS_MAX);
    if (length != image_numbers(from))
        return IMAGE_REFUSE(e, "image: %zu raw bytes; %u x %u x %u are %zu", length, from->height,
                            from->width, from->channels, image_numbers(from));
    return 0;
}

int image_decode_raw(const void *bytes, size_t length, const struct image_shape *from,
                     const struct image_shape *to, uint64_t max_pixels, unsigned char *pixels,
                     struct fis_error *e)
{
    int rc = image_check_raw(length, from, max_pixels, e);
    if (rc)
        return rc;
    if (from->channels != to->channels && !(from->channels == 1 && to->channels == 3) &&
        !(from->channels == 3 && to->channels == 1))
        return IMAGE_REFUSE(e, "image: raw bytes of %u channels; model.image has %u",
                            from->channels, to->channels);
    if (!memcmp(from, to, sizeof *from)) {
        memcpy(pixels, bytes, length);
        return 0;
    }
    struct image_rows rows = {.from = *from, .to = *to, .orientation = IMAGE_UPRIGHT};
    size_t stride = (size_t)from->width * from->channels;
    rc = image_rows_start(&rows, false, e);
    for (uint32_t y = 0; !rc && y < from->height; y++)
        image_rows_add(&rows, (const unsigned char *)bytes + y * stride);
    if (!rc)
        image_rows_finish(&rows, pixels);
    image_rows_done(&rows);
    return rc;
}

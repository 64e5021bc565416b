/* Rows of a decoder: collected where they must be, turned upright, converted, resized. */
#include <string.h>

#include "fis/mem.h"
#include "image_impl.h"

/* What shows on white. */
static unsigned char over_white(unsigned v, unsigned alpha)
{
    return (unsigned char)((v * alpha + 255 * (255 - alpha) + 127) / 255);
}

/* ITU-R 601, as Pillow rounds it. */
static unsigned char grey(const unsigned char *rgb)
{
    return (unsigned char)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000) >> 16);
}

/* [n][channels] without alpha; how many channels are left. */
static uint32_t flatten(const unsigned char *row, size_t n, uint32_t channels, unsigned char *out)
{
    uint32_t colours = channels - 1;
    for (size_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < colours; c++)
            out[i * colours + c] = over_white(row[i * channels + c], row[i * channels + colours]);
    return colours;
}

/* To the channels required; out [n][whichever has more channels]. */
static void convert(const unsigned char *row, size_t n, uint32_t channels, uint32_t to,
                    unsigned char *out)
{
    if (channels != to && channels % 2 == 0) {
        channels = flatten(row, n, channels, out);
        row = out;
    }
    if (channels == 3 && to == 1)
        for (size_t i = 0; i < n; i++)
            out[i] = grey(row + 3 * i);
    else if (channels == 1 && to == 3)
        for (size_t i = n; i-- > 0;) /* it may lie in `out` */
            memset(out + 3 * i, row[i], 3);
    else if (row != out)
        memcpy(out, row, n * to);
}

static void give(struct image_rows *r, const unsigned char *row, uint32_t width)
{
    convert(row, width, r->from.channels, r->to.channels, r->line);
    image_resize_row(r->resize, r->line);
}

/* Where pixel (x, y) of the upright image lies in the one that was decoded. */
static size_t source(const struct image_rows *r, uint32_t x, uint32_t y)
{
    uint32_t right = r->from.width - 1, bottom = r->from.height - 1, across, down;
    if (r->orientation > 4) {
        uint32_t swap = x;
        x = y;
        y = swap;
    }
    /* Turned or mirrored about the axes of the image as it was decoded. */
    bool flip_x =
        r->orientation == 2 || r->orientation == 3 || r->orientation == 7 || r->orientation == 8;
    bool flip_y =
        r->orientation == 3 || r->orientation == 4 || r->orientation == 6 || r->orientation == 7;
    across = flip_x ? right - x : x;
    down = flip_y ? bottom - y : y;
    return ((size_t)down * r->from.width + across) * r->from.channels;
}

static struct image_shape upright(const struct image_rows *r)
{
    const struct image_shape *f = &r->from;
    bool swapped = r->orientation > 4;
    return (struct image_shape){swapped ? f->width : f->height, swapped ? f->height : f->width,
                                r->to.channels};
}

int image_rows_start(struct image_rows *r, bool passes, struct fis_error *e)
{
    const struct image_shape shape = upright(r);
    bool whole = passes || r->orientation != IMAGE_UPRIGHT;
    r->resize = image_resize_new(&shape, &r->to, e);
    if (!r->resize)
        return -(int)FIS_NOMEM;
    r->line = fis_alloc(shape.width, IMAGE_CHANNELS_MAX);
    r->turned = whole ? fis_alloc(shape.width, IMAGE_CHANNELS_MAX) : NULL;
    r->whole = whole ? fis_alloc(image_numbers(&r->from), 1) : NULL;
    if (r->line && (!whole || (r->turned && r->whole)))
        return 0;
    return fis_fail(e, FIS_NOMEM, "no memory for an image of %u x %u pixels", r->from.height,
                    r->from.width);
}

void image_rows_done(struct image_rows *r)
{
    image_resize_free(r->resize);
    fis_free(r->line);
    fis_free(r->turned);
    fis_free(r->whole);
    *r = (struct image_rows){.orientation = IMAGE_UPRIGHT};
}

unsigned char *image_rows_place(const struct image_rows *r, uint32_t y)
{
    return r->whole ? r->whole + (size_t)y * r->from.width * r->from.channels : NULL;
}

void image_rows_add(struct image_rows *r, const unsigned char *row)
{
    give(r, row, r->from.width);
}

void image_rows_finish(struct image_rows *r, unsigned char *pixels)
{
    const struct image_shape shape = upright(r);
    const uint32_t channels = r->from.channels;
    for (uint32_t y = 0; r->whole && y < shape.height; y++) {
        for (uint32_t x = 0; x < shape.width; x++)
            memcpy(r->turned + (size_t)x * channels, r->whole + source(r, x, y), channels);
        give(r, r->turned, shape.width);
    }
    image_resize_finish(r->resize, pixels);
}

/* PNG, by libpng. Its chunks are walked first: size, animation, orientation and completeness are
 * known before libpng sees a byte. */
#include <png.h>
#include <string.h>

#include "fis/mem.h"
#include "image_impl.h"

#define SIGNATURE 8
#define AROUND 12 /* of a chunk: length, type, checksum */
#define HEADER 13 /* bytes of IHDR */

struct facts {
    uint32_t height, width;
    int orientation;
};

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* One chunk. 1: it is the last. */
static int look(const unsigned char *chunk, uint32_t length, bool first, struct facts *f,
                struct fis_error *e)
{
    const unsigned char *type = chunk + 4, *data = chunk + 8;
    if (first) {
        if (memcmp(type, "IHDR", 4) || length != HEADER)
            return IMAGE_REFUSE(e, "image: a PNG without its header");
        f->width = big_endian(data);
        f->height = big_endian(data + 4);
    } else if (!memcmp(type, "acTL", 4)) {
        return IMAGE_REFUSE(e, "image: an animated PNG; one picture expected");
    } else if (!memcmp(type, "eXIf", 4)) {
        f->orientation = image_orientation(data, length);
    }
    return !memcmp(type, "IEND", 4);
}

static int walk(const unsigned char *bytes, size_t length, uint64_t max_pixels, struct facts *f,
                struct fis_error *e)
{
    for (size_t at = SIGNATURE;;) {
        size_t left = length - at;
        uint32_t n = left >= AROUND ? big_endian(bytes + at) : 0;
        if (left < AROUND || n > left - AROUND)
            return IMAGE_REFUSE(e, "image: a truncated PNG: it ends at byte %zu", length);
        int rc = look(bytes + at, n, at == SIGNATURE, f, e);
        if (!rc && at == SIGNATURE)
            rc = image_check_size(f->height, f->width, max_pixels, e);
        if (rc)
            return rc < 0 ? rc : 0;
        at += AROUND + n;
    }
}

/* ---- what libpng calls ----------------------------------------------------------------------- */

struct reading {
    png_structp png;
    png_infop info;
    const unsigned char *at, *end;
    struct image_rows rows;
    unsigned char *row;
    struct fis_error *e;
    bool no_memory;
};

static void on_error(png_structp png, const char *text)
{
    struct reading *r = png_get_error_ptr(png);
    if (r->no_memory)
        fis_fail(r->e, FIS_NOMEM, "no memory to decode a PNG");
    else
        IMAGE_REFUSE(r->e, "image: a broken PNG: %s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, const char *text)
{
    (void)png;
    (void)text;
}

static void *allocate(png_structp png, png_alloc_size_t size)
{
    struct reading *r = png_get_mem_ptr(png);
    void *p = fis_alloc(size, 1);
    r->no_memory |= !p;
    return p;
}

static void release(png_structp png, void *p)
{
    (void)png;
    fis_free(p);
}

static void on_read(png_structp png, unsigned char *to, size_t n)
{
    struct reading *r = png_get_io_ptr(png);
    if ((size_t)(r->end - r->at) < n)
        png_error(png, "it ends too early");
    memcpy(to, r->at, n);
    r->at += n;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int open_reading(struct reading *r, struct fis_error *e)
{
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, allocate,
                                      release);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    return r->info ? 0 : fis_fail(e, FIS_NOMEM, "no memory to decode a PNG");
}

static void close_reading(struct reading *r)
{
    png_destroy_read_struct(&r->png, &r->info, NULL);
    image_rows_done(&r->rows);
    fis_free(r->row);
}

/* Colours of 8 bits. Nothing but these chunks is looked at, so no text or profile is inflated. */
static void set_up(struct reading *r)
{
    png_structp png = r->png;
    png_set_read_fn(png, r, on_read);
    png_set_user_limits(png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png, r->info);
    png_set_scale_16(png);
    png_set_expand(png);
}

/* libpng's errors come out here: nothing that changes after setjmp is a local. */
static int run(struct reading *r, unsigned char *pixels)
{
    if (setjmp(png_jmpbuf(r->png)))
        return -(int)(r->e->kind);
    set_up(r);
    const int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->rows.from.channels = png_get_channels(r->png, r->info);
    r->row = fis_alloc(png_get_rowbytes(r->png, r->info), 1);
    r->no_memory = !r->row || image_rows_start(&r->rows, passes > 1, r->e);
    if (r->no_memory)
        png_error(r->png, "no memory");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < r->rows.from.height; y++) {
            unsigned char *place = image_rows_place(&r->rows, y);
            png_read_row(r->png, place ? place : r->row, NULL);
            if (!place)
                image_rows_add(&r->rows, r->row);
        }
    png_read_end(r->png, NULL);
    image_rows_finish(&r->rows, pixels);
    return 0;
}

int image_decode_png(const unsigned char *bytes, size_t length, const struct image_shape *to,
                     uint64_t max_pixels, unsigned char *pixels, struct fis_error *e)
{
    struct fis_error local;
    struct facts f = {.orientation = IMAGE_UPRIGHT};
    e = e ? e : &local;
    int rc = walk(bytes, length, max_pixels, &f, e);
    if (rc)
        return rc;
    struct reading r = {
        .at = bytes,
        .end = bytes + length,
        .rows = {.from = {f.height, f.width, 0}, .to = *to, .orientation = f.orientation},
        .e = e};
    rc = open_reading(&r, e);
    if (!rc)
        rc = run(&r, pixels);
    close_reading(&r);
    return rc;
}

/* ---- encoding -------------------------------------------------------------------------------- */

struct writing {
    png_structp png;
    png_infop info;
    unsigned char *bytes;
    size_t length, capacity;
};

static void on_write_error(png_structp png, const char *text)
{
    (void)text;
    png_longjmp(png, 1);
}

static void on_write(png_structp png, unsigned char *from, size_t n)
{
    struct writing *w = png_get_io_ptr(png);
    if (w->capacity - w->length < n) {
        size_t more = 2 * w->capacity + n + 1024;
        if (!fis_grow(&w->bytes, w->length, more, 1))
            png_error(png, "no memory");
        w->capacity = more;
    }
    memcpy(w->bytes + w->length, from, n);
    w->length += n;
}

static void on_flush(png_structp png)
{
    (void)png;
}

static int write_all(struct writing *w, const unsigned char *pixels, const struct image_shape *s)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(w->png)))
        return -1;
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_IHDR(w->png, w->info, s->width, s->height, 8, types[s->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (uint32_t y = 0; y < s->height; y++)
        png_write_row(w->png, pixels + (size_t)y * s->width * s->channels);
    png_write_end(w->png, NULL);
    return 0;
}

int image_encode_png(const unsigned char *pixels, const struct image_shape *s, unsigned char **png,
                     size_t *length, struct fis_error *e)
{
    struct reading memory = {0}; /* what allocate() notes is of no interest here */
    struct writing w = {0};
    w.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, NULL, on_write_error, on_warning,
                                      &memory, allocate, release);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    int rc = w.info ? write_all(&w, pixels, s) : -1;
    png_destroy_write_struct(&w.png, &w.info);
    if (rc) {
        fis_free(w.bytes);
        return fis_fail(e, FIS_NOMEM, "no memory to encode a PNG of %u x %u", s->height, s->width);
    }
    *png = w.bytes;
    *length = w.length;
    return 0;
}

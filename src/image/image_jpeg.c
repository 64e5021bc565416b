/* JPEG, by libjpeg-turbo. Its warnings about data that is not there or means nothing are errors. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "fis/mem.h"
#include "image_impl.h"

#define EXIF (JPEG_APP0 + 1)
#define EXIF_MAX 0xffff
/* Encoders write about ten; each costs a pass over the whole image. */
#define SCANS_MAX 50

struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    struct image_rows rows;
    unsigned char *row;
    struct fis_error *e;
    uint64_t max_pixels;
    int rc; /* of what failed outside libjpeg */
};

_Noreturn static void give_up(struct reading *r, int rc)
{
    r->rc = rc;
    longjmp(r->failed, 1);
}

static void on_error(j_common_ptr c)
{
    struct reading *r = c->client_data;
    char text[JMSG_LENGTH_MAX];
    if (c->err->msg_code == JERR_OUT_OF_MEMORY)
        give_up(r, fis_fail(r->e, FIS_NOMEM, "no memory to decode a JPEG"));
    c->err->format_message(c, text);
    give_up(r, IMAGE_REFUSE(r->e, "image: a broken JPEG: %s", text));
}

/* level -1: a warning; the others are for traces. */
static void on_message(j_common_ptr c, int level)
{
    int code = c->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR &&
        code != JWRN_ADOBE_XFORM)
        on_error(c);
}

static void on_output(j_common_ptr c)
{
    (void)c;
}

static void on_progress(j_common_ptr c)
{
    struct reading *r = c->client_data;
    if (r->jpeg.input_scan_number > SCANS_MAX)
        give_up(r, IMAGE_REFUSE(r->e, "image: a JPEG of more than %d scans", SCANS_MAX));
}

static void find_orientation(struct reading *r)
{
    static const char exif[6] = "Exif\0";
    r->rows.orientation = IMAGE_UPRIGHT;
    for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m; m = m->next)
        if (m->data_length >= sizeof exif && !memcmp(m->data, exif, sizeof exif)) {
            r->rows.orientation =
                image_orientation(m->data + sizeof exif, m->data_length - sizeof exif);
            return;
        }
}

static void choose_colours(struct reading *r)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    switch (j->jpeg_color_space) {
    case JCS_GRAYSCALE:
        j->out_color_space = JCS_GRAYSCALE;
        break;
    case JCS_RGB:
    case JCS_YCbCr:
        j->out_color_space = JCS_RGB;
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        give_up(r, IMAGE_REFUSE(r->e, "image: a JPEG in CMYK; grey, RGB or YCbCr expected"));
    default:
        give_up(r, IMAGE_REFUSE(r->e, "image: a JPEG of %d channels; grey, RGB or YCbCr expected",
                                j->num_components));
    }
}

static void read_header(struct reading *r)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    jpeg_save_markers(j, EXIF, EXIF_MAX);
    jpeg_read_header(j, TRUE);
    int rc = image_check_size(j->image_height, j->image_width, r->max_pixels, r->e);
    if (rc)
        give_up(r, rc);
    find_orientation(r);
    choose_colours(r);
}

/* libjpeg's errors come out here: nothing that changes after setjmp is a local. */
static int run(struct reading *r, const unsigned char *bytes, size_t length, unsigned char *pixels)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    if (setjmp(r->failed))
        return r->rc;
    jpeg_create_decompress(j);
    j->progress = &r->progress;
    jpeg_mem_src(j, bytes, length);
    read_header(r);
    jpeg_start_decompress(j);
    r->rows.from =
        (struct image_shape){j->output_height, j->output_width, (uint32_t)j->output_components};
    r->row = fis_alloc(r->rows.from.width, r->rows.from.channels);
    if (!r->row)
        give_up(r, fis_fail(r->e, FIS_NOMEM, "no memory to decode a JPEG"));
    int rc = image_rows_start(&r->rows, false, r->e);
    if (rc)
        give_up(r, rc);
    while (j->output_scanline < j->output_height) {
        unsigned char *place = image_rows_place(&r->rows, j->output_scanline);
        unsigned char *row = place ? place : r->row;
        if (jpeg_read_scanlines(j, &row, 1) && !place)
            image_rows_add(&r->rows, row);
    }
    jpeg_finish_decompress(j);
    image_rows_finish(&r->rows, pixels);
    return 0;
}

int image_decode_jpeg(const unsigned char *bytes, size_t length, const struct image_shape *to,
                      uint64_t max_pixels, unsigned char *pixels, struct fis_error *e)
{
    struct fis_error local;
    struct reading r = {.rows = {.to = *to}, .e = e ? e : &local, .max_pixels = max_pixels};
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.jpeg.client_data = &r;
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.errors.output_message = on_output;
    r.progress.progress_monitor = on_progress;
    int rc = run(&r, bytes, length, pixels);
    jpeg_destroy_decompress(&r.jpeg);
    image_rows_done(&r.rows);
    fis_free(r.row);
    return rc;
}

#include "wire/record_image.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

size_t wire_image_arena(const struct wire_schema *schema)
{
    return image_numbers(&schema->image) * (sizeof(float) + 1) + 64;
}

static void *take(struct fis_arena *arena, size_t bytes, struct fis_error *e)
{
    void *p = fis_arena_alloc(arena, bytes);
    if (!p)
        fis_refuse(e, FIS_CODE_TOO_LONG, "an image takes more than %zu bytes to decode",
                   arena->size);
    return p;
}

int wire_image_read(const struct wire_reader *outer, const struct wire_field *f,
                    struct wire_image *image, struct fis_error *e)
{
    struct wire_reader r = wire_reader_inside(outer, f);
    struct wire_field in;
    int rc;
    if (image->data.data)
        return fis_refuse(e, FIS_CODE_BAD_IMAGE, "image: two of them; one picture expected");
    image->data = (struct wire_bytes){"", 0};
    while ((rc = wire_reader_next(&r, &in, e)) > 0)
        switch (in.number) {
        case 1:
            image->data = (struct wire_bytes){in.data, in.length};
            break;
        case 2:
            image->shape.height = (uint32_t)in.value;
            break;
        case 3:
            image->shape.width = (uint32_t)in.value;
            break;
        case 4:
            image->shape.channels = (uint32_t)in.value;
            break;
        }
    return rc;
}

static const struct {
    const char *start, *type, *name;
    enum image_format format;
} kinds[] = {{"iVBORw0KGgo", "image/png", "PNG", IMAGE_PNG},
             {"/9j/", "image/jpeg", "JPEG", IMAGE_JPEG}};

size_t wire_image_prefix(const char *text, size_t length)
{
    const char *comma =
        length > 5 && !strncasecmp(text, "data:", 5) ? memchr(text, ',', length) : NULL;
    return comma ? (size_t)(comma + 1 - text) : 0;
}

static int kind_of(const char *text, size_t length)
{
    const size_t prefix = wire_image_prefix(text, length);
    text += prefix;
    length -= prefix;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(kinds[i].start);
        if (length >= n && !memcmp(text, kinds[i].start, n) &&
            (kinds[i].format == IMAGE_PNG || length % 4 == 0)) /* "/9j/" may begin a path */
            return i;
    }
    return -1;
}

const char *wire_image_type(const char *text, size_t length)
{
    int kind = kind_of(text, length);
    return kind < 0 ? NULL : kinds[kind].type;
}

bool wire_image_show(const char *text, size_t length, char *shown)
{
    int kind = kind_of(text, length);
    if (kind >= 0)
        snprintf(shown, WIRE_IMAGE_SHOWN, "%s, %zu bytes", kinds[kind].name,
                 (length - wire_image_prefix(text, length)) / 4 * 3);
    return kind >= 0;
}

/* at: of the first wrong character. */
static int refuse_text(const char *text, size_t length, size_t at, struct fis_error *e)
{
    if (at == length)
        return fis_refuse(e, FIS_CODE_BAD_IMAGE,
                          "image: a PNG or JPEG in base64 expected, %zu characters found, which is "
                          "no multiple of 4",
                          length);
    const unsigned char c = (unsigned char)text[at];
    return fis_refuse(e, FIS_CODE_BAD_IMAGE,
                      "image: a PNG or JPEG in base64 expected, %s%.*s found as character %zu",
                      c <= ' '    ? "white space"
                      : c >= 0x7f ? "a byte beyond ASCII"
                                  : "",
                      c > ' ' && c < 0x7f, text + at, at + 1);
}

int wire_image_of_text(struct wire_bytes text, struct fis_arena *arena, struct wire_image *image,
                       struct fis_error *e)
{
    const size_t prefix = wire_image_prefix(text.data, text.length), length = text.length - prefix;
    const char *at = (const char *)text.data + prefix;
    unsigned char *bytes = take(arena, length / 4 * 3 + 1, e);
    if (!bytes)
        return -FIS_INPUT;
    long n = length ? image_base64_decode(at, length, bytes) : 0;
    if (n < 0)
        return refuse_text(at, length, (size_t)(-1 - n), e);
    *image = (struct wire_image){.data = {bytes, (size_t)n}};
    return 0;
}

static bool is_raw(const struct wire_image *image)
{
    return image->shape.height || image->shape.width || image->shape.channels;
}

int wire_image_numbers(const struct wire_schema *schema, const struct wire_image *image,
                       struct fis_arena *arena, const float **numbers, struct fis_error *e)
{
    const struct image_shape *to = &schema->image;
    const struct wire_bytes *b = &image->data;
    size_t n = image_numbers(to);
    if (!n)
        return fis_refuse(e, FIS_CODE_UNKNOWN_COLUMN,
                          "an image; only model.type: vit takes images, and it is mlp");
    unsigned char *pixels = take(arena, n, e);
    float *out = take(arena, n * sizeof *out, e);
    if (!pixels || !out)
        return -FIS_INPUT;
    int rc = is_raw(image) ? image_decode_raw(b->data, b->length, &image->shape, to,
                                              schema->max_pixels, pixels, e)
                           : image_decode(b->data, b->length, to, schema->max_pixels, pixels, e);
    for (size_t i = 0; !rc && i < n; i++)
        out[i] = FIS_PIXEL(pixels[i]);
    if (!rc)
        *numbers = out;
    return rc;
}

int wire_image_values(const struct wire_schema *schema, const struct wire_image *image,
                      struct fis_arena *arena, struct fis_value *values, struct fis_error *e)
{
    const float *numbers;
    int rc = wire_image_numbers(schema, image, arena, &numbers, e);
    for (size_t i = 0; !rc && i < image_numbers(&schema->image); i++)
        values[i] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = (double)numbers[i]};
    return rc;
}

static int text_of(struct wire_bytes bytes, struct fis_arena *arena, struct wire_bytes *text,
                   struct fis_error *e)
{
    size_t length = image_base64_length(bytes.length);
    char *out = take(arena, length + 1, e);
    if (!out)
        return -FIS_INPUT;
    image_base64_encode(bytes.data, bytes.length, out);
    *text = (struct wire_bytes){out, length};
    return 0;
}

int wire_image_text(const struct wire_schema *schema, const struct wire_image *image,
                    struct fis_arena *arena, struct wire_bytes *text, struct fis_error *e)
{
    const struct image_shape *s = &image->shape;
    unsigned char *png;
    size_t length;
    if (!is_raw(image))
        return text_of(image->data, arena, text, e);
    int rc = image_check_raw(image->data.length, s, schema->max_pixels, e);
    if (!rc)
        rc = image_encode_png(image->data.data, s, &png, &length, e);
    if (rc)
        return rc;
    rc = text_of((struct wire_bytes){png, length}, arena, text, e);
    fis_free(png);
    return rc;
}

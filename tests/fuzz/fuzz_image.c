/* Images: PNG and JPEG, raw bytes, base64. The first byte says which, and what they become. */
#include <stdlib.h>

#include "common.h"

#include "fis/mem.h"
#include "image/image.h"

#define PIXELS 65536u
#define RAW 4u
#define BASE64 8u

static const struct image_shape shapes[] = {{8, 8, 3}, {7, 5, 1}, {28, 31, 3}, {40, 6, 3}};

/* What comes out is a picture: written as PNG and read again it is the same. */
static void check_again(const unsigned char *pixels, const struct image_shape *s)
{
    unsigned char *png, *back = malloc(image_numbers(s));
    size_t length;
    struct fis_error e;
    FUZZ_HOLDS(back && !image_encode_png(pixels, s, &png, &length, &e));
    FUZZ_HOLDS(!image_decode(png, length, s, PIXELS, back, &e));
    FUZZ_HOLDS(!memcmp(back, pixels, image_numbers(s)));
    fis_free(png);
    free(back);
}

static void decode(struct fuzz_input *in, unsigned kind)
{
    const struct image_shape *to = &shapes[kind & 3];
    unsigned char *pixels = malloc(image_numbers(to));
    struct fis_error e = {0};
    FUZZ_HOLDS(pixels);
    int rc;
    if (kind & RAW) {
        struct image_shape from = {.height = fuzz_byte(in)};
        from.width = fuzz_byte(in);
        from.channels = fuzz_byte(in);
        rc = image_decode_raw(in->data, in->size, &from, to, PIXELS, pixels, &e);
    } else {
        rc = image_decode(in->data, in->size, to, PIXELS, pixels, &e);
    }
    if (rc)
        fuzz_check_error(&e);
    else
        check_again(pixels, to);
    free(pixels);
}

/* What is base64 is written again as it was, but for bits that nothing stands for. */
static void base64(const struct fuzz_input *in)
{
    unsigned char *bytes = malloc(in->size + 1);
    char *text = malloc(in->size + 4);
    FUZZ_HOLDS(bytes && text);
    long n = image_base64_decode((const char *)in->data, in->size, bytes);
    if (n >= 0) {
        FUZZ_HOLDS(image_base64_length((size_t)n) == in->size);
        image_base64_encode(bytes, (size_t)n, text);
        FUZZ_HOLDS(!in->size || !memcmp(text, in->data, in->size - 4));
    }
    free(bytes);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned kind = fuzz_byte(&in);
    if (kind & BASE64)
        base64(&in);
    else
        decode(&in, kind);
    return 0;
}

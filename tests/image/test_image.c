/* Images of every kind against Pillow (tests/golden/make_images.py), and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fis/mem.h"
#include "image/image.h"

#define GOLDEN "tests/golden/images.txt"
#define LIMIT 100000u
#define ROOM 65536u

struct line {
    char *name, *value;
    struct image_shape shape;
    unsigned char *file;
    size_t length;
};

/* Takes the text apart where it lies. */
static void parse(char *text, struct line *l)
{
    char *end;
    l->name = strtok(text, " ");
    char *shape = strtok(NULL, " ");
    l->value = strtok(NULL, " \n");
    char *base64 = strtok(NULL, " \n");
    assert_int_equal(
        sscanf(shape, "%ux%ux%u", &l->shape.height, &l->shape.width, &l->shape.channels), 3);
    l->file = (unsigned char *)base64;
    long n = base64 ? image_base64_decode(base64, strlen(base64), l->file) : 0;
    assert_true(n >= 0);
    l->length = (size_t)n;
    for (end = l->value; *end; end++)
        if (*l->value == '!' && *end == '_')
            *end = ' ';
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void check(const struct line *l)
{
    static unsigned char pixels[ROOM];
    struct fis_error e = {0};
    /* Of exactly its length: a sanitizer sees a read past it. */
    unsigned char *file = malloc(l->length ? l->length : 1);
    assert_non_null(file);
    memcpy(file, l->file ? l->file : (unsigned char *)"", l->length);
    int rc = image_decode(file, l->length, &l->shape, LIMIT, pixels, &e);
    free(file);
    if (*l->value == '!') {
        assert_int_equal(rc, -FIS_INPUT);
        assert_true(e.code == FIS_CODE_BAD_IMAGE || e.code == FIS_CODE_TOO_LONG);
        if (!strstr(e.text, l->value + 1))
            fail_msg("%s: \"%s\" is not in \"%s\"", l->name, l->value + 1, e.text);
        return;
    }
    if (rc)
        fail_msg("%s: %s", l->name, e.text);
    size_t n = image_numbers(&l->shape);
    assert_int_equal(strlen(l->value), 2 * n);
    for (size_t i = 0; i < n; i++) {
        int expected = digit(l->value[2 * i]) * 16 + digit(l->value[2 * i + 1]);
        if (abs(expected - pixels[i]) > 1)
            fail_msg("%s, %u x %u x %u: number %zu is %d, Pillow has %d", l->name, l->shape.height,
                     l->shape.width, l->shape.channels, i, pixels[i], expected);
    }
}

static void test_golden(void **state)
{
    (void)state;
    FILE *in = fopen(GOLDEN, "r");
    char *text = NULL;
    size_t room = 0;
    int count = 0;
    assert_non_null(in);
    for (; getline(&text, &room, in) > 0; count++) {
        struct line l = {0};
        parse(text, &l);
        check(&l);
    }
    free(text);
    fclose(in);
    assert_true(count > 100);
}

/* A picture whose PNG is `file`. */
static void read_golden(const char *name, struct line *l, char **text)
{
    FILE *in = fopen(GOLDEN, "r");
    size_t room = 0;
    assert_non_null(in);
    while (getline(text, &room, in) > 0)
        if (!strncmp(*text, name, strlen(name)) && (*text)[strlen(name)] == ' ') {
            parse(*text, l);
            fclose(in);
            return;
        }
    fail_msg("%s: no %s", GOLDEN, name);
}

/* The broken ends of a good file, and bytes that are another: an error, or an image. */
static void test_broken(void **state)
{
    (void)state;
    static const char *const names[] = {"png-rgb", "png-interlaced", "jpeg-rgb", "jpeg-progressive",
                                        "jpeg-turned-6"};
    static unsigned char pixels[ROOM];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct line l = {0};
        struct fis_error e;
        char *text = NULL;
        read_golden(names[k], &l, &text);
        for (size_t n = 0; n < l.length; n++)
            assert_int_equal(image_decode(l.file, n, &l.shape, LIMIT, pixels, &e), -FIS_INPUT);
        for (size_t i = 0; i < l.length; i++) {
            l.file[i] ^= 0x55;
            int rc = image_decode(l.file, l.length, &l.shape, LIMIT, pixels, &e);
            assert_true(rc == 0 || rc == -FIS_INPUT);
            l.file[i] ^= 0x55;
        }
        assert_int_equal(image_decode(l.file, l.length, &l.shape, LIMIT, pixels, NULL), 0);
        free(text);
    }
}

/* Memory that is refused: an error of that kind, and nothing leaks (a sanitizer's word). */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"png-interlaced-alpha", "jpeg-turned-6", "png-palette"};
    static unsigned char pixels[ROOM];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct line l = {0};
        char *text = NULL;
        int rc = -1;
        read_golden(names[k], &l, &text);
        for (uint64_t n = 0; rc; n++) {
            struct fis_error e = {0};
            assert_true(n < 200);
            fis_mem_refuse_after(n);
            rc = image_decode(l.file, l.length, &l.shape, LIMIT, pixels, &e);
            fis_mem_refuse_after(UINT64_MAX);
            assert_true(rc == 0 || rc == -FIS_NOMEM);
            assert_int_equal(rc ? e.kind : FIS_OK, -rc);
        }
        free(text);
    }
}

static void test_raw(void **state)
{
    (void)state;
    static const unsigned char two_by_two[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
    const struct image_shape from = {2, 2, 3}, one = {1, 1, 3}, grey = {2, 2, 1};
    unsigned char out[12];
    struct fis_error e;
    assert_int_equal(image_decode_raw(two_by_two, 12, &from, &from, LIMIT, out, &e), 0);
    assert_memory_equal(out, two_by_two, 12);
    assert_int_equal(image_decode_raw(two_by_two, 12, &from, &one, LIMIT, out, &e), 0);
    assert_int_equal(out[0], 45);
    assert_int_equal(out[2], 65);
    assert_int_equal(image_decode_raw(two_by_two, 12, &from, &grey, LIMIT, out, &e), 0);
    assert_int_equal(out[0], (10 * 38470 + 20 * 7471 + 0x8000) >> 16);
    assert_int_equal(image_decode_raw(two_by_two, 4, &grey, &from, LIMIT, out, &e), 0);
    assert_int_equal(out[5], 10);
    static const struct {
        struct image_shape from;
        size_t length;
        enum fis_error_code code;
        const char *words;
    } bad[] = {{{2, 2, 3}, 11, FIS_CODE_BAD_IMAGE, "11 raw bytes; 2 x 2 x 3 are 12"},
               {{2, 0, 3}, 0, FIS_CODE_BAD_IMAGE, "2 x 0 has no pixels"},
               {{2, 2, 2}, 8, FIS_CODE_BAD_IMAGE, "2 channels; model.image has 3"},
               {{2, 2, 0}, 0, FIS_CODE_BAD_IMAGE, "0 channels, 1 to 4 allowed"},
               {{65535, 65535, 3}, 12, FIS_CODE_TOO_LONG, "records.max_pixels"},
               {{UINT32_MAX, UINT32_MAX, 3}, 12, FIS_CODE_TOO_LONG, "records.max_pixels"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(
            image_decode_raw(two_by_two, bad[i].length, &bad[i].from, &from, LIMIT, out, &e),
            -FIS_INPUT);
        assert_int_equal(e.code, bad[i].code);
        assert_non_null(strstr(e.text, bad[i].words));
    }
}

static void test_encode_png(void **state)
{
    (void)state;
    unsigned char pixels[5 * 7 * 4], back[5 * 7 * 4], *png;
    size_t length;
    struct fis_error e;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(i * 37);
    for (uint32_t channels = 1; channels <= 3; channels += 2) {
        const struct image_shape s = {5, 7, channels};
        assert_int_equal(image_encode_png(pixels, &s, &png, &length, &e), 0);
        assert_int_equal(image_format_of(png, length), IMAGE_PNG);
        assert_int_equal(image_decode(png, length, &s, LIMIT, back, &e), 0);
        assert_memory_equal(back, pixels, image_numbers(&s));
        fis_free(png);
    }
    const struct image_shape alpha = {5, 7, 4};
    int rc = -1;
    for (uint64_t n = 0; rc; n++) {
        fis_mem_refuse_after(n);
        rc = image_encode_png(pixels, &alpha, &png, &length, &e);
        fis_mem_refuse_after(UINT64_MAX);
        assert_true(rc == 0 || rc == -FIS_NOMEM);
    }
    fis_free(png);
}

static void test_base64(void **state)
{
    (void)state;
    char text[16];
    unsigned char back[16];
    const char *plain = "any carnal";
    static const char *const bad[] = {
        "YQ", "YQ=", "Y===", "====", "Y Q=", "YQ==YQ==", "Y_Q=", "Y\nQ="};
    static const long places[] = {2, 3, 1, 0, 1, 2, 1, 1};
    for (size_t n = 0; n <= 10; n++) {
        image_base64_encode(plain, n, text);
        size_t length = image_base64_length(n);
        assert_int_equal(image_base64_decode(text, length, back), n);
        assert_memory_equal(back, plain, n);
    }
    image_base64_encode("\xff\xfe\xfd", 3, text);
    assert_memory_equal(text, "//79", 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(image_base64_decode(bad[i], strlen(bad[i]), back), -1 - places[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),     cmocka_unit_test(test_broken),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_raw),
        cmocka_unit_test(test_encode_png), cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

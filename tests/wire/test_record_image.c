/* Images in records, examples and encoders: the same numbers whatever carries them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fis.pb-c.h"
#include "wire/json_codec.h"
#include "wire/model_parts.h"
#include "wire/protobuf_codec.h"
#include "wire/record_image.h"
#include "wire/request_shown.h"

enum { SIDE = 2, CHANNELS = 3, D = SIDE * SIDE * CHANNELS };

static const char *const classes[] = {"no", "yes"};
static const struct wire_schema schema = {.classes = classes,
                                          .n_classes = 2,
                                          .id_column = "id",
                                          .label_column = "label",
                                          .max_bytes = 4096,
                                          .image = {SIDE, SIDE, CHANNELS},
                                          .max_pixels = 100};
static const unsigned char pixels[D] = {0, 10, 20, 255, 40, 50, 60, 70, 80, 90, 100, 110};
static unsigned char room[1 << 18];

struct world {
    struct fis_column columns[D];
    char names[D][8];
    struct fis_encoder *encoder;
};

/* Fitted on the picture and on black. */
static int set_up(void **state)
{
    static struct world w;
    struct fis_value v[D];
    struct fis_error e;
    const struct wire_schema *s = &schema;
    for (uint32_t i = 0; i < D; i++) {
        snprintf(w.names[i], sizeof w.names[i], "f%u", i);
        w.columns[i] = (struct fis_column){w.names[i], FIS_NUMERIC, FIS_SCALE_STANDARD};
    }
    w.encoder = fis_encoder_new(w.columns, D, 0, &e);
    if (!w.encoder || wire_schema_fit_image(s, w.encoder, &e))
        return -1;
    for (int row = 0; row < 2; row++) {
        for (uint32_t i = 0; i < D; i++)
            v[i] = (struct fis_value){.kind = FIS_VALUE_NUMBER,
                                      .number = (double)FIS_PIXEL(row ? 0 : pixels[i])};
        if (fis_encoder_observe(w.encoder, v, &e))
            return -1;
    }
    *state = &w;
    return fis_encoder_finish(w.encoder, &e);
}

static int tear_down(void **state)
{
    fis_encoder_free(((struct world *)*state)->encoder);
    return 0;
}

/* What the network sees of the picture. */
static void expected(const struct fis_encoder *enc, float *x)
{
    float numbers[D];
    for (uint32_t i = 0; i < D; i++)
        numbers[i] = FIS_PIXEL(pixels[i]);
    assert_int_equal(fis_encoder_encode_floats(enc, numbers, D, x, NULL), 0);
}

static void test_one_scale_a_channel(void **state)
{
    const struct world *w = *state;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        double sum = 0, squares = 0;
        for (uint32_t i = c; i < D; i += CHANNELS) {
            double v = (double)FIS_PIXEL(pixels[i]);
            sum += v - 1;
            squares += v * v + 1;
        }
        const double mean = sum / 8, variance = squares / 8 - mean * mean;
        for (uint32_t i = c; i < D; i += CHANNELS) {
            struct fis_encoder_column_state s;
            fis_encoder_state(w->encoder, i, &s);
            assert_true(s.mean - mean < 1e-9 && mean - s.mean < 1e-9);
            double difference = s.deviation * s.deviation - variance;
            assert_true(difference < 1e-9 && difference > -1e-9);
            assert_int_equal(s.missing_indicator, 0);
        }
    }
}

static void test_encoder_comes_back(void **state)
{
    const struct world *w = *state;
    struct fis_arena a = {.base = room, .size = sizeof room};
    struct fis_shape shape = {.n_layers = 1, .width = {D, 2}};
    Fis__V1__Encoder sent;
    struct fis_encoder *back;
    struct fis_error e;
    float x[D], y[D];
    assert_int_equal(wire_encoder_fill(&sent, w->encoder, NULL, &a, &e), 0);
    assert_int_equal(sent.n_columns, 0);
    assert_int_equal(wire_encoder_read(&sent, &shape, &back, &e), 0);
    const struct fis_encoder_image *image = fis_encoder_image(back);
    assert_true(image && image->height == SIDE && image->width == SIDE &&
                image->channels == CHANNELS);
    assert_string_equal(fis_encoder_column(back, D - 1)->name, "f11");
    expected(w->encoder, x);
    expected(back, y);
    assert_memory_equal(x, y, sizeof x);
    fis_encoder_free(back);
    /* Sizes that nobody can have, and numbers that are not there. */
    Fis__V1__Encoder__Image good = *sent.image;
    for (int k = 0; k < 6; k++) {
        *sent.image = good;
        uint32_t *sizes[] = {&sent.image->height, &sent.image->width, &sent.image->channels};
        if (k < 3)
            *sizes[k] = 0;
        else if (k < 5)
            *sizes[k - 3] = UINT32_MAX;
        else
            sent.image->n_deviation = 2;
        assert_int_equal(wire_encoder_read(&sent, &shape, &back, &e), -FIS_INPUT);
    }
}

static struct wire_message message(const void *value, size_t length)
{
    return (struct wire_message){
        .topic = "t", .offset = 1, .timestamp_ms = -1, .value = {value, length}};
}

static size_t pack(unsigned char *out, size_t shape, bool numbers)
{
    float f[D];
    Fis__V1__Record r = FIS__V1__RECORD__INIT;
    Fis__V1__Image i = FIS__V1__IMAGE__INIT;
    unsigned char *png = NULL;
    size_t length = 0;
    const struct image_shape s = {SIDE, SIDE, CHANNELS};
    assert_int_equal(image_encode_png(pixels, &s, &png, &length, NULL), 0);
    i.data = (ProtobufCBinaryData){length, png};
    if (shape) {
        i.data = (ProtobufCBinaryData){D, (uint8_t *)(uintptr_t)pixels};
        i.height = i.width = (uint32_t)shape;
        i.channels = CHANNELS;
    }
    r.image = &i;
    for (uint32_t k = 0; k < D; k++)
        f[k] = FIS_PIXEL(pixels[k]);
    r.n_features = numbers ? D : 0;
    r.features = f;
    size_t n = fis__v1__record__pack(&r, out);
    fis_free(png);
    return n;
}

static enum wire_decoded decode(const struct world *w, const struct wire_schema *s,
                                const unsigned char *bytes, size_t n, float *x, struct fis_error *e)
{
    struct fis_arena a = {.base = room, .size = sizeof room};
    struct wire_message m = message(bytes, n);
    struct wire_record r;
    return wire_protobuf_record(s, w->encoder, &m, &a, x, &r, e);
}

static void test_protobuf(void **state)
{
    const struct world *w = *state;
    unsigned char bytes[512];
    float x[D], want[D];
    struct fis_error e;
    expected(w->encoder, want);
    for (size_t shape = 0; shape <= SIDE; shape += SIDE) {
        size_t n = pack(bytes, shape, false);
        assert_int_equal(decode(w, &schema, bytes, n, x, &e), WIRE_OK);
        assert_memory_equal(x, want, sizeof x);
    }
    assert_int_equal(decode(w, &schema, bytes, pack(bytes, 3, false), x, &e), WIRE_BAD);
    assert_int_equal(e.code, FIS_CODE_BAD_IMAGE);
    assert_int_equal(decode(w, &schema, bytes, pack(bytes, 60000, false), x, &e), WIRE_BAD);
    assert_int_equal(e.code, FIS_CODE_TOO_LONG);
    assert_int_equal(decode(w, &schema, bytes, pack(bytes, 0, true), x, &e), WIRE_BAD);
    assert_int_equal(e.code, FIS_CODE_WRONG_WIDTH);
    struct wire_schema columns = schema;
    columns.image = (struct image_shape){0};
    assert_int_equal(decode(w, &columns, bytes, pack(bytes, 0, false), x, &e), WIRE_BAD);
    assert_int_equal(e.code, FIS_CODE_UNKNOWN_COLUMN);
}

static void test_json(void **state)
{
    const struct world *w = *state;
    struct fis_arena a = {.base = room, .size = sizeof room};
    const struct wire_image image = {{pixels, D}, {SIDE, SIDE, CHANNELS}};
    char text[1024], shown[WIRE_IMAGE_SHOWN];
    struct wire_bytes base64;
    struct wire_record r;
    struct wire_example example;
    struct fis_error e;
    float x[D], want[D];
    static unsigned char more[1 << 16];
    expected(w->encoder, want);
    assert_int_equal(wire_image_text(&schema, &image, &a, &base64, &e), 0);
    assert_string_equal(wire_image_type(base64.data, base64.length), "image/png");
    assert_true(wire_image_show(base64.data, base64.length, shown));
    assert_non_null(strstr(shown, "PNG, "));
    static const char *const before[] = {"", "data:image/png;base64,", "data:image/jpg;base64,",
                                         "data:;base64,"};
    for (int k = 0; k < 4; k++) {
        struct fis_arena b = {.base = more, .size = sizeof more};
        int n = snprintf(text, sizeof text, "{\"id\":\"a\",\"image\":\"%s%.*s\",\"label\":\"yes\"}",
                         before[k], (int)base64.length, (const char *)base64.data);
        assert_string_equal(
            wire_image_type(strstr(text, "e\":\"") + 4, strlen(before[k]) + base64.length),
            "image/png");
        struct wire_message m = message(text, (size_t)n);
        assert_int_equal(wire_json_example(&schema, w->columns, D, 0, &m, &b, &example, &e),
                         WIRE_OK);
        assert_true(example.values[3].number == 1.0);
        struct wire_schema ignoring = schema; /* other keys do not hide the image */
        ignoring.members.others = WIRE_IGNORE;
        b.used = 0;
        assert_int_equal(wire_json_record(&ignoring, w->encoder, &m, &b, x, &r, &e), WIRE_OK);
        assert_memory_equal(x, want, sizeof x);
    }
    static const char *const bad[] = {"{}", "{\"image\":3}", "{\"image\":\"scan.png\"}",
                                      "{\"f0\":1}", "{\"image\":\"/9j/\",\"f0\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fis_arena b = {.base = more, .size = sizeof more};
        struct wire_message m = message(bad[i], strlen(bad[i]));
        assert_int_equal(wire_json_record(&schema, w->encoder, &m, &b, x, &r, &e), WIRE_BAD);
    }
}

static const char *name_of(const void *world, uint32_t i)
{
    return i < D ? ((const struct world *)world)->names[i] : NULL;
}

/* A request whose record is an image's numbers, of which the last one is `last`. */
static void show_numbers(struct world *w, const char *last, struct wire_request_shown *out)
{
    const struct wire_request_reader reader = {
        .encoding = WIRE_JSON, .column = name_of, .arg = w, .schema = &schema};
    char text[1024];
    struct fis_error e;
    int n = snprintf(text, sizeof text, "{\"id\":\"a\",\"record\":{\"id\":\"a\"");
    for (uint32_t i = 0; i + 1 < D; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ",\"f%u\":%.9g", i,
                      (double)FIS_PIXEL(pixels[i]));
    n += snprintf(text + n, sizeof text - (size_t)n, "%s}}", last);
    struct wire_message m = message(text, (size_t)n);
    assert_int_equal(wire_request_show(&reader, &m, true, out, &e), 1);
}

static void test_numbers_are_shown_as_an_image(void **state)
{
    struct fis_arena a = {.base = room, .size = sizeof room};
    struct wire_request_shown r;
    struct wire_image image;
    struct fis_error e;
    unsigned char got[D];
    show_numbers(*state, ",\"f11\":7", &r);
    const json_t *v = json_object_get(r.record, "image");
    assert_int_equal(json_object_size(r.record), 2); /* the id, too */
    assert_int_equal(
        wire_image_of_text((struct wire_bytes){json_string_value(v), json_string_length(v)}, &a,
                           &image, &e),
        0);
    assert_int_equal(image_decode(image.data.data, image.data.length, &schema.image, 100, got, &e),
                     0);
    assert_memory_equal(got, pixels, D - 1);
    assert_int_equal(got[D - 1], 255); /* beyond the range of a byte */
    wire_request_shown_done(&r);
    show_numbers(*state, "", &r);
    assert_null(json_object_get(r.record, "image"));
    assert_int_equal(json_object_size(r.record), D);
    wire_request_shown_done(&r);
}

int main(void)
{
    wire_json_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_scale_a_channel),
        cmocka_unit_test(test_encoder_comes_back),
        cmocka_unit_test(test_protobuf),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_numbers_are_shown_as_an_image),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

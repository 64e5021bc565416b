/* Arrays of numpy's .npz: what is read of whole, cut and damaged archives. */

#include "kit/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/npz.h"

#define ROOM 4096
#define NUMBERS 600u

static char path[64];
static unsigned char numbers[NUMBERS];

struct bytes {
    unsigned char at[ROOM];
    size_t n;
};

static void add(struct bytes *b, const void *from, size_t n)
{
    assert_true(b->n + n <= ROOM);
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void add_number(struct bytes *b, size_t n, unsigned width)
{
    for (unsigned i = 0; i < width; i++, n >>= 8)
        add(b, &(unsigned char){(unsigned char)n}, 1);
}

/* As numpy writes it: the header ends with a line's end, at a multiple of 64. */
static struct bytes array_of(const char *header)
{
    struct bytes b = {.n = 0};
    char text[119];
    memset(text, ' ', sizeof text);
    memcpy(text, header, strlen(header));
    text[117] = '\n';
    add(&b, "\x93NUMPY\1\0", 8);
    add_number(&b, 118, 2);
    add(&b, text, 118);
    add(&b, numbers, NUMBERS);
    return b;
}

static size_t deflated(const struct bytes *from, unsigned char *to)
{
    z_stream s = {.zalloc = NULL};
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = (unsigned char *)(uintptr_t)from->at;
    s.avail_in = (uInt)from->n;
    s.next_out = to;
    s.avail_out = ROOM;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    deflateEnd(&s);
    return ROOM - s.avail_out;
}

/* An archive of the one array "x". */
static struct bytes archive_of(const struct bytes *array, bool packed)
{
    struct bytes b = {.n = 0};
    unsigned char room[ROOM];
    const size_t n = packed ? deflated(array, room) : array->n;
    const size_t crc = crc32(0, array->at, (uInt)array->n);
    size_t middle = 0;
    for (int entry = 0; entry < 2; entry++) {
        middle = entry ? b.n : 0;
        add(&b, entry ? "PK\1\2\24\0\24\0\0\0" : "PK\3\4\24\0\0\0", entry ? 10 : 8);
        add_number(&b, packed ? 8 : 0, 2);
        add_number(&b, 0, 4);
        add_number(&b, crc, 4);
        add_number(&b, n, 4);
        add_number(&b, array->n, 4);
        add_number(&b, 5, 2);
        add_number(&b, 0, entry ? 16 : 2);
        add(&b, "x.npy", 5);
        if (!entry)
            add(&b, packed ? room : array->at, n);
    }
    const size_t end = b.n;
    add(&b, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    add_number(&b, end - middle, 4);
    add_number(&b, middle, 4);
    add_number(&b, 0, 2);
    return b;
}

static void write_file(const unsigned char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    fclose(f);
}

/* 0: x was read, and has the numbers that it had. */
static int read_back(struct fis_error *e)
{
    unsigned char to[NUMBERS];
    struct data_array a;
    struct data_npz *z = data_npz_open(path, e);
    int rc = z ? data_npz_find(z, "x", &a, e) : -FIS_INPUT;
    if (!rc && a.bytes <= sizeof to)
        rc = data_npz_read(z, &a, to, e);
    if (!rc)
        assert_memory_equal(to, numbers, a.bytes);
    data_npz_close(z);
    return rc;
}

static const char good[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (20, 30), }";

static void stored_and_deflated_arrays_are_read(void **state)
{
    const struct bytes array = array_of(good);
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        const struct bytes b = archive_of(&array, packed);
        struct data_array a;
        struct fis_error e;
        write_file(b.at, b.n);
        assert_int_equal(read_back(&e), 0);
        struct data_npz *z = data_npz_open(path, &e);
        assert_int_equal(data_npz_find(z, "x", &a, &e), 0);
        assert_int_equal(a.n_dims, 2);
        assert_int_equal(a.dims[1], 30);
        assert_int_equal(a.kind, 'u');
        assert_false(data_npz_has(z, "y"));
        assert_int_equal(data_npz_find(z, "y", &a, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "no array y (found: x)"));
        data_npz_close(z);
    }
}

/* Whatever byte differs, what is read is what was written, or nothing. */
static void damage_is_found(void **state)
{
    const struct bytes array = array_of(good);
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        struct bytes b = archive_of(&array, packed);
        struct fis_error e;
        for (size_t n = 0; n < b.n; n++) {
            write_file(b.at, n);
            assert_int_equal(read_back(&e), -FIS_INPUT);
        }
        for (size_t i = 0; i < b.n; i++) {
            b.at[i] ^= 0x55;
            write_file(b.at, b.n);
            (void)(read_back(&e) == 0);
            b.at[i] ^= 0x55;
        }
    }
}

static void headers_that_make_no_sense_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (20, 31), }",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (20, 30), }",
        "{'descr': '>u2', 'fortran_order': False, 'shape': (300,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (600,), }",
        "{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (600,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': 600, }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 600), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-600,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (600",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct bytes array = array_of(bad[i]), b = archive_of(&array, false);
        struct fis_error e;
        write_file(b.at, b.n);
        assert_int_equal(read_back(&e), -FIS_INPUT);
        if (!strstr(e.text, "x.npy: found"))
            fail_msg("%s", e.text);
    }
}

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fisd-npz-%ld.npz", (long)getpid());
    for (uint32_t i = 0; i < NUMBERS; i++)
        numbers[i] = (unsigned char)(i * i >> 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_and_deflated_arrays_are_read),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(headers_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

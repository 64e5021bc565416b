/* Cutting messages and putting them together again. */
#include "kit/wire/binary.h"

#include <math.h>

#include "wire/chunk.h"

#define MOST 64

struct cut { /* a payload and its chunks */
    unsigned char payload[4096];
    size_t length;
    struct byte_buffer chunk[MOST];
    uint32_t n;
};

static struct cut *cut_up(uint64_t version, size_t length, size_t max, uint64_t seed)
{
    struct cut *c = calloc(1, sizeof *c);
    struct wire_chunks split;
    struct fis_rng rng;
    struct fis_error e;
    int rc;
    assert_non_null(c);
    fis_rng_seed(&rng, seed, 0);
    c->length = length;
    for (size_t i = 0; i < length; i++)
        c->payload[i] = (unsigned char)fis_rng_below(&rng, 256);
    assert_int_equal(
        wire_chunks_start(&split, version, (struct wire_bytes){c->payload, length}, max, &e), 0);
    while ((rc = wire_chunks_next(&split, &c->chunk[c->n], &e)) == 1)
        c->n++;
    assert_int_equal(rc, 0);
    return c;
}

static void cut_free(struct cut *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        byte_buffer_done(&c->chunk[i]);
    free(c);
}

struct fed {
    struct wire_bytes payload;
    uint64_t version;
    struct fis_error e;
};

static int feed(struct wire_assembler *a, const struct byte_buffer *b, struct fed *f)
{
    f->e.text[0] = 0;
    return wire_assembler_feed(a, (struct wire_bytes){b->data, b->length}, &f->payload, &f->version,
                               &f->e);
}

static void assert_whole(const struct fed *f, const struct cut *c, uint64_t version)
{
    assert_true(f->version == version);
    assert_int_equal(f->payload.length, c->length);
    assert_memory_equal(f->payload.data, c->payload, c->length);
}

static void any_size_any_order(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 99, 100, 101, 200, 250, 4096};
    struct fis_rng rng;
    fis_rng_seed(&rng, 5, 0);
    for (uint32_t i = 0; i < 8 * 20; i++) {
        enum wire_assembly mode = i % 2 ? WIRE_ASSEMBLE_NEWEST : WIRE_ASSEMBLE_EACH;
        struct wire_assembler *a = wire_assembler_new(mode, 2, 0);
        struct cut *c = cut_up(i, sizes[i % 8], 100, i);
        struct fed f = {0};
        uint32_t order[MOST];
        assert_int_equal(c->n, sizes[i % 8] ? (sizes[i % 8] + 99) / 100 : 1);
        for (uint32_t k = 0; k < c->n; k++)
            order[k] = k;
        fis_rng_shuffle(&rng, order, c->n);
        for (uint32_t k = 0; k + 1 < c->n; k++) {
            assert_int_equal(feed(a, &c->chunk[order[k]], &f), 0);
            assert_int_equal(feed(a, &c->chunk[order[k]], &f), 0); /* twice is once */
        }
        assert_int_equal(feed(a, &c->chunk[order[c->n - 1]], &f), 1);
        assert_whole(&f, c, i);
        assert_int_equal(wire_assembler_held(a), 0);
        wire_assembler_free(a);
        cut_free(c);
    }
}

static void newest_alone(void **state)
{
    (void)state;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 0, 0);
    struct cut *one = cut_up(1, 300, 100, 1), *two = cut_up(2, 250, 100, 2);
    struct fed f = {0};
    assert_int_equal(feed(a, &one->chunk[0], &f), 0);
    assert_int_equal(feed(a, &one->chunk[1], &f), 0);
    assert_int_equal(feed(a, &two->chunk[2], &f), 0); /* 1 is dropped */
    assert_int_equal(wire_assembler_held(a), 50);
    assert_int_equal(feed(a, &one->chunk[2], &f), 0);
    assert_int_equal(feed(a, &two->chunk[0], &f), 0);
    assert_int_equal(feed(a, &two->chunk[1], &f), 1);
    assert_whole(&f, two, 2);
    /* Older ones and the same again are nothing new. */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(feed(a, &one->chunk[i], &f), 0);
        assert_int_equal(feed(a, &two->chunk[i], &f), 0);
    }
    assert_int_equal(wire_assembler_held(a), 0);
    /* The same version with other contents: the later write counts. */
    struct cut *again = cut_up(2, 250, 100, 22);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(feed(a, &again->chunk[i], &f), 0);
    assert_int_equal(feed(a, &again->chunk[2], &f), 1);
    assert_whole(&f, again, 2);
    cut_free(one);
    cut_free(two);
    cut_free(again);
    wire_assembler_free(a);
}

static void each_apart(void **state)
{
    (void)state;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 0);
    struct cut *c[4];
    struct fed f = {0};
    for (uint32_t v = 0; v < 4; v++)
        c[v] = cut_up(v, 200, 100, v);
    assert_int_equal(feed(a, &c[1]->chunk[0], &f), 0);
    assert_int_equal(feed(a, &c[2]->chunk[0], &f), 0);
    assert_int_equal(feed(a, &c[1]->chunk[1], &f), 1);
    assert_whole(&f, c[1], 1);
    assert_int_equal(feed(a, &c[0]->chunk[0], &f), 0);
    assert_int_equal(feed(a, &c[3]->chunk[0], &f), 0); /* 0, the lowest, gives way */
    assert_int_equal(wire_assembler_held(a), 200);
    assert_int_equal(feed(a, &c[3]->chunk[1], &f), 1);
    assert_whole(&f, c[3], 3);
    assert_int_equal(feed(a, &c[2]->chunk[1], &f), 1);
    assert_whole(&f, c[2], 2);
    assert_int_equal(feed(a, &c[0]->chunk[1], &f), 0);
    for (uint32_t v = 0; v < 4; v++)
        cut_free(c[v]);
    wire_assembler_free(a);
}

static void written_again(void **state)
{
    (void)state;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 0);
    struct cut *old = cut_up(7, 300, 100, 1), *new = cut_up(7, 150, 100, 2);
    struct fed f = {0};
    assert_int_equal(feed(a, &old->chunk[0], &f), 0);
    assert_int_equal(feed(a, &old->chunk[1], &f), 0);
    assert_int_equal(feed(a, &new->chunk[0], &f), 0);
    assert_int_equal(feed(a, &new->chunk[1], &f), 1);
    assert_whole(&f, new, 7);
    cut_free(old);
    cut_free(new);
    wire_assembler_free(a);
}

static int feed_message(struct wire_assembler *a, const Fis__V1__Chunk *m, struct fed *f)
{
    struct byte_buffer b = {0};
    assert_int_equal(byte_buffer_reserve(&b, fis__v1__chunk__get_packed_size(m), &f->e), 0);
    b.length = fis__v1__chunk__pack(m, b.data);
    int rc = feed(a, &b, f);
    byte_buffer_done(&b);
    return rc;
}

static void refused(void **state)
{
    (void)state;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 1000);
    struct cut *c = cut_up(3, 200, 100, 1);
    struct fed f = {0};
    Fis__V1__Chunk *good = fis__v1__chunk__unpack(NULL, c->chunk[0].length, c->chunk[0].data);
    assert_non_null(good);
    Fis__V1__Chunk m = *good;
#define REFUSED(change, says)                                                                      \
    do {                                                                                           \
        m = *good;                                                                                 \
        change;                                                                                    \
        assert_int_equal(feed_message(a, &m, &f), -FIS_INPUT);                                     \
        assert_says(&f.e, says);                                                                   \
        assert_says(&f.e, "version 3");                                                            \
    } while (0)
    REFUSED(m.count = 0, "chunk 0 of 0");
    REFUSED(m.index = 2, "chunk 2 of 2");
    REFUSED(m.count = 1000000, "chunk 0 of 1000000, at most 65536 chunks");
    REFUSED(m.total_bytes = 1001, "1001 bytes in all, at most 1000 allowed");
    REFUSED(m.total_bytes = UINT64_MAX, "at most 1000 allowed");
    REFUSED(m.data.len = 0, "chunk 0 of 2 is empty");
    REFUSED(m.total_bytes = 99, "more bytes than the 99 that were announced");
    assert_int_equal(wire_assembler_held(a), 0);
    m = *good;
    assert_int_equal(feed_message(a, &m, &f), 0);
    REFUSED(m.count = 3, "3 chunks and 200 bytes, the ones before state 2 and 200");
    /* A byte that is not what it was: the checksum finds it, and the version can be sent again. */
    c->chunk[1].data[c->chunk[1].length - 1] ^= 1;
    assert_int_equal(feed(a, &c->chunk[1], &f), -FIS_INPUT);
    assert_says(&f.e, "version 3: the checksum of 2 chunks is wrong");
    c->chunk[1].data[c->chunk[1].length - 1] ^= 1;
    assert_int_equal(wire_assembler_held(a), 0);
    assert_int_equal(feed(a, &c->chunk[1], &f), 0);
    assert_int_equal(feed(a, &c->chunk[0], &f), 1);
    assert_whole(&f, c, 3);
    /* Too few bytes. */
    REFUSED(m.count = 1, "100 bytes in 1 chunk, 200 announced");
    assert_int_equal(
        wire_assembler_feed(a, (struct wire_bytes){NULL, 0}, &f.payload, &f.version, &f.e), 0);
    assert_int_equal(
        wire_assembler_feed(a, (struct wire_bytes){"\xff", 1}, &f.payload, &f.version, &f.e),
        -FIS_INPUT);
    fis__v1__chunk__free_unpacked(good, NULL);
    cut_free(c);
    wire_assembler_free(a);
}

static void bounded(void **state)
{
    (void)state;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 8, 1000);
    struct fed f = {0};
    for (uint64_t v = 0; v < 30; v++) {
        struct cut *c = cut_up(v, 1000, 300, v);
        assert_int_equal(c->n, 4);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(feed(a, &c->chunk[i], &f), 0);
            assert_true(wire_assembler_held(a) <= 1000);
        }
        cut_free(c);
    }
    struct cut *last = cut_up(29, 1000, 300, 29);
    assert_int_equal(feed(a, &last->chunk[3], &f), 1);
    assert_whole(&f, last, 29);
    cut_free(last);
    wire_assembler_free(a);
    struct wire_chunks split;
    static const char one[1];
    assert_int_equal(wire_chunks_start(&split, 1, (struct wire_bytes){one, WIRE_CHUNK_TOTAL + 1},
                                       WIRE_CHUNK_BYTES, &f.e),
                     -FIS_INPUT);
}

static void keys(void **state)
{
    (void)state;
    struct byte_buffer b = {0};
    struct fis_error e;
    assert_int_equal(wire_chunk_key_head("adult", 12, &b, &e), 0);
    assert_int_equal(b.length, 8);
    assert_memory_equal(b.data, "adult/12", 8);
    b.length = 0;
    assert_int_equal(wire_chunk_key_model(UINT64_MAX, 0, &b, &e), 0);
    assert_int_equal(b.length, 22);
    assert_memory_equal(b.data, "18446744073709551615/0", 22);
    byte_buffer_done(&b);
}

static void floors(void **state)
{
    (void)state;
    const struct wire_floors f = {7, 12345, {-2.5f, -INFINITY}};
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    struct byte_buffer b = {0};
    struct fed fed;
    struct cut *c = cut_up(7, 100, 60, 1);
    assert_non_null(a);
    assert_null(wire_assembler_floors(a));
    assert_int_equal(wire_floors_encode(&f, &b, NULL), 0);
    assert_int_equal(feed(a, &c->chunk[0], &fed), 0);
    assert_null(wire_assembler_floors(a));
    assert_int_equal(feed(a, &b, &fed), 0); /* between the pieces of a head: it disturbs nothing */
    const struct wire_floors *got = wire_assembler_floors(a);
    assert_non_null(got);
    assert_true(got->head_version == 7 && got->created_at_ms == 12345);
    assert_memory_equal(got->scores, f.scores, sizeof f.scores);
    assert_int_equal(feed(a, &c->chunk[1], &fed), 1);
    assert_whole(&fed, c, 7);
    assert_null(wire_assembler_floors(a));
    struct wire_floors bad = f;
    bad.scores[1] = NAN;
    assert_int_equal(wire_floors_encode(&bad, &b, NULL), -FIS_INPUT);
    b.length = 0;
    assert_int_equal(wire_floors_key("p", &b, NULL), 0);
    assert_int_equal(b.length, 8);
    assert_memory_equal(b.data, "p/floors", 8);
    const unsigned char third[] = {0x42, 4, 0x1a, 2, 8, 2}; /* a criterion that there is not */
    struct byte_buffer odd = {(unsigned char *)(uintptr_t)third, sizeof third, sizeof third};
    assert_int_equal(feed(a, &odd, &fed), -FIS_INPUT);
    assert_null(wire_assembler_floors(a));
    byte_buffer_done(&b);
    wire_assembler_free(a);
    cut_free(c);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct cut *c = cut_up(3, 300, 100, 1);
    struct fed f = {0};
    int done = 0;
    for (uint64_t n = 0; !done; n++) {
        fis_mem_refuse_after(n);
        struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 2, 0);
        uint32_t i = 0;
        int rc = 0;
        while (a && i < 3 && (rc = feed(a, &c->chunk[i], &f)) >= 0)
            i++;
        fis_mem_refuse_after(UINT64_MAX);
        done = a && i == 3;
        if (a && !done) { /* what was refused can be fed again */
            assert_int_equal(rc, -FIS_NOMEM);
            while (i < 3)
                rc = feed(a, &c->chunk[i++], &f);
        }
        if (a) {
            assert_int_equal(rc, 1);
            assert_whole(&f, c, 3);
        }
        wire_assembler_free(a);
        assert_true(n < 100);
    }
    cut_free(c);
}

static void try_chunk(void *arg, const unsigned char *bytes, size_t length)
{
    struct fed f = {0};
    int rc =
        wire_assembler_feed(arg, (struct wire_bytes){bytes, length}, &f.payload, &f.version, &f.e);
    assert_true(rc == 0 || rc == 1 || rc == -FIS_INPUT);
    if (rc < 0)
        assert_true(f.e.text[0] && f.e.kind == FIS_INPUT);
    assert_true(wire_assembler_held(arg) <= 1000);
}

static void spoiled(void **state)
{
    (void)state;
    for (int mode = WIRE_ASSEMBLE_NEWEST; mode <= WIRE_ASSEMBLE_EACH; mode++) {
        struct wire_assembler *a = wire_assembler_new((enum wire_assembly)mode, 3, 1000);
        struct cut *c = cut_up(3, 150, 100, 1);
        for (uint32_t i = 0; i < c->n; i++)
            spoil(c->chunk[i].data, c->chunk[i].length, 10000, try_chunk, a);
        cut_free(c);
        wire_assembler_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_size_any_order),
        cmocka_unit_test(newest_alone),
        cmocka_unit_test(each_apart),
        cmocka_unit_test(written_again),
        cmocka_unit_test(refused),
        cmocka_unit_test(bounded),
        cmocka_unit_test(keys),
        cmocka_unit_test(floors),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(spoiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What scorers tell the trainer. */
#include "kit/wire/binary.h"

#include <math.h>

#include "wire/protobuf_codec.h"

struct world {
    struct codec c;
    struct wire_offer offer;
};

static int up(void **state)
{
    return codec_up(state, sizeof(struct world), 65536);
}

static enum wire_decoded decode(struct world *w, const void *bytes, size_t length)
{
    struct wire_message m = message_of(NULL, 0, bytes, length);
    fis_arena_reset(&w->c.arena);
    memset(&w->offer, 0, sizeof w->offer);
    w->c.e.text[0] = 0;
    return wire_offer_decode(&m, &w->c.arena, &w->offer, &w->c.e);
}

static struct wire_candidate candidate_of(const float *x, uint32_t d)
{
    struct wire_candidate c = {.x = x,
                               .d = d,
                               .scores = {.25f, -INFINITY},
                               .head_version = 7,
                               .encoding = WIRE_PROTOBUF,
                               .record = {"\x9a\x06\x02hi\0", 6},
                               .event_time_ms = -1,
                               .topic = "t.records",
                               .partition = 2,
                               .offset = 1234567890123};
    assert_int_equal(fis_id_set(&c.id, "r1", 2), 0);
    return c;
}

static int encode(struct world *w, const struct wire_candidate *c)
{
    return wire_offer_encode(&(struct wire_offer){.candidates = c, .n_candidates = 1}, &w->c.out,
                             &w->c.e);
}

static void assert_same(const struct wire_candidate *a, const struct wire_candidate *b)
{
    assert_int_equal(fis_id_compare(&a->id, &b->id), 0);
    assert_int_equal(a->d, b->d);
    assert_memory_equal(a->x, b->x, a->d * sizeof *a->x);
    assert_true(a->scores[0] == b->scores[0] && a->scores[1] == b->scores[1]);
    assert_true(a->head_version == b->head_version);
    assert_int_equal(a->encoding, b->encoding);
    assert_int_equal(a->record.length, b->record.length);
    assert_memory_equal(a->record.data, b->record.data, a->record.length);
    assert_int_equal(a->event_time_ms, b->event_time_ms);
    assert_string_equal(a->topic, b->topic);
    assert_int_equal(a->partition, b->partition);
    assert_int_equal(a->offset, b->offset);
}

static void candidate_round_trip(void **state)
{
    struct world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 3, 0);
    for (uint32_t round = 0; round < 500; round++) {
        float x[300] = {0};
        uint32_t d = 1 + fis_rng_below(&rng, 300), one_in = 1 + fis_rng_below(&rng, 12);
        for (uint32_t i = 0; i < d; i++)
            if (fis_rng_below(&rng, one_in) == 0)
                x[i] = fis_rng_below(&rng, 20) ? random_float(&rng) : -0.0f;
        struct wire_candidate in = candidate_of(x, d);
        in.scores[1] = round % 2 ? -INFINITY : random_float(&rng);
        w->c.out.length = 0;
        /* Behind other bytes, so that the lists must be aligned by the encoder. */
        assert_int_equal(byte_buffer_append(&w->c.out, "1234567", round % 8, &w->c.e), 0);
        assert_int_equal(encode(w, &in), 0);
        if (decode(w, w->c.out.data + round % 8, w->c.out.length - round % 8) != WIRE_OK)
            fail_msg("round %u: %s", round, w->c.e.text);
        assert_int_equal(w->offer.n_candidates, 1);
        assert_null(w->offer.progress);
        assert_same(&w->offer.candidates[0], &in);
    }
}

static void the_smaller_form(void **state)
{
    struct world *w = *state;
    float x[100] = {0};
    x[99] = 1;
    struct wire_candidate in = candidate_of(x, 100);
    assert_int_equal(encode(w, &in), 0);
    assert_true(w->c.out.length < 100);
    for (uint32_t i = 0; i < 100; i++)
        x[i] = 1;
    w->c.out.length = 0;
    assert_int_equal(encode(w, &in), 0);
    assert_true(w->c.out.length > 400 && w->c.out.length < 500);
    for (uint32_t i = 0; i < 100; i++)
        x[i] = 0;
    w->c.out.length = 0;
    assert_int_equal(encode(w, &in), 0);
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->offer.candidates[0].d, 100);
    assert_memory_equal(w->offer.candidates[0].x, x, sizeof x);
}

static void no_allocation_per_candidate(void **state)
{
    struct world *w = *state;
    float x[100] = {0};
    struct wire_candidate in = candidate_of(x, 100);
    x[3] = 1;
    assert_int_equal(byte_buffer_reserve(&w->c.out, 4096, &w->c.e), 0);
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 10; i++) {
        w->c.out.length = 0;
        assert_int_equal(encode(w, &in), 0);
        assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    }
    assert_int_equal(fis_mem_count(), before);
}

static void not_finite(void **state)
{
    struct world *w = *state;
    float x[2] = {1, NAN};
    struct wire_candidate in = candidate_of(x, 2);
    assert_int_equal(encode(w, &in), -FIS_INPUT);
    assert_says(&w->c.e, "feature 1 is not finite");
    x[1] = 0;
    in.scores[0] = NAN;
    assert_int_equal(encode(w, &in), -FIS_INPUT);
    assert_int_equal(w->c.out.length, 0);
    in.scores[0] = 1;
    assert_int_equal(encode(w, &in), 0);
}

static const struct wire_range ranges[] = {
    {0, 0, 0, 0, 0, 0},
    {7, 10, 5013, 5000, 2, 1},
    {INT32_MAX, INT64_MAX - 1, INT64_MAX, 0, 0, 1},
};

static struct wire_progress progress_of(const struct wire_range *list, uint32_t n)
{
    return (struct wire_progress){
        .scorer = "s-1", .head_version = 9, .scan = 8, .ranges = list, .n_ranges = n};
}

static int encode_progress(struct world *w, const struct wire_progress *p)
{
    return wire_offer_encode(&(struct wire_offer){.progress = p}, &w->c.out, &w->c.e);
}

static void progress(void **state)
{
    struct world *w = *state;
    struct wire_progress in = progress_of(ranges, 3);
    assert_int_equal(encode_progress(w, &in), 0);
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->offer.n_candidates, 0);
    const struct wire_progress *got = w->offer.progress;
    assert_string_equal(got->scorer, "s-1");
    assert_int_equal(got->head_version, 9);
    assert_int_equal(got->scan, 8);
    assert_int_equal(got->n_ranges, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got->ranges[i].partition, ranges[i].partition);
        assert_int_equal(got->ranges[i].begin, ranges[i].begin);
        assert_int_equal(got->ranges[i].next, ranges[i].next);
        assert_int_equal(got->ranges[i].records, ranges[i].records);
        assert_int_equal(got->ranges[i].refused, ranges[i].refused);
        assert_int_equal(got->ranges[i].tombstones, ranges[i].tombstones);
    }
    in = progress_of(NULL, 0);
    w->c.out.length = 0;
    assert_int_equal(encode_progress(w, &in), 0);
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->offer.progress->n_ranges, 0);
}

/* The bytes that the struct would be, without the encoder's own check. */
static enum wire_decoded decode_range(struct world *w, const struct wire_range *r)
{
    Fis__V1__Offer offer = FIS__V1__OFFER__INIT;
    Fis__V1__Progress p = FIS__V1__PROGRESS__INIT;
    Fis__V1__Range range = FIS__V1__RANGE__INIT, *list = &range;
    unsigned char bytes[256];
    range.partition = r->partition;
    range.begin = r->begin;
    range.next = r->next;
    range.records = r->records;
    range.refused = r->refused;
    range.tombstones = r->tombstones;
    p.n_ranges = 1;
    p.ranges = &list;
    offer.progress = &p;
    size_t n = fis__v1__offer__pack(&offer, bytes);
    return decode(w, bytes, n);
}

static void ranges_that_cannot_be(void **state)
{
    struct world *w = *state;
    static const struct {
        struct wire_range range;
        const char *says;
    } bad[] = {
        {{-1, 0, 1, 0, 0, 0}, "a range of partition -1"},
        {{0, -1, 1, 0, 0, 0}, "from offset -1 up to 1"},
        {{0, 5, 4, 0, 0, 0}, "from offset 5 up to 4"},
        {{0, INT64_MIN, INT64_MAX, 0, 0, 0}, "from offset -9223372036854775808"},
        {{0, 5, 7, 3, 0, 0}, "a range of 2 offsets with 3 records"},
        {{0, 5, 7, 1, 2, 0}, "1 records, 2 refused"},
        {{0, 5, 7, 1, 1, 1}, "1 tombstones"},
        {{0, 5, 7, 1, UINT64_MAX, 1}, "18446744073709551615 refused"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(decode_range(w, &bad[i].range), WIRE_BAD);
        assert_int_equal(w->c.e.kind, FIS_INPUT);
        assert_says(&w->c.e, bad[i].says);
        struct wire_progress in = progress_of(&bad[i].range, 1);
        assert_int_equal(encode_progress(w, &in), -FIS_INPUT);
        assert_says(&w->c.e, bad[i].says);
    }
    assert_int_equal(w->c.out.length, 0);
    struct wire_progress in = progress_of(ranges, WIRE_PARTITIONS + 1);
    assert_int_equal(encode_progress(w, &in), -FIS_INPUT);
    assert_says(&w->c.e, "10001 ranges, at most 10000 allowed");
}

static void refused(void **state)
{
    struct world *w = *state;
    assert_int_equal(decode(w, NULL, 0), WIRE_TOMBSTONE);
    assert_int_equal(decode(w, "", 0), WIRE_BAD);
    assert_says(&w->c.e, "an offer of nothing");
    assert_int_equal(decode(w, "\x0a\x03\x0a\x01r", 5), WIRE_BAD);
    assert_says(&w->c.e, "encoding is not given");
    assert_int_equal(decode(w, "\x0a\x05\x0a\x01r\x28\x01", 7), WIRE_BAD);
    assert_says(&w->c.e, "without features");
    assert_int_equal(decode(w, "\x0a\x05\x0a\x01r\x28\x09", 7), WIRE_BAD);
    assert_says(&w->c.e, "field 1 (candidates) at byte 0: field 5 (encoding) at byte 5: 9 is not");
    assert_int_equal(decode(w, "\x0a\x0d\x0a\x01r\x28\x01\x12\x06\x08\xff\xff\xff\xff\x0f", 15),
                     WIRE_BAD);
    assert_says(&w->c.e, "a vector of 4294967295 takes more than");
    assert_int_equal(decode(w, "\x0a\x0d\x0a\x01r\x28\x01\x12\x06\x08\x01\x22\x00\x1a\x00", 15),
                     WIRE_OK); /* 1 number, none of them set */
    assert_int_equal(
        decode(w, "\x0a\x10\x0a\x01r\x28\x01\x12\x09\x08\x02\x18\x02\x25\x00\x00\x80\x3f", 18),
        WIRE_BAD);
    assert_says(&w->c.e, "vector: index 2 of 2");
    assert_int_equal(decode(w, "\x0a\x0e\x0a\x01r\x28\x01\x12\x07\x08\x01\x15\x00\x00\xc0\x7f", 16),
                     WIRE_BAD);
    assert_says(&w->c.e, "vector: number 0 is not finite");
}

/* Encoded one behind the other, as a scorer does it, with its progress behind them. */
static void several(void **state)
{
    struct world *w = *state;
    float x[3][40] = {{0}};
    for (uint32_t i = 0; i < 40; i++)
        x[1][i] = (float)i - 20;
    x[2][39] = 1;
    struct wire_candidate in[3];
    struct wire_progress reported = progress_of(ranges, 3);
    for (int i = 0; i < 3; i++) {
        in[i] = candidate_of(x[i], 40);
        assert_int_equal(fis_id_set(&in[i].id, "abc" + i, 1), 0);
        in[i].offset += i;
        assert_int_equal(encode(w, &in[i]), 0);
    }
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_null(w->offer.progress);
    size_t without = w->c.out.length;
    struct wire_candidate bad = in[0];
    bad.scores[0] = NAN;
    assert_int_equal(encode(w, &bad), -FIS_INPUT);
    assert_int_equal(w->c.out.length, without); /* what was there is still an offer */
    assert_int_equal(encode_progress(w, &reported), 0);
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->offer.n_candidates, 3);
    for (int i = 0; i < 3; i++)
        assert_same(&w->offer.candidates[i], &in[i]);
    assert_int_equal(w->offer.progress->n_ranges, 3);

    w->c.arena.size = 2048; /* too small for what they are decoded to */
    assert_int_equal(decode(w, w->c.out.data, w->c.out.length), WIRE_BAD);
    assert_says(&w->c.e, "more than 2048 bytes");
    w->c.arena.size = 65536;
    assert_int_equal(decode(w, "\x0a\x05\x0a\x01r\x28\x01\x0a\x00", 9), WIRE_BAD);
    assert_says(&w->c.e, "candidate 1 of 2: a candidate without features");
}

static void try_offer(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode(w, bytes, length) == WIRE_BAD) {
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
        return;
    }
    for (uint32_t k = 0; k < w->offer.n_candidates; k++) {
        const struct wire_candidate *c = &w->offer.candidates[k];
        assert_true(c->d > 0 && c->record.data);
        for (uint32_t i = 0; i < c->d; i++)
            assert_true(isfinite(c->x[i]));
        assert_false(isnan(c->scores[0]) || isnan(c->scores[1]));
    }
}

static void spoiled(void **state)
{
    struct world *w = *state;
    float x[20] = {0};
    struct wire_candidate in = candidate_of(x, 20);
    x[3] = 2;
    x[17] = -1;
    assert_int_equal(encode(w, &in), 0);
    spoil(w->c.out.data, w->c.out.length, 10000, try_offer, w);
    for (uint32_t i = 0; i < 20; i++)
        x[i] = (float)i;
    assert_int_equal(encode(w, &in), 0); /* behind the sparse one */
    spoil(w->c.out.data, w->c.out.length, 10000, try_offer, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(candidate_round_trip, up, codec_down),
        cmocka_unit_test_setup_teardown(the_smaller_form, up, codec_down),
        cmocka_unit_test_setup_teardown(no_allocation_per_candidate, up, codec_down),
        cmocka_unit_test_setup_teardown(not_finite, up, codec_down),
        cmocka_unit_test_setup_teardown(progress, up, codec_down),
        cmocka_unit_test_setup_teardown(ranges_that_cannot_be, up, codec_down),
        cmocka_unit_test_setup_teardown(several, up, codec_down),
        cmocka_unit_test_setup_teardown(refused, up, codec_down),
        cmocka_unit_test_setup_teardown(spoiled, up, codec_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What it takes to turn one record into features, by encoding, beside the bare copy of its floats:
 * a line each with the ns of each round. No keys: ids are made from places. */
#include "bench.h"

#include "fis/mem.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"
#include "wire/raw.h"

#define D 104u
#define N 4096u

static struct fis_encoder *encoder_of(enum fis_column_scale scale)
{
    static struct fis_encoder_column_state states[D];
    static char names[D][8];
    struct fis_error e;
    for (uint32_t i = 0; i < D; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        states[i].column = (struct fis_column){names[i], FIS_NUMERIC, scale};
        states[i].mean = scale == FIS_SCALE_NONE ? 0 : .01;
        states[i].deviation = scale == FIS_SCALE_NONE ? 1 : 1.1;
    }
    struct fis_encoder *enc = fis_encoder_from_states(states, D, &e);
    if (!enc)
        die("%s", e.text);
    return enc;
}

typedef enum wire_decoded decode_fn(const struct wire_schema *schema,
                                    const struct fis_encoder *encoder, const struct wire_message *m,
                                    struct fis_arena *arena, float *x, struct wire_record *record,
                                    struct fis_error *e);

static enum wire_decoded copy(const struct wire_schema *schema, const struct fis_encoder *encoder,
                              const struct wire_message *m, struct fis_arena *arena, float *x,
                              struct wire_record *record, struct fis_error *e)
{
    (void)schema, (void)encoder, (void)arena, (void)record, (void)e;
    memcpy(x, m->value.data, D * sizeof *x);
    return WIRE_OK;
}

static const struct encoding {
    const char *name, *kind;
    decode_fn *decode;
} encodings[] = {
    {"copy", "raw", copy},
    {"raw", "raw", wire_raw_record},
    {"protobuf", "protobuf", wire_protobuf_record},
    {"sparse", "sparse", wire_protobuf_record},
    {"json", "json", wire_json_record},
};

static void measure(const struct encoding *what, const char *key, enum fis_column_scale scale,
                    uint32_t rounds)
{
    static const char *const classes[] = {"no", "yes"};
    struct wire_schema schema = {
        .classes = classes, .n_classes = 2, .id_column = "id", .max_bytes = 1 << 20};
    struct fis_arena arena = {.base = fis_alloc(1 << 20, 1), .size = 1 << 20};
    struct fis_encoder *enc = encoder_of(scale);
    float *x = fis_alloc(D * N, sizeof *x);
    struct wire_message *m = fis_calloc(N, sizeof *m);
    struct wire_record *record = fis_calloc(N, sizeof *record);
    struct maker *maker = maker_new(what->kind, D);
    for (uint32_t i = 0; i < N; i++) {
        const unsigned char *value;
        size_t length = maker_record(maker, i, &value);
        m[i] = (struct wire_message){.topic = "records",
                                     .offset = i,
                                     .key = {key, key ? strlen(key) : 0},
                                     .value = {fis_memdup((const char *)value, length), length}};
    }
    printf("%s key=%d scale=%s", what->name, key != NULL,
           scale == FIS_SCALE_NONE ? "none" : "standard");
    for (uint32_t r = 0; r < rounds; r++) {
        uint32_t repeat = strcmp(what->name, "json") == 0 ? 2 : 20;
        double t = thread_s();
        for (uint32_t i = 0; i < repeat * N; i++) {
            struct fis_error e;
            fis_arena_reset(&arena);
            if (what->decode(&schema, enc, &m[i % N], &arena, x + i % N * D, &record[i % N], &e))
                die("%s: %s", what->name, e.text);
        }
        printf(" %.0f", 1e9 * (thread_s() - t) / repeat / N);
    }
    printf(" ns\n");
    maker_free(maker);
    fis_free(arena.base);
    fis_encoder_free(enc);
    for (uint32_t i = 0; i < N; i++)
        fis_free((void *)(uintptr_t)m[i].value.data);
    fis_free(m);
    fis_free(record);
    fis_free(x);
}

int bench_decode(int argc, char **argv)
{
    uint32_t rounds = argc ? number(argv[0]) : 5;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        measure(&encodings[i], "r1234567", FIS_SCALE_NONE, rounds);
        measure(&encodings[i], "r1234567", FIS_SCALE_STANDARD, rounds);
        measure(&encodings[i], NULL, FIS_SCALE_STANDARD, rounds);
    }
    return 0;
}

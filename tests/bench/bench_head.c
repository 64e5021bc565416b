/* A head for scorers to score with, on the topic they follow: numbers from a seeded generator. */
#include "bench.h"

#include "fis/mem.h"
#include "fis/network.h"
#include "wire/chunk.h"
#include "wire/head.h"

#define TREES 120u
#define DEPTH 4u

/* A base of boosted trees, of the default size without an early stop. */
static void add_trees(struct fis_encoder *enc, uint32_t d)
{
    struct fis_trees_shape s = {.d = d, .margins = 1, .n = TREES, .depth = DEPTH};
    uint32_t *feature = fis_alloc(fis_trees_nodes(&s), sizeof *feature);
    float *threshold = fis_alloc(fis_trees_nodes(&s), sizeof *threshold);
    float *leaf = fis_alloc(fis_trees_leaf_count(&s), sizeof *leaf);
    struct fis_rng rng;
    struct fis_error e;
    fis_rng_seed(&rng, BENCH_SEED, 5);
    for (size_t i = 0; i < fis_trees_nodes(&s); i++) {
        feature[i] = fis_rng_below(&rng, d);
        threshold[i] = (float)fis_rng_normal(&rng);
    }
    for (size_t i = 0; i < fis_trees_leaf_count(&s); i++)
        leaf[i] = (float)fis_rng_normal(&rng) * .05f;
    struct fis_trees *trees = fis_trees_new(&s, feature, threshold, leaf, &e);
    if (!trees || fis_encoder_set_trees(enc, trees, &e) < 0)
        die("trees: %s", e.text);
    fis_trees_unref(trees);
    fis_free(feature);
    fis_free(threshold);
    fis_free(leaf);
}

/* scale: of all columns "none" or "standard", or of Adult's as it is trained on: its numbers
 * "standard", its categories "none". "trees": none, below a base. */
static struct fis_encoder *encoder_of(uint32_t d, const char *scale, uint32_t margins)
{
    bool unscaled = strcmp(scale, "none") == 0 || margins;
    uint32_t standard = unscaled ? 0 : strcmp(scale, "adult") == 0 ? 6 : d;
    struct fis_encoder_column_state *states = fis_calloc(d, sizeof *states);
    char(*names)[12] = fis_calloc(d, sizeof *names);
    struct fis_error e;
    for (uint32_t i = 0; i < d; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        int none = i >= standard;
        states[i].column =
            (struct fis_column){names[i], FIS_NUMERIC, none ? FIS_SCALE_NONE : FIS_SCALE_STANDARD};
        states[i].mean = none ? 0 : .01;
        states[i].deviation = none ? 1 : 1.1;
    }
    struct fis_encoder *enc = fis_encoder_over_trees(states, d, margins, &e);
    if (!enc)
        die("encoder: %s", e.text);
    if (margins)
        add_trees(enc, d);
    fis_free(states);
    fis_free(names);
    return enc;
}

static float *slab(const struct fis_shape *shape, struct fis_rng *rng)
{
    size_t n = fis_shape_params(shape);
    float *v = fis_alloc(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)fis_rng_normal(rng) * .05f;
    return v;
}

static void send_head(rd_kafka_t *rk, const char *topic, const struct wire_head *head)
{
    struct byte_buffer payload = {0}, chunk = {0}, key = {0};
    struct wire_chunks chunks;
    struct fis_error e;
    if (wire_head_encode(head, &payload, &e) < 0 ||
        wire_chunks_start(&chunks, head->version, (struct wire_bytes){payload.data, payload.length},
                          WIRE_CHUNK_BYTES, &e) < 0)
        die("head: %s", e.text);
    int rc;
    while ((rc = wire_chunks_next(&chunks, &chunk, &e)) > 0) {
        key.length = 0;
        if (wire_chunk_key_head(head->pipeline, chunks.next - 1, &key, &e) < 0 ||
            rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key.data, key.length),
                              RD_KAFKA_V_VALUE(chunk.data, chunk.length),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END))
            die("head: cannot be sent");
        chunk.length = 0;
    }
    if (rc < 0 || rd_kafka_flush(rk, 10000))
        die("head: not delivered");
    byte_buffer_done(&payload);
    byte_buffer_done(&chunk);
    byte_buffer_done(&key);
}

void bench_head_make(struct wire_head_owned *out, uint32_t d, uint32_t hidden, uint32_t classes,
                     const char *scale)
{
    struct wire_head head = {.pipeline = "bench", .version = 1, .round = 1, .created_at_ms = 1};
    struct byte_buffer bytes = {0};
    struct fis_rng rng;
    struct fis_error e;
    uint32_t margins = strcmp(scale, "trees") == 0;
    if (fis_shape_init(&head.shape, d + margins, &hidden, 1, classes, &e) < 0 ||
        fis_shape_set_margins(&head.shape, margins, &e) < 0)
        die("head: %s", e.text);
    fis_rng_seed(&rng, BENCH_SEED, 4);
    float *params = slab(&head.shape, &rng), *acc = slab(&head.shape, &rng),
          *fair = slab(&head.shape, &rng);
    struct fis_encoder *encoder = encoder_of(d, scale, margins);
    fis_network_init(&head.shape, params, &rng);
    head.params = params;
    head.g_acc = acc;
    head.g_fair = fair;
    head.encoder = encoder;
    if (wire_head_encode(&head, &bytes, &e) < 0 ||
        wire_head_decode((struct wire_bytes){bytes.data, bytes.length}, out, &e) < 0)
        die("head: %s", e.text);
    byte_buffer_done(&bytes);
    fis_encoder_free(encoder);
    fis_free(params);
    fis_free(acc);
    fis_free(fair);
}

/* Each head lets thresholds fall, so that candidates come again. */
int bench_head(int argc, char **argv)
{
    struct wire_head_owned owned;
    bench_head_make(&owned, number(argv[3]), number(argv[4]), number(argv[5]), argv[6]);
    struct wire_head head = owned.head;
    head.pipeline = argv[2];
    head.encoder = owned.encoder;
    head.version = argc > 7 ? number(argv[7]) : 1;
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, conf_for(argv[0]));
    send_head(rk, argv[1], &head);
    rd_kafka_destroy(rk);
    wire_head_done(&owned);
    return 0;
}

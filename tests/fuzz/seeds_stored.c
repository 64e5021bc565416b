/* Seeds of what fisd keeps and sends in its own formats: ledger, heads, model versions, chunks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "small_learner.h"
#include "seeds.h"

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/ledger.h"
#include "wire/model.h"

static void good(int rc, const struct fis_error *e)
{
    if (rc < 0)
        FUZZ_FAIL("%s", e->text);
}

static void write(const char *target, const char *name, const char *head, size_t head_length,
                  const struct byte_buffer *value)
{
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    good(byte_buffer_append(&out, head, head_length, &e), &e);
    good(byte_buffer_append(&out, value->data, value->length, &e), &e);
    seed_write(target, name, out.data, out.length);
    byte_buffer_done(&out);
}

static void entries(void)
{
    static const struct fis_vote votes[] = {{"ann", WIRE_LABELLED, 1, 5},
                                             {"bob", WIRE_SKIPPED, 0, 6}};
    static const char *const names[] = {"",        "in-heap", "requested", "accepted", "set-aside",
                                        "expired", "skipped", "cancelled", "tied"};
    static const float x[] = {1, 0, 0, 0, 0, 0, 0, 2};
    struct fis_error e = {0};
    for (int state = WIRE_IN_HEAP; state <= WIRE_TIED; state++) {
        struct wire_ledger_entry entry = {.id = {3, "r-1"},
                                          .state = (enum wire_ledger_state)state,
                                          .class_index = state == WIRE_ACCEPTED,
                                          .criterion = 1,
                                          .round = 4,
                                          .x = x,
                                          .d = 8,
                                          .encoding = WIRE_PROTOBUF,
                                          .record = {"\x0a\x01z", state <= WIRE_REQUESTED ? 3 : 0},
                                          .asked_at_ms = 100,
                                          .refunded = state == WIRE_EXPIRED,
                                          .votes = votes,
                                          .n_votes = state == WIRE_TIED ? 2 : 0};
        struct byte_buffer b = {0};
        good(wire_ledger_entry_encode(&entry, &b, &e), &e);
        write("ledger", names[state], "m\3r-1", 5, &b);
        byte_buffer_done(&b);
    }
}

static const struct wire_privacy spent = {
    .refreshes = 3, .tag = 99, .rho = .5, .noise = 1, .clip = 1, .delta = 1e-5, .epsilon = 5};

static void states(void)
{
    static const struct wire_counted counted[] = {{0, 17}, {5, 0}};
    struct wire_trainer_state s = {.round = 3,
                                   .window_records = 40,
                                   .head_version = 12,
                                   .model_version = 4,
                                   .served_version = 3,
                                   .val0 = .8,
                                   .served_accuracy = (double)NAN,
                                   .trained = 7,
                                   .looks = 5,
                                   .phase = WIRE_PHASE_LABEL,
                                   .clock_ms = 1000,
                                   .wall_ms = 1700000000000,
                                   .pinned = 1,
                                   .failures = 2,
                                   .day = 19675,
                                   .day_asked = 8,
                                   .checkpoint = 12,
                                   .counted = counted,
                                   .n_counted = 2,
                                   .control_id = "c-1",
                                   .control_text = "pinned",
                                   .control_ok = 1,
                                   .privacy = spent};
    struct wire_checkpoint c = {1, 12, {"learner", 7}, {"gate", 4}};
    struct byte_buffer b = {0};
    struct fis_error e = {0};
    good(wire_ledger_state_encode(&s, &b, &e), &e);
    write("ledger", "state", "m\1", 3, &b);
    b.length = 0;
    good(wire_checkpoint_encode(&c, &b, &e), &e);
    write("ledger", "checkpoint", "c", 1, &b);
    write("ledger", "chunk", "m\015\0checkpoint/0", 15, &b);
    b.length = 0;
    write("ledger", "tombstone", "m\203r-1", 5, &b);
    byte_buffer_done(&b);
}

static void heads(void)
{
    static const struct wire_pool_end ends[] = {{0, 100}, {3, 7}};
    struct fis_error e = {0};
    struct byte_buffer b = {0};
    struct wire_head h = {.pipeline = "p",
                          .version = 12,
                          .round = 3,
                          .created_at_ms = 1700000000000,
                          .encoder = fuzz_mixed_encoder()};
    const uint32_t hidden[] = {3};
    good(fis_shape_init(&h.shape, FUZZ_MIXED_D, hidden, 1, 2, &e), &e);
    size_t n = fis_shape_params(&h.shape);
    float *slab = fis_calloc(n, sizeof *slab);
    FUZZ_HOLDS(slab);
    h.params = h.g_acc = h.g_fair = slab;
    good(wire_head_encode(&h, &b, &e), &e);
    write("model", "head-zero", "h", 1, &b);
    for (size_t i = 0; i < n; i++)
        slab[i] = (float)i / 8;
    h.scan = 11;
    h.ends = ends;
    h.n_ends = 2;
    h.selection = (struct wire_selection){.heap = 256, .distinct = true, .seed = 7};
    b.length = 0;
    good(wire_head_encode(&h, &b, &e), &e);
    write("model", "head-pool", "h", 1, &b);
    fis_free(slab);
    byte_buffer_done(&b);
}

static void fill_metrics(struct fis_metrics *m)
{
    fis_metrics_none(m);
    m->accuracy = .8;
    m->equalized_odds = .1;
    m->n = 500;
    m->n_groups = m->classes = m->predicted_classes = 2;
    m->recall[0] = .75;
    m->recall[1] = (double)NAN;
    m->group[0] = (struct fis_group_metrics){300, .8, .4, .7, .2};
    m->group[1] = (struct fis_group_metrics){200, .8, .4, (double)NAN, .2};
}

static void models(void)
{
    struct fis_error e = {0};
    struct byte_buffer b = {0};
    float slab[3 * FUZZ_MIXED_D];
    struct wire_model m = {.pipeline = "p",
                           .version = 4,
                           .parent = 3,
                           .created_at_ms = 1700000000000,
                           .served = 1,
                           .classes = fuzz_schema.classes,
                           .n_classes = 2,
                           .positive = 1,
                           .metric = "equalized_odds",
                           .encoder = fuzz_mixed_encoder(),
                           .verdict = "publish",
                           .reason = "fairer",
                           .reason_text = "fairer by .03",
                           .epsilon = .01,
                           .floor = (double)NAN,
                           .looks = 3,
                           .labels_bought = 128,
                           .algorithm = "fis+",
                           .privacy = spent};
    for (size_t i = 0; i < sizeof slab / sizeof *slab; i++)
        slab[i] = (float)i;
    m.params = slab;
    fill_metrics(&m.metrics);
    fill_metrics(&m.anchor);
    m.intervals.level = .95;
    m.intervals.accuracy = (struct fis_interval){.7, .9, .05};
    good(fis_shape_init(&m.shape, FUZZ_MIXED_D, NULL, 0, 2, &e), &e);
    good(wire_model_encode(&m, &b, &e), &e);
    write("model", "served", "m", 1, &b);
    m.served = 0;
    m.verdict = "reject";
    m.reason = "below_floor";
    m.params = NULL;
    m.encoder = NULL;
    b.length = 0;
    good(wire_model_encode(&m, &b, &e), &e);
    write("model", "rejected", "m", 1, &b);
    byte_buffer_done(&b);
}

/* Two versions in chunks, the first one without its last chunk. */
static void chunks(void)
{
    static const char text[] = "what is cut into pieces";
    struct byte_buffer all = {0}, one = {0};
    struct fis_error e = {0};
    for (uint64_t version = 1; version <= 2; version++) {
        struct wire_chunks c;
        good(wire_chunks_start(&c, version, (struct wire_bytes){text, sizeof text}, 9, &e), &e);
        while (c.next < c.count - (version == 1)) {
            one.length = 0;
            good(wire_chunks_next(&c, &one, &e), &e);
            unsigned char length[2] = {(unsigned char)one.length, 0};
            good(byte_buffer_append(&all, length, 2, &e), &e);
            good(byte_buffer_append(&all, one.data, one.length, &e), &e);
        }
    }
    write("model", "chunks-each", "c\0", 2, &all);
    write("model", "chunks-newest", "c\1", 2, &all);
    all.length = 0;
    good(byte_buffer_append(&all, text, sizeof text, &e), &e);
    write("model", "cut", "p\3\1", 3, &all);
    byte_buffer_done(&all);
    byte_buffer_done(&one);
}

/* In the middle of a round, and the gate beside it. */
static void checkpoints(void)
{
    struct fuzz_learner l = {0};
    struct byte_buffer b = {0};
    struct fis_error e = {0};
    fuzz_learner_make(&l);
    size_t gate = fis_gate_save_size(l.gate);
    good(byte_buffer_reserve(&b, fis_learner_save_size(l.learner) + gate, &e), &e);
    b.length = fis_learner_save_size(l.learner);
    fis_learner_save(l.learner, b.data);
    write("checkpoint", "learner", "l", 1, &b);
    b.length = gate;
    fis_gate_save(l.gate, b.data);
    write("checkpoint", "gate", "g", 1, &b);
    byte_buffer_done(&b);
    fis_learner_free(l.learner);
    fis_gate_free(l.gate);
    fis_free(l.params);
}

void seeds_stored(void)
{
    checkpoints();
    entries();
    states();
    heads();
    models();
    chunks();
}

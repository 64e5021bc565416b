/*
 * The scorer and its batches under every refused allocation: NOMEM each time, as if what could not
 * be taken had not come; called once more, it goes on.
 */

#include "kit/cmocka.h"

#include "kit/base/oom.h"
#include "fis/rng.h"
#include "role/scorer.h"
#include "wire/head.h"
#include "wire/json_arena.h"
#include "wire/ledger.h"

#define D 2
#define BATCH 8
#define ENTRIES 40

static const char *const class_names[] = {"no", "yes"};
static const struct wire_schema named = {
    .classes = class_names, .n_classes = 2, .id_column = "id", .max_bytes = 4096};
static const struct wire_pool_end ends[] = {{0, 5}, {1, 9}};

struct world {
    struct byte_buffer head;               /* a head, encoded */
    struct byte_buffer entry[ENTRIES + 1]; /* of the ledger; the last is the state */
    char key[ENTRIES][8];
    uint32_t rewinds;
};

/* ---- batches ----------------------------------------------------------------------------------
 */

static int score(struct scoring_batch *b, struct scoring_head *head, struct fis_error *e)
{
    static const char record[] = "{\"id\":\"r\",\"f0\":1,\"f1\":2}";
    int rc = scoring_batch_prepare(b, head, NULL, e);
    if (rc)
        return rc;
    b->n = BATCH;
    for (uint32_t i = 0; i < BATCH; i++)
        b->messages[i] = (struct wire_message){
            .topic = "t", .offset = i, .timestamp_ms = -1, .value = {record, sizeof record - 1}};
    uint64_t before = fis_mem_count();
    scoring_run(b);
    assert_int_equal(fis_mem_count(), before); /* nothing in it allocates */
    assert_int_equal(b->rows, BATCH);
    return 0;
}

static int batch(void *arg, struct fis_error *e)
{
    struct world *w = arg;
    static const struct scoring_options o = {.schema = &named,
                                             .encoding = WIRE_JSON,
                                             .criteria = {.acquisition = &fis_acquisition_fis_plus},
                                             .capacity = BATCH};
    struct wire_head_owned owned;
    struct scoring_batch b;
    int rc = wire_head_decode((struct wire_bytes){w->head.data, w->head.length}, &owned, e);
    if (rc)
        return rc;
    struct scoring_head *head = scoring_head_take(&owned);
    rc = head ? scoring_batch_init(&b, &o, e) : fis_fail(e, FIS_NOMEM, "no head");
    if (!rc) {
        rc = score(&b, head, e);
        scoring_batch_done(&b);
    }
    scoring_head_unref(head);
    wire_head_done(&owned);
    return rc;
}

/* ---- the machine ------------------------------------------------------------------------------
 */

static void on_score(void *ctx, uint32_t slot, const float *floors)
{
    (void)ctx;
    (void)slot;
    (void)floors;
}

static void on_message(void *ctx, uint32_t slot, uint32_t i)
{
    (void)ctx;
    (void)slot;
    (void)i;
}

static void on_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    (void)ctx;
    (void)slot;
    (void)p;
}

static void on_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    (void)ctx;
    (void)slot;
    (void)places;
    (void)n;
}

static void on_rewind(void *ctx)
{
    ((struct world *)ctx)->rewinds++;
}

static void on_enough(void *ctx, int32_t partition)
{
    (void)ctx;
    (void)partition;
}

static int tell_ledger(const struct world *w, struct scorer *m, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i <= ENTRIES; i++) {
        struct wire_message message = {
            .topic = "t.ledger",
            .key = i < ENTRIES ? (struct wire_bytes){w->key[i], strlen(w->key[i])}
                               : wire_ledger_state_key,
            .value = {w->entry[i].data, w->entry[i].length}};
        rc = scorer_ledger(m, &message, e);
    }
    return rc;
}

static int tell(const struct world *w, struct scorer *m, struct fis_error *e)
{
    struct wire_head head = {
        .version = 12, .scan = 11, .ends = ends, .n_ends = 2, .selection = {.heap = 16}};
    int rc = tell_ledger(w, m, e);
    if (!rc)
        rc = scorer_head(m, &head, e);
    if (!rc)
        rc = scorer_reset(m, 1, 3, 2, 1, e);
    return rc;
}

static int machine(void *arg, struct fis_error *e)
{
    struct world *w = arg;
    struct scorer_out out = {w,           on_score,   on_message, on_message,
                             on_progress, on_release, on_rewind,  on_enough};
    struct scorer_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                               .slots = 2,
                               .batch = BATCH,
                               .name = "s",
                               .pool = 1,
                               .ledger_bytes = 4096};
    w->rewinds = 0;
    struct scorer *m = scorer_new(&o, &out, e);
    if (!m)
        return oom_failed(e);
    int rc = tell(w, m, e);
    if (rc) {
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(tell(w, m, NULL), 0);
    }
    assert_int_equal(w->rewinds, 1); /* the scan has begun, once */
    assert_int_equal(scorer_counts(m)->scans, 1);
    assert_true(scorer_free_slot(m) >= 0);
    scorer_free(m);
    return rc;
}

/* ---- the tests --------------------------------------------------------------------------------
 */

static void batches(void **state)
{
    assert_true(oom_run(batch, *state) > 20);
}

static void machines(void **state)
{
    assert_true(oom_run(machine, *state) > ENTRIES);
}

static void write_head(struct world *w)
{
    static const struct fis_column columns[D] = {{"f0", FIS_NUMERIC, FIS_SCALE_NONE},
                                                 {"f1", FIS_NUMERIC, FIS_SCALE_NONE}};
    struct fis_value row[D] = {{FIS_VALUE_NUMBER, 1, NULL, 0}, {FIS_VALUE_NUMBER, 1, NULL, 0}};
    struct fis_encoder *encoder = fis_encoder_new(columns, D, 2, NULL);
    struct wire_head h = {.pipeline = "t", .version = 12, .encoder = encoder};
    float slab[64];
    assert_non_null(encoder);
    assert_int_equal(fis_encoder_observe(encoder, row, NULL), 0);
    assert_int_equal(fis_encoder_finish(encoder, NULL), 0);
    assert_int_equal(
        fis_shape_init(&h.shape, fis_encoder_dimension(encoder), (uint32_t[]){4}, 1, 2, NULL), 0);
    assert_true(fis_shape_params(&h.shape) <= 64);
    for (int i = 0; i < 64; i++)
        slab[i] = (float)(i % 7) - 3;
    h.params = h.g_acc = h.g_fair = slab;
    assert_int_equal(wire_head_encode(&h, &w->head, NULL), 0);
    fis_encoder_free(encoder);
}

static int set_up(void **state)
{
    static struct world w;
    struct wire_trainer_state s = {.phase = WIRE_PHASE_COLLECT, .head_version = 12};
    wire_json_init();
    write_head(&w);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        struct wire_ledger_entry entry = {.state = WIRE_REQUESTED, .encoding = WIRE_JSON};
        snprintf(w.key[i], sizeof w.key[i], "r%u", i);
        assert_int_equal(fis_id_set(&entry.id, w.key[i], strlen(w.key[i])), 0);
        assert_int_equal(wire_ledger_entry_encode(&entry, &w.entry[i], NULL), 0);
    }
    assert_int_equal(wire_ledger_state_encode(&s, &w.entry[ENTRIES], NULL), 0);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    byte_buffer_done(&w->head);
    for (uint32_t i = 0; i <= ENTRIES; i++)
        byte_buffer_done(&w->entry[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches),
        cmocka_unit_test(machines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

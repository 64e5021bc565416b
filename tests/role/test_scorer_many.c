/* Any number of scorers, whatever happens to them: the same records are selected as by one that
 * sees them all, every record counts once, and nothing is committed before it was handled. */
#include "kit/role/scorer_world.h"

#define MOST_STEPS 200000u

static int64_t all_of(struct scorers *w, int p)
{
    return w->high[p];
}

static int64_t scan_of(struct scorers *w, int p)
{
    int64_t end = scorers_head(w)->ends[p].end;
    return end < w->high[p] ? end : w->high[p];
}

/* ---- stream mode ----------------------------------------------------------------------------- */

static int stream_through(struct scorers *w)
{
    for (uint32_t i = 0; i < w->n_nodes; i++)
        if (!scorer_idle(w->nodes[i].m) || w->nodes[i].appended < w->nodes[i].queued)
            return 0;
    for (int p = 0; p < PARTITIONS; p++)
        if (w->owner[p]->position[p] < w->high[p])
            return 0;
    return 1;
}

static uint64_t records_in(struct scorers *w)
{
    uint64_t n = 0;
    for (int p = 0; p < PARTITIONS; p++)
        for (int64_t o = 0; o < w->high[p]; o++)
            n += w->kind[p][o] == RECORD;
    return n;
}

static void test_the_same_are_selected_by_any_number(void **state)
{
    (void)state;
    static struct scorers w;
    uint64_t moves = 0, crashes = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        scorers_open(&w, seed, 0);
        w.heads[w.n_heads++] = (struct wire_head){.version = 3};
        uint32_t steps = 0, trouble = scorers_below(&w, 4000);
        for (; !stream_through(&w) || steps < trouble; steps++) {
            assert_true(steps < MOST_STEPS);
            w.faults = steps < trouble;
            scorers_step(&w);
        }
        scorers_assert_handled(&w, all_of);
        assert_int_equal(w.records, records_in(&w));
        scorers_compare(&w, all_of);
        moves += w.moves;
        crashes += w.crashes;
        lost += w.lost;
        scorers_close(&w);
    }
    assert_true(moves > 4000 && crashes > 400 && lost > 1000); /* it was not a quiet time */
}

/* ---- pool mode ------------------------------------------------------------------------------- */

static void write_ledger(struct scorers *w, const struct wire_ledger_entry *entry,
                         const struct wire_trainer_state *state)
{
    assert_true(w->n_ledger < LEDGER);
    struct wire_bytes key = entry ? wire_ledger_entry_key(&entry->id) : wire_ledger_state_key;
    struct byte_buffer *k = &w->ledger[w->n_ledger].key, *v = &w->ledger[w->n_ledger].value;
    w->n_ledger++;
    assert_int_equal(byte_buffer_append(k, key.data, key.length, NULL), 0);
    assert_int_equal(entry ? wire_ledger_entry_encode(entry, v, NULL)
                           : wire_ledger_state_encode(state, v, NULL),
                     0);
}

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    struct scorers *w = arg;
    (void)ids;
    for (uint32_t i = 0; i < n; i++)
        scorers_scores((uint32_t)x[i], scorers_head(w)->version,
                       scores + (size_t)i * FIS_MAX_CRITERIA);
}

static void begin_scan(struct scorers *w)
{
    uint32_t i = w->n_heads++;
    uint64_t version = i + 1;
    for (int p = 0; p < PARTITIONS; p++) {
        int64_t old = i ? w->ends[i - 1][p].end : 0, room = w->high[p] - old;
        w->ends[i][p] = (struct wire_pool_end){p, w->pool && scorers_below(w, 8) == 0 && !i
                                                      ? 0
                                                      : old + scorers_below(w, (uint32_t)room + 1)};
    }
    w->heads[i] = (struct wire_head){
        .version = version, .scan = version, .ends = w->ends[i], .n_ends = PARTITIONS};
    struct wire_trainer_state state = {
        .head_version = version, .phase = WIRE_PHASE_COLLECT, .control_id = "", .control_text = ""};
    write_ledger(w, NULL, &state);
    assert_int_equal(fis_selector_rescore(w->selector, rescore, w, NULL), 0);
    fis_selector_round_begin(w->selector, (uint32_t)version);
    memset(w->done, 0, sizeof w->done);
    memset(w->handled, 0, sizeof w->handled);
    memset(w->counted, 0, sizeof w->counted);
    w->records = 0;
}

static int scanned(struct scorers *w)
{
    for (int p = 0; p < PARTITIONS; p++)
        if (scorers_head(w)->ends[p].end && !w->done[p])
            return 0;
    return 1;
}

static void end_scan(struct scorers *w)
{
    int before[IDS];
    memcpy(before, w->asked, sizeof before);
    scorers_assert_handled(w, scan_of);
    scorers_compare(w, scan_of);
    float x = 1;
    for (uint32_t i = 0; i < IDS; i++) {
        struct wire_ledger_entry entry = {
            .state = WIRE_REQUESTED, .x = &x, .d = 1, .encoding = WIRE_JSON, .record = {"{}", 2}};
        scorers_id(i, &entry.id);
        if (w->asked[i] && !before[i])
            write_ledger(w, &entry, NULL);
    }
}

static void test_scans_select_from_the_whole_pool(void **state)
{
    (void)state;
    static struct scorers w;
    uint64_t left_out = 0, moves = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        scorers_open(&w, 1000 + seed, 1);
        for (int round = 0; round < 4; round++) {
            begin_scan(&w);
            uint32_t steps = 0, trouble = scorers_below(&w, 1500);
            for (; !scanned(&w); steps++) {
                assert_true(steps < MOST_STEPS);
                w.faults = steps < trouble;
                scorers_step(&w);
            }
            end_scan(&w);
        }
        for (uint32_t i = 0; i < w.n_nodes; i++)
            left_out += scorer_counts(w.nodes[i].m)->asked;
        moves += w.moves;
        for (int p = 0; p < PARTITIONS; p++)
            assert_int_equal(w.committed[p], 0);
        scorers_close(&w);
    }
    assert_true(left_out > 1000 && moves > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_are_selected_by_any_number),
        cmocka_unit_test(test_scans_select_from_the_whole_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

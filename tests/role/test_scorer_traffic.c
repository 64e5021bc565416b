/* How much many scorers offer: with the trainer's floors, 20 of them offer about as much as one,
 * and the selection is the same. In virtual time; scores by chance. */
#include "kit/cmocka.h"
#include "role/scorer.h"

enum {
    MOST = 20,
    R = 64,
    WINDOW = 10000,
    RECORDS = 4 * WINDOW,
    A_TICK = 20,  /* records of all scorers in 10 ms */
    COMMIT = 20,  /* ticks between two units */
    LATENCY = 2,  /* ticks of a message */
    REFRESHES = 4 /* heads of a round */
};

struct world;
struct node {
    struct world *w;
    struct scorer *m;
    struct scoring_batch b;
    struct wire_message messages[A_TICK];
    enum wire_decoded status[A_TICK];
    struct wire_record record[A_TICK], *records[A_TICK];
    uint32_t row[A_TICK], number[A_TICK];
    float scores[A_TICK][FIS_MAX_CRITERIA];
    int64_t next;
};

/* Offers and floors on their way, each due at a tick. */
struct offer {
    uint32_t number, tick;
};
struct world {
    struct node nodes[MOST];
    uint32_t n, tick, offered;
    bool floors;
    uint64_t head;
    struct fis_selector *selector;
    struct offer *sent;
    uint32_t n_sent, taken;
    struct wire_floors on_its_way;
    uint32_t due; /* of the floors; 0: none */
    uint32_t first_round[R], n_first;
};

static void id_of(uint32_t number, struct fis_id *id)
{
    char text[16];
    int n = snprintf(text, sizeof text, "r%u", number);
    assert_int_equal(fis_id_set(id, text, (size_t)n), 0);
}

static void scores_of(uint32_t number, uint64_t head, float *scores)
{
    struct fis_id id;
    id_of(number, &id);
    uint64_t h = fis_id_hash(&id, head);
    scores[0] = h % 5 ? (float)(h >> 44) : FIS_NOT_A_CANDIDATE;
    scores[1] = (float)(h >> 20 & 0xfffff);
}

static void on_score(void *ctx, uint32_t slot, const float *floors)
{
    struct node *n = ctx;
    (void)slot;
    (void)floors;
    for (uint32_t i = 0; i < n->b.n; i++)
        scores_of(n->number[i], n->w->head, n->scores[i]);
}

static void on_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct node *n = ctx;
    struct world *w = n->w;
    (void)slot;
    w->sent[w->n_sent++] = (struct offer){n->number[i], w->tick + LATENCY};
    scorer_acked(n->m, 0, 1);
}

static void on_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    (void)ctx;
    (void)slot;
    (void)i;
    fail();
}

static void on_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct node *n = ctx;
    (void)p;
    scorer_acked(n->m, slot, 1);
}

static void on_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    (void)ctx;
    (void)slot;
    (void)places;
    (void)n;
}

static void open_node(struct world *w, struct node *n)
{
    const struct scorer_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                                     .slots = 1,
                                     .batch = A_TICK,
                                     .name = "t"};
    const struct scorer_out out = {.ctx = n,
                                   .score = on_score,
                                   .offer = on_offer,
                                   .refuse = on_refuse,
                                   .progress = on_progress,
                                   .release = on_release};
    n->w = w;
    n->m = scorer_new(&o, &out, NULL);
    assert_non_null(n->m);
    for (uint32_t i = 0; i < A_TICK; i++) {
        n->records[i] = &n->record[i];
        n->row[i] = i;
    }
    n->b = (struct scoring_batch){.messages = n->messages,
                                  .status = n->status,
                                  .records = n->records,
                                  .row = n->row,
                                  .scores = &n->scores[0][0]};
}

static void open_world(struct world *w, uint32_t n, bool floors)
{
    const struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                                           .d = 1,
                                           .labels_per_round = R,
                                           .heap = 2 * R,
                                           .in_flight = RECORDS};
    *w = (struct world){.n = n, .floors = floors, .selector = fis_selector_new(&o, NULL)};
    w->sent = fis_calloc(2 * RECORDS, sizeof *w->sent);
    assert_non_null(w->selector);
    assert_non_null(w->sent);
    for (uint32_t i = 0; i < n; i++)
        open_node(w, &w->nodes[i]);
}

static void close_world(struct world *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        scorer_free(w->nodes[i].m);
    fis_free(w->sent);
    fis_selector_free(w->selector);
}

/* ---- the trainer --------------------------------------------------------------------------- */

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    const struct world *w = arg;
    (void)ids;
    for (uint32_t i = 0; i < n; i++)
        scores_of((uint32_t)x[i], w->head, scores + (size_t)i * FIS_MAX_CRITERIA);
}

static void new_head(struct world *w)
{
    const struct wire_head head = {.version = ++w->head, .selection = {.heap = 2 * R}};
    assert_int_equal(fis_selector_rescore(w->selector, rescore, w, NULL), 0);
    for (uint32_t i = 0; i < w->n; i++)
        assert_int_equal(scorer_head(w->nodes[i].m, &head, NULL), 0);
    w->due = 0;
}

static void take_offers(struct world *w)
{
    for (; w->taken < w->n_sent && w->sent[w->taken].tick <= w->tick; w->taken++) {
        float x = (float)w->sent[w->taken].number;
        struct fis_candidate c = {.x = &x};
        id_of(w->sent[w->taken].number, &c.id);
        scores_of(w->sent[w->taken].number, w->head, c.scores);
        assert_true(fis_selector_offer(w->selector, &c, NULL) >= 0);
    }
}

static void pass_floors(struct world *w)
{
    if (w->due && w->due <= w->tick)
        for (uint32_t i = 0; i < w->n; i++)
            scorer_floors(w->nodes[i].m, &w->on_its_way);
    if (!w->floors || w->tick % COMMIT)
        return;
    w->on_its_way.head_version = w->head;
    fis_selector_floors(w->selector, w->on_its_way.scores);
    w->due = w->tick + LATENCY;
}

/* A round's requests. */
static void ask(struct world *w, uint32_t round)
{
    struct fis_candidate c;
    uint32_t criterion;
    while (fis_selector_ask(w->selector, &c, &criterion))
        if (round == 1)
            w->first_round[w->n_first++] = (uint32_t)*c.x;
    fis_selector_round_begin(w->selector, round + 1);
}

/* ---- time ---------------------------------------------------------------------------------- */

static void read_batch(struct node *n, uint32_t first, uint32_t count)
{
    assert_int_equal(scorer_free_slot(n->m), 0);
    n->b.n = count;
    for (uint32_t i = 0; i < count; i++) {
        n->messages[i] = (struct wire_message){.offset = n->next++};
        n->status[i] = WIRE_OK;
        n->number[i] = first + i;
        id_of(first + i, &n->record[i].id);
    }
    n->b.head_version = n->w->head;
    scorer_batch(n->m, 0, &n->b);
    scorer_scored(n->m, 0, &n->b);
    while (scorer_send(n->m, A_TICK) == A_TICK)
        ;
}

/* A window's records, its requests, and the heads of a round while the next window begins. */
static uint32_t offered_by(struct world *w, uint32_t n, bool floors)
{
    open_world(w, n, floors);
    fis_selector_round_begin(w->selector, 1);
    new_head(w);
    for (uint32_t at = 0; at < RECORDS; at += A_TICK, w->tick++) {
        uint32_t each = A_TICK / n, into = at % WINDOW;
        for (uint32_t i = 0; i < n; i++)
            read_batch(&w->nodes[i], at + i * each, each);
        take_offers(w);
        pass_floors(w);
        if (at && into == 0)
            ask(w, at / WINDOW);
        if (at >= WINDOW && into && into <= REFRESHES * 500 && into % 500 == 0)
            new_head(w);
    }
    return w->n_sent;
}

static void test_twenty_offer_about_as_much_as_one(void **state)
{
    (void)state;
    static struct world one, many, blind;
    uint32_t by_one = offered_by(&one, 1, true);
    uint32_t by_many = offered_by(&many, MOST, true);
    uint32_t without = offered_by(&blind, MOST, false);
    print_message("of %d records one scorer offers %u, %d offer %u, without floors %u\n", RECORDS,
                  by_one, MOST, by_many, without);
    assert_true(by_many <= 2 * by_one);
    assert_true(without > 3 * by_one); /* or there is nothing to gain */
    assert_int_equal(one.n_first, R);
    assert_memory_equal(one.first_round, many.first_round, sizeof one.first_round);
    assert_memory_equal(one.first_round, blind.first_round, sizeof one.first_round);
    close_world(&one);
    close_world(&many);
    close_world(&blind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty_offer_about_as_much_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

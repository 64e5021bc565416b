#include "kit/role/scorer_world.h"

#include <math.h>

uint32_t scorers_below(struct scorers *w, uint32_t n)
{
    return fis_rng_below(&w->rng, n);
}

void scorers_id(uint32_t number, struct fis_id *id)
{
    char text[16];
    int n = snprintf(text, sizeof text, "r%u", number);
    assert_int_equal(fis_id_set(id, text, (size_t)n), 0);
}

void scorers_scores(uint32_t number, uint64_t head, float *scores)
{
    struct fis_id id;
    scorers_id(number, &id);
    uint64_t h = fis_id_hash(&id, head);
    scores[0] = h % 5 ? (float)(h / 8 % 25) : FIS_NOT_A_CANDIDATE;
    scores[1] = (float)(h / 1024 % 90);
}

struct wire_head *scorers_head(struct scorers *w)
{
    struct wire_head *head = &w->heads[w->n_heads - 1];
    head->selection.heap = 2 * R;
    return head;
}

static struct fis_selector *new_selector(void)
{
    struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                                     .d = 1,
                                     .labels_per_round = R,
                                     .heap = 2 * R,
                                     .in_flight = 1000};
    struct fis_selector *s = fis_selector_new(&o, NULL);
    assert_non_null(s);
    return s;
}

static void offer(struct fis_selector *s, uint32_t number, uint64_t head)
{
    float x = (float)number;
    struct fis_candidate c = {.x = &x};
    scorers_id(number, &c.id);
    scorers_scores(number, head, c.scores);
    assert_true(fis_selector_offer(s, &c, NULL) >= 0);
}

static void count(struct scorers *w, const struct wire_range *r)
{
    int64_t *counted = &w->counted[r->partition];
    uint64_t fresh = r->next <= *counted ? 0 : (uint64_t)(r->next - *counted);
    w->records += r->begin >= *counted || r->records < fresh ? (fresh ? r->records : 0) : fresh;
    *counted = r->next > *counted ? r->next : *counted;
}

static void take_progress(struct scorers *w, const struct wire_progress *p)
{
    if (p->scan != scorers_head(w)->scan)
        return;
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        const struct wire_range *r = &p->ranges[i];
        count(w, r);
        for (int64_t o = r->begin; o < r->next; o++)
            w->handled[r->partition][o] = 1;
        if (w->pool && r->next >= scorers_head(w)->ends[r->partition].end)
            w->done[r->partition] = 1;
    }
}

static void append(struct node *n)
{
    if (n->appended == n->queued)
        return;
    struct sent *s = &n->sent[n->appended++ % SENT];
    if (s->kind == OFFER) /* the trainer scores again what came under another head */
        offer(n->w->selector, s->number, scorers_head(n->w)->version);
    else if (s->kind == PROGRESS)
        take_progress(n->w, &s->progress);
    else
        n->w->dead[s->partition][s->offset] = 1;
}

static struct sent *push(struct node *n, uint32_t slot)
{
    assert_true(n->queued - n->acked < SENT);
    struct sent *s = &n->sent[n->queued++ % SENT];
    *s = (struct sent){.slot = slot};
    return s;
}

static void on_score(void *ctx, uint32_t slot, const float *floors)
{
    struct node *n = ctx;
    memcpy(n->floors[slot], floors, sizeof n->floors[slot]);
    n->scoring[slot] = 1;
    n->b[slot].head_version = n->w->heads[n->heads_seen - 1].version;
}

static void on_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct node *n = ctx;
    const struct wire_message *m = &n->b[slot].messages[i];
    struct sent *s = push(n, slot);
    s->number = n->w->number[m->partition][m->offset];
    s->head = n->b[slot].head_version;
    float exact[FIS_MAX_CRITERIA];
    scorers_scores(s->number, s->head, exact);
    assert_memory_equal(exact, n->scores[slot][n->b[slot].row[i]], sizeof exact);
    if (n->w->pool && n->heads_seen == n->w->n_heads) {
        assert_false(n->w->asked[s->number]);
        assert_true(m->offset < scorers_head(n->w)->ends[m->partition].end);
    }
}

static void on_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct node *n = ctx;
    const struct wire_message *m = &n->b[slot].messages[i];
    assert_int_equal(n->w->kind[m->partition][m->offset], BAD);
    struct sent *s = push(n, slot);
    s->kind = REFUSE;
    s->partition = m->partition;
    s->offset = m->offset;
}

static void on_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct node *n = ctx;
    struct sent *s = push(n, slot);
    s->kind = PROGRESS;
    s->progress = *p;
    s->progress.ranges = (void *)fis_memdup(p->ranges, p->n_ranges * sizeof *p->ranges);
    assert_non_null(s->progress.ranges);
}

static void on_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct node *node = ctx;
    struct scorers *w = node->w;
    (void)slot;
    assert_true(!w->pool || n == 0);
    for (uint32_t i = 0; i < n; i++) {
        int32_t p = places[i].partition;
        if (w->owner[p] != node)
            continue; /* lost, and not noticed yet: the broker refuses the commit */
        assert_true(node->owns[p] && places[i].next <= node->position[p]);
        for (int64_t o = 0; o < places[i].next; o++)
            assert_true(w->kind[p][o] == GAP || w->handled[p][o]);
        w->committed[p] = places[i].next;
    }
}

static void on_rewind(void *ctx)
{
    struct node *n = ctx;
    for (int p = 0; p < PARTITIONS; p++) {
        n->position[p] = 0;
        n->paused[p] = 0;
    }
}

static void on_enough(void *ctx, int32_t partition)
{
    ((struct node *)ctx)->paused[partition] = 1;
}

static void start(struct node *n)
{
    struct scorer_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                               .slots = 1 + scorers_below(n->w, SLOTS),
                               .batch = BATCH,
                               .name = "t",
                               .pool = n->w->pool,
                               .ledger_bytes = 1024};
    struct scorer_out out = {.ctx = n,
                             .score = on_score,
                             .offer = on_offer,
                             .refuse = on_refuse,
                             .progress = on_progress,
                             .release = on_release,
                             .rewind = on_rewind,
                             .enough = on_enough};
    n->m = scorer_new(&o, &out, NULL);
    assert_non_null(n->m);
    n->heads_seen = n->ledger_seen = 0;
    n->acked = n->appended = n->queued = 0;
    memset(n->scoring, 0, sizeof n->scoring);
    for (int s = 0; s < SLOTS; s++)
        n->b[s] = (struct scoring_batch){.messages = n->messages[s],
                                         .status = n->status[s],
                                         .records = n->records[s],
                                         .errors = n->errors[s],
                                         .row = n->row[s],
                                         .scores = &n->scores[s][0][0]};
}

static void drop_sent(struct node *n, uint64_t upto)
{
    for (; n->acked < upto; n->acked++)
        fis_free((void *)(uintptr_t)n->sent[n->acked % SENT].progress.ranges);
}

static void notice(struct node *n, int32_t p)
{
    if (!n->owns[p])
        return;
    n->owns[p] = 0;
    scorer_revoked(n->m, &p, 1);
}

/* lost: the one that has it is out of the group and finds out later. */
static void give(struct scorers *w, int32_t p, struct node *to, int lost)
{
    struct node *from = w->owner[p];
    if (from && !lost)
        notice(from, p);
    notice(to, p);
    w->owner[p] = to;
    to->owns[p] = 1;
    to->paused[p] = 0;
    to->position[p] = w->pool ? 0 : w->committed[p];
    w->moves++;
    w->lost += (uint64_t)lost;
}

static void move_one(struct scorers *w)
{
    give(w, (int32_t)scorers_below(w, PARTITIONS), &w->nodes[scorers_below(w, w->n_nodes)],
         scorers_below(w, 3) == 0);
}

static void crash(struct scorers *w, struct node *n)
{
    for (uint32_t k = scorers_below(w, 8); k > 0; k--)
        append(n); /* what was on its way may still arrive */
    drop_sent(n, n->queued);
    scorer_free(n->m);
    memset(n->owns, 0, sizeof n->owns);
    start(n);
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (w->owner[p] == n) {
            w->owner[p] = NULL;
            give(w, p, &w->nodes[scorers_below(w, w->n_nodes)], 0);
        }
    w->crashes++;
}

static void read_run(struct node *n, struct scoring_batch *b, int32_t p)
{
    struct scorers *w = n->w;
    for (uint32_t k = 1 + scorers_below(w, BATCH / 3); k > 0 && n->position[p] < w->high[p]; k--) {
        int64_t offset = n->position[p]++;
        if (w->kind[p][offset] != GAP && b->n < BATCH)
            b->messages[b->n++] = (struct wire_message){.partition = p, .offset = offset};
    }
}

static void read_batch(struct node *n)
{
    struct scorers *w = n->w;
    int slot = scorer_free_slot(n->m);
    if (slot < 0)
        return;
    struct scoring_batch *b = &n->b[slot];
    b->n = 0;
    for (uint32_t runs = 1 + scorers_below(w, 3); runs > 0; runs--) {
        int32_t p = (int32_t)scorers_below(w, PARTITIONS);
        uint32_t had = b->n;
        if (n->owns[p] && !n->paused[p] && b->n <= BATCH - BATCH / 3)
            read_run(n, b, p);
        if (b->n > had)
            scorer_reading(n->m, (uint32_t)slot, b);
        if (w->faults && scorers_below(w, 40) == 0)
            move_one(w);
    }
    if (b->n > 0)
        scorer_batch(n->m, (uint32_t)slot, b);
    for (int32_t p = 0; w->pool && p < PARTITIONS; p++)
        if (n->owns[p] && !n->paused[p] && n->position[p] == w->high[p])
            scorer_end(n->m, p, w->high[p]);
}

/* A row that reaches no floor may have anything below them. */
static void spoil(struct node *n, uint32_t slot, uint32_t row)
{
    float *scores = n->scores[slot][row];
    const float *floors = n->floors[slot];
    if (scores[0] < floors[0] && scores[1] < floors[1])
        for (int c = 0; c < FIS_MAX_CRITERIA; c++)
            scores[c] =
                scorers_below(n->w, 2) ? FIS_NOT_A_CANDIDATE : nextafterf(floors[c], -INFINITY);
}

static void score(struct node *n, uint32_t slot)
{
    struct scoring_batch *b = &n->b[slot];
    if (!n->scoring[slot])
        return;
    n->scoring[slot] = 0;
    b->rows = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct wire_message *m = &b->messages[i];
        enum kind kind = n->w->kind[m->partition][m->offset];
        b->status[i] = kind == BAD ? WIRE_BAD : kind == TOMBSTONE ? WIRE_TOMBSTONE : WIRE_OK;
        if (kind != RECORD)
            continue;
        uint32_t number = n->w->number[m->partition][m->offset];
        b->records[i] = &n->record[slot][i];
        scorers_id(number, &b->records[i]->id);
        scorers_scores(number, b->head_version, b->scores + (size_t)b->rows * FIS_MAX_CRITERIA);
        spoil(n, slot, b->rows);
        b->row[i] = b->rows++;
    }
    scorer_scored(n->m, slot, b);
}

static void acknowledge(struct node *n)
{
    if (n->acked == n->appended)
        return;
    uint32_t slot = n->sent[n->acked % SENT].slot;
    drop_sent(n, n->acked + 1);
    scorer_acked(n->m, slot, 1);
}

static void follow(struct node *n)
{
    struct scorers *w = n->w;
    if (w->n_heads && n->heads_seen == w->n_heads && scorers_below(w, 30) == 0) /* it comes again */
        assert_int_equal(scorer_head(n->m, scorers_head(w), NULL), 0);
    if (scorers_below(w, 2) && n->heads_seen < w->n_heads) {
        n->heads_seen = w->n_heads; /* the newest is all that counts */
        assert_int_equal(scorer_head(n->m, scorers_head(w), NULL), 0);
    }
    for (uint32_t k = scorers_below(w, 12); w->pool && k > 0 && n->ledger_seen < w->n_ledger; k--) {
        uint32_t i = n->ledger_seen++;
        struct wire_message m = {
            .key = {w->ledger[i].key.data, w->ledger[i].key.length},
            .value = {w->ledger[i].value.data, w->ledger[i].value.length},
        };
        assert_int_equal(scorer_ledger(n->m, &m, NULL), 0);
    }
}

/* Floors as they are, or as they were some time ago; perhaps of a head that is not there yet or not
 * the newest any more. */
static void hear_floors(struct node *n)
{
    struct scorers *w = n->w;
    if (!w->n_heads)
        return;
    scorer_floors(n->m, &w->floors);
    w->floors.head_version = scorers_head(w)->version;
    fis_selector_floors(w->selector, w->floors.scores);
    if (scorers_below(w, 2))
        scorer_floors(n->m, &w->floors);
    w->floors_heard++;
}

void scorers_step(struct scorers *w)
{
    struct node *n = &w->nodes[scorers_below(w, w->n_nodes)];
    uint32_t k = scorers_below(w, 17);
    if (w->faults && scorers_below(w, 60) == 0)
        move_one(w);
    if (w->faults && scorers_below(w, 400) == 0)
        crash(w, n);
    if (scorers_below(w, 20) == 0)
        hear_floors(n);
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (n->owns[p] && w->owner[p] != n && scorers_below(w, 10) == 0)
            notice(n, p);
    if (k < 4)
        read_batch(n);
    else if (k < 7)
        score(n, scorers_below(w, SLOTS));
    else if (k < 8)
        scorer_send(n->m, 1 + scorers_below(w, BATCH));
    else if (k < 12)
        append(n);
    else if (k < 16)
        acknowledge(n);
    else
        follow(n);
}

void scorers_open(struct scorers *w, uint64_t seed, int pool)
{
    *w = (struct scorers){.pool = pool, .faults = 1};
    fis_rng_seed(&w->rng, seed, 7);
    for (int p = 0; p < PARTITIONS; p++) {
        w->high[p] = 1 + scorers_below(w, LENGTH);
        for (int64_t o = 0; o < w->high[p]; o++) {
            uint32_t k = scorers_below(w, 20);
            w->kind[p][o] = k == 0 ? BAD : k == 1 ? TOMBSTONE : k == 2 ? GAP : RECORD;
            w->number[p][o] = scorers_below(w, IDS);
        }
    }
    w->selector = new_selector();
    w->n_nodes = 1 + scorers_below(w, NODES);
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        w->nodes[i].w = w;
        start(&w->nodes[i]);
    }
    for (int32_t p = 0; p < PARTITIONS; p++)
        give(w, p, &w->nodes[scorers_below(w, w->n_nodes)], 0);
}

void scorers_close(struct scorers *w)
{
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        drop_sent(&w->nodes[i], w->nodes[i].queued);
        scorer_free(w->nodes[i].m);
    }
    for (uint32_t i = 0; i < w->n_ledger; i++) {
        byte_buffer_done(&w->ledger[i].key);
        byte_buffer_done(&w->ledger[i].value);
    }
    fis_selector_free(w->selector);
}

void scorers_assert_handled(struct scorers *w, int64_t (*end_of)(struct scorers *, int))
{
    for (int p = 0; p < PARTITIONS; p++)
        for (int64_t o = 0; o < end_of(w, p); o++)
            assert_true(w->kind[p][o] == GAP ||
                        (w->handled[p][o] && (w->kind[p][o] != BAD || w->dead[p][o])));
}

void scorers_compare(struct scorers *w, int64_t (*end_of)(struct scorers *, int))
{
    struct fis_selector *reference = new_selector();
    for (int p = PARTITIONS - 1; p >= 0; p--)
        for (int64_t o = 0; o < end_of(w, p); o++)
            if (w->kind[p][o] == RECORD && !w->asked[w->number[p][o]])
                offer(reference, w->number[p][o], scorers_head(w)->version);
    struct fis_candidate want, got;
    uint32_t criterion, by;
    int asked = 0;
    while (fis_selector_ask(reference, &want, &criterion)) {
        assert_int_equal(fis_selector_ask(w->selector, &got, &by), 1);
        assert_int_equal(fis_id_compare(&want.id, &got.id), 0);
        assert_int_equal(criterion, by);
        w->asked[(uint32_t)*got.x] = 1;
        asked++;
    }
    assert_int_equal(fis_selector_ask(w->selector, &got, &by), 0);
    assert_true(asked <= R);
    fis_selector_free(reference);
}

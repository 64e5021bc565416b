#include "kit/role/scorer_fake.h"

static uint32_t number_of(const struct fis_id *id)
{
    char text[16] = {0};
    memcpy(text, id->bytes, id->length < 15 ? id->length : 15);
    return (uint32_t)atoi(text + 1);
}

static void on_score(void *ctx, uint32_t slot, const float *floors)
{
    struct fake *f = ctx;
    f->scoring |= 1u << slot;
    memcpy(f->floors, floors, sizeof f->floors);
}

static void on_offer(void *ctx, uint32_t slot, uint32_t i)
{
    struct fake *f = ctx;
    f->offered[number_of(&f->batch[slot]->records[i]->id)] = 1;
    f->sent[slot]++;
}

static void on_refuse(void *ctx, uint32_t slot, uint32_t i)
{
    struct fake *f = ctx;
    (void)i;
    f->refused++;
    f->sent[slot]++;
}

static void on_progress(void *ctx, uint32_t slot, const struct wire_progress *p)
{
    struct fake *f = ctx;
    f->n_progress++;
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        assert_true(p->ranges[i].begin <= p->ranges[i].next);
        f->progress_records += (uint32_t)p->ranges[i].records;
        if (f->n_ranges < 64)
            f->ranges[f->n_ranges++] = p->ranges[i];
    }
    f->sent[slot]++;
}

static void on_release(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n)
{
    struct fake *f = ctx;
    f->released[f->n_released] = (int)slot;
    f->n_committed[f->n_released++] = n;
    for (uint32_t i = 0; i < n; i++)
        f->committed[places[i].partition] = places[i].next;
}

void fake_new_head(struct fake *f, uint64_t version)
{
    struct wire_head head = {.version = version, .selection = {.heap = FAKE_R}};
    assert_int_equal(scorer_head(f->machine, &head, NULL), 0);
}

void fake_open(struct fake *f, const struct fis_acquisition *a, uint32_t slots)
{
    struct scorer_options o = {
        .criteria = {.acquisition = a}, .slots = slots, .batch = FAKE_RECORDS, .name = "t"};
    struct scorer_out out = {.ctx = f,
                             .score = on_score,
                             .offer = on_offer,
                             .refuse = on_refuse,
                             .progress = on_progress,
                             .release = on_release};
    memset(f, 0, sizeof *f);
    f->machine = scorer_new(&o, &out, NULL);
    assert_non_null(f->machine);
}

void fake_close(struct fake *f)
{
    scorer_free(f->machine);
}

void fake_batch(struct fake_batch *m, uint64_t head)
{
    memset(m, 0, sizeof *m);
    m->b.messages = m->messages;
    m->b.status = m->status;
    m->b.records = m->records;
    m->b.errors = m->errors;
    m->b.row = m->row;
    m->b.scores = &m->scores[0][0];
    m->b.head_version = head;
}

void fake_begin(struct fake *f, uint32_t slots, struct fake_batch *m)
{
    fake_open(f, &fis_acquisition_entropy, slots);
    fake_new_head(f, 1);
    fake_batch(m, 1);
}

void fake_add(struct fake_batch *m, uint32_t number, float a, float b)
{
    char text[16];
    int n = snprintf(text, sizeof text, "r%u", number);
    uint32_t i = m->b.n++;
    assert_int_equal(fis_id_set(&m->record[i].id, text, (size_t)n), 0);
    m->records[i] = &m->record[i];
    m->status[i] = WIRE_OK;
    m->row[i] = m->b.rows++;
    m->scores[i][0] = a;
    m->scores[i][1] = b;
}

void fake_add_bad(struct fake_batch *m, enum wire_decoded status)
{
    m->status[m->b.n++] = status;
}

void fake_place(struct fake_batch *m, uint32_t from, int32_t partition, int64_t offset)
{
    for (uint32_t i = from; i < m->b.n; i++) {
        m->messages[i].partition = partition;
        m->messages[i].offset = offset + i - from;
    }
}

void fake_ack_all(struct fake *f, uint32_t slot)
{
    while (f->sent[slot]) {
        f->sent[slot]--;
        scorer_acked(f->machine, slot, 1);
    }
}

/* What reaches no floor need not be scored. */
static void forget_low(const struct fake *f, struct fake_batch *m)
{
    for (uint32_t i = 0; i < m->b.rows; i++)
        if (m->scores[i][0] < f->floors[0] && m->scores[i][1] < f->floors[1])
            m->scores[i][0] = m->scores[i][1] = FIS_NOT_A_CANDIDATE;
}

void fake_scored(struct fake *f, uint32_t slot, struct scoring_batch *b)
{
    scorer_scored(f->machine, slot, b);
    while (scorer_send(f->machine, 3) == 3)
        ;
}

void fake_run(struct fake *f, struct fake_batch *m)
{
    int slot = scorer_free_slot(f->machine);
    assert_true(slot >= 0);
    f->batch[slot] = &m->b;
    scorer_batch(f->machine, (uint32_t)slot, &m->b);
    forget_low(f, m);
    fake_scored(f, (uint32_t)slot, &m->b);
    fake_ack_all(f, (uint32_t)slot);
}

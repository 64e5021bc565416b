#include "role/scoring.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "wire/source.h"
#include "wire/framing.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"
#include "wire/raw.h"
#include "wire/record_image.h"

/* Rows decoded and then scored at a time: their features stay in the processor's caches. A whole
 * number of the kernel's tiles. */
#define BLOCK_ROWS 128
#define FETCH_AHEAD 6
/* A record is decoded, turned into floats and forgotten. */
#define ARENA_FLOOR ((size_t)256 << 10)

char *scoring_algorithm(const struct fis_criteria *c, bool pool, char out[SCORING_ALGORITHM])
{
    char strategy[24] = "";
    if (c->acquisition->as_published)
        snprintf(strategy, sizeof strategy, ", strategy %d", c->strategy);
    snprintf(out, SCORING_ALGORITHM, "%s%s%s", c->acquisition->name, strategy,
             pool ? ", pool" : "");
    return out;
}

bool scoring_selection(struct wire_head *head, const struct wire_selection *ours,
                       char text[SCORING_DIFFERENCE])
{
    struct wire_selection *theirs = &head->selection;
    int n = 0;
    if (!theirs->heap)
        *theirs = *ours;
    text[0] = 0;
    if (theirs->heap != ours->heap)
        n += snprintf(text, SCORING_DIFFERENCE, ", selection.heap %u and not %u", theirs->heap,
                      ours->heap);
    if (theirs->distinct != ours->distinct)
        n +=
            snprintf(text + n, SCORING_DIFFERENCE - (size_t)n, ", selection.distinct %s and not %s",
                     theirs->distinct ? "true" : "false", ours->distinct ? "true" : "false");
    if (theirs->seed != ours->seed)
        n += snprintf(text + n, SCORING_DIFFERENCE - (size_t)n,
                      ", selection.seed %" PRIu64 " and not %" PRIu64, theirs->seed, ours->seed);
    if (n)
        memmove(text, text + 2, (size_t)n - 1);
    return n > 0;
}

struct scoring_head *scoring_head_take(struct wire_head_owned *head)
{
    struct scoring_head *h = fis_calloc(1, sizeof *h);
    if (!h)
        return NULL;
    const float *directions[FIS_DIRECTIONS] = {
        [FIS_DIRECTION_ACCURACY] = head->head.g_acc,
        [FIS_DIRECTION_FAIRNESS] = head->head.g_fair,
    };
    h->panel = fis_panel_new(&head->head.shape, head->head.params, directions, FIS_DIRECTIONS);
    if (!h->panel) {
        fis_free(h);
        return NULL;
    }
    h->version = head->head.version;
    h->seed = head->head.selection.seed;
    h->encoder = head->encoder;
    h->trees = fis_encoder_take_trees(h->encoder);
    h->initial = head->initial;
    head->encoder = NULL;
    head->initial = NULL;
    atomic_init(&h->references, 1);
    return h;
}

static struct scoring_head *scoring_head_ref(struct scoring_head *h)
{
    atomic_fetch_add(&h->references, 1);
    return h;
}

void scoring_head_unref(struct scoring_head *h)
{
    if (!h || atomic_fetch_sub(&h->references, 1) != 1)
        return;
    fis_panel_unref(h->panel);
    fis_encoder_free(h->encoder);
    fis_trees_unref(h->trees);
    fis_profile_free(h->initial);
    fis_free(h);
}

int scoring_batch_init(struct scoring_batch *b, const struct scoring_options *o,
                       struct fis_error *e)
{
    uint32_t n = o->capacity;
    size_t arena = o->schema->max_bytes * WIRE_JSON_PER_BYTE + wire_image_arena(o->schema);
    *b = (struct scoring_batch){.options = o};
    b->arena.size = arena > ARENA_FLOOR ? arena : ARENA_FLOOR;
    b->arena.base = fis_alloc(b->arena.size, 1);
    b->messages = fis_calloc(n, sizeof *b->messages);
    b->status = fis_calloc(n, sizeof *b->status);
    b->records = fis_calloc(n, sizeof *b->records);
    b->room = fis_alloc(n, sizeof **b->records); /* of most ids little is touched */
    b->errors = fis_alloc(n, sizeof *b->errors); /* few are written */
    b->row = fis_calloc(n, sizeof *b->row);
    bool registry = o->encoding == WIRE_REGISTRY;
    b->formats = registry ? fis_calloc(n, sizeof *b->formats) : NULL;
    b->scores = fis_calloc((size_t)n * FIS_MAX_CRITERIA, sizeof *b->scores);
    if (b->arena.base && b->messages && b->status && b->records && b->room && b->errors && b->row &&
        b->scores && (b->formats || !registry))
        return 0;
    scoring_batch_done(b);
    return fis_fail(e, FIS_NOMEM, "no memory for a batch of %u records", n);
}

static void free_shaped(struct scoring_batch *b)
{
    fis_scratch_free(b->scratch);
    fis_free(b->x);
    fis_free(b->from);
    fis_free(b->index);
    fis_free(b->value);
    b->scratch = NULL;
    b->x = b->value = NULL;
    b->from = b->index = NULL;
}

void scoring_batch_done(struct scoring_batch *b)
{
    free_shaped(b);
    scoring_head_unref(b->head);
    fis_profile_free(b->sample);
    fis_free(b->arena.base);
    fis_free(b->messages);
    fis_free(b->status);
    fis_free(b->records);
    fis_free(b->room);
    fis_free(b->errors);
    fis_free(b->row);
    fis_free(b->formats);
    fis_free(b->scores);
    *b = (struct scoring_batch){0};
}

/* Another head may have another encoder, whose bins are others. */
static int prepare_sample(struct scoring_batch *b, const struct scoring_head *old,
                          const struct scoring_head *head, struct fis_error *e)
{
    if (old == head && (b->sample || !head->initial))
        return 0;
    fis_profile_free(b->sample);
    b->sample = head->initial ? fis_profile_new(head->encoder, e) : NULL;
    return head->initial && !b->sample ? -(int)FIS_NOMEM : 0;
}

int scoring_batch_prepare(struct scoring_batch *b, struct scoring_head *head, const float *floors,
                          struct fis_error *e)
{
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++)
        b->floors[c] = floors ? floors[c] : FIS_NOT_A_CANDIDATE;
    const struct fis_shape *shape = fis_panel_shape(head->panel);
    struct scoring_head *old = b->head;
    b->head = scoring_head_ref(head);
    int rc = prepare_sample(b, old, head, e);
    scoring_head_unref(old);
    if (rc < 0)
        return rc;
    if (b->scratch && memcmp(shape, &b->shape, sizeof *shape) == 0)
        return 0;
    free_shaped(b);
    b->shape = *shape;
    b->d = fis_shape_inputs(shape);
    b->scratch = fis_scratch_new(shape, BLOCK_ROWS, FIS_DIRECTIONS);
    b->x = fis_alloc((size_t)(BLOCK_ROWS + 1) * b->d, sizeof *b->x);
    b->from = fis_calloc(BLOCK_ROWS + 1, sizeof *b->from);
    b->index = fis_alloc((size_t)BLOCK_ROWS * b->d, sizeof *b->index);
    b->value = fis_alloc((size_t)BLOCK_ROWS * b->d, sizeof *b->value);
    if (b->scratch && b->x && b->from && b->index && b->value)
        return 0;
    free_shaped(b);
    return fis_fail(e, FIS_NOMEM, "no memory to score batches of %u records with %u features",
                    b->options->capacity, b->d);
}

/* By its schema, as JSON. */
static enum wire_decoded decode_framed(struct scoring_batch *b, const struct wire_message *m,
                                       const struct wire_format *format, float *x,
                                       struct wire_record *r, struct fis_error *e)
{
    const struct wire_schema *s = b->options->schema;
    struct wire_message json = *m;
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    if (!format || wire_schema_fits(s, m->value.length, e) ||
        wire_format_json(format, m->value, s->max_bytes, &b->arena, &json.value, e))
        return WIRE_BAD;
    b->text = json.value;
    return wire_json_record(s, b->head->encoder, &json, &b->arena, x, r, e);
}

/* Message i to x, or to the list when one is needed and the record is sparse. */
static enum wire_decoded decode(struct scoring_batch *b, uint32_t i, float *x,
                                struct wire_list *list, struct wire_record *r, struct fis_error *e)
{
    const struct scoring_options *o = b->options;
    const struct wire_message *m = &b->messages[i];
    fis_arena_reset(&b->arena);
    switch (o->encoding) {
    case WIRE_JSON:
        return wire_json_record(o->schema, b->head->encoder, m, &b->arena, x, r, e);
    case WIRE_PROTOBUF:
        return wire_protobuf_record_or_list(o->schema, b->head->encoder, m, &b->arena, x, list, r,
                                            e);
    case WIRE_RAW:
        return wire_raw_record(o->schema, b->head->encoder, m, &b->arena, x, r, e);
    case WIRE_REGISTRY:
        return decode_framed(b, m, b->formats[i], x, r, e);
    }
    fis_fail(e, FIS_INPUT, "encoding %d is not known", (int)o->encoding);
    return WIRE_BAD;
}

static const float *spread(const struct scoring_batch *b, const struct wire_list *list, float *x)
{
    memset(x, 0, b->d * sizeof *x);
    for (uint32_t i = 0; i < list->n; i++)
        x[list->index[i]] = list->value[i];
    return x;
}

/* A block is of lists as long as each of its rows is one. */
static void add_row(struct scoring_batch *b, uint32_t at, const struct wire_list *list)
{
    if (!b->listed)
        return;
    if (list->n != WIRE_NO_LIST) {
        b->from[at + 1] = b->from[at] + list->n;
        return;
    }
    b->listed = false;
    for (uint32_t i = 0; i < at; i++) {
        uint32_t from = b->from[i];
        struct wire_list row = {b->from[i + 1] - from, b->index + from, b->value + from};
        spread(b, &row, b->x + (size_t)i * b->d);
    }
}

/* Numbers that fit float32 may still be too large for the model. */
static void refuse_no_numbers(struct scoring_batch *b, uint32_t from, uint32_t n,
                              const uint32_t *messages)
{
    const float *s = b->scores + (size_t)from * FIS_MAX_CRITERIA;
    for (uint32_t k = 0; k < n; k++, s += FIS_MAX_CRITERIA) {
        if (!isnan(s[0]) && !isnan(s[1]))
            continue;
        b->status[messages[k]] = WIRE_BAD;
        (void)fis_refuse(&b->errors[messages[k]], FIS_CODE_NOT_FINITE,
                         "its numbers are too large for the model: the score is not a number");
    }
}

/* Scores the n rows of the block, which are rows [from, from + n) of the batch; of what messages.
 */
static void score_rows(struct scoring_batch *b, uint32_t from, uint32_t n,
                       const struct fis_id *const *ids, const uint32_t *messages)
{
    struct fis_sparse lists = {b->from, b->index, b->value};
    struct fis_criteria criteria = b->options->criteria;
    criteria.seed = b->head->seed;
    if (b->head->trees && !b->listed)
        fis_trees_apply(b->head->trees, b->x, n);
    fis_criteria_batch(&criteria, b->head->panel, ids, b->listed ? NULL : b->x, &lists, n,
                       b->scratch, b->floors, b->scores + (size_t)from * FIS_MAX_CRITERIA);
    refuse_no_numbers(b, from, n, messages);
    b->listed = true;
}

static void fetch_ahead(const struct scoring_batch *b, uint32_t i)
{
    if (i + FETCH_AHEAD >= b->n)
        return;
    const struct wire_message *m = &b->messages[i + FETCH_AHEAD];
    __builtin_prefetch(m->key.data);
    scoring_fetch(m);
}

/* What it takes with its id; the next one begins behind it. */
static size_t size_of(const struct wire_record *r)
{
    size_t n = offsetof(struct wire_record, id.bytes) + r->id.length;
    return (n + alignof(struct wire_record) - 1) / alignof(struct wire_record) *
           alignof(struct wire_record);
}

void scoring_run(struct scoring_batch *b)
{
    const struct fis_id *ids[BLOCK_ROWS];
    uint32_t messages[BLOCK_ROWS];
    char *room = b->room;
    uint32_t block = 0;
    uint32_t every = (b->n + SCORING_SAMPLE - 1) / SCORING_SAMPLE;
    b->rows = 0;
    b->unseen = 0;
    b->listed = true;
    b->head_version = b->head->version;
    if (b->sample)
        fis_profile_clear(b->sample);
    for (uint32_t i = 0; i < b->n; i++) {
        float *x = b->x + (size_t)block * b->d;
        uint32_t at = b->from[block];
        struct wire_list list = {WIRE_NO_LIST, b->index + at, b->value + at};
        struct wire_record *record = (void *)room;
        fetch_ahead(b, i);
        b->status[i] = decode(b, i, x, b->listed ? &list : NULL, record, &b->errors[i]);
        if (b->status[i] != WIRE_OK)
            continue;
        b->records[i] = record;
        room += size_of(record);
        b->unseen += record->unseen;
        if (b->sample && b->rows % every == 0)
            fis_profile_add(b->sample, list.n == WIRE_NO_LIST
                                           ? x
                                           : spread(b, &list, b->x + (size_t)BLOCK_ROWS * b->d));
        add_row(b, block, &list);
        b->row[i] = b->rows++;
        messages[block] = i;
        ids[block++] = &record->id;
        if (block == BLOCK_ROWS) {
            score_rows(b, b->rows - block, block, ids, messages);
            block = 0;
        }
    }
    if (block)
        score_rows(b, b->rows - block, block, ids, messages);
}

static const float *features_of(struct scoring_batch *b, uint32_t i)
{
    float *x = b->x + (size_t)BLOCK_ROWS * b->d;
    struct wire_record again;
    struct fis_error e;
    assert(b->status[i] == WIRE_OK && b->head_version == b->head->version);
    if (decode(b, i, x, NULL, &again, &e) != WIRE_OK)
        memset(x, 0, b->d * sizeof *x); /* cannot be: the same bytes were decoded before */
    if (b->head->trees)
        fis_trees_apply(b->head->trees, x, 1);
    return x;
}

struct wire_candidate scoring_candidate(struct scoring_batch *b, uint32_t i)
{
    const struct wire_message *m = &b->messages[i];
    const float *scores = scoring_scores(b, i);
    const float *x = features_of(b, i);
    bool registry = b->options->encoding == WIRE_REGISTRY;
    struct wire_bytes record = registry ? b->text : m->value;
    struct fis_error none;
    /* What is shown to people is JSON without a frame; it came off this one before. */
    if (b->options->encoding == WIRE_JSON)
        (void)!wire_unframe_json(&record, &b->options->schema->framing, "records", &none);
    return (struct wire_candidate){
        .id = b->records[i]->id,
        .x = x,
        .d = b->d,
        .scores = {scores[0], scores[1]},
        .head_version = b->head_version,
        .encoding = registry ? WIRE_JSON : b->options->encoding,
        .record = record,
        .event_time_ms = b->records[i]->event_time_ms,
        .topic = m->topic,
        .partition = wire_source_partition(m->partition),
        .offset = m->offset,
    };
}

/* The records of the bench: numbers of a seeded generator, cut from a pool at a place of their
 * own; the first is moved a little more each time that the pool begins again, so that no two
 * dense records are the same. */
#include "bench.h"

#include "fis/mem.h"
#include "fis/rng.h"

#define POOL (1u << 20)
/* Adult's layout: 6 numbers, then its 8 one-hot columns with their categories, of which the first
 * is as frequent as the most frequent one there, and the others have equal shares of what is left.
 */
#define NUMBERS 6u
#define ONES 8u
#define ADULT 104u
static const struct {
    uint32_t from, categories, first; /* first: of 1,000 */
} ones[ONES] = {{6, 8, 736},  {14, 16, 323}, {30, 7, 458}, {37, 14, 134},
                {51, 6, 404}, {57, 5, 855},  {62, 2, 668}, {64, 40, 913}};

enum kind { PROTOBUF, RAW, JSON, ONEHOT, SPARSE };

struct maker {
    enum kind kind;
    uint32_t d;
    float *pool, *x;
    char (*texts)[12]; /* of the pool's numbers, for JSON */
    unsigned char *out;
};

struct maker *maker_new(const char *kind, uint32_t d)
{
    static const char *const names[] = {"protobuf", "raw", "json", "onehot", "sparse"};
    struct maker *m = fis_calloc(1, sizeof *m);
    struct fis_rng rng;
    size_t k = 0;
    while (k < 5 && strcmp(kind, names[k]) != 0)
        k++;
    if (k == 5 || d == 0 || d > 65536 || (k >= ONEHOT && d != ADULT))
        die("no such records: %s of %u", kind, d);
    m->kind = (enum kind)k;
    m->d = d;
    m->pool = fis_alloc(POOL + (size_t)d, sizeof *m->pool);
    m->x = fis_alloc(d, sizeof *m->x);
    m->out = fis_alloc(d * (size_t)24 + 64, 1);
    m->texts = k == JSON ? fis_alloc(POOL + (size_t)d, sizeof *m->texts) : NULL;
    fis_rng_seed(&rng, BENCH_SEED, 3);
    for (size_t i = 0; i < POOL + (size_t)d; i++) {
        m->pool[i] = (float)fis_rng_normal(&rng);
        if (m->texts)
            snprintf(m->texts[i], sizeof m->texts[i], "%.5g", (double)m->pool[i]);
    }
    return m;
}

void maker_free(struct maker *m)
{
    fis_free(m->pool);
    fis_free(m->x);
    fis_free(m->texts);
    fis_free(m->out);
    fis_free(m);
}

static unsigned char *put_varint(unsigned char *p, uint32_t v)
{
    for (; v > 127; v >>= 7)
        *p++ = (unsigned char)(v | 128);
    *p++ = (unsigned char)v;
    return p;
}

static size_t put_dense(unsigned char *out, const float *x, uint32_t d)
{
    unsigned char *p = out;
    *p++ = 0x12; /* Record.features, packed */
    p = put_varint(p, d * 4);
    memcpy(p, x, d * sizeof *x);
    return (size_t)(p - out) + d * sizeof *x;
}

static size_t put_json(struct maker *m, size_t at)
{
    char *p = (char *)m->out;
    for (uint32_t i = 0; i < m->d; i++)
        p += sprintf(p, "%c\"f%u\":%s", i ? ',' : '{', i, m->texts[at + i]);
    *p++ = '}';
    return (size_t)(p - (char *)m->out);
}

/* Which place of column c's is 1. */
static uint32_t one_of(const struct maker *m, size_t at, uint32_t c)
{
    uint32_t bits;
    memcpy(&bits, &m->pool[at + NUMBERS + c], sizeof bits);
    bits *= 2654435761u;
    int first = (bits >> 12) % 1000 < ones[c].first;
    return ones[c].from + (first ? 0 : 1 + (bits & 0xfff) % (ones[c].categories - 1));
}

static size_t put_onehot(struct maker *m, size_t at)
{
    memset(m->x, 0, m->d * sizeof *m->x);
    memcpy(m->x, m->pool + at, NUMBERS * sizeof *m->x);
    for (uint32_t c = 0; c < ONES; c++)
        m->x[one_of(m, at, c)] = 1;
    return put_dense(m->out, m->x, m->d);
}

static size_t put_sparse(struct maker *m, size_t at)
{
    unsigned char index[4 * (NUMBERS + ONES)], *p = index;
    float value[NUMBERS + ONES];
    for (uint32_t i = 0; i < NUMBERS + ONES; i++) {
        p = put_varint(p, i < NUMBERS ? i : one_of(m, at, i - NUMBERS));
        value[i] = i < NUMBERS ? m->pool[at + i] : 1;
    }
    uint32_t n = (uint32_t)(p - index);
    unsigned char *q = m->out;
    *q++ = 0x1a; /* Record.sparse */
    q = put_varint(q, 1 + 1 + n + 1 + 1 + (uint32_t)sizeof value);
    *q++ = 0x0a;
    q = put_varint(q, n);
    memcpy(q, index, n);
    q += n;
    *q++ = 0x12;
    q = put_varint(q, sizeof value);
    memcpy(q, value, sizeof value);
    return (size_t)(q - m->out) + sizeof value;
}

static const float *cut(struct maker *m, uint64_t i, size_t at)
{
    memcpy(m->x, m->pool + at, m->d * sizeof *m->x);
    m->x[0] += 1e-3f * (float)(i / POOL);
    return m->x;
}

size_t maker_record(struct maker *m, uint64_t i, const unsigned char **value)
{
    size_t at = (size_t)(i * 7919 % POOL);
    *value = m->out;
    switch (m->kind) {
    case PROTOBUF:
        return put_dense(m->out, cut(m, i, at), m->d);
    case RAW:
        memcpy(m->out, cut(m, i, at), m->d * sizeof(float));
        return m->d * sizeof(float);
    case JSON:
        return put_json(m, at);
    case ONEHOT:
        return put_onehot(m, at);
    case SPARSE:
        return put_sparse(m, at);
    }
    return 0;
}

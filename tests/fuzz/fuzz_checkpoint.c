/*
 * What is inside a checkpoint. The first byte: 'l' the learner's bytes, 'g' the gate's. What is
 * refused changes nothing; what is taken is written again as it was, and can be gone on from.
 */
#include <stdlib.h>

#include "common.h"
#include "small_learner.h"

struct saved {
    unsigned char *bytes;
    size_t size;
};

static struct saved save(const struct fuzz_learner *l, int gate)
{
    struct saved s = {.size =
                          gate ? fis_gate_save_size(l->gate) : fis_learner_save_size(l->learner)};
    s.bytes = malloc(s.size);
    FUZZ_HOLDS(s.bytes && s.size);
    if (gate)
        fis_gate_save(l->gate, s.bytes);
    else
        fis_learner_save(l->learner, s.bytes);
    return s;
}

static int load(struct fuzz_learner *l, int gate, const void *bytes, size_t size,
                struct fis_error *e)
{
    return gate ? fis_gate_load(l->gate, bytes, size, e)
                : fis_learner_load(l->learner, bytes, size, e);
}

static int same(const struct saved *a, const struct saved *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Loaded, it is what it was loaded from: once more around, nothing is lost. */
static void check_loaded(struct fuzz_learner *l, int gate)
{
    struct fis_error e = {0};
    struct saved once = save(l, gate);
    if (load(l, gate, once.bytes, once.size, &e))
        FUZZ_FAIL("what was saved does not load: %s", e.text);
    struct saved twice = save(l, gate);
    FUZZ_HOLDS(same(&once, &twice));
    fuzz_learner_go_on(l);
    free(once.bytes);
    free(twice.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_learner l;
    static struct saved good[2]; /* by `gate` */
    struct fuzz_input in = {data, size};
    struct fis_error e = {0};
    int gate = fuzz_byte(&in) == 'g';
    if (!l.learner) {
        fuzz_learner_make(&l);
        good[0] = save(&l, 0);
        good[1] = save(&l, 1);
    }
    int rc = load(&l, gate, in.data, in.size, &e);
    fuzz_check_result(rc, &e);
    if (rc) {
        struct saved now = save(&l, gate);
        FUZZ_HOLDS(rc == -FIS_INPUT && same(&now, &good[gate]));
        free(now.bytes);
        return 0;
    }
    check_loaded(&l, gate);
    /* As if nothing had happened, whatever it was that was loaded. */
    if (load(&l, 0, good[0].bytes, good[0].size, &e) ||
        load(&l, 1, good[1].bytes, good[1].size, &e))
        FUZZ_FAIL("back to the beginning: %s", e.text);
    return 0;
}

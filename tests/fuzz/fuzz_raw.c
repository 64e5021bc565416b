/* Raw records: little-endian floats. */
#include <math.h>
#include <stdlib.h>

#include "common.h"

#include "wire/raw.h"

/* OK exactly when there are four finite numbers, which then come out bit for bit. */
static void check_values(const struct wire_message *m, const float *x, int ok)
{
    float values[FUZZ_COLUMNS];
    int good = m->value.length == sizeof values;
    for (uint32_t i = 0; good && i < FUZZ_COLUMNS; i++) {
        wire_floats_from_le(&values[i], (const char *)m->value.data + 4 * i, 1);
        good = isfinite(values[i]);
    }
    if (good && ok)
        FUZZ_HOLDS(memcmp(x, values, sizeof values) == 0);
    if (!m->key.length)
        FUZZ_HOLDS(good == ok);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_message m;
    struct wire_record record = {0};
    struct fis_error e = {0};
    float *x = malloc(FUZZ_COLUMNS * sizeof *x);
    FUZZ_HOLDS(x);
    fuzz_message_take(&m, (struct fuzz_input){data, size});
    enum wire_decoded d =
        wire_raw_record(&fuzz_schema, fuzz_plain_encoder(), &m.message, &m.arena, x, &record, &e);
    if (d == WIRE_BAD)
        fuzz_check_error(&e);
    else
        FUZZ_HOLDS(record.id.length > 0);
    FUZZ_HOLDS((d == WIRE_TOMBSTONE) == (!m.message.value.data) || d == WIRE_BAD);
    if (m.message.value.data)
        check_values(&m.message, x, d == WIRE_OK);
    fuzz_message_done(&m);
    free(x);
    return 0;
}

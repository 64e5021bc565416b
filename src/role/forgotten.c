#include "role/forgotten.h"

#include <string.h>

#include "fis/mem.h"

void forgotten_done(struct forgotten *f)
{
    fis_free(f->marks);
    *f = (struct forgotten){0};
}

/* Where the mark stands, or belongs. */
static uint32_t place(const struct forgotten *f, const unsigned char mark[WIRE_MARK])
{
    uint32_t low = 0, high = f->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (memcmp(f->marks[middle], mark, WIRE_MARK) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct forgotten *f, uint32_t i, const unsigned char mark[WIRE_MARK])
{
    return i < f->n && !memcmp(f->marks[i], mark, WIRE_MARK);
}

int forgotten_add(struct forgotten *f, const struct wire_forgotten *one, struct fis_error *e)
{
    uint32_t i = place(f, one->mark);
    if (is_at(f, i, one->mark))
        return 0;
    if (!fis_more(&f->marks, f->n, sizeof *f->marks))
        return fis_fail(e, FIS_NOMEM, "no memory for %u forgotten records", f->n + 1);
    if (!f->salt_length) {
        memcpy(f->salt, one->salt.data, one->salt.length);
        f->salt_length = one->salt.length;
    }
    memmove(f->marks + i + 1, f->marks + i, (f->n - i) * sizeof *f->marks);
    memcpy(f->marks[i], one->mark, WIRE_MARK);
    f->n++;
    return 1;
}

bool forgotten_has(const struct forgotten *f, const struct fis_id *id)
{
    unsigned char mark[WIRE_MARK];
    if (!f->n)
        return false;
    wire_forgotten_mark((struct wire_bytes){f->salt, f->salt_length}, id, mark);
    return is_at(f, place(f, mark), mark);
}

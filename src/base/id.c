#include "fis/id.h"

#include <string.h>
#include <xxhash.h>

int fis_id_set(struct fis_id *id, const void *bytes, size_t length)
{
    if (length == 0 || length > FIS_ID_MAX)
        return -1;
    id->length = (uint8_t)length;
    memcpy(id->bytes, bytes, length);
    return 0;
}

int fis_id_compare(const struct fis_id *a, const struct fis_id *b)
{
    int n = a->length < b->length ? a->length : b->length;
    int c = memcmp(a->bytes, b->bytes, (size_t)n);
    return c ? c : (int)a->length - (int)b->length;
}

uint64_t fis_id_hash(const struct fis_id *id, uint64_t seed)
{
    return XXH3_64bits_withSeed(id->bytes, id->length, seed);
}

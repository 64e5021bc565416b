/*
 * A record's id: 1 to 255 bytes, any bytes. A plain value, compared as bytes; the order breaks
 * ties between scores, so that a selection does not depend on the order of arrival.
 */
#ifndef FIS_ID_H
#define FIS_ID_H

#include <stdint.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_ID_MAX 255

struct fis_id {
    uint8_t length;
    char bytes[FIS_ID_MAX];
};

/* 0, or -1 when length is 0 or over FIS_ID_MAX (nothing is written). */
int fis_id_set(struct fis_id *id, const void *bytes, size_t length);
int fis_id_compare(const struct fis_id *a, const struct fis_id *b); /* <0, 0, >0 */
uint64_t fis_id_hash(const struct fis_id *id, uint64_t seed);       /* XXH3, 64 bits */

#ifdef __cplusplus
}
#endif

#endif

/*
 * Which records were forgotten, as the ledger has them: marks of their ids. Pure.
 * Thread: one owner. Owns: the marks and the salt.
 */
#ifndef ROLE_FORGOTTEN_H
#define ROLE_FORGOTTEN_H

#include "wire/ledger.h"

struct forgotten {
    unsigned char (*marks)[WIRE_MARK]; /* [n], rising */
    uint32_t n;
    char salt[FIS_ID_MAX];
    size_t salt_length; /* 0: nothing was forgotten yet */
};

void forgotten_done(struct forgotten *f);
/* The first one's salt is that of all. 1: added; 0: it was there; NOMEM. */
int forgotten_add(struct forgotten *f, const struct wire_forgotten *one,
                  struct fis_error *e) FIS_MUST_CHECK;
bool forgotten_has(const struct forgotten *f, const struct fis_id *id);

#endif

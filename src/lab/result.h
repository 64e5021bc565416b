/*
 * A run's key and its result as one line of JSON, for files that are resumed from. Numbers are
 * written so that they read back the same.
 */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <stdbool.h>

#include "lab/run.h"
#include "wire/types.h"

struct lab_key {
    char task[64], method[48], variant[96]; /* variant: "" or what an experiment varies */
    enum fis_metric metric;                 /* 0: the same for all */
    enum lab_regime regime;
    uint64_t seed;
    uint64_t options; /* tells apart runs whose options differ */
};

struct lab_record {
    struct lab_key key;
    struct lab_result result;
};

bool lab_key_equal(const struct lab_key *a, const struct lab_key *b);
const char *lab_metric_short(enum fis_metric m); /* dp, eop, eod, risk */
int lab_metric_find(const char *name, enum fis_metric *out, struct fis_error *e) FIS_MUST_CHECK;
/* Appends one line, with its end. */
int lab_record_write(const struct lab_record *r, struct byte_buffer *out,
                     struct fis_error *e) FIS_MUST_CHECK;
/* INPUT when the line is not whole or not one of these. */
int lab_record_read(const char *line, size_t length, struct lab_record *out,
                    struct fis_error *e) FIS_MUST_CHECK;

#endif

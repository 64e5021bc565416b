/*
 * The files of a new pipeline: the rows, divided, and the configuration. Existing files are not
 * overwritten.
 * Thread: one owner.
 */
#ifndef INIT_FILES_H
#define INIT_FILES_H

#include <stdio.h>

#include "init/survey.h"

enum init_part { INIT_UNUSED, INIT_INITIAL, INIT_VALIDATION, INIT_STREAM };

/* Divides the rows that have a label and a group, each cell of group and class by the same shares,
 * at random by the seed. part [t->n]. `initial` and `validation` are numbers of rows, together at
 * most s->usable; the rest is INIT_STREAM. */
int init_split(const struct init_survey *s, uint32_t initial, uint32_t validation, uint64_t seed,
               uint8_t *part, struct fis_error *e) FIS_MUST_CHECK;

/* What a file of rows holds, beside the id (the row's own, or its line when there is no such
 * column). */
enum { INIT_FEATURES = 1, INIT_LABELS = 2, INIT_GROUPS = 4, INIT_SHOWN = 8 };

/* INPUT: the file is there already, or cannot be written. Nothing is left of one that could not be
 * written whole. */
int init_can_write(const char *path, struct fis_error *e) FIS_MUST_CHECK;
int init_write_rows(const struct init_survey *s, const uint8_t *part, enum init_part which,
                    unsigned parts, const char *path, struct fis_error *e) FIS_MUST_CHECK;

/* A property of the Kafka clients or of the schema registry (its option less "records.registry.");
 * without a value it is a secret, which is not copied. */
struct init_property {
    const char *name, *value;
};
struct init_properties {
    const struct init_property *items;
    uint32_t n;
};

struct init_pipeline {
    const char *name, *initial, *validation; /* files, as the configuration names them */
    const char *broker;                      /* NULL: localhost:9092 */
    struct init_properties kafka;            /* without bootstrap.servers */
    const char *topic;                       /* of the records; NULL: by the pipeline's name */
    const struct data_table *stream;         /* what is known of the records; NULL: nothing */
    bool framed;                             /* they have Confluent's frame */
    struct init_properties registry;         /* of their schemas; none: they have none */
    bool pool;                               /* the records are one file, not an endless stream */
};
/* records.encoding and records.registry, below "records:". */
void init_write_registry(const struct init_properties *registry, FILE *f);
int init_write_config(const struct init_survey *s, const struct init_pipeline *p, const char *path,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif

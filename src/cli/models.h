/*
 * The model versions of a pipeline, read from the topic.
 * Thread: one owner. Owns: the versions.
 */
#ifndef CLI_MODELS_H
#define CLI_MODELS_H

#include "cli/topic_reader.h"
#include "data/examples.h"
#include "wire/chunk.h"
#include "wire/json_put.h"
#include "wire/model.h"

struct models {
    struct wire_model_owned *items; /* by version, rising */
    uint32_t n;
    struct wire_assembler *assembler;
    uint64_t refused; /* messages that are no chunk, versions that cannot be decoded */
    struct fis_error first;
};

int models_init(struct models *m, struct fis_error *e) FIS_MUST_CHECK;
void models_done(struct models *m);
/* Takes one message of the topic. 1: a version is complete, *version (may be NULL) is it, valid
 * until the next call; one that was there is replaced. 0: not yet, or refused. Negative: NOMEM. */
int models_take(struct models *m, const struct stream_message *message,
                const struct wire_model **version, struct fis_error *e) FIS_MUST_CHECK;
/* All that is on the topic now. RETRY: see topic_reader_all. */
int models_read(struct models *m, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;

/* NULL when there is none. */
const struct wire_model *models_version(const struct models *m, uint64_t version);
const struct wire_model *models_served(const struct models *m); /* the newest served one */

/* The version that an argument names: a number, or "served". NULL with INPUT: there is none. */
const struct wire_model *models_chosen(const struct models *m, const char *text,
                                       struct fis_error *e) FIS_MUST_CHECK;

/* Output: see cmd_models.c for the commands. All return 0 or a negative error. */
int models_list(const struct models *m, bool json, struct fis_error *e) FIS_MUST_CHECK;
int models_show(const struct wire_model *m, bool json, bool weights,
                struct fis_error *e) FIS_MUST_CHECK;
/* The version as ONNX to the file of this name, or to standard output (NULL), no terminal. */
int models_export(const struct wire_model *m, const char *path, struct fis_error *e) FIS_MUST_CHECK;
/* The model card, as Markdown or one JSON object. Groups have numbers only. */
int models_card(const struct wire_model *m, bool json, struct fis_error *e) FIS_MUST_CHECK;

struct models_evaluation {
    const struct cli *cli;
    const char *test;         /* file with label and sensitive columns */
    struct data_reading read; /* how it is written */
    uint32_t resamples;
    bool json;
    uint64_t served; /* 0: none is */
    /* models_compare: what more there is, behind the table (json NULL) or as
     * members of the object; or NULL. */
    void (*more)(const struct models_evaluation *v, const struct wire_model *a,
                 const struct wire_model *b, struct wire_json_put *json);
    const char *on; /* models_diff: rows without labels; NULL: none */
};
/* Versions [n] on the rows of the test file, each with its own encoder. */
int models_evaluate(const struct models_evaluation *v, const struct wire_model *const *versions,
                    uint32_t n, struct fis_error *e) FIS_MUST_CHECK;
/* Two side by side: on the rows of the test file, or without one by the gate's own measures. */
int models_compare(const struct models_evaluation *v, const struct wire_model *a,
                   const struct wire_model *b, struct fis_error *e) FIS_MUST_CHECK;
/* What has changed from a to b, also on the rows of v->on, where there are any. */
int models_diff(const struct models_evaluation *v, const struct wire_model *a,
                const struct wire_model *b, struct fis_error *e) FIS_MUST_CHECK;

/* A version on the rows of the test file. */
struct models_result {
    uint64_t version;
    struct fis_metrics metrics;
    struct fis_metrics_intervals intervals;
    struct data_examples rows;
    float *logits;         /* [rows.n][classes] */
    uint32_t *predictions; /* [rows.n] */
};
int models_measure(const struct models_evaluation *v, const struct wire_model *m,
                   struct models_result *out, struct fis_error *e) FIS_MUST_CHECK;
void models_result_done(struct models_result *r); /* fine when zeroed */

/* "served" | "rejected", and "first", "not fairer" …: the words of the tables. */
const char *models_verdict(const struct wire_model *m);
const char *models_reason(const struct wire_model *m, char out[64]);
/* ".831 [.820, .842]"; the interval is left out when it is not estimable. */
const char *models_metric(const struct fis_metrics *m, const struct fis_metrics_intervals *in,
                          enum wire_metric metric, char out[48]);

#endif

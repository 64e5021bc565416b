/*
 * The newest head of the pipeline, to score with as its scorers do.
 * Thread: one owner. Owns: reader, head, room for one record.
 */
#ifndef CLI_LIVE_HEAD_H
#define CLI_LIVE_HEAD_H

#include "cli/schemas.h"
#include "cli/topic_reader.h"
#include "role/scoring.h"
#include "wire/chunk.h"

struct live_head {
    struct cli *cli;
    struct topic_reader reader;
    struct wire_assembler *assembler;
    struct scoring_head *head; /* NULL: none was sent yet */
    struct wire_schema schema; /* of records: without label and sensitive columns */
    struct scoring_options options;
    struct scoring_batch batch; /* of one record */
    struct cli_schemas schemas; /* records.encoding: registry */
    struct fis_scratch *scratch;
    uint64_t bad;
    char difference[SCORING_DIFFERENCE]; /* of the head's selection from the configuration's; or ""
                                          */
};

/* Reads the topic of heads to its end. RETRY: it cannot be read; INPUT: there is no head. */
int live_head_open(struct live_head *h, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
void live_head_close(struct live_head *h); /* fine when open failed */
/* Takes heads that have come since. */
int live_head_follow(struct live_head *h, struct fis_error *e) FIS_MUST_CHECK;

/* What a head says of one record. */
struct live_score {
    enum wire_decoded status;
    struct fis_error why; /* WIRE_BAD */
    struct fis_id id;
    uint64_t head;
    float scores[FIS_MAX_CRITERIA]; /* FIS_NOT_A_CANDIDATE: it is none by this criterion */
    float p[FIS_MAX_CLASSES], accuracy[FIS_MAX_CLASSES], fairness[FIS_MAX_CLASSES];
    uint32_t best;  /* the class with the highest probability */
    const float *x; /* encoded, until the next record */
};
int live_head_score(struct live_head *h, const struct wire_message *m, struct live_score *out,
                    struct fis_error *e) FIS_MUST_CHECK;
uint32_t live_head_criteria(const struct live_head *h);
const char *live_head_criterion(const struct live_head *h, uint32_t i);

#endif

#include "role/votes.h"

#include <string.h>

#include "fis/mem.h"
#include "fis/network.h"

struct fis_vote *vote_of(const struct fis_request *r, const char *annotator)
{
    for (uint32_t i = 0; i < r->n_votes; i++)
        if (strcmp(r->votes[i].annotator, annotator) == 0)
            return &r->votes[i];
    return NULL;
}

int vote_add(struct fis_request *r, const struct fis_vote *vote, struct fis_error *e)
{
    char *annotator = fis_strdup(vote->annotator);
    if (!annotator || !fis_grow(&r->votes, r->n_votes, r->n_votes + 1u, sizeof *r->votes)) {
        fis_free(annotator);
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for an answer");
    }
    r->votes[r->n_votes] = *vote;
    r->votes[r->n_votes++].annotator = annotator;
    return 0;
}

static const char *annotator_of(const struct wire_label *l)
{
    return l->annotator ? l->annotator : "";
}

int vote_check(const struct fis_request *r, const struct wire_label *l, struct fis_error *e)
{
    bool several = r->required > 1, labelled = l->status == WIRE_LABELLED;
    if (several && !*annotator_of(l))
        return fis_refuse(
            e, FIS_CODE_BAD_FIELD,
            "the answer does not name its annotator; %u annotators are required for each label",
            r->required);
    const struct fis_vote *before = vote_of(r, annotator_of(l));
    if (!several && !labelled && r->state == FIS_SKIPPED)
        return 0;
    if (!before || (before->status != WIRE_LABELLED && labelled))
        return r->n_votes < WIRE_VOTES || before
                   ? 1
                   : fis_refuse(e, FIS_CODE_CONTRADICTION, "more than %d answers for this id",
                                WIRE_VOTES);
    if (before->status != WIRE_LABELLED || (labelled && l->class_index == before->class_index))
        return 0;
    return fis_refuse(e, FIS_CODE_CONTRADICTION,
                      "the answer contradicts an earlier one of the same annotator");
}

int vote_cast(struct fis_request *r, const struct wire_label *l, int64_t now_wall_ms,
              struct fis_error *e)
{
    struct fis_vote *before = vote_of(r, annotator_of(l));
    struct fis_vote vote = {
        .annotator = before ? before->annotator : annotator_of(l),
        .status = l->status,
        .class_index = l->status == WIRE_LABELLED ? l->class_index : 0,
        .at_ms = l->labelled_at_ms ? l->labelled_at_ms : now_wall_ms,
    };
    if (!before)
        return vote_add(r, &vote, e);
    *before = vote;
    return 0;
}

enum votes_verdict votes_count(const struct fis_request *r, uint32_t *class_index)
{
    uint32_t n[FIS_MAX_CLASSES] = {0}, top = 0, second = 0, best = 0;
    for (uint32_t i = 0; i < r->n_votes; i++)
        if (r->votes[i].status == WIRE_LABELLED && r->votes[i].class_index < FIS_MAX_CLASSES)
            n[r->votes[i].class_index]++;
    for (uint32_t k = 0; k < FIS_MAX_CLASSES; k++) {
        if (n[k] > top) {
            second = top;
            top = n[k];
            best = k;
        } else if (n[k] > second) {
            second = n[k];
        }
    }
    uint32_t missing = r->required > r->n_votes ? (uint32_t)(r->required - r->n_votes) : 0;
    if (top - second > missing) {
        *class_index = best;
        return VOTES_DECIDED;
    }
    if (missing)
        return VOTES_UNDECIDED;
    return top ? VOTES_TIED : VOTES_SKIPPED;
}

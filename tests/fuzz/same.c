#include "same.h"

/* Fields of this name, equal in both. */
#define SAME(field) (a->field == b->field)
#define SAME_NUMBER(field) same_number(a->field, b->field)
#define SAME_TEXT(field) fuzz_same_text(a->field, b->field)

/* The sign of a 0 is not sent. */
static int same_number(double a, double b)
{
    return a == b || (a != a && b != b);
}

int same_floats(const float *a, const float *b, size_t n)
{
    return !n || memcmp(a, b, n * sizeof *a) == 0;
}

int same_label(const struct wire_label *a, const struct wire_label *b)
{
    return fuzz_same_id(&a->id, &b->id) && SAME(status) && SAME(class_index) &&
           SAME_TEXT(annotator) && SAME(labelled_at_ms);
}

int same_request(const struct wire_label_request *a, const struct wire_label_request *b)
{
    int same = fuzz_same_id(&a->id, &b->id) && SAME(round) && SAME_TEXT(criterion) &&
               SAME(head_version) && SAME(requested_at_ms) && SAME(deadline_ms) && SAME(votes) &&
               SAME(cancelled) && SAME_TEXT(reason);
    return same && (a->cancelled || (SAME(encoding) && fuzz_same_bytes(a->record, b->record)));
}

static int same_candidate(const struct wire_candidate *a, const struct wire_candidate *b)
{
    return fuzz_same_id(&a->id, &b->id) && SAME(d) && same_floats(a->x, b->x, a->d) &&
           a->scores[0] == b->scores[0] && a->scores[1] == b->scores[1] && SAME(head_version) &&
           SAME(encoding) && fuzz_same_bytes(a->record, b->record) && SAME(event_time_ms) &&
           SAME_TEXT(topic) && SAME(partition) && SAME(offset);
}

static int same_range(const struct wire_range *a, const struct wire_range *b)
{
    return SAME(partition) && SAME(begin) && SAME(next) && SAME(records) && SAME(refused) &&
           SAME(tombstones);
}

static int same_progress(const struct wire_progress *a, const struct wire_progress *b)
{
    int same = SAME_TEXT(scorer) && SAME(head_version) && SAME(scan) && SAME(n_ranges);
    for (uint32_t i = 0; same && i < a->n_ranges; i++)
        same = same_range(&a->ranges[i], &b->ranges[i]);
    return same;
}

int same_offer(const struct wire_offer *a, const struct wire_offer *b)
{
    int same = SAME(n_candidates) && !a->progress == !b->progress;
    for (uint32_t i = 0; same && i < a->n_candidates; i++)
        same = same_candidate(&a->candidates[i], &b->candidates[i]);
    return same && (!a->progress || same_progress(a->progress, b->progress));
}

int same_control(const struct wire_control *a, const struct wire_control *b)
{
    return fuzz_same_id(&a->command, &b->command) && SAME(kind) &&
           fuzz_same_id(&a->record, &b->record) && SAME(version) && SAME_TEXT(by) &&
           SAME_TEXT(reason) && SAME(at_ms);
}

static int same_vote(const struct fis_vote *a, const struct fis_vote *b)
{
    return SAME_TEXT(annotator) && SAME(status) && SAME(class_index) && SAME(at_ms);
}

int same_entry(const struct wire_ledger_entry *a, const struct wire_ledger_entry *b)
{
    int same = fuzz_same_id(&a->id, &b->id) && SAME(state) && SAME(class_index) &&
               SAME(criterion) && SAME(round) && SAME(d) && same_floats(a->x, b->x, a->d) &&
               SAME(encoding) && fuzz_same_bytes(a->record, b->record) && SAME(asked_at_ms) &&
               SAME(refunded) && SAME(n_votes) && SAME(required);
    for (uint32_t i = 0; same && i < a->n_votes; i++)
        same = same_vote(&a->votes[i], &b->votes[i]);
    return same;
}

static int same_privacy(const struct wire_privacy *a, const struct wire_privacy *b)
{
    return SAME(refreshes) && SAME(exact) && SAME(tag) && SAME_NUMBER(rho) && SAME_NUMBER(noise) &&
           SAME_NUMBER(clip) && SAME_NUMBER(delta) && SAME_NUMBER(epsilon);
}

int same_state(const struct wire_trainer_state *a, const struct wire_trainer_state *b)
{
    int same = SAME(round) && SAME(window_records) && SAME(head_version) && SAME(model_version) &&
               SAME(served_version) && SAME_NUMBER(val0) && SAME_NUMBER(served_accuracy) &&
               SAME_NUMBER(trained) && SAME(looks) && SAME(phase) && SAME(phase_began_ms) &&
               SAME(clock_ms) && SAME(wall_ms) && SAME(paused) && SAME(pinned) && SAME(failures) &&
               SAME(day) && SAME(day_asked) && SAME(day_began_ms) && SAME(checkpoint) &&
               SAME(previous_version) && SAME(diverged) && SAME_TEXT(control_id) &&
               SAME(control_ok) && SAME(n_counted) && same_privacy(&a->privacy, &b->privacy);
    for (uint32_t i = 0; same && i < a->n_counted; i++)
        same = a->counted[i].partition == b->counted[i].partition &&
               a->counted[i].next == b->counted[i].next;
    return same;
}

static int same_shape(const struct fis_shape *a, const struct fis_shape *b)
{
    return SAME(n_layers) && memcmp(a->width, b->width, (a->n_layers + 1) * sizeof *a->width) == 0;
}

static int same_column(const struct fis_encoder_column_state *a,
                       const struct fis_encoder_column_state *b)
{
    int same = SAME_TEXT(column.name) && SAME(column.type) && SAME(missing_indicator) &&
               SAME(n_categories);
    if (same && a->column.type == FIS_NUMERIC)
        same = SAME(column.scale) && SAME_NUMBER(mean) && SAME_NUMBER(deviation);
    for (uint32_t i = 0; same && i < a->n_categories; i++)
        same = SAME_TEXT(categories[i]);
    return same;
}

static int same_encoder(const struct fis_encoder *a, const struct fis_encoder *b)
{
    uint32_t n = fis_encoder_columns(a);
    int same = n == fis_encoder_columns(b) && fis_encoder_dimension(a) == fis_encoder_dimension(b);
    for (uint32_t i = 0; same && i < n; i++) {
        struct fis_encoder_column_state s, t;
        fis_encoder_state(a, i, &s);
        fis_encoder_state(b, i, &t);
        same = same_column(&s, &t);
    }
    return same;
}

int same_head(const struct wire_head *a, const struct wire_head *b)
{
    if (!same_shape(&a->shape, &b->shape))
        return 0;
    size_t n = fis_shape_params(&a->shape);
    int same = SAME_TEXT(pipeline) && SAME(version) && SAME(round) && SAME(created_at_ms) &&
               same_floats(a->params, b->params, n) && same_encoder(a->encoder, b->encoder) &&
               SAME(scan) && SAME(n_ends) && SAME(selection.heap) && SAME(selection.distinct) &&
               SAME(selection.seed) && !a->algorithm == !b->algorithm &&
               (!a->algorithm || SAME_TEXT(algorithm));
    /* A layer of -0 alone is sent as 0. */
    for (size_t i = 0; same && i < n; i++)
        same = a->g_acc[i] == b->g_acc[i] && a->g_fair[i] == b->g_fair[i];
    for (uint32_t i = 0; same && i < a->n_ends; i++)
        same = a->ends[i].partition == b->ends[i].partition && a->ends[i].end == b->ends[i].end;
    return same;
}

static int same_group(const struct fis_group_metrics *a, const struct fis_group_metrics *b)
{
    return SAME(n) && SAME_NUMBER(accuracy) && SAME_NUMBER(positive_rate) && SAME_NUMBER(tpr) &&
           SAME_NUMBER(fpr);
}

static int same_metrics(const struct fis_metrics *a, const struct fis_metrics *b)
{
    int same = SAME_NUMBER(accuracy) && SAME_NUMBER(balanced_accuracy) &&
               SAME_NUMBER(demographic_parity) && SAME_NUMBER(equal_opportunity) &&
               SAME_NUMBER(equalized_odds) && SAME_NUMBER(equalized_odds_max) &&
               SAME_NUMBER(risk_disparity) && SAME(n) && SAME(n_groups) && SAME(classes) &&
               SAME(predicted_classes);
    for (uint32_t k = 0; same && k < a->classes; k++)
        same = SAME_NUMBER(recall[k]);
    for (uint32_t g = 0; same && g < a->n_groups; g++)
        same = same_group(&a->group[g], &b->group[g]);
    return same;
}

static int same_interval(const struct fis_interval *a, const struct fis_interval *b)
{
    return SAME_NUMBER(low) && SAME_NUMBER(high) && SAME_NUMBER(se);
}

static int same_intervals(const struct fis_metrics_intervals *a,
                          const struct fis_metrics_intervals *b)
{
    return SAME_NUMBER(level) && same_interval(&a->accuracy, &b->accuracy) &&
           same_interval(&a->demographic_parity, &b->demographic_parity) &&
           same_interval(&a->equal_opportunity, &b->equal_opportunity) &&
           same_interval(&a->equalized_odds, &b->equalized_odds) &&
           same_interval(&a->risk_disparity, &b->risk_disparity);
}

static int same_gate(const struct wire_model *a, const struct wire_model *b)
{
    return SAME_TEXT(metric) && SAME_TEXT(verdict) && SAME_TEXT(reason) && SAME_TEXT(reason_text) &&
           SAME_NUMBER(epsilon) && SAME_NUMBER(val0) && SAME_NUMBER(floor) &&
           SAME_NUMBER(difference) && SAME_NUMBER(difference_se) && SAME_NUMBER(interpolation) &&
           SAME(looks) && SAME(smallest_cell) && SAME(warn_cell);
}

int same_model(const struct wire_model *a, const struct wire_model *b)
{
    int same = same_shape(&a->shape, &b->shape) && SAME_TEXT(pipeline) && SAME(version) &&
               SAME(parent) && SAME(previous) && SAME(created_at_ms) && SAME(served) &&
               SAME(n_classes) && SAME(positive) && same_gate(a, b) && SAME_TEXT(algorithm) &&
               same_metrics(&a->metrics, &b->metrics) && same_metrics(&a->anchor, &b->anchor) &&
               same_intervals(&a->intervals, &b->intervals) &&
               same_privacy(&a->privacy, &b->privacy);
    for (uint32_t i = 0; same && i < a->n_classes; i++)
        same = SAME_TEXT(classes[i]);
    same = same && !a->params == !b->params && !a->encoder == !b->encoder;
    if (same && a->params)
        same = same_floats(a->params, b->params, fis_shape_params(&a->shape));
    if (same && a->encoder)
        same = same_encoder(a->encoder, b->encoder);
    return same && SAME(labels_bought) && SAME(labels_kept) && SAME(head_version) && SAME(seed) &&
           SAME(round);
}

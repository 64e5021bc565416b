/*
 * fisctl explain: all that the topics say of one record, and what its scores hang on.
 */
#include "cli/command_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live_head.h"
#include "cli/models.h"
#include "cli/request_view.h"
#include "cli/screen.h"
#include "fis/mem.h"
#include "wire/ledger.h"
#include "wire/record_image.h"

enum { COLUMNS = 5 };

struct options {
    uint64_t columns;
    bool json;
};

struct held {
    struct fis_id id;
    float *x;
};

struct explain {
    struct cli *cli;
    const struct options *o;
    struct fis_id id;
    struct live_head head;
    struct fis_arena arena;
    json_t *out;
    uint32_t d;
    bool found, answered;
    float *x; /* [d] of the record, as the ledger has it */
    uint32_t criterion;
    int64_t written_ms; /* the entry */
    struct held *held;  /* [n] the candidates of the ledger */
    uint32_t n;
};

static const char *const states[] = {"",        "held",    "open",      "accepted", "set_aside",
                                     "expired", "skipped", "cancelled", "tied"};
static const char *const fates[] = {"",
                                    "a candidate, not requested yet",
                                    "requested, no label yet",
                                    "labelled and accepted",
                                    "labelled and set aside",
                                    "requested, expired",
                                    "requested, skipped by its annotator",
                                    "requested, cancelled",
                                    "requested, tied votes"};

static void set(json_t *to, const char *name, json_t *value)
{
    (void)json_object_set_new(to, name, value);
}

static const char *class_name(const struct explain *x, uint32_t k)
{
    return k < x->cli->schema.n_classes ? x->cli->schema.classes[k] : "?";
}

/* ---- what the ledger says ----------------------------------------------------------------------
 */

static struct held *held_of(struct explain *x, const struct fis_id *id)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!fis_id_compare(&x->held[i].id, id))
            return &x->held[i];
    return NULL;
}

static int hold(struct explain *x, const struct wire_ledger_entry *entry, struct fis_error *e)
{
    struct held *h = held_of(x, &entry->id);
    if (!h && !fis_more(&x->held, x->n, sizeof *x->held))
        return fis_fail(e, FIS_NOMEM, "no memory for %u candidates", x->n + 1);
    if (!h) {
        h = &x->held[x->n];
        *h = (struct held){.id = entry->id, .x = fis_alloc(x->d, sizeof *h->x)};
        if (!h->x)
            return fis_fail(e, FIS_NOMEM, "no memory for a candidate");
        x->n++;
    }
    memcpy(h->x, entry->x, x->d * sizeof *h->x);
    return 0;
}

static void let_go(struct explain *x, const struct fis_id *id)
{
    struct held *h = held_of(x, id);
    if (!h)
        return;
    fis_free(h->x);
    *h = x->held[--x->n];
}

static json_t *votes_of(const struct explain *x, const struct wire_ledger_entry *entry)
{
    static const char *const status[] = {"labelled", "skipped", "unsure"};
    json_t *all = json_array();
    for (uint32_t i = 0; i < entry->n_votes; i++) {
        const struct fis_vote *v = &entry->votes[i];
        char at[32];
        json_t *one = json_object();
        if (v->annotator && *v->annotator)
            set(one, "annotator", json_string(v->annotator));
        set(one, "status", json_string(status[v->status <= WIRE_UNSURE ? v->status : 0]));
        if (v->status == WIRE_LABELLED)
            set(one, "class", json_string(class_name(x, v->class_index)));
        set(one, "at", json_string(screen_time(v->at_ms, at)));
        (void)json_array_append_new(all, one);
    }
    return all;
}

static int take_own(struct explain *x, const struct wire_ledger_entry *entry, int64_t at_ms)
{
    x->found = true;
    x->answered = entry->state == WIRE_ACCEPTED || entry->state == WIRE_SET_ASIDE;
    x->written_ms = at_ms;
    x->criterion = entry->criterion;
    set(x->out, "state", json_string(states[entry->state]));
    set(x->out, "what", json_string(fates[entry->state]));
    if (entry->state > WIRE_IN_HEAP)
        set(x->out, "round", json_integer(entry->round));
    if (x->answered)
        set(x->out, "class", json_string(class_name(x, entry->class_index)));
    set(x->out, "answers", votes_of(x, entry));
    if (entry->encoding == WIRE_JSON && entry->record.length)
        set(x->out, "record", json_loadb(entry->record.data, entry->record.length, 0, NULL));
    if (entry->d == x->d)
        memcpy(x->x, entry->x, x->d * sizeof *x->x);
    return 0;
}

static int take_entry(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct explain *x = arg;
    const struct wire_message w = binding_message(m, x->cli->cfg.topics.ledger);
    struct wire_ledger_item item;
    struct fis_error why;
    fis_arena_reset(&x->arena);
    enum wire_decoded got = wire_ledger_decode(&w, &x->arena, &item, &why);
    if (got == WIRE_BAD || item.kind != WIRE_LEDGER_ENTRY)
        return 0;
    const struct fis_id *id = &item.entry.id;
    bool own = !fis_id_compare(id, &x->id);
    if (got == WIRE_OK && item.entry.state == WIRE_IN_HEAP && item.entry.d == x->d) {
        int rc = hold(x, &item.entry, e);
        if (rc)
            return rc;
    } else {
        let_go(x, id);
    }
    x->found &= !own;
    return own && got == WIRE_OK ? take_own(x, &item.entry, m->timestamp_ms) : 0;
}

/* The record as people were shown it, by which head and criterion it was asked for. */
static int take_request(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct explain *x = arg;
    const struct wire_message w = binding_message(m, x->cli->cfg.topics.label_requests);
    struct wire_request_shown r;
    struct fis_error why;
    char at[32];
    if (m->key_length != x->id.length || memcmp(m->key, x->id.bytes, m->key_length))
        return 0;
    int rc = request_read(x->cli, &w, 1, &r, &why);
    if (rc == -FIS_NOMEM)
        return fis_fail(e, FIS_NOMEM, "%s", why.text);
    if (rc > 0 && r.cancelled)
        set(x->out, "withdrawn", json_string(r.reason));
    if (rc > 0 && !r.cancelled) {
        set(x->out, "requested_at", json_string(screen_time(r.requested_at_ms, at)));
        set(x->out, "criterion", json_string(r.criterion));
        set(x->out, "requested_by_head", json_integer((json_int_t)r.head));
        if (r.record)
            set(x->out, "record", json_incref(r.record));
    }
    if (rc > 0)
        wire_request_shown_done(&r);
    return 0;
}

/* ---- scores ------------------------------------------------------------------------------------
 */

static void score(const struct explain *x, const float *row, float scores[FIS_MAX_CRITERIA])
{
    const struct fis_id *id = &x->id;
    fis_criteria_batch(&x->head.options.criteria, x->head.head->panel, &id, row, NULL, 1,
                       x->head.scratch, NULL, scores);
}

static void rank(struct explain *x, const float own[FIS_MAX_CRITERIA])
{
    json_t *scores = json_object(), *ranks = json_object();
    float other[FIS_MAX_CRITERIA];
    uint32_t better[FIS_MAX_CRITERIA] = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        if (!fis_id_compare(&x->held[i].id, &x->id))
            continue;
        score(x, x->held[i].x, other);
        for (uint32_t k = 0; k < live_head_criteria(&x->head); k++)
            better[k] += other[k] > own[k];
    }
    for (uint32_t k = 0; k < live_head_criteria(&x->head); k++) {
        const char *name = live_head_criterion(&x->head, k);
        bool is_one = own[k] > FIS_NOT_A_CANDIDATE;
        set(scores, name, is_one ? json_real((double)own[k]) : json_null());
        set(ranks, name, is_one ? json_integer(better[k] + 1) : json_null());
    }
    set(x->out, "scores", scores);
    set(x->out, "rank", ranks);
    set(x->out, "candidates", json_integer(x->n));
}

static void influences(struct explain *x)
{
    float p[FIS_MAX_CLASSES], accuracy[FIS_MAX_CLASSES], fairness[FIS_MAX_CLASSES];
    json_t *all = json_object();
    fis_influence_batch(x->head.head->panel, x->x, 1, x->head.scratch, p, accuracy, fairness);
    for (uint32_t k = 0; k < x->cli->schema.n_classes; k++) {
        json_t *one = json_object();
        set(one, "probability", json_real((double)p[k]));
        set(one, "influence_loss", json_real((double)accuracy[k]));
        set(one, "influence_unfairness", json_real((double)fairness[k]));
        set(all, x->cli->schema.classes[k], one);
    }
    set(x->out, "head", json_integer((json_int_t)x->head.head->version));
    set(x->out, "labels", all);
}

/* ---- columns -----------------------------------------------------------------------------------
 */

/* The column of a feature: the part of its name before '=', or all of it. */
static size_t column_of(const struct fis_encoder *enc, uint32_t feature, char name[256])
{
    (void)fis_encoder_feature_name(enc, feature, name, 256);
    for (uint32_t i = 0; i < fis_encoder_columns(enc); i++) {
        const char *column = fis_encoder_column(enc, i)->name;
        size_t n = strlen(column);
        if (!strncmp(name, column, n) && (!name[n] || name[n] == '='))
            return i;
    }
    return SIZE_MAX;
}

struct moved {
    const char *column;
    double change;
};

static int by_size(const void *a, const void *b)
{
    double p = fabs(((const struct moved *)a)->change), q = fabs(((const struct moved *)b)->change);
    return (p < q) - (p > q);
}

/* The features [from, to) of a column, as they are usual: of a numeric column the mean of the
 * candidates held, of a categorical one the category that most of them have. */
static void make_usual(const struct explain *x, float *row, uint32_t from, uint32_t to)
{
    uint32_t best = from;
    double most = -1;
    for (uint32_t f = from; f < to; f++) {
        double sum = (double)x->x[f];
        for (uint32_t i = 0; i < x->n; i++)
            sum += (double)x->held[i].x[f];
        best = sum > most ? f : best;
        most = sum > most ? sum : most;
        row[f] = to - from == 1 ? (float)(sum / (x->n + 1)) : 0;
    }
    if (to - from > 1)
        row[best] = 1;
}

static int columns(struct explain *x, const float own[FIS_MAX_CRITERIA], struct fis_error *e)
{
    const struct fis_encoder *enc = x->head.head->encoder;
    struct fis_trees *trees = x->head.head->trees;
    uint32_t features = x->d - fis_encoder_margins(enc), n = 0, k = x->criterion;
    struct moved *all = fis_calloc((size_t)fis_encoder_columns(enc) + 1, sizeof *all);
    float *row = fis_alloc(x->d, sizeof *row), scores[FIS_MAX_CRITERIA];
    char name[256];
    if (!all || !row) {
        fis_free(all);
        fis_free(row);
        return fis_fail(e, FIS_NOMEM, "no memory for %u features", x->d);
    }
    for (uint32_t from = 0, to; from < features; from = to) {
        size_t column = column_of(enc, from, name);
        for (to = from + 1; to < features && column_of(enc, to, name) == column;)
            to++;
        if (column == SIZE_MAX || n == fis_encoder_columns(enc))
            continue;
        memcpy(row, x->x, x->d * sizeof *row);
        make_usual(x, row, from, to);
        if (trees)
            fis_trees_apply(trees, row, 1);
        score(x, row, scores);
        bool one = own[k] > FIS_NOT_A_CANDIDATE, other = scores[k] > FIS_NOT_A_CANDIDATE;
        all[n++] = (struct moved){fis_encoder_column(enc, (uint32_t)column)->name,
                                  (one ? (double)own[k] : 0) - (other ? (double)scores[k] : 0)};
    }
    qsort(all, n, sizeof *all, by_size);
    json_t *list = json_array();
    for (uint32_t i = 0; i < n && i < x->o->columns; i++) {
        json_t *one = json_object();
        set(one, "column", json_string(all[i].column));
        set(one, "change", json_real(all[i].change));
        (void)json_array_append_new(list, one);
    }
    set(x->out, "by", json_string(live_head_criterion(&x->head, k)));
    set(x->out, "columns", list);
    fis_free(all);
    fis_free(row);
    return 0;
}

/* The first version that was made after its label came. */
static int find_version(struct explain *x, struct fis_error *e)
{
    struct models m;
    int rc = models_init(&m, e);
    if (!rc && x->answered)
        rc = models_read(&m, x->cli, e);
    for (uint32_t i = 0; !rc && i < m.n; i++)
        if (m.items[i].model.created_at_ms >= x->written_ms) {
            set(x->out, "trained_version", json_integer((json_int_t)m.items[i].model.version));
            break;
        }
    models_done(&m);
    return rc;
}

/* ---- output ------------------------------------------------------------------------------------
 */

static void print_plain(const char *name, const json_t *value, int depth)
{
    char *text =
        json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(5));
    const char *key;
    json_t *v;
    size_t i;
    if (json_is_object(value) || (json_is_array(value) && json_array_size(value))) {
        printf("%*s%s\n", 2 * depth, "", name);
        json_object_foreach((json_t *)(uintptr_t)value, key, v) print_plain(key, v, depth + 1);
        json_array_foreach(value, i, v)
        {
            char *line = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(5));
            if (line)
                screen_clean(line);
            printf("%*s%s\n", 2 * depth + 2, "", line ? line : "");
            free(line);
        }
    } else {
        char shown[512];
        if (text || !wire_image_show(json_string_value(value), json_string_length(value), shown))
            snprintf(shown, sizeof shown, "%s", text ? text : json_string_value(value));
        screen_clean(shown);
        printf("%*s%-*s%s\n", 2 * depth, "", 26 - 2 * depth, name, shown);
    }
    free(text);
}

static int explain(struct explain *x, struct fis_error *e)
{
    struct cli *c = x->cli;
    float own[FIS_MAX_CRITERIA];
    int rc = cli_open(c, e);
    if (!rc)
        rc = live_head_open(&x->head, c, e);
    if (rc)
        return rc;
    x->d = fis_shape_inputs(fis_panel_shape(x->head.head->panel));
    x->x = fis_calloc(x->d, sizeof *x->x);
    x->arena.size = 8 * c->schema.max_bytes + 262144;
    x->arena.base = fis_alloc(1, x->arena.size);
    if (!x->x || !x->arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for the ledger");
    rc = topic_reader_all(c, c->cfg.topics.ledger, take_entry, x, e);
    if (!rc && !x->found)
        rc = fis_fail(e, FIS_INPUT, "%.*s is unknown: it is no candidate, and was not requested",
                      (int)x->id.length, x->id.bytes);
    if (!rc)
        rc = topic_reader_all(c, c->cfg.topics.label_requests, take_request, x, e);
    if (rc)
        return rc;
    influences(x);
    score(x, x->x, own);
    rank(x, own);
    if (!json_object_get(x->out, "criterion") && own[0] <= FIS_NOT_A_CANDIDATE &&
        live_head_criteria(&x->head) > 1)
        x->criterion = 1;
    if (x->criterion >= live_head_criteria(&x->head))
        x->criterion = 0;
    rc = columns(x, own, e);
    return rc ? rc : find_version(x, e);
}

static void print(const struct explain *x)
{
    const char *key;
    json_t *v;
    if (x->o->json) {
        char *text = json_dumps(x->out, JSON_COMPACT | JSON_REAL_PRECISION(6));
        if (text)
            puts(text);
        free(text);
        return;
    }
    json_object_foreach(x->out, key, v) print_plain(key, v, 0);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.columns = COLUMNS};
    struct explain x = {.cli = c, .o = &o};
    struct fis_error e;
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc - first != 1 || fis_id_set(&x.id, argv[first], strlen(argv[first])))
        return cli_usage(self, "the ID of one record is required");
    x.out = json_object();
    set(x.out, "id", json_stringn(x.id.bytes, x.id.length));
    int rc = explain(&x, &e);
    if (!rc)
        print(&x);
    for (uint32_t i = 0; i < x.n; i++)
        fis_free(x.held[i].x);
    fis_free(x.held);
    fis_free(x.x);
    fis_free(x.arena.base);
    json_decref(x.out);
    live_head_close(&x.head);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"columns", 'm', CLI_COUNT, offsetof(struct options, columns), "M",
     "the M columns that moved the score most; default 5"},
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object"},
    {.name = NULL},
};

const struct cli_command cmd_explain = {
    .name = "explain",
    .arguments = "ID [options]",
    .summary = "a record's scores, rank, answers and state, with reasons",
    .text =
        "Shows the state of a record (candidate, requested, labelled, accepted, set aside,\n"
        "expired, cancelled), the record as annotators saw it, each annotator's answer, and the\n"
        "first version that was trained with its label. Then, under the newest head: for each\n"
        "label its probability and both influences (by how much a training step on it would\n"
        "change the validation loss and the unfairness; below 0 is good), its scores, and its\n"
        "rank among the candidates that are held. For each column: by how much the score would\n"
        "differ with the column's mean, or its most frequent category, among those candidates in\n"
        "place of the record's value.",
    .options = options,
    .run = run,
};

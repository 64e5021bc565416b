/* What fisctl init says about a table, as somebody who knows data would. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/init_impl.h"
#include "fis/defaults.h"
#include "fis/mem.h"
#include "base/decimal.h"

enum {
    CODES_MOST = 12, /* distinct whole numbers that may be codes */
    NAMES_SHOWN = 8,
    GROUPS_SHOWN = 12
};
#define UNSEEN_MOST .05 /* features.max_unseen */

/* ---- what is there --------------------------------------------------------------------------- */

static void print_classes(const struct init_survey *s)
{
    printf("classes    ");
    for (uint32_t k = 0; k < s->n_classes; k++) {
        uint64_t n = 0;
        for (uint32_t g = 0; g < s->n_groups; g++)
            n += s->cells[g * s->n_classes + k];
        printf("%s %s %s (%.1f %%%s)", k ? "," : "", init_class(s, k), DECIMAL_COMMAS(n),
               100. * (double)n / s->usable, k == s->positive ? ", positive" : "");
    }
    putchar('\n');
}

static uint64_t group_rows(const struct init_survey *s, uint32_t g)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < s->n_classes; k++)
        n += s->cells[g * s->n_classes + k];
    return n;
}

/* The groups, the largest first. */
static void order_groups(const struct init_survey *s, uint32_t order[FIS_MAX_GROUPS])
{
    for (uint32_t g = 0; g < s->n_groups; g++) {
        uint32_t at = g;
        for (; at && group_rows(s, order[at - 1]) < group_rows(s, g); at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
}

static void print_groups(const struct init_survey *s)
{
    char text[INIT_TEXT];
    uint32_t order[FIS_MAX_GROUPS];
    order_groups(s, order);
    for (uint32_t i = 0; i < s->n_groups && i < GROUPS_SHOWN; i++) {
        printf("%-11s %s:", i ? "" : "groups", init_group(s, order[i], text, sizeof text));
        for (uint32_t k = 0; k < s->n_classes; k++)
            printf("%s %s %s", k ? "," : "", init_class(s, k),
                   DECIMAL_COMMAS(s->cells[order[i] * s->n_classes + k]));
        putchar('\n');
    }
    if (s->n_groups > GROUPS_SHOWN)
        printf("            and %s\n", DECIMAL_COUNT(s->n_groups - GROUPS_SHOWN, "smaller group"));
}

static bool may_be_codes(const struct data_table_column *c)
{
    if (c->type != FIS_NUMERIC || c->n_values < 3 || c->n_values > CODES_MOST)
        return false;
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].number != (double)(int64_t)c->values[i].number)
            return false;
    return true;
}

static bool has(const struct init_survey *s, uint32_t i, unsigned odd)
{
    const struct init_column *c = &s->columns[i];
    return odd ? (c->odd & odd) != 0 : c->role == INIT_FEATURE && may_be_codes(&s->t->columns[i]);
}

/* "title: a, b, c and 4 more; advice", when there are any. odd 0: what may be codes. */
static void print_columns(const struct init_survey *s, unsigned odd, const char *title,
                          const char *advice)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++) {
        if (!has(s, i, odd))
            continue;
        if (n < NAMES_SHOWN)
            printf("%s%s", n ? ", " : title, s->t->columns[i].name);
        if (n < NAMES_SHOWN && odd == INIT_LEAK)
            printf(" (AUC %.3f)", s->columns[i].auc);
        n++;
    }
    if (n > NAMES_SHOWN)
        printf(" and %u more", n - NAMES_SHOWN);
    if (n)
        printf("; %s\n", advice);
}

static void print_features(const struct init_survey *s)
{
    uint32_t numeric = 0, categorical = 0, missing = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        if (s->columns[i].role == INIT_FEATURE) {
            *(s->t->columns[i].type == FIS_NUMERIC ? &numeric : &categorical) += 1;
            missing += s->columns[i].missing > 0;
        }
    printf("features    %u numeric, %u categorical; %u have missing values\n", numeric, categorical,
           missing);
    print_columns(s, INIT_CONSTANT, "left out    one value in all rows: ", "nothing to learn");
    print_columns(s, INIT_LIKE_AN_ID, "left out    a different value in every row: ",
                  "an id is nothing to learn from; --id NAME keeps it as the record's id");
    print_columns(s, INIT_DATE, "left out    dates: ", "derive numbers from them");
    print_columns(s, INIT_COMMA, "left out    numbers with a comma: ", "write 1234.5");
    print_columns(s, INIT_MANY, "left out    more than 1,000 categories: ",
                  "shorten them, or raise features.max_categories");
    print_columns(s, INIT_UNFIT, "left out    neither numbers nor texts: ",
                  "derive columns of one kind from them");
    print_columns(s, INIT_LEAK, "look at     separates the classes almost alone: ",
                  "is it known when the decision is made? If not, leave it out");
    print_columns(s, 0,
                  "look at     few whole numbers: ", "if they are codes, add type: categorical");
}

static void print_odd_cells(const struct init_survey *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        if (s->t->columns[i].odd[0] && s->columns[i].role == INIT_FEATURE && n++ < NAMES_SHOWN)
            printf("look at     %s\n", s->t->columns[i].odd);
    if (n > NAMES_SHOWN)
        printf("look at     cells of %s do not fit\n",
               DECIMAL_COUNT(n - NAMES_SHOWN, "more column"));
}

static void print_rows(const struct init *n)
{
    const struct init_survey *s = &n->s;
    uint32_t unused = s->t->n - s->usable - s->same_id;
    if (unused)
        printf("look at     %s without label or %s: not used\n", DECIMAL_COUNT(unused, "row"),
               n->o->sensitive);
    if (s->same_id)
        printf("look at     %s of %s with the id of an earlier one: not used; if %s is shared by "
               "rows, name another column with --id, or rename it\n",
               DECIMAL_COMMAS(s->same_id), DECIMAL_COUNT(s->t->n, "row"),
               s->t->columns[s->id].name);
    if (s->duplicates)
        printf("look at     %s with the features of an earlier one\n",
               DECIMAL_COUNT(s->duplicates, "row"));
}

/* Rows of a group in the validation set, of one class. */
static double cell(const struct init *n, uint32_t g, uint32_t k)
{
    return (double)n->s.cells[g * n->s.n_classes + k] * n->n_validation / n->s.usable;
}

/* Groups that the gate will call too small, and what can be done about them. */
static void print_small_groups(const struct init *n)
{
    const struct init_survey *s = &n->s;
    char text[INIT_TEXT];
    uint32_t order[FIS_MAX_GROUPS], small = 0;
    uint64_t least = s->usable;
    order_groups(s, order);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const uint64_t positive = s->cells[order[i] * s->n_classes + s->positive];
        const double rows = cell(n, order[i], s->positive);
        least = positive < least ? positive : least;
        if (rows >= FIS_DEFAULT_MIN_CELL)
            continue;
        if (small < NAMES_SHOWN)
            printf("%s%s %.0f", small ? "; " : "look at     positive validation rows of groups: ",
                   init_group(s, order[i], text, sizeof text), rows);
        small++;
    }
    if (!small)
        return;
    if (small > NAMES_SHOWN)
        printf("; and %s", DECIMAL_COUNT(small - NAMES_SHOWN, "more group"));
    printf(". While one has under %d (gate.min_cell), only the first version is published: name "
           "fewer --sensitive columns, merge values, list values that are no group in "
           "validation.missing",
           FIS_DEFAULT_MIN_CELL);
    const uint64_t enough = least ? (FIS_DEFAULT_MIN_CELL * s->usable + least - 1) / least : 0;
    if (n->o->split && least && enough <= s->usable / 2)
        printf(", or use --validation %llu\n", (unsigned long long)enough);
    else
        printf(", or collect more\n");
}

static void print_gap(const double *cells, const struct init_survey *s, enum fis_metric metric)
{
    const double gap =
        fis_detectable_gap(metric, cells, s->n_classes, s->n_groups, s->positive, NULL);
    if (isnan(gap))
        printf(" %s (too few rows for any)", fis_metric_name(metric));
    else
        printf(" %s %.3f", fis_metric_name(metric), gap);
}

/* What the validation set can show: its cells are the table's, in proportion. */
static void print_power(const struct init *n)
{
    const struct init_survey *s = &n->s;
    double cells[FIS_MAX_GROUPS * FIS_MAX_CLASSES];
    printf("validation  %s", DECIMAL_COUNT(n->n_validation, "row"));
    if (n->n_validation < FIS_DEFAULT_MIN_ROWS)
        printf("; under %d (gate.min_rows) only the first version is published",
               FIS_DEFAULT_MIN_ROWS);
    if (s->n_groups < 2) {
        printf("\nlook at     there is one group: no gap can be measured\n");
        return;
    }
    for (uint32_t i = 0; i < s->n_groups * s->n_classes; i++)
        cells[i] = cell(n, i / s->n_classes, i % s->n_classes);
    printf(
        "; the smallest gap that they can tell from none (5 %% level, power 80 %%):\n           ");
    print_gap(cells, s, FIS_DEMOGRAPHIC_PARITY);
    print_gap(cells, s, FIS_EQUAL_OPPORTUNITY);
    print_gap(cells, s, FIS_EQUALIZED_ODDS);
    putchar('\n');
    print_small_groups(n);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static bool has_value(const struct data_table_column *c, const struct fis_value *v)
{
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].length == v->length && !memcmp(c->values[i].text, v->text, v->length))
            return true;
    return false;
}

/* The share of a column's cells of the stream whose category the table does not have. */
static double unseen(const struct data_table_column *mine, const struct data_table_column *theirs,
                     uint32_t rows)
{
    uint32_t n = 0;
    bool *known = fis_calloc((size_t)theirs->n_values + 1, sizeof *known);
    for (uint32_t i = 0; known && i < theirs->n_values; i++)
        known[i] = has_value(mine, &theirs->values[i]);
    for (uint32_t r = 0; known && r < rows; r++)
        n += theirs->codes[r] != DATA_MISSING && !known[theirs->codes[r]];
    fis_free(known);
    return rows ? (double)n / rows : 0;
}

/* A feature as it is on the stream. True: it is not there. */
static bool print_feature(const struct init *n, const struct data_table_column *mine)
{
    int at = data_table_find(n->stream, mine->name, NULL);
    if (at < 0) {
        printf("look at     column %s is not in %s\n", mine->name, n->o->stream);
        return true;
    }
    const struct data_table_column *theirs = &n->stream->columns[at];
    if (theirs->odd[0])
        printf("look at     %s: %s\n", n->o->stream, theirs->odd);
    if (mine->type == FIS_NUMERIC && theirs->type != FIS_NUMERIC && theirs->n_values)
        printf("look at     column %s is numeric in %s, and in %s it is not\n", mine->name, n->path,
               n->o->stream);
    double share = mine->type == FIS_CATEGORICAL ? unseen(mine, theirs, n->stream->n) : 0;
    if (share > UNSEEN_MOST)
        printf("look at     %.0f %% of the rows of %s have a category of %s that %s has not\n",
               100 * share, n->o->stream, mine->name, n->path);
    return false;
}

static void print_other(const struct init *n, const char *name)
{
    enum init_role role = init_role(&n->s, name);
    if (role == INIT_SENSITIVE || role == INIT_LABEL)
        printf("look at     %s has the %s column %s: it is ignored there (records.ignore)\n",
               n->o->stream, role == INIT_LABEL ? "label" : "sensitive", name);
    else if (role == INIT_UNKNOWN)
        printf("look at     column %s of %s is not in %s: labellers see it, nothing learns from it "
               "(records.passthrough)\n",
               name, n->o->stream, n->path);
}

static void print_sample(const struct init *n)
{
    if (!n->sampled)
        printf("look at     topic %s was not looked at: %s\n", n->o->stream,
               n->stream || n->looked ? "it has no records yet" : "-b names no broker");
    else if (!n->stream)
        printf("look at     of the first %s of %s none is a JSON object: set "
               "records.encoding%s\n",
               DECIMAL_COUNT(n->sampled, "record"), n->o->stream,
               n->registry.count ? "" : ", or --registry URL for Avro and protobuf by a registry");
    else if (n->unreadable)
        printf("look at     of the first %s of %s, %s %s not read: no JSON object\n",
               DECIMAL_COUNT(n->sampled, "record"), n->o->stream, DECIMAL_COMMAS(n->unreadable),
               decimal_agree(n->unreadable, "was", "were"));
}

static int print_stream(const struct init *n, struct fis_error *e)
{
    uint32_t shared, absent = 0;
    if (n->is_topic)
        print_sample(n);
    if (!n->stream)
        return 0;
    printf("stream      %s: %s%s, %s\n", n->o->stream,
           DECIMAL_COUNT(n->stream->n, n->is_topic ? "record" : "row"),
           n->is_topic ? " of a sample" : "", DECIMAL_COUNT(n->stream->n_columns, "column"));
    int rc = init_shared_rows(&n->s, n->stream, &shared, e);
    for (uint32_t i = 0; !rc && i < n->table->n_columns; i++)
        if (n->s.columns[i].role == INIT_FEATURE)
            absent += print_feature(n, &n->table->columns[i]);
    for (uint32_t i = 0; !rc && i < n->stream->n_columns; i++)
        print_other(n, n->stream->columns[i].name);
    if (!rc && shared && !absent)
        printf("look at     of the %s of %s, %s %s in %s too\n", DECIMAL_COUNT(n->stream->n, "row"),
               n->o->stream, DECIMAL_COMMAS(shared), decimal_agree(shared, "is", "are"), n->path);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int init_report_split(const struct init *n, struct fis_error *e)
{
    uint32_t repeated = 0;
    int rc = init_repeated_rows(&n->s, n->part, INIT_INITIAL, INIT_VALIDATION, &repeated, e);
    if (!rc && repeated)
        printf("look at     %s of %s validation rows have the features of an initial row\n",
               DECIMAL_COMMAS(repeated), DECIMAL_COMMAS(n->n_validation));
    return rc;
}

int init_report(const struct init *n, struct fis_error *e)
{
    print_classes(&n->s);
    print_groups(&n->s);
    print_features(&n->s);
    print_odd_cells(&n->s);
    print_rows(n);
    print_power(n);
    return print_stream(n, e);
}

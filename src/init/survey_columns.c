/* What a column is worth, and what is odd about it. */
#include "init/survey_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "fis/mem.h"

enum { ROWS_TO_JUDGE = 50, ROWS_OF_A_VALUE = 10 };
enum { CATEGORIES_MOST = 1000 }; /* features.max_categories */

static bool is_date(const struct fis_value *v)
{
    int year, month, day;
    char a, b;
    if (v->length < 8 || sscanf(v->text, "%d%c%d%c%d", &year, &a, &month, &b, &day) != 5)
        return false;
    return a == b && strchr("-/.", a) && (year >= 1800 || day >= 1800 || (day >= 0 && day < 100));
}

/* "1234,50" or "1,234" among numbers: texts to everybody else, and no categories. */
static bool has_commas(const struct data_table_column *c)
{
    uint32_t commas = 0, numbers = 0;
    for (uint32_t i = 0; i < c->n_values; i++) {
        const struct fis_value *v = &c->values[i];
        char text[64];
        double number;
        if (v->length >= sizeof text)
            continue;
        memcpy(text, v->text, v->length);
        char *comma = memchr(text, ',', v->length);
        if (comma)
            *comma = '.';
        bool reads = decimal_read(text, v->length, &number) == 0;
        commas += reads && comma;
        numbers += reads;
    }
    return commas && 10ull * numbers > 9ull * c->n_values;
}

static bool is_whole(const struct data_table_column *c)
{
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].number != floor(c->values[i].number))
            return false;
    return true;
}

static unsigned oddities(const struct data_table_column *c, uint32_t rows, uint32_t missing)
{
    uint32_t dates = 0, present = rows - missing;
    if (c->unfit > present)
        return INIT_UNFIT;
    if (c->n_values == 0 || (c->n_values == 1 && (!missing || c->type == FIS_NUMERIC)))
        return INIT_CONSTANT;
    for (uint32_t i = 0; c->type == FIS_CATEGORICAL && i < c->n_values; i++)
        dates += is_date(&c->values[i]);
    if (dates > c->n_values / 2)
        return INIT_DATE;
    if (c->type == FIS_CATEGORICAL && has_commas(c))
        return INIT_COMMA;
    bool distinct = present >= ROWS_TO_JUDGE && c->n_values == present;
    if (distinct && (c->type == FIS_CATEGORICAL || is_whole(c)))
        return INIT_LIKE_AN_ID;
    return c->type == FIS_CATEGORICAL && c->n_values > CATEGORIES_MOST ? INIT_MANY : 0;
}

struct score {
    double x;
    uint32_t in, out; /* rows of the class, of others */
};

static int by_score(const void *a, const void *b)
{
    const struct score *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Area under the ROC curve from scores with ties, either direction. */
static double area(struct score *scores, uint32_t n)
{
    double in = 0, out = 0, won = 0;
    qsort(scores, n, sizeof *scores, by_score);
    for (uint32_t i = 0; i < n; i++) {
        won += scores[i].in * (out + .5 * scores[i].out);
        in += scores[i].in;
        out += scores[i].out;
    }
    double a = in && out ? won / (in * out) : .5;
    return a < .5 ? 1 - a : a;
}

/* A category scores its share of the class; a rare one would give itself away, and scores the
 * share of all. */
static void score_categories(struct score *scores, uint32_t n, uint32_t in, uint32_t rows)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t m = scores[i].in + scores[i].out;
        scores[i].x = m < ROWS_OF_A_VALUE ? (double)in / rows : (double)scores[i].in / m;
    }
}

static double separates(const struct init_survey *s, const struct data_table_column *c, uint32_t k,
                        struct score *scores)
{
    uint32_t in = 0, rows = 0;
    for (uint32_t i = 0; i <= c->n_values; i++)
        scores[i] = (struct score){0};
    for (uint32_t i = 0; i < c->n_values; i++)
        scores[i].x = c->values[i].number;
    for (uint32_t r = 0; r < s->t->n; r++) {
        if (s->y[r] == DATA_MISSING || c->codes[r] == DATA_MISSING)
            continue;
        struct score *at = &scores[c->codes[r]];
        *(s->y[r] == k ? &at->in : &at->out) += 1;
        in += s->y[r] == k;
        rows++;
    }
    if (rows < ROWS_TO_JUDGE)
        return .5;
    if (c->type == FIS_CATEGORICAL)
        score_categories(scores, c->n_values, in, rows);
    return area(scores, c->n_values);
}

/* Of where the column has a value at all: what is filled in once the decision is made. */
static double separates_missing(const struct init_survey *s, const struct data_table_column *c,
                                uint32_t k)
{
    struct score scores[2] = {{.x = 0}, {.x = 1}};
    for (uint32_t r = 0; r < s->t->n; r++)
        if (s->y[r] != DATA_MISSING) {
            struct score *at = &scores[c->codes[r] != DATA_MISSING];
            *(s->y[r] == k ? &at->in : &at->out) += 1;
        }
    return scores[0].in + scores[0].out < ROWS_TO_JUDGE ? .5 : area(scores, 2);
}

int survey_column(struct init_survey *s, uint32_t i, struct fis_error *e)
{
    const struct data_table_column *c = &s->t->columns[i];
    struct init_column *x = &s->columns[i];
    x->distinct = c->n_values;
    for (uint32_t r = 0; r < s->t->n; r++)
        x->missing += c->codes[r] == DATA_MISSING;
    x->auc = .5;
    if (x->role != INIT_FEATURE)
        return 0;
    x->odd = oddities(c, s->t->n, x->missing);
    if (x->odd) {
        x->role = INIT_LEFT_OUT;
        return 0;
    }
    struct score *scores = fis_calloc((size_t)c->n_values + 1, sizeof *scores);
    if (!scores)
        return fis_fail(e, FIS_NOMEM, "no memory for %u values", c->n_values);
    for (uint32_t k = 0; k < s->n_classes; k++) {
        double a = fmax(separates(s, c, k, scores), separates_missing(s, c, k));
        x->auc = a > x->auc ? a : x->auc;
    }
    x->odd |= x->auc >= INIT_GIVES_AWAY ? INIT_LEAK : 0;
    fis_free(scores);
    return 0;
}

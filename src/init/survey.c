#include "init/survey.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/decimal.h"
#include "fis/fairness.h"
#include "fis/mem.h"

/* Fewer rows than this say nothing of a column: neither that it is an id, nor what it gives away.
 */
enum { ROWS_TO_JUDGE = 50, ROWS_OF_A_VALUE = 10 };
enum { CATEGORIES_MOST = 1000 }; /* features.max_categories */

const char *init_text(const struct data_table *t, int column, uint32_t row, size_t *length)
{
    const struct data_table_column *c = &t->columns[column];
    uint32_t code = c->codes[row];
    *length = code == DATA_MISSING ? 0 : c->values[code].length;
    return code == DATA_MISSING ? "" : c->values[code].text;
}

enum init_role init_role(const struct init_survey *s, const char *column)
{
    int i = data_table_find(s->t, column, NULL);
    return i < 0 ? INIT_UNKNOWN : s->columns[i].role;
}

const char *init_class(const struct init_survey *s, uint32_t k)
{
    return s->t->columns[s->label].values[s->classes[k]].text;
}

/* ---- the roles of columns -------------------------------------------------------------------- */

static const char *role_name(enum init_role role)
{
    return role == INIT_LABEL ? "label" : role == INIT_SENSITIVE ? "sensitive column" : "id";
}

static int take_column(struct init_survey *s, const char *name, enum init_role role, int *column,
                       struct fis_error *e)
{
    int i = data_table_find(s->t, name, e);
    if (i < 0)
        return -FIS_INPUT;
    if (s->columns[i].role != INIT_FEATURE)
        return fis_fail(e, FIS_INPUT, "column \"%s\" cannot be the %s and the %s at once", name,
                        role_name(s->columns[i].role), role_name(role));
    s->columns[i].role = role;
    *column = i;
    return 0;
}

static int take_choice(struct init_survey *s, const struct init_choice *c, struct fis_error *e)
{
    int rc = take_column(s, c->label, INIT_LABEL, &s->label, e);
    for (uint32_t i = 0; !rc && i < c->n_sensitive; i++)
        rc = take_column(s, c->sensitive[i], INIT_SENSITIVE, &s->sensitive[i], e);
    s->n_sensitive = c->n_sensitive;
    s->id = -1;
    if (!rc && c->id)
        return take_column(s, c->id, INIT_ID, &s->id, e);
    for (uint32_t i = 0; !rc && s->id < 0 && i < s->t->n_columns; i++)
        if (!strcasecmp(s->t->columns[i].name, "id"))
            rc = take_column(s, s->t->columns[i].name, INIT_ID, &s->id, e);
    return rc;
}

/* ---- classes and groups ---------------------------------------------------------------------- */

struct sorted {
    const struct data_table_column *c;
    uint32_t code;
};

static int by_value(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const struct fis_value *v = &x->c->values[x->code], *w = &y->c->values[y->code];
    if (x->c->type == FIS_NUMERIC && v->number != w->number)
        return v->number < w->number ? -1 : 1;
    return strcmp(v->text, w->text);
}

static int take_classes(struct init_survey *s, const struct init_choice *choice,
                        struct fis_error *e)
{
    const struct data_table_column *c = &s->t->columns[s->label];
    struct sorted order[FIS_MAX_CLASSES];
    uint32_t place[FIS_MAX_CLASSES];
    if (c->n_values < 2 || c->n_values > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "label column \"%s\" has %u values, allowed 2 to %d classes",
                        c->name, c->n_values, FIS_MAX_CLASSES);
    for (uint32_t k = 0; k < c->n_values; k++)
        order[k] = (struct sorted){c, k};
    qsort(order, c->n_values, sizeof *order, by_value);
    s->n_classes = c->n_values;
    s->positive = c->n_values;
    for (uint32_t k = 0; k < c->n_values; k++) {
        s->classes[k] = order[k].code;
        place[order[k].code] = k;
        if (choice->positive && !strcmp(choice->positive, c->values[order[k].code].text))
            s->positive = k;
    }
    if (choice->positive && s->positive == s->n_classes)
        return fis_fail(e, FIS_INPUT, "there is no class \"%s\" in column \"%s\"", choice->positive,
                        c->name);
    if (!choice->positive)
        s->positive = s->n_classes - 1;
    for (uint32_t r = 0; r < s->t->n; r++)
        s->y[r] = c->codes[r] == DATA_MISSING ? DATA_MISSING : place[c->codes[r]];
    return 0;
}

static bool same_group(const struct init_survey *s, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < s->n_sensitive; i++) {
        const uint32_t *codes = s->t->columns[s->sensitive[i]].codes;
        if (codes[a] != codes[b])
            return false;
    }
    return true;
}

static bool lacks_group(const struct init_survey *s, uint32_t row)
{
    for (uint32_t i = 0; i < s->n_sensitive; i++)
        if (s->t->columns[s->sensitive[i]].codes[row] == DATA_MISSING)
            return true;
    return false;
}

/* Groups in the order in which they come; first[g]: a row of group g. */
static int take_groups(struct init_survey *s, struct fis_error *e)
{
    uint32_t first[FIS_MAX_GROUPS];
    for (uint32_t r = 0; r < s->t->n; r++) {
        uint32_t g = 0;
        s->group[r] = DATA_MISSING;
        if (lacks_group(s, r))
            continue;
        while (g < s->n_groups && !same_group(s, first[g], r))
            g++;
        if (g == FIS_MAX_GROUPS)
            return fis_fail(e, FIS_INPUT,
                            "the sensitive columns have more than %d combinations of values: an "
                            "age or an income has to be put in bands first",
                            FIS_MAX_GROUPS);
        if (g == s->n_groups)
            first[s->n_groups++] = r;
        s->group[r] = g;
    }
    return 0;
}

static void count_cells(struct init_survey *s)
{
    for (uint32_t r = 0; r < s->t->n; r++)
        if (s->y[r] != DATA_MISSING && s->group[r] != DATA_MISSING) {
            s->cells[s->group[r] * s->n_classes + s->y[r]]++;
            s->usable++;
        }
}

const char *init_group(const struct init_survey *s, uint32_t g, char *text, size_t size)
{
    uint32_t row = 0;
    size_t at = 0, length;
    while (row < s->t->n && s->group[row] != g)
        row++;
    text[0] = 0;
    for (uint32_t i = 0; i < s->n_sensitive && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s=%s", i ? ", " : "",
                               s->t->columns[s->sensitive[i]].name,
                               init_text(s->t, s->sensitive[i], row, &length));
    return text;
}

/* Of rows with one id the first is used: a file in which an id comes twice is refused. */
static int leave_out_same_ids(struct init_survey *s, struct fis_error *e)
{
    const struct data_table_column *c = s->id < 0 ? NULL : &s->t->columns[s->id];
    bool *seen = c ? fis_calloc((size_t)c->n_values + 1, sizeof *seen) : NULL;
    if (c && !seen)
        return fis_fail(e, FIS_NOMEM, "no memory to compare %u ids", c->n_values);
    for (uint32_t r = 0; c && r < s->t->n; r++) {
        if (c->codes[r] == DATA_MISSING)
            continue;
        if (seen[c->codes[r]]) {
            s->same_id++;
            s->y[r] = DATA_MISSING;
        }
        seen[c->codes[r]] = true;
    }
    fis_free(seen);
    return 0;
}

/* ---- oddities -------------------------------------------------------------------------------- */

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

static int survey_column(struct init_survey *s, uint32_t i, struct fis_error *e)
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

/* ---- rows that repeat ------------------------------------------------------------------------ */

static uint64_t hash_row(const struct data_table *t, const int *columns, uint32_t n, uint32_t row)
{
    uint64_t h = 0;
    size_t length;
    for (uint32_t i = 0; i < n; i++) {
        const char *text = init_text(t, columns[i], row, &length);
        h = XXH3_64bits_withSeed(text, length, h + length + 1);
    }
    return h;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The rows' hashes, sorted; NULL without memory. */
static uint64_t *hash_rows(const struct data_table *t, const int *columns, uint32_t n)
{
    uint64_t *h = fis_alloc(t->n, sizeof *h);
    for (uint32_t r = 0; h && r < t->n; r++)
        h[r] = hash_row(t, columns, n, r);
    if (h)
        qsort(h, t->n, sizeof *h, by_hash);
    return h;
}

/* Features that `other` has too: their columns in both tables. Their number. */
static uint32_t common(const struct init_survey *s, const struct data_table *other, int *mine,
                       int *theirs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->t->n_columns; i++) {
        int j = s->columns[i].role == INIT_FEATURE
                    ? data_table_find(other, s->t->columns[i].name, NULL)
                    : -1;
        if (j < 0)
            continue;
        mine[n] = (int)i;
        theirs[n++] = j;
    }
    return n;
}

int init_shared_rows(const struct init_survey *s, const struct data_table *other, uint32_t *shared,
                     struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, other, mine, mine + s->t->n_columns) : 0;
    uint64_t *a = mine ? hash_rows(s->t, mine, n) : NULL;
    bool enough = a != NULL;
    *shared = 0;
    for (uint32_t r = 0; enough && n && r < other->n; r++) {
        uint64_t h = hash_row(other, mine + s->t->n_columns, n, r);
        *shared += bsearch(&h, a, s->t->n, sizeof *a, by_hash) != NULL;
    }
    fis_free(a);
    fis_free(mine);
    return enough ? 0 : fis_fail(e, FIS_NOMEM, "no memory to compare rows");
}

int init_repeated_rows(const struct init_survey *s, const uint8_t *part, uint8_t a, uint8_t b,
                       uint32_t *repeated, struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, s->t, mine, mine + s->t->n_columns) : 0, n_a = 0;
    uint64_t *h = fis_alloc(s->t->n, sizeof *h);
    *repeated = 0;
    for (uint32_t r = 0; mine && h && r < s->t->n; r++)
        if (part[r] == a)
            h[n_a++] = hash_row(s->t, mine, n, r);
    if (h)
        qsort(h, n_a, sizeof *h, by_hash);
    for (uint32_t r = 0; mine && h && n && r < s->t->n; r++)
        if (part[r] == b) {
            uint64_t one = hash_row(s->t, mine, n, r);
            *repeated += bsearch(&one, h, n_a, sizeof *h, by_hash) != NULL;
        }
    bool enough = mine && h;
    fis_free(h);
    fis_free(mine);
    return enough ? 0 : fis_fail(e, FIS_NOMEM, "no memory to compare rows");
}

static int count_duplicates(struct init_survey *s, struct fis_error *e)
{
    int *mine = fis_calloc(2 * (size_t)s->t->n_columns, sizeof *mine);
    uint32_t n = mine ? common(s, s->t, mine, mine + s->t->n_columns) : 0;
    uint64_t *h = mine ? hash_rows(s->t, mine, n) : NULL;
    for (uint32_t r = 1; h && n && r < s->t->n; r++)
        s->duplicates += h[r] == h[r - 1];
    fis_free(mine);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory to compare rows");
    fis_free(h);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int survey(struct init_survey *s, const struct init_choice *choice, struct fis_error *e)
{
    const struct data_table *t = s->t;
    s->columns = fis_calloc(t->n_columns, sizeof *s->columns);
    s->classes = fis_calloc(FIS_MAX_CLASSES, sizeof *s->classes);
    s->y = fis_alloc(t->n, sizeof *s->y);
    s->group = fis_alloc(t->n, sizeof *s->group);
    s->cells = fis_calloc(FIS_MAX_GROUPS * FIS_MAX_CLASSES, sizeof *s->cells);
    if (!s->columns || !s->classes || !s->y || !s->group || !s->cells)
        return fis_fail(e, FIS_NOMEM, "no memory for %u rows", t->n);
    int rc = take_choice(s, choice, e);
    if (!rc)
        rc = take_classes(s, choice, e);
    if (!rc)
        rc = take_groups(s, e);
    if (!rc)
        rc = leave_out_same_ids(s, e);
    if (rc)
        return rc;
    count_cells(s);
    for (uint32_t i = 0; !rc && i < t->n_columns; i++)
        rc = survey_column(s, i, e);
    return rc ? rc : count_duplicates(s, e);
}

int init_survey(struct init_survey *s, const struct data_table *t, const struct init_choice *choice,
                struct fis_error *e)
{
    *s = (struct init_survey){.t = t};
    int rc = survey(s, choice, e);
    if (rc)
        init_survey_done(s);
    return rc;
}

void init_survey_done(struct init_survey *s)
{
    fis_free(s->columns);
    fis_free(s->classes);
    fis_free(s->y);
    fis_free(s->group);
    fis_free(s->cells);
    *s = (struct init_survey){0};
}

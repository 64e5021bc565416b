#include "init/init_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/yaml.h"
#include "wire/csv.h"

static FILE *create(const char *path, struct fis_error *e)
{
    FILE *f = fopen(path, "wx");
    if (!f && errno == EEXIST)
        fis_fail(
            e, FIS_INPUT,
            "%s: it exists already, and is not overwritten: remove it, or write elsewhere with "
            "-o FOLDER/NAME.yaml",
            path);
    else if (!f)
        fis_fail(e, FIS_INPUT, "%s: %s%s", path, strerror(errno),
                 errno == ENOENT ? ": make the folder first" : "");
    return f;
}

static int finish(FILE *f, const char *path, struct fis_error *e)
{
    int bad = ferror(f);
    if (!fclose(f) && !bad)
        return 0;
    fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    unlink(path);
    return -FIS_INPUT;
}

int init_can_write(const char *path, struct fis_error *e)
{
    FILE *f = create(path, e);
    if (!f)
        return -FIS_INPUT;
    fclose(f);
    unlink(path);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_written(const struct init_column *c, unsigned parts)
{
    return (c->role == INIT_FEATURE && parts & INIT_FEATURES) ||
           (c->role == INIT_LABEL && parts & INIT_LABELS) ||
           (c->role == INIT_SENSITIVE && parts & INIT_GROUPS) ||
           (c->role == INIT_LEFT_OUT && parts & INIT_SHOWN);
}

static void write_header(FILE *f, const struct init_survey *s, unsigned parts)
{
    const char *id = s->id < 0 ? "id" : s->t->columns[s->id].name;
    wire_csv_put(f, id, strlen(id));
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        if (is_written(&s->columns[i], parts)) {
            putc(',', f);
            wire_csv_put(f, s->t->columns[i].name, strlen(s->t->columns[i].name));
        }
    putc('\n', f);
}

int init_write_rows(const struct init_survey *s, const uint8_t *part, enum init_part which,
                    unsigned parts, const char *path, struct fis_error *e)
{
    FILE *f = create(path, e);
    size_t length;
    if (!f)
        return -FIS_INPUT;
    write_header(f, s, parts);
    for (uint32_t r = 0; r < s->t->n; r++) {
        if (part[r] != which)
            continue;
        const char *id = s->id < 0 ? "" : init_text(s->t, s->id, r, &length);
        if (*id)
            wire_csv_put(f, id, length);
        else
            fprintf(f, "row-%u", r + 1);
        for (uint32_t i = 0; i < s->t->n_columns; i++)
            if (is_written(&s->columns[i], parts)) {
                const char *text = init_text(s->t, (int)i, r, &length);
                putc(',', f);
                wire_csv_put(f, text, length);
            }
        putc('\n', f);
    }
    return finish(f, path, e);
}

/* ---- the configuration ----------------------------------------------------------------------- */

static void put_properties(FILE *f, const struct init_properties *p, const char *indent)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const char *value = p->items[i].value;
        fprintf(f, "%s%s%s: ", indent, value ? "" : "# ", p->items[i].name);
        yaml_put(f, value ? value : "file:/path", false);
        fputs(value ? "\n" : " # a secret, which is not copied here: name its file\n", f);
    }
}

/* "key: [a, b]" with what stands behind it, of the columns of a table with one of two roles;
 * nothing when there is none. */
struct columns {
    const struct init_survey *s;
    const struct data_table *t; /* the surveyed one, or the stream's */
    enum init_role role, other;
};

static bool put_list(FILE *f, const char *before, const struct columns *of, bool first)
{
    for (uint32_t i = 0; of->t && i < of->t->n_columns; i++) {
        enum init_role role = init_role(of->s, of->t->columns[i].name);
        if (role != of->role && role != of->other)
            continue;
        fputs(first ? before : ", ", f);
        yaml_put(f, of->t->columns[i].name, false);
        first = false;
    }
    return first;
}

static const char *why_left_out(unsigned odd)
{
    return odd & INIT_CONSTANT ? "one value in all rows"
           : odd & INIT_DATE   ? "dates: derive numbers from them"
           : odd & INIT_COMMA  ? "numbers with a comma: write 1234.5"
           : odd & INIT_MANY   ? "too many categories"
           : odd & INIT_UNFIT  ? "neither numbers nor texts"
                               : "a different value in every row: an id";
}

static void put_columns(FILE *f, const struct init_survey *s)
{
    fputs("\ncolumns: # the features of a record, by name\n", f);
    for (uint32_t i = 0; i < s->t->n_columns; i++) {
        const struct init_column *c = &s->columns[i];
        if (c->role != INIT_FEATURE && c->role != INIT_LEFT_OUT)
            continue;
        fputs(c->role == INIT_FEATURE ? "  - {name: " : "  # - {name: ", f);
        yaml_put(f, s->t->columns[i].name, false);
        fputs(s->t->columns[i].type == FIS_NUMERIC ? "}" : ", type: categorical}", f);
        if (c->role == INIT_LEFT_OUT)
            fprintf(f, " # left out: %s", why_left_out(c->odd));
        else if (c->odd & INIT_LEAK)
            fprintf(f,
                    " # separates the classes almost alone (AUC %.3f): is it known before the "
                    "decision?",
                    c->auc);
        putc('\n', f);
    }
}

static void put_classes(FILE *f, const struct init_survey *s)
{
    fputs("\nclasses: [", f);
    for (uint32_t k = 0; k < s->n_classes; k++) {
        fputs(k ? ", " : "", f);
        yaml_put(f, init_class(s, k), false);
    }
    fputs("] # in the order of the model's outputs\npositive: ", f);
    yaml_put(f, init_class(s, s->positive), false);
    fputs(" # the desirable outcome, whose rates are compared between groups\n", f);
}

static bool is_quoted(const struct init_survey *s, const struct data_table *t)
{
    for (uint32_t i = 0; t && t->json && i < t->n_columns; i++)
        if (t->columns[i].quoted && t->columns[i].type == FIS_NUMERIC &&
            init_role(s, t->columns[i].name) == INIT_FEATURE)
            return true;
    return false;
}

void init_write_registry(const struct init_properties *registry, FILE *f)
{
    fputs("  encoding: registry\n  registry:\n", f);
    put_properties(f, registry, "    ");
}

/* What else a record may have. */
static void put_records(FILE *f, const struct init_survey *s, const struct init_pipeline *p)
{
    fputs("\nrecords: # beside the features; passthrough: labellers see it, ignore: nobody does\n"
          "  id: ",
          f);
    yaml_put(f, s->id >= 0 ? s->t->columns[s->id].name : "id", false);
    bool first = put_list(f, "\n  passthrough: [",
                          &(struct columns){s, s->t, INIT_LEFT_OUT, INIT_LEFT_OUT}, true);
    first = put_list(f, "\n  passthrough: [",
                     &(struct columns){s, p->stream, INIT_UNKNOWN, INIT_UNKNOWN}, first);
    fputs(first ? "" : "]", f);
    first = put_list(f, "\n  ignore: [",
                     &(struct columns){s, p->stream, INIT_SENSITIVE, INIT_LABEL}, true);
    fputs(first ? "\n" : "]\n", f);
    if (is_quoted(s, s->t) || is_quoted(s, p->stream))
        fputs("  numeric_text: true # \"41\" is a number\n", f);
    if (p->registry.n)
        init_write_registry(&p->registry, f);
    else if (p->framed)
        fputs("  framing: confluent\n", f);
}

static void put_files(FILE *f, const struct init_survey *s, const struct init_pipeline *p)
{
    const char *label = s->t->columns[s->label].name;
    fputs("\ninitial: # labelled records; version 1 is trained on them\n  file: ", f);
    yaml_put(f, p->initial, false);
    fputs("\n  label: ", f);
    yaml_put(f, label, false);
    fputs("\n\nvalidation: # judges every version; the only rows with the sensitive columns\n"
          "  file: ",
          f);
    yaml_put(f, p->validation, false);
    fputs("\n  label: ", f);
    yaml_put(f, label, false);
    put_list(f, "\n  sensitive: [", &(struct columns){s, s->t, INIT_SENSITIVE, INIT_SENSITIVE},
             true);
    fputs("]\n", f);
}

static void put_kafka(FILE *f, const struct init_pipeline *p)
{
    fputs("\n\nkafka: # properties of librdkafka\n  bootstrap.servers: ", f);
    yaml_put(f, p->broker ? p->broker : "localhost:9092", false);
    putc('\n', f);
    put_properties(f, &p->kafka, "  ");
}

int init_write_config(const struct init_survey *s, const struct init_pipeline *p, const char *path,
                      struct fis_error *e)
{
    FILE *f = create(path, e);
    if (!f)
        return -FIS_INPUT;
    fprintf(f,
            "# Written by fisctl init. Every option: fisd --print-config; to check this file:\n"
            "# fisd --check-config %s\n\npipeline: ",
            path);
    yaml_put(f, p->name, false);
    put_kafka(f, p);
    fputs("\ntopics:\n  replication: 1 # 3 on a production cluster\n", f);
    if (p->topic) {
        fputs("  records: ", f);
        yaml_put(f, p->topic, false);
        putc('\n', f);
    }
    put_classes(f, s);
    put_columns(f, s);
    put_records(f, s, p);
    put_files(f, s, p);
    fputs("\nfairness:\n"
          "  metric: equal_opportunity # or demographic_parity, equalized_odds, risk_disparity\n"
          "\nselection:\n"
          "  labels_per_round: 128 # after so many a new version is trained and judged\n"
          "  budget: 2000 # labels that you pay for in all\n",
          f);
    fputs(p->pool ? "  mode: pool # each round selects from the whole topic; leave it out for an "
                    "endless stream\n"
                  : "  # mode: pool # for a fixed set of records: each round selects from all\n",
          f);
    return finish(f, path, e);
}

#include "init/init_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/csv.h"

static FILE *create(const char *path, struct fis_error *e)
{
    FILE *f = fopen(path, "wx");
    if (!f)
        fis_fail(e, FIS_INPUT, "%s: %s", path,
                 errno == EEXIST ? "it exists already, and is not overwritten" : strerror(errno));
    return f;
}

static int finish(FILE *f, const char *path, struct fis_error *e)
{
    int bad = ferror(f);
    return fclose(f) || bad ? fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno)) : 0;
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

/* A YAML scalar in double quotes. */
static void put_scalar(FILE *f, const char *text)
{
    putc('"', f);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(f, "\\x%02X", (unsigned)*text);
        else
            putc(*text, f);
    putc('"', f);
}

static void put_list(FILE *f, const char *before, const struct init_survey *s, enum init_role role,
                     const char *after)
{
    bool first = true;
    fputs(before, f);
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        if (s->columns[i].role == role) {
            fputs(first ? "" : ", ", f);
            put_scalar(f, s->t->columns[i].name);
            first = false;
        }
    fputs(after, f);
}

static const char *why_left_out(unsigned odd)
{
    return odd & INIT_CONSTANT ? "one value in all rows"
           : odd & INIT_DATE   ? "dates: derive numbers from them"
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
        put_scalar(f, s->t->columns[i].name);
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

static bool leaves_out(const struct init_survey *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->t->n_columns; i++)
        any |= s->columns[i].role == INIT_LEFT_OUT;
    return any;
}

static void put_classes(FILE *f, const struct init_survey *s)
{
    fputs("\nclasses: [", f);
    for (uint32_t k = 0; k < s->n_classes; k++) {
        fputs(k ? ", " : "", f);
        put_scalar(f, init_class(s, k));
    }
    fputs("] # in the order of the model's outputs\npositive: ", f);
    put_scalar(f, init_class(s, s->positive));
    fputs(" # the desirable outcome, whose rates are compared between groups\n", f);
}

static void put_files(FILE *f, const struct init_survey *s, const struct init_pipeline *p)
{
    const char *label = s->t->columns[s->label].name;
    if (leaves_out(s))
        put_list(f,
                 "\nrecords: # columns of records that are shown to labellers and not learned from"
                 "\n  passthrough: [",
                 s, INIT_LEFT_OUT, "]\n");
    else
        fputs("\n# records: {passthrough: [note]} # columns that labellers see and nothing learns "
              "from\n",
              f);
    if (s->id >= 0 && strcmp(s->t->columns[s->id].name, "id")) {
        fputs(leaves_out(s) ? "  id: " : "records: {id: ", f);
        put_scalar(f, s->t->columns[s->id].name);
        fputs(leaves_out(s) ? "\n" : "}\n", f);
    }
    fputs("\ninitial: # labelled records; version 1 is trained on them\n  file: ", f);
    put_scalar(f, p->initial);
    fputs("\n  label: ", f);
    put_scalar(f, label);
    fputs("\n\nvalidation: # judges every version; the only rows with the sensitive columns\n"
          "  file: ",
          f);
    put_scalar(f, p->validation);
    fputs("\n  label: ", f);
    put_scalar(f, label);
    put_list(f, "\n  sensitive: [", s, INIT_SENSITIVE, "]\n");
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
    put_scalar(f, p->name);
    fputs("\n\nkafka: # properties of librdkafka\n  bootstrap.servers: ", f);
    put_scalar(f, p->bootstrap ? p->bootstrap : "localhost:9092");
    fputs("\n\ntopics:\n  replication: 1 # 3 on a production cluster\n", f);
    if (p->topic) {
        fputs("  records: ", f);
        put_scalar(f, p->topic);
        putc('\n', f);
    }
    put_classes(f, s);
    put_columns(f, s);
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
